//! What a YAML scalar is: its text, and the type that the core schema gives it.

use std::borrow::Cow;

/// A scalar as written, and its type.
#[derive(Debug, Clone)]
pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) kind: Kind,
}

/// The types of the core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Null,
    Boolean(bool),
    /// A whole number. One beyond the range stands at its end.
    Integer(i128),
    Number(f64),
    String,
}

impl Kind {
    /// The type of an untagged plain scalar.
    pub(super) fn of_plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
            "true" | "True" | "TRUE" => Kind::Boolean(true),
            "false" | "False" | "FALSE" => Kind::Boolean(false),
            _ => integer(text)
                .map(Kind::Integer)
                .or_else(|| number(text).map(Kind::Number))
                .unwrap_or(Kind::String),
        }
    }
}

fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', _, ..] => (16, &digits[2..]),
        [b'0', b'o', _, ..] => (8, &digits[2..]),
        [b'0', b'b', _, ..] => (2, &digits[2..]),
        // Readers differ on whether this is octal, so that it is better no number.
        [b'0', _, ..] => return None,
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
    Some(if negative { -magnitude } else { magnitude })
}

fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let negative = text.starts_with('-');
    match unsigned {
        ".inf" | ".Inf" | ".INF" if negative => Some(f64::NEG_INFINITY),
        ".inf" | ".Inf" | ".INF" => Some(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        // Rust also reads words, such as `inf`.
        _ if unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit()) => {
            text.parse().ok().filter(|number: &f64| number.is_finite())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_scalar_has_the_type_of_the_core_schema() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(Kind::of_plain(text), Kind::Null, "{text:?}");
        }
        assert_eq!(Kind::of_plain("TRUE"), Kind::Boolean(true));
        assert_eq!(Kind::of_plain("false"), Kind::Boolean(false));
        let integers = [
            ("0", 0),
            ("-0", 0),
            ("+12", 12),
            ("-3", -3),
            ("0x1F", 31),
            ("0o17", 15),
            ("0b11", 3),
        ];
        for (text, integer) in integers {
            assert_eq!(Kind::of_plain(text), Kind::Integer(integer), "{text:?}");
        }
        let numbers = [
            ("1.5", 1.5),
            ("3.0", 3.0),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("-.25", -0.25),
            ("-.inf", f64::NEG_INFINITY),
        ];
        for (text, number) in numbers {
            assert_eq!(Kind::of_plain(text), Kind::Number(number), "{text:?}");
        }
        assert!(matches!(Kind::of_plain(".nan"), Kind::Number(number) if number.is_nan()));
    }

    #[test]
    fn every_other_plain_scalar_is_a_string() {
        for text in [
            "yes", "on", "nULL", "010", "1_000", "-", "+", ".", "0x", "0xg", "inf", "nan", "1e999", "12a", "1.2.3", "é",
        ] {
            assert_eq!(Kind::of_plain(text), Kind::String, "{text:?}");
        }
    }

    #[test]
    fn an_integer_beyond_the_range_keeps_its_sign() {
        let digits = "9".repeat(60);
        assert_eq!(Kind::of_plain(&digits), Kind::Integer(i128::MAX));
        assert_eq!(Kind::of_plain(&format!("-{digits}")), Kind::Integer(-i128::MAX));
    }
}
