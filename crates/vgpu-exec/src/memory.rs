//! Memory instructions: SMEM, DS, LDSDIR, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF and MIMG.
//!
//! | module | holds |
//! |---|---|
//! | `table` | the body that executes each operation |
//! | `address` | the addresses of each kind of instruction |
//! | `accesses` | the memory that an instruction accesses, for observers |
//! | `lanes` | patterns in the addresses of a wave's lanes |
//! | `moves`, `atomic` | moves between memory and registers |
//! | `chunks` | whole registers, sixteen lanes at a time |
//! | `single` | accesses that are atomic for other threads |
//! | `spaces` | global memory, LDS and scratch: from addresses to checked pointers |
//! | `lds`, `buffer`, `typed`, `image`, `scalar`, `scalar_store`, `block` | instructions with rules of their own |
//! | `to_lds` | loads from memory directly to LDS |
//!
//! A handler copies the address registers and finds the lowest and the highest address of the enabled lanes.
//! It checks that range once against those that the wave has verified, and then moves the data in the widest
//! pieces that the addresses permit.

mod accesses;
mod address;
mod atomic;
mod block;
mod buffer;
mod chunks;
mod image;
mod lanes;
mod lds;
mod moves;
mod scalar;
mod scalar_store;
mod single;
mod spaces;
mod sync;
mod table;
mod to_lds;
mod typed;

pub use self::accesses::{Accesses, LaneAccess, Moved, is_known, is_memory};
pub use self::block::{TILE_ELEMENTS, TILE_LANES, transposed, transposed_from_lds};
pub(super) use self::lanes::Bits;
pub(super) use self::lds::direct_source;

use vgpu_isa::{Class, Fact, Footprint, Format, Generation, Inst, Op, Operand, scalar as slot};

use self::atomic::{Rmw, Subnormals};
use self::lanes::{EXTRA_SHIFT, PAIR_SHIFT, RETURNS, RMW_SHIFT};
use self::moves::splat;
use super::level::{Body, scalar_handler};
use super::{Code, Flow, Handler, Level, Wave};

/// The handler of a memory instruction, and the value of [`Code::imm`] that it expects. Operands are lowered
/// as for other instructions; missing ones are `Src::Const(0)`.
pub(crate) struct Lowered {
    pub run: Handler,
    pub imm: i64,
    /// The number of result registers, if a status register follows them. [`clear_status`] writes it
    /// afterwards.
    pub status: Option<u32>,
}

/// Chooses the handler of a memory instruction; none if it is not one, or is not supported.
pub(crate) fn lower(inst: &Inst, lanes: usize, level: Level, generation: Generation) -> Option<Lowered> {
    let memory = &inst.mem;
    if let Some(run) = sync::handler(inst.op) {
        return Some(Lowered { run, imm: i64::from(memory.offset), status: None });
    }
    if inst.format == Format::Mimg {
        inst.image()?;
        return Some(Lowered { run: image::handler(lanes), imm: 0, status: None });
    }
    // Compute queues have no global data share.
    if memory.gds || !operands_fit(inst) {
        return None;
    }
    let imm = i64::from(memory.offset as u32) | extra(inst, generation);
    let (run, imm) = if let Some(run) = table::typed(inst.op, lanes) {
        (run, imm | typed::flags(inst, generation)?)
    } else if let Some((run, rmw)) = table::atomic(inst.op, lanes) {
        let second = inst.src[3] == Operand::None || is_buffer(inst.op);
        let pair = if !second {
            0
        } else if is_wide(inst.op) {
            2
        } else {
            1
        };
        let returns = if inst.dst == Operand::None { 0 } else { RETURNS };
        let subnormals = subnormals(rmw, inst, generation).bits();
        let rmw = variant(rmw, generation);
        (run, imm | i64::from(rmw as u8) << RMW_SHIFT | pair << PAIR_SHIFT | returns | subnormals)
    } else if memory.lds || inst.op.has(Fact::TO_LDS) {
        (table::to_lds(inst.op, lanes)?, imm)
    } else {
        (table::plain(inst.op, lanes, level, generation.has_register_ecc())?, imm)
    };
    Some(Lowered { run, imm, status: has_status(inst).then(|| inst.op.signature().dst.dwords()) })
}

/// The offsets of an operation with two accesses to LDS per lane; zeros for others.
pub(crate) fn pair_offsets(op: Op, code: &Code) -> [u32; 2] {
    match op.footprint() {
        Footprint::Two(_, bytes, _) if op.class() == Class::Lds => address::shifts(code, bytes as usize),
        _ => [0; 2],
    }
}

/// Whether a code follows that writes a status register.
pub(crate) fn has_status(inst: &Inst) -> bool {
    inst.mem.tfe && inst.dst != Operand::None
}

/// The variant of a read-modify-write on a generation that differs from the others.
fn variant(rmw: Rmw, generation: Generation) -> Rmw {
    match (rmw, generation) {
        (Rmw::MinFloat, Generation::Gfx12) => Rmw::MinNumber,
        (Rmw::MaxFloat, Generation::Gfx12) => Rmw::MaxNumber,
        _ => rmw,
    }
}

/// The subnormal numbers that a read-modify-write treats as zero.
fn subnormals(rmw: Rmw, inst: &Inst, generation: Generation) -> Subnormals {
    let (gfx12, wide) = (generation == Generation::Gfx12, is_wide(inst.op));
    // Since gfx12, FLAT does not flush numbers in LDS.
    let lds = !gfx12 || inst.format == Format::Ds;
    match rmw {
        // On gfx90a, memory operations flush subnormal f32.
        Rmw::AddFloat if !wide => {
            Subnormals { lds, memory: false, never_in_memory: generation == Generation::Gfx9 }
        }
        Rmw::MinFloat | Rmw::MaxFloat => Subnormals { lds, memory: !gfx12 && !wide, never_in_memory: false },
        Rmw::CmpSwapFloat | Rmw::CmpSwapFloatSwapped => {
            Subnormals { lds, memory: !gfx12, never_in_memory: false }
        }
        Rmw::AddHalves | Rmw::AddBrainHalves => Subnormals { lds: lds && gfx12, ..Subnormals::default() },
        _ => Subnormals::default(),
    }
}

/// Clears the status register after the data of an access with `tfe`: no page was missing, otherwise there
/// was a fault.
pub(crate) fn clear_status(lanes: usize) -> Handler {
    struct Clear;

    impl Body for Clear {
        #[inline(always)]
        unsafe fn run<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
            let mask = wave.exec::<L>();
            // SAFETY: the file has room for a register after any tuple.
            unsafe { splat::<L>(wave.vgpr.add(code.dst as usize), 0, mask) };
            Flow::Next
        }
    }

    scalar_handler::<Clear>(lanes)
}

/// Whether scalar operands end within the slots and do not run over NULL, which always reads zero.
fn operands_fit(inst: &Inst) -> bool {
    let signature = inst.op.signature();
    let fits = |operand: Operand, count: u32| match operand {
        Operand::Sgpr(slot::NULL) => true,
        Operand::Sgpr(first) => {
            let (first, end) = (u32::from(first), u32::from(first) + count);
            end <= slot::COUNT as u32 && !(first..end).contains(&u32::from(slot::NULL))
        }
        _ => true,
    };
    inst.format != Format::Smem
        || fits(inst.dst, signature.dst.dwords()) && fits(inst.src[1], signature.src[1].dwords())
}

/// Whether it accesses elements of eight bytes.
fn is_wide(op: Op) -> bool {
    matches!(op.footprint(), Footprint::One(_, 8) | Footprint::Two(_, 8, _))
}

fn is_buffer(op: Op) -> bool {
    op.has(Fact::BUFFER) && op.class() != Class::Smem
}

/// The flags of a buffer instruction.
fn buffer_flags(inst: &Inst, generation: Generation) -> i64 {
    let set = |on: bool, bits: i64| if on { bits } else { 0 };
    set(inst.mem.offen, buffer::OFFEN)
        | set(inst.mem.idxen, buffer::IDXEN)
        | set(generation >= Generation::Gfx10, buffer::OOB_SELECT)
        | set(
            generation.is_cdna() && !matches!(inst.op.footprint(), Footprint::Typed(..)),
            buffer::LONG_STRIDE,
        )
        | set(generation >= Generation::Gfx12, buffer::SCALED_STRIDE)
}

/// The bits of [`Code::imm`] above the read-modify-write fields.
fn extra(inst: &Inst, generation: Generation) -> i64 {
    let set = |on: bool, bits: i64| if on { bits } else { 0 };
    let first = 1 << EXTRA_SHIFT;
    match inst.op {
        Op::DsLoad2addrStride64B32
        | Op::DsLoad2addrStride64B64
        | Op::DsStore2addrStride64B32
        | Op::DsStore2addrStride64B64
        | Op::DsStorexchg2addrStride64RtnB32
        | Op::DsStorexchg2addrStride64RtnB64
        | Op::DsConsume => first,
        Op::DsBpermuteB32 | Op::DsPermuteB32 => {
            set(matches!(generation, Generation::Gfx10 | Generation::Gfx11), first)
        }
        op if is_buffer(op) => buffer_flags(inst, generation),
        _ => 0,
    }
}
