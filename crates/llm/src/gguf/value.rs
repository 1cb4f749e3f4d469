//! The named values of a file's header.

use std::collections::BTreeMap;
use std::fmt;

/// A value of a header.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    String(String),
    Array(Array),
}

/// Values of one type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    String(Vec<String>),
    Array(Vec<Array>),
}

/// Calls a macro for each variant of [`Array`] that holds values.
macro_rules! for_each {
    ($array:expr, $values:ident => $result:expr) => {
        match $array {
            Array::U8($values) => $result,
            Array::I8($values) => $result,
            Array::U16($values) => $result,
            Array::I16($values) => $result,
            Array::U32($values) => $result,
            Array::I32($values) => $result,
            Array::U64($values) => $result,
            Array::I64($values) => $result,
            Array::F32($values) => $result,
            Array::F64($values) => $result,
            Array::Bool($values) => $result,
            Array::String($values) => $result,
            Array::Array($values) => $result,
        }
    };
}

impl Array {
    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        for_each!(self, values => values.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as unsigned integers, if they are integers and none is negative.
    #[must_use]
    pub fn to_u64(&self) -> Option<Vec<u64>> {
        fn all<T: Copy + TryInto<u64>>(values: &[T]) -> Option<Vec<u64>> {
            values.iter().map(|&value| value.try_into().ok()).collect()
        }
        match self {
            Self::U8(values) => all(values),
            Self::I8(values) => all(values),
            Self::U16(values) => all(values),
            Self::I16(values) => all(values),
            Self::U32(values) => all(values),
            Self::I32(values) => all(values),
            Self::U64(values) => all(values),
            Self::I64(values) => all(values),
            Self::Bool(values) => Some(values.iter().map(|&value| u64::from(value)).collect()),
            _ => None,
        }
    }
}

impl Value {
    /// What the value is, as in "an array of strings".
    fn kind(&self) -> &'static str {
        match self {
            Self::U8(_) | Self::U16(_) | Self::U32(_) | Self::U64(_) => "an unsigned integer",
            Self::I8(_) | Self::I16(_) | Self::I32(_) | Self::I64(_) => "an integer",
            Self::F32(_) | Self::F64(_) => "a floating-point number",
            Self::Bool(_) => "a boolean",
            Self::String(_) => "a string",
            Self::Array(Array::String(_)) => "an array of strings",
            Self::Array(Array::F32(_) | Array::F64(_)) => "an array of floating-point numbers",
            Self::Array(Array::Array(_)) => "an array of arrays",
            Self::Array(_) => "an array of integers",
        }
    }

    fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(value) => Some(value.into()),
            Self::U16(value) => Some(value.into()),
            Self::U32(value) => Some(value.into()),
            Self::U64(value) => Some(value),
            Self::I8(value) => value.try_into().ok(),
            Self::I16(value) => value.try_into().ok(),
            Self::I32(value) => value.try_into().ok(),
            Self::I64(value) => value.try_into().ok(),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::F32(value) => Some(value.into()),
            Self::F64(value) => Some(value),
            _ => self.as_u64().map(|value| value as f64),
        }
    }
}

/// The named values of one file, or of all files of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    values: BTreeMap<String, Value>,
}

/// A value that is missing or unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// There is no value of this name.
    #[error("the file has no value `{0}`")]
    Missing(String),
    /// The value has another type, or a value that the type cannot hold.
    #[error("`{name}` is {got}, not {expected}")]
    Type {
        /// The value's name.
        name: String,
        /// What was asked for.
        expected: &'static str,
        /// What the file has.
        got: &'static str,
    },
}

impl Metadata {
    /// Sets a value; the one that was there before.
    pub fn insert(&mut self, name: String, value: Value) -> Option<Value> {
        self.values.insert(name, value)
    }

    /// A value by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// All values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value, if it is there, converted by `as_type`.
    fn find<'a, T>(
        &'a self,
        name: &str,
        expected: &'static str,
        as_type: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        let Some(value) = self.values.get(name) else { return Ok(None) };
        match as_type(value) {
            Some(converted) => Ok(Some(converted)),
            None => Err(MetadataError::Type { name: name.to_owned(), expected, got: value.kind() }),
        }
    }

    /// An unsigned integer of any width. `None` if it is not there.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else, and for negative integers.
    pub fn u64(&self, name: &str) -> Result<Option<u64>, MetadataError> {
        self.find(name, "an unsigned integer", Value::as_u64)
    }

    /// The same, as a size.
    ///
    /// # Errors
    /// As [`u64`](Self::u64), and for numbers beyond 2³².
    pub fn size(&self, name: &str) -> Result<Option<usize>, MetadataError> {
        let expected = "an unsigned integer below 2^32";
        self.find(name, expected, |value| u32::try_from(value.as_u64()?).ok().map(|value| value as usize))
    }

    /// A number, integer or not.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else.
    pub fn f64(&self, name: &str) -> Result<Option<f64>, MetadataError> {
        self.find(name, "a number", Value::as_f64)
    }

    /// A boolean.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, MetadataError> {
        self.find(name, "a boolean", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    /// A string.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else.
    pub fn str(&self, name: &str) -> Result<Option<&str>, MetadataError> {
        self.find(name, "a string", |value| match value {
            Value::String(value) => Some(value.as_str()),
            _ => None,
        })
    }

    /// An array of strings.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else.
    pub fn strings(&self, name: &str) -> Result<Option<&[String]>, MetadataError> {
        self.find(name, "an array of strings", |value| match value {
            Value::Array(Array::String(values)) => Some(values.as_slice()),
            // An empty array may have any type.
            Value::Array(array) if array.is_empty() => Some(&[]),
            _ => None,
        })
    }

    /// An array of f32.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else.
    pub fn f32s(&self, name: &str) -> Result<Option<&[f32]>, MetadataError> {
        self.find(name, "an array of f32", |value| match value {
            Value::Array(Array::F32(values)) => Some(values.as_slice()),
            Value::Array(array) if array.is_empty() => Some(&[]),
            _ => None,
        })
    }

    /// An array of unsigned integers of any width, or of booleans.
    ///
    /// # Errors
    /// [`MetadataError::Type`] for anything else, and for negative integers.
    pub fn u64s(&self, name: &str) -> Result<Option<Vec<u64>>, MetadataError> {
        self.find(name, "an array of unsigned integers", |value| match value {
            Value::Array(array) => array.to_u64(),
            _ => None,
        })
    }

    /// An array of booleans.
    ///
    /// # Errors
    /// As for [`u64`](Self::u64).
    pub fn bools(&self, name: &str) -> Result<Option<&[bool]>, MetadataError> {
        self.find(name, "an array of booleans", |value| match value {
            Value::Array(Array::Bool(bools)) => Some(bools.as_slice()),
            _ => None,
        })
    }

    /// The value of a call above, which must be there.
    ///
    /// # Errors
    /// [`MetadataError::Missing`] with the name.
    pub fn required<'a, T>(
        &'a self,
        name: &str,
        value: impl FnOnce(&'a Self, &str) -> Result<Option<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        value(self, name)?.ok_or_else(|| MetadataError::Missing(name.to_owned()))
    }
}

/// Long arrays and strings are cut.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Shown of an array.
        const VALUES: usize = 6;
        /// Shown of a string.
        const CHARACTERS: usize = 60;
        let string = |f: &mut fmt::Formatter<'_>, text: &str| match text.char_indices().nth(CHARACTERS) {
            Some((end, _)) => write!(f, "{:?}…", &text[..end]),
            None => write!(f, "{text:?}"),
        };
        match self {
            Self::U8(value) => value.fmt(f),
            Self::I8(value) => value.fmt(f),
            Self::U16(value) => value.fmt(f),
            Self::I16(value) => value.fmt(f),
            Self::U32(value) => value.fmt(f),
            Self::I32(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::F32(value) => value.fmt(f),
            Self::F64(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::String(text) => string(f, text),
            Self::Array(array) => {
                let more = if array.len() > VALUES { ", …" } else { "" };
                f.write_str("[")?;
                if let Array::String(values) = array {
                    for (at, text) in values.iter().take(VALUES).enumerate() {
                        f.write_str(if at > 0 { ", " } else { "" })?;
                        string(f, text)?;
                    }
                } else {
                    let shown: Vec<String> = for_each!(array, values => {
                        values.iter().take(VALUES).map(|value| format!("{value:?}")).collect()
                    });
                    f.write_str(&shown.join(", "))?;
                }
                write!(f, "{more}] ({} values)", array.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        let mut metadata = Metadata::default();
        let values = [
            ("byte", Value::U8(7)),
            ("negative", Value::I32(-1)),
            ("huge", Value::U64(1 << 40)),
            ("float", Value::F32(0.5)),
            ("text", Value::String("x".repeat(100))),
            ("words", Value::Array(Array::String(vec!["a".into(), "b".into()]))),
            ("flags", Value::Array(Array::Bool(vec![true, false]))),
            ("signed", Value::Array(Array::I32(vec![1, -1]))),
            ("none", Value::Array(Array::U32(Vec::new()))),
        ];
        for (name, value) in values {
            assert_eq!(metadata.insert(name.into(), value), None);
        }
        metadata
    }

    #[test]
    fn a_value_is_converted_or_refused_with_both_types() {
        let metadata = metadata();
        assert_eq!(metadata.u64("byte"), Ok(Some(7)));
        assert_eq!(metadata.size("byte"), Ok(Some(7)));
        assert_eq!(metadata.f64("byte"), Ok(Some(7.0)));
        assert_eq!(metadata.f64("float"), Ok(Some(0.5)));
        assert_eq!(metadata.u64("huge"), Ok(Some(1 << 40)));
        assert_eq!(metadata.u64("absent"), Ok(None));
        assert_eq!(metadata.strings("words").unwrap().unwrap().len(), 2);
        assert_eq!(metadata.strings("none"), Ok(Some(&[][..])));
        assert_eq!(metadata.u64s("flags"), Ok(Some(vec![1, 0])));
        let refused = [
            metadata.u64("negative").unwrap_err().to_string(),
            metadata.size("huge").unwrap_err().to_string(),
            metadata.str("byte").unwrap_err().to_string(),
            metadata.u64s("signed").unwrap_err().to_string(),
            metadata.required("absent", Metadata::bool).unwrap_err().to_string(),
        ];
        assert_eq!(
            refused,
            [
                "`negative` is an integer, not an unsigned integer",
                "`huge` is an unsigned integer, not an unsigned integer below 2^32",
                "`byte` is an unsigned integer, not a string",
                "`signed` is an array of integers, not an array of unsigned integers",
                "the file has no value `absent`",
            ]
        );
    }

    #[test]
    fn long_values_are_cut_when_shown() {
        let metadata = metadata();
        let shown = |name: &str| metadata.get(name).expect(name).to_string();
        assert_eq!(shown("text"), format!("{:?}…", "x".repeat(60)));
        assert_eq!(shown("words"), r#"["a", "b"] (2 values)"#);
        assert_eq!(Value::Array(Array::U8(vec![1; 9])).to_string(), "[1, 1, 1, 1, 1, 1, …] (9 values)");
    }
}
