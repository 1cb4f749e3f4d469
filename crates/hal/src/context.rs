//! What all objects of a device share: agents, pools and options.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use code_object::TargetId;
use hsa::{Agent, Runtime};

use crate::error::{Calls, Error, Result};
use crate::memory::pool::Pool;
use crate::options::Options;
use crate::profile::{Profiler, Shown, Watch};
use crate::replay::log::Log;
use crate::topology::{LogicalDevice, Topology};

/// The parts of a logical device.
pub(crate) struct Context {
    /// Unique in the process.
    number: u64,
    calls: Calls,
    pub(crate) options: Options,
    pub(crate) members: Vec<Member>,
    /// Host memory that all members reach.
    pub(crate) host: Arc<Pool>,
    pub(crate) profiler: Option<Arc<Profiler>>,
    /// What the device does, for a replay.
    pub(crate) log: Option<Log>,
    /// Ends the runtime after everything else.
    _runtime: Runtime,
}

/// A GPU of a logical device.
pub(crate) struct Member {
    pub(crate) agent: Agent,
    pub(crate) target: TargetId,
    shown: Shown,
    /// The most packets of a queue.
    pub(crate) most_packets: u32,
    pub(crate) most_work_items: u32,
    pub(crate) memory: Arc<Pool>,
    /// Memory for arguments.
    pub(crate) arguments: Arc<Pool>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "device {}", self.number)
    }
}

impl Context {
    pub(crate) fn new(
        runtime: &Runtime,
        topology: &Topology,
        device: &LogicalDevice,
        options: Options,
    ) -> Result<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        options.check()?;
        timeline::start().map_err(|error| Error::Timeline(error.to_string().into()))?;
        let all = runtime.agents()?;
        let find = |handle: u64| {
            let found = all.iter().find(|agent| agent.raw().handle == handle);
            found.cloned().ok_or(Error::Select(crate::topology::SelectError::NoGpu))
        };
        let agents: Vec<Agent> =
            device.members.iter().map(|&gpu| find(topology.gpus[gpu].agent)).collect::<Result<_>>()?;
        let nearest = |gpu: usize| find(topology.cpus[topology.gpus[gpu].cpu].agent);
        let mut members = Vec::with_capacity(agents.len());
        for (place, agent) in agents.iter().enumerate() {
            let others = agents.iter().filter(|other| *other != agent).cloned().collect();
            let arguments = nearest(device.members[place])?.kernarg_pool()?;
            members.push(Member {
                agent: agent.clone(),
                target: agent.target()?,
                shown: Shown {
                    number: device.members[place] as u32,
                    name: format!("{}, submissions of hal", topology.gpus[device.members[place]]),
                    agent: agent.raw(),
                },
                most_packets: agent.queue_max_size()?,
                most_work_items: agent.workgroup_max_size()?,
                memory: Pool::new("device", agent.coarse_pool()?, others, options.block, options.limit),
                arguments: Pool::new("argument", arguments, vec![agent.clone()], options.arguments, 0),
            });
        }
        let cpu = nearest(device.members[0])?;
        let host = Pool::new("host", cpu.fine_pool()?, agents, options.block, options.host_limit);
        // SAFETY: the runtime is initialised as long as this object exists, and signals and queues are this
        // crate's own.
        let calls = unsafe { Calls::new(runtime.table()) };
        let log = options.capture.then(|| Log::new(members[0].target.to_string(), members.len()));
        let profiler = (options.profile != 0).then(|| Profiler::new(calls, &options));
        Ok(Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            calls,
            options,
            members,
            host,
            profiler,
            log,
            _runtime: runtime.clone(),
        }))
    }

    /// The part of a new queue in the profile, if there is one.
    pub(crate) fn watch(&self, member: usize, queue: u64) -> Option<Watch> {
        let profiler = self.profiler.clone()?;
        Some(Watch::new(profiler, self.members[member].shown.clone(), queue))
    }

    pub(crate) fn calls(&self) -> Calls {
        self.calls
    }

    /// An error unless both are the same device.
    pub(crate) fn is_same(self: &Arc<Self>, other: &Arc<Self>, what: &'static str) -> Result<()> {
        if Arc::ptr_eq(self, other) { Ok(()) } else { Err(Error::OtherDevice(what)) }
    }
}
