//! The operator at the other end of standard input.

use std::{
    io::{self, BufRead, IsTerminal as _},
    sync::OnceLock,
    thread,
};

use async_trait::async_trait;
use runvil_pack::{InputBroker, InputError};
use tokio::sync::{Mutex, mpsc};

use crate::screen::screen;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// Reads the operator's messages from standard input.
///
/// Each line is one message, without its line break. At a terminal, a line that ends in a backslash goes on in the next
/// one, so that a message can have several lines. The end of the input fails every further wait.
pub(crate) struct StdinOperator {
    at_terminal: bool,
    lines: OnceLock<Mutex<mpsc::UnboundedReceiver<io::Result<String>>>>,
}

impl StdinOperator {
    pub(crate) fn new() -> Self {
        Self {
            at_terminal: io::stdin().is_terminal(),
            lines: OnceLock::new(),
        }
    }

    /// The messages. Reading starts with the first question, so that a run which asks nothing leaves standard input alone.
    fn lines(&self) -> &Mutex<mpsc::UnboundedReceiver<io::Result<String>>> {
        self.lines.get_or_init(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let at_terminal = self.at_terminal;
            // A read cannot be given up, so it has a thread of its own, which ends with the process.
            thread::spawn(move || serve(&mut io::stdin().lock(), at_terminal, &sender));
            Mutex::new(receiver)
        })
    }
}

#[async_trait]
impl InputBroker for StdinOperator {
    async fn ask(&self) -> Result<String, InputError> {
        let mut lines = self.lines().lock().await;
        // What was typed ahead stands on the screen already.
        let message = match lines.try_recv() {
            Ok(message) => Some(message),
            Err(_) if self.at_terminal => {
                let mut question = Question::put();
                let message = lines.recv().await;
                question.typed = matches!(message, Some(Ok(_)));
                message
            }
            Err(_) => lines.recv().await,
        };
        match message {
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => Err(InputError::new("the operator's input cannot be read").with_cause(error)),
            None => Err(InputError::new("the operator's input has ended")),
        }
    }
}

/// A question that stands on the screen until it is answered or given up.
struct Question {
    /// The operator ended the line.
    typed: bool,
}

impl Question {
    fn put() -> Self {
        screen().ask();
        Self { typed: false }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        screen().answered(self.typed);
    }
}

/// Sends one message after the other until the input ends.
fn serve(input: &mut impl BufRead, continues: bool, sender: &mpsc::UnboundedSender<io::Result<String>>) {
    loop {
        let message = message(input, continues).transpose();
        let Some(message) = message else { return };
        let readable = message.is_ok();
        // A run that ended does not hear of it.
        if sender.send(message).is_err() || !readable {
            return;
        }
    }
}

/// Reads one message; `None` at the end of the input.
fn message(input: &mut impl BufRead, continues: bool) -> io::Result<Option<String>> {
    let mut text = String::new();
    loop {
        let start = text.len();
        let room = (MAX_MESSAGE - start) as u64;
        let read = io::Read::take(&mut *input, room + 1).read_line(&mut text)?;
        if read as u64 > room {
            return Err(io::Error::other(format!(
                "a message is longer than {MAX_MESSAGE} bytes"
            )));
        }
        if read == 0 {
            return Ok((start > 0).then_some(text));
        }
        if text.ends_with('\n') {
            text.pop();
            if text[start..].ends_with('\r') {
                text.pop();
            }
        }
        if !(continues && text[start..].ends_with('\\')) {
            return Ok(Some(text));
        }
        text.pop();
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(input: &str, continues: bool) -> Vec<String> {
        let mut input = input.as_bytes();
        std::iter::from_fn(|| message(&mut input, continues).expect("readable")).collect()
    }

    #[test]
    fn each_line_is_a_message_byte_for_byte() {
        assert_eq!(messages("  a b\t\r\n\nlast", false), ["  a b\t", "", "last"]);
        assert_eq!(messages("a\\\nb\n", false), ["a\\", "b"]);
    }

    #[test]
    fn a_backslash_at_the_end_of_a_typed_line_goes_on_in_the_next() {
        assert_eq!(messages("a\\\nb\\\n\nc\nd\\", true), ["a\nb\n", "c", "d\n"]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let long = "x".repeat(MAX_MESSAGE + 1);
        assert!(message(&mut long.as_bytes(), false).is_err());
        assert!(message(&mut "\u{fffd}\n".as_bytes(), false).is_ok());
        assert!(message(&mut &b"\xff\n"[..], false).is_err());
    }
}
