//! What the image instructions do that are executed: loads and stores of elements, samples, gathers and
//! questions for sizes.

use super::{Image, Name};
use crate::{Generation, Graphics, Register, Span, scalar};

/// What an image instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageKind {
    /// Loads the element at integer coordinates.
    Load,
    /// Stores the element at integer coordinates.
    Store,
    /// Reads at coordinates that are floats, through a sampler.
    Sample,
    /// Reads one channel of the four elements around a place.
    Gather,
    /// Reads width, height, depth or layers, and the number of levels.
    Size,
}

/// The coordinates of an instruction. gfx9 takes them from the descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageCoordinates {
    /// Along the dimensions of the image.
    pub places: u8,
    /// Whether a layer follows.
    pub layer: bool,
}

/// How many registers can hold addresses.
const ADDRESSES: usize = 13;

/// An image instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageOp {
    /// What it does.
    pub kind: ImageKind,
    /// Its coordinates; `None` if the descriptor says them.
    pub coordinates: Option<ImageCoordinates>,
    /// Without [`ImageOp::coordinates`]: whether a layer takes part.
    pub array: bool,
    /// The channels that are in registers: bit 0 for the first.
    pub mask: u8,
    /// An offset in elements precedes the coordinates.
    pub offset: bool,
    /// A bias of the level precedes them.
    pub bias: bool,
    /// Gradients precede them.
    pub gradients: bool,
    /// The gradients have 16 bits.
    pub short_gradients: bool,
    /// A level, or a clamp of one, follows the coordinates.
    pub level: bool,
    /// Coordinates have 16 bits, two to a register.
    pub a16: bool,
    /// Channels have 16 bits, two to a register.
    pub d16: bool,
    /// Coordinates count elements, whatever the sampler says.
    pub unnormalized: bool,
    /// A status register follows the data.
    pub status: bool,
    /// The first register of the data: ACC registers from 256 on.
    pub data: u16,
    /// The registers of the data and the status.
    pub data_count: u8,
    /// The first scalar register of the resource.
    pub resource: u8,
    /// The first scalar register of the sampler.
    pub sampler: Option<u8>,
    addresses: [u8; ADDRESSES],
    count: u8,
}

impl ImageOp {
    /// The operation of a valid instruction; `None` if it is not executed: comparisons with depths, rays,
    /// several samples in a pixel, atomic operations, cubes.
    pub(crate) fn new(generation: Generation, mnemonic: &str, graphics: &Graphics) -> Option<ImageOp> {
        let image = Image::new(generation, mnemonic, graphics)?;
        let name = Name(mnemonic);
        let (kind, modifiers) = kind(mnemonic)?;
        if !modifiers.iter().all(|part| ["o", "b", "d", "cd", "g16", "l", "lz", "cl"].contains(part)) {
            return None;
        }
        let coordinates = match image.dim {
            None => None,
            Some(dim) => Some(*COORDINATES.get(dim)?.as_ref()?),
        };
        let word = |index: usize, bit: u32| graphics.words[index] >> bit & 1 != 0;
        let old = matches!(generation, Generation::Gfx9 | Generation::Gfx940);
        let mut op = ImageOp {
            kind,
            coordinates,
            array: old && word(0, 14),
            mask: image.mask as u8,
            offset: name.samples() && name.has("o"),
            bias: name.samples() && name.has("b"),
            gradients: name.has_gradients(),
            short_gradients: name.has("g16"),
            level: name.has_level(),
            a16: image.a16,
            d16: image.d16,
            unnormalized: match generation {
                Generation::Gfx9 | Generation::Gfx940 | Generation::Gfx10 => word(0, 12),
                Generation::Gfx11 => word(0, 7),
                Generation::Gfx12 => word(0, 13),
            },
            status: image.status,
            data: u16::from(image.data.0) + if image.accumulators { 256 } else { 0 },
            data_count: 0,
            resource: slot(generation, image.resource),
            sampler: image.samples.then(|| slot(generation, image.sampler)),
            addresses: [0; ADDRESSES],
            count: 0,
        };
        let channels = if kind == ImageKind::Gather { 4 } else { image.mask.count_ones().max(1) };
        let registers = if op.d16 { channels.div_ceil(2) } else { channels };
        op.data_count = (registers + u32::from(op.status)) as u8;
        // LLVM may have taken the data to be shorter. Registers past the last one do not exist.
        if u32::from(image.data.0) + u32::from(op.data_count) > 256 {
            return None;
        }
        let all =
            image.addresses.iter().flat_map(|&(first, count)| (0..count).map(move |i| first as u32 + i));
        for (place, register) in op.addresses.iter_mut().zip(all) {
            *place = register as u8;
            op.count += 1;
        }
        Some(op)
    }

    /// The register with part `index` of the address. Further ones follow the last that the encoding names.
    pub fn address(&self, index: usize) -> u8 {
        let last = usize::from(self.count.max(1)) - 1;
        match index <= last {
            true => self.addresses[index],
            false => self.addresses[last].wrapping_add((index - last) as u8),
        }
    }

    /// How many registers the address takes, with these coordinates.
    pub fn address_count(&self, coordinates: ImageCoordinates) -> usize {
        let places = match self.kind {
            ImageKind::Size => 0,
            _ => usize::from(coordinates.places) + usize::from(coordinates.layer),
        };
        let components = places + usize::from(self.level);
        self.before(coordinates) + if self.a16 { components.div_ceil(2) } else { components }
    }

    /// How many registers precede the coordinates.
    pub fn before(&self, coordinates: ImageCoordinates) -> usize {
        let gradients = 2 * usize::from(coordinates.places);
        let gradients = match (self.gradients, self.short_gradients) {
            (false, _) => 0,
            // Those of each direction start in a register of their own.
            (true, true) => 2 * usize::from(coordinates.places).div_ceil(2),
            (true, false) => gradients,
        };
        usize::from(self.offset) + usize::from(self.bias) + gradients
    }

    /// Whether registers receive data.
    pub fn loads(&self) -> bool {
        self.kind != ImageKind::Store
    }

    /// The registers that it reads and writes.
    pub(crate) fn registers(&self, read: &mut Vec<Span>, written: &mut Vec<Span>) {
        // With the coordinates of the descriptor, as many as there can be.
        let most = ImageCoordinates { places: 3, layer: false };
        let addresses = match self.coordinates {
            Some(coordinates) => self.address_count(coordinates),
            None => usize::from(self.count).max(self.address_count(most).min(1)),
        };
        let vector = |first: u16, count: u8| Span { first: Register::Vector(first), count };
        read.extend((0..addresses).map(|index| vector(self.address(index).into(), 1)));
        let scalars = [(Some(self.resource), 8), (self.sampler, 4)];
        for (first, count) in scalars.into_iter().filter_map(|(first, count)| Some((first?, count))) {
            if first != scalar::NULL {
                read.push(Span { first: Register::Scalar(first), count });
            }
        }
        let data = vector(self.data, self.data_count);
        if self.loads() { written.push(data) } else { read.push(data) }
    }
}

/// What there is for a number of a dimension. Cubes and several samples in a pixel are not executed.
const COORDINATES: [Option<ImageCoordinates>; 6] = [
    Some(ImageCoordinates { places: 1, layer: false }),
    Some(ImageCoordinates { places: 2, layer: false }),
    Some(ImageCoordinates { places: 3, layer: false }),
    None,
    Some(ImageCoordinates { places: 1, layer: true }),
    Some(ImageCoordinates { places: 2, layer: true }),
];

/// The operation that a mnemonic names, and its modifiers.
fn kind(mnemonic: &str) -> Option<(ImageKind, Vec<&str>)> {
    Some(match mnemonic.strip_prefix("image_")? {
        "load" | "load_mip" => (ImageKind::Load, Vec::new()),
        "store" | "store_mip" => (ImageKind::Store, Vec::new()),
        "get_resinfo" => (ImageKind::Size, Vec::new()),
        name => {
            let mut parts = name.split('_');
            let kind = match parts.next()? {
                "sample" => ImageKind::Sample,
                "gather4" => ImageKind::Gather,
                _ => return None,
            };
            (kind, parts.collect())
        }
    })
}

/// The slot of the first scalar register with this code.
fn slot(generation: Generation, code: u32) -> u8 {
    let null = if generation >= Generation::Gfx11 { 124 } else { 125 };
    if code == null { scalar::NULL } else { code as u8 & 0x7c }
}
