//! The fixed order of table keys (book: Deterministic table iteration).

use std::cmp::Ordering;

/// The groups in which keys sort, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Integers of the array part.
    Array,
    False,
    True,
    /// Numbers below every integer.
    Low,
    /// Integers, the floats between them, and the floats above them.
    Number,
    Text,
    /// What the book leaves unordered: infinite numbers, text that is not UTF-8, then keys that are no scalars.
    /// The first two still get a place of their own, so that they too repeat.
    LooseNumber,
    LooseText,
    Other,
}

/// One key as it sorts. Two keys of one table never compare equal, but for those that are no scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortKey<'t> {
    group: Group,
    /// A number's integral part, or the first eight bytes of a text: most comparisons end here.
    high: u64,
    /// A number's fraction, or the whole of a number beyond the integers.
    low: u64,
    text: &'t [u8],
    /// Where the table's own traversal met the key.
    pub(crate) position: u32,
}

impl<'t> SortKey<'t> {
    fn new(group: Group, high: u64, low: u64, position: u32) -> Self {
        Self {
            group,
            high,
            low,
            text: &[],
            position,
        }
    }

    pub(crate) fn boolean(value: bool, position: u32) -> Self {
        Self::new(if value { Group::True } else { Group::False }, 0, 0, position)
    }

    /// An integer of the array part.
    pub(crate) fn array(value: i64, position: u32) -> Self {
        Self::new(Group::Array, sortable(value), 0, position)
    }

    pub(crate) fn integer(value: i64, position: u32) -> Self {
        Self::new(Group::Number, sortable(value), 0, position)
    }

    /// A float by its exact value. Infinite numbers go to the unordered keys when `loose`.
    pub(crate) fn float(value: f64, loose: bool, position: u32) -> Self {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        let magnitude = value.abs().to_bits();
        if loose && !value.is_finite() {
            Self::new(Group::LooseNumber, u64::from(value > 0.0), 0, position)
        } else if value >= LIMIT {
            Self::new(Group::Number, u64::MAX, magnitude, position)
        } else if value < -LIMIT {
            Self::new(Group::Low, !magnitude, 0, position)
        } else {
            let floor = value.floor();
            #[allow(clippy::cast_possible_truncation, reason = "the value lies in the range of i64")]
            let integral = floor as i64;
            // The distance from the integer that is nearer to zero: a float holds it exactly.
            let fraction = if value < 0.0 && value != floor {
                !(value.ceil() - value).to_bits()
            } else {
                (value - floor).to_bits()
            };
            Self::new(Group::Number, sortable(integral), fraction, position)
        }
    }

    /// A text by its bytes. Text that is not UTF-8 goes to the unordered keys when `loose`.
    pub(crate) fn text(text: &'t [u8], loose: bool, position: u32) -> Self {
        let group = if loose && std::str::from_utf8(text).is_err() {
            Group::LooseText
        } else {
            Group::Text
        };
        Self {
            group,
            high: head(text),
            low: 0,
            text,
            position,
        }
    }

    /// A key that is no scalar, in the order of the table's own traversal.
    pub(crate) fn other(position: u32) -> Self {
        Self::new(Group::Other, 0, 0, position)
    }

    pub(crate) fn is_other(&self) -> bool {
        self.group == Group::Other
    }

    /// Whether the key sorts after `earlier`, whatever their positions.
    pub(crate) fn follows(&self, earlier: &Self) -> bool {
        let place = |key: &Self| (key.group, key.high, key.low);
        (place(self), self.text) > (place(earlier), earlier.text)
    }
}

/// The first eight bytes of a text, with zeros for those that it lacks, as a number of the same order.
fn head(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(bytes)
}

/// Maps the integers to unsigned ones of the same order.
fn sortable(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

/// Where a key sorts among the keys of one table, small enough to be moved around: most comparisons end here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// As of a [`SortKey`], but of a text, the eight bytes behind what all texts begin with.
    high: u64,
    /// The key's own, which also tells its place in the list of keys.
    pub(crate) position: u32,
    group: Group,
}

impl SortKey<'_> {
    /// The key's place, where every text of the table begins with the same `prefix` bytes.
    pub(crate) fn place(&self, prefix: usize) -> Place {
        let high = match self.group {
            Group::Text | Group::LooseText if prefix > 0 => head(&self.text[prefix..]),
            _ => self.high,
        };
        Place {
            high,
            position: self.position,
            group: self.group,
        }
    }
}

impl Place {
    /// How two places compare. `keys` are the keys by position.
    pub(crate) fn compare(&self, other: &Self, keys: &[SortKey<'_>]) -> Ordering {
        let first = |place: &Self| (place.group, place.high);
        first(self)
            .cmp(&first(other))
            .then_with(|| keys[self.position as usize].cmp(&keys[other.position as usize]))
    }
}

/// How many bytes all the texts among the keys begin with.
pub(crate) fn common_prefix(keys: &[SortKey<'_>]) -> usize {
    let mut texts = keys
        .iter()
        .filter(|key| matches!(key.group, Group::Text | Group::LooseText))
        .map(|key| key.text);
    let Some(first) = texts.next() else { return 0 };
    texts.fold(first.len(), |length, text| {
        let same = first[..length].iter().zip(text).take_while(|(a, b)| a == b);
        same.count()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_in_the_books_order() {
        let mut keys = [
            SortKey::other(0),
            SortKey::text(b"\xff", true, 0),
            SortKey::float(f64::INFINITY, true, 0),
            SortKey::text(b"a", true, 0),
            SortKey::integer(0, 0),
            SortKey::float(-1e300, true, 0),
            SortKey::boolean(true, 0),
            SortKey::boolean(false, 0),
        ];
        let expected: Vec<_> = keys.iter().rev().copied().collect();
        keys.sort();
        assert_eq!(keys[..], expected[..]);
    }

    #[test]
    fn numbers_sort_by_exact_value() {
        let ascending = [
            SortKey::float(f64::NEG_INFINITY, false, 0),
            SortKey::float(-1e300, false, 0),
            SortKey::float(-1e19, false, 0),
            SortKey::integer(i64::MIN, 0),
            SortKey::float(-1.5, false, 0),
            SortKey::integer(-1, 0),
            SortKey::float(-0.5, false, 0),
            SortKey::float(-0.1, false, 0),
            SortKey::float(-0.099_999_999_999_999_99, false, 0),
            SortKey::float(-1e-18, false, 0),
            SortKey::float(-1e-20, false, 0),
            SortKey::integer(0, 0),
            SortKey::float(0.5, false, 0),
            SortKey::integer(1, 0),
            SortKey::float(1.5, false, 0),
            SortKey::float(1.75, false, 0),
            SortKey::integer((1 << 53) + 1, 0),
            SortKey::integer(i64::MAX, 0),
            SortKey::float(9_223_372_036_854_775_808.0, false, 0),
            SortKey::float(1e300, false, 0),
            SortKey::float(f64::INFINITY, false, 0),
        ];
        assert!(ascending.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn text_sorts_by_its_bytes() {
        let texts: [&[u8]; 8] = [b"", b"\0", b"10", b"9", b"B", b"Z", b"abcdefgh", b"abcdefghi"];
        assert!(
            texts
                .map(|text| SortKey::text(text, true, 0))
                .is_sorted_by(|a, b| a < b)
        );
    }

    #[test]
    fn places_sort_as_their_keys_do() {
        let texts: [&[u8]; 8] = [
            b"ab",
            b"ab\0",
            b"ab1",
            b"ab12345678",
            b"ab123456789",
            b"ab2",
            b"ab\xff",
            b"ab\xff\xff",
        ];
        let mut keys: Vec<_> = (0..)
            .zip(texts)
            .map(|(at, text)| SortKey::text(text, true, at))
            .collect();
        assert_eq!(common_prefix(&keys), 2);
        keys.push(SortKey::integer(7, 8));
        keys.push(SortKey::float(0.5, true, 9));
        keys.push(SortKey::boolean(true, 10));
        keys.push(SortKey::other(11));
        keys.push(SortKey::text(b"b", true, 12));
        for prefix in [0, common_prefix(&keys)] {
            let mut places: Vec<_> = keys.iter().map(|key| key.place(prefix)).collect();
            places.sort_unstable_by(|a, b| a.compare(b, &keys));
            let mut sorted = keys.clone();
            sorted.sort();
            let positions = |place: &Place| place.position;
            assert_eq!(
                places.iter().map(positions).collect::<Vec<_>>(),
                sorted.iter().map(|key| key.position).collect::<Vec<_>>()
            );
        }
    }
}
