//! Output formats of counters.

use std::fmt;
use std::str::FromStr;

/// The output format of counters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CounterFormat {
    /// A table for people.
    Table,
    /// One line of JSON per dispatch.
    Json,
}

/// The name of a format that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a format; expected table or json")]
pub struct CounterFormatError(String);

impl FromStr for CounterFormat {
    type Err = CounterFormatError;

    fn from_str(text: &str) -> Result<CounterFormat, CounterFormatError> {
        match text.trim() {
            "table" => Ok(CounterFormat::Table),
            "json" => Ok(CounterFormat::Json),
            other => Err(CounterFormatError(other.to_owned())),
        }
    }
}

impl fmt::Display for CounterFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CounterFormat::Table => "table",
            CounterFormat::Json => "json",
        })
    }
}
