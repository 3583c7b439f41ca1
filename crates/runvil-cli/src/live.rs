//! What a person at a terminal sees of a run while it goes.

use std::io::{self, IsTerminal as _};

use runvil_engine::{Event, EventKind, RoundId};
use runvil_harness::{LiveText, Observer};

use crate::out;

/// Writes the text of live model rounds and the log checkpoints to standard error, if that is a terminal.
pub(crate) struct LiveOutput {
    shown: bool,
    /// The round that wrote last, whose line is not ended.
    round: Option<RoundId>,
}

impl LiveOutput {
    pub(crate) fn new() -> Self {
        Self {
            shown: io::stderr().is_terminal(),
            round: None,
        }
    }

    /// Ends the line of a round that wrote.
    pub(crate) fn end_line(&mut self) {
        if self.round.take().is_some() {
            out::note("");
        }
    }
}

impl Observer for LiveOutput {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ModelTurnCompleted { .. } | EventKind::ModelTurnFailed { .. } => self.end_line(),
            EventKind::Lua { message } if self.shown => {
                self.end_line();
                out::note(format_args!("[{}] {message}", event.section));
            }
            _ => {}
        }
    }

    fn live_text(&mut self, piece: LiveText<'_>) {
        if !self.shown {
            return;
        }
        // Rounds of several tasks can write at the same time; each change of the writer starts a line.
        if self.round.as_ref().is_some_and(|round| round != piece.round) {
            self.end_line();
        }
        self.round = Some(piece.round.clone());
        out::note_part(piece.text);
    }
}
