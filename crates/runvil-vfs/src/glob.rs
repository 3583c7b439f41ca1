//! Glob patterns: their rules, and matching one name at a time (book: Finding files with `store.glob`).

use crate::path::{MAX_PATH_BYTES, PathRule, check_path, has_control};

/// A valid glob pattern.
///
/// A tree of files is walked with it one name at a time: from [`Glob::start`], each [`Glob::step`] takes the next name of
/// a path and tells whether the pattern matches there and whether it can still match deeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    segments: Vec<Segment>,
    /// How many leading segments name the pattern's literal directory.
    literal_names: usize,
    directories_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`.
    Deep,
    /// The literal texts around each `*`; one text alone has no star.
    Name(Vec<Box<str>>),
}

/// The most segments that a pattern of the greatest length can have, and one position past the last of them.
const POSITIONS: usize = MAX_PATH_BYTES / 2 + 1;
const WORDS: usize = POSITIONS.div_ceil(64);

/// How far a pattern has matched the names taken so far: the set of its segments that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobState {
    positions: [u64; WORDS],
}

impl GlobState {
    const NOWHERE: Self = Self { positions: [0; WORDS] };

    fn add(&mut self, position: usize) {
        self.positions[position / 64] |= 1 << (position % 64);
    }

    fn has(&self, position: usize) -> bool {
        self.positions[position / 64] & (1 << (position % 64)) != 0
    }
}

impl Glob {
    /// Reads a pattern. The length, character and wildcard rules look at the text as it was written; the path rules then
    /// look at it without its trailing slashes.
    ///
    /// # Errors
    /// The first rule that the pattern breaks.
    pub fn parse(pattern: &str) -> Result<Self, PathRule> {
        if pattern.is_empty() {
            return Err(PathRule::Empty);
        }
        if pattern.len() > MAX_PATH_BYTES {
            return Err(PathRule::TooLong);
        }
        if has_control(pattern) {
            return Err(PathRule::Control);
        }
        if pattern.contains('\\') {
            return Err(PathRule::Backslash);
        }
        if pattern
            .split('/')
            .any(|segment| segment.contains("**") && segment != "**")
        {
            return Err(PathRule::Wildcard);
        }
        let names = pattern.trim_end_matches('/');
        check_path(names)?;
        let literal_text = names.split('*').next().unwrap_or_default();
        Ok(Self {
            segments: names.split('/').map(Segment::parse).collect(),
            literal_names: literal_text.matches('/').count(),
            directories_only: names.len() < pattern.len(),
        })
    }

    /// The pattern as it matches where case names no difference, for paths in lower case.
    pub(crate) fn fold_case(&self) -> Self {
        let mut folded = self.clone();
        for segment in &mut folded.segments {
            if let Segment::Name(texts) = segment {
                texts.iter_mut().for_each(|text| *text = text.to_lowercase().into());
            }
        }
        folded
    }

    /// Whether the pattern ended in `/` and so lists directories, never files.
    #[must_use]
    pub fn directories_only(&self) -> bool {
        self.directories_only
    }

    /// The names of the literal directory, in which every match lies: those before the last `/` that stands ahead of the
    /// first `*`. Trailing slashes aside, a pattern without a `*` names its own last segment in that directory.
    pub fn literal_dir(&self) -> impl Iterator<Item = &str> {
        self.segments[..self.literal_names].iter().filter_map(Segment::literal)
    }

    /// The state after the names of the literal directory.
    #[must_use]
    pub fn start_in_literal_dir(&self) -> GlobState {
        let mut state = GlobState::NOWHERE;
        self.enter(&mut state, self.literal_names);
        state
    }

    /// The text that any name matching the first segment starts with.
    pub(crate) fn first_name_prefix(&self) -> &str {
        match &self.segments[0] {
            Segment::Deep => "",
            Segment::Name(texts) => &texts[0],
        }
    }

    /// The state before any name.
    #[must_use]
    pub fn start(&self) -> GlobState {
        let mut state = GlobState::NOWHERE;
        self.enter(&mut state, 0);
        state
    }

    /// The state after one more name.
    #[must_use]
    pub fn step(&self, state: &GlobState, name: &str) -> GlobState {
        let mut next = GlobState::NOWHERE;
        for (position, segment) in self.segments.iter().enumerate() {
            if !state.has(position) {
                continue;
            }
            match segment {
                Segment::Deep => {
                    next.add(position);
                    self.enter(&mut next, position + 1);
                }
                Segment::Name(texts) if matches_name(texts, name) => {
                    self.enter(&mut next, position + 1);
                }
                Segment::Name(_) => {}
            }
        }
        next
    }

    /// Adds a position and, where an inner `**` may stand for no name at all, those behind it.
    fn enter(&self, state: &mut GlobState, mut position: usize) {
        state.add(position);
        while position + 1 < self.segments.len() && self.segments[position] == Segment::Deep {
            position += 1;
            state.add(position);
        }
    }

    /// Whether the names taken so far are a whole match.
    #[must_use]
    pub fn matches_at(&self, state: &GlobState) -> bool {
        state.has(self.segments.len())
    }

    /// Whether a path beneath the names taken so far may match.
    #[must_use]
    pub fn goes_deeper(&self, state: &GlobState) -> bool {
        (0..self.segments.len()).any(|position| state.has(position))
    }

    /// Whether the pattern matches this path or a directory above it, whatever kind of entry is there.
    pub(crate) fn matches_path_or_ancestor(&self, path: &str) -> bool {
        let mut state = self.start();
        path.split('/').any(|name| {
            state = self.step(&state, name);
            self.matches_at(&state)
        })
    }

    /// Whether the pattern matches this path, whatever kind of entry is there.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let state = path
            .split('/')
            .fold(self.start(), |state, name| self.step(&state, name));
        self.matches_at(&state)
    }
}

impl Segment {
    fn parse(text: &str) -> Self {
        if text == "**" {
            Self::Deep
        } else {
            Self::Name(text.split('*').map(Box::from).collect())
        }
    }

    fn literal(&self) -> Option<&str> {
        match self {
            Self::Name(texts) if texts.len() == 1 => Some(&texts[0]),
            _ => None,
        }
    }
}

/// Whether a name is these texts in order with any run of characters between two. Taking each text at the first place
/// where it fits never misses a match, so the time is linear.
fn matches_name(texts: &[Box<str>], name: &str) -> bool {
    let [first, middle @ .., last] = texts else {
        return matches!(texts, [only] if **only == *name);
    };
    let Some(rest) = name.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last)) else {
        return false;
    };
    middle
        .iter()
        .try_fold(rest, |rest, text| rest.find(&**text).map(|at| &rest[at + text.len()..]))
        .is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(pattern: &str) -> Glob {
        Glob::parse(pattern).unwrap()
    }

    #[test]
    fn each_rule_has_its_patterns() {
        let table = [
            ("", PathRule::Empty),
            ("/", PathRule::Empty),
            ("a\t*", PathRule::Control),
            ("a\x7f//", PathRule::Control),
            ("a\\*", PathRule::Backslash),
            ("***", PathRule::Wildcard),
            ("a**b", PathRule::Wildcard),
            ("a**", PathRule::Wildcard),
            ("**a", PathRule::Wildcard),
            ("d/**/**x", PathRule::Wildcard),
            ("/a", PathRule::Absolute),
            ("a//*", PathRule::EmptySegment),
            ("../x", PathRule::Traversal),
            ("*.", PathRule::UnsafeSuffix),
            ("con/*", PathRule::ReservedName),
            ("c:*", PathRule::ReservedName),
        ];
        for (pattern, expected) in table {
            assert_eq!(Glob::parse(pattern).err(), Some(expected), "{pattern:?}");
        }
    }

    #[test]
    fn raw_rules_come_before_path_rules() {
        assert_eq!(Glob::parse("/a/***").err(), Some(PathRule::Wildcard));
        assert_eq!(Glob::parse("/\t***").err(), Some(PathRule::Control));
        assert_eq!(Glob::parse("a\\***").err(), Some(PathRule::Backslash));
        assert_eq!(
            Glob::parse(&format!("***{}", "a".repeat(1024))).err(),
            Some(PathRule::TooLong)
        );
    }

    #[test]
    fn the_limit_counts_bytes_and_trailing_slashes() {
        assert!(Glob::parse(&format!("d{}", "/".repeat(1023))).is_ok());
        assert_eq!(
            Glob::parse(&format!("d{}", "/".repeat(1024))).err(),
            Some(PathRule::TooLong)
        );
        assert_eq!(
            Glob::parse(&format!("{}*", "é".repeat(512))).err(),
            Some(PathRule::TooLong)
        );
        assert!(Glob::parse(&format!("{}b", "a/".repeat(511))).is_ok());
    }

    #[test]
    fn a_star_stays_within_a_segment() {
        assert!(glob("src/*.rs").matches("src/a.rs"));
        assert!(!glob("src/*.rs").matches("src/deep/c.rs"));
        assert!(!glob("*.txt").matches("a/b.txt"));
        assert!(glob("a*").matches("a") && glob("*a*").matches("a"));
        assert!(glob("a*b*c").matches("a1b2c") && !glob("a*b*c").matches("acb"));
        assert!(!glob("a*a").matches("a") && glob("*").matches(".env"));
    }

    #[test]
    fn a_deep_star_spans_whole_levels() {
        for path in ["a/b", "a/x/b", "a/x/y/b"] {
            assert!(glob("a/**/b").matches(path), "{path}");
        }
        assert!(!glob("a/**/b").matches("a/xb"));
        assert!(glob("**/z.rs").matches("z.rs") && glob("**/z.rs").matches("d/e/z.rs"));
        assert!(!glob("**/z.rs").matches("d/yz.rs"));
        assert!(glob("d/**").matches("d/e/b") && !glob("d/**").matches("d") && !glob("d/**").matches("da"));
        assert!(glob("**").matches("d/e/c") && glob("**/**").matches("c"));
    }

    #[test]
    fn every_other_character_is_literal() {
        assert!(glob("a?.md").matches("a?.md") && !glob("a?.md").matches("ab.md"));
        assert!(glob("[ab].md").matches("[ab].md") && !glob("[ab].md").matches("a.md"));
        assert!(glob("é*").matches("é.md") && !glob("é*").matches("è.md"));
        assert!(!glob("a.txt").matches("A.txt"));
    }

    #[test]
    fn the_literal_directory_ends_at_the_last_slash_before_a_star() {
        let literal = |pattern: &str| glob(pattern).literal_dir().collect::<Vec<_>>().join("/");
        assert_eq!(literal("research/*.md"), "research");
        assert_eq!(literal("a/b/c*"), "a/b");
        assert_eq!(literal("a/**/b"), "a");
        assert_eq!(literal("a/b"), "a");
        assert_eq!(literal("a/b//"), "a");
        assert_eq!(literal("ab*/c"), "");
        assert_eq!(literal("*.md"), "");
    }

    /// Matching as the definition reads, trying every split.
    fn slow(pattern: &[&str], path: &[&str]) -> bool {
        match pattern {
            [] => path.is_empty(),
            ["**"] => !path.is_empty(),
            ["**", rest @ ..] => (0..=path.len()).any(|skip| slow(rest, &path[skip..])),
            [name, rest @ ..] => path
                .split_first()
                .is_some_and(|(first, deeper)| slow_name(name.as_bytes(), first.as_bytes()) && slow(rest, deeper)),
        }
    }

    fn slow_name(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', rest @ ..] => (0..=name.len()).any(|skip| slow_name(rest, &name[skip..])),
            [byte, rest @ ..] => name.first() == Some(byte) && slow_name(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            pattern in prop::collection::vec("\\*\\*|[ab]{1,2}|\\*?[ab]\\*?[ab]?|\\*", 1..5),
            path in prop::collection::vec("[ab]{1,4}", 1..6),
        ) {
            let parts: Vec<&str> = pattern.iter().map(String::as_str).collect();
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            let text = parts.join("/");
            prop_assert_eq!(glob(&text).matches(&names.join("/")), slow(&parts, &names), "{}", text);
        }

        #[test]
        fn any_text_parses_or_breaks_a_rule(pattern in "[a*/.\\\\:é\\t]{0,12}", path in "[a/.]{0,8}") {
            if let Ok(glob) = Glob::parse(&pattern) {
                let _ = glob.matches(&path);
            }
        }

        #[test]
        fn a_state_that_cannot_go_deeper_never_matches_deeper(
            pattern in "(\\*\\*/)?[ab*]/?[ab]{0,2}", names in prop::collection::vec("[ab]{1,2}", 1..5),
        ) {
            let Ok(glob) = Glob::parse(&pattern) else { return Ok(()) };
            let mut state = glob.start();
            for name in &names {
                let next = glob.step(&state, name);
                prop_assert!(glob.goes_deeper(&state) || !glob.matches_at(&next));
                state = next;
            }
        }
    }
}
