//! Element types of tensors.

use std::fmt;

use kernels::QuantType;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// The upper half of 32-bit floats.
    BF16,
    /// 8-bit floats of 4 exponent and 3 fraction bits, largest number 448.
    F8,
    /// Signed bytes.
    I8,
    /// Unsigned 32-bit integers: token ids, positions, lengths, page tables.
    U32,
    /// Signed 64-bit integers: slots of a cache.
    I64,
    /// Blocks of quantised numbers.
    Quant(QuantType),
}

/// What is known about a type that is not quantised.
struct Row {
    dtype: DType,
    name: &'static str,
    bytes: usize,
    /// The type's number in GGUF files.
    gguf: Option<u32>,
    is_float: bool,
}

const fn row(dtype: DType, name: &'static str, bytes: usize, gguf: Option<u32>, is_float: bool) -> Row {
    Row { dtype, name, bytes, gguf, is_float }
}

const PLAIN: [Row; 7] = [
    row(DType::F32, "f32", 4, Some(0), true),
    row(DType::F16, "f16", 2, Some(1), true),
    row(DType::BF16, "bf16", 2, Some(30), true),
    row(DType::F8, "f8", 1, None, false),
    row(DType::I8, "i8", 1, Some(24), false),
    row(DType::U32, "u32", 4, None, false),
    row(DType::I64, "i64", 8, Some(27), false),
];

impl DType {
    fn plain(self) -> Option<&'static Row> {
        PLAIN.iter().find(|row| row.dtype == self)
    }

    /// The type's name, such as `bf16` or `Q4_K`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quant(quant) => quant.name(),
            _ => self.plain().map_or("", |row| row.name),
        }
    }

    /// Elements of a block; 1 unless the type is quantised.
    #[must_use]
    pub fn block_values(self) -> usize {
        if let Self::Quant(quant) = self { quant.block_values() } else { 1 }
    }

    /// Bytes of a block; the size of an element unless the type is quantised.
    #[must_use]
    pub fn block_bytes(self) -> usize {
        match self {
            Self::Quant(quant) => quant.block_bytes(),
            _ => self.plain().map_or(0, |row| row.bytes),
        }
    }

    /// The bytes of so many elements; `None` for parts of blocks, and on overflow.
    #[must_use]
    pub fn bytes(self, elements: usize) -> Option<usize> {
        let values = self.block_values();
        if !elements.is_multiple_of(values) {
            return None;
        }
        (elements / values).checked_mul(self.block_bytes())
    }

    /// Whether operations on activations exist for it: f32, f16, bf16.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.plain().is_some_and(|row| row.is_float)
    }

    /// Whether it is a type of quantised blocks.
    #[must_use]
    pub fn is_quantised(self) -> bool {
        matches!(self, Self::Quant(_))
    }

    /// The type of a number in GGUF files; `None` for types that nothing here computes with.
    #[must_use]
    pub fn from_gguf(number: u32) -> Option<Self> {
        let plain = PLAIN.iter().find(|row| row.gguf == Some(number));
        plain.map(|row| row.dtype).or_else(|| QuantType::from_gguf(number).map(Self::Quant))
    }

    /// The type's number in GGUF files, if it has one.
    #[must_use]
    pub fn gguf(self) -> Option<u32> {
        match self {
            Self::Quant(quant) => Some(quant.gguf()),
            _ => self.plain().and_then(|row| row.gguf),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_name_and_a_size() {
        for row in PLAIN {
            assert_eq!((row.dtype.name(), row.dtype.bytes(3)), (row.name, Some(3 * row.bytes)));
            assert_eq!(row.dtype.gguf().and_then(DType::from_gguf), row.gguf.map(|_| row.dtype));
        }
        for quant in QuantType::ALL {
            let dtype = DType::Quant(quant);
            assert_eq!(dtype.bytes(512), Some(512 / quant.block_values() * quant.block_bytes()));
            assert_eq!(dtype.bytes(31), None, "part of a block");
            assert_eq!(dtype.gguf().and_then(DType::from_gguf), Some(dtype));
        }
        assert_eq!(DType::I64.bytes(usize::MAX), None);
    }
}
