//! Operators of reductions: the built-in ones, and those that a program makes.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use rccl_sys::{ncclRedOp_t, ncclScalarResidence_t};

use crate::communicator::{Communicator, Inner};
use crate::element::{Element, Op};
use crate::error::Result;

/// A sum in which the elements of each rank are first multiplied by a number of its own
/// (`ncclRedOpCreatePreMulSum`). Made by [`Communicator::scaled_sum`].
#[doc(alias = "ncclRedOpCreatePreMulSum")]
pub struct Scaled<T: Element> {
    inner: Arc<Inner>,
    raw: ncclRedOp_t,
    marker: PhantomData<T>,
}

impl Communicator {
    /// Makes an operator: the sum of all ranks' elements, where this rank's elements are multiplied by
    /// `scale` first. Every rank of the operation passes an operator of its own (`ncclRedOpCreatePreMulSum`).
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), [`Error::Aborted`](crate::Error::Aborted), else
    /// [`Error::Rccl`](crate::Error::Rccl).
    pub fn scaled_sum<T: Element>(&self, scale: T) -> Result<Scaled<T>> {
        const NAME: &str = "ncclRedOpCreatePreMulSum";
        let inner = self.inner();
        inner.has(NAME)?;
        let mut raw = ncclRedOp_t::ncclSum;
        let mut scale = scale;
        let residence = ncclScalarResidence_t::ncclScalarHostImmediate;
        inner.with_handle(NAME, |table, handle| {
            let scale: *mut c_void = (&raw mut scale).cast();
            // SAFETY: the handle is live; the number is read before the call returns, and the operator is
            // valid for writes.
            unsafe { (table.ncclRedOpCreatePreMulSum)(&raw mut raw, scale, T::TYPE, residence, handle) }
        })?;
        Ok(Scaled { inner: inner.clone(), raw, marker: PhantomData })
    }
}

impl<T: Element> Scaled<T> {
    pub(crate) fn raw(&self) -> ncclRedOp_t {
        self.raw
    }

    /// The communicator that it belongs to.
    pub(crate) fn communicator(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }
}

impl<T: Element> Drop for Scaled<T> {
    fn drop(&mut self) {
        let raw = self.raw;
        // SAFETY: this value owns the operator; operations that use it are enqueued already, and keep what
        // they need.
        let destroyed = self.inner.with_handle("ncclRedOpDestroy", |table, handle| unsafe {
            (table.ncclRedOpDestroy)(raw, handle)
        });
        if let Err(error) = destroyed {
            tracing::debug!(%error, "the operator was destroyed with its communicator");
        }
    }
}

impl<T: Element> fmt::Debug for Scaled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scaled").field("type", &std::any::type_name::<T>()).field("op", &self.raw).finish()
    }
}

/// An operator of a reduction: an [`Op`], or a [`Scaled`] sum made by the communicator.
#[derive(Clone, Copy, Debug)]
pub struct Reduction<'a, T: Element>(Kind<'a, T>);

#[derive(Clone, Copy, Debug)]
enum Kind<'a, T: Element> {
    BuiltIn(Op),
    Scaled(&'a Scaled<T>),
}

impl<T: Element> Reduction<'_, T> {
    /// The raw operator, and the communicator that it belongs to, if any.
    pub(crate) fn raw(&self) -> (ncclRedOp_t, Option<usize>) {
        match &self.0 {
            Kind::BuiltIn(op) => (op.raw(), None),
            Kind::Scaled(scaled) => (scaled.raw(), Some(scaled.communicator())),
        }
    }
}

impl<T: Element> From<Op> for Reduction<'_, T> {
    fn from(op: Op) -> Self {
        Self(Kind::BuiltIn(op))
    }
}

impl<'a, T: Element> From<&'a Scaled<T>> for Reduction<'a, T> {
    fn from(scaled: &'a Scaled<T>) -> Self {
        Self(Kind::Scaled(scaled))
    }
}
