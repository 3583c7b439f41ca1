//! Seeds and digests as hex digits.

use std::fmt;

/// Bytes that display as lowercase hex digits.
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads exactly 32 bytes from 64 hex digits of either case.
#[must_use]
pub fn decode(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |d: u8| char::from(d).to_digit(16).and_then(|d| u8::try_from(d).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_reads_back_from_its_digits() {
        let seed: [u8; 32] = std::array::from_fn(|i| u8::try_from(i * 7).expect("under 256"));
        assert_eq!(decode(&Hex(&seed).to_string()), Some(seed));
        assert_eq!(decode("00"), None);
        assert_eq!(decode(&"g".repeat(64)), None);
    }
}
