//! Waits: a chain parks until tasks that it owns end, and takes their results (book: Waits and task results).

use std::collections::{BTreeMap, BTreeSet};

use runvil_lua::{
    Text,
    mlua::{IntoLua, IntoLuaMulti, Lua, MultiValue, Result as LuaResult, Value},
};

use super::{Seconds, WaitRequest, Waiting, fanout::Arms, model::Awaiting, table::TaskState};
use crate::{
    ChainId, EffectId, EffectKind, Failure,
    request::Asked,
    run::{Purpose, Reply, Run},
};

/// The waits of a run, by the chain that waits.
pub(super) type Waits = BTreeMap<ChainId, Wait>;

/// One parked chain.
pub(super) struct Wait {
    pub(super) kind: WaitKind,
    /// The members that still run.
    pub(super) running: BTreeSet<ChainId>,
    pub(super) timer: Option<Timer>,
    /// Whether its task gave its slots back for the length of the wait.
    gave_back: bool,
    /// What woke it first; it is then on its way.
    woken_by: Option<Waker>,
}

/// What a wait is for.
pub(super) enum WaitKind {
    /// The first of these to end.
    Any(Vec<ChainId>),
    /// All of these, in this order; a task may stand at several places.
    All(Vec<ChainId>),
    /// The arms of a fanout.
    Arms(Arms),
    /// The model's own wait for the tasks that it started.
    Model(Awaiting),
}

/// The timer behind a wait's time limit.
pub(super) struct Timer {
    id: ChainId,
    effect: EffectId,
}

/// What ends a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Waker {
    /// A member ended.
    Member(ChainId),
    /// The time ran out.
    Timer,
    /// The Host stopped the timer.
    Stop,
}

/// One ended task as a wait hands it over.
pub(super) struct Delivery {
    task: ChainId,
    result: Result<String, Failure>,
}

impl Run {
    pub(super) fn join_any(&mut self, id: &ChainId, request: WaitRequest) -> Asked {
        let timer = request.timeout.map(|limit| self.start_timer(id, limit));
        self.wait(id, WaitKind::Any(request.set), timer)
    }

    pub(super) fn join(&mut self, id: &ChainId, request: WaitRequest) -> Asked {
        let timer = request.timeout.map(|limit| self.start_timer(id, limit));
        self.wait(id, WaitKind::All(request.set), timer)
    }

    /// Starts the timer of a wait, which takes the chain's next child number.
    pub(super) fn start_timer(&mut self, id: &ChainId, limit: Seconds) -> Timer {
        let timer = self.chain(id).next_child();
        let kind = EffectKind::Timer { millis: limit.millis() };
        let effect = self.issue(id, kind, Purpose::Timer { timer: timer.clone() });
        Timer { id: timer, effect }
    }

    /// Checks every member, then answers at once or parks the chain.
    pub(super) fn wait(&mut self, id: &ChainId, kind: WaitKind, timer: Option<Timer>) -> Asked {
        if let Err(failure) = self.check_members(id, kind.members()) {
            self.stop_timer(timer);
            return Asked::Now(Reply::Raise(failure));
        }
        let running: BTreeSet<_> = kind
            .members()
            .iter()
            .filter(|member| self.is_running_task(member))
            .cloned()
            .collect();
        let mut wait = Wait {
            kind,
            running,
            timer,
            gave_back: false,
            woken_by: None,
        };
        if self.is_over(&wait) {
            return Asked::Now(self.conclude(id, wait));
        }
        if !wait.running.is_empty() {
            wait.gave_back = self.give_back_around(id);
        }
        self.chain(id).waiting = Some(Waiting::Tasks);
        self.tasks.waits.insert(id.clone(), wait);
        Asked::Later
    }

    /// Gives back the slots of the task that a chain runs inside. The main walk holds none.
    fn give_back_around(&mut self, id: &ChainId) -> bool {
        let task = self.chain(id).task.clone();
        self.tasks.get(&task).is_some() && self.give_slots_back(&task)
    }

    fn check_members(&self, id: &ChainId, members: &[ChainId]) -> Result<(), Failure> {
        for member in members {
            let task = self.tasks.owned(id, member)?;
            if task.delivered {
                return Err(Failure::TaskConsumed { task: member.clone() });
            }
        }
        Ok(())
    }

    fn is_running_task(&self, id: &ChainId) -> bool {
        self.tasks.get(id).is_some_and(|task| !task.has_ended())
    }

    /// Whether nothing more is to be waited for.
    fn is_over(&self, wait: &Wait) -> bool {
        match &wait.kind {
            WaitKind::Any(members) => wait.running.len() < members.iter().collect::<BTreeSet<_>>().len(),
            WaitKind::All(_) => wait.running.is_empty(),
            WaitKind::Arms(_) => wait.running.is_empty(),
            WaitKind::Model(_) => false,
        }
    }

    /// A task ended: its owner's wait may be over.
    pub(super) fn member_ended(&mut self, owner: &ChainId, member: &ChainId) {
        let Some(wait) = self.tasks.waits.get_mut(owner) else {
            return;
        };
        if !wait.running.remove(member) || wait.woken_by.is_some() {
            return;
        }
        let over = match &wait.kind {
            WaitKind::Any(_) | WaitKind::Model(_) => true,
            WaitKind::All(_) => wait.running.is_empty(),
            WaitKind::Arms(_) => wait.running.is_empty() || self.tasks.get(member).is_some_and(Arms::is_fatal),
        };
        if over {
            self.wake_wait(owner, Waker::Member(member.clone()));
        }
    }

    fn wake_wait(&mut self, waiter: &ChainId, waker: Waker) {
        let wait = self.tasks.waits.get_mut(waiter).expect("only a parked chain is woken");
        wait.woken_by = Some(waker);
        let gave_back = wait.gave_back;
        self.wake(waiter, gave_back);
    }

    /// A timer was answered: it fired, or the Host stopped it.
    pub(crate) fn timer_answered(&mut self, id: &ChainId, timer: &ChainId, fired: bool) {
        let Some(wait) = self.tasks.waits.get_mut(id) else {
            return;
        };
        if wait.timer.as_ref().is_none_or(|own| own.id != *timer) || wait.woken_by.is_some() {
            return;
        }
        wait.timer = None;
        if fired {
            self.wake_wait(id, Waker::Timer);
        } else {
            self.stop_wait(id);
        }
    }

    /// The Host stopped a timed wait. The members go on; what a join had taken by then is lost.
    fn stop_wait(&mut self, id: &ChainId) {
        let wait = self.tasks.waits.get(id).expect("only a parked chain is stopped");
        if let WaitKind::All(members) = &wait.kind {
            let taken: Vec<_> = members
                .iter()
                .filter(|member| !wait.running.contains(member))
                .cloned()
                .collect();
            for member in taken {
                self.deliver_task(id, &member);
            }
        }
        self.wake_wait(id, Waker::Stop);
    }

    /// What a woken chain's wait returns or raises.
    pub(crate) fn wait_reply(&mut self, id: &ChainId) -> Reply {
        let wait = self.tasks.waits.remove(id).expect("a woken chain was parked on a wait");
        self.conclude(id, wait)
    }

    fn conclude(&mut self, id: &ChainId, mut wait: Wait) -> Reply {
        let timer = wait.timer.take();
        self.stop_timer(timer);
        let timed_out = wait.woken_by == Some(Waker::Timer);
        if wait.woken_by == Some(Waker::Stop) {
            return Reply::Raise(Failure::Interrupted);
        }
        match wait.kind {
            WaitKind::Any(members) => {
                let first = match wait.woken_by {
                    Some(Waker::Member(member)) => Some(member),
                    _ => members.into_iter().find(|member| !self.is_running_task(member)),
                };
                first.map_or_else(nothing_in_time, |task| self.deliver_task(id, &task).into_reply())
            }
            WaitKind::All(members) => self.deliver_all(id, &members, timed_out),
            WaitKind::Arms(arms) => self.conclude_fanout(id, &arms),
            WaitKind::Model(awaiting) => self.conclude_await(id, &awaiting, timed_out),
        }
    }

    fn deliver_all(&mut self, id: &ChainId, members: &[ChainId], timed_out: bool) -> Reply {
        let mut results = BTreeMap::new();
        for member in members {
            if !results.contains_key(member) && !self.is_running_task(member) {
                results.insert(member.clone(), self.deliver_task(id, member).result);
            }
        }
        let timed_out = timed_out && members.iter().any(|member| !results.contains_key(member));
        let members = members.to_vec();
        Reply::build(move |lua| {
            let entries = lua.create_table_with_capacity(members.len(), 0)?;
            for (place, member) in members.iter().enumerate() {
                if let Some(result) = results.get(member) {
                    entries.raw_set(place + 1, entry(lua, member, result)?)?;
                }
            }
            (entries, timed_out).into_lua_multi(lua)
        })
    }

    /// Takes an ended task's result: everything that the task did now comes before the owner's next step. A cancelled
    /// task has no result to take, so it is handed over each time.
    pub(super) fn deliver_task(&mut self, owner: &ChainId, id: &ChainId) -> Delivery {
        let task = self.tasks.get_mut(id);
        let identity = task.identity.clone();
        let result = match &task.state {
            TaskState::Done(result) => {
                task.delivered = true;
                result.clone()
            }
            _ => Err(Failure::TaskCancelled { task: id.clone() }),
        };
        self.chain(owner).identity.join(&identity);
        Delivery {
            task: id.clone(),
            result,
        }
    }

    pub(super) fn stop_timer(&mut self, timer: Option<Timer>) {
        if let Some(timer) = timer {
            self.drop_effect(timer.effect);
        }
    }
}

impl WaitKind {
    /// The tasks that it waits for, in order.
    fn members(&self) -> &[ChainId] {
        match self {
            Self::Any(members) | Self::All(members) => members,
            Self::Arms(arms) => arms.ids(),
            Self::Model(awaiting) => awaiting.tasks(),
        }
    }
}

impl Delivery {
    pub(super) fn into_result(self) -> Result<String, Failure> {
        self.result
    }

    /// The three values of `tasks.join_any`: a handle, whether it succeeded, and the text or error value.
    fn into_reply(self) -> Reply {
        Reply::build(move |lua| {
            let handle = lua.create_table_from([("task", self.task.to_string())])?;
            let ok = self.result.is_ok();
            let result = result_value(lua, &self.result)?;
            Ok(MultiValue::from_iter([
                Value::Table(handle),
                Value::Boolean(ok),
                result,
            ]))
        })
    }
}

/// The one nil of a `tasks.join_any` that ran out of time.
fn nothing_in_time() -> Reply {
    Reply::build(|_| Ok(MultiValue::from_iter([Value::Nil])))
}

/// One entry of what `tasks.join` returns.
fn entry(lua: &Lua, task: &ChainId, result: &Result<String, Failure>) -> LuaResult<Value> {
    let entry = lua.create_table_with_capacity(0, 3)?;
    entry.raw_set("task", Text(task.to_string()))?;
    entry.raw_set("ok", result.is_ok())?;
    entry.raw_set("result", result_value(lua, result)?)?;
    Ok(Value::Table(entry))
}

/// A task's text, or the error value of its failure.
fn result_value(lua: &Lua, result: &Result<String, Failure>) -> LuaResult<Value> {
    match result {
        Ok(text) => text.as_str().into_lua(lua),
        Err(failure) => runvil_lua::Failure::from(failure.clone())
            .into_error_value(lua)
            .map(Value::Table),
    }
}
