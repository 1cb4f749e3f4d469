//! Extents and strides of several tensors of one shape, as kernels take them.

use hip::{Device, DeviceBuffer, Launch, Stream};

use crate::error::{Error, Result};
use crate::view::{Layout, check_shape};

/// Bytes that kernels access at once where possible.
pub(crate) const ACCESS: usize = 16;

/// The accesses that so many elements of this size take. Kernels that access as much at a time need a
/// work-item for each; more would start for nothing, and that takes longer than their work.
pub(crate) const fn accesses(elements: usize, size: usize) -> usize {
    elements.div_ceil(ACCESS / size)
}

/// A tensor's layout, and whether it comes from a slice. A slice matches any shape with the same number of
/// elements.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) name: &'static str,
    pub(crate) layout: &'a Layout,
    pub(crate) flat: bool,
}

/// The operand that a view is.
macro_rules! operand {
    ($view:ident) => {
        $crate::elementwise::info::Operand {
            name: stringify!($view),
            layout: &$view.layout,
            flat: $view.flat,
        }
    };
}
pub(crate) use operand;

/// The shape of all of these tensors: that of the first one that is not a slice.
pub(crate) fn common_shape(operation: &'static str, operands: &[Operand<'_>]) -> Result<Layout> {
    let shaped = operands.iter().find(|operand| !operand.flat).or(operands.first());
    let shape = shaped.map_or(&[][..], |operand| operand.layout.shape());
    for operand in operands {
        check_shape(operation, operand.name, operand.layout, operand.flat, shape)?;
    }
    Ok(Layout::contiguous(shape)?)
}

/// The layout of a tensor that must have a given shape. A slice is contiguous.
pub(crate) fn shaped(operation: &'static str, operand: Operand<'_>, shape: &[usize]) -> Result<Layout> {
    let contiguous = Layout::contiguous(shape)?;
    check_shape(operation, operand.name, operand.layout, operand.flat, shape)?;
    Ok(if operand.flat { contiguous } else { *operand.layout })
}

/// Refuses a tensor that has gaps or another order.
pub(crate) fn check_contiguous(operation: &'static str, operand: Operand<'_>) -> Result<()> {
    if operand.layout.is_contiguous() {
        return Ok(());
    }
    let (shape, strides) = (operand.layout.shape().into(), operand.layout.strides().into());
    Err(Error::NotContiguous { operation, buffer: operand.name, shape, strides })
}

/// Refuses memory of a device other than the stream's, and a stream of a device other than the kernels'.
pub(crate) fn check_devices(
    operation: &'static str,
    kernels: &Device,
    stream: &Stream,
    memory: &[(&'static str, &Device)],
) -> Result<()> {
    let device = stream.device();
    for &(what, other) in [("kernel", kernels)].iter().chain(memory) {
        if other != device {
            let (expected, got) = device.names_beside(other);
            return Err(hip::Error::OtherDevice { operation, what, expected, got }.into());
        }
    }
    Ok(())
}

/// The kernels' arguments `num_dims` and `info`: empty if all tensors are contiguous; otherwise the extents,
/// then the strides of each tensor, outermost first, in device memory. Dropping it is ordered after the
/// kernels that read it.
pub(crate) struct Info {
    rank: usize,
    array: Option<DeviceBuffer<u64>>,
}

impl Info {
    /// For tensors with the shape of `all`.
    pub(crate) fn new(stream: &Stream, all: &Layout, operands: &[Operand<'_>]) -> Result<Self> {
        let layouts: Vec<&Layout> =
            operands.iter().map(|operand| if operand.flat { all } else { operand.layout }).collect();
        match collapse(&layouts) {
            None => Ok(Self { rank: 0, array: None }),
            Some((rank, array)) => Ok(Self { rank, array: Some(DeviceBuffer::from_slice(stream, &array)?) }),
        }
    }

    /// Work-items for this many elements, the largest of which have `size` bytes. If all tensors are
    /// contiguous, kernels access 16 bytes at once.
    pub(crate) fn items(&self, elements: usize, size: usize) -> usize {
        if self.array.is_some() { elements } else { accesses(elements, size) }
    }

    /// The same for kernels whose work-items take several elements each where a large tensor is strided:
    /// there, a launch of a work-item for each costs more than what it does.
    pub(crate) fn items_of_copy(&self, elements: usize, size: usize) -> usize {
        const LARGE: usize = 1 << 20;
        const EACH: usize = 16;
        const HUGE: usize = 1 << 24;
        const EACH_BYTES: usize = 128;
        if self.array.is_none() || elements < LARGE {
            return self.items(elements, size);
        }
        elements / if elements < HUGE { EACH } else { (EACH_BYTES / size).max(EACH) }
    }

    /// Passes both.
    pub(crate) fn pass<'a>(&'a self, launch: Launch<'a>) -> Launch<'a> {
        launch.arg(self.rank as u64).arg(self.array.as_ref())
    }
}

/// The fewest extents and strides that describe these tensors of one shape: dimensions of one element are
/// dropped, and dimensions that are adjacent in every tensor are joined. `None` if all are contiguous or have
/// no elements.
pub(crate) fn collapse(layouts: &[&Layout]) -> Option<(usize, Vec<u64>)> {
    let shape = layouts.first()?.shape();
    if layouts.iter().all(|layout| layout.is_contiguous()) {
        return None;
    }
    // For each dimension, outermost first: its extent, and its stride in each tensor.
    let mut dims: Vec<(usize, Vec<usize>)> = Vec::new();
    for (axis, &extent) in shape.iter().enumerate().filter(|(_, extent)| **extent != 1) {
        let strides: Vec<usize> = layouts.iter().map(|layout| layout.strides()[axis]).collect();
        match dims.last_mut() {
            Some((outer, outer_strides))
                if outer_strides
                    .iter()
                    .zip(&strides)
                    .all(|(outer, inner)| Some(*outer) == inner.checked_mul(extent)) =>
            {
                *outer *= extent;
                *outer_strides = strides;
            }
            _ => dims.push((extent, strides)),
        }
    }
    let mut array: Vec<u64> = dims.iter().map(|(extent, _)| *extent as u64).collect();
    for operand in 0..layouts.len() {
        array.extend(dims.iter().map(|(_, strides)| strides[operand] as u64));
    }
    Some((dims.len(), array))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[usize], strides: &[usize]) -> Layout {
        Layout::with_strides(shape, strides, 0).unwrap()
    }

    #[test]
    fn dimensions_that_follow_each_other_become_one() {
        let contiguous = Layout::contiguous(&[2, 3, 4]).unwrap();
        assert_eq!(collapse(&[&contiguous]), None);
        let empty = layout(&[2, 0], &[7, 7]);
        assert_eq!(collapse(&[&empty]), None);
        let columns = contiguous.transpose(0, 2).unwrap();
        assert_eq!(collapse(&[&columns]), Some((3, vec![4, 3, 2, 1, 4, 12])));
        let last_first = contiguous.permute(&[2, 0, 1]).unwrap();
        assert_eq!(collapse(&[&last_first]), Some((2, vec![4, 6, 1, 4])));
        // A contiguous second tensor keeps dimensions joined where it can.
        let same = Layout::contiguous(&[4, 2, 3]).unwrap();
        assert_eq!(collapse(&[&last_first, &same]), Some((2, vec![4, 6, 1, 4, 6, 1])));
        let apart = layout(&[4, 2, 3], &[6, 100, 1]);
        assert_eq!(collapse(&[&last_first, &apart]), Some((3, vec![4, 2, 3, 1, 12, 4, 6, 100, 1])));
    }

    #[test]
    fn dimensions_of_one_element_and_repetitions_collapse() {
        assert_eq!(collapse(&[&layout(&[1, 5, 1], &[9, 2, 9])]), Some((1, vec![5, 2])));
        assert_eq!(collapse(&[&layout(&[2, 3, 4], &[0, 0, 0])]), Some((1, vec![24, 0])));
        assert_eq!(collapse(&[&layout(&[2, 3, 4], &[0, 4, 1])]), Some((2, vec![2, 12, 0, 1])));
    }

    #[test]
    fn a_slice_takes_the_shape_of_the_others() {
        let (flat, shaped) = (Layout::contiguous(&[6]).unwrap(), Layout::contiguous(&[2, 3]).unwrap());
        let x = Operand { name: "x", layout: &flat, flat: true };
        let y = Operand { name: "y", layout: &shaped, flat: false };
        assert_eq!(common_shape("f", &[x, y]).unwrap(), shaped);
        assert_eq!(common_shape("f", &[x]).unwrap(), flat);
        let other = Layout::contiguous(&[3, 2]).unwrap();
        let z = Operand { name: "z", layout: &other, flat: false };
        let error = common_shape("f", &[x, y, z]).unwrap_err();
        assert_eq!(error.to_string(), "f: `z` has the shape [3, 2], but needs [2, 3]");
    }
}
