//! `tools.offer`, `packs.offer` and `tools.allow_tasks` (book: Offering tools with `tools.offer` and `packs.offer`).

use std::sync::Arc;

use runvil_lua::mlua::{self, Lua, MultiValue, Table, Value};
use runvil_pack::{NameError, PackId};

use super::{objects, sequence, set};
use crate::{Failure, globals::check::type_name, section::SectionContext, tasks::AllowedTargets};

/// An offer that is refused. Nothing of its call is recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum OfferRefusal {
    #[error(
        "{0}: the section's tool list is fixed at its first models.loop round; make every offer before the first loop, or offer in another section"
    )]
    Rendered(&'static str),
    #[error("tools.offer takes one tool or a list of them, got extra {0}")]
    ExtraTool(&'static str),
    #[error("tools.offer takes tool ids, tool objects, or arrays of them, got {0}")]
    NotATool(&'static str),
    #[error("tools.offer: {0:?} is not a catalog tool in this run")]
    UnknownTool(String),
    #[error("packs.offer takes one Pack or a list of them, got extra {0}")]
    ExtraPack(&'static str),
    #[error("packs.offer takes a Pack id, a Pack object, or a list of them, got {0}")]
    NotAPack(&'static str),
    #[error("packs.offer takes a Pack id, a Pack object, or a list of them, got {text:?}: invalid Pack id: {reason}")]
    PackName { text: String, reason: NameError },
    #[error(
        "packs.offer: no Pack named {0:?} in this run; declare it under uses: to require it, or offer it only when packs.get({0:?}) returns it"
    )]
    UnknownPack(String),
    #[error("packs.offer: the {id} Pack is unavailable in this run: {reason}")]
    Unavailable { id: String, reason: String },
    #[error("tools.allow_tasks targets must be a list of section headings, got {0}")]
    Targets(&'static str),
    #[error("tools.allow_tasks targets must be section heading strings, got {0}")]
    Target(&'static str),
    #[error("tools.allow_tasks targets must be non-empty section headings")]
    EmptyTarget,
    #[error("tools.allow_tasks targets must name at least one section; call it with no argument to allow any section")]
    NoTargets,
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<OfferRefusal> for Failure {
    fn from(refusal: OfferRefusal) -> Self {
        match refusal {
            OfferRefusal::Failed(failure) => failure,
            other => Self::Lua(other.to_string()),
        }
    }
}

pub(super) fn install(lua: &Lua, context: &Arc<SectionContext>, tools: &Table, packs: &Table) -> mlua::Result<()> {
    set(lua, context, tools, "offer", |_, context, given| {
        Ok(offer(context, &given)?)
    })?;
    set(lua, context, packs, "offer", |_, context, given| {
        Ok(offer_packs(context, &given)?)
    })?;
    set(lua, context, tools, "allow_tasks", |_, context, given| {
        Ok(allow_tasks(context, given.front())?)
    })
}

/// Refuses a call made after the section's list was rendered, before its arguments are looked at.
pub(super) fn check_open(context: &SectionContext, call: &'static str) -> Result<(), OfferRefusal> {
    if context.state().tools.is_rendered() {
        Err(OfferRefusal::Rendered(call))
    } else {
        Ok(())
    }
}

fn offer(context: &SectionContext, given: &MultiValue) -> Result<(), OfferRefusal> {
    check_open(context, "tools.offer")?;
    if let Some(extra) = given.get(1) {
        return Err(OfferRefusal::ExtraTool(type_name(extra)));
    }
    let entries = match given.front() {
        None => Vec::new(),
        Some(Value::Table(list)) => sequence(list)?,
        Some(one) => vec![one.clone()],
    };
    let mut ids = Vec::new();
    for entry in &entries {
        let id = objects::tool_id(entry).ok_or_else(|| OfferRefusal::NotATool(type_name(entry)))?;
        if context.run.catalog.offered(&id).is_none() {
            return Err(OfferRefusal::UnknownTool(id));
        }
        ids.push(id);
    }
    context.state().tools.offer(ids);
    Ok(())
}

fn offer_packs(context: &SectionContext, given: &MultiValue) -> Result<(), OfferRefusal> {
    check_open(context, "packs.offer")?;
    if let Some(extra) = given.get(1) {
        return Err(OfferRefusal::ExtraPack(type_name(extra)));
    }
    let entries = match given.front() {
        None => vec![Value::Nil],
        Some(Value::Table(list)) => sequence(list)?,
        Some(one) => vec![one.clone()],
    };
    let packs: Result<Vec<_>, _> = entries.iter().map(|entry| offered_pack(context, entry)).collect();
    context.state().tools.offer_packs(packs?);
    Ok(())
}

/// The id of a Pack that an entry names, if it can serve the run.
fn offered_pack(context: &SectionContext, entry: &Value) -> Result<String, OfferRefusal> {
    let id = match entry {
        Value::String(text) => {
            let text = text.to_string_lossy();
            text.parse::<PackId>().map_err(|reason| OfferRefusal::PackName {
                text: text.clone(),
                reason,
            })?;
            text
        }
        other => objects::pack_of_object(other).ok_or_else(|| OfferRefusal::NotAPack(type_name(other)))?,
    };
    let catalog = &context.run.catalog;
    if catalog.pack(&id).is_some() {
        return Ok(id);
    }
    Err(match catalog.unavailable(&id) {
        Some(reason) => OfferRefusal::Unavailable {
            reason: reason.to_owned(),
            id,
        },
        None => OfferRefusal::UnknownPack(id),
    })
}

fn allow_tasks(context: &SectionContext, targets: Option<&Value>) -> Result<(), OfferRefusal> {
    let allowed = match targets {
        None | Some(Value::Nil) => AllowedTargets::Any,
        Some(Value::Table(list)) => {
            let mut headings = Vec::new();
            for entry in sequence(list)? {
                let Value::String(heading) = &entry else {
                    return Err(OfferRefusal::Target(type_name(&entry)));
                };
                let heading = heading.to_string_lossy().trim().to_owned();
                if heading.is_empty() {
                    return Err(OfferRefusal::EmptyTarget);
                }
                headings.push(heading);
            }
            if headings.is_empty() {
                return Err(OfferRefusal::NoTargets);
            }
            AllowedTargets::Listed(headings)
        }
        Some(other) => return Err(OfferRefusal::Targets(type_name(other))),
    };
    context.state().tools.allowed = Some(allowed);
    Ok(())
}
