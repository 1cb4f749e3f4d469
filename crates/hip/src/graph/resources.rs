//! The resources of graphs: graphs keep them alive, and register them on the streams that run the graphs.

use std::ffi::c_void;
use std::sync::Arc;

use super::GraphError;
use super::host::{Held, HostMemory};
use crate::error::Result;
use crate::event::Event;
use crate::memory::Allocation;
use crate::module::Module;
use crate::stream::{Stream, release, run_host_function};
use crate::usage::Usage;

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Only written: the old contents do not matter.
    Write,
    /// Written, and maybe read first.
    Update,
}

impl Access {
    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }

    /// Combines this access with a later one.
    pub(crate) fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::Read, Self::Read) => Self::Read,
            (Self::Write, _) => Self::Write,
            _ => Self::Update,
        }
    }
}

/// A host function that a graph calls each time it runs.
pub(crate) struct HostFunction {
    /// HIP has a pointer to this, which may have to outlive the struct.
    function: Arc<Callable>,
    usage: Usage,
}

struct Callable(Box<dyn Fn() + Send + Sync>);

impl HostFunction {
    pub(crate) fn new(function: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { function: Arc::new(Callable(Box::new(function))), usage: Usage::default() })
    }

    /// The pointer that HIP passes to [`call_host_function`].
    pub(crate) fn data(&self) -> *mut c_void {
        Arc::as_ptr(&self.function).cast_mut().cast()
    }
}

/// # Safety
/// `data` comes from [`HostFunction::data`], and the function is kept until the call is over.
pub(crate) unsafe extern "C" fn call_host_function(data: *mut c_void) {
    // SAFETY: as this function's contract.
    let Callable(function) = unsafe { &*data.cast::<Callable>() };
    run_host_function(function);
}

impl Drop for HostFunction {
    fn drop(&mut self) {
        let function = self.function.clone();
        let mut usage = std::mem::take(&mut self.usage);
        release("host function", move || usage.finish("host function", function, drop));
    }
}

/// A resource of captured work of another crate, besides buffers: see [`Stream::capture_keeps`].
pub trait GraphResource: Send + Sync {
    /// Called when an executable graph is dropped, before it waits for its launches. If they might never end,
    /// this must make them end while `is_done` is still false.
    fn before_wait(&self, is_done: &dyn Fn() -> bool);
}

/// Everything that a node or a graph uses.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    memory: Vec<(Arc<Allocation>, Access)>,
    host: Vec<(Arc<dyn HostMemory>, Access)>,
    modules: Vec<Module>,
    functions: Vec<Arc<HostFunction>>,
    /// Each with whether the graph records it.
    events: Vec<(Arc<Event>, bool)>,
    others: Vec<Arc<dyn GraphResource>>,
}

impl Resources {
    pub(crate) fn add_memory(&mut self, allocation: &Arc<Allocation>, access: Access) {
        match self.memory.iter_mut().find(|(known, _)| Arc::ptr_eq(known, allocation)) {
            Some((_, known)) => *known = known.and(access),
            None => self.memory.push((allocation.clone(), access)),
        }
    }

    pub(crate) fn add_host(&mut self, memory: &Arc<dyn HostMemory>, access: Access) {
        match self.host.iter_mut().find(|(known, _)| same(known, memory)) {
            Some((_, known)) => *known = known.and(access),
            None => self.host.push((memory.clone(), access)),
        }
    }

    pub(crate) fn add_module(&mut self, module: &Module) {
        if !self.modules.iter().any(|known| known.is(module)) {
            self.modules.push(module.clone());
        }
    }

    pub(crate) fn add_function(&mut self, function: &Arc<HostFunction>) {
        self.functions.push(function.clone());
    }

    pub(crate) fn add_event(&mut self, event: Event, recorded: bool) {
        self.events.push((Arc::new(event), recorded));
    }

    pub(crate) fn add_other(&mut self, other: Arc<dyn GraphResource>) {
        let address = Arc::as_ptr(&other).addr();
        if !self.others.iter().any(|known| Arc::as_ptr(known).addr() == address) {
            self.others.push(other);
        }
    }

    /// Called before waiting for launches.
    pub(crate) fn before_wait(&self, is_done: &dyn Fn() -> bool) {
        self.others.iter().for_each(|other| other.before_wait(is_done));
    }

    /// Called after a launch.
    pub(crate) fn launched(&self) {
        self.events.iter().filter(|(_, recorded)| *recorded).for_each(|(event, _)| event.set_recorded());
    }

    /// Whether it uses this memory.
    pub(crate) fn uses_memory(&self, allocation: &Arc<Allocation>) -> bool {
        self.memory.iter().any(|(known, _)| Arc::ptr_eq(known, allocation))
    }

    pub(crate) fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The memory that graphs allocate.
    pub(crate) fn graph_memory(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.memory.iter().map(|(allocation, _)| allocation).filter(|allocation| allocation.graph().is_some())
    }

    /// The graphs that allocate some of the memory.
    pub(crate) fn memory_of_graphs(&self) -> impl Iterator<Item = u64> {
        self.memory.iter().filter_map(|(allocation, _)| allocation.graph())
    }

    /// Adds the resources of later work that a stream has to know. Memory that the graph itself allocates is
    /// left out.
    pub(crate) fn merge(&mut self, other: &Self) {
        let outside = other.memory.iter().filter(|(allocation, _)| allocation.graph().is_none());
        outside.for_each(|(allocation, access)| self.add_memory(allocation, *access));
        other.host.iter().for_each(|(memory, access)| self.add_host(memory, *access));
        other.modules.iter().for_each(|module| self.add_module(module));
        self.functions.extend_from_slice(&other.functions);
        self.events.extend_from_slice(&other.events);
        self.keep_others_of(other);
    }

    /// Keeps what launches of the former graph may still need, including the resources that can end them.
    pub(crate) fn keep_others_of(&mut self, before: &Self) {
        before.others.iter().for_each(|other| self.add_other(other.clone()));
    }

    /// Memory for which nodes may conflict: an identity of each piece, and whether it is written.
    pub(crate) fn conflicts(&self) -> impl Iterator<Item = (usize, bool)> {
        let memory = self.memory.iter().map(|(memory, access)| (Arc::as_ptr(memory).addr(), access.writes()));
        let host = self.host.iter();
        memory.chain(host.map(|(memory, access)| (Arc::as_ptr(memory).addr(), access.writes())))
    }

    /// Registers all uses on a stream that is about to run them, and orders it after earlier uses. The result
    /// keeps the program away from the host memory until the work is enqueued.
    pub(crate) fn use_on(&self, stream: &Stream) -> Result<Vec<Held<'_>>> {
        // This waits for other launches. Take the turns in address order, so that two launches never wait for
        // each other.
        let mut host: Vec<_> = self.host.iter().map(|(memory, _)| memory).collect();
        host.sort_unstable_by_key(|memory| Arc::as_ptr(memory).addr());
        let held: Option<Vec<_>> = host.into_iter().map(|memory| memory.hold()).collect();
        let held = held.ok_or(GraphError::HostBufferLocked)?;
        for (allocation, access) in &self.memory {
            match access {
                Access::Read => allocation.read_on(stream)?,
                Access::Write => allocation.write_on(stream)?,
                Access::Update => allocation.update_on(stream)?,
            }
        }
        for (memory, access) in &self.host {
            match access {
                Access::Read => memory.usage().read(stream)?,
                Access::Write | Access::Update => memory.usage().write(stream)?,
            }
        }
        self.modules.iter().try_for_each(|module| module.used_on(stream))?;
        self.functions.iter().for_each(|function| function.usage.note(stream));
        Ok(held)
    }
}

fn same(one: &Arc<dyn HostMemory>, other: &Arc<dyn HostMemory>) -> bool {
    Arc::as_ptr(one).addr() == Arc::as_ptr(other).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_access_decides_whether_old_content_matters() {
        use Access::{Read, Update, Write};
        assert_eq!(Read.and(Read), Read);
        assert_eq!(Read.and(Write), Update);
        assert_eq!(Write.and(Read), Write);
        assert_eq!(Write.and(Update), Write);
        assert_eq!(Update.and(Write), Update);
    }

    #[test]
    fn a_host_function_may_be_called_until_its_streams_are_done_wherever_its_graph_was_dropped() {
        let stream = crate::fake::device(0).stream().unwrap();
        let calls = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let count = calls.clone();
        let function = HostFunction::new(move || {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        });
        let data = function.data();
        function.usage.note(&stream);
        let hold = crate::fake::hold(&stream);
        // If this thread cannot wait for the stream, another one does.
        run_host_function(|| drop(function));
        // SAFETY: the stream is not done.
        unsafe { call_host_function(data) };
        assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 1);
        drop(hold);
        let dropped = (0..2000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            Arc::strong_count(&calls) == 1
        });
        assert!(dropped);
    }
}
