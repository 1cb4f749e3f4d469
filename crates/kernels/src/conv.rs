//! Convolutions, pools and resizing.

use half::{bf16, f16};
use hip::{DeviceBuffer, Stream};

use crate::elementwise::info::{check_contiguous, check_devices, operand, shaped};
use crate::elementwise::run;
use crate::error::{Error, Result};
use crate::library::{Kernels, Names, names};
use crate::view::{Layout, View, ViewMut};
use crate::{Number, modules};

/// Kernels by number of dimensions: of a convolution, and of a transposed one.
static CONVOLUTIONS: [[(&str, Names); 2]; 2] = [
    [("conv1d", names!("conv1d")), ("conv_transpose1d", names!("conv_transpose1d"))],
    [("conv2d", names!("conv2d")), ("conv_transpose2d", names!("conv_transpose2d"))],
];
/// The farthest place of an output among the inputs: f64 represents every whole number up to it.
const MOST_PLACES: f64 = (1_u64 << 53) as f64;

/// A type that convolutions, pools and resizing exist for: f32, f16, bf16, f64, u8 and u32. Sums of 16-bit
/// floats are computed in f32, those of other types in the type itself. Integers wrap around.
///
/// ```compile_fail,E0277
/// fn convolves<T: kernels::ConvElement>() {}
/// convolves::<i64>();
/// ```
pub trait ConvElement: Number {}
macro_rules! conv_elements {
    ($($type:ident),*) => { $(impl ConvElement for $type {})* };
}
conv_elements!(f32, f16, bf16, f64, u8, u32);

pub(crate) mod sealed {
    pub trait Dimensions {
        const INDEX: usize;
    }
    impl Dimensions for super::Conv<1> {
        const INDEX: usize = 0;
    }
    impl Dimensions for super::Conv<2> {
        const INDEX: usize = 1;
    }
}

/// A convolution of one or two dimensions, as layers compute it: the kernel is not mirrored, and each output
/// channel is the sum over all input channels. Input and weights may have any strides; the output is
/// contiguous.
///
/// | tensor | shape |
/// |---|---|
/// | input | batch × in channels × input |
/// | weights | out channels × in channels × kernel; transposed: in channels × out channels × kernel |
/// | output | batch × out channels × [`output`](Self::output) |
///
/// ```
/// use kernels::{Conv1d, Conv2d};
///
/// # fn main() -> kernels::Result<()> {
/// // 16 channels of 3; every other pixel
/// let image = Conv2d::new(1, 3, 16, [224, 160], [3, 3]).stride(2).padding(1);
/// assert_eq!(image.output()?, [112, 80]);
/// let sound = Conv1d::new(1, 64, 32, [100], [4]).stride(2).padding(1).transposed(0);
/// assert_eq!(sound.output()?, [200]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv<const D: usize> {
    /// Inputs.
    pub batch: usize,
    /// Channels of each input. Without any, outputs are zeros.
    pub in_channels: usize,
    /// Channels of each output.
    pub out_channels: usize,
    /// Extents of a channel of the input, outermost first.
    pub input: [usize; D],
    /// Extents of a kernel, outermost first.
    pub kernel: [usize; D],
    /// The distance from one place of the kernel to the next, in each dimension. In a transposed convolution,
    /// the distance from one input's outputs to the next input's.
    pub stride: usize,
    /// The number of zeros at each end of each dimension of the input. In a transposed convolution, the
    /// number of outputs left out there.
    pub padding: usize,
    /// The distance from one element of the kernel to the next, in each dimension.
    pub dilation: usize,
    /// The convolution is transposed: each input is spread over the outputs that it would be computed from.
    /// The value is the number of extra outputs at the end of each dimension; it is less than the stride or
    /// the dilation.
    pub transposed: Option<usize>,
}

/// A convolution of one dimension.
pub type Conv1d = Conv<1>;
/// A convolution of two dimensions: rows, then columns.
pub type Conv2d = Conv<2>;

impl<const D: usize> Conv<D>
where
    Self: sealed::Dimensions,
{
    /// Stride and dilation are 1; there is no padding.
    #[must_use]
    pub fn new(
        batch: usize,
        in_channels: usize,
        out_channels: usize,
        input: [usize; D],
        kernel: [usize; D],
    ) -> Self {
        Self {
            batch,
            in_channels,
            out_channels,
            input,
            kernel,
            stride: 1,
            padding: 0,
            dilation: 1,
            transposed: None,
        }
    }

    /// From one place of the kernel to the next.
    #[must_use]
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Zeros at each end.
    #[must_use]
    pub fn padding(self, padding: usize) -> Self {
        Self { padding, ..self }
    }

    /// From one element of the kernel to the next.
    #[must_use]
    pub fn dilation(self, dilation: usize) -> Self {
        Self { dilation, ..self }
    }

    /// The transposed convolution, with this many extra outputs at the end.
    #[must_use]
    pub fn transposed(self, out_padding: usize) -> Self {
        Self { transposed: Some(out_padding), ..self }
    }

    /// Extents of a channel of the output, outermost first.
    ///
    /// # Errors
    /// [`Error::Size`] if stride, dilation or an extent of the kernel is zero, the kernel exceeds the padded
    /// input, an output padding is not less than the stride or the dilation, there would be no output, or
    /// sizes overflow.
    pub fn output(&self) -> Result<[usize; D]> {
        let least = [("stride", self.stride), ("dilation", self.dilation)];
        for (parameter, got) in least.into_iter().chain(self.kernel.map(|extent| ("kernel", extent))) {
            if got == 0 {
                return self.size(parameter, got, "must be at least 1");
            }
        }
        let mut output = [0; D];
        for ((out, &extent), &kernel) in output.iter_mut().zip(&self.input).zip(&self.kernel) {
            *out = match self.transposed {
                None => self.convolved(extent, kernel)?,
                Some(out_padding) => self.spread(extent, kernel, out_padding)?,
            };
        }
        Ok(output)
    }

    fn convolved(&self, extent: usize, kernel: usize) -> Result<usize> {
        let padded = self.padding.checked_mul(2).and_then(|padding| extent.checked_add(padding));
        let Some(padded) = padded else {
            return self.size("padding", self.padding, "so large that sizes overflow");
        };
        // The distance from the first to the last input that a kernel covers.
        let covered = self.dilation.checked_mul(kernel - 1).filter(|&covered| covered < padded);
        match covered {
            Some(covered) => Ok((padded - covered - 1) / self.stride + 1),
            None => self.size("kernel", kernel, "more than the padded input has, with its dilation"),
        }
    }

    fn spread(&self, extent: usize, kernel: usize, out_padding: usize) -> Result<usize> {
        if extent == 0 {
            return self.size("input", extent, "must be at least 1");
        }
        if out_padding >= self.stride.max(self.dilation) {
            return self.size("out_padding", out_padding, "must be less than the stride or the dilation");
        }
        let all = (extent - 1).checked_mul(self.stride).zip(self.dilation.checked_mul(kernel - 1));
        let all = all.and_then(|(starts, covered)| starts.checked_add(covered)?.checked_add(1 + out_padding));
        let Some(all) = all else {
            return self.size("input", extent, "so large that sizes overflow");
        };
        match self.padding.checked_mul(2).and_then(|padding| all.checked_sub(padding)) {
            Some(out) if out > 0 => Ok(out),
            _ => self.size("padding", self.padding, "so large that there is no output"),
        }
    }

    fn size<T>(&self, parameter: &'static str, got: usize, problem: &'static str) -> Result<T> {
        Err(Error::Size { operation: self.names().0, parameter, got, problem })
    }

    fn names(&self) -> &'static (&'static str, Names) {
        &CONVOLUTIONS[<Self as sealed::Dimensions>::INDEX][usize::from(self.transposed.is_some())]
    }
}

/// Pooling: one output for each place of a window, without padding. Input and output are batch × channels ×
/// rows × columns; the input may have any strides, the output is contiguous.
///
/// ```
/// let pool = kernels::Pool2d::new(1, 64, [15, 12], [3, 2]).stride([2, 1]);
/// assert_eq!(pool.output().unwrap(), [7, 11]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2d {
    /// Inputs.
    pub batch: usize,
    /// Channels; each is pooled on its own.
    pub channels: usize,
    /// Rows and columns of the input.
    pub input: [usize; 2],
    /// Rows and columns of a window.
    pub window: [usize; 2],
    /// Rows and columns from one window to the next.
    pub stride: [usize; 2],
}

impl Pool2d {
    /// Each window begins where the last one ends.
    #[must_use]
    pub fn new(batch: usize, channels: usize, input: [usize; 2], window: [usize; 2]) -> Self {
        Self { batch, channels, input, window, stride: window }
    }

    /// Rows and columns from one window to the next.
    #[must_use]
    pub fn stride(self, stride: [usize; 2]) -> Self {
        Self { stride, ..self }
    }

    /// Rows and columns of the output.
    ///
    /// # Errors
    /// [`Error::Size`] if a window or stride is zero or a window exceeds the input.
    pub fn output(&self) -> Result<[usize; 2]> {
        self.output_of("pool2d")
    }

    fn output_of(&self, operation: &'static str) -> Result<[usize; 2]> {
        let size = |parameter, got, problem| Err(Error::Size { operation, parameter, got, problem });
        let mut output = [0; 2];
        for (axis, out) in output.iter_mut().enumerate() {
            let (extent, window, stride) = (self.input[axis], self.window[axis], self.stride[axis]);
            if stride == 0 {
                return size("stride", stride, "must be at least 1");
            }
            if window == 0 || window > extent {
                return size("window", window, "must be at least 1, and at most the input");
            }
            *out = (extent - window) / stride + 1;
        }
        Ok(output)
    }
}

/// Resizing, up or down. Input and output are batch × channels × rows × columns; the input may have any
/// strides, the output is contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize2d {
    /// Inputs.
    pub batch: usize,
    /// Channels; each is resized on its own.
    pub channels: usize,
    /// Rows and columns of the input.
    pub input: [usize; 2],
    /// Rows and columns of the output.
    pub output: [usize; 2],
}

impl Resize2d {
    /// From `input` to `output` rows and columns.
    #[must_use]
    pub fn new(batch: usize, channels: usize, input: [usize; 2], output: [usize; 2]) -> Self {
        Self { batch, channels, input, output }
    }

    fn check(&self, operation: &'static str) -> Result<()> {
        if self.input.contains(&0) && !self.output.contains(&0) {
            let problem = "must be at least 1 in each dimension";
            return Err(Error::Size { operation, parameter: "input", got: 0, problem });
        }
        Ok(())
    }
}

/// Where outputs of a bilinear resizing lie between inputs, before the edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PixelGrid {
    /// Pixels are squares, and both images cover the same area: output i is at `(i + ½) · input / output -
    /// ½`.
    Areas,
    /// As areas, but with these factors for rows and columns instead of `output / input`.
    Scaled([f64; 2]),
    /// The first and last pixels of both images are at the same places: output i is at `i · (input - 1) /
    /// (output - 1)`.
    Corners,
}

/// The shape of batch × channels × extents.
pub(crate) fn shape(batch: usize, channels: usize, extents: &[usize]) -> Vec<usize> {
    [&[batch, channels], extents].concat()
}

/// Extents and strides of each tensor, in device memory.
pub(crate) fn info(stream: &Stream, tensors: &[Layout]) -> Result<DeviceBuffer<u64>> {
    let array: Vec<u64> =
        tensors.iter().flat_map(|t| t.shape().iter().chain(t.strides())).map(|&n| n as u64).collect();
    Ok(DeviceBuffer::from_slice(stream, &array)?)
}

/// Extents and strides are always uploaded: none of these operations can be captured into a graph.
impl Kernels {
    /// A convolution or a transposed one. `x` and `weights` may have any strides.
    ///
    /// # Errors
    /// [`Error::Size`] as of [`Conv::output`], [`Error::Layout`] for a tensor that cannot be addressed,
    /// [`Error::Shape`] or [`Error::Length`] if one has another shape, [`Error::NotContiguous`] of `out`;
    /// [`Error::Hip`].
    #[doc(alias = "conv1d")]
    #[doc(alias = "conv2d")]
    #[doc(alias = "conv_transpose1d")]
    #[doc(alias = "conv_transpose2d")]
    pub fn conv<'a, T: ConvElement, const D: usize>(
        &'a self,
        stream: &'a Stream,
        conv: &Conv<D>,
        x: impl Into<View<'a, T>>,
        weights: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()>
    where
        Conv<D>: sealed::Dimensions,
    {
        let (x, weights, out) = (x.into(), weights.into(), out.into());
        let (operation, names) = conv.names();
        let output = conv.output()?;
        let out_shape = shape(conv.batch, conv.out_channels, &output);
        let elements = Layout::contiguous(&out_shape)?.elements();
        let from = shaped(operation, operand!(x), &shape(conv.batch, conv.in_channels, &conv.input))?;
        let (outer, inner) = match conv.transposed {
            None => (conv.out_channels, conv.in_channels),
            Some(_) => (conv.in_channels, conv.out_channels),
        };
        let with = shaped(operation, operand!(weights), &shape(outer, inner, &conv.kernel))?;
        shaped(operation, operand!(out), &out_shape)?;
        check_contiguous(operation, operand!(out))?;
        let memory =
            [("x", x.slice.device()), ("weights", weights.slice.device()), ("out", out.slice.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        if elements == 0 {
            return Ok(());
        }
        let info = info(stream, &[from, with])?;
        let mut launch = self.of::<T>(&modules::CONV, names)?.launch(stream).arg(from.elements());
        // Columns come before rows here.
        for extent in output.into_iter().rev() {
            launch = launch.arg(extent);
        }
        launch = launch.arg(conv.stride).arg(conv.padding);
        if let Some(out_padding) = conv.transposed {
            launch = launch.arg(out_padding);
        }
        let launch = launch.arg(conv.dilation).arg(&info);
        let launch = launch.arg(x.memory()?).arg(weights.memory()?).arg(out.into_memory()?);
        // SAFETY: the kernel writes batch·out_channels·output elements, and reads x and the weights within
        // the extents in `info`, which the views have. `output` has made sure that no place overflows.
        unsafe { run(elements, launch) }
    }

    /// The average of each window. Averages of integers are rounded towards zero. `x` may have any strides.
    ///
    /// # Errors
    /// [`Error::Size`] as of [`Pool2d::output`], [`Error::Layout`] for a tensor that cannot be addressed,
    /// [`Error::Shape`] or [`Error::Length`] if one has another shape, [`Error::NotContiguous`] of `out`;
    /// [`Error::Hip`].
    pub fn avg_pool2d<'a, T: ConvElement>(
        &'a self,
        stream: &'a Stream,
        pool: &Pool2d,
        x: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        self.pool2d(stream, "avg_pool2d", &names!("avg_pool2d"), pool, x.into(), out.into())
    }

    /// The largest element of each window. The search begins at the window's first element: a NaN there is
    /// the result; a NaN elsewhere is ignored. `x` may have any strides.
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    pub fn max_pool2d<'a, T: ConvElement>(
        &'a self,
        stream: &'a Stream,
        pool: &Pool2d,
        x: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        self.pool2d(stream, "max_pool2d", &names!("max_pool2d"), pool, x.into(), out.into())
    }

    fn pool2d<'a, T: ConvElement>(
        &'a self,
        stream: &'a Stream,
        operation: &'static str,
        names: &Names,
        pool: &Pool2d,
        x: View<'a, T>,
        out: ViewMut<'a, T>,
    ) -> Result<()> {
        let output = pool.output_of(operation)?;
        let (from, elements) =
            self.channels(stream, operation, (pool.batch, pool.channels), (pool.input, output), &x, &out)?;
        if elements == 0 {
            return Ok(());
        }
        let info = info(stream, &[from])?;
        let launch = self.of::<T>(&modules::CONV, names)?.launch(stream).arg(from.elements());
        let launch = pool.window.into_iter().chain(pool.stride).fold(launch, |launch, size| launch.arg(size));
        let launch = launch.arg(&info).arg(x.memory()?).arg(out.into_memory()?);
        // SAFETY: the kernel writes batch·channels·output elements, and reads the windows of x, which lie
        // within the extents in `info`, which the view has.
        unsafe { run(elements, launch) }
    }

    /// Resizing by the nearest preceding input: output i is input `⌊i · input / output⌋`, in each dimension.
    /// That is exact where `input · output` is less than 2⁵⁰. `x` may have any strides.
    ///
    /// # Errors
    /// [`Error::Size`] if the input is empty and the output is not, [`Error::Layout`] for a tensor that
    /// cannot be addressed, [`Error::Shape`] or [`Error::Length`] if one has another shape,
    /// [`Error::NotContiguous`] of `out`; [`Error::Hip`].
    pub fn upsample_nearest2d<'a, T: ConvElement>(
        &'a self,
        stream: &'a Stream,
        resize: &Resize2d,
        x: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, out) = (x.into(), out.into());
        let (from, elements) = self.resized(stream, "upsample_nearest2d", resize, &x, &out)?;
        if elements == 0 {
            return Ok(());
        }
        let info = info(stream, &[from])?;
        let [h_out, w_out] = resize.output;
        // The next f64 above the quotient, so that rounding does not decrease products that are whole
        // numbers.
        let scale = |axis: usize| (resize.input[axis] as f64 / resize.output[axis] as f64).next_up();
        let kernel = self.of::<T>(&modules::CONV, &names!("upsample_nearest2d"))?;
        let launch = kernel.launch(stream).arg(h_out).arg(w_out).arg(scale(0)).arg(scale(1));
        let launch = launch.arg(&info).arg(x.memory()?).arg(out.into_memory()?);
        // SAFETY: the kernel writes batch·channels·output elements, and reads x within the extents in `info`,
        // which the view has and which are not zero. Places beyond the last input are limited to it.
        unsafe { run(elements, launch) }
    }

    /// Resizing by linear interpolation in both dimensions, in f64. Outputs beyond the first or last input
    /// take its value. Integers are rounded towards zero. `x` may have any strides.
    ///
    /// # Errors
    /// As [`upsample_nearest2d`](Self::upsample_nearest2d), and [`Error::Value`] for a factor that is not
    /// positive and finite, or gives places beyond 2⁵³.
    pub fn upsample_bilinear2d<'a, T: ConvElement>(
        &'a self,
        stream: &'a Stream,
        resize: &Resize2d,
        grid: PixelGrid,
        x: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, out) = (x.into(), out.into());
        let operation = "upsample_bilinear2d";
        if let PixelGrid::Scaled(factors) = grid {
            for (got, out) in factors.into_iter().zip(resize.output) {
                let farthest = (out as f64 + 0.5) / got;
                if !(got > 0.0 && got.is_finite() && farthest <= MOST_PLACES) {
                    let problem = "must be positive and finite, and give no place beyond 2^53";
                    return Err(Error::Value { operation, parameter: "factor", got, problem });
                }
            }
        }
        let (from, elements) = self.resized(stream, operation, resize, &x, &out)?;
        if elements == 0 {
            return Ok(());
        }
        let info = info(stream, &[from])?;
        let (has_factors, [h_factor, w_factor]) = match grid {
            PixelGrid::Scaled(factors) => (true, factors),
            PixelGrid::Areas | PixelGrid::Corners => (false, [1.0; 2]),
        };
        let [h_out, w_out] = resize.output;
        let kernel = self.of::<T>(&modules::CONV, &names!("upsample_bilinear2d"))?;
        let launch = kernel.launch(stream).arg(w_out).arg(h_out).arg(grid == PixelGrid::Corners);
        let launch = launch.arg(has_factors).arg(h_factor).arg(has_factors).arg(w_factor);
        let launch = launch.arg(&info).arg(x.memory()?).arg(out.into_memory()?);
        // SAFETY: as for `upsample_nearest2d`; in each dimension, both inputs around an output are limited to
        // the last one.
        unsafe { run(elements, launch) }
    }

    /// Checks a resizing: the input's layout, and the number of outputs.
    fn resized<T: ConvElement>(
        &self,
        stream: &Stream,
        operation: &'static str,
        resize: &Resize2d,
        x: &View<'_, T>,
        out: &ViewMut<'_, T>,
    ) -> Result<(Layout, usize)> {
        resize.check(operation)?;
        let extents = (resize.input, resize.output);
        self.channels(stream, operation, (resize.batch, resize.channels), extents, x, out)
    }

    /// Checks tensors of this many inputs and channels whose extents change: the input's layout, and the
    /// number of outputs.
    fn channels<T: ConvElement>(
        &self,
        stream: &Stream,
        operation: &'static str,
        (batch, channels): (usize, usize),
        (input, output): ([usize; 2], [usize; 2]),
        x: &View<'_, T>,
        out: &ViewMut<'_, T>,
    ) -> Result<(Layout, usize)> {
        let out_shape = shape(batch, channels, &output);
        let elements = Layout::contiguous(&out_shape)?.elements();
        let from = shaped(operation, operand!(x), &shape(batch, channels, &input))?;
        shaped(operation, operand!(out), &out_shape)?;
        check_contiguous(operation, operand!(out))?;
        let memory = [("x", x.slice.device()), ("out", out.slice.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        Ok((from, elements))
    }
}
