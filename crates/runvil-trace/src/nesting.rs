//! Which section and which task of a run the things that happen belong to.

use std::collections::BTreeMap;

use runvil_engine::{ChainId, Event, EventKind, TaskOrigin};

/// What an event opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening<'a> {
    /// A walked or called section.
    Section {
        /// Its name.
        name: &'a str,
        /// The task that walks it.
        task: &'a ChainId,
    },
    /// A task or an arm of a fanout.
    Task {
        /// Its id.
        task: &'a ChainId,
        /// The name of its section.
        target: &'a str,
        /// Who started it.
        origin: TaskOrigin,
    },
}

/// How a section or a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It came to its end.
    Done,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// A task whose owner ended before it.
    Abandoned,
    /// The run is over, or its record ends, and nothing tells how this ended.
    Open,
}

impl Ending {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
            Self::Open => "open",
        }
    }
}

/// The open sections and tasks of a run, each with something of whoever follows it, such as a span.
///
/// Events name the task that reports them. Within a task, sections nest as calls do. A section that fails reports no
/// end of its own: it is over once its VM is torn down and the task goes on with something else.
#[derive(Debug)]
pub struct Nesting<T> {
    root: T,
    tasks: BTreeMap<ChainId, Task<T>>,
}

#[derive(Debug)]
struct Task<T> {
    own: T,
    /// The innermost one last.
    sections: Vec<Section<T>>,
}

#[derive(Debug)]
struct Section<T> {
    name: String,
    held: T,
    torn_down: bool,
}

impl<T: Clone> Nesting<T> {
    /// A run that has not begun, and what stands for the run itself.
    pub fn new(root: T) -> Self {
        let main = Task::new(root.clone());
        Self {
            root,
            tasks: BTreeMap::from([(ChainId::root(), main)]),
        }
    }

    /// What stands for the run itself.
    pub fn root(&self) -> &T {
        &self.root
    }

    /// Where the task is now: its innermost section, or the task itself.
    pub fn innermost(&self, task: &ChainId) -> &T {
        self.tasks.get(task).map_or(&self.root, Task::innermost)
    }

    /// Takes an event. `open` makes what stands for a thing that it opens, below what it is given. Returns what the
    /// event closes, the innermost first.
    pub fn event(&mut self, event: &Event, open: impl FnOnce(&T, Opening<'_>) -> T) -> Vec<(T, Ending)> {
        let (id, name) = (&event.provenance.task, event.section.as_str());
        match &event.kind {
            EventKind::LuaTeardownSucceeded => self.task(id).tear_down(name),
            EventKind::SectionFinished => return self.task(id).finish(name),
            _ => {}
        }
        let mut closed = match event.kind {
            EventKind::LuaTeardownSucceeded => Vec::new(),
            _ => self.task(id).close_failed(),
        };
        match &event.kind {
            EventKind::SectionStarted => {
                let task = self.task(id);
                let held = open(task.innermost(), Opening::Section { name, task: id });
                task.sections.push(Section {
                    name: name.to_owned(),
                    held,
                    torn_down: false,
                });
            }
            EventKind::TaskStarted {
                task, target, origin, ..
            } => {
                let opening = Opening::Task {
                    task,
                    target,
                    origin: *origin,
                };
                let held = open(self.innermost(id), opening);
                self.tasks.insert(task.clone(), Task::new(held));
            }
            EventKind::TaskSucceeded { task } => closed.extend(self.end_task(task, Ending::Done)),
            EventKind::TaskFailed { task } => closed.extend(self.end_task(task, Ending::Failed)),
            EventKind::TaskCancelled { task } => closed.extend(self.end_task(task, Ending::Cancelled)),
            EventKind::TaskAbandoned { task, .. } => closed.extend(self.end_task(task, Ending::Abandoned)),
            _ => {}
        }
        closed
    }

    /// Ends the run. Returns what is still open, the innermost first, without the run itself.
    pub fn end(mut self) -> Vec<(T, Ending)> {
        let mut closed = Vec::new();
        let main = ChainId::root();
        // Tasks come behind those that started them.
        while let Some((id, mut task)) = self.tasks.pop_last() {
            closed.extend(task.close_all(Ending::Open));
            if id != main {
                closed.push((task.own, Ending::Open));
            }
        }
        closed
    }

    fn task(&mut self, id: &ChainId) -> &mut Task<T> {
        let root = &self.root;
        self.tasks.entry(id.clone()).or_insert_with(|| Task::new(root.clone()))
    }

    fn end_task(&mut self, id: &ChainId, ending: Ending) -> Vec<(T, Ending)> {
        let Some(mut task) = self.tasks.remove(id) else {
            return Vec::new();
        };
        let inner = if ending == Ending::Done { Ending::Failed } else { ending };
        let mut closed = task.close_all(inner);
        closed.push((task.own, ending));
        closed
    }
}

impl<T> Task<T> {
    fn new(own: T) -> Self {
        Self {
            own,
            sections: Vec::new(),
        }
    }

    /// A section without its VM does nothing any more.
    fn innermost(&self) -> &T {
        let open = self.sections.iter().rfind(|section| !section.torn_down);
        open.map_or(&self.own, |section| &section.held)
    }

    fn tear_down(&mut self, name: &str) {
        if let Some(section) = self.sections.last_mut().filter(|section| section.name == name) {
            section.torn_down = true;
        }
    }

    /// The section is done. What stands above it did not get to its end.
    fn finish(&mut self, name: &str) -> Vec<(T, Ending)> {
        let Some(at) = self.sections.iter().rposition(|section| section.name == name) else {
            return Vec::new();
        };
        let mut closed: Vec<_> = self
            .sections
            .drain(at..)
            .map(|section| (section.held, Ending::Failed))
            .collect();
        closed[0].1 = Ending::Done;
        closed.reverse();
        closed
    }

    fn close_failed(&mut self) -> Vec<(T, Ending)> {
        let mut closed = Vec::new();
        while let Some(section) = self.sections.pop_if(|section| section.torn_down) {
            closed.push((section.held, Ending::Failed));
        }
        closed
    }

    fn close_all(&mut self, ending: Ending) -> Vec<(T, Ending)> {
        let sections = self.sections.drain(..).rev();
        sections.map(|section| (section.held, ending)).collect()
    }
}
