//! Parses the values of variables.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use crate::{Values, Variable};

/// Longer texts are refused: no variable needs more, and an error message that repeats one would be useless.
const LONGEST: usize = 1 << 16;
/// Errors show at most this many characters of a value.
const SHOWN: usize = 60;

/// An invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}=`{value}`: {problem}")]
#[non_exhaustive]
pub struct Error {
    /// The name of the variable.
    pub variable: &'static str,
    /// Its value, shortened, on one line.
    pub value: String,
    /// What is wrong, or what is expected.
    pub problem: String,
}

impl Variable {
    /// The text in the environment, trimmed. `None` if there is none.
    ///
    /// # Errors
    /// The text is not UTF-8 or longer than 64 KiB.
    pub fn text(&self) -> Result<Option<String>, Error> {
        self.text_of(self.in_environment())
    }

    /// The time in the environment.
    ///
    /// # Errors
    /// The text is not a time, or the time is out of range.
    ///
    /// # Panics
    /// If the variable is not a time. As with the methods below, that is a mistake in this crate's table.
    pub fn time(&self) -> Result<Option<Duration>, Error> {
        self.time_of(self.in_environment())
    }

    /// The limit of time in the environment; the inner value is `None` for `none`.
    ///
    /// # Errors
    /// The text is neither `none` nor a time in range.
    pub fn time_limit(&self) -> Result<Option<Option<Duration>>, Error> {
        self.time_limit_of(self.in_environment())
    }

    /// The limit of memory in the environment, in bytes; the inner value is `None` for `none`.
    ///
    /// # Errors
    /// The text is neither `none` nor a number of bytes in range.
    pub fn memory_limit(&self) -> Result<Option<Option<u64>>, Error> {
        self.memory_limit_of(self.in_environment())
    }

    /// The number in the environment.
    ///
    /// # Errors
    /// The text is not a whole number, or the number is out of range.
    pub fn count(&self) -> Result<Option<u64>, Error> {
        self.count_of(self.in_environment())
    }

    /// Whether the environment switches the variable on.
    ///
    /// # Errors
    /// The text is neither on nor off.
    pub fn switch(&self) -> Result<Option<bool>, Error> {
        self.switch_of(self.in_environment())
    }

    /// The word in the environment, as spelled in the table.
    ///
    /// # Errors
    /// The text is none of the words.
    pub fn word(&self) -> Result<Option<&'static str>, Error> {
        self.word_of(self.in_environment())
    }

    /// The path in the environment, which need not be UTF-8. `None` if there is none.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let is_blank = |value: &OsStr| value.to_str().is_some_and(|text| text.trim().is_empty());
        self.in_environment().filter(|value| !is_blank(value)).map(PathBuf::from)
    }

    fn in_environment(&self) -> Option<OsString> {
        std::env::var_os(self.name)
    }

    /// Like [`text`](Self::text), for a value from elsewhere. Other methods named `…_of` work the same way.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub fn text_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<String>, Error> {
        let Some(value) = value else { return Ok(None) };
        let value = value.as_ref();
        let Some(text) = value.to_str() else {
            return Err(self.error(&value.to_string_lossy(), "it is not UTF-8".to_owned()));
        };
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(self.error(text, format!("it has {} bytes, more than {LONGEST}", text.len())));
        }
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    /// See [`text_of`](Self::text_of).
    ///
    /// # Errors
    /// As [`time`](Self::time).
    pub fn time_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<Duration>, Error> {
        let Values::Time { least, most } = self.values else { return self.misread() };
        self.parsed(value, |text| duration(text).filter(|time| (least..=most).contains(time)))
    }

    /// Like [`time_limit`](Self::time_limit), for a value from elsewhere; the inner value is `None` for
    /// `none`.
    ///
    /// # Errors
    /// The text is neither `none` nor a time in range.
    pub fn time_limit_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<Option<Duration>>, Error> {
        let Values::Limit(Values::Time { least, most }) = self.values else { return self.misread() };
        self.parsed(value, or_none(|text| duration(text).filter(|time| (least..=most).contains(&time))))
    }

    /// Like [`memory_limit`](Self::memory_limit), for a value from elsewhere; the inner value is `None` for
    /// `none`.
    ///
    /// # Errors
    /// The text is neither `none` nor a number of bytes in range.
    pub fn memory_limit_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<Option<u64>>, Error> {
        let Values::Limit(Values::Bytes { least, most }) = self.values else { return self.misread() };
        self.parsed(value, or_none(|text| bytes(text).filter(|bytes| (least..=most).contains(&bytes))))
    }

    /// See [`text_of`](Self::text_of).
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn count_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<u64>, Error> {
        let Values::Count { least, most } = self.values else { return self.misread() };
        self.parsed(value, |text| digits(text)?.parse().ok().filter(|count| (least..=most).contains(count)))
    }

    /// See [`text_of`](Self::text_of).
    ///
    /// # Errors
    /// As [`switch`](Self::switch).
    pub fn switch_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<bool>, Error> {
        let Values::Switch = self.values else { return self.misread() };
        self.parsed(value, |text| match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "on" => Some(true),
            "0" | "false" | "off" => Some(false),
            _ => None,
        })
    }

    /// See [`text_of`](Self::text_of).
    ///
    /// # Errors
    /// As [`word`](Self::word).
    pub fn word_of(&self, value: Option<impl AsRef<OsStr>>) -> Result<Option<&'static str>, Error> {
        let Values::Word(words) = self.values else { return self.misread() };
        self.parsed(value, |text| words.iter().copied().find(|word| word.eq_ignore_ascii_case(text)))
    }

    /// An error about a value whose grammar only its reader knows.
    #[must_use]
    pub fn error(&self, value: &str, problem: impl Into<String>) -> Error {
        Error { variable: self.name, value: shown(value), problem: problem.into() }
    }

    fn parsed<T>(
        &self,
        value: Option<impl AsRef<OsStr>>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.text_of(value)? else { return Ok(None) };
        match parse(&text) {
            None => Err(self.error(&text, format!("it must be {}", self.values))),
            parsed => Ok(parsed),
        }
    }

    fn misread<T>(&self) -> T {
        panic!("{} is {}", self.name, self.values)
    }
}

/// Digits only: no sign, no blanks, no exponent, and neither NaN nor infinity.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// A parser that also accepts `none`.
fn or_none<T>(parse: impl Fn(&str) -> Option<T>) -> impl Fn(&str) -> Option<Option<T>> {
    move |text| if text.eq_ignore_ascii_case("none") { Some(None) } else { parse(text).map(Some) }
}

/// A whole number of bytes, KiB, MiB, GiB or TiB.
fn bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1_u64 << 40)];
    let unit = units.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?.trim_end(), *bytes)));
    let (number, unit) = unit.unwrap_or((text, 1));
    digits(number)?.parse::<u64>().ok()?.checked_mul(unit)
}

/// A number of seconds or milliseconds with at most nine decimals.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis(1)),
        None => (text.strip_suffix('s').unwrap_or(text), Duration::from_secs(1)),
    };
    let number = number.trim_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let whole = digits(whole)?.parse::<u64>().ok()?;
    let whole = if unit.as_secs() == 0 { Duration::from_millis(whole) } else { Duration::from_secs(whole) };
    let decimals = digits(decimals).filter(|decimals| decimals.len() <= 9)?;
    let scale = 10_u128.pow(decimals.len() as u32);
    // Less than one unit, so at most a second.
    let rest = unit.as_nanos() * decimals.parse::<u128>().ok()? / scale;
    whole.checked_add(Duration::from_nanos(u64::try_from(rest).ok()?))
}

/// The beginning of a value, on one line.
fn shown(value: &str) -> String {
    let beginning = || value.chars().take(SHOWN).flat_map(char::escape_debug);
    // Quotation marks need no escape here.
    let text = beginning().collect::<String>().replace("\\'", "'").replace("\\\"", "\"");
    match value.chars().nth(SHOWN) {
        None => text,
        Some(_) => format!("{text}…"),
    }
}

impl std::fmt::Display for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time { least, most } => {
                write!(f, "a time from {} to {}, such as 30, 1.5s or 500ms", Time(*least), Time(*most))
            }
            Self::Count { least, most } => write!(f, "a whole number from {least} to {most}"),
            Self::Bytes { least, most } => {
                write!(
                    f,
                    "bytes from {} to {}, such as 1073741824, 512MiB or 4GiB",
                    Bytes(*least),
                    Bytes(*most)
                )
            }
            Self::Limit(values) => write!(f, "{values}, or none"),
            Self::Switch => f.write_str("1, true or on, or 0, false or off"),
            Self::Word([word]) => f.write_str(word),
            Self::Word(words) => match words.split_last() {
                Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
                None => Ok(()),
            },
            Self::Text(what) | Self::Path(what) => f.write_str(what),
        }
    }
}

/// A number of bytes in the largest unit that divides it.
struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.iter().find(|(_, shift)| self.0.trailing_zeros() >= *shift && self.0 > 0) {
            Some((unit, shift)) => write!(f, "{} {unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A time in the unit that suits it.
struct Time(Duration);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{} s", self.0.as_secs()),
            _ => write!(f, "{} ms", self.0.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ALL, Reader};

    const TIME: Variable =
        of(Values::Time { least: Duration::from_millis(1), most: Duration::from_secs(100) });
    const COUNT: Variable = of(Values::Count { least: 1, most: 1024 });

    const fn of(values: Values) -> Variable {
        Variable { name: "X", meaning: "", values, default: "", reader: Reader::Test }
    }

    #[test]
    fn limits_are_values_in_a_range_or_none() {
        const TIME_LIMIT: Variable = of(Values::Limit(&TIME.values));
        const MEMORY_LIMIT: Variable = of(Values::Limit(&Values::Bytes { least: 64 << 20, most: 1 << 40 }));
        assert_eq!(TIME_LIMIT.time_limit_of(None::<&str>), Ok(None));
        assert_eq!(TIME_LIMIT.time_limit_of(Some(" none ")), Ok(Some(None)));
        assert_eq!(TIME_LIMIT.time_limit_of(Some("1.5s")), Ok(Some(Some(Duration::from_millis(1500)))));
        for (text, bytes) in [
            ("67108864", Some(64 << 20)),
            ("64MiB", Some(64 << 20)),
            ("4 GiB", Some(4 << 30)),
            ("1TiB", Some(1 << 40)),
            ("NONE", None),
        ] {
            assert_eq!(MEMORY_LIMIT.memory_limit_of(Some(text)), Ok(Some(bytes)), "{text}");
        }
        for text in
            ["0", "-1", "NaN", "63MiB", "2TiB", "4GB", "1e9", "18446744073709551615TiB", "4.5GiB", "none!"]
        {
            let error = MEMORY_LIMIT.memory_limit_of(Some(text)).unwrap_err().to_string();
            assert!(error.contains("from 64 MiB to 1 TiB") && error.ends_with(", or none"), "{error}");
            assert!(TIME_LIMIT.time_limit_of(Some("18446744073709551615")).is_err());
        }
    }

    #[test]
    fn times_have_units_and_a_range() {
        for (text, millis) in [
            ("1ms", 1),
            ("30", 30_000),
            (" 30 s ", 30_000),
            ("1.5", 1500),
            ("0.25s", 250),
            ("1.5ms", 1),
            ("100", 100_000),
        ] {
            assert_eq!(TIME.time_of(Some(text)).unwrap().unwrap().as_millis(), millis, "{text}");
        }
        for text in [
            "0",
            "-1",
            "NaN",
            "inf",
            "1e3",
            "+1",
            "1,5",
            "1.",
            ".5",
            "s",
            "ms",
            "1m",
            "0.0009",
            "100.001",
            "101",
            "18446744073709551615",
            "18446744073709551616",
            "18446744073709551615ms",
            "1.0000000001",
            "0x10",
            "1_0",
        ] {
            let error = TIME.time_of(Some(text)).unwrap_err();
            assert_eq!(error.value, text);
            assert!(error.to_string().contains("from 1 ms to 100 s"), "{error}");
        }
    }

    #[test]
    fn numbers_have_a_range() {
        assert_eq!(COUNT.count_of(Some("1024")), Ok(Some(1024)));
        for text in ["0", "1025", "-1", "+1", "1.0", "18446744073709551616", "NaN", "1 2"] {
            let error = COUNT.count_of(Some(text)).unwrap_err().to_string();
            assert_eq!(error, format!("X=`{text}`: it must be a whole number from 1 to 1024"));
        }
    }

    #[test]
    fn words_and_switches_are_taken_in_capitals_too() {
        let word = of(Values::Word(&["one", "two"]));
        assert_eq!(word.word_of(Some("TWO")), Ok(Some("two")));
        assert_eq!(word.word_of(Some("three")).unwrap_err().problem, "it must be one or two");
        let switch = of(Values::Switch);
        assert_eq!(
            (switch.switch_of(Some("On")), switch.switch_of(Some("0"))),
            (Ok(Some(true)), Ok(Some(false)))
        );
        assert!(switch.switch_of(Some("yes")).is_err());
    }

    #[test]
    fn nothing_and_blanks_are_no_value() {
        for value in [None, Some(""), Some(" \t\n")] {
            assert_eq!(TIME.time_of(value), Ok(None));
            assert_eq!(TIME.text_of(value), Ok(None));
        }
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_are_an_error_with_the_name() {
        let bytes: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(&[b'3', 0xff, 0xfe]);
        let error = TIME.time_of(Some(bytes)).unwrap_err();
        assert_eq!(error.to_string(), "X=`3\u{fffd}\u{fffd}`: it is not UTF-8");
    }

    #[test]
    fn an_error_is_one_short_line_whatever_stands_in_the_variable() {
        for text in ["9".repeat(100_000), "\u{202e}x\ny\u{1b}[0m".repeat(9), "\"'\\".repeat(40)] {
            let error = COUNT.count_of(Some(&text)).unwrap_err().to_string();
            assert!(error.len() < 1000 && !error.contains(['\n', '\u{1b}', '\u{202e}']), "{error}");
        }
    }

    #[test]
    fn every_row_can_be_read() {
        for variable in ALL {
            let value: Option<&str> = None;
            match &variable.values {
                Values::Time { least, most } => {
                    assert!(least < most && !least.is_zero());
                    assert_eq!(variable.time_of(value), Ok(None));
                }
                Values::Count { least, most } => {
                    assert!(least < most);
                    assert_eq!(variable.count_of(value), Ok(None));
                }
                Values::Limit(Values::Time { .. }) => assert_eq!(variable.time_limit_of(value), Ok(None)),
                Values::Limit(Values::Bytes { .. }) => assert_eq!(variable.memory_limit_of(value), Ok(None)),
                values @ (Values::Limit(_) | Values::Bytes { .. }) => panic!("{values} has no reader"),
                Values::Switch => assert_eq!(variable.switch_of(value), Ok(None)),
                Values::Word(words) => assert!(!words.is_empty() && variable.word_of(value) == Ok(None)),
                Values::Text(what) | Values::Path(what) => assert!(!what.is_empty()),
            }
        }
    }
}
