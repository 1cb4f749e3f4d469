//! Computes plane rotations of two numbers.

use std::ffi::c_void;

use hip_sys::hipMemcpyKind;

use crate::args::{Args, Form, Operand, Type};
use crate::call::{Call, DeviceOperand, INVALID_POINTER, INVALID_VALUE, Result};
use crate::gpu::check;
use crate::modules;
use crate::vector::{THREADS, batches, grid, kernel};

/// `Rotations` of `kernels/blas/level1.cu`.
#[repr(C)]
struct Rotations {
    /// a, b, c, s; d1, d2, x1, y1, param.
    numbers: [DeviceOperand; 9],
    batches: u32,
    modified: u32,
}

pub(crate) fn rotg(call: &mut Call<'_>, args: &Args) -> Result {
    rotations(call, args, &[(0, args.a, 1), (1, args.b, 1), (2, args.c, 1), (3, args.d, 1)], false)
}

pub(crate) fn rotmg(call: &mut Call<'_>, args: &Args) -> Result {
    let numbers = [(4, args.a, 1), (5, args.b, 1), (6, args.x, 1), (7, args.y, 1), (8, args.c, 5)];
    rotations(call, args, &numbers, true)
}

/// Each operand with its place in [`Rotations`] and its number of elements.
fn rotations(
    call: &mut Call<'_>,
    args: &Args,
    operands: &[(usize, Operand, usize)],
    modified: bool,
) -> Result {
    let compute = args.kind.ok_or(INVALID_VALUE)?;
    if args.batch <= 0 {
        return Ok(());
    }
    if operands.iter().any(|(_, operand, _)| operand.at.is_null()) {
        return Err(INVALID_POINTER);
    }
    let batches = batches(args)?;
    let mut rotations = Rotations { numbers: [DeviceOperand::NONE; 9], batches, modified: modified.into() };
    let kernel = kernel!("rotations", compute)?;
    let grid = grid(i64::from(batches.div_ceil(THREADS)), 1);
    if !call.on_host() {
        for (place, operand, _) in operands {
            rotations.numbers[*place] = DeviceOperand::new(operand, args.form)?;
        }
        return call.launch(&modules::BLAS_LEVEL1, kernel, grid, THREADS, &rotations);
    }

    // All numbers from the host are copied to the device one after the other, and back.
    let count = batches as usize;
    let mut staged: Vec<u8> = Vec::new();
    let mut starts = Vec::new();
    for (_, operand, numbers) in operands {
        let size = operand.kind.ok_or(INVALID_VALUE)?.size() * numbers;
        starts.push((staged.len(), size));
        for index in 0..count {
            // SAFETY: the caller's numbers of each product are in host memory.
            unsafe {
                let from = host(operand, args.form, index).cast::<u8>();
                staged.extend_from_slice(std::slice::from_raw_parts(from, size));
            }
        }
        // Each operand begins at a multiple of its size.
        staged.resize(staged.len().next_multiple_of(16), 0);
    }
    let [at] = call.workspace([staged.len()])?;
    for ((place, operand, numbers), (start, _)) in operands.iter().zip(&starts) {
        let kind = operand.kind.unwrap_or(Type::F32);
        rotations.numbers[*place] = DeviceOperand::dense(at.wrapping_byte_add(*start), *numbers as i64, kind);
    }
    let (hip, stream) = (call.gpu.hip, call.state.stream);
    let kind = hipMemcpyKind::hipMemcpyHostToDevice;
    // SAFETY: the workspace has this many bytes, and this waits for the stream before `staged` is dropped.
    unsafe {
        check((hip.hipMemcpyAsync)(at, staged.as_ptr().cast(), staged.len(), kind, stream))?;
        let launched = call.launch(&modules::BLAS_LEVEL1, kernel, grid, THREADS, &rotations);
        check((hip.hipStreamSynchronize)(stream))?;
        launched?;
    }
    call.fetch(at, staged.as_mut_ptr().cast(), staged.len())?;
    for ((place, operand, _), &(start, size)) in operands.iter().zip(&starts) {
        // y1 is only read.
        if *place == 7 {
            continue;
        }
        for index in 0..count {
            // SAFETY: the caller's numbers of each product are in host memory.
            unsafe {
                let to = host(operand, args.form, index).cast_mut().cast::<u8>();
                to.copy_from(staged.as_ptr().add(start + index * size), size);
            }
        }
    }
    Ok(())
}

/// Where the numbers of a product of the batch are.
///
/// # Safety
/// The operand must be in host memory, and so must the pointers of a batch.
unsafe fn host(operand: &Operand, form: Form, index: usize) -> *const c_void {
    // SAFETY: as this function's contract.
    unsafe {
        match form {
            Form::Batched => operand.at.cast::<*const c_void>().add(index).read(),
            _ => {
                let size = operand.kind.map_or(0, Type::size) as i64;
                operand.at.byte_offset((index as i64 * operand.stride * size) as isize)
            }
        }
    }
}
