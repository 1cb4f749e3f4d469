//! Embedding look-up.

use hip::{DeviceCopy, DeviceSlice, DeviceSliceMut, Stream};

use crate::error::{Error, Result, check_length};
use crate::launch::launch_1d;
use crate::library::Kernels;
use crate::{Float, modules};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i64 {}
}

/// A type of token ids and of positions: u32 or i64.
pub trait TokenId: DeviceCopy + sealed::Sealed {
    /// The name's part in kernel names.
    #[doc(hidden)]
    const SUFFIX: usize;
}
impl TokenId for u32 {
    const SUFFIX: usize = 0;
}
impl TokenId for i64 {
    const SUFFIX: usize = 1;
}

impl Kernels {
    /// Copies row `ids[t]` of `table`, whose rows have `width` elements, to row `t` of `out`. An id that is
    /// not in the table, such as a negative one, gives a row of zeros.
    ///
    /// # Errors
    /// [`Error::Size`] if `width` is zero or does not divide the table, [`Error::Length`] if `out` does not
    /// have a row for each id; [`Error::Hip`].
    pub fn embedding<'a, T: Float<Compute = f32>, I: TokenId>(
        &'a self,
        stream: &'a Stream,
        table: impl Into<DeviceSlice<'a, T>>,
        width: usize,
        ids: impl Into<DeviceSlice<'a, I>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (table, ids, out) = (table.into(), ids.into(), out.into());
        let operation = "embedding";
        if width == 0 || table.len() % width != 0 {
            let problem = "must be at least 1 and divide the number of elements of the table";
            return Err(Error::Size { operation, parameter: "width", got: width, problem });
        }
        check_length(operation, "out", out.len(), ids.len().saturating_mul(width))?;
        if out.is_empty() {
            return Ok(());
        }
        let (tokens, rows, row_bytes) = (ids.len(), table.len() / width, width * size_of::<T>());
        let name = ["embedding_u32", "embedding_i64"][I::SUFFIX];
        // a work-item copies at most 16 bytes
        let launch =
            launch_1d(self.function(&modules::EMBEDDING, name)?, stream, tokens * row_bytes.div_ceil(16));
        let launch = launch
            .arg(table.as_bytes())
            .arg(ids)
            .arg(out.cast_mut::<u8>()?)
            .arg(tokens)
            .arg(row_bytes)
            .arg(rows);
        // SAFETY: the kernel reads rows below `rows` of the table and writes `tokens` rows of `out`; the size
        // of an element is a multiple of two bytes.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
