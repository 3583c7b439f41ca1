//! Whether a fork whose process died has every answer that it was to take over.

use std::collections::BTreeMap;

use runvil_engine::EffectId;
use runvil_harness::is_same_kind;
use runvil_record::{Parent, RecordError, RecordedEffect};

use crate::{exit::Fault, repeat::Known};

/// Refuses to go on with a fork that died while it took answers over: it would ask for the rest of them anew, though it
/// is to have them. Until then it had performed nothing, so that it can simply be forked again.
pub(crate) fn check(known: &Known) -> Result<(), Fault> {
    let Some(parent) = known.parent()? else { return Ok(()) };
    if !has_died_on_the_way(known, parent)? {
        return Ok(());
    }
    let Parent { run, effect } = parent;
    Err(Fault::failure(format_args!(
        "run {}: its process died before it had the answers of run {run} up to effect {effect}",
        known.id
    ))
    .with_help(format_args!(
        "fork again, with the options that it was forked with: runvil fork {run} --at {effect}"
    )))
}

/// Whether all that the run asked for so far is what it follows, and there is more of it to come.
fn has_died_on_the_way(known: &Known, Parent { run, effect: until }: Parent) -> Result<bool, Fault> {
    let followed = match known.database.effects(run) {
        Ok(effects) => effects,
        // What a parent that is gone had cannot be told any more.
        Err(RecordError::NoSuchRun { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut own = BTreeMap::new();
    for recorded in known.database.effects(known.id)? {
        let recorded = recorded?;
        if recorded.effect.id > until {
            return Ok(false);
        }
        own.insert(recorded.effect.id, recorded);
    }
    let (mut last, mut lacks) = (EffectId(0), false);
    for recorded in followed {
        let recorded = recorded?;
        let Some(own) = own.remove(&recorded.effect.id) else {
            break;
        };
        match agrees(&own, &recorded, until) {
            Some(is_taken) => lacks |= !is_taken,
            None => return Ok(false),
        }
        last = recorded.effect.id;
    }
    // What the followed run did not ask for, the run asked for itself.
    Ok(own.is_empty() && (lacks || last < until))
}

/// Whether the run has the answer of the other; `None` where it went its own way.
fn agrees(own: &RecordedEffect, followed: &RecordedEffect, until: EffectId) -> Option<bool> {
    let is_same = is_same_kind(&own.effect.kind, &followed.effect.kind);
    let (id, known) = (own.effect.id, followed.answer.is_some());
    match &own.answer {
        Some(answer) if is_same && (id == until || followed.answer.as_ref() == Some(answer)) => Some(true),
        None if is_same && own.dropped && followed.dropped => Some(true),
        // Another answer for the last effect may have been given, too.
        None if is_same && !own.dropped && (known || id == until) => Some(false),
        _ => None,
    }
}
