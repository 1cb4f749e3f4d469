//! Convolutions as matrix products: copies windows, and adds up what windows spread.

use hip::Stream;

use crate::conv::{info, sealed, shape};
use crate::elementwise::info::{check_contiguous, check_devices, operand, shaped};
use crate::elementwise::run;
use crate::error::{Error, Result};
use crate::library::{Kernels, Names, names};
use crate::view::{Layout, View, ViewMut};
use crate::{Conv, Conv1d, ConvElement, modules};

/// Kernels by number of dimensions.
static IM2COL: [(&str, Names); 2] = [("im2col1d", names!("im2col1d")), ("im2col", names!("im2col"))];

impl<const D: usize> Conv<D>
where
    Self: sealed::Dimensions,
{
    /// The shape of the result of [`Kernels::im2col`]: batch × outputs of a channel × elements of a window.
    ///
    /// ```
    /// let conv = kernels::Conv2d::new(8, 3, 16, [30, 20], [3, 3]).stride(2).padding(1);
    /// assert_eq!(conv.windows().unwrap(), [8, 15 * 10, 3 * 3 * 3]);
    /// ```
    ///
    /// # Errors
    /// As [`output`](Self::output); [`Error::Size`] for a transposed convolution; [`Error::Layout`] for more
    /// elements than can be addressed.
    pub fn windows(&self) -> Result<[usize; 3]> {
        let operation = IM2COL[<Self as sealed::Dimensions>::INDEX].0;
        if self.transposed.is_some() {
            let problem = "must be 0: a transposed convolution has no windows of inputs";
            return Err(Error::Size { operation, parameter: "transposed", got: 1, problem });
        }
        let output = self.output()?;
        // Refuses overflows.
        Layout::contiguous(&[&shape(self.batch, self.in_channels, &output), &self.kernel[..]].concat())?;
        let window = self.kernel.iter().product::<usize>() * self.in_channels;
        Ok([self.batch, output.iter().product(), window])
    }
}

/// [`im2col`](Kernels::im2col) always uploads extents and strides of `x`, so it cannot be captured into a
/// graph.
impl Kernels {
    /// The elements of `x` under the kernel at each output, with zeros for padding. `columns` is batch ×
    /// outputs × window ([`Conv::windows`]): outputs are places in row-major order, and a window is the input
    /// channels × the extents of the kernel.
    ///
    /// The convolution is then the product of the weights, a matrix of output channels × window, and the
    /// transpose of each matrix of windows. `x` may have any strides; `columns` is contiguous. The number of
    /// output channels does not matter.
    ///
    /// # Errors
    /// [`Error::Size`] and [`Error::Layout`] as of [`Conv::windows`], [`Error::Shape`] or [`Error::Length`]
    /// if a tensor has another shape, [`Error::NotContiguous`] of `columns`; [`Error::Hip`].
    #[doc(alias = "im2col1d")]
    #[doc(alias = "unfold")]
    pub fn im2col<'a, T: ConvElement, const D: usize>(
        &'a self,
        stream: &'a Stream,
        conv: &Conv<D>,
        x: impl Into<View<'a, T>>,
        columns: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        Conv<D>: sealed::Dimensions,
    {
        let (x, columns) = (x.into(), columns.into());
        let (operation, names) = &IM2COL[<Conv<D> as sealed::Dimensions>::INDEX];
        let (windows, output) = (conv.windows()?, conv.output()?);
        let from = shaped(operation, operand!(x), &shape(conv.batch, conv.in_channels, &conv.input))?;
        let elements = shaped(operation, operand!(columns), &windows)?.elements();
        check_contiguous(operation, operand!(columns))?;
        let memory = [("x", x.slice.device()), ("columns", columns.slice.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        if elements == 0 {
            return Ok(());
        }
        // In one dimension, a work-item copies all elements of a channel in a window.
        let items = if D == 1 { elements / conv.kernel[0] } else { elements };
        let info = info(stream, &[from])?;
        let launch = self.of::<T>(&modules::CONV, names)?.launch(stream).arg(items);
        let launch = output.into_iter().chain(conv.kernel).fold(launch, |launch, size| launch.arg(size));
        let launch = launch.arg(conv.stride).arg(conv.padding).arg(conv.dilation).arg(&info);
        let launch = launch.arg(x.memory()?).arg(columns.into_memory()?);
        // SAFETY: the kernel writes batch·output·in_channels·kernel elements, and reads x within the extents
        // in `info`, which the view has. `output` has made sure that no place overflows.
        unsafe { run(items, launch) }
    }

    /// A one-dimensional transposed convolution from matrix products: adds up what each input spreads over
    /// the outputs. `columns` is batch × inputs × (output channels × kernel), the products of each input's
    /// channels with the weights; `out` is batch × output channels × [`output`](Conv::output). Sums of 16-bit
    /// floats are computed in f32. Both are contiguous.
    ///
    /// There is neither padding nor dilation. The number of input channels does not matter.
    ///
    /// # Errors
    /// [`Error::Size`] as of [`Conv::output`], and for a convolution that is not transposed or has padding or
    /// dilation; [`Error::Layout`] for a tensor that cannot be addressed, [`Error::Shape`] or
    /// [`Error::Length`] if one has another shape, [`Error::NotContiguous`]; [`Error::Hip`].
    #[doc(alias = "fold")]
    pub fn col2im1d<'a, T: ConvElement>(
        &'a self,
        stream: &'a Stream,
        conv: &Conv1d,
        columns: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (columns, out) = (columns.into(), out.into());
        let operation = "col2im1d";
        let wrong = |parameter, got, problem| Err(Error::Size { operation, parameter, got, problem });
        if conv.transposed.is_none() {
            return wrong("transposed", 0, "must be 1: only transposed convolutions spread their inputs");
        }
        if conv.padding != 0 {
            return wrong("padding", conv.padding, "must be 0");
        }
        if conv.dilation != 1 {
            return wrong("dilation", conv.dilation, "must be 1");
        }
        let ([length], [inputs], [kernel]) = (conv.output()?, conv.input, conv.kernel);
        let out_shape = [conv.batch, conv.out_channels, length];
        let elements = Layout::contiguous(&out_shape)?.elements();
        // Refuses overflows.
        Layout::contiguous(&[conv.batch, inputs, conv.out_channels, kernel])?;
        shaped(operation, operand!(columns), &[conv.batch, inputs, conv.out_channels * kernel])?;
        shaped(operation, operand!(out), &out_shape)?;
        check_contiguous(operation, operand!(columns))?;
        check_contiguous(operation, operand!(out))?;
        let memory = [("columns", columns.slice.device()), ("out", out.slice.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        if elements == 0 {
            return Ok(());
        }
        let launch = self.of::<T>(&modules::CONV, &names!("col2im1d"))?.launch(stream).arg(elements);
        let launch = launch.arg(length).arg(inputs).arg(conv.out_channels).arg(kernel).arg(conv.stride);
        let launch = launch.arg(columns.memory()?).arg(out.into_memory()?);
        // SAFETY: the kernel writes batch·channels·length elements, and reads columns at inputs below
        // `inputs`; the views have all of them.
        unsafe { run(elements, launch) }
    }
}
