//! The tensors of a file: name, shape, type, place.

use std::fmt;

use backend::QuantType;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum TensorType {
    F32,
    F16,
    Bf16,
    F64,
    I8,
    I16,
    I32,
    I64,
    /// Blocks of quantised numbers, for which there are kernels.
    Quant(QuantType),
    /// Any other number, such as that of `IQ2_XS`. Its size is known if its block is.
    Other(u32),
}

/// Types of whole numbers and floats: number in the file, name, bytes.
const PLAIN: [(TensorType, u32, &str, usize); 8] = [
    (TensorType::F32, 0, "F32", 4),
    (TensorType::F16, 1, "F16", 2),
    (TensorType::Bf16, 30, "BF16", 2),
    (TensorType::F64, 28, "F64", 8),
    (TensorType::I8, 24, "I8", 1),
    (TensorType::I16, 25, "I16", 2),
    (TensorType::I32, 26, "I32", 4),
    (TensorType::I64, 27, "I64", 8),
];

/// Types without kernels: number, name, values and bytes of a block. Their tensors are listed and skipped.
const OTHERS: [(u32, &str, usize, usize); 11] = [
    (9, "Q8_1", 32, 36),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (29, "IQ1_M", 256, 56),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
];

impl TensorType {
    /// The type of a number in a file.
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        let plain = PLAIN.iter().find(|(_, known, ..)| *known == number).map(|(kind, ..)| *kind);
        plain.or_else(|| QuantType::from_gguf(number).map(Self::Quant)).unwrap_or(Self::Other(number))
    }

    /// The type's number in files.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Quant(quant) => quant.gguf(),
            Self::Other(number) => number,
            plain => {
                PLAIN.iter().find(|(kind, ..)| *kind == plain).map_or(u32::MAX, |(_, number, ..)| *number)
            }
        }
    }

    /// Values of a block, and its bytes; `None` for an unknown type.
    #[must_use]
    pub fn block(self) -> Option<(usize, usize)> {
        match self {
            Self::Quant(quant) => Some((quant.block_values(), quant.block_bytes())),
            Self::Other(number) => {
                let row = OTHERS.iter().find(|(known, ..)| *known == number)?;
                Some((row.2, row.3))
            }
            plain => PLAIN.iter().find(|(kind, ..)| *kind == plain).map(|(.., bytes)| (1, *bytes)),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quant(quant) => f.write_str(quant.name()),
            Self::Other(number) => match OTHERS.iter().find(|(known, ..)| known == number) {
                Some((_, name, ..)) => f.write_str(name),
                None => write!(f, "type {number}"),
            },
            plain => {
                let row = PLAIN.iter().find(|(kind, ..)| kind == plain);
                f.write_str(row.map_or("", |(_, _, name, _)| name))
            }
        }
    }
}

/// A tensor in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Sizes, the slowest dimension first: a matrix has rows, then columns. Files have them the other way
    /// round.
    pub shape: Vec<usize>,
    /// The type of its elements.
    pub kind: TensorType,
    /// Where its data begins, from the beginning of the file.
    pub offset: u64,
    /// Bytes of its data; `None` if the size of its type is unknown.
    pub bytes: Option<usize>,
}

impl TensorInfo {
    /// The number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_to_one_type_and_back() {
        let mut named = 0;
        for number in 0..64 {
            let kind = TensorType::from_number(number);
            assert_eq!(kind.number(), number);
            let is_known = kind.block().is_some();
            assert_eq!(is_known, kind.to_string() != format!("type {number}"), "{kind}");
            named += usize::from(is_known);
        }
        assert_eq!(named, PLAIN.len() + OTHERS.len() + QuantType::ALL.len());
        let names = [0, 1, 2, 12, 23, 30, 39].map(|number| TensorType::from_number(number).to_string());
        assert_eq!(names, ["F32", "F16", "Q4_0", "Q4_K", "IQ4_XS", "BF16", "MXFP4"]);
        assert_eq!(TensorType::from_number(23), TensorType::Quant(QuantType::Iq4Xs));
    }
}
