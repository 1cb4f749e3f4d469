//! Work for Vulkan's queue: a compute shader over two buffers, and timelines to synchronise with.

use std::sync::Arc;

use ash::vk;

use crate::shaders::{self, GROUP};
use crate::{Buffer, Named, Result, Vulkan};

/// A counter that the host, Vulkan's queue and, through the host, HIP's streams raise and wait for.
pub struct Timeline {
    vulkan: Arc<Vulkan>,
    raw: vk::Semaphore,
}

/// Longer than any test may take, in nanoseconds.
const PATIENCE: u64 = 60_000_000_000;

impl Timeline {
    /// A timeline at 0.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn new(vulkan: &Arc<Vulkan>) -> Result<Self> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let create = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the structures are valid.
        let raw = unsafe { vulkan.device.create_semaphore(&create, None) }.named("vkCreateSemaphore")?;
        Ok(Self { vulkan: vulkan.clone(), raw })
    }

    /// The current value.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn value(&self) -> Result<u64> {
        // SAFETY: the semaphore is a timeline.
        unsafe { self.vulkan.device.get_semaphore_counter_value(self.raw) }
            .named("vkGetSemaphoreCounterValue")
    }

    /// Raises the value.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn signal(&self, value: u64) -> Result<()> {
        let signal = vk::SemaphoreSignalInfo::default().semaphore(self.raw).value(value);
        // SAFETY: the semaphore is a timeline, which may be signalled by any thread.
        unsafe { self.vulkan.device.signal_semaphore(&signal) }.named("vkSignalSemaphore")
    }

    /// Blocks until the timeline reaches a value.
    ///
    /// # Errors
    /// Vulkan refuses, or the wait takes more than a minute.
    pub fn wait(&self, value: u64) -> Result<()> {
        let (semaphores, values) = ([self.raw], [value]);
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is a timeline, which any thread may wait for.
        unsafe { self.vulkan.device.wait_semaphores(&wait, PATIENCE) }.named("vkWaitSemaphores")
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: the queue is idle, so nothing waits for it or raises it.
        unsafe {
            let _queue = self.vulkan.queue();
            let _ = self.vulkan.device.device_wait_idle();
            self.vulkan.device.destroy_semaphore(self.raw, None);
        }
    }
}

/// Recorded commands, and the objects that they need.
pub(crate) struct Recorded {
    pub(crate) vulkan: Arc<Vulkan>,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
}

impl Recorded {
    /// Records commands. They run between acquiring the buffers from other drivers and releasing them.
    pub(crate) fn new(
        vulkan: &Arc<Vulkan>,
        buffers: &[&Buffer],
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<Self> {
        let device = &vulkan.device;
        let create = vk::CommandPoolCreateInfo::default().queue_family_index(vulkan.family);
        // SAFETY: the structs are valid, and only this thread records commands. The created objects are
        // destroyed with `recorded`.
        unsafe {
            let pool = device.create_command_pool(&create, None).named("vkCreateCommandPool")?;
            let mut recorded = Self { vulkan: vulkan.clone(), pool, commands: vk::CommandBuffer::null() };
            let allocate =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let all = device.allocate_command_buffers(&allocate).named("vkAllocateCommandBuffers")?;
            recorded.commands = all[0];
            let begin =
                vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
            device.begin_command_buffer(all[0], &begin).named("vkBeginCommandBuffer")?;
            let (from, to) = (vk::QUEUE_FAMILY_EXTERNAL, vulkan.family);
            hand_over(device, all[0], buffers, from, to);
            record(device, all[0]);
            hand_over(device, all[0], buffers, to, from);
            device.end_command_buffer(all[0]).named("vkEndCommandBuffer")?;
            Ok(recorded)
        }
    }

    /// Makes the queue run the commands once a timeline reaches a value, and then raise another timeline.
    pub(crate) fn submit(
        &self,
        after: Option<(&Timeline, u64)>,
        then: Option<(&Timeline, u64)>,
    ) -> Result<()> {
        let list = |end: Option<(&Timeline, u64)>| -> (Vec<vk::Semaphore>, Vec<u64>) {
            end.iter().map(|(timeline, value)| (timeline.raw, *value)).unzip()
        };
        let ((waits, wait_values), (signals, signal_values)) = (list(after), list(then));
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; waits.len()];
        let mut values = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&wait_values)
            .signal_semaphore_values(&signal_values);
        let commands = [self.commands];
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&waits)
            .wait_dst_stage_mask(&stages)
            .signal_semaphores(&signals)
            .command_buffers(&commands)
            .push_next(&mut values);
        let queue = self.vulkan.queue();
        // SAFETY: the structures are valid, and what the commands use lives until the queue is idle.
        unsafe { self.vulkan.device.queue_submit(*queue, &[submit], vk::Fence::null()) }
            .named("vkQueueSubmit")
    }

    /// Runs the commands and blocks until their fence is signalled.
    pub(crate) fn run(&self) -> Result<()> {
        let device = &self.vulkan.device;
        // SAFETY: the structures are valid; the fence is destroyed once the work that signals it has ended.
        unsafe {
            let fence = device.create_fence(&vk::FenceCreateInfo::default(), None).named("vkCreateFence")?;
            let commands = [self.commands];
            let submit = vk::SubmitInfo::default().command_buffers(&commands);
            let done = {
                let queue = self.vulkan.queue();
                device.queue_submit(*queue, &[submit], fence).named("vkQueueSubmit")
            };
            let done =
                done.and_then(|()| device.wait_for_fences(&[fence], true, PATIENCE).named("vkWaitForFences"));
            if done.is_err() {
                let _queue = self.vulkan.queue();
                let _ = device.device_wait_idle();
            }
            device.destroy_fence(fence, None);
            done
        }
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // SAFETY: the queue is idle, so the commands do not run.
        unsafe {
            let _queue = self.vulkan.queue();
            let _ = self.vulkan.device.device_wait_idle();
            self.vulkan.device.destroy_command_pool(self.pool, None);
        }
    }
}

/// Transfers buffers, with their contents, between this queue and other drivers.
///
/// # Safety
/// The commands are being recorded.
unsafe fn hand_over(
    device: &ash::Device,
    commands: vk::CommandBuffer,
    buffers: &[&Buffer],
    from: u32,
    to: u32,
) {
    let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
    let barriers: Vec<_> = buffers
        .iter()
        .map(|buffer| {
            vk::BufferMemoryBarrier::default()
                .src_access_mask(all)
                .dst_access_mask(all)
                .src_queue_family_index(from)
                .dst_queue_family_index(to)
                .buffer(buffer.raw)
                .size(vk::WHOLE_SIZE)
        })
        .collect();
    let stages = vk::PipelineStageFlags::ALL_COMMANDS;
    // SAFETY: as this function's contract.
    unsafe {
        device.cmd_pipeline_barrier(
            commands,
            stages,
            stages,
            vk::DependencyFlags::empty(),
            &[],
            &barriers,
            &[],
        );
    }
}

/// Storage buffers for shaders, by binding.
pub(crate) struct Bindings {
    vulkan: Arc<Vulkan>,
    pub(crate) layout: vk::PipelineLayout,
    set_layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    pub(crate) set: vk::DescriptorSet,
}

impl Bindings {
    pub(crate) fn new(
        vulkan: &Arc<Vulkan>,
        stage: vk::ShaderStageFlags,
        buffers: &[&Buffer],
    ) -> Result<Self> {
        let device = &vulkan.device;
        let kind = vk::DescriptorType::STORAGE_BUFFER;
        let entries: Vec<_> = (0..buffers.len() as u32)
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(kind)
                    .descriptor_count(1)
                    .stage_flags(stage)
            })
            .collect();
        let mut bindings = Self {
            vulkan: vulkan.clone(),
            layout: vk::PipelineLayout::null(),
            set_layout: vk::DescriptorSetLayout::null(),
            pool: vk::DescriptorPool::null(),
            set: vk::DescriptorSet::null(),
        };
        // SAFETY: the structs are valid; the created objects are destroyed with `bindings`.
        unsafe {
            let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&entries);
            bindings.set_layout =
                device.create_descriptor_set_layout(&create, None).named("vkCreateDescriptorSetLayout")?;
            let layouts = [bindings.set_layout];
            let create = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
            bindings.layout = device.create_pipeline_layout(&create, None).named("vkCreatePipelineLayout")?;
            let sizes = [vk::DescriptorPoolSize::default().ty(kind).descriptor_count(buffers.len() as u32)];
            let create = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            bindings.pool = device.create_descriptor_pool(&create, None).named("vkCreateDescriptorPool")?;
            let allocate =
                vk::DescriptorSetAllocateInfo::default().descriptor_pool(bindings.pool).set_layouts(&layouts);
            let sets = device.allocate_descriptor_sets(&allocate).named("vkAllocateDescriptorSets")?;
            bindings.set = sets[0];
            for (binding, buffer) in buffers.iter().enumerate() {
                let range = [vk::DescriptorBufferInfo::default().buffer(buffer.raw).range(vk::WHOLE_SIZE)];
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(bindings.set)
                    .dst_binding(binding as u32)
                    .descriptor_type(kind)
                    .buffer_info(&range);
                device.update_descriptor_sets(&[write], &[]);
            }
        }
        Ok(bindings)
    }
}

impl Drop for Bindings {
    fn drop(&mut self) {
        let device = &self.vulkan.device;
        // SAFETY: the commands that use these have been destroyed; null handles are ignored.
        unsafe {
            device.destroy_descriptor_pool(self.pool, None);
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// A shader module, destroyed on drop.
pub(crate) struct Shader {
    vulkan: Arc<Vulkan>,
    pub(crate) raw: vk::ShaderModule,
}

impl Shader {
    pub(crate) fn new(vulkan: &Arc<Vulkan>, words: &[u32]) -> Result<Self> {
        let create = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the words are a valid module, as its tests show.
        let raw =
            unsafe { vulkan.device.create_shader_module(&create, None) }.named("vkCreateShaderModule")?;
        Ok(Self { vulkan: vulkan.clone(), raw })
    }
}

impl Drop for Shader {
    fn drop(&mut self) {
        // SAFETY: pipelines do not need their modules once they are made.
        unsafe { self.vulkan.device.destroy_shader_module(self.raw, None) };
    }
}

/// A pipeline, destroyed on drop.
pub(crate) struct Pipeline {
    pub(crate) vulkan: Arc<Vulkan>,
    pub(crate) raw: vk::Pipeline,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: the commands that use it have been destroyed.
        unsafe { self.vulkan.device.destroy_pipeline(self.raw, None) };
    }
}

/// A compute shader that writes `3 * from[i] + 1` to `to[i]`, for as many 32-bit elements as both buffers
/// have.
pub struct Compute {
    // The commands are dropped first.
    recorded: Recorded,
    _pipeline: Pipeline,
    _bindings: Bindings,
    _buffers: [Arc<Buffer>; 2],
}

impl Compute {
    /// Records the work.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn new(vulkan: &Arc<Vulkan>, from: &Arc<Buffer>, to: &Arc<Buffer>, elements: u32) -> Result<Self> {
        let bindings = Bindings::new(vulkan, vk::ShaderStageFlags::COMPUTE, &[from, to])?;
        let shader = Shader::new(vulkan, &shaders::compute())?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(shader.raw)
            .name(c"main");
        let create = vk::ComputePipelineCreateInfo::default().stage(stage).layout(bindings.layout);
        // SAFETY: the structures are valid.
        let made =
            unsafe { vulkan.device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None) };
        let made = made.map_err(|(_, result)| result).named("vkCreateComputePipelines")?;
        let pipeline = Pipeline { vulkan: vulkan.clone(), raw: made[0] };
        let recorded = Recorded::new(vulkan, &[from, to], |device, commands| {
            let point = vk::PipelineBindPoint::COMPUTE;
            // SAFETY: the commands are being recorded, and everything lives as long as they do.
            unsafe {
                device.cmd_bind_pipeline(commands, point, pipeline.raw);
                device.cmd_bind_descriptor_sets(commands, point, bindings.layout, 0, &[bindings.set], &[]);
                device.cmd_dispatch(commands, elements.div_ceil(GROUP), 1, 1);
            }
        })?;
        let _buffers = [from.clone(), to.clone()];
        Ok(Self { recorded, _pipeline: pipeline, _bindings: bindings, _buffers })
    }

    /// Runs the work and blocks until its fence is signalled.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn run(&self) -> Result<()> {
        self.recorded.run()
    }

    /// Makes the queue run it once a timeline reaches a value, and then raise another timeline. Does not wait
    /// for either.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn submit(&self, after: (&Timeline, u64), then: (&Timeline, u64)) -> Result<()> {
        self.recorded.submit(Some(after), Some(then))
    }
}
