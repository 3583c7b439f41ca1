//! Fanout: one worker section once for each member of a collection (book: Fanout).

use std::sync::Arc;

use runvil_lua::{Text, mlua::IntoLuaMulti};

use super::{
    FanoutRequest, SpawnRequest,
    table::{Task, TaskState},
    wait::WaitKind,
};
use crate::{
    CallForm, ChainId, ErrorKind, Failure, TaskOrigin,
    request::Asked,
    run::{Reply, Run},
    subst,
};

/// The arms of one fanout, in collection order.
pub(super) struct Arms {
    ids: Vec<ChainId>,
    /// The members, for the stubs of exhausted arms.
    members: Vec<serde_json::Value>,
}

impl Arms {
    pub(super) fn ids(&self) -> &[ChainId] {
        &self.ids
    }

    /// Whether an ended arm fails the whole fanout: any failure does except the round cap's.
    pub(super) fn is_fatal(arm: &Task) -> bool {
        matches!(&arm.state, TaskState::Done(Err(failure)) if failure.kind() != ErrorKind::ToolLoopExhausted)
    }
}

impl Run {
    /// Spawns every arm, then waits for all of them.
    pub(super) fn fan_out(&mut self, id: &ChainId, request: FanoutRequest) -> Asked {
        let FanoutRequest {
            target,
            args,
            members,
            refused,
            var,
        } = request;
        let mut ids = Vec::with_capacity(members.len());
        for (place, member) in members.iter().enumerate() {
            let arm = SpawnRequest {
                target: target.clone(),
                input: None,
                args: Arc::clone(&args),
                item: Some(member.clone()),
                index: i64::try_from(place + 1).ok(),
                var: Arc::clone(&var),
            };
            match self.spawn_as(id, arm, TaskOrigin::Author, CallForm::Fanout) {
                Ok(arm) => ids.push(arm),
                Err(failure) => return self.give_fanout_up(&ids, failure),
            }
        }
        match refused {
            Some(failure) => self.give_fanout_up(&ids, failure),
            None => self.wait(id, WaitKind::Arms(Arms { ids, members }), None),
        }
    }

    fn give_fanout_up(&mut self, arms: &[ChainId], failure: Failure) -> Asked {
        for arm in arms {
            self.cancel_task(arm);
        }
        Asked::Now(Reply::Raise(failure))
    }

    /// All arms ended, or one failed the fanout: the earliest failed arm in collection order is the one that it raises,
    /// after the others are cancelled. No arm runs on, so all that the arms did comes before the caller's next step.
    pub(super) fn conclude_fanout(&mut self, id: &ChainId, arms: &Arms) -> Reply {
        let fatal = arms
            .ids
            .iter()
            .find(|arm| self.tasks.get(arm).is_some_and(Arms::is_fatal));
        let Some(fatal) = fatal.cloned() else {
            return self.collect_arms(id, arms);
        };
        for arm in &arms.ids {
            self.cancel_task(arm);
            self.deliver_task(id, arm);
        }
        let TaskState::Done(Err(failure)) = &self.tasks.get_mut(&fatal).state else {
            unreachable!("a fatal arm ended with a failure");
        };
        Reply::Raise(failure.clone())
    }

    /// The text of each arm and whether it ran to its end, as two sequences.
    fn collect_arms(&mut self, id: &ChainId, arms: &Arms) -> Reply {
        let (mut texts, mut completed) = (Vec::new(), Vec::new());
        for (arm, member) in arms.ids.iter().zip(&arms.members) {
            let result = self.deliver_task(id, arm).into_result();
            completed.push(result.is_ok());
            texts.push(Text(result.unwrap_or_else(|_| exhausted_stub(member))));
        }
        Reply::build(move |lua| (texts, completed).into_lua_multi(lua))
    }
}

/// The text of an arm whose loop reached the round cap (book: Exhausted arms and the exhausted stub).
fn exhausted_stub(member: &serde_json::Value) -> String {
    format!(
        "## {}\n\nUNKNOWN\n\n(section incomplete: tool loop exhausted)",
        subst::render::text(member)
    )
}
