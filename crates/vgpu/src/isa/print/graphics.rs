//! Images, exports and interpolation.

use std::fmt;

use super::{Printer, registers};
use crate::isa::{Format, Graphics, Isa};

const DIMENSIONS: [&str; 8] = ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"];
/// How many coordinates a dimension has.
const COORDINATES: [u32; 8] = [1, 2, 3, 3, 2, 3, 3, 4];
/// How many gradients.
const GRADIENTS: [u32; 8] = [2, 4, 6, 4, 2, 4, 4, 4];

const CHANNELS: [&str; 4] = ["x", "y", "z", "w"];

/// The fields of an image instruction, wherever a generation has them.
struct Image {
    dim: Option<usize>,
    mask: u32,
    data: u8,
    addresses: Vec<u8>,
    list: bool,
    resource: u32,
    sampler: u32,
    a16: bool,
    d16: bool,
    tfe: bool,
    accumulators: bool,
}

impl Printer<'_, '_> {
    pub(super) fn graphics(&mut self) -> fmt::Result {
        let Some(graphics) = self.inst.graphics else {
            return Ok(());
        };
        self.f.write_str(self.row.name)?;
        match self.inst.format {
            Format::Mimg => self.image(&graphics),
            Format::Export => self.export(&graphics),
            _ if self.isa >= Isa::Gfx1100 => self.parameters(&graphics),
            _ => self.attribute(&graphics),
        }
    }

    fn image(&mut self, graphics: &Graphics) -> fmt::Result {
        let image = Image::new(self.isa, graphics);
        let name = self.row.name;
        let has = |flag: &str| name.split('_').any(|part| part == flag);
        let samples = name.contains("_sample") || name.contains("_gather4") || name.ends_with("_get_lod");
        let mut data = if name.contains("_gather4") { 4 } else { image.mask.count_ones().max(1) };
        if image.d16 {
            data = data.div_ceil(2);
        }
        data += u32::from(image.tfe);
        self.separate()?;
        registers(self.f, if image.accumulators { "a" } else { "v" }, image.data, data)?;
        let extra =
            if samples { [has("o"), has("b"), has("c")].into_iter().filter(|&set| set).count() } else { 0 };
        let last = has("mip") || name.ends_with("_get_resinfo") || samples && (has("l") || has("cl"));
        let dim = image.dim.unwrap_or(0);
        let coordinates = if name.ends_with("_get_resinfo") { 0 } else { COORDINATES[dim] } + u32::from(last);
        let mut words = extra as u32 + if image.a16 { coordinates.div_ceil(2) } else { coordinates };
        if samples && (has("d") || has("cd")) {
            words += if has("g16") { (GRADIENTS[dim] / 2).next_multiple_of(2) } else { GRADIENTS[dim] };
        }
        self.separate()?;
        self.image_address(&image, words)?;
        self.separate()?;
        self.scalar_register(image.resource as u8 & 0x7f, 8)?;
        if samples {
            self.separate()?;
            self.scalar_register(image.sampler as u8 & 0x7f, 4)?;
        }
        if image.mask != 0 {
            write!(self.f, " dmask:{:#x}", image.mask)?;
        }
        if let Some(dim) = image.dim {
            write!(self.f, " dim:SQ_RSRC_IMG_{}", DIMENSIONS[dim])?;
        }
        self.image_flags(graphics.words)
    }

    fn image_address(&mut self, image: &Image, words: u32) -> fmt::Result {
        let first = image.addresses[0];
        if image.dim.is_none() || words <= 1 {
            return registers(self.f, "v", first, 1);
        }
        if !image.list {
            return registers(self.f, "v", first, if words > 12 { 16 } else { words });
        }
        // What does not fit into the list is in registers that follow its last.
        let count = (words as usize).min(image.addresses.len());
        self.f.write_str("[")?;
        for (index, &register) in image.addresses[..count].iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            self.f.write_str(comma)?;
            let rest = if index + 1 == count { words - index as u32 } else { 1 };
            registers(self.f, "v", register, rest)?;
        }
        self.f.write_str("]")
    }

    fn image_flags(&mut self, words: [u32; 5]) -> fmt::Result {
        let bit = |word: usize, index: u32| words[word] >> index & 1 != 0;
        let flags: &[(usize, u32, &str)] = match self.isa {
            Isa::Gfx90a | Isa::Gfx942 => &[
                (0, 12, " unorm"),
                (0, 13, " glc"),
                (0, 25, " slc"),
                (0, 7, " scc"),
                (0, 15, " a16"),
                (0, 17, " lwe"),
                (0, 14, " da"),
                (1, 31, " d16"),
            ],
            Isa::Gfx1030 => &[
                (0, 12, " unorm"),
                (0, 13, " glc"),
                (0, 25, " slc"),
                (0, 7, " dlc"),
                (0, 15, " r128"),
                (1, 30, " a16"),
                (0, 16, " tfe"),
                (0, 17, " lwe"),
                (1, 31, " d16"),
            ],
            Isa::Gfx1100 => &[
                (0, 7, " unorm"),
                (0, 14, " glc"),
                (0, 12, " slc"),
                (0, 13, " dlc"),
                (0, 15, " r128"),
                (0, 16, " a16"),
                (1, 21, " tfe"),
                (1, 22, " lwe"),
                (0, 17, " d16"),
            ],
            Isa::Gfx1201 => &[(0, 13, " unorm")],
        };
        for &(word, index, text) in flags {
            self.flag(bit(word, index), text)?;
        }
        if self.isa == Isa::Gfx1201 {
            let sample = is_sample(words[0]);
            let scope = (words[1] >> 18 & 3) as usize;
            let hint = words[1] >> 20 & 7;
            if hint != 0 {
                write!(self.f, " th:{hint:#x}")?;
            }
            self.f.write_str(["", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"][scope])?;
            self.flag(bit(0, 4), " r128")?;
            self.flag(bit(0, 6), " a16")?;
            self.flag(if sample { bit(0, 3) } else { bit(1, 23) }, " tfe")?;
            self.flag(sample && bit(1, 8), " lwe")?;
            self.flag(bit(0, 5), " d16")?;
        }
        Ok(())
    }

    fn export(&mut self, graphics: &Graphics) -> fmt::Result {
        let [word, registers, ..] = graphics.words;
        let target = word >> 4 & 63;
        let last_position = if self.isa.is_gfx9() { 15 } else { 16 };
        let modern = self.isa >= Isa::Gfx1100;
        match target {
            0..=7 => write!(self.f, " mrt{target}")?,
            8 => self.f.write_str(" mrtz")?,
            9 if !modern => self.f.write_str(" null")?,
            12.. if target <= last_position => write!(self.f, " pos{}", target - 12)?,
            20 if !self.isa.is_gfx9() => self.f.write_str(" prim")?,
            21 | 22 if modern => write!(self.f, " dual_src_blend{}", target - 21)?,
            32.. if !modern => write!(self.f, " param{}", target - 32)?,
            _ => write!(self.f, " invalid_target_{target}")?,
        }
        let compressed = !modern && word >> 10 & 1 != 0;
        for index in 0..4 {
            let separator = if index == 0 { " " } else { ", " };
            let source = if compressed { index / 2 } else { index };
            if word >> index & 1 != 0 {
                write!(self.f, "{separator}v{}", registers >> (8 * source) & 0xff)?;
            } else {
                write!(self.f, "{separator}off")?;
            }
        }
        self.flag(word >> 11 & 1 != 0, " done")?;
        self.flag(compressed, " compr")?;
        self.flag(!modern && word >> 12 & 1 != 0, " vm")?;
        self.flag(modern && word >> 13 & 1 != 0, " row_en")
    }

    /// VINTRP and its VOP3 form.
    fn attribute(&mut self, graphics: &Graphics) -> fmt::Result {
        let [word, second, ..] = graphics.words;
        let long = graphics.opcode > 3;
        let moves = self.row.name.starts_with("v_interp_mov");
        let half = self.row.name.ends_with("_f16");
        let (dst, source, attribute) = if long {
            (word & 0xff, second >> 9 & 511, second & 0xff)
        } else {
            (word >> 18 & 0xff, 256 + (word & 0xff), word >> 8 & 0xff)
        };
        write!(self.f, " v{dst}, ")?;
        if moves {
            match source & if long { 511 } else { 255 } {
                parameter @ 0..=2 => self.f.write_str(["p10", "p20", "p0"][parameter as usize])?,
                parameter => write!(self.f, "invalid_param_{parameter}")?,
            }
        } else {
            self.long_source(word, second, 1)?;
            if !long {
                write!(self.f, "v{}", source & 255)?;
            }
        }
        let (number, channel) = if long {
            (attribute & 63, CHANNELS[(attribute >> 6) as usize & 3])
        } else {
            (attribute >> 2, CHANNELS[attribute as usize & 3])
        };
        write!(self.f, ", attr{number}.{channel}")?;
        if !long {
            return Ok(());
        }
        if half && !self.row.name.contains("_p1ll") {
            self.f.write_str(", ")?;
            self.long_source(word, second, 2)?;
        }
        self.flag(half && second >> 8 & 1 != 0, " high")?;
        self.flag(word >> 15 & 1 != 0, " clamp")?;
        self.f.write_str(["", " mul:2", " mul:4", " div:2"][(second >> 27 & 3) as usize])
    }

    /// A vector register with its modifiers in the long encoding; nothing in the short one.
    fn long_source(&mut self, word: u32, second: u32, index: u32) -> fmt::Result {
        if word >> 31 == 0 || second == 0 {
            return Ok(());
        }
        let (negative, absolute) = (second >> (29 + index) & 1 != 0, word >> (8 + index) & 1 != 0);
        self.flag(negative, "-")?;
        self.flag(absolute, "|")?;
        write!(self.f, "v{}", second >> (9 * index) & 255)?;
        self.flag(absolute, "|")
    }

    /// VINTERP.
    fn parameters(&mut self, graphics: &Graphics) -> fmt::Result {
        let [word, second, ..] = graphics.words;
        let name = self.row.name;
        let true16 = self.isa == Isa::Gfx1100;
        let select = word >> 11 & 15;
        // Bit `i`: source `i` is of 16 bits; bit 3: the destination is.
        let halves = match () {
            () if !true16 || !name.contains("f16") => 0,
            () if name.contains("_p10_") => 0b0101,
            () => 0b1001,
        };
        let part = |index: u32| match (halves >> index & 1, select >> index & 1) {
            (0, _) => "",
            (_, 0) => ".l",
            _ => ".h",
        };
        write!(self.f, " v{}{}", word & 0xff, part(3))?;
        for index in 0..3 {
            let negative = second >> (29 + index) & 1 != 0;
            let register = second >> (9 * index) & 255;
            write!(self.f, ", {}v{register}{}", if negative { "-" } else { "" }, part(index))?;
        }
        self.flag(word >> 15 & 1 != 0, " clamp")?;
        if select != 0 {
            self.bits("op_sel", select as u8, 4)?;
        }
        write!(self.f, " wait_exp:{}", word >> 8 & 7)
    }
}

/// Whether the first word of an image instruction of gfx12 is VSAMPLE.
fn is_sample(word: u32) -> bool {
    word >> 26 == 0x39
}

impl Image {
    fn new(isa: Isa, graphics: &Graphics) -> Image {
        let [first, second, ..] = graphics.words;
        let bit = |word: u32, index: u32| word >> index & 1 != 0;
        let byte = |word: u32, index: u32| (word >> (8 * index)) as u8;
        let old = Image {
            dim: None,
            mask: first >> 8 & 15,
            data: byte(second, 1),
            addresses: vec![byte(second, 0)],
            list: false,
            resource: (second >> 16 & 31) << 2,
            sampler: (second >> 21 & 31) << 2,
            a16: bit(first, 15),
            d16: bit(second, 31),
            tfe: !isa.is_gfx9() && bit(first, 16),
            accumulators: isa.is_gfx9() && bit(first, 16),
        };
        // The addresses that do not follow each other.
        let listed = |words: u32| {
            let more = graphics.words[2..].iter().take(words as usize).flat_map(|word| word.to_le_bytes());
            std::iter::once(byte(second, 0)).chain(more).collect()
        };
        match isa {
            Isa::Gfx90a | Isa::Gfx942 => old,
            Isa::Gfx1030 => Image {
                dim: Some((first >> 3 & 7) as usize),
                addresses: listed(first >> 1 & 3),
                list: first >> 1 & 3 != 0,
                a16: bit(second, 30),
                d16: bit(second, 31),
                ..old
            },
            Isa::Gfx1100 => Image {
                dim: Some((first >> 2 & 7) as usize),
                addresses: listed(first & 1),
                list: first & 1 != 0,
                sampler: (second >> 26 & 31) << 2,
                a16: bit(first, 16),
                d16: bit(first, 17),
                tfe: bit(second, 21),
                ..old
            },
            Isa::Gfx1201 => {
                let third = graphics.words[2];
                let sample = is_sample(first);
                let mut addresses = third.to_le_bytes().to_vec();
                if !sample {
                    addresses.push(byte(second, 3));
                }
                Image {
                    dim: Some((first & 7) as usize),
                    mask: first >> 22 & 15,
                    data: byte(second, 0),
                    addresses,
                    list: true,
                    resource: second >> 9 & 0x1ff,
                    sampler: second >> 23 & 0x1ff,
                    a16: bit(first, 6),
                    d16: bit(first, 5),
                    tfe: if sample { bit(first, 3) } else { bit(second, 23) },
                    accumulators: false,
                }
            }
        }
    }
}
