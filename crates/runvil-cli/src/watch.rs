//! What hears of a run while it goes.

use std::sync::Arc;

use runvil_engine::{Answer, Effect, EffectId, Event};
use runvil_harness::{LiveText, Observer};
use tokio::task::JoinHandle;

use crate::{
    args::ShowArgs, event_lines::EventLines, exit::Fault, live::LiveOutput, narrate::Narrator, progress::Progress,
    screen::screen, usage::Meter,
};

/// Shows a run as the command line asks for it.
pub(crate) struct Watch {
    live: Option<LiveOutput>,
    narrator: Option<Narrator>,
    progress: Option<Progress>,
    events: Option<EventLines>,
    drawing: Option<JoinHandle<()>>,
}

impl Watch {
    /// Gets everything ready, and begins to draw the progress.
    ///
    /// # Errors
    /// The place for the events cannot be written.
    pub(crate) fn begin(show: &ShowArgs, meter: &Arc<Meter>) -> Result<Self, Fault> {
        let events = show.events.sink.as_ref().map(EventLines::open).transpose()?;
        // Lines of JSON that something else stands between are of no use.
        let events_alone = show.events.are_alone();
        let watched = screen().is_terminal() && !show.quiet && !events_alone;
        let progress = watched.then(|| Progress::new(Arc::clone(meter)));
        Ok(Self {
            live: watched.then(LiveOutput::default),
            narrator: (show.verbose && !events_alone).then(|| Narrator::new(watched)),
            drawing: progress.clone().map(|progress| tokio::spawn(progress.draw())),
            progress,
            events,
        })
    }

    /// Ends what is shown, so that the result can be.
    ///
    /// # Errors
    /// Not every event was written.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        if let Some(drawing) = self.drawing {
            drawing.abort();
        }
        if let Some(mut live) = self.live {
            live.finish();
        }
        screen().close();
        self.events.map_or(Ok(()), EventLines::finish)
    }

    fn parts(&mut self) -> impl Iterator<Item = &mut dyn Observer> {
        let Self {
            live,
            narrator,
            progress,
            events,
            ..
        } = self;
        let parts: [Option<&mut dyn Observer>; 4] = [
            events.as_mut().map(|part| part as _),
            narrator.as_mut().map(|part| part as _),
            live.as_mut().map(|part| part as _),
            progress.as_mut().map(|part| part as _),
        ];
        parts.into_iter().flatten()
    }
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        self.parts().for_each(|part| part.event(event));
    }

    fn live_text(&mut self, piece: LiveText<'_>) {
        self.parts().for_each(|part| part.live_text(piece.clone()));
    }

    fn effect_started(&mut self, effect: &Effect) {
        self.parts().for_each(|part| part.effect_started(effect));
    }

    fn effect_answered(&mut self, id: EffectId, answer: &Answer) {
        self.parts().for_each(|part| part.effect_answered(id, answer));
    }
}
