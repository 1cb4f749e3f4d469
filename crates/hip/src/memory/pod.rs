//! Plain data of other crates, recognised by `bytemuck`'s traits.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, TransparentWrapper, Zeroable};

use super::DeviceCopy;

/// A type of another crate that is [`bytemuck::Pod`], as [`DeviceCopy`]: vectors, colours, complex numbers.
///
/// This wrapper is needed because [`DeviceCopy`] cannot be implemented for every `Pod` type: types that
/// derive both would then have two implementations. The wrapper has the same bytes as the type, so slices and
/// vectors convert at no cost. As a kernel argument it is the type by value.
///
/// ```
/// use hip::Plain;
///
/// // A type of another crate, such as `glam::Vec3`.
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Zeroable)]
/// struct Vec3(f32, f32, f32);
/// // SAFETY: three floats, one after the other.
/// unsafe impl bytemuck::Pod for Vec3 {}
///
/// # fn main() -> hip::Result<()> {
/// # fn there(stream: &hip::Stream) -> hip::Result<()> {
/// let points = vec![Vec3(1.0, 2.0, 3.0); 10];
/// let buffer = hip::DeviceBuffer::from_slice(stream, Plain::of_slice(&points))?;
/// let back: Vec<Vec3> = Plain::into_inner_vec(buffer.to_vec(stream)?);
/// assert_eq!(back, points);
/// # Ok(())
/// # }
/// # Ok(())
/// # }
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plain<T>(pub T);

// SAFETY: `Pod` types have a fixed layout without padding, every sequence of bytes is a value, and they hold
// no pointers; this is such a type under another name.
unsafe impl<T: Pod + Send + Sync> DeviceCopy for Plain<T> {}

// SAFETY: this is the type under another name.
unsafe impl<T: Zeroable> Zeroable for Plain<T> {}

// SAFETY: as above.
unsafe impl<T: Pod> Pod for Plain<T> {}

// SAFETY: it is `repr(transparent)`, and has no other field.
unsafe impl<T> TransparentWrapper<T> for Plain<T> {}

impl<T> Plain<T> {
    /// Views a slice as plain data.
    pub fn of_slice(slice: &[T]) -> &[Self] {
        Self::wrap_slice(slice)
    }

    /// Views a mutable slice as plain data.
    pub fn of_mut_slice(slice: &mut [T]) -> &mut [Self] {
        Self::wrap_slice_mut(slice)
    }

    /// Views a slice of plain data as the inner type.
    pub fn inner_slice(slice: &[Self]) -> &[T] {
        Self::peel_slice(slice)
    }

    /// Views a mutable slice of plain data as the inner type.
    pub fn inner_mut_slice(slice: &mut [Self]) -> &mut [T] {
        Self::peel_slice_mut(slice)
    }

    /// Converts a vector to plain data, without copying.
    pub fn of_vec(vec: Vec<T>) -> Vec<Self> {
        let mut vec = ManuallyDrop::new(vec);
        // SAFETY: the parts are those of a vector, which is forgotten; the types have the same layout.
        unsafe { Vec::from_raw_parts(vec.as_mut_ptr().cast(), vec.len(), vec.capacity()) }
    }

    /// Converts a vector of plain data to the inner type, without copying.
    pub fn into_inner_vec(vec: Vec<Self>) -> Vec<T> {
        let mut vec = ManuallyDrop::new(vec);
        // SAFETY: as above.
        unsafe { Vec::from_raw_parts(vec.as_mut_ptr().cast(), vec.len(), vec.capacity()) }
    }
}

impl<T> From<T> for Plain<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for Plain<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Plain<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use crate::memory::DeviceBuffer;

    /// A type as in another crate, which does not depend on this one.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Foreign {
        a: [f32; 3],
        b: u32,
    }

    // SAFETY: all of its bytes may be zero.
    unsafe impl Zeroable for Foreign {}
    // SAFETY: it has a fixed layout, no padding and no pointers, and every sequence of bytes is a value.
    unsafe impl Pod for Foreign {}

    #[test]
    fn types_of_other_crates_go_to_the_device_and_come_back() {
        let stream = fake::device(0).stream().unwrap();
        let values: Vec<Foreign> = (0..5).map(|b| Foreign { a: [b as f32, 0.5, -1.0], b }).collect();
        let mut buffer = DeviceBuffer::from_slice(&stream, Plain::of_slice(&values)).unwrap();
        buffer.slice_mut(..1).unwrap().fill(&stream, Plain(values[4])).unwrap();
        let mut back = Plain::into_inner_vec(buffer.to_vec(&stream).unwrap());
        assert_eq!(back[1..], values[1..]);
        assert_eq!(back[0], values[4]);
        buffer.copy_to_host(&stream, Plain::of_mut_slice(&mut back)).unwrap();
        assert_eq!(Plain::inner_slice(&Plain::of_vec(back.clone())), back);
        assert_eq!(buffer.cast::<[u32; 4]>().unwrap().len(), 5);
        assert_eq!((Plain::from(values[2]).b, size_of::<Plain<Foreign>>()), (2, 16));
    }
}
