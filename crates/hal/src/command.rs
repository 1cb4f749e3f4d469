//! Command buffers: work that is recorded once, as packets in their final form.
//!
//! Commands between two barriers may run at the same time. A recorded list is a [block](crate::block) with
//! what it uses. Without bindings, arguments stay at one place for ever, and a submission copies packets and
//! nothing else. With bindings, each submission has a copy of the arguments, with the addresses of its
//! buffers.

mod arguments;
mod library;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hsa::raw::{Dispatch, Geometry};

pub use self::arguments::Arg;
use crate::block::{Block, Draft, Submission, put};
use crate::context::Context;
use crate::core::Core;
use crate::error::{Error, Result, check_range};
use crate::executable::{Executable, Kernel};
use crate::memory::Buffer;
use crate::memory::mirror::Space;
use crate::memory::pool::Piece;
use crate::profile::Described;
use crate::replay::contents::{ArgOf, Command, KernelOf};
use crate::replay::log;

/// Slots of a binding table.
const MOST_BINDINGS: usize = 1024;

/// How often a command buffer is submitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Usage {
    /// Any number of times, also at the same time.
    #[default]
    Reusable,
    /// Once.
    OneShot,
}

/// A range of a buffer, or of what a submission binds to a slot.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A buffer, from this byte on.
    Buffer(&'a Buffer, u64),
    /// What a submission binds to a slot, from this byte on.
    Binding(usize, u64),
}

impl<'a> From<&'a Buffer> for Place<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self::Buffer(buffer, 0)
    }
}

/// The sizes of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// Workgroups by dimension.
    pub workgroups: [u32; 3],
    /// Work-items of a workgroup by dimension.
    pub workgroup: [u32; 3],
    /// LDS that the kernel gets besides its own, bytes.
    pub dynamic_lds: u32,
}

impl Grid {
    /// One dimension.
    #[must_use]
    pub fn linear(workgroups: u32, workgroup: u32) -> Self {
        Self { workgroups: [workgroups, 1, 1], workgroup: [workgroup, 1, 1], dynamic_lds: 0 }
    }
}

/// Records commands for one GPU of a device.
#[derive(Debug)]
pub struct Recorder {
    context: Arc<Context>,
    member: usize,
    usage: Usage,
    draft: Draft,
    list: List,
    library: Option<Executable>,
}

/// All that packets need.
#[derive(Default, Debug)]
struct List {
    fixes: Vec<Fix>,
    /// What each slot has to have.
    bindings: Vec<Slot>,
    /// The kernels, if there is a profile.
    described: Vec<Described>,
    /// The commands, if the device has a log.
    commands: Vec<Command>,
    /// Held as long as the list.
    buffers: Vec<Buffer>,
    executables: Vec<Executable>,
}

/// An address that a submission writes into the arguments.
#[derive(Clone, Copy, Debug)]
struct Fix {
    at: usize,
    slot: usize,
    offset: u64,
}

/// What a slot has to have.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    is_used: bool,
    /// Bytes that commands with known sizes touch.
    least: u64,
}

/// Recorded work. Clones are the same.
#[derive(Clone, Debug)]
pub struct CommandBuffer {
    recorded: Arc<Recorded>,
}

#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) member: usize,
    /// In the log of the device, if it has one.
    pub(crate) number: u32,
    block: Block,
    list: List,
    described: Option<Arc<[Described]>>,
    /// The arguments in place, if no submission changes them.
    _fixed: Option<Piece>,
    is_one_shot: bool,
    is_spent: AtomicBool,
    pub(crate) context: Arc<Context>,
}

impl Recorder {
    pub(crate) fn new(
        context: &Arc<Context>,
        member: usize,
        usage: Usage,
        library: Option<Executable>,
    ) -> Self {
        let (context, draft, list) = (context.clone(), Draft::new(), List::default());
        Self { context, member, usage, draft, list, library }
    }

    /// Lets later commands wait for all before it, and see what they have written.
    pub fn barrier(&mut self) -> &mut Self {
        self.draft.barrier();
        self.take_down(|| Command::Barrier {});
        self
    }

    /// Launches a kernel.
    ///
    /// # Errors
    /// The arguments do not match the kernel, or no device accepts the sizes.
    ///
    /// # Safety
    /// The kernel accesses no memory but that of the arguments' buffers, which exist as long as commands hold
    /// them, and no other memory that its arguments lead to has ended when it runs. It does not race with
    /// other work.
    pub unsafe fn dispatch(&mut self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<&mut Self> {
        self.check_kernel(kernel)?;
        check_grid(kernel, &grid)?;
        let captured = self.captured(kernel, args)?;
        let arguments = self.write_arguments(kernel, &grid, args)?;
        self.push(kernel, &grid, arguments, None);
        if let Some((kernel, args)) = captured {
            let Grid { workgroups, workgroup, dynamic_lds: lds } = grid;
            self.list.commands.push(Command::Dispatch { kernel, workgroups, workgroup, lds, args });
        }
        Ok(self)
    }

    /// Adds a command to the device's log, if it has one.
    fn take_down(&mut self, command: impl FnOnce() -> Command) {
        if self.context.log.is_some() {
            self.list.commands.push(command());
        }
    }

    /// A launch for the device's log, if it has one.
    fn captured(&self, kernel: &Kernel, args: &[Arg<'_>]) -> Result<Option<(KernelOf, Vec<ArgOf>)>> {
        let Some(code) = kernel.executable().number() else { return Ok(None) };
        let args = log::arguments(kernel.description(), args)?;
        Ok(Some((KernelOf { code, name: kernel.name().to_owned() }, args)))
    }

    fn check_kernel(&self, kernel: &Kernel) -> Result<()> {
        self.context.is_same(kernel.context(), "the kernel")?;
        let hidden = &kernel.description().hidden;
        if !hidden.is_portable() {
            return Err(Error::Arguments {
                kernel: kernel.name().to_owned(),
                problem: "it needs the queue, the scratch aperture, or a service of the host (printf, \
                          malloc, host calls), which recorded work does not have"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// Adds the packet of a kernel. If another one completes it, that has the packet's address and first word
    /// at two places of its arguments.
    fn push(
        &mut self,
        kernel: &Kernel,
        grid: &Grid,
        arguments: Range<usize>,
        completed_at: Option<[usize; 2]>,
    ) {
        let description = kernel.description();
        let size = |dimension: usize| grid.workgroups[dimension] * grid.workgroup[dimension];
        let dispatch = Dispatch {
            grid: [size(0), size(1), size(2)],
            block: grid.workgroup,
            private: description.private,
            group: description.group.saturating_add(grid.dynamic_lds),
            kernel: kernel.object(self.member),
        };
        let packet = match completed_at {
            None => self.draft.kernel(&dispatch, arguments),
            Some(places) => self.draft.completed_kernel(&dispatch, arguments, places),
        };
        if self.context.profiler.is_some() {
            self.list.described.push(Described {
                packet,
                kernel: kernel.name().into(),
                grid: completed_at.is_none().then_some(dispatch.grid),
                workgroup: dispatch.block,
            });
        }
        let known = |known: &Executable| known.is_same(kernel.executable());
        if !self.list.executables.iter().any(known) {
            self.list.executables.push(kernel.executable().clone());
        }
    }

    /// Writes the arguments of a kernel, and returns where they are.
    fn write_arguments(&mut self, kernel: &Kernel, grid: &Grid, args: &[Arg<'_>]) -> Result<Range<usize>> {
        let description = kernel.description();
        arguments::check(description, args)?;
        let range = self.draft.arguments(description.size, description.align);
        for (arg, &(offset, size, _)) in args.iter().zip(&description.arguments) {
            let at = range.start + offset;
            match arg {
                Arg::Bytes(bytes) => self.draft.bytes(at..at + size).copy_from_slice(bytes),
                Arg::At(place) => self.address(*place, at)?,
            }
        }
        let geometry = Geometry {
            blocks: grid.workgroups,
            block: grid.workgroup,
            dynamic_lds: grid.dynamic_lds,
            ..Geometry::default()
        };
        description.hidden.write(self.draft.bytes(range.clone()), &geometry);
        Ok(range)
    }

    /// Writes the address of a place into the arguments.
    fn address(&mut self, place: Place<'_>, at: usize) -> Result<()> {
        match place {
            Place::Buffer(buffer, offset) => {
                self.context.is_same(buffer.context(), "the buffer")?;
                check_range("a buffer", offset, 0, buffer.size())?;
                put(self.draft.bytes(at..at + 8), 0, buffer.address() + offset);
                self.list.buffers.push(buffer.clone());
            }
            Place::Binding(slot, offset) => {
                self.needs(slot, offset, 0)?;
                self.list.fixes.push(Fix { at, slot, offset });
            }
        }
        Ok(())
    }

    /// Remembers what a submission has to bind to a slot.
    fn needs(&mut self, slot: usize, offset: u64, len: u64) -> Result<()> {
        let bad = |problem: String| Error::Binding { slot, problem };
        if slot >= MOST_BINDINGS {
            return Err(bad(format!("a table has at most {MOST_BINDINGS} buffers")));
        }
        let end = offset.checked_add(len);
        let end = end.ok_or_else(|| bad(format!("{len} bytes at offset {offset} are in no buffer")))?;
        if self.list.bindings.len() <= slot {
            self.list.bindings.resize(slot + 1, Slot::default());
        }
        let known = &mut self.list.bindings[slot];
        (known.is_used, known.least) = (true, known.least.max(end));
        Ok(())
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// There is no memory for the arguments.
    pub fn finish(mut self) -> Result<CommandBuffer> {
        let (mut block, mut fixed) = (self.draft.finish(), None);
        if self.list.fixes.is_empty() && !block.has_patches() && block.arguments() != 0 {
            let pool = &self.context.members[self.member].arguments;
            let piece = pool.take(block.arguments() as u64)?;
            // SAFETY: the host can write the piece, and nothing else uses it.
            block.place(unsafe { &mut *bytes_of(piece.address, piece.size) });
            fixed = Some(piece);
        }
        let described = std::mem::take(&mut self.list.described);
        let commands = std::mem::take(&mut self.list.commands);
        let number = self.context.log.as_ref().map_or(0, |log| log.commands(self.member, commands));
        let recorded = Recorded {
            member: self.member,
            number,
            described: self.context.profiler.is_some().then(|| described.into()),
            block,
            list: self.list,
            _fixed: fixed,
            is_one_shot: self.usage == Usage::OneShot,
            is_spent: AtomicBool::new(false),
            context: self.context,
        };
        Ok(CommandBuffer { recorded: Arc::new(recorded) })
    }
}

/// Memory for arguments.
fn bytes_of(address: u64, size: u64) -> *mut [u8] {
    std::ptr::slice_from_raw_parts_mut(address as *mut u8, size as usize)
}

fn check_grid(kernel: &Kernel, grid: &Grid) -> Result<()> {
    let description = kernel.description();
    let bad = |what, sizes, problem: String| {
        Err(Error::Sizes { kernel: description.name.clone(), what, sizes, problem })
    };
    if grid.workgroups.contains(&0) {
        return bad("workgroups", grid.workgroups, "a size is 0".to_owned());
    }
    check_workgroup(kernel, grid.workgroup)?;
    let fits = |dimension: usize| grid.workgroups[dimension].checked_mul(grid.workgroup[dimension]).is_some();
    if !(0..3).all(fits) {
        return bad(
            "workgroups",
            grid.workgroups,
            "the grid has more than 4,294,967,295 work-items".to_owned(),
        );
    }
    Ok(())
}

fn check_workgroup(kernel: &Kernel, sizes: [u32; 3]) -> Result<()> {
    let description = kernel.description();
    let bad = |problem: String| {
        Err(Error::Sizes { kernel: description.name.clone(), what: "workgroup", sizes, problem })
    };
    if sizes.contains(&0) {
        return bad("a size is 0".to_owned());
    }
    let items = sizes.iter().try_fold(1u32, |items, &size| items.checked_mul(size));
    if items.is_none_or(|items| items > description.most_work_items) {
        return bad(format!("at most {} work-items are possible", description.most_work_items));
    }
    if let Some(required) = description.required.filter(|required| *required != sizes) {
        return bad(format!("the kernel was compiled for {required:?}"));
    }
    Ok(())
}

impl Recorded {
    /// The kernels, if there is a profile.
    pub(crate) fn described(&self) -> Option<&Arc<[Described]>> {
        self.described.as_ref()
    }
}

/// A submission of recorded work, before its packets are written.
pub(crate) struct Prepared {
    pub(crate) recorded: Arc<Recorded>,
    /// Its own arguments.
    arguments: Option<Space>,
    bound: Vec<(Buffer, u64)>,
}

impl CommandBuffer {
    /// The number of packets that a submission copies.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.recorded.block.packets().len()
    }

    /// Checks the GPU and the binding table of a submission, and that there may be one.
    pub(crate) fn check(
        &self,
        context: &Arc<Context>,
        member: usize,
        bindings: &[(Buffer, u64)],
    ) -> Result<()> {
        let recorded = &self.recorded;
        context.is_same(&recorded.context, "the command buffer")?;
        if recorded.member != member {
            return Err(Error::OtherDevice("the command buffer"));
        }
        let bad = |slot, problem: String| Err(Error::Binding { slot, problem });
        for (slot, wanted) in recorded.list.bindings.iter().enumerate().filter(|(_, wanted)| wanted.is_used) {
            let Some((buffer, offset)) = bindings.get(slot) else {
                return bad(slot, format!("the table has {} buffers", bindings.len()));
            };
            recorded.context.is_same(buffer.context(), "a bound buffer")?;
            let size = buffer.size().saturating_sub(*offset);
            if *offset > buffer.size() || wanted.least > size {
                return bad(slot, format!("commands use {} bytes, {size} are bound", wanted.least));
            }
        }
        if recorded.is_one_shot && recorded.is_spent.swap(true, Ordering::Relaxed) {
            return Err(Error::OneShot);
        }
        Ok(())
    }

    /// Takes the arguments of a submission that was checked: from the ring of the queue that runs it now, or
    /// from the pool, where it may wait without holding others up.
    pub(crate) fn prepare(&self, bindings: &[(Buffer, u64)], now: Option<&Core>) -> Result<Prepared> {
        let recorded = &self.recorded;
        let mut arguments = None;
        if recorded.block.arguments() != 0 {
            let (context, size) = (&recorded.context, recorded.block.arguments() as u64);
            arguments = Some(match now {
                Some(core) => {
                    core.arguments.take(context, recorded.member, size, || core.release_finished())?
                }
                None => context.members[recorded.member].arguments.take(size)?.into(),
            });
        }
        Ok(Prepared { recorded: recorded.clone(), arguments, bound: bindings.to_vec() })
    }
}

impl Prepared {
    /// The submission. With arguments of its own, it writes them.
    ///
    /// # Safety
    /// This is called once.
    pub(crate) unsafe fn submission(&self) -> Submission<'_> {
        let block = &self.recorded.block;
        let Some(arguments) = &self.arguments else { return block.submission(0..block.packets().len()) };
        // SAFETY: the host can write the piece, which nothing else uses, as this is called once.
        let memory = unsafe { &mut *bytes_of(arguments.address, arguments.size) };
        block.submission_with(memory, |memory| {
            for fix in &self.recorded.list.fixes {
                let (buffer, offset) = &self.bound[fix.slot];
                put(memory, fix.at, buffer.address() + offset + fix.offset);
            }
        })
    }
}
