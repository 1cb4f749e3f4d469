//! Kernels by name, for engines that check and launch by themselves.

use std::sync::OnceLock;

use code_object::embedded;
use hip::{Device, Function, Launch, Stream};

use crate::Kernels;

/// The maximum number of work-items of a workgroup that [`block_size`] chooses: enough waves to hide the
/// latency of memory, and still several workgroups on each compute unit.
pub const MAX_BLOCK: u32 = 256;
/// The maximum number of workgroups that [`launch_1d`] makes. Kernels of this crate go on by the grid's size
/// while there are elements.
pub const MAX_GRID: u32 = 1 << 20;

/// A kernel that is looked up once, for a `static`.
///
/// ```no_run
/// use kernels::{KernelHandle, Kernels, launch_1d, modules};
///
/// static FILL: KernelHandle = KernelHandle::new("fill_f32", &modules::FILL);
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = hip::Device::open("auto")?;
/// let (stream, kernels) = (device.stream()?, Kernels::new(&device));
/// let mut x = hip::DeviceBuffer::<f32>::zeroed(&stream, 1000)?;
/// let launch = launch_1d(FILL.get(&kernels)?, &stream, x.len());
/// // SAFETY: the kernel takes a buffer, a value and the number of the buffer's elements.
/// unsafe { launch.arg(&mut x).arg(2.0_f32).arg(1000_u64).enqueue()? };
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct KernelHandle {
    name: &'static str,
    module: &'static embedded::Module,
    /// For the device that asked first.
    first: OnceLock<&'static Function>,
}

impl KernelHandle {
    /// Creates a handle; looks up nothing yet.
    #[must_use]
    pub const fn new(name: &'static str, module: &'static embedded::Module) -> Self {
        Self { name, module, first: OnceLock::new() }
    }

    /// The kernel on a device. Only the first call on the first device, and calls on other devices, look up
    /// the name.
    ///
    /// # Errors
    /// As [`Kernels::function`].
    pub fn get(&self, kernels: &Kernels) -> hip::Result<&'static Function> {
        if let Some(function) = self.first.get()
            && function.device() == kernels.device()
        {
            return Ok(function);
        }
        let function = kernels.function(self.module, self.name)?;
        // Another thread may have been first, on any device.
        let _ = self.first.set(function);
        Ok(function)
    }
}

impl Kernels {
    /// [`Kernels::function`] under candle's name and with candle's order of arguments.
    ///
    /// # Errors
    /// As [`Kernels::function`].
    pub fn get_or_load_func(
        &self,
        name: &str,
        module: &'static embedded::Module,
    ) -> hip::Result<&'static Function> {
        self.function(module, name)
    }
}

/// Work-items of a workgroup for this much work: whole waves, at most [`MAX_BLOCK`].
#[must_use]
pub fn block_size(device: &Device, work_items: usize) -> u32 {
    whole_waves(device.properties().wave_size, work_items)
}

/// The same for waves of this many lanes.
pub(crate) fn whole_waves(wave: u32, work_items: usize) -> u32 {
    let wanted = u32::try_from(work_items).unwrap_or(u32::MAX).clamp(1, MAX_BLOCK);
    wanted.next_multiple_of(wave.max(1))
}

/// A launch with a work-item for each element, of at most [`MAX_GRID`] workgroups. Without elements there are
/// no workgroups, and enqueuing is an error.
pub fn launch_1d<'a>(function: &'a Function, stream: &'a Stream, elements: usize) -> Launch<'a> {
    let block = block_size(function.device(), elements);
    let blocks = elements.div_ceil(block as usize).min(MAX_GRID as usize);
    function.launch(stream).grid(blocks as u32).block(block)
}

/// A launch with a work-item for each element of a matrix: `x` counts columns, `y` rows. A workgroup has one
/// wave of columns, or as many waves as the columns fill, and rows up to [`MAX_BLOCK`].
pub fn launch_2d<'a>(function: &'a Function, stream: &'a Stream, rows: usize, columns: usize) -> Launch<'a> {
    let (grid, block) = cover(function.device().properties().wave_size, rows, columns);
    function.launch(stream).grid(grid).block(block)
}

fn cover(wave: u32, rows: usize, columns: usize) -> ((u32, u32), (u32, u32)) {
    let width = whole_waves(wave, columns);
    let height = u32::try_from(rows).unwrap_or(u32::MAX).clamp(1, (MAX_BLOCK / width).max(1));
    let blocks = |size: usize, block: u32| u32::try_from(size.div_ceil(block as usize)).unwrap_or(u32::MAX);
    ((blocks(columns, width), blocks(rows, height)), (width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_whole_waves() {
        for (wave, work, expected) in [
            (32, 0, 32),
            (32, 1, 32),
            (32, 33, 64),
            (64, 33, 64),
            (64, 65, 128),
            (32, 256, 256),
            (64, usize::MAX, 256),
        ] {
            assert_eq!(whole_waves(wave, work), expected, "{wave} {work}");
        }
    }

    #[test]
    fn a_matrix_is_covered() {
        assert_eq!(cover(32, 10, 20), ((1, 2), (32, 8)));
        assert_eq!(cover(64, 10, 20), ((1, 3), (64, 4)));
        assert_eq!(cover(32, 3, 1000), ((4, 3), (256, 1)));
        assert_eq!(cover(32, 3, 20), ((1, 1), (32, 3)));
        for (rows, columns) in [(1, 1), (7, 33), (100, 257), (70_000, 5)] {
            for wave in [32, 64] {
                let ((across, down), (width, height)) = cover(wave, rows, columns);
                assert!(
                    across as usize * width as usize >= columns && down as usize * height as usize >= rows
                );
                assert!(width * height <= MAX_BLOCK && width.is_multiple_of(wave));
            }
        }
    }
}
