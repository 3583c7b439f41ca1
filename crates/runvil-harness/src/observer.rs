//! What a Host hears of a run while it goes.

use runvil_engine::{Answer, ChainId, Effect, EffectId, Event, RoundId};

/// A piece of a model reply, as the model writes it. Only loop rounds are live; an infer round's reply comes whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveText<'a> {
    /// The task whose round it is.
    pub task: &'a ChainId,
    /// The section that asked for the round.
    pub section: &'a str,
    /// The round, which the round's events name too.
    pub round: &'a RoundId,
    /// The text that came since the last piece.
    pub text: &'a str,
}

/// Hears what a run does, in order. Every method is called on the task that drives the run, so it must not block
/// for long.
///
/// An effect is told before it is performed and its answer before the run sees it, so that a record which keeps
/// both can be replayed: the answers, each followed by one step, are all that a run's course hangs on beside its
/// setup.
pub trait Observer: Send {
    /// The run reports an event. Parse events come first.
    fn event(&mut self, event: &Event) {
        let _ = event;
    }

    /// A model writes. The pieces of a round come before its answer.
    fn live_text(&mut self, piece: LiveText<'_>) {
        let _ = piece;
    }

    /// An effect is about to be performed.
    fn effect_started(&mut self, effect: &Effect) {
        let _ = effect;
    }

    /// The run is about to be given an answer, and then to take one step.
    fn effect_answered(&mut self, id: EffectId, answer: &Answer) {
        let _ = (id, answer);
    }
}

/// Hears nothing.
impl Observer for () {}
