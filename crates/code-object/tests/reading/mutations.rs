//! No bytes make the reader panic: truncations, bit flips and stretches of noise in real and synthetic files.

use code_object::CodeObject;
use code_object::bundle::{Extent, extent};
use proptest::prelude::*;

use crate::support::{self, Synthetic};

const SOURCE: &str = "
constant int lookup[4] = {1, 2, 3, 4};
kernel void scale(global float *x, float by, local int *scratch) {
    int i = __builtin_amdgcn_workitem_id_x();
    scratch[i] = i;
    __builtin_amdgcn_s_barrier();
    x[i + __builtin_amdgcn_workgroup_size_x()] *= by + lookup[scratch[i ^ 1] & 3];
}
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void copy(global const int4 *from, global int4 *to) {
    to[__builtin_amdgcn_workitem_id_x()] = from[__builtin_amdgcn_workitem_id_x()];
}";

/// Parses, and uses the result as a loader does, so that broken promises show up.
fn parse(bytes: &[u8]) -> bool {
    let Ok(object) = CodeObject::parse(bytes) else { return false };
    // A library that gets only the address stays inside.
    assert!(matches!(extent(bytes), Ok(Extent::Bytes(length)) if length <= bytes.len()));
    assert!(support::counted_as_amd_does(bytes).is_some_and(|length| length <= bytes.len()));
    for segment in object.segments() {
        assert!(bytes[segment.file_range.clone()].len() as u64 <= segment.mem_size);
        assert!(segment.end() <= object.load_size());
    }
    for relocation in object.relocations() {
        assert!(relocation.symbol.is_none_or(|symbol| symbol < object.symbols().len()));
        assert!(object.segments().iter().any(|s| s.contains(relocation.offset, relocation.kind.width())));
    }
    for kernel in object.kernels() {
        assert!(kernel.args.iter().all(|arg| arg.offset + arg.size <= kernel.kernarg_size));
        assert!(object.file_range(kernel.descriptor_vaddr, 64).is_some());
        assert!(object.file_range(kernel.entry_vaddr, 4).is_some());
        assert_eq!(object.kernel(&kernel.name), Some(kernel));
    }
    true
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples = vec![Synthetic::default().build()];
    let folder = tempfile::tempdir().unwrap();
    for (target, version) in [("gfx1100", 5), ("gfx90a", 4)] {
        samples.extend(support::compile(folder.path(), SOURCE, target, version));
    }
    samples
}

#[test]
fn every_truncation_is_an_error() {
    for sample in samples() {
        assert!(parse(&sample));
        for len in 0..sample.len() {
            // The section header table is last, so nothing can be missing.
            assert!(!parse(&sample[..len]), "{len} of {} bytes", sample.len());
        }
    }
}

#[test]
fn no_single_bit_flip_panics() {
    let sample = Synthetic::default().build();
    for bit in 0..sample.len() * 8 {
        let mut bytes = sample.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        parse(&bytes);
    }
}

#[test]
fn any_alignment_will_do() {
    for sample in samples() {
        for shift in 1..8 {
            let mut shifted = vec![0; shift];
            shifted.extend_from_slice(&sample);
            assert!(parse(&shifted[shift..]));
        }
    }
}

#[test]
fn no_noise_panics() {
    let samples = samples();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let noise = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1..12usize), 1..8);
    runner
        .run(&(0..samples.len(), noise), |(sample, noise)| {
            let mut bytes = samples[sample].clone();
            for (index, value, run) in noise {
                let at = index.index(bytes.len());
                let end = (at + run).min(bytes.len());
                bytes[at..end].fill(value);
            }
            parse(&bytes);
            Ok(())
        })
        .unwrap();
}
