//! Tensors in device memory: shape, strides and a start, over a borrowed slice.

use std::fmt;

use hip::{DeviceCopy, DeviceSlice, DeviceSliceMut};

use crate::Element;
use crate::error::{Error, Result};

/// The maximum number of dimensions of a [`Layout`].
pub const MAX_RANK: usize = 8;

/// Where a tensor's elements are: its shape, the distance from one element to the next in each dimension, and
/// the place of the first one, all in elements. The outermost dimension comes first. A tensor without
/// dimensions has one element.
///
/// ```
/// use kernels::Layout;
///
/// # fn main() -> kernels::Result<()> {
/// let image = Layout::contiguous(&[3, 480, 640])?;
/// assert_eq!(image.strides(), [307_200, 640, 1]);
/// let columns = image.transpose(1, 2)?.narrow(0, 1, 1)?;
/// assert_eq!((columns.shape(), columns.strides()), (&[1, 640, 480][..], &[307_200, 1, 640][..]));
/// assert_eq!(columns.start(), 307_200);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Layout {
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    start: usize,
}

/// What is wrong with a layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// More dimensions than [`MAX_RANK`].
    #[error("{0} dimensions, but at most {MAX_RANK} are supported")]
    Rank(usize),
    /// The number of strides or axes is not the number of dimensions.
    #[error("{got} {what}, but {rank} are needed")]
    Count {
        /// What is too few or too many.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// The dimensions.
        rank: usize,
    },
    /// An axis that does not exist or is named twice.
    #[error("axis {axis} of {rank} dimensions does not exist or occurs twice")]
    Axis {
        /// The axis.
        axis: usize,
        /// The dimensions.
        rank: usize,
    },
    /// A range that exceeds an axis.
    #[error("elements {start} to {start} + {len} of an axis of {extent}")]
    Range {
        /// The first one.
        start: usize,
        /// How many.
        len: usize,
        /// Elements along the axis.
        extent: usize,
    },
    /// A shape cannot be broadcast to another.
    #[error("{from:?} cannot be broadcast to {to:?}")]
    Broadcast {
        /// The shape of the tensor.
        from: Box<[usize]>,
        /// The requested shape.
        to: Box<[usize]>,
    },
    /// The number of elements, or the place of one, does not fit into the address space.
    #[error("the elements of {0:?} with these strides cannot be addressed")]
    TooLarge(Box<[usize]>),
    /// An element would lie beyond the end of the memory.
    #[error("the last element is number {last}, but the memory has {len}")]
    OutOfBounds {
        /// The place of the last element.
        last: usize,
        /// Elements of the memory.
        len: usize,
    },
    /// Elements to be written may overlap.
    #[error(
        "a tensor of {shape:?} with strides {strides:?} may have two elements in one place, and cannot be written"
    )]
    Overlap {
        /// The shape.
        shape: Box<[usize]>,
        /// The strides.
        strides: Box<[usize]>,
    },
}

impl Layout {
    /// Row by row, without gaps.
    ///
    /// # Errors
    /// [`LayoutError::Rank`], [`LayoutError::TooLarge`].
    pub fn contiguous(shape: &[usize]) -> Result<Self, LayoutError> {
        let mut strides = [0; MAX_RANK];
        let mut stride = 1_usize;
        let used = strides.get_mut(..shape.len()).ok_or(LayoutError::Rank(shape.len()))?;
        for (place, &extent) in used.iter_mut().zip(shape).rev() {
            *place = stride;
            // Without elements, strides are never used.
            stride = stride.checked_mul(extent.max(1)).ok_or_else(|| LayoutError::TooLarge(shape.into()))?;
        }
        Self::with_strides(shape, &strides[..shape.len()], 0)
    }

    /// Any strides; a stride of zero repeats the elements. The first element is number `start` of the memory.
    ///
    /// # Errors
    /// [`LayoutError::Rank`], [`LayoutError::Count`], [`LayoutError::TooLarge`].
    pub fn with_strides(shape: &[usize], strides: &[usize], start: usize) -> Result<Self, LayoutError> {
        let rank = shape.len();
        if rank > MAX_RANK {
            return Err(LayoutError::Rank(rank));
        }
        if strides.len() != rank {
            return Err(LayoutError::Count { what: "strides", got: strides.len(), rank });
        }
        let mut layout = Self { rank, shape: [0; MAX_RANK], strides: [0; MAX_RANK], start };
        layout.shape[..rank].copy_from_slice(shape);
        layout.strides[..rank].copy_from_slice(strides);
        layout.checked()
    }

    /// The layout, if its elements can be counted and addressed.
    fn checked(self) -> Result<Self, LayoutError> {
        let too_large = || LayoutError::TooLarge(self.shape().into());
        let mut elements = Some(1_usize);
        let mut last = Some(self.start);
        for (&extent, &stride) in self.shape().iter().zip(self.strides()) {
            // The kernels multiply the extents even if some are zero.
            elements = elements.and_then(|elements| elements.checked_mul(extent.max(1)));
            last =
                extent.saturating_sub(1).checked_mul(stride).and_then(|distance| last?.checked_add(distance));
        }
        // One past the last place must also be representable.
        match (elements, last.and_then(|last| last.checked_add(1))) {
            (Some(_), Some(_)) => Ok(self),
            _ => Err(too_large()),
        }
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Elements along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// Distances in each dimension, in elements of the memory.
    #[must_use]
    pub fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    /// The place of the first element.
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// How many elements there are.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether the elements lie row by row without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.elements() == 0
            || self.shape().iter().zip(self.strides()).rev().all(|(&extent, &stride)| {
                let fits = extent == 1 || stride == expected;
                expected *= extent;
                fits
            })
    }

    /// One past the place of the last element; the start if there are no elements.
    #[must_use]
    pub fn end(&self) -> usize {
        if self.elements() == 0 {
            return self.start;
        }
        let distances = self.shape().iter().zip(self.strides()).map(|(extent, stride)| (extent - 1) * stride);
        self.start + distances.sum::<usize>() + 1
    }

    /// Whether it is certain that no two elements share a place: from the smallest stride to the largest,
    /// each dimension steps over all previous ones. Strides that interleave without meeting are not
    /// recognised.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        if self.elements() == 0 {
            return true;
        }
        let mut steps: Vec<(usize, usize)> = self
            .strides()
            .iter()
            .copied()
            .zip(self.shape().iter().copied())
            .filter(|step| step.1 > 1)
            .collect();
        steps.sort_unstable();
        let mut reach = 0;
        steps.into_iter().all(|(stride, extent)| {
            let over = stride > reach;
            reach += (extent - 1) * stride;
            over
        })
    }

    fn axis(&self, axis: usize) -> Result<usize, LayoutError> {
        if axis < self.rank { Ok(axis) } else { Err(LayoutError::Axis { axis, rank: self.rank }) }
    }

    /// With two axes exchanged.
    ///
    /// # Errors
    /// [`LayoutError::Axis`].
    pub fn transpose(mut self, a: usize, b: usize) -> Result<Self, LayoutError> {
        let (a, b) = (self.axis(a)?, self.axis(b)?);
        self.shape.swap(a, b);
        self.strides.swap(a, b);
        Ok(self)
    }

    /// With axis `axes[i]` as the new axis `i`.
    ///
    /// # Errors
    /// [`LayoutError::Count`], [`LayoutError::Axis`].
    pub fn permute(self, axes: &[usize]) -> Result<Self, LayoutError> {
        if axes.len() != self.rank {
            return Err(LayoutError::Count { what: "axes", got: axes.len(), rank: self.rank });
        }
        let mut permuted = self;
        for (to, &from) in axes.iter().enumerate() {
            if axes[..to].contains(&from) {
                return Err(LayoutError::Axis { axis: from, rank: self.rank });
            }
            permuted.shape[to] = self.shape[self.axis(from)?];
            permuted.strides[to] = self.strides[from];
        }
        Ok(permuted)
    }

    /// Elements `start` to `start + len` along an axis.
    ///
    /// # Errors
    /// [`LayoutError::Axis`], [`LayoutError::Range`].
    pub fn narrow(mut self, axis: usize, start: usize, len: usize) -> Result<Self, LayoutError> {
        let axis = self.axis(axis)?;
        let extent = self.shape[axis];
        if start.checked_add(len).is_none_or(|end| end > extent) {
            return Err(LayoutError::Range { start, len, extent });
        }
        // With no elements left, no place needs to exist, and the start is unchanged.
        if len > 0 {
            self.start += start * self.strides[axis];
        }
        self.shape[axis] = len;
        Ok(self)
    }

    /// Repeated to a shape: dimensions of one element are repeated, and outer dimensions are added.
    ///
    /// # Errors
    /// [`LayoutError::Rank`], [`LayoutError::Broadcast`], [`LayoutError::TooLarge`].
    pub fn broadcast(self, shape: &[usize]) -> Result<Self, LayoutError> {
        if shape.len() > MAX_RANK {
            return Err(LayoutError::Rank(shape.len()));
        }
        let refused = || LayoutError::Broadcast { from: self.shape().into(), to: shape.into() };
        let added = shape.len().checked_sub(self.rank).ok_or_else(refused)?;
        let mut strides = [0; MAX_RANK];
        for (axis, (&extent, &stride)) in self.shape().iter().zip(self.strides()).enumerate() {
            let wanted = shape[added + axis];
            if wanted == extent {
                strides[added + axis] = stride;
            } else if extent != 1 {
                return Err(refused());
            }
        }
        Self::with_strides(shape, &strides[..shape.len()], self.start)
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start && self.shape() == other.shape() && self.strides() == other.strides()
    }
}

impl Eq for Layout {}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("start", &self.start)
            .finish()
    }
}

/// A tensor to be read. Every element lies in the slice.
///
/// A slice or buffer converts into one: it is a contiguous tensor of any shape with the right number of
/// elements.
///
/// Operations on tensors that are not contiguous upload extents and strides, so they cannot be captured into
/// a graph.
#[derive(Debug)]
pub struct View<'a, T> {
    pub(crate) slice: DeviceSlice<'a, T>,
    pub(crate) layout: Layout,
    /// The view is of a slice, whose shape matches any other with the same number of elements.
    pub(crate) flat: bool,
}

/// A tensor to be written. Every element lies in the slice, and no two share a place.
///
/// A slice or buffer converts into one, as into a [`View`].
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) slice: DeviceSliceMut<'a, T>,
    pub(crate) layout: Layout,
    pub(crate) flat: bool,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

/// Refuses a layout that reaches beyond this many elements.
fn inside(layout: &Layout, len: usize) -> Result<(), LayoutError> {
    if layout.end() <= len { Ok(()) } else { Err(LayoutError::OutOfBounds { last: layout.end() - 1, len }) }
}

/// All of a slice as one dimension.
fn whole(len: usize) -> Layout {
    let mut layout = Layout { rank: 1, shape: [0; MAX_RANK], strides: [0; MAX_RANK], start: 0 };
    (layout.shape[0], layout.strides[0]) = (len, 1);
    layout
}

impl<'a, T: DeviceCopy> View<'a, T> {
    /// The elements of a slice that a layout names.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`].
    pub fn new(slice: impl Into<DeviceSlice<'a, T>>, layout: Layout) -> Result<Self, LayoutError> {
        let slice = slice.into();
        inside(&layout, slice.len())?;
        Ok(Self { slice, layout, flat: false })
    }

    /// The elements that another layout of the same memory names.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stream = hip::Device::open("auto")?.stream()?;
    /// use kernels::{Layout, View};
    ///
    /// let matrix = hip::DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let rows = View::new(&matrix, Layout::contiguous(&[2, 3])?)?;
    /// let columns = rows.map(|layout| layout.transpose(0, 1))?;
    /// assert_eq!(columns.layout().shape(), [3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `change`, and [`LayoutError::OutOfBounds`].
    pub fn map(
        self,
        change: impl FnOnce(Layout) -> Result<Layout, LayoutError>,
    ) -> Result<Self, LayoutError> {
        Self::new(self.slice, change(self.layout)?)
    }

    /// The elements from the first one on.
    pub(crate) fn memory(&self) -> hip::Result<DeviceSlice<'a, T>> {
        self.slice.slice(self.layout.start..self.layout.end())
    }
}

impl<'a, T: DeviceCopy> ViewMut<'a, T> {
    /// The elements of a slice that a layout names.
    ///
    /// # Errors
    /// [`LayoutError::OutOfBounds`], and [`LayoutError::Overlap`] unless the layout [is
    /// injective](Layout::is_injective).
    pub fn new(slice: impl Into<DeviceSliceMut<'a, T>>, layout: Layout) -> Result<Self, LayoutError> {
        let slice = slice.into();
        inside(&layout, slice.len())?;
        if !layout.is_injective() {
            return Err(LayoutError::Overlap {
                shape: layout.shape().into(),
                strides: layout.strides().into(),
            });
        }
        Ok(Self { slice, layout, flat: false })
    }

    /// The elements that another layout of the same memory names.
    ///
    /// # Errors
    /// Those of `change`, and those of [`ViewMut::new`].
    pub fn map(
        self,
        change: impl FnOnce(Layout) -> Result<Layout, LayoutError>,
    ) -> Result<Self, LayoutError> {
        Self::new(self.slice, change(self.layout)?)
    }

    /// The same tensor, while this view is borrowed.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { slice: self.slice.reborrow(), layout: self.layout, flat: self.flat }
    }

    /// The same tensor, to be read while this view is borrowed.
    #[must_use]
    pub fn as_view(&self) -> View<'_, T> {
        View { slice: self.slice.as_slice(), layout: self.layout, flat: self.flat }
    }

    /// The elements from the first one on.
    pub(crate) fn into_memory(self) -> hip::Result<DeviceSliceMut<'a, T>> {
        self.slice.into_slice_mut(self.layout.start..self.layout.end())
    }
}

impl<'a, T: Element> View<'a, T> {
    /// As the type whose kernels copy the elements.
    pub(crate) fn carried(self) -> hip::Result<View<'a, T::Carrier>> {
        Ok(View { slice: self.slice.cast()?, layout: self.layout, flat: self.flat })
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// As the type whose kernels copy the elements.
    pub(crate) fn carried(self) -> hip::Result<ViewMut<'a, T::Carrier>> {
        Ok(ViewMut { slice: self.slice.cast_mut()?, layout: self.layout, flat: self.flat })
    }
}

macro_rules! common {
    ($view:ident) => {
        impl<T> $view<'_, T> {
            /// Shape, strides and start.
            #[must_use]
            pub fn layout(&self) -> &Layout {
                &self.layout
            }

            /// How many elements there are.
            #[must_use]
            pub fn elements(&self) -> usize {
                self.layout.elements()
            }
        }
    };
}
common!(View);
common!(ViewMut);

/// As many as there are: a shape of one dimension that stands for any.
impl<'a, T: DeviceCopy> From<DeviceSlice<'a, T>> for View<'a, T> {
    fn from(slice: DeviceSlice<'a, T>) -> Self {
        Self { slice, layout: whole(slice.len()), flat: true }
    }
}

/// As many as there are: a shape of one dimension that stands for any.
impl<'a, T: DeviceCopy> From<DeviceSliceMut<'a, T>> for ViewMut<'a, T> {
    fn from(slice: DeviceSliceMut<'a, T>) -> Self {
        let layout = whole(slice.len());
        Self { slice, layout, flat: true }
    }
}

impl<'a, T: DeviceCopy> From<&View<'a, T>> for View<'a, T> {
    fn from(view: &View<'a, T>) -> Self {
        *view
    }
}

impl<'a, T: DeviceCopy> From<&'a ViewMut<'_, T>> for View<'a, T> {
    fn from(view: &'a ViewMut<'_, T>) -> Self {
        view.as_view()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut ViewMut<'_, T>> for ViewMut<'a, T> {
    fn from(view: &'a mut ViewMut<'_, T>) -> Self {
        view.reborrow()
    }
}

/// Everything that converts into a slice converts into a view of all of it.
macro_rules! whole_slices {
    ($($read:ty),*; $($written:ty),*) => {
        $(impl<'a, T: DeviceCopy> From<$read> for View<'a, T> {
            fn from(memory: $read) -> Self {
                DeviceSlice::from(memory).into()
            }
        })*
        $(impl<'a, T: DeviceCopy> From<$written> for ViewMut<'a, T> {
            fn from(memory: $written) -> Self {
                DeviceSliceMut::from(memory).into()
            }
        })*
    };
}
whole_slices! {
    DeviceSliceMut<'a, T>, &'a DeviceSlice<'_, T>, &'a DeviceSliceMut<'_, T>, &'a hip::DeviceBuffer<T>, &'a hip::GraphBuffer<T>,
    &'a hip::GrowableBuffer<T>, &'a hip::ManagedBuffer<T>, &'a hip::MappedBuffer<T>, &'a hip::RegisteredBuffer<T>,
    &'a hip::Global<T>, &'a hip::GlobalMut<T>;
    &'a mut DeviceSliceMut<'_, T>, &'a mut hip::DeviceBuffer<T>, &'a mut hip::GraphBuffer<T>, &'a mut hip::GrowableBuffer<T>,
    &'a mut hip::ManagedBuffer<T>, &'a mut hip::MappedBuffer<T>, &'a mut hip::RegisteredBuffer<T>, &'a mut hip::GlobalMut<T>
}

/// Checks that a tensor has a shape. A slice matches any shape with as many elements.
pub(crate) fn check_shape(
    operation: &'static str,
    buffer: &'static str,
    layout: &Layout,
    flat: bool,
    expected: &[usize],
) -> Result<()> {
    if flat {
        // An overflow exceeds any memory.
        let elements = expected.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        return crate::error::check_length(
            operation,
            buffer,
            layout.elements(),
            elements.unwrap_or(usize::MAX),
        );
    }
    if layout.shape() == expected {
        return Ok(());
    }
    Err(Error::Shape { operation, buffer, expected: expected.into(), got: layout.shape().into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_layouts_are_recognised() {
        let layout = Layout::contiguous(&[2, 3, 4]).unwrap();
        assert_eq!((layout.strides(), layout.end(), layout.elements()), (&[12, 4, 1][..], 24, 24));
        assert!(layout.is_contiguous() && layout.is_injective());
        assert!(!layout.transpose(0, 1).unwrap().is_contiguous());
        assert!(layout.narrow(0, 1, 1).unwrap().is_contiguous(), "a part in one piece");
        assert!(!layout.narrow(1, 0, 2).unwrap().is_contiguous());
        let single = Layout::with_strides(&[1, 4, 1], &[99, 1, 77], 5).unwrap();
        assert!(single.is_contiguous(), "strides of dimensions of one element do not matter");
        let scalar = Layout::contiguous(&[]).unwrap();
        assert_eq!((scalar.elements(), scalar.end(), scalar.is_contiguous()), (1, 1, true));
    }

    #[test]
    fn layouts_change_as_their_names_say() {
        let layout = Layout::contiguous(&[2, 3, 4]).unwrap();
        let permuted = layout.permute(&[2, 0, 1]).unwrap();
        assert_eq!((permuted.shape(), permuted.strides()), (&[4, 2, 3][..], &[1, 12, 4][..]));
        let part = layout.narrow(1, 1, 2).unwrap();
        assert_eq!((part.start(), part.shape(), part.end()), (4, &[2, 2, 4][..], 24));
        let row = Layout::contiguous(&[1, 4]).unwrap().broadcast(&[5, 3, 4]).unwrap();
        assert_eq!((row.shape(), row.strides(), row.end()), (&[5, 3, 4][..], &[0, 0, 1][..], 4));
        assert!(!row.is_injective());
        let empty = layout.narrow(2, 4, 0).unwrap();
        assert_eq!((empty.elements(), empty.end(), empty.start()), (0, 0, 0));
    }

    #[test]
    fn overlaps_are_found() {
        let injective = |shape: &[usize], strides: &[usize]| {
            Layout::with_strides(shape, strides, 0).unwrap().is_injective()
        };
        assert!(injective(&[4, 3], &[1, 4]));
        assert!(!injective(&[4, 3], &[1, 3]), "element (3, 0) is (0, 1)");
        assert!(!injective(&[2, 2], &[1, 1]));
        assert!(!injective(&[2], &[0]));
        assert!(injective(&[1, 5], &[0, 2]), "one element is in one place");
        assert!(injective(&[0, 5], &[0, 0]), "no elements are in none");
        // Compared with all places, for small layouts.
        for extents in [[2, 3, 2], [3, 1, 4], [2, 2, 3]] {
            for code in 0..343 {
                let strides = [code % 7, code / 7 % 7, code / 49];
                let mut places = Vec::new();
                for (i, j, k) in (0..extents[0])
                    .flat_map(|i| (0..extents[1]).flat_map(move |j| (0..extents[2]).map(move |k| (i, j, k))))
                {
                    places.push(i * strides[0] + j * strides[1] + k * strides[2]);
                }
                let layout = Layout::with_strides(&extents, &strides, 0).unwrap();
                assert_eq!(layout.end(), places.iter().max().unwrap() + 1);
                places.sort_unstable();
                let distinct = places.windows(2).all(|pair| pair[0] != pair[1]);
                assert!(!layout.is_injective() || distinct, "{layout:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        use LayoutError as E;
        let layout = Layout::contiguous(&[2, 3]).unwrap();
        assert_eq!(Layout::contiguous(&[1; 9]).unwrap_err(), E::Rank(9));
        assert_eq!(layout.broadcast(&[1; 9]).unwrap_err(), E::Rank(9));
        assert!(matches!(Layout::contiguous(&[usize::MAX, 2]).unwrap_err(), E::TooLarge(_)));
        assert!(matches!(Layout::contiguous(&[0, usize::MAX, 2]).unwrap_err(), E::TooLarge(_)));
        assert!(
            matches!(Layout::with_strides(&[2], &[usize::MAX], 0).unwrap_err(), E::TooLarge(_)),
            "one past the end"
        );
        assert!(matches!(Layout::with_strides(&[3], &[usize::MAX / 2 + 1], 0).unwrap_err(), E::TooLarge(_)));
        assert!(matches!(
            Layout::with_strides(&[2, 2], &[usize::MAX - 2, 1], 2).unwrap_err(),
            E::TooLarge(_)
        ));
        assert!(matches!(
            Layout::with_strides(&[2], &[1, 1], 0).unwrap_err(),
            E::Count { what: "strides", .. }
        ));
        assert!(matches!(layout.permute(&[0]).unwrap_err(), E::Count { what: "axes", .. }));
        assert_eq!(layout.permute(&[1, 1]).unwrap_err(), E::Axis { axis: 1, rank: 2 });
        assert_eq!(layout.permute(&[0, 2]).unwrap_err(), E::Axis { axis: 2, rank: 2 });
        assert_eq!(layout.transpose(0, 2).unwrap_err(), E::Axis { axis: 2, rank: 2 });
        assert_eq!(layout.narrow(1, 2, 2).unwrap_err(), E::Range { start: 2, len: 2, extent: 3 });
        assert_eq!(
            layout.narrow(1, usize::MAX, 2).unwrap_err(),
            E::Range { start: usize::MAX, len: 2, extent: 3 }
        );
        assert!(matches!(layout.broadcast(&[3]).unwrap_err(), E::Broadcast { .. }));
        assert!(matches!(layout.broadcast(&[2, 4]).unwrap_err(), E::Broadcast { .. }));
        assert!(layout.broadcast(&[4, 2, 3]).is_ok());
        let error = inside(&layout, 5).unwrap_err();
        assert_eq!(error.to_string(), "the last element is number 5, but the memory has 5");
        let empty = Layout::with_strides(&[0], &[1], 6).unwrap();
        assert!(inside(&empty, 6).is_ok());
        assert_eq!(inside(&empty, 5).unwrap_err(), E::OutOfBounds { last: 5, len: 5 });
    }

    #[test]
    fn a_slice_stands_for_every_shape_and_a_view_for_its_own() {
        let (flat, shaped) = (whole(6), Layout::contiguous(&[2, 3]).unwrap());
        assert!(check_shape("f", "x", &flat, true, &[2, 3]).is_ok());
        assert_eq!(
            check_shape("f", "x", &flat, true, &[2, 4]).unwrap_err().to_string(),
            "f: `x` has 6 elements, but needs 8"
        );
        assert!(check_shape("f", "x", &flat, true, &[usize::MAX, 2]).is_err());
        assert!(check_shape("f", "x", &shaped, false, &[2, 3]).is_ok());
        let error = check_shape("f", "x", &shaped, false, &[3, 2]).unwrap_err();
        assert_eq!(error.to_string(), "f: `x` has the shape [2, 3], but needs [3, 2]");
    }
}
