//! Instants and spans of time, as a person writes and reads them.

use std::{str::FromStr, time::Duration};

use jiff::{Span, SpanRelativeTo, Timestamp, civil, tz::TimeZone};

/// A span of time that a person wrote, such as `30d`, `12h` or `1w 2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age(Duration);

impl Age {
    /// The instant so long before `now`, in UTC milliseconds since the Unix epoch.
    pub(crate) fn before(self, now: Timestamp) -> i64 {
        let ago = i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX);
        now.as_millisecond().saturating_sub(ago)
    }
}

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || format!("`{text}` is no span of time; give one such as 30d, 12h, 45m or 2w");
        let span: Span = text.parse().map_err(|_| refused())?;
        // A day is 24 hours here, and a month is no fixed time at all.
        let duration = span
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .map_err(|_| refused())?;
        Duration::try_from(duration).map(Self).map_err(|_| refused())
    }
}

/// The beginning of the runs that are asked for: an instant, or a span of time ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Ago(Age),
    At(Timestamp),
}

impl Since {
    /// The instant, in UTC milliseconds since the Unix epoch.
    pub(crate) fn millis(self, now: Timestamp) -> i64 {
        match self {
            Self::Ago(age) => age.before(now),
            Self::At(instant) => instant.as_millisecond(),
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(age) = text.parse() {
            return Ok(Self::Ago(age));
        }
        if let Ok(instant) = text.parse() {
            return Ok(Self::At(instant));
        }
        // A date or a time without a zone is meant as the clock on the wall shows it.
        let local = text.parse::<civil::DateTime>().ok();
        let local = local.and_then(|local| TimeZone::system().to_timestamp(local).ok());
        local.map(Self::At).ok_or_else(|| {
            format!(
                "`{text}` is no date, instant or span of time; give one such as 2026-01-31, 2026-01-31T12:00Z or 2d"
            )
        })
    }
}

/// The instant as the clock on the wall shows it, to the second.
pub(crate) fn local(millis: i64) -> String {
    match Timestamp::from_millisecond(millis) {
        Ok(instant) => {
            let local = TimeZone::system().to_datetime(instant);
            local.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Err(_) => format!("{millis} ms"),
    }
}

/// The instant in UTC by RFC 3339, for programs; `None` beyond all calendars.
pub(crate) fn utc(micros: i64) -> Option<String> {
    Timestamp::from_microsecond(micros)
        .ok()
        .map(|instant| instant.to_string())
}

/// How long something took, in three digits or so.
pub(crate) fn span(micros: i64) -> String {
    const SECOND: i64 = 1_000_000;
    let micros = micros.max(0);
    let seconds = micros / SECOND;
    if micros < 1_000 {
        format!("{micros}µs")
    } else if micros < SECOND {
        format!("{}ms", micros / 1_000)
    } else if seconds < 60 {
        format!("{seconds}.{:02}s", micros % SECOND / 10_000)
    } else if seconds < 3_600 {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    } else {
        format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60)
    }
}

/// A size in bytes, in three digits or so.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut tenths = u128::from(bytes) * 10;
    let mut unit = "";
    for name in UNITS {
        tenths /= 1024;
        unit = name;
        if tenths < 10 * 1024 {
            break;
        }
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-31T12:00:00Z".parse().expect("an instant")
    }

    #[test]
    fn an_age_is_written_in_units_of_fixed_length() {
        for (text, hours) in [("30d", 720), ("12h", 12), ("2w", 336), ("1d 12h", 36), ("P1D", 24)] {
            let age: Age = text.parse().expect("an age");
            assert_eq!(now().as_millisecond() - age.before(now()), hours * 3_600_000, "{text}");
        }
        for text in ["", "30", "d", "-1d", "1 month", "1y", "soon", "99999999999d"] {
            let message = text.parse::<Age>().expect_err("refused");
            assert!(message.contains("such as 30d"), "{text}: {message}");
        }
    }

    #[test]
    fn since_takes_an_instant_or_a_time_ago() {
        let millis = |text: &str| text.parse::<Since>().map(|since| since.millis(now()));
        assert_eq!(millis("1d"), Ok(now().as_millisecond() - 86_400_000));
        assert_eq!(millis("2026-01-31T12:00Z"), Ok(now().as_millisecond()));
        assert!(millis("2026-01-30").is_ok_and(|at| at < now().as_millisecond()));
        assert!(millis("yesterday").is_err_and(|message| message.contains("2026-01-31")));
    }

    #[test]
    fn times_and_sizes_are_short() {
        for (micros, text) in [
            (-5, "0µs"),
            (999, "999µs"),
            (1_500, "1ms"),
            (1_240_000, "1.24s"),
            (123_000_000, "2m03s"),
            (3_723_000_000, "1h02m"),
        ] {
            assert_eq!(span(micros), text);
        }
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (1024 * 1024, "1.0 MiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
