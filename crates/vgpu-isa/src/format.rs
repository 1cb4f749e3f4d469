//! The formats of typed buffers: what an element is in memory, by the codes of each generation.
//!
//! A name has the whole format: the numbers are the bits of the channels, the highest first; the last word is
//! what they mean.

use std::sync::LazyLock;

use super::Generation;

/// What the bits of a channel mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NumberFormat {
    /// Unsigned fractions: all bits set is 1.
    Unorm,
    /// Signed fractions: the largest number is 1, the smallest two are -1.
    Snorm,
    /// Unsigned integers that become floats.
    Uscaled,
    /// Signed integers that become floats.
    Sscaled,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
    /// Floats; those of 10 and 11 bits have no sign.
    Float,
}

/// The format of a typed buffer's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BufferFormat {
    bits: [u8; 4],
    channels: u8,
    /// What the channels hold.
    pub number: NumberFormat,
}

impl BufferFormat {
    /// The format with that name, `BUF_FMT_8_8_UNORM`.
    fn parse(name: &str) -> Option<BufferFormat> {
        let mut words: Vec<&str> = name.strip_prefix("BUF_FMT_")?.split('_').collect();
        let number = match words.pop()? {
            "UNORM" => NumberFormat::Unorm,
            "SNORM" => NumberFormat::Snorm,
            "USCALED" => NumberFormat::Uscaled,
            "SSCALED" => NumberFormat::Sscaled,
            "UINT" => NumberFormat::Uint,
            "SINT" => NumberFormat::Sint,
            "FLOAT" => NumberFormat::Float,
            _ => return None,
        };
        let mut format = BufferFormat { bits: [0; 4], channels: words.len() as u8, number };
        for (bits, word) in format.bits.iter_mut().zip(words.iter().rev()) {
            *bits = word.parse().ok()?;
        }
        (format.channels != 0).then_some(format)
    }

    /// Bits of each channel, the lowest channel first.
    pub fn bits(&self) -> &[u8] {
        &self.bits[..usize::from(self.channels)]
    }

    /// Bytes of an element in memory.
    pub fn bytes(&self) -> usize {
        self.bits().iter().map(|&bits| usize::from(bits)).sum::<usize>() / 8
    }

    /// The format of a code in MTBUF instructions and buffer descriptors; `None` if the code is unused.
    pub fn by_code(generation: Generation, code: u8) -> Option<BufferFormat> {
        static TABLES: LazyLock<[[Option<BufferFormat>; 128]; 3]> = LazyLock::new(|| {
            let named = |names: &[&str]| std::array::from_fn(|code| BufferFormat::parse(names.get(code)?));
            let split = std::array::from_fn(|code| {
                let data = DATA_NAMES[code & 15].strip_prefix("BUF_DATA_FORMAT_")?;
                let number = NUMBER_NAMES[code >> 4].strip_prefix("BUF_NUM_FORMAT_")?;
                let name = format!("BUF_FMT_{data}_{number}");
                // gfx10 numbers the valid combinations.
                BufferFormat::parse(GFX10.iter().find(|known| **known == name)?)
            });
            [split, named(GFX10), named(GFX11)]
        });
        let table = match generation {
            Generation::Gfx9 | Generation::Gfx940 => 0,
            Generation::Gfx10 => 1,
            Generation::Gfx11 | Generation::Gfx12 => 2,
        };
        TABLES[table][usize::from(code & 127)]
    }
}

impl BufferFormat {
    /// The format of elements with channels of so many bits each, if it exists.
    pub fn uniform(channels: u8, bits: u8, number: NumberFormat) -> Option<BufferFormat> {
        let mut all = [0; 4];
        all.get_mut(..usize::from(channels))?.fill(bits);
        let format = BufferFormat { bits: all, channels, number };
        (0..128).any(|code| BufferFormat::by_code(Generation::Gfx10, code) == Some(format)).then_some(format)
    }

    /// The code of the format, the inverse of [`BufferFormat::by_code`]; `None` if the generation lacks the
    /// format.
    pub fn code(&self, generation: Generation) -> Option<u8> {
        (0..128).find(|&code| BufferFormat::by_code(generation, code) == Some(*self))
    }
}

/// LLVM's name of a format of gfx10 and later.
pub(super) fn name(generation: Generation, code: u8) -> Option<&'static str> {
    let names = if generation == Generation::Gfx10 { GFX10 } else { GFX11 };
    names.get(usize::from(code)).copied()
}

const GFX10: &[&str] = &[
    "BUF_FMT_INVALID",
    "BUF_FMT_8_UNORM",
    "BUF_FMT_8_SNORM",
    "BUF_FMT_8_USCALED",
    "BUF_FMT_8_SSCALED",
    "BUF_FMT_8_UINT",
    "BUF_FMT_8_SINT",
    "BUF_FMT_16_UNORM",
    "BUF_FMT_16_SNORM",
    "BUF_FMT_16_USCALED",
    "BUF_FMT_16_SSCALED",
    "BUF_FMT_16_UINT",
    "BUF_FMT_16_SINT",
    "BUF_FMT_16_FLOAT",
    "BUF_FMT_8_8_UNORM",
    "BUF_FMT_8_8_SNORM",
    "BUF_FMT_8_8_USCALED",
    "BUF_FMT_8_8_SSCALED",
    "BUF_FMT_8_8_UINT",
    "BUF_FMT_8_8_SINT",
    "BUF_FMT_32_UINT",
    "BUF_FMT_32_SINT",
    "BUF_FMT_32_FLOAT",
    "BUF_FMT_16_16_UNORM",
    "BUF_FMT_16_16_SNORM",
    "BUF_FMT_16_16_USCALED",
    "BUF_FMT_16_16_SSCALED",
    "BUF_FMT_16_16_UINT",
    "BUF_FMT_16_16_SINT",
    "BUF_FMT_16_16_FLOAT",
    "BUF_FMT_10_11_11_UNORM",
    "BUF_FMT_10_11_11_SNORM",
    "BUF_FMT_10_11_11_USCALED",
    "BUF_FMT_10_11_11_SSCALED",
    "BUF_FMT_10_11_11_UINT",
    "BUF_FMT_10_11_11_SINT",
    "BUF_FMT_10_11_11_FLOAT",
    "BUF_FMT_11_11_10_UNORM",
    "BUF_FMT_11_11_10_SNORM",
    "BUF_FMT_11_11_10_USCALED",
    "BUF_FMT_11_11_10_SSCALED",
    "BUF_FMT_11_11_10_UINT",
    "BUF_FMT_11_11_10_SINT",
    "BUF_FMT_11_11_10_FLOAT",
    "BUF_FMT_10_10_10_2_UNORM",
    "BUF_FMT_10_10_10_2_SNORM",
    "BUF_FMT_10_10_10_2_USCALED",
    "BUF_FMT_10_10_10_2_SSCALED",
    "BUF_FMT_10_10_10_2_UINT",
    "BUF_FMT_10_10_10_2_SINT",
    "BUF_FMT_2_10_10_10_UNORM",
    "BUF_FMT_2_10_10_10_SNORM",
    "BUF_FMT_2_10_10_10_USCALED",
    "BUF_FMT_2_10_10_10_SSCALED",
    "BUF_FMT_2_10_10_10_UINT",
    "BUF_FMT_2_10_10_10_SINT",
    "BUF_FMT_8_8_8_8_UNORM",
    "BUF_FMT_8_8_8_8_SNORM",
    "BUF_FMT_8_8_8_8_USCALED",
    "BUF_FMT_8_8_8_8_SSCALED",
    "BUF_FMT_8_8_8_8_UINT",
    "BUF_FMT_8_8_8_8_SINT",
    "BUF_FMT_32_32_UINT",
    "BUF_FMT_32_32_SINT",
    "BUF_FMT_32_32_FLOAT",
    "BUF_FMT_16_16_16_16_UNORM",
    "BUF_FMT_16_16_16_16_SNORM",
    "BUF_FMT_16_16_16_16_USCALED",
    "BUF_FMT_16_16_16_16_SSCALED",
    "BUF_FMT_16_16_16_16_UINT",
    "BUF_FMT_16_16_16_16_SINT",
    "BUF_FMT_16_16_16_16_FLOAT",
    "BUF_FMT_32_32_32_UINT",
    "BUF_FMT_32_32_32_SINT",
    "BUF_FMT_32_32_32_FLOAT",
    "BUF_FMT_32_32_32_32_UINT",
    "BUF_FMT_32_32_32_32_SINT",
    "BUF_FMT_32_32_32_32_FLOAT",
];

const GFX11: &[&str] = &[
    "BUF_FMT_INVALID",
    "BUF_FMT_8_UNORM",
    "BUF_FMT_8_SNORM",
    "BUF_FMT_8_USCALED",
    "BUF_FMT_8_SSCALED",
    "BUF_FMT_8_UINT",
    "BUF_FMT_8_SINT",
    "BUF_FMT_16_UNORM",
    "BUF_FMT_16_SNORM",
    "BUF_FMT_16_USCALED",
    "BUF_FMT_16_SSCALED",
    "BUF_FMT_16_UINT",
    "BUF_FMT_16_SINT",
    "BUF_FMT_16_FLOAT",
    "BUF_FMT_8_8_UNORM",
    "BUF_FMT_8_8_SNORM",
    "BUF_FMT_8_8_USCALED",
    "BUF_FMT_8_8_SSCALED",
    "BUF_FMT_8_8_UINT",
    "BUF_FMT_8_8_SINT",
    "BUF_FMT_32_UINT",
    "BUF_FMT_32_SINT",
    "BUF_FMT_32_FLOAT",
    "BUF_FMT_16_16_UNORM",
    "BUF_FMT_16_16_SNORM",
    "BUF_FMT_16_16_USCALED",
    "BUF_FMT_16_16_SSCALED",
    "BUF_FMT_16_16_UINT",
    "BUF_FMT_16_16_SINT",
    "BUF_FMT_16_16_FLOAT",
    "BUF_FMT_10_11_11_FLOAT",
    "BUF_FMT_11_11_10_FLOAT",
    "BUF_FMT_10_10_10_2_UNORM",
    "BUF_FMT_10_10_10_2_SNORM",
    "BUF_FMT_10_10_10_2_UINT",
    "BUF_FMT_10_10_10_2_SINT",
    "BUF_FMT_2_10_10_10_UNORM",
    "BUF_FMT_2_10_10_10_SNORM",
    "BUF_FMT_2_10_10_10_USCALED",
    "BUF_FMT_2_10_10_10_SSCALED",
    "BUF_FMT_2_10_10_10_UINT",
    "BUF_FMT_2_10_10_10_SINT",
    "BUF_FMT_8_8_8_8_UNORM",
    "BUF_FMT_8_8_8_8_SNORM",
    "BUF_FMT_8_8_8_8_USCALED",
    "BUF_FMT_8_8_8_8_SSCALED",
    "BUF_FMT_8_8_8_8_UINT",
    "BUF_FMT_8_8_8_8_SINT",
    "BUF_FMT_32_32_UINT",
    "BUF_FMT_32_32_SINT",
    "BUF_FMT_32_32_FLOAT",
    "BUF_FMT_16_16_16_16_UNORM",
    "BUF_FMT_16_16_16_16_SNORM",
    "BUF_FMT_16_16_16_16_USCALED",
    "BUF_FMT_16_16_16_16_SSCALED",
    "BUF_FMT_16_16_16_16_UINT",
    "BUF_FMT_16_16_16_16_SINT",
    "BUF_FMT_16_16_16_16_FLOAT",
    "BUF_FMT_32_32_32_UINT",
    "BUF_FMT_32_32_32_SINT",
    "BUF_FMT_32_32_32_FLOAT",
    "BUF_FMT_32_32_32_32_UINT",
    "BUF_FMT_32_32_32_32_SINT",
    "BUF_FMT_32_32_32_32_FLOAT",
];

/// Data formats of gfx9.
pub(super) const DATA_NAMES: [&str; 16] = [
    "BUF_DATA_FORMAT_INVALID",
    "BUF_DATA_FORMAT_8",
    "BUF_DATA_FORMAT_16",
    "BUF_DATA_FORMAT_8_8",
    "BUF_DATA_FORMAT_32",
    "BUF_DATA_FORMAT_16_16",
    "BUF_DATA_FORMAT_10_11_11",
    "BUF_DATA_FORMAT_11_11_10",
    "BUF_DATA_FORMAT_10_10_10_2",
    "BUF_DATA_FORMAT_2_10_10_10",
    "BUF_DATA_FORMAT_8_8_8_8",
    "BUF_DATA_FORMAT_32_32",
    "BUF_DATA_FORMAT_16_16_16_16",
    "BUF_DATA_FORMAT_32_32_32",
    "BUF_DATA_FORMAT_32_32_32_32",
    "BUF_DATA_FORMAT_RESERVED_15",
];

/// Number formats of gfx9.
pub(super) const NUMBER_NAMES: [&str; 8] = [
    "BUF_NUM_FORMAT_UNORM",
    "BUF_NUM_FORMAT_SNORM",
    "BUF_NUM_FORMAT_USCALED",
    "BUF_NUM_FORMAT_SSCALED",
    "BUF_NUM_FORMAT_UINT",
    "BUF_NUM_FORMAT_SINT",
    "BUF_NUM_FORMAT_RESERVED_6",
    "BUF_NUM_FORMAT_FLOAT",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_channels_in_the_order_of_memory() {
        let format =
            |isa, code| BufferFormat::by_code(isa, code).map(|f| (f.bits().to_vec(), f.number, f.bytes()));
        // The code of gfx9 is the data format and above it the number format.
        assert_eq!(format(Generation::Gfx9, 6 | 7 << 4), Some((vec![11, 11, 10], NumberFormat::Float, 4)));
        assert_eq!(format(Generation::Gfx940, 9), Some((vec![10, 10, 10, 2], NumberFormat::Unorm, 4)));
        assert_eq!(format(Generation::Gfx10, 50), Some((vec![10, 10, 10, 2], NumberFormat::Unorm, 4)));
        assert_eq!(format(Generation::Gfx11, 32), Some((vec![2, 10, 10, 10], NumberFormat::Unorm, 4)));
        assert_eq!(format(Generation::Gfx12, 63), Some((vec![32; 4], NumberFormat::Float, 16)));
        for invalid in [
            (Generation::Gfx9, 0),
            (Generation::Gfx9, 1 | 6 << 4),
            (Generation::Gfx9, 1 | 7 << 4),
            (Generation::Gfx9, 4),
            (Generation::Gfx10, 0),
            (Generation::Gfx11, 64),
        ] {
            assert_eq!(format(invalid.0, invalid.1), None, "{invalid:?}");
        }
    }
}
