//! Access to the memory of tensors.

use std::borrow::Cow;
use std::sync::MutexGuard;

use half::{bf16, f16};
use kernels::F8E4M3;

use super::memory::{CpuMemory, Plain};
use super::{NAME, dequantise, simd, unsupported};
use crate::error::{Error, Result};
use crate::{DType, Tensor, check};

/// Exclusive access to the memory of a backend's tensors. Slices of it borrow the session: shared ones to
/// read, or one exclusive one to write.
pub(super) struct Session<'a> {
    backend: u64,
    _guard: MutexGuard<'a, ()>,
}

/// The offset of each row of a tensor, in elements.
pub(super) fn row_offsets(tensor: &Tensor) -> Vec<usize> {
    let mut offsets = vec![tensor.offset()];
    if tensor.elements() == 0 {
        return Vec::new();
    }
    let rank = tensor.rank();
    for (&size, &stride) in tensor.shape().iter().zip(tensor.strides()).take(rank.saturating_sub(1)) {
        offsets = offsets.iter().flat_map(|&at| (0..size).map(move |i| at + i * stride)).collect();
    }
    offsets
}

impl<'a> Session<'a> {
    pub(super) fn new(backend: u64, guard: MutexGuard<'a, ()>) -> Self {
        Self { backend, _guard: guard }
    }

    fn memory<'t>(&self, operation: &'static str, tensor: &'t Tensor) -> Result<&'t CpuMemory> {
        let storage = tensor.storage();
        let own = (storage.backend() == self.backend).then(|| storage.as_any().downcast_ref::<CpuMemory>());
        own.flatten().ok_or(Error::OtherBackend { backend: NAME, operation, tensor: "tensor" })
    }

    /// All of the memory that a tensor is in, as elements.
    pub(super) fn all<'s, T: Plain>(
        &'s self,
        operation: &'static str,
        tensor: &'s Tensor,
    ) -> Result<&'s [T]> {
        let memory = self.memory(operation, tensor)?;
        // SAFETY: this backend's memory is only accessed through its session, of which there is one at a
        // time. The result borrows it, and writing borrows it exclusively.
        Ok(unsafe { memory.elements() })
    }

    /// The same to write to.
    pub(super) fn all_mut<'s, T: Plain>(
        &'s mut self,
        operation: &'static str,
        tensor: &'s Tensor,
    ) -> Result<&'s mut [T]> {
        let memory = self.memory(operation, tensor)?;
        // SAFETY: as above, and the result borrows the session exclusively.
        Ok(unsafe { memory.elements_mut() })
    }

    /// The bytes of a tensor without gaps.
    pub(super) fn bytes<'s>(&'s self, operation: &'static str, tensor: &'s Tensor) -> Result<&'s [u8]> {
        check::dense(operation, "tensor", tensor)?;
        let dtype = tensor.dtype();
        let start = tensor.offset() / dtype.block_values() * dtype.block_bytes();
        Ok(&self.all::<u8>(operation, tensor)?[start..start + tensor.size_in_bytes()])
    }

    /// Copies bytes to a tensor without gaps.
    pub(super) fn upload(&mut self, bytes: &[u8], to: &Tensor) -> Result<()> {
        check::dense("upload", "to", to)?;
        if bytes.len() != to.size_in_bytes() {
            return Err(check::wrong("upload", "to", to, format!("of {} bytes", bytes.len())));
        }
        let dtype = to.dtype();
        let start = to.offset() / dtype.block_values() * dtype.block_bytes();
        self.all_mut::<u8>("upload", to)?[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// The elements of a tensor row by row: borrowed if it has no gaps, else copied.
    pub(super) fn elements<'s, T: Plain + 's>(
        &'s self,
        operation: &'static str,
        tensor: &'s Tensor,
    ) -> Result<Cow<'s, [T]>> {
        debug_assert_eq!(tensor.dtype().block_bytes(), size_of::<T>());
        let all = self.all::<T>(operation, tensor)?;
        if tensor.is_contiguous() {
            return Ok(Cow::Borrowed(&all[tensor.offset()..tensor.offset() + tensor.elements()]));
        }
        let (columns, step) = (tensor.columns(), tensor.strides().last().copied().unwrap_or(1));
        let mut out = Vec::with_capacity(tensor.elements());
        for at in row_offsets(tensor) {
            out.extend((0..columns).map(|i| all[at + i * step]));
        }
        Ok(Cow::Owned(out))
    }

    /// The elements of a u32 tensor.
    pub(super) fn words<'s>(
        &'s self,
        operation: &'static str,
        name: &'static str,
        tensor: &'s Tensor,
    ) -> Result<Cow<'s, [u32]>> {
        if tensor.dtype() != DType::U32 {
            return Err(check::wrong(operation, name, tensor, "u32"));
        }
        self.elements(operation, tensor)
    }

    /// The numbers of a tensor row by row, as f32. Borrowed if that is what they are.
    pub(super) fn numbers<'s>(
        &'s self,
        operation: &'static str,
        tensor: &'s Tensor,
    ) -> Result<Cow<'s, [f32]>> {
        let count = tensor.elements();
        Ok(match tensor.dtype() {
            DType::F32 => self.elements(operation, tensor)?,
            DType::F16 => {
                let source = self.elements::<f16>(operation, tensor)?;
                let mut out = vec![0.0; count];
                simd::from_halves(&source, &mut out);
                out.into()
            }
            DType::BF16 => {
                let source = self.elements::<bf16>(operation, tensor)?;
                let mut out = vec![0.0; count];
                simd::from_bf16(&source, &mut out);
                out.into()
            }
            DType::F8 => {
                let source = self.elements::<F8E4M3>(operation, tensor)?;
                source.iter().map(|x| x.to_f64() as f32).collect::<Vec<_>>().into()
            }
            DType::Quant(quant) => {
                let mut out = vec![0.0; count];
                dequantise(quant, self.bytes(operation, tensor)?, &mut out);
                out.into()
            }
            DType::I8 | DType::U32 | DType::I64 => return Err(unsupported(operation, &[tensor])),
        })
    }

    /// The numbers of activations or their weights: of f32, f16 or bf16.
    pub(super) fn floats<'s>(
        &'s self,
        operation: &'static str,
        tensor: &'s Tensor,
    ) -> Result<Cow<'s, [f32]>> {
        if !tensor.dtype().is_float() {
            return Err(unsupported(operation, &[tensor]));
        }
        self.numbers(operation, tensor)
    }

    /// Stores elements row by row.
    pub(super) fn store<T: Plain>(
        &mut self,
        operation: &'static str,
        out: &Tensor,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let mut elements = elements.into_iter();
        let (columns, step) = (out.columns(), out.strides().last().copied().unwrap_or(1));
        let offsets = row_offsets(out);
        let all = self.all_mut::<T>(operation, out)?;
        for at in offsets {
            for (i, element) in (0..columns).zip(&mut elements) {
                all[at + i * step] = element;
            }
        }
        Ok(())
    }

    /// Rounds numbers to a tensor's type and stores them row by row.
    pub(super) fn write(&mut self, operation: &'static str, out: &Tensor, numbers: &[f32]) -> Result<()> {
        if numbers.len() != out.elements() {
            return Err(check::wrong(operation, "out", out, format!("{} elements", numbers.len())));
        }
        match out.dtype() {
            DType::F32 if out.is_contiguous() => {
                let start = out.offset();
                self.all_mut::<f32>(operation, out)?[start..start + numbers.len()].copy_from_slice(numbers);
                Ok(())
            }
            DType::F32 => self.store(operation, out, numbers.iter().copied()),
            DType::F16 => self.store(operation, out, numbers.iter().map(|x| f16::from_f32(*x))),
            DType::BF16 => self.store(operation, out, numbers.iter().map(|x| bf16::from_f32(*x))),
            DType::F8 => self.store(operation, out, numbers.iter().map(|x| F8E4M3::from_f64(f64::from(*x)))),
            _ => Err(unsupported(operation, &[out])),
        }
    }
}
