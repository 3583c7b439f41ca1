//! Room on the stack for data that nests deeply (book: a run's data may nest 1,000 levels).
//!
//! Whoever records a run does so on a thread whose stack may be as small as 2 MiB, and reading and writing data
//! recurses through its levels.

use serde_json::Value;

/// What one level may take of the stack, in bytes, with room to spare in a build without optimization.
const LEVEL: usize = 16 * 1024;

/// So many levels fit on any stack.
const SHALLOW: usize = 32;

/// The stack that is left when a new one is due, and how large that is, in bytes.
const RED_ZONE: usize = 128 * 1024;
const SEGMENT: usize = 2 * 1024 * 1024;

/// Does work that recurses once for each of these levels.
pub(crate) fn for_levels<T>(levels: usize, work: impl FnOnce() -> T) -> T {
    if levels <= SHALLOW {
        return work();
    }
    let room = levels.saturating_mul(LEVEL);
    stacker::maybe_grow(room, room, work)
}

/// Goes one level down.
pub(crate) fn down<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, work)
}

/// How many levels this JSON nests.
pub(crate) fn levels_of_json(json: &[u8]) -> usize {
    let (mut level, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Passes over the rest of a text.
fn skip_text(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

/// How many levels this value nests.
pub(crate) fn levels(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().filter(|item| nests(item)).map(|item| (item, level + 1))),
            Value::Object(members) => {
                open.extend(
                    members
                        .values()
                        .filter(|item| nests(item))
                        .map(|item| (item, level + 1)),
                );
            }
            _ => continue,
        }
        deepest = deepest.max(level);
    }
    deepest
}

fn nests(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn levels_are_counted() {
        for (value, count) in [
            (json!(1), 0),
            (json!([]), 1),
            (json!({ "a": [1, [2]], "b": "\"]]" }), 3),
        ] {
            assert_eq!(levels(&value), count);
            assert_eq!(levels_of_json(value.to_string().as_bytes()), count);
        }
    }
}
