//! Reading a header.

use std::collections::HashSet;
use std::io::{self, Read};

use super::tensor::{TensorInfo, TensorType};
use super::value::{Array, Metadata, MetadataError, Value};

/// The multiple of bytes at which tensors begin, unless `general.alignment` says otherwise.
pub const DEFAULT_ALIGNMENT: u64 = 32;
/// Dimensions of a tensor.
const MOST_DIMENSIONS: u32 = 8;
/// Arrays inside arrays.
const MOST_DEPTH: u32 = 4;
/// Arrays inside arrays need few bytes each in a file and more in memory.
const MOST_NESTED: u64 = 1 << 16;

/// What makes a file unreadable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The first bytes are not those of a GGUF file.
    #[error("this is not a GGUF file: it begins with {0:02x?}, not with \"GGUF\"")]
    NotGguf([u8; 4]),
    /// A version that does not exist yet.
    #[error("GGUF version {0} is not supported: 1, 2 and 3 are")]
    Version(u32),
    /// The file ends too early.
    #[error("the file ends within {what}: {needed} bytes are needed, {left} are left")]
    Truncated {
        /// What was being read.
        what: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that the file still has.
        left: u64,
    },
    /// A part of the header that no program would write.
    #[error("{what}: {problem}")]
    Invalid {
        /// The value or tensor.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A value that is needed here has another type.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The system could not read.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
}

/// A file's header.
#[derive(Clone, Debug, PartialEq)]
pub struct Gguf {
    /// 1 to 3.
    pub version: u32,
    /// Whether numbers in the file have their highest byte first. Data of tensors is not converted.
    pub big_endian: bool,
    /// The named values.
    pub metadata: Metadata,
    /// The tensors, in the file's order.
    pub tensors: Vec<TensorInfo>,
    /// Where the data of tensors begins.
    pub data: u64,
}

impl Gguf {
    /// Reads the header of a file of `bytes` bytes. No more is allocated than a small multiple of that.
    ///
    /// # Errors
    /// [`GgufError`]; [`GgufError::Truncated`] also if a tensor lies beyond the end of the file.
    pub fn read(file: impl Read, bytes: u64) -> Result<Self, GgufError> {
        let mut input = Input { file, left: bytes, version: 0, big_endian: false };
        let magic = input.array::<4>("the magic number")?;
        if magic != *b"GGUF" {
            return Err(GgufError::NotGguf(magic));
        }
        let version = input.array::<4>("the version")?;
        let little = u32::from_le_bytes(version);
        // A version is a small number in the file's own order.
        (input.version, input.big_endian) =
            if little & 0xffff == 0 { (u32::from_be_bytes(version), true) } else { (little, false) };
        if !(1..=3).contains(&input.version) {
            return Err(GgufError::Version(input.version));
        }
        let tensors = input.length("the number of tensors")?;
        let values = input.length("the number of values")?;
        let mut metadata = Metadata::default();
        for _ in 0..values {
            let name = input.string("the name of a value")?;
            let value = input.value(&name)?;
            if metadata.insert(name.clone(), value).is_some() {
                return Err(invalid(format!("value `{name}`"), "is there twice"));
            }
        }
        let mut list = Vec::new();
        for _ in 0..tensors {
            list.push(input.tensor()?);
        }
        let alignment = match metadata.u64("general.alignment")? {
            None => DEFAULT_ALIGNMENT,
            Some(alignment) if alignment > 0 && alignment.is_multiple_of(8) && alignment <= 1 << 30 => {
                alignment
            }
            Some(alignment) => {
                let problem = format!("is {alignment}, which is not a multiple of 8 from 8 to 2^30");
                return Err(invalid("value `general.alignment`".into(), problem));
            }
        };
        let data = (bytes - input.left).checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        let mut names = HashSet::new();
        for tensor in &mut list {
            place(tensor, data, alignment, bytes)?;
            if !names.insert(tensor.name.as_str()) {
                return Err(invalid(format!("tensor `{}`", tensor.name), "is there twice"));
            }
        }
        let (version, big_endian) = (input.version, input.big_endian);
        Ok(Self { version, big_endian, metadata, tensors: list, data })
    }
}

/// Makes the offset one from the beginning of the file, and checks that the tensor is inside.
fn place(tensor: &mut TensorInfo, data: u64, alignment: u64, bytes: u64) -> Result<(), GgufError> {
    let what = || format!("tensor `{}`", tensor.name);
    if !tensor.offset.is_multiple_of(alignment) {
        let problem = format!("begins at {}, which is not a multiple of {alignment}", tensor.offset);
        return Err(invalid(what(), problem));
    }
    let start = data.checked_add(tensor.offset);
    let end = start.and_then(|start| start.checked_add(tensor.bytes.unwrap_or(0) as u64));
    match (start, end) {
        (Some(start), Some(end)) if end <= bytes => tensor.offset = start,
        _ => {
            let left = bytes.saturating_sub(start.unwrap_or(u64::MAX));
            return Err(GgufError::Truncated {
                what: what(),
                needed: tensor.bytes.unwrap_or(0) as u64,
                left,
            });
        }
    }
    Ok(())
}

fn invalid(what: String, problem: impl Into<String>) -> GgufError {
    GgufError::Invalid { what, problem: problem.into() }
}

struct Input<R> {
    file: R,
    /// Bytes up to the end of the file.
    left: u64,
    version: u32,
    big_endian: bool,
}

/// Reads a number in the file's byte order.
macro_rules! number {
    ($input:expr, $type:ty, $what:expr) => {{
        let bytes = $input.array::<{ size_of::<$type>() }>($what)?;
        if $input.big_endian { <$type>::from_be_bytes(bytes) } else { <$type>::from_le_bytes(bytes) }
    }};
}

/// Reads numbers in the file's byte order.
macro_rules! numbers {
    ($input:expr, $type:ty, $count:expr, $what:expr) => {{
        let bytes = $input.bytes($count, size_of::<$type>() as u64, $what)?;
        let (numbers, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
        let convert = if $input.big_endian { <$type>::from_be_bytes } else { <$type>::from_le_bytes };
        numbers.iter().map(|&bytes| convert(bytes)).collect::<Vec<_>>()
    }};
}

impl<R: Read> Input<R> {
    /// Refuses to read beyond the end.
    fn take(&mut self, needed: u64, what: &str) -> Result<(), GgufError> {
        match self.left.checked_sub(needed) {
            Some(left) => self.left = left,
            None => return Err(GgufError::Truncated { what: what.to_owned(), needed, left: self.left }),
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], GgufError> {
        self.take(N as u64, what)?;
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn bytes(&mut self, count: u64, size: u64, what: &str) -> Result<Vec<u8>, GgufError> {
        let needed = count.saturating_mul(size);
        self.take(needed, what)?;
        // The file has as many bytes, so that memory is bounded by its size. A reader may still end early.
        let mut bytes = Vec::new();
        let got = self.file.by_ref().take(needed).read_to_end(&mut bytes)? as u64;
        if got < needed {
            return Err(GgufError::Truncated { what: what.to_owned(), needed, left: got });
        }
        Ok(bytes)
    }

    /// A number of things. In version 1, it has 32 bits.
    fn length(&mut self, what: &str) -> Result<u64, GgufError> {
        Ok(if self.version == 1 { number!(self, u32, what).into() } else { number!(self, u64, what) })
    }

    fn string(&mut self, what: &str) -> Result<String, GgufError> {
        let length = self.length(what)?;
        let bytes = self.bytes(length, 1, what)?;
        String::from_utf8(bytes).map_err(|error| invalid(what.to_owned(), format!("is not UTF-8: {error}")))
    }

    fn value(&mut self, name: &str) -> Result<Value, GgufError> {
        let what = &format!("value `{name}`");
        let kind = number!(self, u32, what);
        Ok(match kind {
            0 => Value::U8(number!(self, u8, what)),
            1 => Value::I8(number!(self, i8, what)),
            2 => Value::U16(number!(self, u16, what)),
            3 => Value::I16(number!(self, i16, what)),
            4 => Value::U32(number!(self, u32, what)),
            5 => Value::I32(number!(self, i32, what)),
            6 => Value::F32(number!(self, f32, what)),
            7 => Value::Bool(number!(self, u8, what) != 0),
            8 => Value::String(self.string(what)?),
            9 => Value::Array(self.values(what, MOST_DEPTH)?),
            10 => Value::U64(number!(self, u64, what)),
            11 => Value::I64(number!(self, i64, what)),
            12 => Value::F64(number!(self, f64, what)),
            _ => return Err(invalid(what.clone(), format!("has the unknown type {kind}"))),
        })
    }

    fn values(&mut self, what: &str, depth: u32) -> Result<Array, GgufError> {
        let kind = number!(self, u32, what);
        let count = self.length(what)?;
        Ok(match kind {
            0 => Array::U8(self.bytes(count, 1, what)?),
            1 => Array::I8(numbers!(self, i8, count, what)),
            2 => Array::U16(numbers!(self, u16, count, what)),
            3 => Array::I16(numbers!(self, i16, count, what)),
            4 => Array::U32(numbers!(self, u32, count, what)),
            5 => Array::I32(numbers!(self, i32, count, what)),
            6 => Array::F32(numbers!(self, f32, count, what)),
            7 => Array::Bool(self.bytes(count, 1, what)?.iter().map(|&byte| byte != 0).collect()),
            8 => {
                // Each has a length, of 4 bytes at least.
                if count > self.left / 4 {
                    return Err(GgufError::Truncated {
                        what: what.to_owned(),
                        needed: count.saturating_mul(4),
                        left: self.left,
                    });
                }
                let mut strings = Vec::new();
                for _ in 0..count {
                    strings.push(self.string(what)?);
                }
                Array::String(strings)
            }
            9 if depth == 0 || count > MOST_NESTED => {
                return Err(invalid(what.to_owned(), "has too many arrays inside arrays"));
            }
            9 => Array::Array((0..count).map(|_| self.values(what, depth - 1)).collect::<Result<_, _>>()?),
            10 => Array::U64(numbers!(self, u64, count, what)),
            11 => Array::I64(numbers!(self, i64, count, what)),
            12 => Array::F64(numbers!(self, f64, count, what)),
            _ => return Err(invalid(what.to_owned(), format!("has elements of the unknown type {kind}"))),
        })
    }

    fn tensor(&mut self) -> Result<TensorInfo, GgufError> {
        let name = self.string("the name of a tensor")?;
        let what = &format!("tensor `{name}`");
        let dimensions = number!(self, u32, what);
        if dimensions > MOST_DIMENSIONS {
            return Err(invalid(what.clone(), format!("has {dimensions} dimensions")));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            let size = self.length(what)?;
            shape.push(
                usize::try_from(size).map_err(|_| invalid(what.clone(), format!("has a size of {size}")))?,
            );
        }
        let columns = shape.first().copied().unwrap_or(1);
        shape.reverse();
        let kind = TensorType::from_number(number!(self, u32, what));
        let offset = number!(self, u64, what);
        let elements = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
        let Some(elements) = elements else {
            return Err(invalid(what.clone(), format!("has the shape {shape:?}, which is too large")));
        };
        let bytes = match kind.block() {
            None => None,
            Some((values, _)) if !columns.is_multiple_of(values) => {
                let problem = format!("has rows of {columns}, and {kind} has blocks of {values}");
                return Err(invalid(what.clone(), problem));
            }
            // A size beyond that of the file is refused when the tensor gets its place.
            Some((values, bytes)) => Some((elements / values).saturating_mul(bytes)),
        };
        Ok(TensorInfo { name, shape, kind, offset, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a file, in either byte order.
    struct Writer {
        bytes: Vec<u8>,
        version: u32,
        big: bool,
    }

    impl Writer {
        fn new(version: u32, big: bool, tensors: u64, values: u64) -> Self {
            let mut writer = Self { bytes: b"GGUF".to_vec(), version, big };
            writer.u32(version);
            writer.length(tensors);
            writer.length(values);
            writer
        }
        fn u32(&mut self, number: u32) {
            self.bytes.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
        }
        fn u64(&mut self, number: u64) {
            self.bytes.extend(if self.big { number.to_be_bytes() } else { number.to_le_bytes() });
        }
        fn length(&mut self, number: u64) {
            if self.version == 1 { self.u32(number as u32) } else { self.u64(number) }
        }
        fn string(&mut self, text: &str) {
            self.length(text.len() as u64);
            self.bytes.extend(text.as_bytes());
        }
        fn tensor(&mut self, name: &str, shape: &[u64], kind: u32, offset: u64) {
            self.string(name);
            self.u32(shape.len() as u32);
            for &size in shape {
                self.length(size);
            }
            self.u32(kind);
            self.u64(offset);
        }
        fn padded(mut self, data: usize) -> Vec<u8> {
            self.bytes.resize(self.bytes.len().next_multiple_of(32) + data, 0);
            self.bytes
        }
    }

    fn file(version: u32, big: bool) -> Vec<u8> {
        let mut writer = Writer::new(version, big, 2, 4);
        writer.string("general.architecture");
        writer.u32(8);
        writer.string("llama");
        writer.string("llama.block_count");
        writer.u32(4);
        writer.u32(30);
        writer.string("words");
        writer.u32(9);
        writer.u32(8);
        writer.length(2);
        writer.string("a");
        writer.string("é");
        writer.string("scores");
        writer.u32(9);
        writer.u32(6);
        writer.length(1);
        writer.u32(0.5_f32.to_bits());
        writer.tensor("norm", &[64], 0, 0);
        writer.tensor("matrix", &[64, 3], 2, 256);
        writer.padded(256 + 3 * 36)
    }

    fn read(bytes: &[u8]) -> Result<Gguf, GgufError> {
        Gguf::read(bytes, bytes.len() as u64)
    }

    #[test]
    fn all_versions_and_byte_orders_say_the_same() {
        for (version, big) in [(1, false), (2, false), (3, false), (3, true)] {
            let bytes = file(version, big);
            let gguf = read(&bytes).expect("readable");
            assert_eq!((gguf.version, gguf.big_endian), (version, big));
            assert_eq!(gguf.metadata.str("general.architecture"), Ok(Some("llama")));
            assert_eq!(gguf.metadata.size("llama.block_count"), Ok(Some(30)));
            assert_eq!(gguf.metadata.strings("words").unwrap().unwrap(), ["a", "é"]);
            assert_eq!(gguf.metadata.f32s("scores"), Ok(Some(&[0.5][..])));
            let [norm, matrix] = &gguf.tensors[..] else { panic!("two tensors") };
            assert_eq!((norm.shape.as_slice(), norm.bytes, norm.offset), (&[64][..], Some(256), gguf.data));
            assert_eq!((matrix.shape.as_slice(), matrix.bytes), (&[3, 64][..], Some(3 * 36)));
            assert_eq!(matrix.offset + 3 * 36, bytes.len() as u64);
        }
    }

    #[test]
    fn a_file_that_ends_early_is_refused_wherever_it_ends() {
        let bytes = file(3, false);
        for length in 0..bytes.len() {
            let error = read(&bytes[..length]).expect_err("too short");
            assert!(matches!(error, GgufError::Truncated { .. }), "{length}: {error}");
        }
        // The reader ends before the length that it was said to have.
        assert!(Gguf::read(&bytes[..100], bytes.len() as u64).is_err());
    }

    #[test]
    fn what_no_program_writes_is_refused_with_its_name() {
        let text = |bytes: Vec<u8>| read(&bytes).expect_err("refused").to_string();
        assert!(text(b"PK\x03\x04....".to_vec()).contains("not a GGUF file"));
        assert!(text(Writer::new(9, false, 0, 0).bytes).contains("version 9"));
        let mut twice = Writer::new(3, false, 0, 2);
        for _ in 0..2 {
            twice.string("x");
            twice.u32(0);
            twice.bytes.push(1);
        }
        assert_eq!(text(twice.bytes), "value `x`: is there twice");
        let tensor = |shape: &[u64], kind, offset| {
            let mut writer = Writer::new(3, false, 1, 0);
            writer.tensor("t", shape, kind, offset);
            text(writer.padded(64))
        };
        assert!(tensor(&[33], 2, 0).contains("has rows of 33, and Q4_0 has blocks of 32"));
        assert!(tensor(&[8], 0, 4).contains("not a multiple of 32"));
        assert!(tensor(&[64], 0, 0).contains("tensor `t`: 256 bytes are needed, 64 are left"));
        assert!(tensor(&[1 << 40, 1 << 40], 0, 0).contains("too large"));
        assert!(tensor(&[1 << 62], 0, 0).contains("ends within tensor `t`"));
        assert!(tensor(&[8], 0, 1 << 63).contains("ends within tensor `t`"));
        let mut alignment = Writer::new(3, false, 0, 1);
        alignment.string("general.alignment");
        alignment.u32(4);
        alignment.u32(0);
        assert!(text(alignment.bytes).contains("general.alignment"));
        let mut nested = Writer::new(3, false, 0, 1);
        nested.string("deep");
        nested.u32(9);
        for _ in 0..9 {
            nested.u32(9);
            nested.length(1);
        }
        nested.u32(9);
        assert!(text(nested.padded(64)).contains("arrays inside arrays"));
    }

    #[test]
    fn lengths_that_lie_allocate_nothing() {
        for kind in [0, 3, 6, 8, 10] {
            let mut writer = Writer::new(3, false, 0, 1);
            writer.string("x");
            writer.u32(9);
            writer.u32(kind);
            writer.length(u64::MAX);
            assert!(matches!(read(&writer.bytes), Err(GgufError::Truncated { .. })), "{kind}");
        }
        let many = Writer::new(3, false, u64::MAX, u64::MAX).bytes;
        assert!(matches!(read(&many), Err(GgufError::Truncated { .. })));
    }

    proptest! {
        #[test]
        fn changed_bytes_never_panic(changes in proptest::collection::vec((0..400_usize, any::<u8>()), 1..6)) {
            for version in [1, 3] {
                let mut bytes = file(version, false);
                for &(at, byte) in &changes {
                    let at = at % bytes.len();
                    bytes[at] = byte;
                }
                if let Ok(gguf) = read(&bytes) {
                    for tensor in gguf.tensors {
                        let end = tensor.offset + tensor.bytes.unwrap_or(0) as u64;
                        prop_assert!(end <= bytes.len() as u64);
                    }
                }
            }
        }
    }
}
