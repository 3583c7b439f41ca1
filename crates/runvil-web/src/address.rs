//! Which addresses a fetch connects to (book: Blocked addresses).

mod table;

use std::net::{IpAddr, SocketAddr};

use table::BLOCKED;

/// The rule for addresses: those that are globally reachable, and no others.
///
/// It is applied to the addresses of a look-up that is made for one connection, so that an approval is never older than
/// the connection that it is for.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    // Only the unit tests of this crate can fill it, to reach a server of their own.
    exceptions: Vec<SocketAddr>,
}

impl AddressPolicy {
    /// The built-in policy, which nothing can widen.
    pub fn global_only() -> Self {
        Self::default()
    }

    /// A policy that allows these addresses too.
    #[cfg(test)]
    pub(crate) fn except(exceptions: Vec<SocketAddr>) -> Self {
        Self { exceptions }
    }

    /// The addresses of `host` that may be connected to, in order. The others are named in the debug log only.
    pub fn allowed(&self, host: &str, addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
        addresses
            .into_iter()
            .filter(|address| self.allows(host, *address))
            .collect()
    }

    fn allows(&self, host: &str, address: SocketAddr) -> bool {
        if self.exceptions.contains(&address) {
            return true;
        }
        let ip = address.ip();
        match blocked_range(ip) {
            None => true,
            Some(range) => {
                tracing::debug!("host {host} resolved to blocked address {ip} in range {range}");
                false
            }
        }
    }
}

/// The blocked range that holds `address`, as CIDR text.
fn blocked_range(address: IpAddr) -> Option<&'static str> {
    BLOCKED
        .iter()
        .find(|range| range.contains(address))
        .map(|range| range.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    #[test]
    fn the_addresses_of_the_cloud_metadata_service_are_blocked_in_every_form() {
        for (address, range) in [
            ("169.254.169.254", "169.254.0.0/16"),
            ("::ffff:169.254.169.254", "::ffff:0:0/96"),
            ("::169.254.169.254", "::/96"),
            ("64:ff9b::a9fe:a9fe", "64:ff9b::/96"),
            ("2002:a9fe:a9fe::1", "2002::/16"),
        ] {
            assert_eq!(blocked_range(ip(address)), Some(range), "{address}");
        }
    }

    #[test]
    fn a_public_address_in_ipv6_form_is_blocked_too() {
        assert_eq!(blocked_range(ip("::ffff:1.1.1.1")), Some("::ffff:0:0/96"));
        assert_eq!(blocked_range(ip("::1.1.1.1")), Some("::/96"));
    }

    #[test]
    fn addresses_just_outside_a_range_are_reached() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "11.0.0.0",
            "172.32.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2001:db9::1",
            "3fff:1000::1",
            "::1:0:0:0",
        ] {
            assert_eq!(blocked_range(ip(address)), None, "{address}");
        }
    }

    #[test]
    fn a_mix_leaves_only_the_public_addresses_in_order() {
        let sockets = |texts: &[&str]| -> Vec<SocketAddr> { texts.iter().map(|text| (ip(text), 0).into()).collect() };
        let policy = AddressPolicy::global_only();
        let mixed = sockets(&["127.0.0.1", "93.184.216.34", "10.0.0.5", "::1", "1.1.1.1"]);
        assert_eq!(
            policy.allowed("site.example", mixed),
            sockets(&["93.184.216.34", "1.1.1.1"])
        );
        assert_eq!(policy.allowed("site.example", sockets(&["10.0.0.5", "fd00::1"])), []);
        assert_eq!(policy.allowed("site.example", []), []);
    }
}
