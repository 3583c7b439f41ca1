//! Notices: how a model hears that a task it started ended (book: `await_tasks` and task notices).

use super::table::TaskState;
use crate::{ChainId, EventKind, TaskOrigin, run::Run, untrusted};

/// One sentence for a model, queued on the chain whose model started the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    task: ChainId,
    text: String,
}

impl Run {
    /// Queues a model task's notice and reports it under the section that its owner entered last.
    pub(super) fn notify(&mut self, id: &ChainId) {
        let task = self.tasks.get_mut(id);
        if task.origin != TaskOrigin::Model || std::mem::replace(&mut task.noticed, true) {
            return;
        }
        let head = format!("Task id={} (## {})", task.id, task.target);
        let text = match &task.state {
            TaskState::Running => return,
            TaskState::Done(Ok(text)) => {
                format!("{head} completed: {}", untrusted::wrap(&self.shared.nonce, text))
            }
            TaskState::Done(Err(failure)) => format!("{head} failed: {failure}"),
            TaskState::Cancelled => format!("{head} was canceled: the author cancelled it"),
            TaskState::Abandoned(reason) => format!("{head} was abandoned: {}", reason.phrase()),
        };
        let owner = task.owner.clone();
        let Some(chain) = self.chains.get_mut(&owner) else {
            return;
        };
        chain.notices.push_back(Notice {
            task: id.clone(),
            text: text.clone(),
        });
        let turn = self.shared.turns(&chain.task);
        let event = EventKind::TaskNotice {
            task: id.clone(),
            turn,
            notice: text,
        };
        self.shared.report(&chain.task, &chain.section_name, event);
    }

    /// Takes the notices that wait for the model of a chain, in the order in which they were queued, and joins their
    /// tasks: all that each did comes before the chain's next step.
    pub(crate) fn take_notices(&mut self, id: &ChainId) -> Vec<String> {
        let notices = std::mem::take(&mut self.chain(id).notices);
        notices
            .into_iter()
            .map(|notice| {
                let identity = self.tasks.get_mut(&notice.task).identity.clone();
                self.chain(id).identity.join(&identity);
                notice.text
            })
            .collect()
    }
}
