//! Image instructions: the place of their fields in each generation, and how many registers data and
//! addresses take.

mod descriptor;
mod operation;

pub use self::descriptor::{Clamp, ImageError, ImageResource, ImageSampler, ImageShape};
pub use self::operation::{ImageCoordinates, ImageKind, ImageOp};

use super::{Generation, Graphics};

/// How many coordinates a dimension has.
const COORDINATES: [u32; 8] = [1, 2, 3, 3, 2, 3, 3, 4];
/// How many gradients.
const GRADIENTS: [u32; 8] = [2, 4, 6, 4, 2, 4, 4, 4];

/// First register and how many there are.
pub(super) type Registers = (u8, u32);

/// The fields of an image instruction.
pub(super) struct Image {
    /// Whether it intersects a ray with a bounding volume hierarchy.
    pub(super) ray: bool,
    /// Whether a sampler takes part.
    pub(super) samples: bool,
    /// The dimension, which gfx9 does not have.
    pub(super) dim: Option<usize>,
    pub(super) mask: u32,
    pub(super) data: Registers,
    pub(super) addresses: Vec<Registers>,
    /// Whether the addresses are a list of registers that need not be consecutive.
    pub(super) list: bool,
    /// Code of the first scalar register of the resource.
    pub(super) resource: u32,
    /// Code of the first scalar register of the sampler.
    pub(super) sampler: u32,
    pub(super) a16: bool,
    pub(super) d16: bool,
    /// Whether a status register follows the data.
    pub(super) status: bool,
    /// Whether the data is in accumulation registers.
    pub(super) accumulators: bool,
}

/// Where the fields are.
struct Fields {
    dim: Option<usize>,
    mask: u32,
    data: u8,
    /// Every register that can hold an address.
    addresses: Vec<u8>,
    /// How many words with more addresses follow.
    more: usize,
    resource: u32,
    sampler: u32,
    a16: bool,
    d16: bool,
    tfe: bool,
}

/// Whether the first word of an image instruction of gfx12 is VSAMPLE.
pub(super) fn is_sample(word: u32) -> bool {
    word >> 26 == 0x39
}

fn bit(word: u32, index: u32) -> bool {
    word >> index & 1 != 0
}

fn bits(word: u32, low: u32, width: u32) -> u32 {
    word >> low & ((1 << width) - 1)
}

impl Fields {
    fn new(generation: Generation, graphics: &Graphics) -> Fields {
        let [first, second, third, ..] = graphics.words;
        let byte = |word: u32, index: u32| (word >> (8 * index)) as u8;
        let listed = |words: usize| {
            let more = graphics.words[2..].iter().take(words).flat_map(|word| word.to_le_bytes());
            std::iter::once(byte(second, 0)).chain(more).collect()
        };
        let more = match generation {
            Generation::Gfx10 => bits(first, 1, 2) as usize,
            Generation::Gfx11 => bits(first, 0, 1) as usize,
            _ => 0,
        };
        let old = Fields {
            dim: None,
            mask: bits(first, 8, 4),
            data: byte(second, 1),
            addresses: listed(more),
            more,
            resource: bits(second, 16, 5) << 2,
            sampler: bits(second, 21, 5) << 2,
            a16: bit(first, 15),
            d16: bit(second, 31),
            tfe: false,
        };
        match generation {
            Generation::Gfx9 | Generation::Gfx940 => old,
            Generation::Gfx10 => Fields {
                dim: Some(bits(first, 3, 3) as usize),
                a16: bit(second, 30),
                tfe: bit(first, 16),
                ..old
            },
            Generation::Gfx11 => Fields {
                dim: Some(bits(first, 2, 3) as usize),
                sampler: bits(second, 26, 5) << 2,
                a16: bit(first, 16),
                d16: bit(first, 17),
                tfe: bit(second, 21),
                ..old
            },
            Generation::Gfx12 => {
                let sample = is_sample(first);
                let mut addresses = third.to_le_bytes().to_vec();
                addresses.push(byte(second, 3));
                Fields {
                    dim: Some(bits(first, 0, 3) as usize),
                    mask: bits(first, 22, 4),
                    data: byte(second, 0),
                    addresses,
                    more: 1,
                    resource: bits(second, 9, 9),
                    sampler: bits(second, 23, 9),
                    a16: bit(first, 6),
                    d16: bit(first, 5),
                    tfe: if sample { bit(first, 3) } else { bit(second, 23) },
                }
            }
        }
    }
}

/// What the mnemonic says.
struct Name<'a>(&'a str);

impl Name<'_> {
    fn has(&self, part: &str) -> bool {
        self.0.split('_').any(|of| of == part)
    }

    fn is_ray(&self) -> bool {
        self.0.ends_with("_intersect_ray")
    }

    fn is_atomic(&self) -> bool {
        self.0.contains("_atomic_")
    }

    fn is_gather(&self) -> bool {
        self.0.contains("_gather4")
    }

    fn samples(&self) -> bool {
        self.0.contains("_sample") || self.is_gather() || self.0.ends_with("_get_lod")
    }

    fn has_gradients(&self) -> bool {
        self.samples() && (self.has("d") || self.has("cd"))
    }

    /// Whether there is a level of detail, a clamp of one, or the number of a mip map.
    fn has_level(&self) -> bool {
        self.has("mip")
            || self.0.ends_with("_get_resinfo")
            || self.samples() && (self.has("l") || self.has("cl"))
    }

    /// Offset, bias and the value to compare with.
    fn extra(&self) -> u32 {
        let count = |part| u32::from(self.samples() && self.has(part));
        count("o") + count("b") + count("c")
    }

    /// Whether values of 16 bits can be loaded or stored.
    fn has_d16(&self) -> bool {
        match self.0 {
            "image_load" | "image_load_mip" | "image_store" | "image_store_mip" | "image_msaa_load" => true,
            name => self.samples() && !name.ends_with("_get_lod"),
        }
    }

    /// The fewest and the most registers of addresses.
    fn address_range(&self) -> (u32, u32) {
        match (self.has_gradients(), self.samples()) {
            (true, _) => {
                let gradients = if self.has("g16") { 7 } else { 9 };
                (self.extra() + 2, self.extra() + u32::from(self.has_level()) + gradients)
            }
            (_, true) => (self.extra() + 1, self.extra() + u32::from(self.has_level()) + 3),
            _ => (1, 4),
        }
    }

    /// LLVM's first guess of how many registers the data takes.
    fn default_data(&self, generation: Generation) -> u32 {
        match self.0 {
            name if name.contains("cmpswap") => 2,
            "image_msaa_load" if generation >= Generation::Gfx11 => 4,
            _ if self.is_gather() => 2,
            _ => 1,
        }
    }

    fn has_data(&self, generation: Generation, count: u32) -> bool {
        match self.0 {
            _ if self.is_gather() => matches!(count, 2 | 4 | 5),
            "image_msaa_load" if generation >= Generation::Gfx11 => (2..=5).contains(&count),
            name if name.contains("cmpswap") => (2..=5).contains(&count),
            _ if self.is_atomic() => (1..=3).contains(&count),
            _ => (1..=5).contains(&count),
        }
    }

    /// How many registers the addresses of a dimension take.
    fn addresses(&self, dim: usize, a16: bool) -> u32 {
        let coordinates = if self.0.ends_with("_get_resinfo") { 0 } else { COORDINATES[dim] };
        let components = coordinates + u32::from(self.has_level());
        let gradients = match (self.has_gradients(), self.has("g16")) {
            (false, _) => 0,
            (_, true) => (GRADIENTS[dim] / 2).next_multiple_of(2),
            _ => GRADIENTS[dim],
        };
        self.extra() + gradients + if a16 { components.div_ceil(2) } else { components }
    }
}

impl Image {
    /// The fields of an instruction with a mnemonic; `None` if a field has an invalid value.
    pub(super) fn new(generation: Generation, name: &str, graphics: &Graphics) -> Option<Image> {
        let name = Name(name);
        let fields = Fields::new(generation, graphics);
        let samples = name.samples();
        let list = fields.more != 0;
        let valid = if name.is_ray() {
            ray_bits(generation, &fields, graphics.words)
        } else {
            bits_are_valid(generation, &name, &fields, graphics.words)
        };
        if !valid {
            return None;
        }
        let (data, addresses) = if name.is_ray() {
            ray_registers(generation, &name, &fields)
        } else {
            registers(generation, &name, &fields)
        };
        let accumulators = generation.is_cdna() && bit(graphics.words[0], 16);
        let aligned = !generation.is_cdna() || data == 1 || fields.data.is_multiple_of(2);
        let all = addresses.iter().copied().chain([(fields.data, data)]);
        if !aligned || all.into_iter().any(|(first, count)| u32::from(first) + count > 256) {
            return None;
        }
        Some(Image {
            ray: name.is_ray(),
            samples,
            dim: fields.dim,
            mask: fields.mask,
            data: (fields.data, data),
            list: list && addresses.len() > 1,
            addresses,
            resource: fields.resource,
            sampler: fields.sampler,
            a16: fields.a16,
            d16: fields.d16,
            status: fields.tfe,
            accumulators,
        })
    }
}

/// Whether unused bits are zero, for instructions for which LLVM demands it.
fn bits_are_valid(generation: Generation, name: &Name<'_>, fields: &Fields, words: [u32; 5]) -> bool {
    // Whether the field of the sampler is used, or zero.
    let sampler = name.samples() || fields.sampler == 0;
    if fields.d16 && !name.has_d16() {
        return false;
    }
    let (_, most) = name.address_range();
    match generation {
        Generation::Gfx9 | Generation::Gfx940 => !bit(words[0], 0) && sampler,
        Generation::Gfx10 => {
            // There are only as many words of addresses as the instruction can need.
            fields.more <= most.saturating_sub(1).div_ceil(4) as usize && sampler
        }
        Generation::Gfx11 => sampler,
        Generation::Gfx12 if is_sample(words[0]) => (most > 3 || words[2] >> 24 == 0) && sampler,
        Generation::Gfx12 => words[1] >> 24 == 0,
    }
}

/// The same for rays. Their other fields have fixed values.
fn ray_bits(generation: Generation, fields: &Fields, words: [u32; 5]) -> bool {
    let [first, second, ..] = words;
    match generation {
        Generation::Gfx9 | Generation::Gfx940 => false,
        Generation::Gfx10 => {
            let more = if fields.a16 { 2 } else { 3 };
            first & 0x0203_bfb8 == 0x9f00
                && second & 0x83e0_0000 == 0
                && (fields.more == 0 || fields.more == more)
        }
        Generation::Gfx11 => first & 0x0002_ff9c == 0x8f80 && second & 0x7c60_0000 == 0,
        Generation::Gfx12 => {
            first & 0x03c0_00b7 == 0x03c0_0010
                && second & 0x00fc_0000 == 0
                && (!fields.a16 || second >> 24 == 0)
        }
    }
}

/// How many registers of data and addresses a ray takes.
fn ray_registers(generation: Generation, name: &Name<'_>, fields: &Fields) -> (u32, Vec<Registers>) {
    let wide = u32::from(name.has("bvh64"));
    let all = if fields.a16 { 8 } else { 11 } + wide;
    let registers = |counts: &[u32]| {
        let both = fields.addresses.iter().zip(counts);
        both.map(|(&first, &count)| (first, count)).collect::<Vec<_>>()
    };
    if name.has("dual") || name.has("bvh8") {
        return (10, registers(&[2, 2, 3, 3, 2 - u32::from(name.has("bvh8"))]));
    }
    let addresses = match fields.more {
        0 => vec![(fields.addresses[0], all)],
        _ if generation == Generation::Gfx10 => registers(&vec![1; all as usize]),
        _ => registers(&[1 + wide, 1, 3, 3, 3][..if fields.a16 { 4 } else { 5 }]),
    };
    (4, addresses)
}

/// How many registers of data and addresses LLVM gives an instruction: as many as dimension and mask need, if
/// such an instruction and the registers exist; otherwise its first guess.
fn registers(generation: Generation, name: &Name<'_>, fields: &Fields) -> (u32, Vec<Registers>) {
    let list = fields.more != 0;
    let (least, most) = match generation {
        Generation::Gfx9 | Generation::Gfx940 => (1, 1),
        _ => name.address_range(),
    };
    let default_addresses = match generation {
        Generation::Gfx12 => most.min(4),
        _ if list => most.min(1 + 4 * fields.more as u32),
        _ => least,
    };
    let default_data = name.default_data(generation);
    // The addresses. The last one is a range if the list is too short for them.
    let spread = |count: u32| -> Vec<Registers> {
        match (list, fields.dim) {
            (true, Some(_)) => {
                let places = count.min(default_addresses);
                let last = count - (places - 1);
                let each = fields.addresses.iter().take(places as usize).enumerate();
                each.map(|(index, &first)| (first, if index as u32 + 1 == places { last } else { 1 }))
                    .collect()
            }
            _ => vec![(fields.addresses[0], count)],
        }
    };
    let unchanged = (default_data, spread(default_addresses));
    let four = name.is_gather() || generation >= Generation::Gfx11 && name.0 == "image_msaa_load";
    let mut data = if four { 4 } else { fields.mask.count_ones().max(1) };
    if fields.d16 {
        data = data.div_ceil(2);
    }
    data += u32::from(fields.tfe);
    let addresses = match fields.dim {
        None => default_addresses,
        Some(dim) => name.addresses(dim, fields.a16),
    };
    if list && addresses > default_addresses && generation == Generation::Gfx10 {
        return unchanged;
    }
    let least = if list && generation != Generation::Gfx12 { least.max(2) } else { least };
    // Some ranges of registers are larger than needed.
    let rounded = !list && (addresses == 4 && most == 3 || addresses == 8 && (5..8).contains(&most));
    let exists = name.has_data(generation, data) && ((least..=most).contains(&addresses) || rounded);
    if !exists || (data, addresses) == (default_data, default_addresses) {
        return unchanged;
    }
    let spread = spread(addresses);
    let past = |(first, count): Registers| u32::from(first) + count > 256;
    let odd = generation.is_cdna() && data > 1 && !fields.data.is_multiple_of(2);
    if data != default_data && (odd || past((fields.data, data))) || spread.last().copied().is_some_and(past)
    {
        return unchanged;
    }
    (data, spread)
}
