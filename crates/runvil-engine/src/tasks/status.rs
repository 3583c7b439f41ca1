//! Checking on a task (book: Reading a status with `tasks.status`).

use runvil_lua::{Text, mlua::IntoLuaMulti};

use super::{Waiting, table::TaskState};
use crate::{
    ChainId, Failure, TaskOrigin,
    run::{Reply, Run},
};

/// One task as it stands.
pub(super) struct StatusReport {
    pub(super) target: String,
    pub(super) origin: TaskOrigin,
    pub(super) state: &'static str,
    pub(super) ok: Option<bool>,
    pub(super) section: Option<String>,
    pub(super) blocked: Option<&'static str>,
    pub(super) turns: u32,
    pub(super) tasks: Vec<ChainId>,
    pub(super) depth: u32,
    pub(super) note: Option<String>,
}

impl Run {
    /// The status of a task that the chain owns, or runs inside.
    pub(super) fn status(&mut self, id: &ChainId, task: &ChainId) -> Result<StatusReport, Failure> {
        if self.chain(id).task != *task || self.tasks.get(task).is_none() {
            self.tasks.owned(id, task)?;
        }
        Ok(self.report_of(task))
    }

    /// A task's status.
    pub(super) fn report_of(&self, id: &ChainId) -> StatusReport {
        let task = self.tasks.get(id).expect("a status is asked of a task in the table");
        let live = !task.has_ended();
        let chain = self.chains.get(id).filter(|_| live);
        let (state, ok) = match &task.state {
            TaskState::Running => ("running", None),
            TaskState::Done(result) => ("done", Some(result.is_ok())),
            TaskState::Cancelled => ("cancelled", Some(false)),
            TaskState::Abandoned(_) => ("abandoned", Some(false)),
        };
        let waiting = match chain {
            Some(chain) => chain.waiting,
            None => live.then_some(Waiting::Queued),
        };
        StatusReport {
            target: task.target.clone(),
            origin: task.origin,
            state,
            ok,
            section: chain
                .filter(|chain| chain.frame.is_some())
                .map(|chain| chain.section_name.clone()),
            blocked: waiting.map(Waiting::as_str),
            turns: self.shared.turns(id),
            tasks: if live { self.tasks.live(id, None) } else { Vec::new() },
            depth: task.depth,
            note: task.note.clone(),
        }
    }
}

impl StatusReport {
    /// The status as a plain table; a field without a value is missing from it.
    pub(super) fn into_reply(self) -> Reply {
        Reply::build(move |lua| {
            let table = lua.create_table_with_capacity(0, 10)?;
            table.raw_set("target", self.target.as_str())?;
            table.raw_set("origin", self.origin.as_str())?;
            table.raw_set("state", self.state)?;
            table.raw_set("ok", self.ok)?;
            table.raw_set("section", self.section.as_deref())?;
            table.raw_set("blocked", self.blocked)?;
            table.raw_set("turns", self.turns)?;
            let tasks = self.tasks.iter().map(|task| Text(task.to_string()));
            table.raw_set("tasks", lua.create_sequence_from(tasks)?)?;
            table.raw_set("depth", self.depth)?;
            table.raw_set("note", self.note.as_deref())?;
            table.into_lua_multi(lua)
        })
    }

    /// The line that a model reads (book: Reading a status line).
    pub(super) fn line(&self, id: &ChainId) -> String {
        let mut line = format!("Task id={id} (## {}): {}", self.target, self.state);
        if self.state == "done" {
            line.push_str(if self.ok == Some(true) { ", ok" } else { ", failed" });
        }
        if let Some(section) = &self.section {
            line.push_str(&format!(", in ## {section}"));
        }
        if let Some(blocked) = self.blocked {
            line.push_str(&format!(", waiting on {blocked}"));
        }
        line.push_str(&format!(", turns {}", self.turns));
        if !self.tasks.is_empty() {
            let ids: Vec<_> = self.tasks.iter().map(ToString::to_string).collect();
            line.push_str(&format!(", tasks {}", ids.join(", ")));
        }
        if let Some(note) = &self.note {
            line.push_str(&format!(", note: {note}"));
        }
        line
    }
}
