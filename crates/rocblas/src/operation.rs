//! From views to calls: forms of batches, addresses, scalars, and operations that are not run yet.

use hip::{DeviceBuffer, DeviceCopy, DeviceSlice, DeviceSliceMut};
use rocblas_sys::rocblas_pointer_mode;
use smallvec::SmallVec;

use crate::blas::{Blas, DeviceAddressBits};
use crate::element::{Element, One};
use crate::error::{Error, Result};
use crate::functions::{Address, Call, Form, Operand};
use crate::layout::{Batch, Layout};
use crate::view::{Storage, StorageMut, View, ViewMut};

/// An operand's batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    operand: &'static str,
    batch: Batch,
    written: bool,
}

pub(crate) fn reads(operand: &'static str, layout: &impl Layout) -> Part {
    Part { operand, batch: layout.batch(), written: false }
}

pub(crate) fn writes(operand: &'static str, layout: &impl Layout) -> Part {
    Part { operand, batch: layout.batch(), written: true }
}

/// The form of a function for these operands, and the size of the batch.
pub(crate) fn form(operation: &'static str, parts: &[Part]) -> Result<(Form, usize)> {
    let batches = || parts.iter().filter(|part| part.batch != Batch::One);
    let Some(first) = batches().next() else { return Ok((Form::One, 1)) };
    let count = first.batch.count();
    for part in parts {
        // A single operand can be the input of every operation, but the result of only one.
        let alone = part.batch == Batch::One && !part.written;
        let (got, operand) = (part.batch.count(), part.operand);
        // If all operations write to one place, the result is undefined.
        let got = match part.batch {
            Batch::Strided { stride: 0, .. } if part.written && got > 1 => 1,
            _ => got,
        };
        if !alone && got != count {
            return Err(Error::BatchCount { operation, operand, expected: count, got });
        }
    }
    let pointers = batches().any(|part| matches!(part.batch, Batch::Pointers { .. }));
    Ok((if pointers { Form::Many } else { Form::Strided }, count))
}

/// A call under construction.
pub(crate) struct Session<'s> {
    pub(crate) blas: &'s Blas,
    pub(crate) operation: &'static str,
    form: Form,
    pub(crate) count: usize,
    wide: bool,
    /// Arrays of pointers, freed in stream order.
    arrays: SmallVec<[DeviceBuffer<DeviceAddressBits>; 4]>,
}

/// Whether a number fits into 32 bits. The least one is excluded, because functions negate increments.
fn is_narrow(size: i64) -> bool {
    i32::try_from(size).is_ok_and(|size| size != i32::MIN)
}

impl<'s> Session<'s> {
    pub(crate) fn new(blas: &'s Blas, operation: &'static str, parts: &[Part]) -> Result<Self> {
        let (form, count) = form(operation, parts)?;
        let wide = !is_narrow(count as i64);
        Ok(Self { blas, operation, form, count, wide, arrays: SmallVec::new() })
    }

    /// Selects the form for 64-bit sizes.
    pub(crate) fn widen(&mut self) {
        self.wide = true;
    }

    pub(crate) fn is_wide(&self, sizes: &[i64]) -> bool {
        self.wide || sizes.iter().any(|size| !is_narrow(*size))
    }

    fn operand<T: Element>(&mut self, address: Address, layout: &impl Layout) -> Operand {
        let stride = match layout.batch() {
            Batch::Strided { stride, .. } => stride as i64,
            _ => 0,
        };
        let ld = layout.leading();
        self.wide |= !is_narrow(ld);
        Operand { address, ld, stride, datatype: T::DATATYPE }
    }

    /// The addresses of the members of a batch in one buffer.
    fn spread<T>(&self, first: u64, batch: Batch) -> Vec<DeviceAddressBits> {
        let stride = match batch {
            Batch::Strided { stride, .. } => stride,
            _ => 0,
        };
        (0..self.count as u64).map(|i| first + i * (stride * size_of::<T>()) as u64).collect()
    }

    fn array(&mut self, addresses: &[DeviceAddressBits]) -> Result<Address> {
        let mut array = self.blas.pointers(addresses)?;
        let address = array.as_mut_slice().address_on(self.blas.stream())?;
        self.arrays.push(array);
        Ok(Address::device(address))
    }

    /// Registers an operand that is read.
    pub(crate) fn read<T: Element, L: Layout>(&mut self, view: &View<'_, T, L>) -> Result<Operand> {
        let stream = self.blas.stream();
        let address = match &view.storage {
            Storage::One(slice) => {
                let first = slice.address_on(stream)?;
                match self.form {
                    Form::Many => self.array(&self.spread::<T>(first.0, view.layout().batch()))?,
                    Form::One | Form::Strided => Address::device(first),
                }
            }
            Storage::Many(slices) => {
                let addresses: Result<Vec<_>> =
                    slices.iter().map(|slice| Ok(slice.address_on(stream)?.0)).collect();
                self.array(&addresses?)?
            }
        };
        Ok(self.operand::<T>(address, view.layout()))
    }

    /// Registers an operand that is written, and may be read.
    pub(crate) fn write<T: Element, L: Layout>(&mut self, view: &mut ViewMut<'_, T, L>) -> Result<Operand> {
        let layout = *view.layout();
        let stream = self.blas.stream();
        let address = match &mut view.storage {
            StorageMut::One(slice) => {
                let first = slice.address_on(stream)?;
                match self.form {
                    Form::Many => self.array(&self.spread::<T>(first.0, layout.batch()))?,
                    Form::One | Form::Strided => Address::device(first),
                }
            }
            StorageMut::Many(slices) => {
                let addresses: Result<Vec<_>> =
                    slices.iter_mut().map(|slice| Ok(slice.address_on(stream)?.0)).collect();
                self.array(&addresses?)?
            }
        };
        Ok(self.operand::<T>(address, &layout))
    }

    /// Enqueues the call.
    pub(crate) fn enqueue(
        &self,
        mode: rocblas_pointer_mode,
        sizes: &[i64],
        enqueue: impl FnOnce(&Call<'_>) -> Result<()>,
    ) -> Result<()> {
        let call = Call {
            table: self.blas.table(),
            handle: std::ptr::null_mut(),
            form: self.form,
            wide: self.is_wide(sizes),
            batch: self.count as i64,
        };
        self.blas.enqueue(mode, call, enqueue)
    }

    /// Enqueues a call without scalars.
    pub(crate) fn plain(&self, sizes: &[i64], enqueue: impl FnOnce(&Call<'_>) -> Result<()>) -> Result<()> {
        self.enqueue(rocblas_pointer_mode::rocblas_pointer_mode_host, sizes, enqueue)
    }

    /// Enqueues a call with one scalar.
    pub(crate) fn scaled<S: Element>(
        &self,
        alpha: &Scale<'_, S>,
        sizes: &[i64],
        enqueue: impl FnOnce(&Call<'_>, Address) -> Result<()>,
    ) -> Result<()> {
        let (mode, alpha) = alpha.resolve(self)?;
        self.enqueue(mode, sizes, |call| enqueue(call, alpha))
    }

    /// Enqueues a call with two scalars.
    pub(crate) fn update<A: Element, B: Element>(
        &self,
        alpha: &Scale<'_, A>,
        beta: &Scale<'_, B>,
        sizes: &[i64],
        enqueue: impl FnOnce(&Call<'_>, (Address, Address)) -> Result<()>,
    ) -> Result<()> {
        let (mode, alpha) = alpha.resolve(self)?;
        let (other, beta) = beta.resolve(self)?;
        if mode != other {
            return Err(Error::Scalars { operation: self.operation });
        }
        self.enqueue(mode, sizes, |call| enqueue(call, (alpha, beta)))
    }

    /// Enqueues a call with results in device memory, one for each operation of the batch.
    pub(crate) fn results<R: DeviceCopy>(
        &self,
        results: &mut DeviceSliceMut<'_, R>,
        sizes: &[i64],
        enqueue: impl FnOnce(&Call<'_>, Address) -> Result<()>,
    ) -> Result<()> {
        let (expected, got) = (self.count, results.len());
        if expected != got {
            let (operation, operand) = (self.operation, "results");
            return Err(Error::Shape { operation, operand, what: "elements", expected, got });
        }
        let address = Address::device(results.address_on(self.blas.stream())?);
        self.enqueue(rocblas_pointer_mode::rocblas_pointer_mode_device, sizes, |call| enqueue(call, address))
    }
}

/// A scalar of an operation: a value, or the first element of device memory.
#[derive(Clone, Copy, Debug)]
pub enum Scale<'b, S> {
    Value(S),
    Device(DeviceSlice<'b, S>),
}

impl<S: Element> Scale<'_, S> {
    /// Its address, for as long as this is borrowed.
    pub(crate) fn resolve(&self, session: &Session<'_>) -> Result<(rocblas_pointer_mode, Address)> {
        match self {
            Self::Value(value) => Ok((rocblas_pointer_mode::rocblas_pointer_mode_host, Address::host(value))),
            Self::Device(slice) => {
                let (operation, operand) = (session.operation, "scalar");
                if slice.len() != 1 {
                    let (what, expected, got) = ("elements", 1, slice.len());
                    return Err(Error::Shape { operation, operand, what, expected, got });
                }
                let address = slice.address_on(session.blas.stream())?;
                Ok((rocblas_pointer_mode::rocblas_pointer_mode_device, Address::device(address)))
            }
        }
    }
}

/// An operation with a factor `alpha`, which is one by default. [`run`](Self::run) enqueues it.
#[must_use = "an operation does nothing before `run`"]
pub struct Scaled<'b, S, F> {
    alpha: Scale<'b, S>,
    enqueue: F,
}

impl<'b, S: One, F: FnOnce(Scale<'b, S>) -> Result<()>> Scaled<'b, S, F> {
    pub(crate) fn new(enqueue: F) -> Self {
        Self { alpha: Scale::Value(S::ONE), enqueue }
    }

    /// Sets the factor.
    pub fn alpha(mut self, alpha: S) -> Self {
        self.alpha = Scale::Value(alpha);
        self
    }

    /// Reads the factor from device memory when the operation runs.
    pub fn alpha_from(mut self, alpha: impl Into<DeviceSlice<'b, S>>) -> Self {
        self.alpha = Scale::Device(alpha.into());
        self
    }

    /// Enqueues the operation; does not wait.
    ///
    /// # Errors
    /// The [`Error`] of an invalid operand; [`Error::Missing`] if the library lacks the function, else
    /// [`Error::Status`] or
    /// [`Error::Hip`].
    pub fn run(self) -> Result<()> {
        (self.enqueue)(self.alpha)
    }
}

/// An operation with factors `alpha` and `beta` that updates its result. By default, `alpha` is one and
/// `beta` is zero, so the result's old contents do not matter, even if they are NaN. [`run`](Self::run)
/// enqueues it.
#[must_use = "an operation does nothing before `run`"]
pub struct Update<'b, A, B, F> {
    alpha: Scale<'b, A>,
    beta: Scale<'b, B>,
    enqueue: F,
}

impl<'b, A: One, B: One, F: FnOnce(Scale<'b, A>, Scale<'b, B>) -> Result<()>> Update<'b, A, B, F> {
    pub(crate) fn new(enqueue: F) -> Self {
        Self { alpha: Scale::Value(A::ONE), beta: Scale::Value(B::ZERO), enqueue }
    }

    /// Sets the factor of the new contents.
    pub fn alpha(mut self, alpha: A) -> Self {
        self.alpha = Scale::Value(alpha);
        self
    }

    /// Sets the factor of the old contents.
    pub fn beta(mut self, beta: B) -> Self {
        self.beta = Scale::Value(beta);
        self
    }

    /// Reads both factors from device memory when the operation runs.
    pub fn factors_from(
        mut self,
        alpha: impl Into<DeviceSlice<'b, A>>,
        beta: impl Into<DeviceSlice<'b, B>>,
    ) -> Self {
        self.alpha = Scale::Device(alpha.into());
        self.beta = Scale::Device(beta.into());
        self
    }

    /// Enqueues the operation; does not wait.
    ///
    /// # Errors
    /// As [`Scaled::run`].
    pub fn run(self) -> Result<()> {
        (self.enqueue)(self.alpha, self.beta)
    }
}

/// An operation whose result is a number, or a number for each operation of a batch. It is enqueued when it
/// is run.
#[must_use = "an operation does nothing before it is run"]
pub struct Reduction<'b, R, F> {
    blas: &'b Blas,
    operation: &'static str,
    count: Result<usize>,
    enqueue: F,
    result: std::marker::PhantomData<R>,
}

impl<'b, R: Element, F: FnOnce(&mut DeviceSliceMut<'_, R>) -> Result<()>> Reduction<'b, R, F> {
    pub(crate) fn new(blas: &'b Blas, operation: &'static str, parts: &[Part], enqueue: F) -> Self {
        let count = form(operation, parts).map(|(_, count)| count);
        Self { blas, operation, count, enqueue, result: std::marker::PhantomData }
    }

    /// Enqueues the operation, waits for it, and returns the result.
    ///
    /// # Errors
    /// As [`Scaled::run`]; [`Error::BatchCount`] if the operands are batches.
    pub fn run(self) -> Result<R> {
        let operation = self.operation;
        let all = self.run_all()?;
        match all.as_slice() {
            [result] => Ok(*result),
            _ => Err(Error::BatchCount { operation, operand: "operands", expected: 1, got: all.len() }),
        }
    }

    /// Enqueues the operation, waits for it, and returns the results, one for each operation of the batch.
    ///
    /// # Errors
    /// As [`Scaled::run`].
    pub fn run_all(self) -> Result<Vec<R>> {
        let Self { blas, count, enqueue, .. } = self;
        download(blas, count?, |results| enqueue(results))
    }

    /// Enqueues the operation and writes its results to device memory, one for each operation of the batch;
    /// does not wait.
    ///
    /// # Errors
    /// As [`Scaled::run`]; [`Error::Shape`] if there is not one element for each result.
    pub fn run_into<'r>(self, results: impl Into<DeviceSliceMut<'r, R>>) -> Result<()> {
        self.count?;
        (self.enqueue)(&mut results.into())
    }
}

/// Has something written to device memory, and downloads it.
fn download<R: DeviceCopy>(
    blas: &Blas,
    count: usize,
    enqueue: impl FnOnce(&mut DeviceSliceMut<'_, R>) -> Result<()>,
) -> Result<Vec<R>> {
    let mut results = DeviceBuffer::uninit_on(blas.stream(), count)?;
    enqueue(&mut results.as_mut_slice())?;
    Ok(results.to_vec(blas.stream())?)
}

/// The destination of indices.
pub enum Indices<'r, 'm> {
    Narrow(&'m mut DeviceSliceMut<'r, i32>),
    Wide(&'m mut DeviceSliceMut<'r, i64>),
}

/// An operation whose result is the index of an element, or one for each operation of a batch. It is enqueued
/// when it is run.
#[must_use = "an operation does nothing before it is run"]
pub struct Search<'b, F> {
    blas: &'b Blas,
    operation: &'static str,
    count: Result<usize>,
    /// Whether indices need more than 32 bits.
    wide: bool,
    enqueue: F,
}

impl<'b, F: FnOnce(Indices<'_, '_>) -> Result<()>> Search<'b, F> {
    pub(crate) fn new(
        blas: &'b Blas,
        operation: &'static str,
        parts: &[Part],
        sizes: &[i64],
        enqueue: F,
    ) -> Self {
        let count = form(operation, parts).map(|(_, count)| count);
        let wide = !sizes.iter().all(|size| is_narrow(*size));
        Self { blas, operation, count, wide, enqueue }
    }

    /// Enqueues the operation, waits for it, and returns the index of the element, counted from zero, or
    /// `None` if there are no elements.
    ///
    /// # Errors
    /// As [`Scaled::run`]; [`Error::BatchCount`] if the operand is a batch.
    pub fn run(self) -> Result<Option<usize>> {
        let operation = self.operation;
        let all = self.run_all()?;
        match all.as_slice() {
            [result] => Ok(*result),
            _ => Err(Error::BatchCount { operation, operand: "x", expected: 1, got: all.len() }),
        }
    }

    /// Enqueues the operation, waits for it, and returns the indices, one for each operation of the batch.
    ///
    /// # Errors
    /// As [`Scaled::run`].
    pub fn run_all(self) -> Result<Vec<Option<usize>>> {
        let Self { blas, count, wide, enqueue, .. } = self;
        // The functions count from one, and return zero if there are no elements.
        let place = |index: i64| usize::try_from(index).ok().and_then(|index| index.checked_sub(1));
        if wide {
            let indices = download::<i64>(blas, count?, |results| enqueue(Indices::Wide(results)))?;
            return Ok(indices.into_iter().map(place).collect());
        }
        let indices = download::<i32>(blas, count?, |results| enqueue(Indices::Narrow(results)))?;
        Ok(indices.into_iter().map(|index| place(index.into())).collect())
    }

    /// Enqueues the operation and writes its results to device memory, one for each operation of the batch;
    /// does not wait.
    /// Indices are counted from one, and zero if there are no elements.
    ///
    /// # Errors
    /// As [`Scaled::run`]; [`Error::Wide`] if an index may be beyond 32 bits.
    pub fn run_into<'r>(self, results: impl Into<DeviceSliceMut<'r, i32>>) -> Result<()> {
        self.count?;
        if self.wide {
            return Err(Error::Wide { function: self.operation });
        }
        (self.enqueue)(Indices::Narrow(&mut results.into()))
    }

    /// The same with 64-bit results.
    ///
    /// # Errors
    /// As [`Scaled::run`].
    pub fn run_into_64<'r>(self, results: impl Into<DeviceSliceMut<'r, i64>>) -> Result<()> {
        self.count?;
        (self.enqueue)(Indices::Wide(&mut results.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{MatrixLayout, VectorLayout};

    fn part(batch: Batch, written: bool) -> Part {
        Part { operand: "a", batch, written }
    }

    #[test]
    fn single_operands_serve_batches_and_do_not_take_their_results() {
        let strided = |count, stride| Batch::Strided { count, stride };
        let pointers = |count| Batch::Pointers { count };
        let get = |parts: &[Part]| form("gemm", parts).ok();
        assert_eq!(get(&[]), Some((Form::One, 1)));
        assert_eq!(get(&[part(Batch::One, false), part(Batch::One, true)]), Some((Form::One, 1)));
        let batched = [part(Batch::One, false), part(strided(3, 9), false), part(strided(3, 4), true)];
        assert_eq!(get(&batched), Some((Form::Strided, 3)));
        assert_eq!(get(&[part(strided(3, 9), false), part(pointers(3), true)]), Some((Form::Many, 3)));
        assert_eq!(get(&[part(strided(3, 9), false), part(Batch::One, true)]), None);
        assert_eq!(get(&[part(strided(1, 9), false), part(Batch::One, true)]), Some((Form::Strided, 1)));
        assert_eq!(get(&[part(strided(3, 9), false), part(strided(2, 9), true)]), None);
        // All results would go to one place.
        assert_eq!(get(&[part(strided(3, 9), false), part(strided(3, 0), true)]), None);
        assert_eq!(get(&[part(strided(0, 0), false), part(pointers(0), true)]), Some((Form::Many, 0)));
        let error = form("gemm", &[part(pointers(3), false), part(pointers(4), true)]).unwrap_err();
        assert_eq!(error.to_string(), "gemm: `a` is a batch of 4, 3 are needed");
    }

    #[test]
    fn what_does_not_fit_into_32_bits_is_wide() {
        assert!(is_narrow(0) && is_narrow(i32::MAX.into()) && is_narrow(-i64::from(i32::MAX)));
        assert!(!is_narrow(i64::from(i32::MAX) + 1) && !is_narrow(i32::MIN.into()));
        let part = reads("x", &VectorLayout::new(3).with_batch(2, 8));
        assert_eq!(part.batch, Batch::Strided { count: 2, stride: 8 });
        assert!(writes("c", &MatrixLayout::row_major(1, 1)).written);
    }
}
