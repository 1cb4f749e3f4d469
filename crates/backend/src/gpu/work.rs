//! Submitting work on tensors.

use std::ops::Range;
use std::sync::MutexGuard;

use hip::{DeviceCopy, DeviceSlice, DeviceSliceMut, Stream};
use kernels::{Kernels, QuantMatrix, QuantType};

use super::NAME;
use super::memory::{GpuMemory, Periods};
use super::recorded::Submits;
use crate::error::{Error, Result};
use crate::{DType, Tensor, check};

/// The right to submit work, and what it is submitted to.
pub(super) struct Work<'a> {
    backend: u64,
    pub(super) kernels: &'a Kernels,
    pub(super) stream: Stream,
    periods: &'a Periods,
    _guard: MutexGuard<'a, Submits>,
}

/// The error for types or layouts without a kernel.
pub(super) fn unsupported(operation: &'static str, tensors: &[&Tensor]) -> Error {
    let what = tensors.iter().map(|tensor| tensor.describe()).collect::<Vec<_>>().join(", ");
    Error::Unsupported { backend: NAME, operation, what }
}

/// Evaluates an expression for the type of activations, `$T`; otherwise an error that names the tensors.
macro_rules! for_float {
    ($operation:expr, $x:expr, [$($tensor:expr),*], $T:ident => $body:expr) => {
        match $x.dtype() {
            $crate::DType::F32 => { type $T = f32; $body }
            $crate::DType::F16 => { type $T = half::f16; $body }
            $crate::DType::BF16 => { type $T = half::bf16; $body }
            _ => Err($crate::gpu::work::unsupported($operation, &[$($tensor),*])),
        }
    };
}
pub(super) use for_float;

impl<'a> Work<'a> {
    pub(super) fn new(
        backend: u64,
        kernels: &'a Kernels,
        stream: Stream,
        periods: &'a Periods,
        guard: MutexGuard<'a, Submits>,
    ) -> Self {
        Self { backend, kernels, stream, periods, _guard: guard }
    }

    /// Whether all that was written to a tensor was there when the host last waited.
    pub(super) fn is_settled(&self, operation: &'static str, tensor: &Tensor) -> Result<bool> {
        Ok(self.memory(operation, tensor)?.is_settled(self.periods))
    }

    fn memory<'t>(&self, operation: &'static str, tensor: &'t Tensor) -> Result<&'t GpuMemory> {
        let storage = tensor.storage();
        let own = (storage.backend() == self.backend).then(|| storage.as_any().downcast_ref::<GpuMemory>());
        own.flatten().ok_or(Error::OtherBackend { backend: NAME, operation, tensor: "tensor" })
    }

    /// The memory from a tensor's first element to its last, gaps included.
    pub(super) fn read<'t, T: DeviceCopy>(
        &self,
        operation: &'static str,
        tensor: &'t Tensor,
    ) -> Result<DeviceSlice<'t, T>> {
        let (memory, bytes) = self.place(operation, tensor)?;
        Ok(memory.buffer.as_slice().slice(bytes)?.cast()?)
    }

    /// A tensor's memory, and where there it is.
    pub(super) fn place<'t>(
        &self,
        operation: &'static str,
        tensor: &'t Tensor,
    ) -> Result<(&'t GpuMemory, Range<usize>)> {
        Ok((self.memory(operation, tensor)?, bytes(tensor)))
    }

    /// The same, to write to.
    pub(super) fn write<'t, T: DeviceCopy>(
        &self,
        operation: &'static str,
        tensor: &'t Tensor,
    ) -> Result<DeviceSliceMut<'t, T>> {
        let slice = self.read(operation, tensor)?;
        self.memory(operation, tensor)?.is_written(self.periods, self.stream.is_captured());
        // SAFETY: this backend's memory is only used by work that it submits to one stream, or to a graph
        // that it launches there, while it holds the lock whose guard is in `self`. Of a launch's other
        // arguments, some may be the same tensor; its kernel then works element by element, or reads a whole
        // row before it writes that.
        Ok(unsafe { slice.assume_exclusive() })
    }

    /// All elements of a tensor without gaps.
    pub(super) fn dense<'t, T: DeviceCopy>(
        &self,
        operation: &'static str,
        name: &'static str,
        tensor: &'t Tensor,
    ) -> Result<DeviceSlice<'t, T>> {
        check::dense(operation, name, tensor)?;
        self.read(operation, tensor)
    }

    /// The same, to write to.
    pub(super) fn dense_mut<'t, T: DeviceCopy>(
        &self,
        operation: &'static str,
        name: &'static str,
        tensor: &'t Tensor,
    ) -> Result<DeviceSliceMut<'t, T>> {
        check::dense(operation, name, tensor)?;
        self.write(operation, tensor)
    }

    /// A u32 tensor without gaps.
    pub(super) fn words<'t>(
        &self,
        operation: &'static str,
        name: &'static str,
        tensor: &'t Tensor,
    ) -> Result<DeviceSlice<'t, u32>> {
        if tensor.dtype() != DType::U32 {
            return Err(check::wrong(operation, name, tensor, "u32"));
        }
        self.dense(operation, name, tensor)
    }

    /// A weight of a row: of the type of the activations, and as long as a row.
    pub(super) fn weight<'t, T: DeviceCopy>(
        &self,
        operation: &'static str,
        name: &'static str,
        x: &Tensor,
        weight: Option<&'t Tensor>,
    ) -> Result<Option<DeviceSlice<'t, T>>> {
        let Some(weight) = weight else { return Ok(None) };
        check::typed(operation, name, weight, x.dtype(), &[x.columns()])?;
        self.dense(operation, name, weight).map(Some)
    }

    /// A quantised matrix: of all rows, if there are more than two dimensions.
    pub(super) fn quantised<'t>(
        &self,
        operation: &'static str,
        quant: QuantType,
        w: &'t Tensor,
    ) -> Result<QuantMatrix<'t>> {
        let blocks = self.dense::<u8>(operation, "w", w)?;
        Ok(QuantMatrix::new(quant, w.rows(), w.columns(), blocks)?)
    }
}

/// Where in its memory a tensor is, from its first element to its last.
fn bytes(tensor: &Tensor) -> Range<usize> {
    let dtype = tensor.dtype();
    let bytes = |elements: usize| elements / dtype.block_values() * dtype.block_bytes();
    // The last block of a quantised row is whole.
    let end = (tensor.offset() + tensor.span()).next_multiple_of(dtype.block_values());
    let end = if tensor.elements() == 0 { tensor.offset() } else { end };
    bytes(tensor.offset())..bytes(end)
}

/// Refuses tensors of different types or shapes.
pub(super) fn same(operation: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    if a.dtype() != b.dtype() {
        return Err(unsupported(operation, &[a, b]));
    }
    check::shape(operation, "out", b, a.shape())
}
