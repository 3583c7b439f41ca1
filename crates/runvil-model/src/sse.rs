//! The event stream format, decoded as its bytes arrive.

use std::ops::ControlFlow;

use memchr::memchr2;

#[cfg(test)]
mod tests;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event's name; empty when the stream gave none.
    pub name: &'a [u8],
    /// The event's data lines, joined by newlines.
    pub data: &'a [u8],
}

/// A decoder of `text/event-stream`, as the HTML standard defines it: a line ends with LF, CR or CRLF, wherever the
/// chunks are cut; a comment and an unknown field are passed over; an event ends with an empty line.
///
/// One field is added: `error`, under which some llama.cpp servers send an error in mid-stream. It is the data of
/// an event named `error`.
///
/// Each byte is copied at most twice, so the work is linear. What is buffered never exceeds what was pushed, so the
/// caller's cap on the stream bounds the memory too. Text is not decoded here: data is bytes.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    past_first_line: bool,
    after_cr: bool,
}

impl SseDecoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands each event that they complete to `on_event`, until it breaks. After a break
    /// the rest of the bytes is dropped.
    pub fn push<B>(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, ending) = rest.split_at(end);
            rest = match ending {
                [b'\r', b'\n', rest @ ..] => rest,
                [_, rest @ ..] => rest,
                [] => ending,
            };
            self.after_cr = rest.is_empty() && ending == b"\r";
            self.end_line(line, &mut on_event)?;
        }
        self.line.extend_from_slice(rest);
        ControlFlow::Continue(())
    }

    /// Ends the stream: hands over the event that no empty line ended, if there is one. Whether such an event
    /// counts is the caller's to say; a browser would drop it.
    pub fn finish<B>(mut self, mut on_event: impl FnMut(SseEvent<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        self.end_line(b"", &mut on_event)?;
        self.dispatch(&mut on_event)
    }

    fn end_line<B>(
        &mut self,
        tail: &[u8],
        on_event: &mut impl FnMut(SseEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.line.is_empty() {
            return self.take_line(tail, on_event);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(tail);
        let flow = self.take_line(&line, on_event);
        line.clear();
        self.line = line;
        flow
    }

    fn take_line<B>(
        &mut self,
        line: &[u8],
        on_event: &mut impl FnMut(SseEvent<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let line = if self.past_first_line {
            line
        } else {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        };
        self.past_first_line = true;
        if line.is_empty() {
            return self.dispatch(on_event);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(value),
            b"event" => self.set_name(value),
            b"error" => {
                self.set_name(b"error");
                self.add_data(value);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn add_data(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
    }

    fn set_name(&mut self, value: &[u8]) {
        self.name.clear();
        self.name.extend_from_slice(value);
    }

    fn dispatch<B>(&mut self, on_event: &mut impl FnMut(SseEvent<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let flow = if self.has_data {
            on_event(SseEvent {
                name: &self.name,
                data: &self.data,
            })
        } else {
            ControlFlow::Continue(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        flow
    }
}
