//! `strftime_now`: the time, in UTC.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::{Error, ErrorKind};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Year, month from 0, and day from 1 of a number of days since 1970.
fn date(days: u64) -> (u64, usize, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // 400 years have 146097 days.
    let mut year = 1970 + days / 146_097 * 400;
    let mut left = days % 146_097;
    loop {
        let days = if is_leap(year) { 366 } else { 365 };
        if left < days {
            break;
        }
        left -= days;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 0;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    (year, month, left + 1)
}

/// Python's `strftime`, with the fields that templates use.
pub(super) fn format(format: &str, time: SystemTime) -> Result<String, Error> {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let weekday = DAYS[(seconds / 86_400 % 7) as usize];
    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut field = characters.next();
        // Without padding.
        let is_short = field == Some('-');
        if is_short {
            field = characters.next();
        }
        let number = match field {
            Some('d') => day,
            Some('m') => month as u64 + 1,
            Some('y') => year % 100,
            Some('H') => hour,
            Some('I') => (hour + 11) % 12 + 1,
            Some('M') => minute,
            Some('S') => second,
            other => {
                match other {
                    Some('Y') => text.push_str(&year.to_string()),
                    Some('B') => text.push_str(MONTHS[month]),
                    Some('b') => text.push_str(&MONTHS[month][..3]),
                    Some('A') => text.push_str(weekday),
                    Some('a') => text.push_str(&weekday[..3]),
                    Some('p') => text.push_str(if hour < 12 { "AM" } else { "PM" }),
                    Some('Z') => text.push_str("UTC"),
                    Some('%') => text.push('%'),
                    other => {
                        let field = other.map(String::from).unwrap_or_default();
                        let problem = format!("strftime_now: the field %{field} is not known");
                        return Err(Error::new(ErrorKind::InvalidOperation, problem));
                    }
                }
                continue;
            }
        };
        let width = if is_short { 1 } else { 2 };
        // Writing to a string cannot fail.
        let _ = write!(text, "{number:0width$}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_date() {
        // Expected: `date -u -d @SECONDS +FORMAT`.
        for (seconds, expected) in [
            (0, "Thu Thursday 01 Jan 1970 00:00:00 12AM 1"),
            (951_782_400, "Tue Tuesday 29 Feb 2000 00:00:00 12AM 29"),
            (1_704_067_199, "Sun Sunday 31 Dec 2023 23:59:59 11PM 31"),
            (4_107_542_400, "Mon Monday 01 Mar 2100 00:00:00 12AM 1"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(format("%a %A %d %b %Y %H:%M:%S %I%p %-d", time).expect("known"), expected);
        }
        assert_eq!(format("100%% %B %y %m", UNIX_EPOCH).expect("known"), "100% January 70 01");
        assert!(format("%Q", UNIX_EPOCH).is_err() && format("%", UNIX_EPOCH).is_err());
    }
}
