//! Which Packs a run holds (book: Waiting for Packs and taking the snapshot).

use std::sync::Arc;

use runvil_pack::{Pack, PackId, PackName};
use runvil_syntax::UsesEntry;

use super::installed::{Built, InstalledPacks};

/// One Pack that a run holds, or asks for.
pub(crate) struct Picked {
    /// The name that the prompt's entry means, or the Host's name of an undeclared Pack.
    pub(crate) name: PackName,
    pub(crate) declared: bool,
    pub(crate) supply: Supply,
}

/// What the Host has for a picked Pack.
pub(crate) enum Supply {
    /// The Pack itself.
    Pack(Arc<dyn Pack>),
    /// A Pack that cannot serve, or an entry that tells its author what to write instead; with the reason.
    Unavailable(String),
    /// Nothing of that Pack id, from any vendor.
    Missing,
}

impl From<&Built> for Supply {
    fn from(built: &Built) -> Self {
        match built {
            Ok(pack) => Self::Pack(Arc::clone(pack)),
            Err(error) => Self::Unavailable(error.to_string()),
        }
    }
}

/// Picks a run's Packs: the declared ones in the order declared, then every runvil Pack whose Pack id is not taken,
/// by id.
pub(crate) fn pick(uses: &[UsesEntry], installed: &InstalledPacks) -> Vec<Picked> {
    let mut picked: Vec<Picked> = uses.iter().map(|entry| declared(entry, installed)).collect();
    let taken: Vec<PackId> = picked.iter().map(|pick| pick.name.id()).collect();
    let others = installed.runvil().filter(|(name, _)| !taken.contains(&name.id()));
    picked.extend(others.map(|(name, built)| Picked {
        name: name.clone(),
        declared: false,
        supply: built.into(),
    }));
    picked
}

fn declared(entry: &UsesEntry, installed: &InstalledPacks) -> Picked {
    let name = entry.pack_name();
    let supply = match (installed.get(&name), entry) {
        (Some(built), _) => built.into(),
        (None, UsesEntry::Qualified(name)) => Supply::Unavailable(format!("{name} is not installed")),
        (None, UsesEntry::Bare(_)) => bare_without_runvil(&name, installed),
    };
    Picked {
        name,
        declared: true,
        supply,
    }
}

/// A bare entry whose runvil Pack the Host lacks: it may have meant another vendor's.
fn bare_without_runvil(name: &PackName, installed: &InstalledPacks) -> Supply {
    let id = name.id();
    let others: Vec<String> = installed.with_id(&id).map(ToString::to_string).collect();
    if others.is_empty() {
        return Supply::Missing;
    }
    let others = others.join(" or ");
    Supply::Unavailable(format!(
        "{id} means {name}, which is not installed; write {others} to use that Pack"
    ))
}
