//! A question to whoever sits at the terminal.

use std::{
    fmt::Display,
    io::{self, BufRead as _, IsTerminal as _},
};

use crate::{out, screen::screen};

/// What can be answered: the word for it, then other words that mean the same. No two choices begin alike.
pub(crate) struct Choice<T: 'static> {
    words: &'static [&'static str],
    means: T,
}

impl<T: Copy> Choice<T> {
    pub(crate) const fn new(words: &'static [&'static str], means: T) -> Self {
        Self { words, means }
    }
}

/// Says what it is about and asks until one of the choices is made; `None` where nobody answers.
pub(crate) fn ask<T: Copy>(about: &dyn Display, question: &str, choices: &[Choice<T>]) -> Option<T> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    out::note(about);
    loop {
        screen().part(question);
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        // The terminal shows what is typed, the end of the line with it.
        screen().answered(true);
        if let Some(meant) = meant(line.trim(), choices) {
            return Some(meant);
        }
        out::note(format_args!("not understood; type {}", listed(choices)));
    }
}

/// The choice that a word, or the beginning of one, stands for.
fn meant<T: Copy>(said: &str, choices: &[Choice<T>]) -> Option<T> {
    let said = said.to_lowercase();
    let is_meant = |choice: &&Choice<T>| choice.words.iter().any(|word| word.starts_with(&said));
    let choice = choices.iter().find(is_meant).filter(|_| !said.is_empty())?;
    Some(choice.means)
}

/// The choices as a person reads them: `a (again), f (fail) or l (leave)`.
fn listed<T>(choices: &[Choice<T>]) -> String {
    let words = choices.iter().filter_map(|choice| choice.words.first());
    let mut listed: Vec<_> = words.map(|word| format!("{} ({word})", &word[..1])).collect();
    let last = listed.pop().unwrap_or_default();
    if listed.is_empty() {
        last
    } else {
        format!("{} or {last}", listed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: [Choice<u8>; 3] = [
        Choice::new(&["again", "yes"], 1),
        Choice::new(&["fail"], 2),
        Choice::new(&["leave", "no"], 3),
    ];

    #[test]
    fn a_word_or_its_beginning_in_either_case_is_understood() {
        for (said, means) in [("a", 1), ("again", 1), ("Y", 1), ("fa", 2), ("LEAVE", 3), ("n", 3)] {
            assert_eq!(meant(said, &CHOICES), Some(means), "{said}");
        }
        for said in ["", "x", "againe", "a f", "é"] {
            assert_eq!(meant(said, &CHOICES), None, "{said}");
        }
    }

    #[test]
    fn the_choices_are_listed_with_their_letters() {
        assert_eq!(listed(&CHOICES), "a (again), f (fail) or l (leave)");
        assert_eq!(listed(&CHOICES[..1]), "a (again)");
    }
}
