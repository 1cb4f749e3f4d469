//! Many copies in one call.

use std::ffi::c_void;
use std::ptr::null_mut;

use hip_sys::{
    hipExtent, hipMemcpy3DBatchOp, hipMemcpy3DOperandType as Operand, hipMemcpyAttributes, hipMemcpyKind,
};

use super::*;

const INVALID: E = E::hipErrorInvalidValue;

#[test]
fn all_copies_of_a_batch_are_done_or_none() {
    let hip = start();
    let stream = hip.stream(1);
    let (first, second) = (hip.malloc(64), hip.malloc(64));
    let mut source: Vec<u8> = (0..64).collect();
    let mut dsts = [first, second, first.wrapping_byte_add(32)];
    let srcs = [0usize, 16, 48].map(|at| source[at..].as_mut_ptr().cast::<c_void>());
    let sizes = [32usize, 8, 16];
    let attributes = [hipMemcpyAttributes::default(); 2];
    let mut firsts = [0usize, 2];
    let mut failed = 77;
    let batch = |dsts: &mut [*mut c_void; 3], firsts: &mut [usize; 2], failed: &mut usize, count| {
        let (srcs, sizes) = (&raw const srcs, &raw const sizes);
        let attributes = &raw const attributes;
        hip!(
            hip,
            hipMemcpyBatchAsync(
                dsts.as_mut_ptr(),
                srcs.cast_mut().cast(),
                sizes.cast_mut().cast(),
                count,
                attributes.cast_mut().cast(),
                firsts.as_mut_ptr(),
                2,
                failed,
                stream
            )
        )
    };
    assert_eq!(batch(&mut dsts, &mut firsts, &mut failed, 3), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let mut seen = [0u8; 48];
    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
    assert_eq!(hip!(hip, hipMemcpy(seen.as_mut_ptr().cast(), first, 48, kind)), OK);
    assert!(seen[..32].iter().copied().eq(0..32) && seen[32..].iter().copied().eq(48..64));
    assert_eq!(hip!(hip, hipMemcpy(seen.as_mut_ptr().cast(), second, 8, kind)), OK);
    assert!(seen[..8].iter().copied().eq(16..24));

    // The last copy exceeds its allocation: nothing is copied.
    assert_eq!(hip!(hip, hipMemset(first, 9, 64)), OK);
    dsts[2] = first.wrapping_byte_add(60);
    assert_eq!(batch(&mut dsts, &mut firsts, &mut failed, 3), INVALID);
    assert_eq!(failed, 2);
    assert_eq!(hip!(hip, hipMemcpy(seen.as_mut_ptr().cast(), first, 48, kind)), OK);
    assert_eq!(seen, [9; 48]);
    for mut wrong in [[1, 2], [0, 0], [0, 3]] {
        assert_eq!(batch(&mut dsts, &mut wrong, &mut failed, 3), INVALID);
    }
    assert_eq!(batch(&mut dsts, &mut firsts, &mut failed, 0), INVALID);
    hip.free(first);
    hip.free(second);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}

#[test]
fn boxes_of_a_batch_have_rows_and_layers_of_their_own() {
    let hip = start();
    let stream = hip.stream(1);
    let memory = hip.malloc(64);
    assert_eq!(hip!(hip, hipMemset(memory, 0, 64)), OK);
    assert_eq!(hip!(hip, hipDeviceSynchronize()), OK);
    // 2 x 2 x 2 bytes out of rows of 4 and layers of 3 rows, into rows without gaps.
    let mut source: Vec<u8> = (0..24).collect();
    let mut op =
        hipMemcpy3DBatchOp { extent: hipExtent { width: 2, height: 2, depth: 2 }, ..Default::default() };
    op.src.type_ = Operand::hipMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = source.as_mut_ptr().cast();
    op.src.op.ptr.rowLength = 4;
    op.src.op.ptr.layerHeight = 3;
    op.dst.type_ = Operand::hipMemcpyOperandTypePointer;
    op.dst.op.ptr.ptr = memory;
    let mut failed = 0;
    assert_eq!(hip!(hip, hipMemcpy3DBatchAsync(1, &mut op, &mut failed, 0, stream)), OK);
    assert_eq!(hip!(hip, hipStreamSynchronize(stream)), OK);
    let mut seen = [0u8; 8];
    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
    assert_eq!(hip!(hip, hipMemcpy(seen.as_mut_ptr().cast(), memory, 8, kind)), OK);
    assert_eq!(seen, [0, 1, 4, 5, 12, 13, 16, 17]);
    assert_eq!(hip!(hip, hipMemcpy3DBatchAsync(1, &mut op, &mut failed, 1, stream)), INVALID);
    assert_eq!(hip!(hip, hipMemcpy3DBatchAsync(1, null_mut(), &mut failed, 0, stream)), INVALID);
    op.src.op.ptr.rowLength = 1;
    let short = hip!(hip, hipMemcpy3DBatchAsync(1, &mut op, &mut failed, 0, stream));
    assert_eq!((short, failed), (E::hipErrorInvalidValue, 0));
    op.dst.type_ = Operand::hipMemcpyOperandTypeArray;
    let array = hip!(hip, hipMemcpy3DBatchAsync(1, &mut op, &mut failed, 0, stream));
    assert_eq!(array, E::hipErrorNotSupported);
    hip.free(memory);
    assert_eq!(hip!(hip, hipStreamDestroy(stream)), OK);
}
