//! Work for the graphics pipeline: a triangle that covers an image. It is coloured from one buffer, and the
//! image is copied to another.

use std::sync::Arc;

use ash::vk;

use crate::job::{Bindings, Pipeline, Recorded, Shader};
use crate::{Buffer, Named, Result, Vulkan, shaders};

const FORMAT: vk::Format = vk::Format::R32_UINT;

/// Draws `3 * from[i] + 1` as the pixels of an image of 32-bit numbers, row by row, and copies them to a
/// buffer.
pub struct Drawing {
    // The commands are dropped first.
    recorded: Recorded,
    _pipeline: Pipeline,
    _target: Target,
    _bindings: Bindings,
    _buffers: [Arc<Buffer>; 2],
}

/// An image and the objects needed to draw to it.
struct Target {
    vulkan: Arc<Vulkan>,
    image: vk::Image,
    memory: vk::DeviceMemory,
    view: vk::ImageView,
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
}

impl Target {
    fn new(vulkan: &Arc<Vulkan>, width: u32, height: u32) -> Result<Self> {
        let device = &vulkan.device;
        let mut target = Self {
            vulkan: vulkan.clone(),
            image: vk::Image::null(),
            memory: vk::DeviceMemory::null(),
            view: vk::ImageView::null(),
            pass: vk::RenderPass::null(),
            framebuffer: vk::Framebuffer::null(),
        };
        let create = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(FORMAT)
            .extent(vk::Extent3D { width, height, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC);
        // SAFETY: the structs are valid; the created objects are destroyed with `target`.
        unsafe {
            target.image = device.create_image(&create, None).named("vkCreateImage")?;
            let requirements = device.get_image_memory_requirements(target.image);
            let local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
            let index = vulkan.memory_type(requirements.memory_type_bits, local, "the device's own")?;
            let allocate =
                vk::MemoryAllocateInfo::default().allocation_size(requirements.size).memory_type_index(index);
            target.memory = device.allocate_memory(&allocate, None).named("vkAllocateMemory")?;
            device.bind_image_memory(target.image, target.memory, 0).named("vkBindImageMemory")?;
            let create = vk::ImageViewCreateInfo::default()
                .image(target.image)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(FORMAT)
                .subresource_range(
                    vk::ImageSubresourceRange::default()
                        .aspect_mask(vk::ImageAspectFlags::COLOR)
                        .level_count(1)
                        .layer_count(1),
                );
            target.view = device.create_image_view(&create, None).named("vkCreateImageView")?;
            target.pass = render_pass(device)?;
            let views = [target.view];
            let create = vk::FramebufferCreateInfo::default()
                .render_pass(target.pass)
                .attachments(&views)
                .width(width)
                .height(height)
                .layers(1);
            target.framebuffer = device.create_framebuffer(&create, None).named("vkCreateFramebuffer")?;
        }
        Ok(target)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let device = &self.vulkan.device;
        // SAFETY: the commands that use these have been destroyed; null handles are ignored.
        unsafe {
            device.destroy_framebuffer(self.framebuffer, None);
            device.destroy_render_pass(self.pass, None);
            device.destroy_image_view(self.view, None);
            device.destroy_image(self.image, None);
            device.free_memory(self.memory, None);
        }
    }
}

/// A pass that clears one image and leaves it ready to be copied.
///
/// # Safety
/// The device is valid.
unsafe fn render_pass(device: &ash::Device) -> Result<vk::RenderPass> {
    let attachments = [vk::AttachmentDescription::default()
        .format(FORMAT)
        .samples(vk::SampleCountFlags::TYPE_1)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .final_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)];
    let colours = [vk::AttachmentReference::default().layout(vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL)];
    let passes = [vk::SubpassDescription::default().color_attachments(&colours)];
    let before_copies = [vk::SubpassDependency::default()
        .src_subpass(0)
        .dst_subpass(vk::SUBPASS_EXTERNAL)
        .src_stage_mask(vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT)
        .dst_stage_mask(vk::PipelineStageFlags::TRANSFER)
        .src_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
        .dst_access_mask(vk::AccessFlags::TRANSFER_READ)];
    let create = vk::RenderPassCreateInfo::default()
        .attachments(&attachments)
        .subpasses(&passes)
        .dependencies(&before_copies);
    // SAFETY: this function's contract; the structs are valid.
    unsafe { device.create_render_pass(&create, None) }.named("vkCreateRenderPass")
}

fn pipeline(
    vulkan: &Arc<Vulkan>,
    layout: vk::PipelineLayout,
    pass: vk::RenderPass,
    extent: vk::Extent2D,
) -> Result<Pipeline> {
    let vertex = Shader::new(vulkan, &shaders::vertex())?;
    let fragment = Shader::new(vulkan, &shaders::fragment(extent.width))?;
    let stage = |stage, shader: &Shader| {
        vk::PipelineShaderStageCreateInfo::default().stage(stage).module(shader.raw).name(c"main")
    };
    let stages =
        [stage(vk::ShaderStageFlags::VERTEX, &vertex), stage(vk::ShaderStageFlags::FRAGMENT, &fragment)];
    let no_vertices = vk::PipelineVertexInputStateCreateInfo::default();
    let triangles =
        vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let views = [vk::Viewport {
        width: extent.width as f32,
        height: extent.height as f32,
        max_depth: 1.0,
        ..Default::default()
    }];
    let areas = [vk::Rect2D { extent, ..Default::default() }];
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewports(&views).scissors(&areas);
    let raster = vk::PipelineRasterizationStateCreateInfo::default()
        .polygon_mode(vk::PolygonMode::FILL)
        .cull_mode(vk::CullModeFlags::NONE)
        .line_width(1.0);
    let samples =
        vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let blends =
        [vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA)];
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
    let create = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&no_vertices)
        .input_assembly_state(&triangles)
        .viewport_state(&viewport)
        .rasterization_state(&raster)
        .multisample_state(&samples)
        .color_blend_state(&blend)
        .layout(layout)
        .render_pass(pass);
    // SAFETY: the structures are valid.
    let made = unsafe { vulkan.device.create_graphics_pipelines(vk::PipelineCache::null(), &[create], None) };
    let made = made.map_err(|(_, result)| result).named("vkCreateGraphicsPipelines")?;
    Ok(Pipeline { vulkan: vulkan.clone(), raw: made[0] })
}

impl Drawing {
    /// Records the work. Both buffers have an element for each pixel.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn new(
        vulkan: &Arc<Vulkan>,
        from: &Arc<Buffer>,
        to: &Arc<Buffer>,
        (width, height): (u32, u32),
    ) -> Result<Self> {
        let bindings = Bindings::new(vulkan, vk::ShaderStageFlags::FRAGMENT, &[from])?;
        let target = Target::new(vulkan, width, height)?;
        let extent = vk::Extent2D { width, height };
        let pipeline = pipeline(vulkan, bindings.layout, target.pass, extent)?;
        let recorded = Recorded::new(vulkan, &[from, to], |device, commands| {
            let point = vk::PipelineBindPoint::GRAPHICS;
            let clear = [vk::ClearValue { color: vk::ClearColorValue { uint32: [0; 4] } }];
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(target.pass)
                .framebuffer(target.framebuffer)
                .render_area(vk::Rect2D { extent, ..Default::default() })
                .clear_values(&clear);
            let region = vk::BufferImageCopy::default()
                .image_subresource(
                    vk::ImageSubresourceLayers::default()
                        .aspect_mask(vk::ImageAspectFlags::COLOR)
                        .layer_count(1),
                )
                .image_extent(vk::Extent3D { width, height, depth: 1 });
            // SAFETY: the commands are being recorded, and everything lives as long as they do.
            unsafe {
                device.cmd_begin_render_pass(commands, &begin, vk::SubpassContents::INLINE);
                device.cmd_bind_pipeline(commands, point, pipeline.raw);
                device.cmd_bind_descriptor_sets(commands, point, bindings.layout, 0, &[bindings.set], &[]);
                device.cmd_draw(commands, 3, 1, 0, 0);
                device.cmd_end_render_pass(commands);
                let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
                device.cmd_copy_image_to_buffer(commands, target.image, layout, to.raw, &[region]);
            }
        })?;
        let _buffers = [from.clone(), to.clone()];
        Ok(Self { recorded, _pipeline: pipeline, _target: target, _bindings: bindings, _buffers })
    }

    /// Runs the work and blocks until its fence is signalled.
    ///
    /// # Errors
    /// Vulkan refuses.
    pub fn run(&self) -> Result<()> {
        self.recorded.run()
    }
}
