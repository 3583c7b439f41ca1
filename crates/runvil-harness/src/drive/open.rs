//! The effects of a run that are not answered yet, and the tasks that perform them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use runvil_engine::{Answer, Effect, EffectId, EffectKind};
use runvil_pack::Cancellation;
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, Id, JoinSet},
};

use crate::{LiveText, Observer, packs::ToolTable, perform::Performer};

/// A run's open effects by id, which is issue order.
pub(super) struct OpenEffects {
    performer: Arc<Performer>,
    effects: BTreeMap<EffectId, Open>,
    tasks: JoinSet<(EffectId, Answer)>,
    /// Ends when the store operation issued last has landed: a run's operations land one after the other, in issue
    /// order.
    last_store_op: Option<oneshot::Receiver<()>>,
    writer: mpsc::UnboundedSender<LivePiece>,
    pieces: mpsc::UnboundedReceiver<LivePiece>,
}

struct Open {
    effect: Effect,
    state: State,
}

enum State {
    /// It is performed. A store operation that the run dropped still lands.
    Working {
        task: AbortHandle,
        cancellation: Cancellation,
        dropped: bool,
    },
    /// Its work was cut short, since the run is cancelled and will drop it.
    Abandoned,
    /// The run has still to be given this answer.
    Answered(Answer),
    /// A recorded step asked for it, and it is not settled what becomes of it.
    Held {
        /// The run dropped it.
        dropped: bool,
    },
}

/// A store operation's place in line. Dropping it lets the next one come.
struct StoreTurn {
    before: Option<oneshot::Receiver<()>>,
    _landed: oneshot::Sender<()>,
}

impl StoreTurn {
    /// The place behind `last`, which this one then is.
    fn after(last: &mut Option<oneshot::Receiver<()>>) -> Self {
        let (landed, wait) = oneshot::channel();
        Self {
            before: last.replace(wait),
            _landed: landed,
        }
    }

    /// Ends once the operation before has landed.
    async fn come(&mut self) {
        if let Some(before) = self.before.take() {
            // The one before tells by dropping its end, which is an error here.
            let _ = before.await;
        }
    }
}

/// A piece of a live model reply.
pub(super) struct LivePiece {
    id: EffectId,
    text: String,
}

/// What performing brings.
pub(super) enum News {
    Wrote(LivePiece),
    Answered(EffectId, Answer),
    Panicked(EffectId),
}

impl OpenEffects {
    pub(super) fn new(performer: Arc<Performer>) -> Self {
        let (writer, pieces) = mpsc::unbounded_channel();
        Self {
            performer,
            effects: BTreeMap::new(),
            tasks: JoinSet::new(),
            last_store_op: None,
            writer,
            pieces,
        }
    }

    /// The tools of the run.
    pub(super) fn tools(&self) -> &ToolTable {
        &self.performer.tools
    }

    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Takes what a step asked for and what it dropped. A step can drop what it asks for itself: that is never performed,
    /// but for a store operation, which lands.
    pub(super) fn take(&mut self, effects: Vec<Effect>, drops: Vec<EffectId>) {
        let drops: BTreeSet<EffectId> = drops.into_iter().collect();
        for effect in effects {
            if drops.contains(&effect.id) && !is_store(&effect) {
                let state = State::Answered(Answer::Dropped);
                self.effects.insert(effect.id, Open { effect, state });
            } else {
                self.start(effect);
            }
        }
        for id in drops {
            self.drop_effect(id);
        }
    }

    /// Starts to perform an effect.
    fn start(&mut self, effect: Effect) {
        let id = effect.id;
        let performer = Arc::clone(&self.performer);
        let cancellation = Cancellation::new();
        let (kind, token, writer) = (effect.kind.clone(), cancellation.clone(), self.writer.clone());
        let mut turn = is_store(&effect).then(|| StoreTurn::after(&mut self.last_store_op));
        let task = self.tasks.spawn(async move {
            if let Some(turn) = &mut turn {
                turn.come().await;
            }
            let live = move |text: &str| {
                let text = text.to_owned();
                // Nobody listens once the driver is gone.
                let _ = writer.send(LivePiece { id, text });
            };
            (id, performer.perform(id, kind, live, token).await)
        });
        let state = State::Working {
            task,
            cancellation,
            dropped: false,
        };
        self.effects.insert(id, Open { effect, state });
    }

    /// Takes an effect that a recorded step asks for, without performing it.
    pub(super) fn hold(&mut self, effect: Effect) {
        let state = State::Held { dropped: false };
        self.effects.insert(effect.id, Open { effect, state });
    }

    /// A held effect, and whether the run dropped it.
    pub(super) fn held(&self, id: EffectId) -> Option<(&Effect, bool)> {
        match self.effects.get(&id)? {
            Open {
                effect,
                state: State::Held { dropped },
            } => Some((effect, *dropped)),
            _ => None,
        }
    }

    /// The ids of the effects that are held, in issue order.
    pub(super) fn all_held(&self) -> Vec<EffectId> {
        let held = |open: &&Open| matches!(open.state, State::Held { .. });
        self.effects.values().filter(held).map(|open| open.effect.id).collect()
    }

    /// Takes an effect out whose answer a recorded step was handed.
    pub(super) fn release(&mut self, id: EffectId) -> Option<Effect> {
        self.effects.remove(&id).map(|open| open.effect)
    }

    /// Settles that a held effect has this answer.
    pub(super) fn settle(&mut self, id: EffectId, answer: Answer) {
        if let Some(open) = self.effects.get_mut(&id) {
            open.state = State::Answered(answer);
        }
    }

    /// Settles that a held effect is performed. A store operation that the run dropped lands.
    pub(super) fn perform_held(&mut self, id: EffectId) {
        let Some((_, was_dropped)) = self.held(id) else { return };
        let Some(effect) = self.release(id) else { return };
        self.start(effect);
        if was_dropped {
            self.drop_effect(id);
        }
    }

    /// The next thing that performing brings. Cancel safe.
    pub(super) async fn news(&mut self) -> News {
        loop {
            let ended = tokio::select! {
                biased;
                Some(piece) = self.pieces.recv() => return News::Wrote(piece),
                Some(ended) = self.tasks.join_next() => ended,
            };
            match ended {
                Ok((id, answer)) => return News::Answered(id, answer),
                Err(error) if error.is_panic() => {
                    if let Some(id) = self.performed_by(error.id()) {
                        return News::Panicked(id);
                    }
                }
                // It was cut short.
                Err(_) => {}
            }
        }
    }

    /// The open effect that a task performs.
    fn performed_by(&self, id: Id) -> Option<EffectId> {
        let performs = |open: &Open| matches!(&open.state, State::Working { task, .. } if task.id() == id);
        self.effects.iter().find(|(_, open)| performs(open)).map(|(id, _)| *id)
    }

    /// Tells the observer of a piece, unless nobody waits for its round any more.
    pub(super) fn tell(&self, piece: &LivePiece, observer: &mut dyn Observer) {
        let Some(Open {
            effect,
            state: State::Working { .. },
        }) = self.effects.get(&piece.id)
        else {
            return;
        };
        if let EffectKind::ModelRound(round) = &effect.kind {
            let LivePiece { text, .. } = piece;
            observer.live_text(LiveText {
                task: &effect.task,
                section: &effect.section,
                round: &round.round,
                text,
            });
        }
    }

    /// Takes the answer of a task that ended. The pieces that it wrote before are told first.
    pub(super) fn answer(&mut self, id: EffectId, answer: Answer, observer: &mut dyn Observer) {
        while let Ok(piece) = self.pieces.try_recv() {
            self.tell(&piece, observer);
        }
        if let Some(Open { state, .. }) = self.effects.get_mut(&id)
            && let State::Working { dropped, .. } = *state
        {
            *state = State::Answered(if dropped { Answer::Dropped } else { answer });
        }
    }

    /// The oldest answer that the run has not been given. Its effect is no longer open.
    pub(super) fn next_answer(&mut self) -> Option<(EffectId, Answer)> {
        let id = *self
            .effects
            .iter()
            .find(|(_, open)| matches!(open.state, State::Answered(_)))?
            .0;
        match self.effects.remove(&id)?.state {
            State::Answered(answer) => Some((id, answer)),
            State::Working { .. } | State::Abandoned | State::Held { .. } => None,
        }
    }

    /// Cuts an effect short that the run dropped. A store operation lands first.
    pub(super) fn drop_effect(&mut self, id: EffectId) {
        let Some(Open { effect, state }) = self.effects.get_mut(&id) else {
            return;
        };
        match state {
            State::Working { dropped, .. } if is_store(effect) => *dropped = true,
            State::Held { dropped } => *dropped = true,
            State::Working { .. } | State::Abandoned | State::Answered(_) => {
                cut_short(state);
                *state = State::Answered(Answer::Dropped);
            }
        }
    }

    /// Stops the calls that wait now (book: Stopping the round in flight), and tells which they are.
    pub(super) fn stop(&mut self) -> Vec<EffectId> {
        let mut stopped = Vec::new();
        for (id, Open { effect, state }) in &mut self.effects {
            if matches!(state, State::Working { .. }) && is_stoppable(&effect.kind) {
                cut_short(state);
                *state = State::Answered(Answer::Dropped);
                stopped.push(*id);
            }
        }
        stopped
    }

    /// Cuts the work of a cancelled run short, but for store operations.
    pub(super) fn abandon_work(&mut self) {
        self.abandon(|effect| !is_store(effect));
    }

    /// Leaves a cancelled run's store operations behind. Tells whether there were any.
    pub(super) fn abandon_store(&mut self) -> bool {
        self.abandon(is_store)
    }

    fn abandon(&mut self, which: impl Fn(&Effect) -> bool) -> bool {
        let mut any = false;
        for Open { effect, state } in self.effects.values_mut() {
            if let State::Working { dropped, .. } = *state
                && which(effect)
            {
                cut_short(state);
                *state = if dropped {
                    State::Answered(Answer::Dropped)
                } else {
                    State::Abandoned
                };
                any = true;
            }
        }
        any
    }
}

impl Drop for OpenEffects {
    /// Tells tools that work on threads of their own that nobody drives the run any more.
    fn drop(&mut self) {
        for open in self.effects.values() {
            cut_short(&open.state);
        }
    }
}

fn is_store(effect: &Effect) -> bool {
    matches!(effect.kind, EffectKind::Store(_))
}

/// Whether a stop drops such an effect. A store operation is never waiting when a stop lands, by the book.
fn is_stoppable(kind: &EffectKind) -> bool {
    match kind {
        EffectKind::ModelRound(_) | EffectKind::Timer { .. } => true,
        EffectKind::ToolCall(call) => !call.survives_stop,
        EffectKind::Store(_) => false,
    }
}

fn cut_short(state: &State) {
    if let State::Working { task, cancellation, .. } = state {
        cancellation.cancel();
        task.abort();
    }
}
