//! Lua patterns: the matcher of Lua 5.5, which a cancel reaches.
//!
//! A pattern can make a matcher run for ages, and Lua's own looks at nothing while it does. This one follows it move
//! by move, error texts and limits included.

use std::ffi::CStr;

use crate::cancel::CancelFlag;

/// The most captures of a pattern.
pub(crate) const MAX_CAPTURES: usize = 32;

/// How deep a match may recurse.
const MAX_DEPTH: u32 = 200;

/// How many steps pass between two looks at the cancel flag, less one.
const LOOK_MASK: u32 = 0xfff;

/// The character that escapes others.
pub(crate) const ESCAPE: u8 = b'%';

/// Why a match ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// One of Lua's own messages.
    Message(&'static CStr),
    /// A reference to a capture that is not there, or not closed.
    CaptureIndex(i32),
    /// The run was cancelled.
    Interrupted,
}

use PatternError::Message;

type Matched = Result<Option<usize>, PatternError>;

/// What a capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// Opened and not closed yet.
    Open { start: usize },
    /// A position in the subject, counted from 0.
    Position(usize),
    /// A part of the subject.
    Text { start: usize, end: usize },
}

/// A subject and a pattern, and the captures of the match at hand.
#[derive(Debug)]
pub(crate) struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    captures: [Capture; MAX_CAPTURES],
    level: usize,
    depth: u32,
    steps: u32,
    cancel: &'a CancelFlag,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(subject: &'a [u8], pattern: &'a [u8], cancel: &'a CancelFlag) -> Self {
        Self {
            subject,
            pattern,
            captures: [Capture::Position(0); MAX_CAPTURES],
            level: 0,
            depth: 0,
            steps: 0,
            cancel,
        }
    }

    /// Matches the pattern at `start`: where the match ends, if there is one.
    pub(crate) fn match_at(&mut self, start: usize) -> Matched {
        self.level = 0;
        self.depth = MAX_DEPTH;
        self.tick()?;
        self.run(start, 0)
    }

    /// How many captures the last match has.
    pub(crate) fn captures(&self) -> usize {
        self.level
    }

    /// The capture with that index, counted from 0, of the last match, which spans `start` to `end`. Without captures,
    /// the first is the whole match.
    pub(crate) fn capture(&self, index: usize, start: usize, end: usize) -> Result<Capture, PatternError> {
        if index >= self.level {
            if index != 0 {
                return Err(PatternError::CaptureIndex(i32::try_from(index + 1).unwrap_or(i32::MAX)));
            }
            return Ok(Capture::Text { start, end });
        }
        match self.captures[index] {
            Capture::Open { .. } => Err(Message(c"unfinished capture")),
            capture => Ok(capture),
        }
    }

    /// A part of the subject.
    pub(crate) fn text(&self, start: usize, end: usize) -> &'a [u8] {
        &self.subject[start..end]
    }

    fn tick(&mut self) -> Result<(), PatternError> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps & LOOK_MASK == 0 && self.cancel.is_cancelled() {
            return Err(PatternError::Interrupted);
        }
        Ok(())
    }

    /// The pattern's byte at `at`, 0 past its end.
    fn at(&self, at: usize) -> u8 {
        self.pattern.get(at).copied().unwrap_or(0)
    }

    fn run(&mut self, s: usize, p: usize) -> Matched {
        if self.depth == 0 {
            return Err(Message(c"pattern too complex"));
        }
        self.depth -= 1;
        let matched = self.items(s, p)?;
        self.depth += 1;
        Ok(matched)
    }

    /// Matches the pattern from `p` on at `s`, item by item.
    fn items(&mut self, mut s: usize, mut p: usize) -> Matched {
        while p < self.pattern.len() {
            self.tick()?;
            let step = match (self.pattern[p], self.at(p + 1)) {
                (b'(', b')') => return self.open_capture(s, p + 2, Capture::Position(s)),
                (b'(', _) => return self.open_capture(s, p + 1, Capture::Open { start: s }),
                (b')', _) => return self.close_capture(s, p + 1),
                (b'$', _) if p + 1 == self.pattern.len() => {
                    return Ok((s == self.subject.len()).then_some(s));
                }
                (ESCAPE, b'b') => self.balance(s, p + 2)?.map(|s| (s, p + 4)),
                (ESCAPE, b'f') => self.frontier(s, p + 2)?,
                (ESCAPE, digit @ b'0'..=b'9') => self.back_reference(s, digit)?.map(|s| (s, p + 2)),
                _ => match self.single(s, p)? {
                    Single::Next(s, p) => Some((s, p)),
                    Single::Done(matched) => return Ok(matched),
                },
            };
            let Some(next) = step else {
                return Ok(None);
            };
            (s, p) = next;
        }
        Ok(Some(s))
    }

    /// A character class with what may follow it.
    fn single(&mut self, s: usize, p: usize) -> Result<Single, PatternError> {
        let end = self.class_end(p)?;
        let suffix = self.at(end);
        if !self.matches(s, p, end) {
            return Ok(match suffix {
                b'*' | b'?' | b'-' => Single::Next(s, end + 1),
                _ => Single::Done(None),
            });
        }
        Ok(match suffix {
            b'?' => match self.run(s + 1, end + 1)? {
                Some(matched) => Single::Done(Some(matched)),
                None => Single::Next(s, end + 1),
            },
            b'+' => Single::Done(self.expand_most(s + 1, p, end)?),
            b'*' => Single::Done(self.expand_most(s, p, end)?),
            b'-' => Single::Done(self.expand_least(s, p, end)?),
            _ => Single::Next(s + 1, end),
        })
    }

    fn expand_most(&mut self, s: usize, p: usize, end: usize) -> Matched {
        let mut count = 0;
        while self.matches(s + count, p, end) {
            self.tick()?;
            count += 1;
        }
        loop {
            self.tick()?;
            if let Some(matched) = self.run(s + count, end + 1)? {
                return Ok(Some(matched));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    fn expand_least(&mut self, mut s: usize, p: usize, end: usize) -> Matched {
        loop {
            self.tick()?;
            if let Some(matched) = self.run(s, end + 1)? {
                return Ok(Some(matched));
            }
            if !self.matches(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open_capture(&mut self, s: usize, p: usize, capture: Capture) -> Matched {
        if self.level >= MAX_CAPTURES {
            return Err(Message(c"too many captures"));
        }
        self.captures[self.level] = capture;
        self.level += 1;
        let matched = self.run(s, p)?;
        if matched.is_none() {
            self.level -= 1;
        }
        Ok(matched)
    }

    fn close_capture(&mut self, s: usize, p: usize) -> Matched {
        let open = self.captures[..self.level]
            .iter()
            .rposition(|capture| matches!(capture, Capture::Open { .. }));
        let Some((index, Capture::Open { start })) = open.map(|index| (index, self.captures[index])) else {
            return Err(Message(c"invalid pattern capture"));
        };
        self.captures[index] = Capture::Text { start, end: s };
        let matched = self.run(s, p)?;
        if matched.is_none() {
            self.captures[index] = Capture::Open { start };
        }
        Ok(matched)
    }

    /// `%1`: the text of an earlier capture again.
    fn back_reference(&self, s: usize, digit: u8) -> Matched {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let text = match self.captures[..self.level].get(index) {
            Some(Capture::Text { start, end }) => &self.subject[*start..*end],
            // Lua reads a position as a text of endless length, which never matches.
            Some(Capture::Position(_)) => return Ok(None),
            _ => {
                return Err(PatternError::CaptureIndex(i32::from(digit) - i32::from(b'0')));
            }
        };
        Ok(self.subject[s..].starts_with(text).then_some(s + text.len()))
    }

    /// `%bxy`: a stretch that starts with `x` and ends with the `y` that balances it.
    fn balance(&mut self, s: usize, p: usize) -> Matched {
        if p + 1 >= self.pattern.len() {
            return Err(Message(c"malformed pattern (missing arguments to '%b')"));
        }
        let (open, close) = (self.pattern[p], self.pattern[p + 1]);
        if self.subject.get(s) != Some(&open) && !(s == self.subject.len() && open == 0) {
            return Ok(None);
        }
        let mut depth = 1_usize;
        for at in s + 1..self.subject.len() {
            self.tick()?;
            let byte = self.subject[at];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: the border before a character of the set.
    fn frontier(&mut self, s: usize, p: usize) -> Result<Option<(usize, usize)>, PatternError> {
        if self.at(p) != b'[' {
            return Err(Message(c"missing '[' after '%f' in pattern"));
        }
        let end = self.class_end(p)?;
        let before = s.checked_sub(1).map_or(0, |before| self.subject[before]);
        let after = self.subject.get(s).copied().unwrap_or(0);
        let holds = !self.in_set(before, p, end - 1) && self.in_set(after, p, end - 1);
        Ok(holds.then_some((s, end)))
    }

    /// Where the class that starts at `p` ends.
    fn class_end(&self, p: usize) -> Result<usize, PatternError> {
        let mut at = p + 1;
        match self.pattern[p] {
            ESCAPE if at == self.pattern.len() => Err(Message(c"malformed pattern (ends with '%')")),
            ESCAPE => Ok(at + 1),
            b'[' => {
                if self.at(at) == b'^' {
                    at += 1;
                }
                loop {
                    if at >= self.pattern.len() {
                        return Err(Message(c"malformed pattern (missing ']')"));
                    }
                    let byte = self.pattern[at];
                    at += 1;
                    if byte == ESCAPE && at < self.pattern.len() {
                        at += 1;
                    }
                    if self.at(at) == b']' {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(at),
        }
    }

    /// Whether the subject's byte at `s` matches the class from `p` to `end`.
    fn matches(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(&byte) = self.subject.get(s) else {
            return false;
        };
        match self.pattern[p] {
            b'.' => true,
            ESCAPE => in_class(byte, self.at(p + 1)),
            b'[' => self.in_set(byte, p, end - 1),
            literal => literal == byte,
        }
    }

    /// Whether the byte is in the set between the bracket at `p` and the one at `close`.
    fn in_set(&self, byte: u8, p: usize, close: usize) -> bool {
        let mut at = p + 1;
        let inverted = self.at(at) == b'^';
        at += usize::from(inverted);
        while at < close {
            if self.at(at) == ESCAPE {
                at += 1;
                if in_class(byte, self.at(at)) {
                    return !inverted;
                }
            } else if self.at(at + 1) == b'-' && at + 2 < close {
                if (self.at(at)..=self.at(at + 2)).contains(&byte) {
                    return !inverted;
                }
                at += 2;
            } else if self.at(at) == byte {
                return !inverted;
            }
            at += 1;
        }
        inverted
    }
}

/// How an item with a suffix went on.
enum Single {
    /// On to the next item.
    Next(usize, usize),
    /// The rest of the pattern was tried.
    Done(Option<usize>),
}

/// Whether the byte is in a class such as `%a`, in the C locale.
fn in_class(byte: u8, class: u8) -> bool {
    let within = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    within != class.is_ascii_uppercase()
}

/// Whether the pattern has no special character, so that it can be searched for as it is.
pub(crate) fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}
