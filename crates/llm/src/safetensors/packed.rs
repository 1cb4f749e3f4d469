//! Matrices of GPT-OSS's experts, which its files have in layouts of their own.
//!
//! Gates and their other factors alternate: row by row, or column by column where matrices are turned. MXFP4
//! is in two tensors, blocks and scales, whose bytes have two neighbouring numbers each; in GGUF's blocks,
//! they are 16 numbers apart.

use std::collections::BTreeMap;

use super::{Change, Entry, Found, Layout, Piece};
use crate::gguf::{TensorInfo, TensorType};

/// MXFP4's number in GGUF files, and its blocks: numbers, bytes.
const MXFP4: u32 = 39;
const VALUES: usize = 32;
const BLOCK: usize = 17;

/// Every so many rows, one of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Every {
    pub(super) first: usize,
    pub(super) step: usize,
}

/// Where the bytes of a matrix are that is not stored as models know it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packed {
    /// `[experts, columns, rows · step]` of numbers of `bytes` each.
    Turned { piece: Piece, bytes: usize, rows: usize, columns: usize, every: Every },
    /// Blocks `[experts, rows · step, blocks, 16]` and scales `[experts, rows · step, blocks]`.
    Mxfp4 { blocks: Piece, scales: Piece, rows: usize, in_row: usize, every: Every },
}

/// What its rows are called, behind `mlp.experts.`, and the matrices that they become.
const MATRICES: [(&str, &[(&str, Every)]); 2] = [
    (
        "gate_up_proj",
        &[("ffn_gate_exps", Every { first: 0, step: 2 }), ("ffn_up_exps", Every { first: 1, step: 2 })],
    ),
    ("down_proj", &[("ffn_down_exps", Every { first: 0, step: 1 })]),
];

/// The tensors of a layer's experts, and their names.
///
/// # Errors
/// The tensor and what is wrong with it.
pub(super) fn entries(
    layer: usize,
    found: &BTreeMap<String, Found>,
) -> Result<Vec<(String, Entry)>, (String, String)> {
    let mut entries = Vec::new();
    for (theirs, matrices) in MATRICES {
        let wrong =
            |part: &str, problem: String| (format!("model.layers.{layer}.mlp.experts.{part}"), problem);
        for &(ours, every) in matrices {
            let mut add = |suffix: &str, kind: TensorType, shape: Vec<usize>, layout: Layout| {
                let name = format!("blk.{layer}.{ours}.{suffix}");
                let bytes =
                    kind.block().map(|(values, bytes)| shape.iter().product::<usize>() / values * bytes);
                let info = TensorInfo { name: name.clone(), shape, kind, offset: 0, bytes };
                entries.push((name, Entry { info, change: Change::None, layout }));
            };
            let bias = format!("{theirs}_bias");
            if let Some(Found { kind, shape, piece }) = found.get(&bias) {
                let (Some((1, bytes)), &[experts, all]) = (kind.block(), &shape[..]) else {
                    return Err(wrong(&bias, format!("has the type {kind} and the shape {shape:?}")));
                };
                if !all.is_multiple_of(every.step) {
                    return Err(wrong(&bias, format!("has the shape {shape:?}")));
                }
                let rows = all / every.step;
                let packed = Packed::Turned { piece: *piece, bytes, rows, columns: 1, every };
                add("bias", *kind, vec![experts, rows], Layout::Packed(packed));
            }
            let (blocks, scales) = (format!("{theirs}_blocks"), format!("{theirs}_scales"));
            if let (Some(blocks_found), Some(scales_found)) = (found.get(&blocks), found.get(&scales)) {
                let &[experts, all, in_row, 16] = &blocks_found.shape[..] else {
                    return Err(wrong(&blocks, format!("has the shape {:?}", blocks_found.shape)));
                };
                if scales_found.shape != [experts, all, in_row] || !all.is_multiple_of(every.step) {
                    return Err(wrong(&scales, format!("has the shape {:?}", scales_found.shape)));
                }
                let bytes_are = |piece: &Piece, count: usize| piece.bytes == experts * all * in_row * count;
                if !bytes_are(&blocks_found.piece, 16) || !bytes_are(&scales_found.piece, 1) {
                    return Err(wrong(&blocks, "is not of bytes".into()));
                }
                let rows = all / every.step;
                let (blocks, scales) = (blocks_found.piece, scales_found.piece);
                let packed = Packed::Mxfp4 { blocks, scales, rows, in_row, every };
                let shape = vec![experts, rows, in_row * VALUES];
                add("weight", TensorType::from_number(MXFP4), shape, Layout::Packed(packed));
            } else if let Some(Found { kind, shape, piece }) = found.get(theirs) {
                let (Some((1, bytes)), &[experts, columns, all]) = (kind.block(), &shape[..]) else {
                    return Err(wrong(theirs, format!("has the type {kind} and the shape {shape:?}")));
                };
                if !all.is_multiple_of(every.step) {
                    return Err(wrong(theirs, format!("has the shape {shape:?}")));
                }
                let rows = all / every.step;
                let packed = Packed::Turned { piece: *piece, bytes, rows, columns, every };
                add("weight", *kind, vec![experts, rows, columns], Layout::Packed(packed));
            }
        }
    }
    Ok(entries)
}

/// Reads bytes of a piece, from a position on.
pub(super) type Read<'r, E> = dyn FnMut(&Piece, usize, &mut [u8]) -> Result<(), E> + 'r;

impl Packed {
    /// Fills `out` from this position in the tensor as models know it, which `read` helps to read from its
    /// pieces. Whether the tensor has so many bytes.
    pub(super) fn read_at<E>(&self, at: usize, out: &mut [u8], read: &mut Read<'_, E>) -> Result<bool, E> {
        let size = match *self {
            Self::Turned { rows, columns, .. } => rows.min(columns),
            Self::Mxfp4 { rows, in_row, .. } => rows.min(in_row),
        };
        if size == 0 {
            return Ok(out.is_empty());
        }
        // A unit is a number or a block; whole rows are read, so a part of one at either end is rare.
        let unit = match *self {
            Self::Turned { bytes, .. } => bytes,
            Self::Mxfp4 { .. } => BLOCK,
        };
        let (first, last) = (at / unit, (at + out.len()).div_ceil(unit));
        let mut units = vec![0; (last - first) * unit];
        if !self.read_units(first, &mut units, read)? {
            return Ok(false);
        }
        out.copy_from_slice(&units[at - first * unit..][..out.len()]);
        Ok(true)
    }

    fn read_units<E>(&self, first: usize, out: &mut [u8], read: &mut Read<'_, E>) -> Result<bool, E> {
        match *self {
            Self::Turned { piece, bytes, rows, columns, every } => {
                let of_expert = rows * columns;
                let in_file = of_expert * every.step * bytes;
                let mut expert_bytes = vec![0; in_file];
                let mut loaded = None;
                for (at, number) in out.chunks_exact_mut(bytes).enumerate() {
                    let at = first + at;
                    let (expert, row, column) = (at / of_expert, at % of_expert / columns, at % columns);
                    if (expert + 1) * in_file > piece.bytes {
                        return Ok(false);
                    }
                    if loaded != Some(expert) {
                        read(&piece, expert * in_file, &mut expert_bytes)?;
                        loaded = Some(expert);
                    }
                    let place = column * rows * every.step + row * every.step + every.first;
                    number.copy_from_slice(&expert_bytes[place * bytes..][..bytes]);
                }
            }
            Self::Mxfp4 { blocks, scales, rows, in_row, every } => {
                let mut row_blocks = vec![0; in_row * 16];
                let mut row_scales = vec![0; in_row];
                let mut loaded = None;
                for (at, block) in out.chunks_exact_mut(BLOCK).enumerate() {
                    let (row, at) = ((first + at) / in_row, (first + at) % in_row);
                    let in_file = row / rows * rows * every.step + row % rows * every.step + every.first;
                    if (in_file + 1) * in_row > scales.bytes {
                        return Ok(false);
                    }
                    if loaded != Some(row) {
                        read(&blocks, in_file * in_row * 16, &mut row_blocks)?;
                        read(&scales, in_file * in_row, &mut row_scales)?;
                        loaded = Some(row);
                    }
                    let pairs = &row_blocks[at * 16..][..16];
                    let number = |at: usize| pairs[at / 2] >> (at % 2 * 4) & 15;
                    block[0] = row_scales[at];
                    for (j, byte) in block[1..].iter_mut().enumerate() {
                        *byte = number(j) | number(j + VALUES / 2) << 4;
                    }
                }
            }
        }
        Ok(true)
    }
}
