//! Work of several GPUs together.

use rccl::{Communicator, Op};

use super::work::{Work, for_float, unsupported};
use crate::error::Result;
use crate::{DType, Tensor, check};

pub(super) fn all_reduce(work: &Work<'_>, communicator: &Communicator, x: &Tensor) -> Result<()> {
    let operation = "all_reduce";
    for_float!(operation, x, [x], T => {
        let elements = work.dense_mut::<T>(operation, "x", x)?;
        Ok(communicator.all_reduce_in_place(&work.stream, elements, Op::Sum)?)
    })
}

pub(super) fn all_gather(
    work: &Work<'_>,
    communicator: &Communicator,
    x: &Tensor,
    out: &Tensor,
) -> Result<()> {
    let operation = "all_gather";
    if !x.dtype().is_float() && x.dtype() != DType::U32 {
        return Err(unsupported(operation, &[x, out]));
    }
    let (from, to) = (x.as_bytes()?, out.as_bytes()?);
    check::dense(operation, "out", out)?;
    let received = work.write::<u8>(operation, &to)?;
    Ok(communicator.all_gather(&work.stream, work.read::<u8>(operation, &from)?, received)?)
}
