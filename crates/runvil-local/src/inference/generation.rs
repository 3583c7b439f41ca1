//! Writing one reply, token by token.

use std::time::Instant;

use super::{
    failure::Failure,
    reply_text::ReplyText,
    sampling::{Sampler, Sampling},
    session::{Session, too_long},
};

/// How many tokens of a request are read at a time, between looks at whether anyone still waits.
const READ_AT_ONCE: usize = 64;

/// What is heard of a generation while it goes.
pub(super) enum Progress {
    /// It goes on.
    Alive,
    /// The next piece of the reply.
    Text(String),
}

/// What bounds a reply.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    pub(super) sampling: Sampling,
    pub(super) stops: &'a [String],
    pub(super) max_bytes: u64,
}

/// A reply that was written.
pub(super) struct Generation {
    pub(super) text: String,
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
        progress: &mut dyn FnMut(Progress) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let reused = session.go_back_to(request);
        let mut scores = Vec::new();
        for part in request[reused..].chunks(READ_AT_ONCE) {
            progress(Progress::Alive)?;
            scores = session.read_on(part)?;
        }
        let began_writing = Instant::now();
        let mut sampler = Sampler::new(limits.sampling);
        let mut text = ReplyText::new(limits.stops);
        let mut tokens = 0;
        let finish_reason = loop {
            progress(Progress::Alive)?;
            let token = sampler.choose(&scores);
            tokens += 1;
            if session.vocabulary.is_end(token) {
                break "stop";
            }
            say(text.push(session.vocabulary.bytes(token)), progress)?;
            if text.stopped() {
                break "stop";
            }
            if text.len() as u64 > limits.max_bytes {
                return Err(too_long(limits.max_bytes));
            }
            let full = session.memory.len() + 1 >= session.network.sizes().context;
            if full || limits.sampling.max_tokens.is_some_and(|most| tokens >= u64::from(most)) {
                break "length";
            }
            scores = session.read_on(&[token])?;
        };
        say(text.finish(), progress)?;
        Ok(Self {
            text: text.into_text(),
            finish_reason,
            tokens,
            reused,
            began_writing,
        })
    }
}

fn say(piece: String, progress: &mut dyn FnMut(Progress) -> Result<(), Failure>) -> Result<(), Failure> {
    if piece.is_empty() {
        return Ok(());
    }
    progress(Progress::Text(piece))
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
        self.memory.keep(kept);
        self.read.truncate(kept);
        kept
    }

    fn read_on(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Failure> {
        let scores = self.network.read(tokens, &mut self.memory)?;
        self.read.extend_from_slice(tokens);
        Ok(scores)
    }
}
