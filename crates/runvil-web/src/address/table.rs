//! The built-in blocked table (book: The built-in blocked table).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One row of the table.
#[derive(Debug)]
pub(super) struct BlockedRange {
    /// The range as CIDR text.
    pub(super) text: &'static str,
    network: IpAddr,
    prefix: u32,
}

impl BlockedRange {
    /// Whether the range holds `address`. An IPv6 address never counts as the IPv4 address that it embeds: the whole
    /// ranges of such addresses have rows of their own.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

const fn v4(text: &'static str, network: [u8; 4], prefix: u32) -> BlockedRange {
    let [a, b, c, d] = network;
    BlockedRange {
        text,
        network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        prefix,
    }
}

const fn v6(text: &'static str, network: [u16; 8], prefix: u32) -> BlockedRange {
    let [a, b, c, d, e, f, g, h] = network;
    BlockedRange {
        text,
        network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)),
        prefix,
    }
}

/// Every range that a fetch never reaches.
pub(super) static BLOCKED: [BlockedRange; 30] = [
    v4("0.0.0.0/8", [0, 0, 0, 0], 8),
    v4("10.0.0.0/8", [10, 0, 0, 0], 8),
    v4("100.64.0.0/10", [100, 64, 0, 0], 10),
    v4("127.0.0.0/8", [127, 0, 0, 0], 8),
    v4("169.254.0.0/16", [169, 254, 0, 0], 16),
    v4("172.16.0.0/12", [172, 16, 0, 0], 12),
    v4("192.0.0.0/24", [192, 0, 0, 0], 24),
    v4("192.0.2.0/24", [192, 0, 2, 0], 24),
    v4("192.88.99.0/24", [192, 88, 99, 0], 24),
    v4("192.168.0.0/16", [192, 168, 0, 0], 16),
    v4("198.18.0.0/15", [198, 18, 0, 0], 15),
    v4("198.51.100.0/24", [198, 51, 100, 0], 24),
    v4("203.0.113.0/24", [203, 0, 113, 0], 24),
    v4("224.0.0.0/4", [224, 0, 0, 0], 4),
    // Before 240.0.0.0/4, which holds it, so that the log names the narrower range.
    v4("255.255.255.255/32", [255, 255, 255, 255], 32),
    v4("240.0.0.0/4", [240, 0, 0, 0], 4),
    v6("::/128", [0, 0, 0, 0, 0, 0, 0, 0], 128),
    v6("::1/128", [0, 0, 0, 0, 0, 0, 0, 1], 128),
    v6("::/96", [0, 0, 0, 0, 0, 0, 0, 0], 96),
    v6("::ffff:0:0/96", [0, 0, 0, 0, 0, 0xffff, 0, 0], 96),
    v6("64:ff9b::/96", [0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96),
    v6("64:ff9b:1::/48", [0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    v6("100::/64", [0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    v6("2001:db8::/32", [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    v6("2002::/16", [0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    v6("3fff::/20", [0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    v6("fc00::/7", [0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    v6("fe80::/10", [0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    v6("fec0::/10", [0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    v6("ff00::/8", [0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and last address of every row, as the book lists them.
    const BOUNDS: [(&str, &str, &str); 30] = [
        ("0.0.0.0/8", "0.0.0.0", "0.255.255.255"),
        ("10.0.0.0/8", "10.0.0.0", "10.255.255.255"),
        ("100.64.0.0/10", "100.64.0.0", "100.127.255.255"),
        ("127.0.0.0/8", "127.0.0.0", "127.255.255.255"),
        ("169.254.0.0/16", "169.254.0.0", "169.254.255.255"),
        ("172.16.0.0/12", "172.16.0.0", "172.31.255.255"),
        ("192.0.0.0/24", "192.0.0.0", "192.0.0.255"),
        ("192.0.2.0/24", "192.0.2.0", "192.0.2.255"),
        ("192.88.99.0/24", "192.88.99.0", "192.88.99.255"),
        ("192.168.0.0/16", "192.168.0.0", "192.168.255.255"),
        ("198.18.0.0/15", "198.18.0.0", "198.19.255.255"),
        ("198.51.100.0/24", "198.51.100.0", "198.51.100.255"),
        ("203.0.113.0/24", "203.0.113.0", "203.0.113.255"),
        ("224.0.0.0/4", "224.0.0.0", "239.255.255.255"),
        ("240.0.0.0/4", "240.0.0.0", "255.255.255.254"),
        ("255.255.255.255/32", "255.255.255.255", "255.255.255.255"),
        ("::/128", "::", "::"),
        ("::1/128", "::1", "::1"),
        ("::/96", "::2", "::255.255.255.255"),
        ("::ffff:0:0/96", "::ffff:0.0.0.0", "::ffff:255.255.255.255"),
        ("64:ff9b::/96", "64:ff9b::", "64:ff9b::ffff:ffff"),
        ("64:ff9b:1::/48", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
        ("100::/64", "100::", "100::ffff:ffff:ffff:ffff"),
        ("2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002::/16", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("3fff::/20", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fe80::/10", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fec0::/10", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("ff00::/8", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ];

    fn row_of(address: IpAddr) -> Option<&'static str> {
        BLOCKED
            .iter()
            .find(|range| range.contains(address))
            .map(|range| range.text)
    }

    #[test]
    fn every_range_is_blocked_from_its_first_address_to_its_last() {
        for (text, first, last) in BOUNDS {
            for address in [first, last] {
                assert_eq!(row_of(address.parse().expect(address)), Some(text), "{address}");
            }
        }
    }

    #[test]
    fn a_row_is_what_its_text_says() {
        for range in &BLOCKED {
            let (network, prefix) = range.text.split_once('/').expect("CIDR text");
            assert_eq!(range.network, network.parse::<IpAddr>().expect(network));
            assert_eq!(range.prefix, prefix.parse::<u32>().expect(prefix));
        }
    }

    #[test]
    fn the_neighbours_of_a_range_are_in_no_row_but_their_own() {
        let neighbours = |first: &str, last: &str| -> Vec<IpAddr> {
            match (first.parse().expect(first), last.parse().expect(last)) {
                (IpAddr::V4(first), IpAddr::V4(last)) => {
                    [first.to_bits().checked_sub(1), last.to_bits().checked_add(1)]
                        .into_iter()
                        .flatten()
                        .map(|bits| Ipv4Addr::from_bits(bits).into())
                        .collect()
                }
                (IpAddr::V6(first), IpAddr::V6(last)) => {
                    [first.to_bits().checked_sub(1), last.to_bits().checked_add(1)]
                        .into_iter()
                        .flatten()
                        .map(|bits| Ipv6Addr::from_bits(bits).into())
                        .collect()
                }
                _ => Vec::new(),
            }
        };
        for (text, first, last) in BOUNDS {
            for neighbour in neighbours(first, last) {
                assert_ne!(row_of(neighbour), Some(text), "{neighbour}");
            }
        }
    }
}
