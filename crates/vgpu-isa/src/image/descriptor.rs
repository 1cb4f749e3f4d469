//! Descriptors of images and samplers: where each generation has their fields, as AMD's documents of the
//! instruction sets say ("Image Resource Definition", "Image Sampler"). gfx12's fields are not published in
//! such a document when this was written; its descriptors have the places of gfx11 here.

use crate::{BufferFormat, Generation};

/// Bits of a descriptor: the word, the lowest bit, how many bits.
type Field = (usize, u32, u32);

/// Where the fields of an image's descriptor are.
struct Layout {
    format: Field,
    /// Low and high bits of the width.
    width: [Field; 2],
    height: Field,
    depth: Field,
    /// `None` if rows of images that have no layers have their pitch in [`Layout::depth`].
    pitch: Option<Field>,
    first_layer: Field,
}

const GFX9: Layout = Layout {
    format: (1, 20, 10),
    width: [(2, 0, 14), (2, 0, 0)],
    height: (2, 14, 14),
    depth: (4, 0, 13),
    pitch: Some((4, 13, 16)),
    first_layer: (5, 0, 13),
};
const GFX10: Layout = Layout {
    format: (1, 20, 9),
    width: [(1, 30, 2), (2, 0, 12)],
    height: (2, 14, 14),
    depth: (4, 0, 14),
    pitch: None,
    first_layer: (4, 16, 13),
};

const BASE_HIGH: Field = (1, 0, 8);
const SELECTION: Field = (3, 0, 12);
const LAST_LEVEL: Field = (3, 16, 4);
const TILING: Field = (3, 20, 5);
const TYPE: Field = (3, 28, 4);

/// Rows are aligned to this many bytes where the descriptor has no pitch.
const ROW_ALIGNMENT: usize = 256;

fn layout(generation: Generation) -> &'static Layout {
    match generation {
        Generation::Gfx9 | Generation::Gfx940 => &GFX9,
        Generation::Gfx10 | Generation::Gfx11 | Generation::Gfx12 => &GFX10,
    }
}

fn get(words: &[u32], (word, low, bits): Field) -> u32 {
    if bits == 0 { 0 } else { words[word] >> low & (u32::MAX >> (32 - bits)) }
}

/// Whether the value fits.
fn set(words: &mut [u32], (word, low, bits): Field, value: u32) -> bool {
    words[word] |= value << low;
    bits == 0 && value == 0 || bits != 0 && value <= u32::MAX >> (32 - bits)
}

/// The dimensions of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageShape {
    /// A row.
    Line,
    /// Rows.
    Plane,
    /// Planes.
    Box,
    /// Layers that are rows.
    Lines,
    /// Layers that are planes.
    Planes,
}

impl ImageShape {
    /// Their codes in descriptors.
    const CODES: [(ImageShape, u32); 5] = [
        (ImageShape::Line, 8),
        (ImageShape::Plane, 9),
        (ImageShape::Box, 10),
        (ImageShape::Lines, 12),
        (ImageShape::Planes, 13),
    ];

    /// How many dimensions an element's place has, without the layer.
    pub fn places(self) -> u8 {
        match self {
            ImageShape::Line | ImageShape::Lines => 1,
            ImageShape::Plane | ImageShape::Planes => 2,
            ImageShape::Box => 3,
        }
    }

    /// Whether there are layers.
    pub fn has_layers(self) -> bool {
        matches!(self, ImageShape::Lines | ImageShape::Planes)
    }
}

/// An image in linear order: rows, one after the other, and planes or layers one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageResource {
    /// The address of the first element, a multiple of 256.
    pub base: u64,
    /// The format of an element.
    pub format: BufferFormat,
    /// The sources of x, y, z and w of a result: 0, 1, or 4 and up for a channel.
    pub selection: [u32; 4],
    /// The dimensions.
    pub shape: ImageShape,
    /// Width, height and depth, or layers, in elements; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// The elements from a row to the next.
    pub pitch: u32,
}

/// Why a descriptor cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageError {
    /// All of its words are 0: there is no image.
    Null,
    /// Something that the virtual GPU has not.
    Unsupported(&'static str),
}

/// The elements from a row to the next, where the descriptor has no pitch: rows are aligned to 256 bytes.
fn aligned_pitch(width: u32, bytes: usize) -> u32 {
    let row = (width as usize * bytes).next_multiple_of(ROW_ALIGNMENT);
    row.div_ceil(bytes) as u32
}

impl ImageResource {
    /// The descriptor; `None` if a number does not fit or the generation lacks the format.
    pub fn words(&self, generation: Generation) -> Option<[u32; 8]> {
        let layout = layout(generation);
        let mut words = [0; 8];
        let code = u32::from(self.format.code(generation)?);
        let format = match generation {
            // Data and number format have fields of their own, 6 and 4 bits.
            Generation::Gfx9 | Generation::Gfx940 => (code & 15) | (code >> 4) << 6,
            _ => code,
        };
        let [width, height, depth] = self.size.map(|size| size.checked_sub(1));
        let (width, height, depth) = (width?, height?, depth?);
        let (_, kind) = ImageShape::CODES.iter().find(|(shape, _)| *shape == self.shape)?;
        let selection = self.selection.iter().rev().fold(0, |bits, channel| bits << 3 | channel);
        words[0] = (self.base >> 8) as u32;
        let low_bits = layout.width[0].2;
        let deep = self.shape == ImageShape::Box || self.shape.has_layers();
        let has_field = layout.pitch.is_some();
        if !has_field && deep && self.pitch != aligned_pitch(self.size[0], self.format.bytes()) {
            return None;
        }
        let rows = if !has_field && !deep { self.pitch.checked_sub(1)? } else { depth };
        let fits = [
            set(&mut words, BASE_HIGH, u32::try_from(self.base >> 40).ok()?),
            set(&mut words, layout.format, format),
            set(&mut words, layout.width[0], width & ((1 << low_bits) - 1)),
            set(&mut words, layout.width[1], width >> low_bits),
            set(&mut words, layout.height, height),
            set(&mut words, SELECTION, selection),
            set(&mut words, TYPE, *kind),
            set(&mut words, layout.depth, rows),
            layout.pitch.is_none_or(|field| set(&mut words, field, self.pitch.wrapping_sub(1))),
        ];
        (self.base.is_multiple_of(256) && fits.iter().all(|fits| *fits)).then_some(words)
    }

    /// Reads a descriptor.
    ///
    /// # Errors
    /// If there is no image, or one that is not in linear order, or of more than one level.
    pub fn read(generation: Generation, words: &[u32; 8]) -> Result<ImageResource, ImageError> {
        if *words == [0; 8] {
            return Err(ImageError::Null);
        }
        let layout = layout(generation);
        let kind = get(words, TYPE);
        let shape = ImageShape::CODES.iter().find(|(_, code)| *code == kind);
        let (shape, _) =
            *shape.ok_or(ImageError::Unsupported("a descriptor that is of no line, plane or box"))?;
        if get(words, TILING) != 0 {
            return Err(ImageError::Unsupported("an image that is not in linear order"));
        }
        if get(words, LAST_LEVEL) != 0 {
            return Err(ImageError::Unsupported("an image with several levels"));
        }
        let format = get(words, layout.format);
        let format = match generation {
            Generation::Gfx9 | Generation::Gfx940 => (format & 15) | (format >> 6 & 7) << 4,
            _ => format,
        };
        let format = u8::try_from(format).ok().and_then(|code| BufferFormat::by_code(generation, code));
        let format = format.ok_or(ImageError::Unsupported("an image of a format that buffers have not"))?;
        let low_bits = layout.width[0].2;
        let width = (get(words, layout.width[0]) | get(words, layout.width[1]) << low_bits) + 1;
        let deep = shape == ImageShape::Box || shape.has_layers();
        let pitch = match layout.pitch {
            Some(field) => get(words, field) + 1,
            None if deep => aligned_pitch(width, format.bytes()),
            None => get(words, layout.depth) + 1,
        };
        let height = if shape.places() > 1 { get(words, layout.height) + 1 } else { 1 };
        let depth = if deep { get(words, layout.depth) + 1 } else { 1 };
        // A view of some layers of an image.
        if get(words, layout.first_layer) != 0 {
            return Err(ImageError::Unsupported("an image that begins with another layer than the first"));
        }
        let selection = get(words, SELECTION);
        Ok(ImageResource {
            base: u64::from(words[0]) << 8 | u64::from(get(words, BASE_HIGH)) << 40,
            format,
            selection: std::array::from_fn(|i| selection >> (3 * i) & 7),
            shape,
            size: [width, height, depth],
            pitch,
        })
    }

    /// The address of an element.
    pub fn address(&self, [x, y, z]: [u32; 3]) -> u64 {
        let row = u64::from(z) * u64::from(self.size[1]) + u64::from(y);
        let element = row * u64::from(self.pitch) + u64::from(x);
        self.base.wrapping_add(element * self.format.bytes() as u64)
    }
}

/// What a sampler does with places outside an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clamp {
    /// The image repeats.
    Wrap,
    /// It repeats, every other time mirrored.
    Mirror,
    /// The nearest element counts.
    Edge,
    /// It is mirrored once, then the nearest element counts.
    MirrorOnce,
    /// The sampler's border colour counts.
    Border,
}

/// A sampler, as far as images of one level need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageSampler {
    /// For each dimension.
    pub clamp: [Clamp; 3],
    /// Coordinates count elements; otherwise 1 is the size of the image.
    pub unnormalized: bool,
    /// Reads weight the elements around a place.
    pub linear: bool,
    /// Whether the border's colour is white, and whether it is opaque.
    pub border: [bool; 2],
}

const CLAMP: [Field; 3] = [(0, 0, 3), (0, 3, 3), (0, 6, 3)];
const UNNORMALIZED: Field = (0, 15, 1);
const MAGNIFY: Field = (2, 20, 2);
const MINIFY: Field = (2, 22, 2);
const BETWEEN_PLANES: Field = (2, 24, 2);
const BORDER: Field = (3, 30, 2);

impl ImageSampler {
    /// The descriptor.
    pub fn words(&self) -> [u32; 4] {
        let mut words = [0; 4];
        for (field, clamp) in CLAMP.into_iter().zip(self.clamp) {
            let code = match clamp {
                Clamp::Wrap => 0,
                Clamp::Mirror => 1,
                Clamp::Edge => 2,
                Clamp::MirrorOnce => 3,
                Clamp::Border => 6,
            };
            set(&mut words, field, code);
        }
        set(&mut words, UNNORMALIZED, u32::from(self.unnormalized));
        for field in [MAGNIFY, MINIFY, BETWEEN_PLANES] {
            set(&mut words, field, u32::from(self.linear));
        }
        let colour = match self.border {
            [false, false] => 0,
            [false, true] => 1,
            [true, _] => 2,
        };
        set(&mut words, BORDER, colour);
        words
    }

    /// Reads a descriptor.
    ///
    /// # Errors
    /// If it has a border colour of its own, or half of a border.
    pub fn read(words: &[u32; 4]) -> Result<ImageSampler, ImageError> {
        let mut clamp = [Clamp::Wrap; 3];
        for (clamp, field) in clamp.iter_mut().zip(CLAMP) {
            *clamp = match get(words, field) {
                0 => Clamp::Wrap,
                1 => Clamp::Mirror,
                2 => Clamp::Edge,
                3 => Clamp::MirrorOnce,
                6 => Clamp::Border,
                _ => return Err(ImageError::Unsupported("a sampler with half of a border")),
            };
        }
        let border = match get(words, BORDER) {
            0 => [false, false],
            1 => [false, true],
            2 => [true, true],
            _ if clamp.contains(&Clamp::Border) => {
                return Err(ImageError::Unsupported("a sampler with a border colour from a table"));
            }
            _ => [false, false],
        };
        Ok(ImageSampler {
            clamp,
            unnormalized: get(words, UNNORMALIZED) != 0,
            linear: get(words, MAGNIFY) & 1 != 0,
            border,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NumberFormat;

    #[test]
    fn descriptors_are_read_as_they_were_made() {
        let format = BufferFormat::uniform(4, 32, NumberFormat::Float).unwrap();
        let image = |shape, size: [u32; 3], pitch| ImageResource {
            base: 0x7f12_3456_7800,
            format,
            selection: [4, 5, 6, 1],
            shape,
            size,
            pitch,
        };
        for generation in [Generation::Gfx9, Generation::Gfx10, Generation::Gfx11, Generation::Gfx12] {
            for made in [
                image(ImageShape::Line, [16384, 1, 1], 16384),
                image(ImageShape::Plane, [16383, 7, 1], 16384),
                image(ImageShape::Plane, [17, 16384, 1], 64),
                image(ImageShape::Box, [17, 5, 8192], 32),
                image(ImageShape::Lines, [16, 1, 8192], 16),
                image(ImageShape::Planes, [1, 3, 2], 16),
            ] {
                let words = made.words(generation).unwrap();
                assert_eq!(ImageResource::read(generation, &words), Ok(made), "{generation:?} {words:x?}");
            }
            assert_eq!(image(ImageShape::Line, [16385, 1, 1], 16640).words(generation), None);
            assert_eq!(image(ImageShape::Box, [1, 1, 16385], 16).words(generation), None);
            assert_eq!(ImageResource::read(generation, &[0; 8]), Err(ImageError::Null));
        }
        // Without a pitch of its own, an image of planes has that of its width.
        let odd = image(ImageShape::Box, [17, 5, 3], 48);
        assert!(odd.words(Generation::Gfx9).is_some() && odd.words(Generation::Gfx11).is_none());
    }

    #[test]
    fn samplers_are_read_as_they_were_made() {
        for clamp in [Clamp::Wrap, Clamp::Mirror, Clamp::Edge, Clamp::MirrorOnce, Clamp::Border] {
            for (linear, unnormalized) in [(false, true), (true, false)] {
                for border in [[false, false], [false, true], [true, true]] {
                    let made =
                        ImageSampler { clamp: [clamp, Clamp::Edge, clamp], unnormalized, linear, border };
                    assert_eq!(ImageSampler::read(&made.words()), Ok(made));
                }
            }
        }
    }
}
