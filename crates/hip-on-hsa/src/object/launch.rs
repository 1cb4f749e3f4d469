//! Kernel launches.

use std::sync::Arc;

use hip_sys::{dim3, hipError_t};
use hsa::raw::Dispatch;

use crate::devices::stream::Stream;
use crate::error::Result;
use crate::object::module::Function;
use crate::object::occupancy::active_blocks;
use crate::queue::arguments::{Explicit, GRID_SYNC, Geometry, Grids, KernargBlock};
use crate::queue::shown;
use crate::runtime::{Runtime, runtime};

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;
const INVALID_CONFIGURATION: hipError_t = hipError_t::hipErrorInvalidConfiguration;

/// A grid, in whole workgroups, or in work-items, where the last workgroup may have fewer than the others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Grid {
    Blocks([u32; 3]),
    Items([u32; 3]),
}

/// A size in three dimensions as a list.
pub(crate) fn axes(size: dim3) -> [u32; 3] {
    [size.x, size.y, size.z]
}

/// Refuses an empty grid or empty workgroups, in functions where AMD's runtime checks them first.
pub(crate) fn check_sizes(grid: [u32; 3], block: [u32; 3]) -> Result {
    match grid.contains(&0) || block.contains(&0) {
        true => Err(INVALID_CONFIGURATION),
        false => Ok(()),
    }
}

/// Checks a launch's shape against the kernel and the device; returns the packet's sizes and the number of
/// whole workgroups.
fn shape(function: &Function, grid: Grid, block: [u32; 3], dynamic_lds: u32) -> Result<(Dispatch, [u32; 3])> {
    let info = &function.code.device.info;
    let (Grid::Blocks(counts) | Grid::Items(counts)) = grid;
    check_sizes(counts, block)?;
    if block.iter().zip(info.max_block_dim).any(|(&size, most)| size > most) {
        return Err(INVALID_CONFIGURATION);
    }
    let items = block.iter().map(|&size| u64::from(size)).product::<u64>();
    if items > function.block_limit().into() {
        return Err(INVALID_CONFIGURATION);
    }
    let (grid, block, blocks) = match grid {
        Grid::Blocks(blocks) => {
            // A packet counts the grid in work-items, in 32 bits.
            let size = |axis: usize| blocks[axis].checked_mul(block[axis]).ok_or(INVALID_CONFIGURATION);
            ([size(0)?, size(1)?, size(2)?], block, blocks)
        }
        Grid::Items(items) => {
            // A workgroup is never larger than the grid.
            let block: [u32; 3] = std::array::from_fn(|axis| block[axis].min(items[axis]));
            if function.is_uniform && (0..3).any(|axis| !items[axis].is_multiple_of(block[axis])) {
                return Err(INVALID_VALUE);
            }
            (items, block, std::array::from_fn(|axis| items[axis] / block[axis]))
        }
    };
    if function.required_block.is_some_and(|required| required != block) {
        return Err(INVALID_CONFIGURATION);
    }
    let group = function.group_bytes.checked_add(dynamic_lds).filter(|&size| size <= info.lds_bytes);
    let dispatch = Dispatch {
        grid,
        block,
        private: function.scratch(),
        group: group.ok_or(INVALID_VALUE)?,
        kernel: function.object,
    };
    Ok((dispatch, blocks))
}

/// A launch that has been checked; only the arguments are missing.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) function: Arc<Function>,
    pub(crate) blocks: [u32; 3],
    pub(crate) dispatch: Dispatch,
    pub(crate) dynamic_lds: u32,
    pub(crate) cooperative: bool,
}

impl Launch {
    pub(crate) fn new(
        function: Arc<Function>,
        grid: Grid,
        block: [u32; 3],
        dynamic_lds: u32,
        cooperative: bool,
    ) -> Result<Self> {
        let (dispatch, blocks) = shape(&function, grid, block, dynamic_lds)?;
        if let Some(runtime) = runtime() {
            shown::know(runtime, function.object, &function.name);
        }
        if cooperative {
            fits_at_once(&function, blocks, dispatch.block, dynamic_lds)?;
        }
        Ok(Self { function, blocks, dispatch, dynamic_lds, cooperative })
    }

    /// The same launch, cooperative or not.
    pub(crate) fn with_cooperation(&self, cooperative: bool) -> Result<Self> {
        let grid = Grid::Items(self.dispatch.grid);
        Self::new(self.function.clone(), grid, self.dispatch.block, self.dynamic_lds, cooperative)
    }

    /// Whether the stream belongs to the function's device.
    pub(crate) fn suits(&self, stream: &Stream) -> Result {
        match std::ptr::eq(stream.device, self.function.code.device) {
            true => Ok(()),
            false => Err(hipError_t::hipErrorInvalidHandle),
        }
    }

    /// Whether the argument segment is the same for every run on every stream of the device.
    pub(crate) fn is_portable(&self) -> bool {
        !self.cooperative && self.function.layout.is_portable()
    }

    /// Work-items of the grid.
    pub(crate) fn items(&self) -> u64 {
        self.dispatch.grid.iter().fold(1, |items: u64, &size| items.saturating_mul(size.into()))
    }

    /// Values of hidden arguments that are the same on every queue.
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry {
            blocks: self.blocks,
            rest: std::array::from_fn(|axis| {
                self.dispatch.grid[axis] - self.blocks[axis] * self.dispatch.block[axis]
            }),
            block: self.dispatch.block,
            dynamic_lds: self.dynamic_lds,
            ..Geometry::default()
        }
    }

    /// Enqueues the kernel on a stream of its device.
    ///
    /// # Safety
    /// The function's layout [accepts](crate::queue::arguments::Layout::accepts) the arguments, and they are
    /// as [`Layout::write`](crate::queue::arguments::Layout::write) needs them.
    pub(crate) unsafe fn run(
        &self,
        runtime: &'static Runtime,
        stream: &Stream,
        arguments: Explicit,
    ) -> Result {
        // SAFETY: as this function's contract.
        unsafe { self.run_among(runtime, stream, arguments, Grids::alone(self.items()), None) }
    }

    /// As [`run`](Self::run), for one of several grids, which share memory if they synchronise with each
    /// other.
    ///
    /// # Safety
    /// As of `run`.
    pub(crate) unsafe fn run_among(
        &self,
        runtime: &'static Runtime,
        stream: &Stream,
        arguments: Explicit,
        grids: Grids,
        shared: Option<Arc<KernargBlock>>,
    ) -> Result {
        let Self { function, blocks, dispatch, cooperative, .. } = self;
        let layout = &function.layout;
        // The synchronisation data is in front of the arguments and lives as long as they do. Behind them,
        // kernels that read beyond their arguments would read it.
        let before = if *cooperative { GRID_SYNC.next_multiple_of(layout.align.max(64)) } else { 0 };
        let printed = stream.submit(runtime, |submitter| {
            let (queue, shared_base, private_base) = submitter.geometry();
            let services = submitter.services(layout.services)?;
            let mut geometry = Geometry { queue, shared_base, private_base, services, ..self.geometry() };
            let printed = match layout.services.print_buffer {
                true => Some(submitter.print_buffer()?),
                false => None,
            };
            if let Some(printed) = &printed {
                printed.know(&function.code.formats);
            }
            submitter.dispatch(dispatch, before, layout.size, layout.align, |sync, segment| {
                if let Some(sync) = sync.first_chunk_mut() {
                    let shared = shared.as_ref().map_or(0, |shared| shared.start() as u64);
                    *sync = grids.sync(shared, blocks.iter().product());
                    geometry.grid_sync = sync.as_ptr() as u64;
                }
                // SAFETY: the caller is responsible for the arguments; the layout has agreed to their form.
                unsafe { layout.write(segment, arguments, &geometry) }
            })?;
            if let Some(shared) = shared {
                submitter.hold(shared);
            }
            Ok(printed)
        })?;
        match printed {
            Some(printed) => stream.run_on_host(runtime, true, move |_| printed.drain()),
            None => Ok(()),
        }
    }
}

/// Checks that the device holds all workgroups of a cooperative launch at once.
fn fits_at_once(function: &Function, blocks: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Result {
    let device = function.code.device;
    if !device.has_grid_barriers() {
        return Err(hipError_t::hipErrorNotSupported);
    }
    let count = blocks.iter().map(|&count| u128::from(count)).product::<u128>();
    let held = active_blocks(function, block.iter().product(), shared_bytes as usize)?;
    if count > u128::from(held) * u128::from(device.multiprocessors()) {
        return Err(hipError_t::hipErrorCooperativeLaunchTooLarge);
    }
    Ok(())
}
