//! A reply, decoded from the bytes of its body as they arrive.

use std::ops::ControlFlow;

use runvil_engine::{CompletionError, ModelReply};
use serde_json::{Map, Value};

use crate::{
    Malformed, SseDecoder, SseEvent,
    classify::{bounded, classify_stream_error},
    reply::draft::Draft,
};

mod calls;
mod content;
mod draft;
mod metadata;
#[cfg(test)]
mod tests;

/// What a decoder is told as text arrives: the fragments of the reply text, in the model's order.
pub type OnText<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Whether a reply needs more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The terminal signal has not come yet.
    More,
    /// The terminal signal came; what follows does not belong to the reply.
    Done,
}

/// A decoder of one reply of a chat-completions server: a stream of events that ends with `[DONE]`, or, from a
/// server that does not stream, one JSON document.
///
/// It reads no network: bytes go in, text fragments and at last a [`ModelReply`] come out, which is yet to be
/// [judged](crate::judge). The work is linear in the bytes, and the memory is bounded by them.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    form: Form,
    draft: Draft,
    done: bool,
}

/// How the server answers. The first byte that is no white space tells: no line of an event stream starts with `{`.
#[derive(Debug, Default)]
enum Form {
    #[default]
    Unknown,
    Stream(SseDecoder),
    Document(Vec<u8>),
}

impl ReplyDecoder {
    /// A decoder at the start of a body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the body.
    ///
    /// # Errors
    /// The failure that an error object of the backend tells, or a malformed reply.
    pub fn push(&mut self, bytes: &[u8], on_text: OnText<'_>) -> Result<Progress, CompletionError> {
        let bytes = self.settle_form(bytes);
        let draft = &mut self.draft;
        match &mut self.form {
            Form::Unknown => {}
            Form::Document(document) => document.extend_from_slice(bytes),
            Form::Stream(sse) => {
                if let ControlFlow::Break(end) = sse.push(bytes, |event| take_event(draft, event, on_text)) {
                    end?;
                    self.done = true;
                }
            }
        }
        Ok(if self.done { Progress::Done } else { Progress::More })
    }

    /// Ends the body and gives the reply.
    ///
    /// # Errors
    /// A reply that was cut off or is malformed, or the failure that an error object of the backend tells.
    pub fn finish(mut self, on_text: OnText<'_>) -> Result<ModelReply, CompletionError> {
        match std::mem::take(&mut self.form) {
            _ if self.done => {}
            Form::Unknown => return Err(Malformed::NoSentinel.into()),
            Form::Document(document) => {
                let document = error_free(parse_object(&document).ok_or(Malformed::Document)?)?;
                self.draft.take_document(document, on_text)?;
            }
            Form::Stream(sse) => {
                let draft = &mut self.draft;
                match sse.finish(|event| take_last_event(draft, event, on_text)) {
                    ControlFlow::Break(end) => end?,
                    ControlFlow::Continue(()) => return Err(Malformed::NoSentinel.into()),
                }
            }
        }
        Ok(self.draft.finish()?)
    }

    /// Decides the form at the first telling byte and gives the bytes from there on.
    fn settle_form<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if !matches!(self.form, Form::Unknown) {
            return bytes;
        }
        let bytes = bytes.trim_ascii_start();
        match bytes.first() {
            None => {}
            Some(b'{') => self.form = Form::Document(Vec::new()),
            Some(_) => self.form = Form::Stream(SseDecoder::new()),
        }
        bytes
    }
}

/// What one event did: the stream goes on, or it ended well or ill.
type EventFlow = ControlFlow<Result<(), CompletionError>>;

fn take_event(draft: &mut Draft, event: SseEvent<'_>, on_text: OnText<'_>) -> EventFlow {
    let data = event.data.trim_ascii();
    if data == b"[DONE]" {
        return ControlFlow::Break(Ok(()));
    }
    if data.is_empty() {
        return ControlFlow::Continue(());
    }
    if event.name == b"error" {
        return ControlFlow::Break(Err(error_event(data)));
    }
    let taken = match parse_object(data) {
        Some(chunk) => error_free(chunk).and_then(|chunk| Ok(draft.take_chunk(chunk, on_text)?)),
        // An event of a name of its own, such as a ping, is not a chunk.
        None if !matches!(event.name, b"" | b"message") => Ok(()),
        None => Err(Malformed::Chunk.into()),
    };
    match taken {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Err(error)),
    }
}

/// Takes the event that the end of the body cut short of its empty line. Half a chunk is a stream that was cut off.
fn take_last_event(draft: &mut Draft, event: SseEvent<'_>, on_text: OnText<'_>) -> EventFlow {
    match take_event(draft, event, on_text) {
        ControlFlow::Break(Err(error)) if error == CompletionError::from(Malformed::Chunk) => {
            ControlFlow::Break(Err(Malformed::NoSentinel.into()))
        }
        flow => flow,
    }
}

fn parse_object(bytes: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Passes on a chunk or document that reports no error of the backend.
fn error_free(object: Map<String, Value>) -> Result<Map<String, Value>, CompletionError> {
    match reported_error(&object) {
        Some(text) => Err(report(&text)),
        None => Ok(object),
    }
}

/// The text of the error that a chunk or document reports.
fn reported_error(object: &Map<String, Value>) -> Option<String> {
    match object.get("error") {
        // Some servers send the error object itself, marked as one.
        None if object.get("object").is_some_and(|mark| mark == "error") => {
            Some(error_text(&Value::Object(object.clone())))
        }
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::String(text)) if text.is_empty() => None,
        Some(error) => Some(error_text(error)),
    }
}

/// The failure that an event named `error` tells, whatever form its data has.
fn error_event(data: &[u8]) -> CompletionError {
    match parse_object(data) {
        Some(mut object) => {
            let error = object.remove("error").unwrap_or(Value::Object(object));
            report(&error_text(&error))
        }
        None => report(&String::from_utf8_lossy(data)),
    }
}

fn report(text: &str) -> CompletionError {
    tracing::debug!(error = %bounded(text), "the model backend reported an error inside its reply");
    classify_stream_error(text)
}

/// The text of an error: what it is called and what it says come first, so that they stay within the bound, and the
/// whole of it follows, because routers put the provider's own error into a field of theirs.
fn error_text(error: &Value) -> String {
    if let Value::String(text) = error {
        return text.clone();
    }
    let mut parts: Vec<String> = ["type", "code", "message"]
        .iter()
        .filter_map(|key| error.get(key)?.as_str().map(str::to_owned))
        .collect();
    parts.push(error.to_string());
    parts.join(": ")
}
