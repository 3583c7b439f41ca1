//! The text that models write, as it comes, and the log checkpoints beside it.

use std::collections::BTreeMap;

use runvil_engine::{Answer, ChainId, Effect, EffectId, EffectKind, Event, EventKind, RoundId};
use runvil_harness::{LiveText, Observer};

use crate::screen::{dim, harmless, screen};

/// Writes the text of live model rounds and the log checkpoints to the screen.
///
/// Rounds of several tasks can write at the same time. The one that began first has the floor: its text is shown as it
/// comes. What the others write is kept, and shown when it is their turn, so that no text is cut by another.
#[derive(Default)]
pub(crate) struct LiveOutput {
    rounds: BTreeMap<EffectId, RoundId>,
    /// The rounds that wrote, the one with the floor first.
    writers: Vec<Writer>,
    /// The checkpoints that came while a round had the floor.
    lines: Vec<String>,
}

struct Writer {
    round: RoundId,
    /// What tells a task's text from that of the main walk.
    header: Option<String>,
    text: String,
    ended: bool,
}

impl LiveOutput {
    /// Shows what is left of a run that ended.
    pub(crate) fn finish(&mut self) {
        for writer in &mut self.writers {
            writer.ended = true;
        }
        self.pass_floor();
    }

    fn end_round(&mut self, round: &RoundId) {
        if let Some(writer) = self.writers.iter_mut().find(|writer| writer.round == *round) {
            writer.ended = true;
            self.pass_floor();
        }
    }

    /// Gives the floor on, as long as the round that has it ended.
    fn pass_floor(&mut self) {
        while self.writers.first().is_some_and(|writer| writer.ended) {
            screen().end_line();
            self.writers.remove(0);
            for line in self.lines.drain(..) {
                screen().line(line);
            }
            if let Some(next) = self.writers.first_mut() {
                next.begin();
            }
        }
    }

    fn log(&mut self, line: String) {
        if self.writers.is_empty() {
            screen().line(line);
        } else {
            self.lines.push(line);
        }
    }
}

impl Writer {
    /// Shows the text so far.
    fn begin(&mut self) {
        let mut screen = screen();
        if let Some(header) = self.header.take() {
            screen.line(header);
        }
        screen.part(&std::mem::take(&mut self.text));
    }
}

impl Observer for LiveOutput {
    fn event(&mut self, event: &Event) {
        if let EventKind::Lua { message } = &event.kind {
            self.log(checkpoint(&event.section, message));
        }
    }

    fn live_text(&mut self, piece: LiveText<'_>) {
        let text = harmless(piece.text);
        let writes = |writer: &Writer| writer.round == *piece.round;
        match self.writers.iter().position(writes) {
            Some(0) => screen().part(&text),
            Some(place) => self.writers[place].text.push_str(&text),
            None => {
                let of_a_task = *piece.task != ChainId::root();
                self.writers.push(Writer {
                    round: piece.round.clone(),
                    header: of_a_task.then(|| dim(&format!("[{} {}]", harmless(piece.section), piece.task))),
                    text,
                    ended: false,
                });
                if let [only] = &mut self.writers[..] {
                    only.begin();
                }
            }
        }
    }

    fn effect_started(&mut self, effect: &Effect) {
        if let EffectKind::ModelRound(round) = &effect.kind {
            self.rounds.insert(effect.id, round.round.clone());
        }
    }

    fn effect_answered(&mut self, id: EffectId, _: &Answer) {
        if let Some(round) = self.rounds.remove(&id) {
            self.end_round(&round);
        }
    }
}

/// A log checkpoint as a line.
pub(crate) fn checkpoint(section: &str, message: &str) -> String {
    format!("{} {}", dim(&format!("[{}]", harmless(section))), harmless(message))
}
