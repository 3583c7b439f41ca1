//! Writing one reply, token by token.

use std::time::Instant;

use runvil_engine::wire::ToolSchema;

use super::{
    calls::{Call, Parted, ToolText},
    failure::Failure,
    listener::Listener,
    reply_text::ReplyText,
    sampling::{Sampler, Sampling},
    session::{Session, too_long},
};

/// How many tokens of a request are read at a time. What is unpacked for them serves them all.
const READ_AT_ONCE: usize = 256;

/// The most pairs of tokens that look at each other at a time, which bounds the memory of attention.
const MOST_PAIRS: usize = 4 << 20;

/// What bounds a reply.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    pub(super) sampling: &'a Sampling,
    /// The tools that the reply may call.
    pub(super) tools: &'a [ToolSchema],
    pub(super) max_bytes: u64,
}

/// A reply that was written.
pub(super) struct Generation {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) finish_reason: &'static str,
    /// How many tokens the reply took.
    pub(super) tokens: u64,
    /// How many tokens of the request were known from the conversation before.
    pub(super) reused: usize,
    pub(super) began_writing: Instant,
}

impl Generation {
    /// Reads the request and writes the reply to it.
    pub(super) fn run(
        session: &mut Session,
        request: &[u32],
        limits: Limits<'_>,
        listener: &Listener,
    ) -> Result<Self, Failure> {
        let reused = session.go_back_to(request);
        let mut scores = session.read_request(&request[reused..], listener)?;
        let began_writing = Instant::now();
        let mut sampler = Sampler::new(limits.sampling);
        let mut reply = ReplyText::new(&limits.sampling.stop);
        let mut text = ToolText::new(limits.tools.iter().map(|tool| tool.function.name.as_str()));
        let mut tokens = 0;
        let end = loop {
            listener.go_on()?;
            let token = sampler.choose(&mut scores);
            tokens += 1;
            if session.vocabulary.is_end(token) {
                break "stop";
            }
            listener.say(text.push(&reply.push(session.vocabulary.bytes(token))))?;
            if reply.stopped() {
                break "stop";
            }
            if reply.len() as u64 > limits.max_bytes {
                return Err(too_long(limits.max_bytes));
            }
            let full = session.past.len() + 1 >= session.network.sizes().context;
            if full || limits.sampling.max_tokens.is_some_and(|most| tokens >= u64::from(most)) {
                break "length";
            }
            scores = session.read_on(&[token], listener)?;
        };
        listener.say(text.push(&reply.finish()))?;
        let Parted { text, calls, rest } = text.finish();
        listener.say(rest)?;
        let finish_reason = if calls.is_empty() || end == "length" {
            end
        } else {
            "tool_calls"
        };
        Ok(Self {
            text,
            calls,
            finish_reason,
            tokens,
            reused,
            began_writing,
        })
    }
}

impl Session {
    /// Keeps what the memory and the request have in common, and tells how many tokens that are. The last token of the
    /// request is always read, since its scores are wanted.
    fn go_back_to(&mut self, request: &[u32]) -> usize {
        let common = self
            .read
            .iter()
            .zip(request)
            .take_while(|(left, right)| left == right)
            .count();
        let kept = common.min(request.len().saturating_sub(1));
        self.past.keep(kept);
        self.read.truncate(kept);
        kept
    }

    /// Reads a request in parts, and gives the scores at its end.
    fn read_request(&mut self, mut tokens: &[u32], listener: &Listener) -> Result<Vec<f32>, Failure> {
        loop {
            let part = READ_AT_ONCE.min(MOST_PAIRS / (self.past.len() + READ_AT_ONCE)).max(1);
            if tokens.len() <= part {
                return self.read_on(tokens, listener);
            }
            let (now, later) = tokens.split_at(part);
            self.network.skim(now, &mut self.past, listener)?;
            self.read.extend_from_slice(now);
            tokens = later;
        }
    }

    fn read_on(&mut self, tokens: &[u32], listener: &Listener) -> Result<Vec<f32>, Failure> {
        let scores = self.network.read(tokens, &mut self.past, listener)?;
        self.read.extend_from_slice(tokens);
        Ok(scores)
    }
}
