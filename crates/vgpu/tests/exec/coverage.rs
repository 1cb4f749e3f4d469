//! Which instructions are executed. The tables below list all that are not, with the reason.
//!
//! The instructions are those of the disassembler's tests, which have every mnemonic of every target in every
//! form of its encoding.

use std::collections::{BTreeMap, BTreeSet};

use vgpu::exec::Level;
use vgpu::exec::lower::{self, Context};
use vgpu::exec::program::Pool;
use vgpu::isa::{Dpp, Fact, Inst, Isa, Op, Operand, decode};
use vgpu::machine::Generation;

/// Instructions that are not executed.
struct Row {
    why: &'static str,
    which: fn(&Inst, Generation) -> bool,
}

// NEW-OP: an operation that is not executed, and why.
/// Instructions that kernels may not use, or that have no meaning in one.
const NOT_COMPUTE: &[Row] = &[
    Row {
        why: "comparisons of depths, rays, cubes, several samples in a pixel, atomic operations on images",
        which: |i, _| i.op == Op::Image && i.image().is_none(),
    },
    Row { why: "exports feed fixed-function graphics", which: |i, _| i.op == Op::Export },
    Row {
        why: "attributes of pixels: graphics",
        which: |i, _| matches!(i.op, Op::Interpolate | Op::LdsParamLoad),
    },
    Row {
        why: "only trap handlers may return from traps, and none is installed",
        which: |i, _| matches!(i.op, Op::SRfeB64 | Op::SRfeRestoreB64),
    },
    Row {
        why: "a halted wave waits for a debugger for ever",
        which: |i, _| matches!(i.op, Op::SSethalt | Op::SSendmsghalt),
    },
    Row { why: "reserved controls of DPP", which: |i, _| reserved_dpp(i) },
    Row { why: "controls of DPP that gfx10 took away, and those that came then", which: foreign_dpp },
    Row { why: "an instruction that is illegal by definition", which: |i, _| i.op == Op::VIllegal },
    Row { why: "values that cannot be written", which: |i, _| matches!(i.dst, Operand::Special(_)) },
    Row {
        why: "named barriers, of which gfx1201 has none",
        which: |i, _| {
            let signals = [Op::SBarrierSignal, Op::SBarrierSignalIsfirst];
            named(i, &["s_barrier_init", "s_barrier_join", "s_barrier_leave"])
                || signals.contains(&i.op)
                    && matches!(i.src[0], Operand::Int(..=-3 | 1..) | Operand::Float(_))
                || i.op == Op::SBarrierWait && !matches!(i.src[0], Operand::Imm(-1 | 0xffff))
        },
    },
    Row {
        why: "registers on demand, which need a queue of their own kind",
        which: |i, _| i.op == Op::SAllocVgpr,
    },
    Row { why: "assigns parts of a screen: graphics", which: |i, _| i.op == Op::VScreenPartition4seB32 },
    Row {
        why: "the global data share, of which kernels have none",
        which: |i, _| (i.mem.gds && !named(i, &["ds_gws_"])) || i.op == Op::DsOrderedCount,
    },
    Row {
        why: "semaphores of global wave sync, which a driver would have to set up",
        which: |i, _| named(i, &["ds_gws_sema_"]),
    },
    Row {
        why: "counters of streamout in geometry shaders",
        which: |i, _| matches!(i.op, Op::GlobalAtomicOrderedAddB64 | Op::DsAddGsRegRtn | Op::DsSubGsRegRtn),
    },
    Row {
        why: "matrices that are NULL, which assemblers refuse",
        which: |i, _| i.op.has(Fact::MFMA) && i.src[..3].iter().any(|src| matches!(src, Operand::Sgpr(_))),
    },
    Row { why: "scales with no matrix instruction after them", which: |i, _| i.op == Op::VMfmaLdScaleB32 },
    Row {
        why: "formats of matrices that there are not",
        which: |i, _| i.op.has(Fact::FORMATS) && (i.mods.cbsz > 4 || i.mods.blgp > 4),
    },
    Row { why: "stacks of ray tracing: graphics", which: |i, _| named(i, &["ds_bvh_stack_"]) },
    Row {
        why: "factors of matrices that are in no registers, which assemblers refuse",
        which: |i, _| {
            named(i, &["v_mfma_", "v_smfmac_"])
                && i.src[..2].iter().any(|src| matches!(src, Operand::Special(_)))
        },
    },
];

/// Whether the operation's name starts with one of the prefixes.
fn named(inst: &Inst, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| inst.op.name().starts_with(prefix))
}

/// DPP controls that LLVM prints as invalid.
fn reserved_dpp(inst: &Inst) -> bool {
    let Some(Dpp::Row { ctrl, .. }) = inst.dpp else { return false };
    !matches!(
        ctrl,
        0..=0xff
            | 0x101..=0x10f
            | 0x111..=0x11f
            | 0x121..=0x12f
            | 0x130
            | 0x134
            | 0x138
            | 0x13c
            | 0x140..=0x143
            | 0x150..=0x16f
    )
}

/// DPP controls of other generations: up to gfx9, those beyond a row of 16 lanes; from gfx10 on, `row_xmask`.
fn foreign_dpp(inst: &Inst, generation: Generation) -> bool {
    let Some(Dpp::Row { ctrl, .. }) = inst.dpp else { return false };
    match ctrl {
        0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => !generation.is_cdna(),
        0x160..=0x16f => generation.is_cdna(),
        _ => false,
    }
}

/// An instruction of the corpus: its generation, its decoded form, its bytes and its text.
pub(super) struct Sample {
    pub(super) generation: Generation,
    pub(super) inst: Inst,
    line: String,
}

pub(super) fn corpus() -> Vec<Sample> {
    let mut samples = Vec::new();
    for &isa in Isa::ALL {
        let path = format!("{}/../vgpu-isa/tests/filetests/{}.txt", env!("CARGO_MANIFEST_DIR"), isa.name());
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (bytes, _) = line.split_once(" ; ").unwrap_or_else(|| panic!("{path}: {line}"));
            let bytes: Vec<u8> =
                bytes.split(' ').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
            if let Ok(inst) = decode(isa, &bytes) {
                samples.push(Sample {
                    generation: isa.generation(),
                    inst,
                    line: format!("{}: {line}", isa.name()),
                });
            }
        }
    }
    samples
}

impl Sample {
    /// Whether it is executed, in waves of every size that the generation has.
    fn is_executed(&self) -> bool {
        let sizes: &[usize] = if self.generation.is_cdna() { &[64] } else { &[32, 64] };
        sizes.iter().all(|&lanes| {
            let context = Context { generation: self.generation, level: Level::Baseline, lanes };
            let (mut codes, mut pool) = (Vec::new(), Pool::new());
            lower::try_lower(&self.inst, 0, 0, &context, &mut pool, &mut codes).is_some()
        })
    }
}

#[test]
fn every_instruction_is_executed_or_listed() {
    let mut unlisted: BTreeMap<(&str, bool, bool), (usize, String)> = BTreeMap::new();
    let mut listed_but_executed = BTreeMap::new();
    let mut used = BTreeSet::new();
    for sample in corpus() {
        let row = NOT_COMPUTE.iter().find(|row| (row.which)(&sample.inst, sample.generation));
        match (sample.is_executed(), row) {
            (false, None) => {
                let form = (sample.inst.op.name(), sample.inst.dpp.is_some(), sample.inst.sdwa.is_some());
                unlisted.entry(form).or_insert((0, sample.line)).0 += 1;
            }
            (true, Some(row)) => {
                listed_but_executed.insert(row.why, sample.line);
            }
            (false, Some(row)) => {
                used.insert(row.why);
            }
            (true, None) => {}
        }
    }
    let stale: Vec<&str> = NOT_COMPUTE.iter().map(|row| row.why).filter(|why| !used.contains(why)).collect();
    assert!(unlisted.is_empty(), "not executed: {unlisted:#?}");
    assert!(listed_but_executed.is_empty(), "executed, though listed: {listed_but_executed:#?}");
    assert!(stale.is_empty(), "rows without an instruction: {stale:#?}");
}

#[test]
fn every_operation_occurs() {
    let seen: BTreeSet<Op> = corpus()
        .iter()
        .flat_map(|sample| [Some(sample.inst.op), sample.inst.dual.map(|(op, ..)| op)])
        .flatten()
        .collect();
    let unseen: Vec<&Op> = Op::ALL.iter().filter(|op| !seen.contains(op)).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}
