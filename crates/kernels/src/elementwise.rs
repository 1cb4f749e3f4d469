//! Operations element by element: fill, copy, affine maps, functions of one, two and three tensors, and
//! casts.

mod cast;
mod fill;
pub(crate) mod info;
mod ops;

use hip::{DeviceCopy, Launch, LaunchConfig, Stream};

use crate::error::Result;
use crate::launch::{MAX_BLOCK, MAX_GRID};
use crate::library::{Kernels, Names, names};
use crate::view::{View, ViewMut};
use crate::{Element, Index, Number, Real, modules};

use info::{Info, accesses, check_contiguous, check_devices, common_shape, operand};
pub use ops::{BinaryOp, CompareOp, UnaryOp};

/// Workgroups for this many work-items, up to the maximum: each work-item goes on by the size of the grid
/// while there are elements.
pub(crate) fn grid(items: usize) -> LaunchConfig {
    LaunchConfig::for_elements(items.min(MAX_GRID as usize * MAX_BLOCK as usize), MAX_BLOCK)
}

impl Kernels {
    /// `y = a * x + y`, computed in the type's [`Compute`](Real::Compute).
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) or [`Error::Shape`](crate::Error::Shape) if `x` and `y` differ
    /// in shape, [`Error::NotContiguous`](crate::Error::NotContiguous) of either;
    /// [`Error::Hip`](crate::Error::Hip).
    #[doc(alias = "saxpy")]
    pub fn axpy<'a, T: Real>(
        &'a self,
        stream: &'a Stream,
        a: T::Compute,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let operation = "axpy";
        let all = common_shape(operation, &[operand!(x), operand!(y)])?;
        check_contiguous(operation, operand!(x))?;
        check_contiguous(operation, operand!(y))?;
        check_devices(operation, self.device(), stream, &[("x", x.slice.device()), ("y", y.slice.device())])?;
        let elements = all.elements();
        let kernel = self.of::<T>(&modules::AFFINE, &names!("axpy"))?;
        let launch = kernel.launch(stream).arg(elements as u64).arg(a).arg(x.memory()?).arg(y.into_memory()?);
        // SAFETY: axpy reads x[0..numel], and reads and writes y[0..numel]; both have that many elements.
        unsafe { run(accesses(elements, size_of::<T>()), launch) }
    }

    /// `y = x * mul + add`.
    ///
    /// # Errors
    /// As [`unary`](Self::unary).
    pub fn affine<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
        mul: T,
        add: T,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let name = names!("affine")[T::INDEX];
        let map = Map { operation: "affine", module: &modules::AFFINE, name, items: Info::items };
        self.one_tensor(&map, stream, x, y, &[], &[mul, add])
    }

    /// `y = x`: copies a tensor to a contiguous one.
    ///
    /// # Errors
    /// As [`unary`](Self::unary).
    #[doc(alias = "contiguous")]
    pub fn copy<'a, T: Element>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into().carried()?, y.into().carried()?);
        let name = names!("ucopy")[T::Carrier::INDEX];
        let map = Map { operation: "copy", module: &modules::UNARY, name, items: Info::items_of_copy };
        self.one_tensor(&map, stream, x, y, &[], &[])
    }

    /// `y = op(x)`, computed in the type's [`Compute`](Real::Compute).
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) or [`Error::Shape`](crate::Error::Shape) if `x` and `y` differ
    /// in shape, [`Error::NotContiguous`](crate::Error::NotContiguous) of `y`;
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn unary<'a, T: Real>(
        &'a self,
        stream: &'a Stream,
        op: UnaryOp,
        x: impl Into<View<'a, T>>,
        y: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let name = op.names()[T::INDEX];
        let map = Map { operation: "unary", module: &modules::UNARY, name, items: Info::items };
        self.one_tensor(&map, stream, x, y, op.parameter().map(T::from_f64).as_slice(), &[])
    }

    /// `out = op(left, right)`; floats are computed in the type's [`Compute`](Real::Compute), integers wrap
    /// around.
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length) or [`Error::Shape`](crate::Error::Shape) if the tensors differ
    /// in shape, [`Error::NotContiguous`](crate::Error::NotContiguous) of `out`;
    /// [`Error::Hip`](crate::Error::Hip).
    pub fn binary<'a, T: Number>(
        &'a self,
        stream: &'a Stream,
        op: BinaryOp,
        left: impl Into<View<'a, T>>,
        right: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        self.two_tensors("binary", op.names(), stream, left.into(), right.into(), out.into())
    }

    /// `out = op(left, right)` as 0 or 1.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn compare<'a, T: Number>(
        &'a self,
        stream: &'a Stream,
        op: CompareOp,
        left: impl Into<View<'a, T>>,
        right: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, u8>>,
    ) -> Result<()> {
        self.two_tensors("compare", op.names(), stream, left.into(), right.into(), out.into())
    }

    /// `out = condition != 0 ? yes : no`, element by element.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    #[doc(alias = "where")]
    pub fn select<'a, C: Index, T: Element>(
        &'a self,
        stream: &'a Stream,
        condition: impl Into<View<'a, C>>,
        yes: impl Into<View<'a, T>>,
        no: impl Into<View<'a, T>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (condition, yes, no) = (condition.into(), yes.into().carried()?, no.into().carried()?);
        let out = out.into().carried()?;
        let operation = "select";
        let operands = [operand!(condition), operand!(yes), operand!(no)];
        let all = common_shape(operation, &[operands[0], operands[1], operands[2], operand!(out)])?;
        check_contiguous(operation, operand!(out))?;
        let memory = [
            ("condition", condition.slice.device()),
            ("yes", yes.slice.device()),
            ("no", no.slice.device()),
            ("out", out.slice.device()),
        ];
        check_devices(operation, self.device(), stream, &memory)?;
        let elements = all.elements();
        let name = conditional(C::INDEX)[T::Carrier::INDEX];
        let kernel = self.function(&modules::TERNARY, name)?;
        let info = Info::new(stream, &all, &operands)?;
        let launch = info.pass(kernel.launch(stream).arg(elements as u64));
        let launch =
            launch.arg(condition.memory()?).arg(yes.memory()?).arg(no.memory()?).arg(out.into_memory()?);
        // SAFETY: the kernels read the elements of the three tensors that `info` describes, and write
        // out[0..numel]; all of them exist.
        unsafe { run(info.items(elements, size_of::<C>().max(size_of::<T>())), launch) }
    }

    /// `y` of `x`, by a kernel that takes count, rank and layout, the values `before`, both tensors, and the
    /// values `after`.
    fn one_tensor<'a, From: DeviceCopy, To: DeviceCopy>(
        &'a self,
        map: &Map,
        stream: &'a Stream,
        x: View<'a, From>,
        y: ViewMut<'a, To>,
        before: &[From],
        after: &[From],
    ) -> Result<()> {
        let all = common_shape(map.operation, &[operand!(x), operand!(y)])?;
        check_contiguous(map.operation, operand!(y))?;
        check_devices(
            map.operation,
            self.device(),
            stream,
            &[("x", x.slice.device()), ("y", y.slice.device())],
        )?;
        let elements = all.elements();
        let kernel = self.function(map.module, map.name)?;
        let info = Info::new(stream, &all, &[operand!(x)])?;
        let launch = info.pass(kernel.launch(stream).arg(elements as u64));
        let launch = before.iter().fold(launch, |launch, value| launch.arg(*value));
        let launch = launch.arg(x.memory()?).arg(y.into_memory()?);
        let launch = after.iter().fold(launch, |launch, value| launch.arg(*value));
        // SAFETY: the kernels read the elements of x that `info` leads to, and write y[0..numel]; all of them
        // exist.
        unsafe { run((map.items)(&info, elements, size_of::<From>().max(size_of::<To>())), launch) }
    }

    /// The element type of `out` must be the one that the named kernels write.
    fn two_tensors<'a, T: Element, Out: DeviceCopy>(
        &'a self,
        operation: &'static str,
        names: &Names,
        stream: &'a Stream,
        left: View<'a, T>,
        right: View<'a, T>,
        out: ViewMut<'a, Out>,
    ) -> Result<()> {
        let operands = [operand!(left), operand!(right)];
        let all = common_shape(operation, &[operands[0], operands[1], operand!(out)])?;
        check_contiguous(operation, operand!(out))?;
        let memory =
            [("left", left.slice.device()), ("right", right.slice.device()), ("out", out.slice.device())];
        check_devices(operation, self.device(), stream, &memory)?;
        let elements = all.elements();
        let kernel = self.of::<T>(&modules::BINARY, names)?;
        let info = Info::new(stream, &all, &operands)?;
        let launch = info.pass(kernel.launch(stream).arg(elements as u64));
        let launch = launch.arg(left.memory()?).arg(right.memory()?).arg(out.into_memory()?);
        // SAFETY: the binary kernels read the elements of left and right that `info` describes, and write
        // out[0..numel]; all of them exist.
        unsafe { run(info.items(elements, size_of::<T>()), launch) }
    }
}

/// An operation and its kernel.
struct Map {
    operation: &'static str,
    module: &'static code_object::embedded::Module,
    name: &'static str,
    /// Work-items for so many elements of a size.
    items: fn(&Info, usize, usize) -> usize,
}

/// The names of `where` by the condition's type.
fn conditional(condition: usize) -> &'static Names {
    match condition {
        u8::INDEX => &names!("where_u8", "fp8_e4m3"),
        u32::INDEX => &names!("where_u32", "fp8_e4m3"),
        _ => &names!("where_i64", "fp8_e4m3"),
    }
}

/// Enqueues a launch of this many work-items, if any. Each goes on by the grid's size while there are
/// elements.
///
/// # Safety
/// As for [`Launch::enqueue`].
pub(crate) unsafe fn run(items: usize, launch: Launch<'_>) -> Result<()> {
    if items == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { launch.config(grid(items)).enqueue()? };
    Ok(())
}
