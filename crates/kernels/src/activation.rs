//! Activations, alone and gated.

use hip::{DeviceSlice, DeviceSliceMut, Stream};

use crate::elementwise::info::accesses;
use crate::error::{Error, Result, check_length};
use crate::launch::launch_1d;
use crate::library::{Kernels, Names, names};
use crate::{Float, QuantVectors, modules};

/// The function of a gate. Kernels know each by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Activation {
    /// `x / (1 + exp(-x))`; the gated form is SwiGLU's.
    Silu = 0,
    /// The tanh approximation of the Gaussian error linear unit; the gated form is GeGLU's.
    Gelu = 1,
    /// `x · Φ(x)`, with the normal distribution Φ.
    GeluErf = 2,
    /// `max(x, 0)²`.
    Relu2 = 3,
}

impl Activation {
    fn names(self) -> &'static Names {
        match self {
            Self::Silu => &names!("silu_mul"),
            Self::Gelu => &names!("gelu_mul"),
            Self::GeluErf => &names!("gelu_erf_mul"),
            Self::Relu2 => &names!("relu2_mul"),
        }
    }
}

/// What combines a gate with the other factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateFunction {
    /// `f(gate) · up`.
    Product(Activation),
    /// That of [`Kernels::swiglu_oai`].
    SwigluOai {
        /// Factor within the exponential function.
        alpha: f32,
        /// Limit of both.
        limit: f32,
    },
}

/// Rows of both factors of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateRows {
    /// Rows.
    pub rows: usize,
    /// Elements of each.
    pub columns: usize,
    /// From the beginning of a row of the gate to that of the next.
    pub gate_stride: usize,
    /// The same of the other factor.
    pub up_stride: usize,
}

impl GateRows {
    fn check(&self, operation: &'static str, gate: usize, up: usize, out: usize) -> Result<()> {
        let end = |stride: usize| match self.rows {
            0 => 0,
            rows => (rows - 1).saturating_mul(stride).saturating_add(self.columns),
        };
        for (buffer, got, expected) in
            [("gate", gate, end(self.gate_stride)), ("up", up, end(self.up_stride))]
        {
            if got < expected {
                return Err(Error::Length { operation, buffer, expected, got });
            }
        }
        check_length(operation, "out", out, self.rows.saturating_mul(self.columns))
    }
}

impl Kernels {
    /// A gate of rows that may have gaps between them, such as parts of one product. `out` has none.
    ///
    /// # Errors
    /// [`Error::Length`] if a buffer is too short for its rows, or `out` has another size; [`Error::Hip`].
    pub fn gated_rows<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        f: GateFunction,
        by: &GateRows,
        gate: impl Into<DeviceSlice<'a, T>>,
        up: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (gate, up, out) = (gate.into(), up.into(), out.into());
        by.check("gated_rows", gate.len(), up.len(), out.len())?;
        let (names, parameters) = match f {
            GateFunction::Product(f) => (f.names(), [0.0; 2]),
            GateFunction::SwigluOai { alpha, limit } => (&names!("swiglu_oai_mul"), [alpha, limit]),
        };
        let given: &[f32] = if matches!(f, GateFunction::SwigluOai { .. }) { &parameters } else { &[] };
        let shape = (by.rows, by.columns);
        self.launch_gated(stream, (names, given), shape, gate, by.gate_stride, Some(up), by.up_stride, out)
    }

    /// The same by `f(gate) · up`, whose results are quantised as well, as [`quantize`](Self::quantize) does
    /// it. Rows are as long as the vectors.
    ///
    /// # Errors
    /// As [`gated_rows`](Self::gated_rows), and [`Error::Size`] unless there is a vector for each row.
    #[expect(clippy::too_many_arguments, reason = "two operations have this many")]
    pub fn gated_quantized<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        f: Activation,
        by: &GateRows,
        gate: impl Into<DeviceSlice<'a, T>>,
        up: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
        blocks: &'a mut QuantVectors,
    ) -> Result<()> {
        let (gate, up, out) = (gate.into(), up.into(), out.into());
        let operation = "gated_quantized";
        by.check(operation, gate.len(), up.len(), out.len())?;
        for (parameter, got, expected) in
            [("rows", by.rows, blocks.vectors()), ("columns", by.columns, blocks.columns())]
        {
            if got != expected {
                return Err(Error::Size {
                    operation,
                    parameter,
                    got,
                    problem: "must be that of the vectors",
                });
            }
        }
        if out.is_empty() {
            return Ok(());
        }
        let kernel = self.of::<T>(&modules::ACTIVATION, &names!("gated_q8_1"))?;
        let launch = launch_1d(kernel, stream, accesses(out.len(), size_of::<T>()));
        let launch = launch.arg(f as u32).arg(by.rows).arg(by.columns).arg(gate).arg(by.gate_stride);
        let launch = launch.arg(up).arg(by.up_stride).arg(out).arg(blocks.blocks_mut());
        // SAFETY: both factors have the rows, `out` and the blocks as many elements, and rows are whole
        // blocks. A work-item reads what it writes, if `out` is a factor, before it writes it.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// `out = f(gate) · up`, element by element, computed in f32 and rounded once.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length; [`Error::Hip`].
    pub fn gated<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        f: Activation,
        gate: impl Into<DeviceSlice<'a, T>>,
        up: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (gate, up, out) = (gate.into(), up.into(), out.into());
        check_length("gated", "up", up.len(), gate.len())?;
        check_length("gated", "out", out.len(), gate.len())?;
        let columns = gate.len();
        self.launch_gated(stream, (f.names(), &[]), (1, columns), gate, columns, Some(up), columns, out)
    }

    /// The same for one packed tensor: each row has `columns` elements of the gate, then as many of the other
    /// factor. `out` has rows of `columns` elements.
    ///
    /// # Errors
    /// [`Error::Size`] if `columns` is zero or `2 * columns` does not divide the length of `packed`,
    /// [`Error::Length`] if `out` does not have half as many elements; [`Error::Hip`].
    pub fn gated_packed<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        f: Activation,
        packed: impl Into<DeviceSlice<'a, T>>,
        columns: usize,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (packed, out) = (packed.into(), out.into());
        let operation = "gated_packed";
        let row = columns.checked_mul(2).filter(|&row| row > 0 && packed.len() % row == 0);
        let Some(row) = row else {
            let problem = "must be at least 1, and twice that must divide the number of elements";
            return Err(Error::Size { operation, parameter: "columns", got: columns, problem });
        };
        let rows = packed.len() / row;
        check_length(operation, "out", out.len(), rows * columns)?;
        if rows == 0 {
            return Ok(());
        }
        let up = packed.slice(columns..)?;
        self.launch_gated(stream, (f.names(), &[]), (rows, columns), packed, row, Some(up), row, out)
    }

    /// `out = f(x)`, element by element.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length; [`Error::Hip`].
    pub fn activate<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        f: Activation,
        x: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, out) = (x.into(), out.into());
        check_length("activate", "out", out.len(), x.len())?;
        let columns = x.len();
        self.launch_gated(stream, (f.names(), &[]), (1, columns), x, columns, None, columns, out)
    }

    /// GPT-OSS's gate: `out = g / (1 + exp(-alpha · g)) · (u + 1)`, with `g = min(gate, limit)`, and `u = up`
    /// limited to `[-limit, limit]`.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length; [`Error::Hip`].
    pub fn swiglu_oai<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        (alpha, limit): (f32, f32),
        gate: impl Into<DeviceSlice<'a, T>>,
        up: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (gate, up, out) = (gate.into(), up.into(), out.into());
        check_length("swiglu_oai", "up", up.len(), gate.len())?;
        check_length("swiglu_oai", "out", out.len(), gate.len())?;
        let columns = gate.len();
        let by = (&names!("swiglu_oai_mul"), &[alpha, limit][..]);
        self.launch_gated(stream, by, (1, columns), gate, columns, Some(up), columns, out)
    }

    /// `out = cap · tanh(x / cap)`, element by element.
    ///
    /// # Errors
    /// [`Error::Length`] if the buffers differ in length; [`Error::Hip`].
    pub fn softcap<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        cap: f32,
        x: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, out) = (x.into(), out.into());
        check_length("softcap", "out", out.len(), x.len())?;
        let columns = x.len();
        self.launch_gated(stream, (&names!("softcap"), &[cap]), (1, columns), x, columns, None, columns, out)
    }

    /// `out = a + b`; `b` repeats, such as a bias that is added to each row.
    ///
    /// # Errors
    /// [`Error::Length`] if `out` and `a` differ in length, [`Error::Size`] if the length of `b` does not
    /// divide that of `a`; [`Error::Hip`].
    pub fn add_rows<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        a: impl Into<DeviceSlice<'a, T>>,
        b: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        self.by_rows("add_rows", &names!("add_rows"), stream, a.into(), b.into(), out.into())
    }

    /// `out = a · b`; `b` repeats.
    ///
    /// # Errors
    /// As [`add_rows`](Self::add_rows).
    pub fn mul_rows<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        a: impl Into<DeviceSlice<'a, T>>,
        b: impl Into<DeviceSlice<'a, T>>,
        out: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<()> {
        self.by_rows("mul_rows", &names!("mul_rows"), stream, a.into(), b.into(), out.into())
    }

    fn by_rows<'a, T: Float<Compute = f32>>(
        &'a self,
        operation: &'static str,
        names: &Names,
        stream: &'a Stream,
        a: DeviceSlice<'a, T>,
        b: DeviceSlice<'a, T>,
        out: DeviceSliceMut<'a, T>,
    ) -> Result<()> {
        check_length(operation, "out", out.len(), a.len())?;
        if out.is_empty() {
            return Ok(());
        }
        let columns = b.len();
        if columns == 0 || !a.len().is_multiple_of(columns) {
            let problem = "and must be at least 1 and divide the elements of `a`";
            return Err(Error::Size { operation, parameter: "elements of b", got: columns, problem });
        }
        let launch = launch_1d(
            self.of::<T>(&modules::ACTIVATION, names)?,
            stream,
            accesses(out.len(), size_of::<T>()),
        );
        let launch =
            launch.arg(a.len() / columns).arg(columns).arg(a).arg(columns).arg(b).arg(0_usize).arg(out);
        // SAFETY: `a` and `out` have that many rows of `columns` elements, and `b` has one.
        unsafe { launch.enqueue()? };
        Ok(())
    }

    /// Launches a kernel of these names with parameters behind its other arguments. The caller has checked
    /// the lengths. Rows have `columns` elements and begin `gate_row` and `up_row` elements apart.
    #[expect(clippy::too_many_arguments, reason = "the kernel's")]
    fn launch_gated<'a, T: Float<Compute = f32>>(
        &'a self,
        stream: &'a Stream,
        (names, parameters): (&Names, &[f32]),
        (rows, columns): (usize, usize),
        gate: DeviceSlice<'a, T>,
        gate_row: usize,
        up: Option<DeviceSlice<'a, T>>,
        up_row: usize,
        out: DeviceSliceMut<'a, T>,
    ) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let launch = launch_1d(
            self.of::<T>(&modules::ACTIVATION, names)?,
            stream,
            accesses(out.len(), size_of::<T>()),
        );
        let launch = launch.arg(rows).arg(columns).arg(gate).arg(gate_row).arg(up).arg(up_row).arg(out);
        let launch = parameters.iter().fold(launch, |launch, parameter| launch.arg(*parameter));
        // SAFETY: the kernel accesses `columns` elements of each row, which the callers have checked, and
        // rows*columns of `out`.
        unsafe { launch.enqueue()? };
        Ok(())
    }
}
