//! Standard error as a person sees it: whole lines, the text that a model writes, the operator's question, and one line
//! at the bottom that tells how far the run is.
//!
//! Several parts of the command write there at the same time. One [`Screen`] knows what stands where, so that none of them
//! writes into a line of another: the status line goes before anything else is written, and what the run shows while the
//! operator types is held back until the message is there.

use std::{
    fmt,
    io::{self, IsTerminal as _, Stderr, Write},
    mem,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use anstream::AutoStream;

/// What asks the operator.
const QUESTION: &str = "> ";

/// The width of a terminal that does not tell its own.
const USUAL_WIDTH: usize = 80;

/// The columns behind the status line in which a terminal may show a key that was pressed, such as `^C`.
const ECHO: usize = 2;

const ERASE_LINE: &str = "\x1b[K";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

static SCREEN: LazyLock<Mutex<Screen<AutoStream<Stderr>>>> =
    LazyLock::new(|| Mutex::new(Screen::new(anstream::stderr(), io::stderr().is_terminal())));

/// The screen of this process.
pub(crate) fn screen() -> MutexGuard<'static, Screen<AutoStream<Stderr>>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was written to standard error, as far as the next writer has to know. That nobody reads it does not concern the
/// command, so that nothing here fails.
pub(crate) struct Screen<W> {
    out: W,
    terminal: bool,
    /// A line was begun and not ended.
    open: bool,
    /// The operator is asked.
    asking: bool,
    /// What the run showed since the operator is asked.
    held: Vec<Held>,
    /// The status line, empty where there is none.
    status: String,
    closed: bool,
}

enum Held {
    Line(String),
    Part(String),
    End,
}

impl<W: Write> Screen<W> {
    fn new(out: W, terminal: bool) -> Self {
        Self {
            out,
            terminal,
            open: false,
            asking: false,
            held: Vec::new(),
            status: String::new(),
            closed: false,
        }
    }

    /// Whether a person looks at it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes a line that cannot wait. An operator who is asked is asked again below it.
    pub(crate) fn note(&mut self, text: &dyn fmt::Display) {
        self.clear_status();
        let asks = mem::take(&mut self.asking);
        self.end_open_line();
        self.put(&format!("{text}\n"));
        if asks {
            self.ask();
        }
    }

    /// Writes a line that tells what the run does.
    pub(crate) fn line(&mut self, text: String) {
        if self.asking && self.terminal {
            self.held.push(Held::Line(text));
        } else {
            self.note(&text);
        }
    }

    /// Goes on with the text that a model writes.
    pub(crate) fn part(&mut self, text: &str) {
        if self.asking && self.terminal {
            match self.held.last_mut() {
                Some(Held::Part(before)) => before.push_str(text),
                _ => self.held.push(Held::Part(text.to_owned())),
            }
        } else if !text.is_empty() {
            self.clear_status();
            self.put(text);
            self.open = !text.ends_with('\n');
        }
    }

    /// Ends the line of a text, if it did not itself.
    pub(crate) fn end_line(&mut self) {
        if self.asking && self.terminal {
            self.held.push(Held::End);
        } else {
            self.end_open_line();
        }
    }

    fn end_open_line(&mut self) {
        if mem::take(&mut self.open) {
            self.put("\n");
        }
    }

    /// Asks the operator, whose typing the terminal shows from here on.
    pub(crate) fn ask(&mut self) {
        self.clear_status();
        self.end_open_line();
        self.put(QUESTION);
        (self.asking, self.open) = (true, true);
    }

    /// Shows what was held back while the operator was asked. `typed` tells that the operator ended the line.
    pub(crate) fn answered(&mut self, typed: bool) {
        self.asking = false;
        // What is typed shows on a terminal and nowhere else.
        if typed && self.terminal {
            self.open = false;
        }
        self.end_open_line();
        for held in mem::take(&mut self.held) {
            match held {
                Held::Line(text) => self.line(text),
                Held::Part(text) => self.part(&text),
                Held::End => self.end_line(),
            }
        }
    }

    /// Draws the status line anew, if nothing else stands in its place.
    pub(crate) fn draw_status(&mut self, text: &str) {
        if !self.terminal || self.open || self.asking || self.closed {
            return;
        }
        let room = width().saturating_sub(1 + ECHO);
        let text = console::truncate_str(text, room, "…").into_owned();
        if text != self.status {
            let erased = self.erased_status();
            self.put(&format!("{erased}{DIM}{text}{PLAIN}"));
            self.status = text;
        }
    }

    /// Draws no status any more, and leaves the cursor at the start of a line.
    pub(crate) fn close(&mut self) {
        self.clear_status();
        self.end_open_line();
        self.closed = true;
    }

    /// Takes the status line away.
    fn clear_status(&mut self) {
        let erased = self.erased_status();
        if !erased.is_empty() {
            self.put(&erased);
            self.status.clear();
        }
    }

    /// What takes the status line from the terminal. Blanks do it where escape sequences are not wanted.
    fn erased_status(&self) -> String {
        match console::measure_text_width(&self.status) {
            0 => String::new(),
            columns => format!("\r{:columns$}\r{ERASE_LINE}", "", columns = columns + ECHO),
        }
    }

    fn put(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// The columns of the terminal.
fn width() -> usize {
    let size = console::Term::stderr().size_checked();
    size.map_or(USUAL_WIDTH, |(_, columns)| usize::from(columns))
}

/// The text with everything in it that would steer a terminal made harmless: it may come from a model or a web page.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\r' => None,
        '\n' | '\t' => Some(c),
        c if c.is_control() => Some(char::REPLACEMENT_CHARACTER),
        c => Some(c),
    };
    text.chars().filter_map(shown).collect()
}

/// The text in a form that steps back behind what matters more.
pub(crate) fn dim(text: &str) -> String {
    format!("{DIM}{text}{PLAIN}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written, without styles.
    fn shown(terminal: bool, write: impl FnOnce(&mut Screen<Vec<u8>>)) -> String {
        let mut screen = Screen::new(Vec::new(), terminal);
        write(&mut screen);
        let text = String::from_utf8(screen.out).expect("text");
        console::strip_ansi_codes(&text).into_owned()
    }

    #[test]
    fn a_line_starts_on_a_line_of_its_own() {
        let text = shown(true, |screen| {
            screen.part("half a ");
            screen.part("line");
            screen.note(&"note");
            screen.part("whole\n");
            screen.note(&"note");
        });
        assert_eq!(text, "half a line\nnote\nwhole\nnote\n");
    }

    #[test]
    fn the_status_line_goes_before_anything_is_written() {
        let text = shown(true, |screen| {
            screen.draw_status("12345");
            screen.part("text");
            screen.draw_status("hidden while a line is open");
            screen.end_line();
            screen.draw_status("67");
            screen.clear_status();
        });
        assert_eq!(text, "12345\r       \rtext\n67\r    \r");
    }

    #[test]
    fn what_a_run_shows_waits_for_the_operators_line() {
        let text = shown(true, |screen| {
            screen.ask();
            screen.part("strea");
            screen.part("med");
            screen.end_line();
            screen.line("log".to_owned());
            screen.draw_status("hidden");
            screen.note(&"urgent");
            screen.answered(true);
        });
        assert_eq!(text, "> \nurgent\n> streamed\nlog\n");
    }

    #[test]
    fn a_question_that_nobody_answers_ends_its_line() {
        let text = shown(true, |screen| {
            screen.ask();
            screen.answered(false);
            screen.note(&"cancelled");
        });
        assert_eq!(text, "> \ncancelled\n");
    }

    #[test]
    fn nothing_is_drawn_or_held_back_where_nobody_watches() {
        let text = shown(false, |screen| {
            screen.draw_status("status");
            screen.ask();
            screen.line("log".to_owned());
        });
        assert_eq!(text, "> \nlog\n> ");
    }

    #[test]
    fn text_from_elsewhere_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\r\n\tc\u{9b}"), "a\u{fffd}[2Jb\n\tc\u{fffd}");
    }
}
