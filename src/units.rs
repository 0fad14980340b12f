//! Sizes, times and rates as people write and read them.

use std::time::Duration;

/// Bytes, as `41.2 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// The bytes that `text` means: a whole number, or a number with `KB`, `MB`, `GB`, `TB` (powers of
/// 1000) or `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024).
///
/// # Errors
/// If it is none of these, with an example of what is.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("`{text}` is not a size: write it as `200GiB`, `1.5TB` or `4096`");
    let text_only = text.trim();
    let digits =
        text_only.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text_only.len());
    let (number, unit) = text_only.split_at(digits);
    let power: u64 = match unit.trim() {
        "" | "B" => 1,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(bad()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(power).ok_or_else(bad);
    }
    let value: f64 = number.parse().map_err(|_| bad())?;
    let bytes = value * power as f64;
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(bad()) }
}

/// The time that `text` means: a number with `ms`, `s`, `min` or `h`.
///
/// # Errors
/// If it is none of these, with an example of what is.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is not a time: write it as `500ms`, `1s`, `10min` or `24h`");
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
    let (number, unit) = trimmed.split_at(digits);
    let unit = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(bad()),
    };
    let number: f64 = number.parse().map_err(|_| bad())?;
    Duration::try_from_secs_f64(number * unit).map_err(|_| bad())
}

/// Seconds, as `12.3 us`, `4.5 ms`, `1.25 s`, `3 min 20 s` or `2 h 05 min`.
pub fn duration(seconds: f64) -> String {
    if seconds <= 0.0 {
        return "0 s".to_owned();
    }
    if seconds < 999.5e-6 {
        return format!("{:.1} us", seconds * 1e6);
    }
    if seconds < 999.5e-3 {
        return format!("{:.1} ms", seconds * 1e3);
    }
    if seconds < 99.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        return format!("{} min {:02} s", whole / 60, whole % 60);
    }
    format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
}

/// A rate of samples, as `1,234/s`.
pub fn rate(per_second: f64) -> String {
    if per_second < 9.95 {
        return format!("{per_second:.1}/s");
    }
    format!("{}/s", count(per_second.round() as u64))
}

/// A count, as `1,281,167`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share from 0 to 1, as `98.5 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_nonsense_is_refused() {
        for (text, milliseconds) in [("500ms", 500), ("1s", 1000), ("1.5 min", 90_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)));
        }
        for text in ["", "1", "s", "-1s", "1 day", "1e400s", "..s"] {
            assert!(parse_duration(text).unwrap_err().contains("is not a time"), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("200GiB", 200 << 30),
            ("1.5TB", 1_500_000_000_000),
            ("2 KiB", 2048),
        ];
        for (text, n) in cases {
            assert_eq!(parse_bytes(text), Ok(n), "{text}");
        }
        for bad in ["", "GiB", "12 parsecs", "-1", "1e3", "1.2.3", "999999999TiB"] {
            assert!(parse_bytes(bad).unwrap_err().contains("write it as"), "{bad}");
        }
        assert_eq!(
            [bytes(512), bytes(1024), bytes(41 << 30), bytes(1_048_575)],
            ["512 B", "1.0 KiB", "41.0 GiB", "1.0 MiB"]
        );
    }

    #[test]
    fn times_rates_and_counts_read_well() {
        let times = [0.0, 12.3e-6, 0.0045, 1.25, 200.0, 7500.0].map(duration);
        assert_eq!(times, ["0 s", "12.3 us", "4.5 ms", "1.2 s", "3 min 20 s", "2 h 05 min"]);
        assert_eq!([rate(0.5), rate(1234.4), rate(12.0)], ["0.5/s", "1,234/s", "12/s"]);
        assert_eq!(
            [count(0), count(999), count(1000), count(1_281_167)],
            ["0", "999", "1,000", "1,281,167"]
        );
        assert_eq!(percent(0.985), "98.5 %");
    }
}
