//! The run's start instant as text (book: How `sys.when` is written).

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// The first and the last instant whose year has four digits, in milliseconds since the epoch.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Renders UTC milliseconds since the epoch as RFC 3339 in UTC, with at most three fraction digits and none that are
/// zeros at the end. Instants outside the years 0000 to 9999 count as the nearest one inside.
pub(crate) fn render(millis: i64) -> String {
    let millis = millis.clamp(*RANGE.start(), *RANGE.end());
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000)
        .ok()
        .and_then(|instant| instant.format(&Rfc3339).ok())
        .expect("every instant of the years 0000 to 9999 has an RFC 3339 form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_follows_the_milliseconds() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_709_210_096_000, "2024-02-29T12:34:56Z"),
            (1_709_210_096_789, "2024-02-29T12:34:56.789Z"),
            (1_709_210_096_780, "2024-02-29T12:34:56.78Z"),
            (1_709_210_096_700, "2024-02-29T12:34:56.7Z"),
            (1_709_210_096_050, "2024-02-29T12:34:56.05Z"),
            (1_709_210_096_005, "2024-02-29T12:34:56.005Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (*RANGE.start(), "0000-01-01T00:00:00Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(render(millis), text);
        }
    }
}
