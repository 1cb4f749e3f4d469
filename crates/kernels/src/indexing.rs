//! Selecting, gathering, scattering and adding by index along one axis.

use hip::Stream;

use crate::elementwise::info::{ACCESS, Info, check_contiguous, check_devices, operand};
use crate::elementwise::run;
use crate::error::{Error, Result};
use crate::library::{Kernels, Names, names};
use crate::view::{Layout, View, ViewMut, check_shape};
use crate::{Element, Index, Number, modules};

/// A shape around an axis.
struct Sides {
    left: usize,
    extent: usize,
    right: usize,
}

/// What each index applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    /// Each element.
    OfEach,
    /// Each place along the axis.
    Shared,
}

/// The shape of `layout` as (before, along, behind) an axis.
fn sides(operation: &'static str, layout: &Layout, axis: usize) -> Result<Sides> {
    match layout.shape().get(axis) {
        Some(&extent) => Ok(Sides {
            left: layout.shape()[..axis].iter().product(),
            extent,
            right: layout.shape()[axis + 1..].iter().product(),
        }),
        None => Err(Error::Size {
            operation,
            parameter: "axis",
            got: axis,
            problem: "must be less than the number of dimensions",
        }),
    }
}

/// The shape with another extent along one of its axes.
fn with_extent(layout: &Layout, axis: usize, extent: usize) -> Vec<usize> {
    let mut shape = layout.shape().to_vec();
    shape[axis] = extent;
    shape
}

/// The family of kernels for the index type.
fn by_index<I: Index>(families: &'static [Names; 3]) -> &'static Names {
    match I::INDEX {
        u8::INDEX => &families[0],
        u32::INDEX => &families[1],
        _ => &families[2],
    }
}

impl Kernels {
    fn check_memory<T, I>(
        &self,
        operation: &'static str,
        stream: &Stream,
        x: &View<'_, T>,
        ids: &View<'_, I>,
        out: &ViewMut<'_, T>,
    ) -> Result<()> {
        let memory = [("x", x.slice.device()), ("ids", ids.slice.device()), ("out", out.slice.device())];
        check_devices(operation, self.device(), stream, &memory)
    }

    /// `out[…, i, …] = x[…, ids[i], …]` along an axis: rows of an embedding, for example. [No index](Index)
    /// gives zero.
    ///
    /// `ids` has one dimension and any stride; `x` is contiguous.
    ///
    /// # Errors
    /// [`Error::Size`] of `axis`, [`Error::Shape`] or [`Error::Length`] of `ids` or `out`,
    /// [`Error::NotContiguous`]; [`Error::Hip`].
    #[doc(alias = "embedding")]
    #[doc(alias = "take")]
    pub fn index_select<'a, T: Element, I: Index>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        axis: usize,
        ids: impl Into<View<'a, I>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, ids, out) = (x.into().carried()?, ids.into(), out.into().carried()?);
        let operation = "index_select";
        let Sides { left, extent, right } = sides(operation, &x.layout, axis)?;
        check_shape(operation, "ids", &ids.layout, ids.flat, &[ids.elements()])?;
        check_shape(operation, "out", &out.layout, out.flat, &with_extent(&x.layout, axis, ids.elements()))?;
        check_contiguous(operation, operand!(x))?;
        check_contiguous(operation, operand!(out))?;
        self.check_memory(operation, stream, &x, &ids, &out)?;
        let elements = out.elements();
        let kernel = self.of::<T::Carrier>(
            &modules::INDEXING,
            by_index::<I>(&[names!("is_u8"), names!("is_u32"), names!("is_i64")]),
        )?;
        let info = Info::new(stream, &ids.layout, &[operand!(ids)])?;
        let launch = info.pass(kernel.launch(stream).arg(elements as u64));
        let launch = launch.arg(ids.memory()?).arg(x.memory()?).arg(out.into_memory()?);
        let launch = launch.arg(left as u64).arg(extent as u64).arg(ids.elements() as u64).arg(right as u64);
        // Rows that are a multiple of the access size are copied in such accesses.
        let lanes = ACCESS / size_of::<T>();
        let items = if right.is_multiple_of(lanes) { elements / lanes } else { elements };
        // SAFETY: the kernel reads the ids that `info` describes, and elements of x at indices that it has
        // checked against the extent; it writes out[0..numel]. All of them exist.
        unsafe { run(items, launch) }
    }

    /// `out[…, i, …] = x[…, ids[…, i, …], …]` along an axis. [No index](Index) gives zero.
    ///
    /// All tensors are contiguous; `ids` and `out` have the same shape, which differs from that of `x` only
    /// along the axis.
    ///
    /// # Errors
    /// As [`index_select`](Self::index_select).
    pub fn gather<'a, T: Element, I: Index>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        axis: usize,
        ids: impl Into<View<'a, I>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, ids, out) = (x.into().carried()?, ids.into(), out.into().carried()?);
        let operation = "gather";
        let Sides { left, extent, right } = sides(operation, &x.layout, axis)?;
        let along = ids.layout.shape().get(axis).copied().unwrap_or(0);
        let shape = with_extent(&x.layout, axis, along);
        check_shape(operation, "ids", &ids.layout, ids.flat, &shape)?;
        check_shape(operation, "out", &out.layout, out.flat, &shape)?;
        check_contiguous(operation, operand!(x))?;
        check_contiguous(operation, operand!(ids))?;
        check_contiguous(operation, operand!(out))?;
        self.check_memory(operation, stream, &x, &ids, &out)?;
        let elements = out.elements();
        let kernel = self.of::<T::Carrier>(
            &modules::INDEXING,
            by_index::<I>(&[names!("gather_u8"), names!("gather_u32"), names!("gather_i64")]),
        )?;
        let launch = kernel.launch(stream).arg(elements as u64);
        let launch = launch.arg(ids.memory()?).arg(x.memory()?).arg(out.into_memory()?);
        let launch = launch.arg(left as u64).arg(extent as u64).arg(along as u64).arg(right as u64);
        // SAFETY: the kernel reads ids[0..numel] and elements of x at indices that it has checked against the
        // extent, and writes out[0..numel]. All of them exist.
        unsafe { run(elements, launch) }
    }

    /// `out[…, ids[…, i, …], …] = x[…, i, …]` along an axis. Other elements are unchanged. Of equal indices,
    /// the last one counts. [No index](Index) writes nothing.
    ///
    /// All tensors are contiguous; `x` and `ids` have the same shape, which differs from that of `out` only
    /// along the axis.
    ///
    /// # Errors
    /// As [`index_select`](Self::index_select).
    pub fn scatter<'a, T: Element, I: Index>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        axis: usize,
        ids: impl Into<View<'a, I>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (x, out) = (x.into().carried()?, out.into().carried()?);
        self.scatter_with(
            "scatter",
            by_index::<I>(&[names!("s_u8"), names!("s_u32"), names!("s_i64")]),
            Ids::OfEach,
            stream,
            x,
            axis,
            ids.into(),
            out,
        )
    }

    /// `out[…, ids[…, i, …], …] += x[…, i, …]` along an axis, one after the other in the order of `i`, each
    /// sum rounded to the type. [No index](Index) adds nothing. Shapes are those of
    /// [`scatter`](Self::scatter).
    ///
    /// # Errors
    /// As [`index_select`](Self::index_select).
    pub fn scatter_add<'a, T: Number, I: Index>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        axis: usize,
        ids: impl Into<View<'a, I>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let names = by_index::<I>(&[names!("sa_u8"), names!("sa_u32"), names!("sa_i64")]);
        self.scatter_with("scatter_add", names, Ids::OfEach, stream, x.into(), axis, ids.into(), out.into())
    }

    /// `out[…, ids[i], …] += x[…, i, …]` along an axis, one after the other in the order of `i`, each sum
    /// rounded to the type. [No index](Index) adds nothing.
    ///
    /// `ids` has one dimension, as long as `x` along the axis; the shape of `x` differs from that of `out`
    /// only along the axis. All tensors are contiguous.
    ///
    /// # Errors
    /// As [`index_select`](Self::index_select).
    pub fn index_add<'a, T: Number, I: Index>(
        &'a self,
        stream: &'a Stream,
        x: impl Into<View<'a, T>>,
        axis: usize,
        ids: impl Into<View<'a, I>>,
        out: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let names = by_index::<I>(&[names!("ia_u8"), names!("ia_u32"), names!("ia_i64")]);
        self.scatter_with("index_add", names, Ids::Shared, stream, x.into(), axis, ids.into(), out.into())
    }

    /// `names` are kernels that put elements of `x` into `out`, by indices as `of` says.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of three functions, and what differs between them"
    )]
    fn scatter_with<'a, T: Element, I: Index>(
        &'a self,
        operation: &'static str,
        names: &Names,
        of: Ids,
        stream: &'a Stream,
        x: View<'a, T>,
        axis: usize,
        ids: View<'a, I>,
        out: ViewMut<'a, T>,
    ) -> Result<()> {
        let Sides { left, extent, right } = sides(operation, &out.layout, axis)?;
        let along = match of {
            Ids::OfEach => x.layout.shape().get(axis).copied().unwrap_or(0),
            Ids::Shared => {
                check_shape(operation, "ids", &ids.layout, ids.flat, &[ids.elements()])?;
                ids.elements()
            }
        };
        let shape = with_extent(&out.layout, axis, along);
        check_shape(operation, "x", &x.layout, x.flat, &shape)?;
        if of == Ids::OfEach {
            check_shape(operation, "ids", &ids.layout, ids.flat, &shape)?;
        }
        check_contiguous(operation, operand!(x))?;
        check_contiguous(operation, operand!(ids))?;
        check_contiguous(operation, operand!(out))?;
        self.check_memory(operation, stream, &x, &ids, &out)?;
        let mut launch = self.of::<T>(&modules::INDEXING, names)?.launch(stream).arg(ids.memory()?);
        if of == Ids::Shared {
            launch = launch.arg(along as u64);
        }
        let launch = launch.arg(x.memory()?).arg(out.into_memory()?);
        let launch = launch.arg(left as u64).arg(along as u64).arg(extent as u64).arg(right as u64);
        // SAFETY: the kernel reads x in left * along * right places, ids in as many or in along, and reads
        // and writes elements of out at indices that it has checked against the extent. All of them exist.
        unsafe { run(if along == 0 { 0 } else { left * right }, launch) }
    }
}
