//! HSA's image extension. Kernels load the elements of images of the geometry 1DB with buffer instructions
//! (`tex1Dfetch` of HIP), and those of others with image instructions. There are no images of depths.
//!
//! As in AMD's runtime, the handle of an image or sampler is the address of its descriptor, which programs
//! copy to where their kernels find it. An image descriptor has four words for the buffer instructions, or
//! eight for the image instructions, and type, order and width in words 8 to 10. A sampler descriptor has
//! eight words, of which instructions use four.
//!
//! Images are in linear order, also those whose layout is up to the device: a row begins at a multiple of 256
//! bytes, and planes and layers follow each other.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::{LazyLock, Mutex};

use hsa_sys::*;

use super::agent::Agent;
use super::copy::copy_bytes;
use super::event::lock;
use super::{S, call, write};
use crate::isa::{BufferFormat, Clamp, ImageResource, ImageSampler, ImageShape, NumberFormat};
use crate::machine::{Device, Generation};

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const FORMAT_UNSUPPORTED: S = S::HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
const SIZE_UNSUPPORTED: S = S::HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED;

/// The maximum number of elements of a buffer: the largest count in a descriptor.
const MAX_ELEMENTS: u32 = u32::MAX;
/// The largest width and height of other images.
const MAX_SIDE: u32 = 16384;
/// The largest depth, and the largest number of layers.
const MAX_DEPTH: u32 = 8192;
/// The alignment of image data in bytes.
const ALIGNMENT: usize = 256;
/// The alignment of rows of linear images in bytes.
const PITCH_ALIGNMENT: u32 = 256;
/// The maximum number of simultaneous handles that is reported to the program.
const MAX_HANDLES: u32 = 4096;

/// A descriptor, stored at the address that is its handle.
#[derive(Debug)]
#[repr(C, align(64))]
struct Descriptor {
    /// What programs read at the handle.
    words: [u32; 16],
    /// Of an image: where its elements are.
    elements: Option<Elements>,
}

/// The memory of an image.
#[derive(Clone, Copy, Debug)]
struct Elements {
    data: u64,
    /// Bytes of an element.
    bytes: usize,
    row_pitch: usize,
    /// Width, height and depth or layers.
    size: [u32; 3],
}

/// All descriptors of one kind of object.
type Descriptors = LazyLock<Mutex<HashMap<u64, Box<Descriptor>>>>;

static IMAGES: Descriptors = LazyLock::new(Mutex::default);
static SAMPLERS: Descriptors = LazyLock::new(Mutex::default);

/// Stores a descriptor and returns its handle.
fn keep(all: &Descriptors, words: [u32; 16], elements: Option<Elements>) -> u64 {
    let descriptor = Box::new(Descriptor { words, elements });
    let handle = &raw const *descriptor as u64;
    lock(all).insert(handle, descriptor);
    handle
}

fn forget(all: &Descriptors, handle: u64) -> Result<(), S> {
    lock(all).remove(&handle).map(drop).ok_or(INVALID)
}

/// Whether a device has images at all. gfx942 has no instructions for them, and AMD's runtime has no image
/// functions there.
fn has_images(device: &Device) -> bool {
    device.target().generation() != Generation::Gfx940
}

/// Whether a device reports images. For OpenCL, a device has all kinds of images or none, so none is reported
/// there; HIP asks for each kind. The functions exist in either case, because some versions of OpenCL make
/// samplers without asking.
pub(super) fn tells_of_images(device: &Device) -> bool {
    has_images(device) && !is_opencl()
}

/// The name of AMD's OpenCL starts with this in all versions. OpenCL asks the same questions as its sibling,
/// AMD's HIP.
const OPENCL: &[u8] = b"libamdocl64.so";

/// Whether AMD's OpenCL is loaded in this process.
fn is_opencl() -> bool {
    unsafe extern "C" fn look(library: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> libc::c_int {
        // SAFETY: the loader passes a description that lives as long as the call, with a name that ends with
        // 0 or is null.
        let name = unsafe { (*library).dlpi_name };
        if name.is_null() {
            return 0;
        }
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let is_it = name.rsplit(|byte| *byte == b'/').next().is_some_and(|file| file.starts_with(OPENCL));
        if is_it {
            // SAFETY: the data is what is passed below.
            unsafe { *found.cast::<bool>() = true };
        }
        libc::c_int::from(is_it)
    }
    let mut found = false;
    // SAFETY: the function gets the data that it expects, and does not call the loader.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

fn device_of(agent: hsa_agent_t) -> Result<std::sync::Arc<Device>, S> {
    match Agent::from_handle(agent)? {
        Agent::Gpu(device) if has_images(&device) => Ok(device),
        _ => Err(S::HSA_STATUS_ERROR_NOT_SUPPORTED),
    }
}

/// The bits and the meaning of a channel.
fn channel(kind: hsa_ext_image_channel_type32_t) -> Option<(u8, NumberFormat)> {
    use NumberFormat::{Float, Sint, Snorm, Uint, Unorm};
    use hsa_ext_image_channel_type_t as T;
    Some(match T(kind) {
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8 => (8, Snorm),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16 => (16, Snorm),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8 => (8, Unorm),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16 => (16, Unorm),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8 => (8, Sint),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16 => (16, Sint),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32 => (32, Sint),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8 => (8, Uint),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16 => (16, Uint),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32 => (32, Uint),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT => (16, Float),
        T::HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT => (32, Float),
        _ => return None,
    })
}

/// The number of channels of an order in memory, and the sources of x, y, z and w of a result: 0, 1, or 4 and
/// up for a channel.
fn order(order: hsa_ext_image_channel_order32_t) -> Option<(u8, [u32; 4])> {
    use hsa_ext_image_channel_order_t as O;
    const X: u32 = 4;
    const Y: u32 = 5;
    const Z: u32 = 6;
    const W: u32 = 7;
    Some(match O(order) {
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_A => (1, [0, 0, 0, X]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_R => (1, [X, 0, 0, 1]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY => (1, [X, X, X, X]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE => (1, [X, X, X, 1]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_RG => (2, [X, Y, 0, 1]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_RA => (2, [X, 0, 0, Y]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA => (4, [X, Y, Z, W]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA => (4, [Z, Y, X, W]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB => (4, [Y, Z, W, X]),
        O::HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR => (4, [W, Z, Y, X]),
        _ => return None,
    })
}

/// The memory format of an element, and how it maps to a result.
fn element(format: &hsa_ext_image_format_t) -> Option<(BufferFormat, [u32; 4])> {
    let (channels, selection) = order(format.channel_order)?;
    let (bits, number) = channel(format.channel_type)?;
    Some((BufferFormat::uniform(channels, bits, number)?, selection))
}

/// An image that a device can have.
struct Checked {
    described: hsa_ext_image_descriptor_t,
    format: BufferFormat,
    selection: [u32; 4],
    /// `None` for a buffer.
    shape: Option<ImageShape>,
    /// Width, height and depth or layers.
    size: [u32; 3],
}

/// The shape of a geometry, `None` for a buffer; an error for images of depths.
fn shape(geometry: hsa_ext_image_geometry_t) -> Result<Option<ImageShape>, S> {
    use hsa_ext_image_geometry_t as G;
    Ok(Some(match geometry {
        G::HSA_EXT_IMAGE_GEOMETRY_1DB => return Ok(None),
        G::HSA_EXT_IMAGE_GEOMETRY_1D => ImageShape::Line,
        G::HSA_EXT_IMAGE_GEOMETRY_2D => ImageShape::Plane,
        G::HSA_EXT_IMAGE_GEOMETRY_3D => ImageShape::Box,
        G::HSA_EXT_IMAGE_GEOMETRY_1DA => ImageShape::Lines,
        G::HSA_EXT_IMAGE_GEOMETRY_2DA => ImageShape::Planes,
        _ => return Err(FORMAT_UNSUPPORTED),
    }))
}

/// The checks that all images share.
fn checked(descriptor: *const hsa_ext_image_descriptor_t) -> Result<Checked, S> {
    if descriptor.is_null() {
        return Err(INVALID);
    }
    // SAFETY: the caller's descriptor is valid for reads.
    let described = unsafe { descriptor.read_unaligned() };
    let shape = shape(described.geometry)?;
    let (format, selection) = element(&described.format).ok_or(FORMAT_UNSUPPORTED)?;
    let places = shape.map_or(1, ImageShape::places);
    let layers = shape.is_some_and(ImageShape::has_layers);
    // What a geometry has not must be 0.
    let sides = [
        (described.width, true, shape.map_or(MAX_ELEMENTS, |_| MAX_SIDE)),
        (described.height, places > 1, MAX_SIDE),
        (described.depth, places > 2, MAX_DEPTH),
        (described.array_size, layers, MAX_DEPTH),
    ];
    if sides.iter().any(|(size, is_there, _)| (*size != 0) != *is_there) {
        return Err(INVALID);
    }
    if sides.iter().any(|(size, _, most)| *size > *most as usize) {
        return Err(SIZE_UNSUPPORTED);
    }
    let deep = if layers { described.array_size } else { described.depth };
    let size = [described.width, described.height, deep].map(|size| size.max(1) as u32);
    Ok(Checked { described, format, selection, shape, size })
}

impl Checked {
    /// The bytes from a row to the next.
    fn row_pitch(&self) -> usize {
        let row = self.size[0] as usize * self.format.bytes();
        if self.shape.is_none() { row } else { row.next_multiple_of(PITCH_ALIGNMENT as usize) }
    }

    /// The bytes of all rows.
    fn bytes(&self, row_pitch: usize) -> usize {
        row_pitch * self.size[1] as usize * self.size[2] as usize
    }
}

/// The words of an image's descriptor; `None` if the device has no such image.
fn words(device: &Device, data: u64, image: &Checked, row_pitch: usize) -> Option<[u32; 16]> {
    let generation = device.target().generation();
    let mut words = [0; 16];
    match image.shape {
        None => words[..4].copy_from_slice(&buffer_words(generation, data, image)?),
        Some(shape) => {
            let resource = ImageResource {
                base: data,
                format: image.format,
                selection: image.selection,
                shape,
                size: image.size,
                pitch: (row_pitch / image.format.bytes()) as u32,
            };
            words[..8].copy_from_slice(&resource.words(generation)?);
        }
    }
    words[8] = image.described.format.channel_type;
    words[9] = image.described.format.channel_order;
    words[10] = image.size[0];
    Some(words)
}

/// The descriptor of a buffer.
fn buffer_words(generation: Generation, data: u64, image: &Checked) -> Option<[u32; 4]> {
    let code = u32::from(image.format.code(generation)?);
    let code = match generation {
        // In instruction codes, the data format is below the number format; in descriptors, it is the other
        // way round.
        Generation::Gfx9 | Generation::Gfx940 => (code >> 4 & 7) << 12 | (code & 15) << 15,
        // With the resource level bit, which all gfx10 descriptors have.
        Generation::Gfx10 => code << 12 | 1 << 24,
        Generation::Gfx11 | Generation::Gfx12 => code << 12,
    };
    let selected = image.selection.iter().rev().fold(0, |bits, channel| bits << 3 | channel);
    let stride = (image.format.bytes() as u32) << 16;
    Some([data as u32, (data >> 32) as u32 & 0xffff | stride, image.size[0], selected | code])
}

unsafe extern "C" fn capability(
    agent: hsa_agent_t,
    geometry: hsa_ext_image_geometry_t,
    format: *const hsa_ext_image_format_t,
    mask: *mut u32,
) -> S {
    call(|| {
        device_of(agent)?;
        if format.is_null() {
            return Err(INVALID);
        }
        // SAFETY: the caller's format is there.
        let format = unsafe { format.read_unaligned() };
        let has = shape(geometry).is_ok() && element(&format).is_some();
        let all = hsa_ext_image_capability_t::HSA_EXT_IMAGE_CAPABILITY_READ_ONLY.0
            | hsa_ext_image_capability_t::HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY.0
            | hsa_ext_image_capability_t::HSA_EXT_IMAGE_CAPABILITY_READ_WRITE.0;
        // SAFETY: the caller's place is null or valid for a write.
        unsafe { write(mask, if has { all } else { 0 }) }
    })
}

unsafe extern "C" fn capability_with_layout(
    agent: hsa_agent_t,
    geometry: hsa_ext_image_geometry_t,
    format: *const hsa_ext_image_format_t,
    layout: hsa_ext_image_data_layout_t,
    mask: *mut u32,
) -> S {
    if layout != hsa_ext_image_data_layout_t::HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR {
        return call(|| Err(INVALID));
    }
    // SAFETY: as this function's contract.
    unsafe { capability(agent, geometry, format, mask) }
}

unsafe extern "C" fn data_info(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_image_descriptor_t,
    _: hsa_access_permission_t,
    info: *mut hsa_ext_image_data_info_t,
) -> S {
    call(|| {
        device_of(agent)?;
        let image = checked(descriptor)?;
        let size = image.bytes(image.row_pitch());
        let answer = hsa_ext_image_data_info_t { size, alignment: ALIGNMENT };
        // SAFETY: the caller's place is null or valid for a write.
        unsafe { write(info, answer) }
    })
}

/// The pitch of the rows of a linear image, of which 0 is the usual one. Refuses layouts that do not exist
/// here: planes and layers must follow each other.
fn linear_pitch(
    layout: hsa_ext_image_data_layout_t,
    image: &Checked,
    row_pitch: usize,
    slice_pitch: usize,
) -> Result<usize, S> {
    const PITCH_UNSUPPORTED: S = S::HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED;
    if layout != hsa_ext_image_data_layout_t::HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR {
        return Err(INVALID);
    }
    let row = image.size[0] as usize * image.format.bytes();
    let fits = |pitch: usize| pitch == 0 || pitch >= row;
    let Some(shape) = image.shape else {
        return if fits(row_pitch) && fits(slice_pitch) { Ok(row) } else { Err(PITCH_UNSUPPORTED) };
    };
    let pitch = if row_pitch == 0 { image.row_pitch() } else { row_pitch };
    let plane = pitch * image.size[1] as usize;
    let is_deep = image.size[2] > 1 && (shape == ImageShape::Box || shape.has_layers());
    let aligned =
        pitch.is_multiple_of(PITCH_ALIGNMENT as usize) && pitch.is_multiple_of(image.format.bytes());
    match aligned && fits(pitch) && (!is_deep || slice_pitch == 0 || slice_pitch == plane) {
        true => Ok(pitch),
        false => Err(PITCH_UNSUPPORTED),
    }
}

unsafe extern "C" fn data_info_with_layout(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_image_descriptor_t,
    _: hsa_access_permission_t,
    layout: hsa_ext_image_data_layout_t,
    row_pitch: usize,
    slice_pitch: usize,
    info: *mut hsa_ext_image_data_info_t,
) -> S {
    call(|| {
        device_of(agent)?;
        let image = checked(descriptor)?;
        let size = image.bytes(linear_pitch(layout, &image, row_pitch, slice_pitch)?);
        let answer = hsa_ext_image_data_info_t { size, alignment: ALIGNMENT };
        // SAFETY: the caller's place is null or valid for a write.
        unsafe { write(info, answer) }
    })
}

fn make(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_image_descriptor_t,
    data: *const c_void,
    image: *mut hsa_ext_image_t,
    layout: Option<(hsa_ext_image_data_layout_t, usize, usize)>,
) -> Result<(), S> {
    let device = device_of(agent)?;
    let described = checked(descriptor)?;
    let row_pitch = match layout {
        Some((layout, row_pitch, slice_pitch)) => linear_pitch(layout, &described, row_pitch, slice_pitch)?,
        None => described.row_pitch(),
    };
    let alignment = described.shape.map_or(described.format.bytes(), |_| ALIGNMENT);
    if image.is_null() || data.is_null() || !(data as usize).is_multiple_of(alignment) {
        return Err(INVALID);
    }
    let words = words(&device, data as u64, &described, row_pitch).ok_or(FORMAT_UNSUPPORTED)?;
    let elements =
        Elements { data: data as u64, bytes: described.format.bytes(), row_pitch, size: described.size };
    // SAFETY: the caller's place is not null, as checked above, and valid for a write.
    unsafe { write(image, hsa_ext_image_t { handle: keep(&IMAGES, words, Some(elements)) }) }
}

unsafe extern "C" fn create(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_image_descriptor_t,
    data: *const c_void,
    _: hsa_access_permission_t,
    image: *mut hsa_ext_image_t,
) -> S {
    call(|| make(agent, descriptor, data, image, None))
}

unsafe extern "C" fn create_with_layout(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_image_descriptor_t,
    data: *const c_void,
    _: hsa_access_permission_t,
    layout: hsa_ext_image_data_layout_t,
    row_pitch: usize,
    slice_pitch: usize,
    image: *mut hsa_ext_image_t,
) -> S {
    call(|| make(agent, descriptor, data, image, Some((layout, row_pitch, slice_pitch))))
}

unsafe extern "C" fn destroy(agent: hsa_agent_t, image: hsa_ext_image_t) -> S {
    call(|| {
        device_of(agent)?;
        forget(&IMAGES, image.handle)
    })
}

/// Rows of a box of elements in memory.
#[derive(Clone, Copy)]
struct Rows {
    start: u64,
    row_pitch: usize,
    slice_pitch: usize,
}

impl Elements {
    fn of(image: hsa_ext_image_t) -> Result<Elements, S> {
        lock(&IMAGES).get(&image.handle).and_then(|found| found.elements).ok_or(INVALID)
    }

    /// The rows of a part; the third dimension is the depth or the layer.
    fn part(&self, offset: &hsa_dim3_t, range: &hsa_dim3_t) -> Result<Rows, S> {
        let sides = [(offset.x, range.x), (offset.y, range.y), (offset.z, range.z)];
        let is_inside = |((offset, range), size): (&(u32, u32), u32)| {
            offset.checked_add(*range).is_some_and(|end| end <= size)
        };
        if !sides.iter().zip(self.size).all(is_inside) {
            return Err(INVALID);
        }
        let slice_pitch = self.row_pitch * self.size[1] as usize;
        let start = offset.z as usize * slice_pitch
            + offset.y as usize * self.row_pitch
            + offset.x as usize * self.bytes;
        Ok(Rows { start: self.data + start as u64, row_pitch: self.row_pitch, slice_pitch })
    }
}

/// What a dimension that an image has not counts as.
fn at_least_one(range: &hsa_dim3_t) -> hsa_dim3_t {
    hsa_dim3_t { x: range.x, y: range.y.max(1), z: range.z.max(1) }
}

/// The rows of a program's memory, with the pitches that 0 stands for.
fn memory_rows(
    start: *const c_void,
    (row_pitch, slice_pitch): (usize, usize),
    range: &hsa_dim3_t,
    bytes: usize,
) -> Result<Rows, S> {
    let row = range.x as usize * bytes;
    let row_pitch = if row_pitch == 0 { row } else { row_pitch };
    let plane = row_pitch.checked_mul(range.y as usize).ok_or(INVALID)?;
    let slice_pitch = if slice_pitch == 0 { plane } else { slice_pitch };
    if start.is_null() || row_pitch < row || range.z > 1 && slice_pitch < plane {
        return Err(INVALID);
    }
    Ok(Rows { start: start as u64, row_pitch, slice_pitch })
}

/// Copies a box, row by row.
///
/// # Safety
/// Memory outside the machine belongs to the program, and nothing else uses it.
unsafe fn copy_box(to: Rows, from: Rows, range: &hsa_dim3_t, bytes: usize) -> Result<(), S> {
    let at = |rows: Rows, y: u32, z: u32| {
        let offset = (z as usize).checked_mul(rows.slice_pitch)?.checked_add(y as usize * rows.row_pitch)?;
        rows.start.checked_add(offset as u64)
    };
    for z in 0..range.z {
        for y in 0..range.y {
            let (to, from) = (at(to, y, z).ok_or(INVALID)?, at(from, y, z).ok_or(INVALID)?);
            // SAFETY: the caller's promise.
            unsafe { copy_bytes(to, from, u64::from(range.x) * bytes as u64)? };
        }
    }
    Ok(())
}

unsafe extern "C" fn copy(
    agent: hsa_agent_t,
    from: hsa_ext_image_t,
    from_offset: *const hsa_dim3_t,
    to: hsa_ext_image_t,
    to_offset: *const hsa_dim3_t,
    range: *const hsa_dim3_t,
) -> S {
    call(|| {
        device_of(agent)?;
        let (source, target) = (Elements::of(from)?, Elements::of(to)?);
        if from_offset.is_null() || to_offset.is_null() || range.is_null() || source.bytes != target.bytes {
            return Err(INVALID);
        }
        // SAFETY: the caller's structures are there.
        let (from_offset, to_offset, range) =
            unsafe { (from_offset.read_unaligned(), to_offset.read_unaligned(), range.read_unaligned()) };
        let range = at_least_one(&range);
        let (source_rows, target_rows) =
            (source.part(&from_offset, &range)?, target.part(&to_offset, &range)?);
        // SAFETY: images are over memory that the program keeps while they exist.
        unsafe { copy_box(target_rows, source_rows, &range, source.bytes) }
    })
}

/// The rows of a part of an image, those of memory beside them, and how many elements.
///
/// # Safety
/// `region` is null or valid for reads.
unsafe fn beside_memory(
    agent: hsa_agent_t,
    image: hsa_ext_image_t,
    region: *const hsa_ext_image_region_t,
    memory: *const c_void,
    pitches: (usize, usize),
) -> Result<(Rows, Rows, hsa_dim3_t, usize), S> {
    device_of(agent)?;
    let elements = Elements::of(image)?;
    if region.is_null() {
        return Err(INVALID);
    }
    // SAFETY: this function's contract.
    let region = unsafe { region.read_unaligned() };
    let range = at_least_one(&region.range);
    let part = elements.part(&region.offset, &range)?;
    Ok((part, memory_rows(memory, pitches, &range, elements.bytes)?, range, elements.bytes))
}

unsafe extern "C" fn import(
    agent: hsa_agent_t,
    from: *const c_void,
    row_pitch: usize,
    slice_pitch: usize,
    to: hsa_ext_image_t,
    region: *const hsa_ext_image_region_t,
) -> S {
    call(|| {
        // SAFETY: the caller's region and memory are there.
        unsafe {
            let (part, memory, range, bytes) =
                beside_memory(agent, to, region, from, (row_pitch, slice_pitch))?;
            copy_box(part, memory, &range, bytes)
        }
    })
}

unsafe extern "C" fn export(
    agent: hsa_agent_t,
    from: hsa_ext_image_t,
    to: *mut c_void,
    row_pitch: usize,
    slice_pitch: usize,
    region: *const hsa_ext_image_region_t,
) -> S {
    call(|| {
        // SAFETY: the caller's region and memory are there.
        unsafe {
            let (part, memory, range, bytes) =
                beside_memory(agent, from, region, to, (row_pitch, slice_pitch))?;
            copy_box(memory, part, &range, bytes)
        }
    })
}

/// The sampler of a description; `None` for modes that are not in the headers.
fn sampler(coordinates: u32, filter: u32, addressing: [u32; 3]) -> Option<ImageSampler> {
    use hsa_ext_sampler_addressing_mode_t as A;
    use hsa_ext_sampler_coordinate_mode_t as C;
    use hsa_ext_sampler_filter_mode_t as F;
    let clamp = |mode: u32| {
        Some(match A(mode) {
            A::HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED
            | A::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE => Clamp::Edge,
            A::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER => Clamp::Border,
            A::HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT => Clamp::Wrap,
            A::HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT => Clamp::Mirror,
            _ => return None,
        })
    };
    let [x, y, z] = addressing.map(clamp);
    Some(ImageSampler {
        clamp: [x?, y?, z?],
        unnormalized: match C(coordinates) {
            C::HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED => true,
            C::HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED => false,
            _ => return None,
        },
        linear: match F(filter) {
            F::HSA_EXT_SAMPLER_FILTER_MODE_NEAREST => false,
            F::HSA_EXT_SAMPLER_FILTER_MODE_LINEAR => true,
            _ => return None,
        },
        // Transparent black, as AMD's runtime has it.
        border: [false, false],
    })
}

fn make_sampler(
    agent: hsa_agent_t,
    described: Option<ImageSampler>,
    made: *mut hsa_ext_sampler_t,
) -> Result<(), S> {
    device_of(agent)?;
    let described = described.filter(|_| !made.is_null()).ok_or(INVALID)?;
    let mut words = [0; 16];
    words[..4].copy_from_slice(&described.words());
    // SAFETY: the caller's place is not null, as checked above, and valid for a write.
    unsafe { write(made, hsa_ext_sampler_t { handle: keep(&SAMPLERS, words, None) }) }
}

unsafe extern "C" fn sampler_create(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_sampler_descriptor_t,
    made: *mut hsa_ext_sampler_t,
) -> S {
    call(|| {
        // SAFETY: the caller's descriptor is null or valid for reads.
        let described = (!descriptor.is_null()).then(|| unsafe { descriptor.read_unaligned() });
        let described =
            described.and_then(|d| sampler(d.coordinate_mode, d.filter_mode, [d.address_mode; 3]));
        make_sampler(agent, described, made)
    })
}

unsafe extern "C" fn sampler_create_v2(
    agent: hsa_agent_t,
    descriptor: *const hsa_ext_sampler_descriptor_v2_t,
    made: *mut hsa_ext_sampler_t,
) -> S {
    call(|| {
        // SAFETY: the caller's descriptor is null or valid for reads.
        let described = (!descriptor.is_null()).then(|| unsafe { descriptor.read_unaligned() });
        let described = described.and_then(|d| sampler(d.coordinate_mode, d.filter_mode, d.address_modes));
        make_sampler(agent, described, made)
    })
}

unsafe extern "C" fn sampler_destroy(agent: hsa_agent_t, sampler: hsa_ext_sampler_t) -> S {
    call(|| {
        device_of(agent)?;
        forget(&SAMPLERS, sampler.handle)
    })
}

/// An agent's image attributes; none if the attribute is not about images.
///
/// # Safety
/// `value` is valid for a write of the attribute's type.
pub(super) unsafe fn info(
    device: &Device,
    attribute: hsa_agent_info_t,
    value: *mut c_void,
) -> Option<Result<(), S>> {
    use hsa_agent_info_t as I;
    let has = |size: u32| if has_images(device) { size } else { 0 };
    let side = |size: u32| if tells_of_images(device) { size } else { 0 };
    // The header says `size_t`, but AMD's runtime writes 32-bit words, and AMD's HIP provides no more room.
    // SAFETY: as this function's contract.
    Some(unsafe {
        match attribute {
            I::HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS => write(value.cast(), has(MAX_ELEMENTS)),
            I::HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS | I::HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS => {
                write(value.cast(), side(MAX_SIDE))
            }
            I::HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS => write(value.cast(), side(MAX_DEPTH)),
            I::HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS | I::HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS => {
                write(value.cast(), [side(MAX_SIDE); 2])
            }
            I::HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS
            | I::HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS => write(value.cast(), [0u32; 2]),
            I::HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS => {
                write(value.cast(), [side(MAX_SIDE), side(MAX_SIDE), side(MAX_DEPTH)])
            }
            I::HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES
            | I::HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES
            | I::HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS => write(value.cast(), has(MAX_HANDLES)),
            I::HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT => {
                write(value.cast(), has(PITCH_ALIGNMENT))
            }
            _ => return None,
        }
    })
}

unsafe extern "C" fn max_dimension(agent: hsa_agent_t, attribute: hsa_agent_info_t, value: *mut c_void) -> S {
    use hsa_agent_info_t as I;
    call(|| {
        let Agent::Gpu(device) = Agent::from_handle(agent)? else {
            return Err(S::HSA_STATUS_ERROR_INVALID_AGENT);
        };
        let first = I::HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS.0;
        let last = I::HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS.0;
        if value.is_null() || !(first..=last).contains(&attribute.0) {
            return Err(INVALID);
        }
        // SAFETY: as the header specifies for the attribute.
        unsafe { info(&device, attribute, value) }.unwrap_or(Err(INVALID))
    })
}

/// The extension's functions. To clear an image is not supported.
pub(super) fn extension_table() -> hsa_ext_images_1_pfn_t {
    let table = super::table();
    hsa_ext_images_1_pfn_t {
        hsa_ext_image_get_capability: Some(capability),
        hsa_ext_image_data_get_info: Some(data_info),
        hsa_ext_image_create: Some(create),
        hsa_ext_image_destroy: Some(destroy),
        hsa_ext_image_copy: Some(copy),
        hsa_ext_image_import: Some(import),
        hsa_ext_image_export: Some(export),
        hsa_ext_image_clear: Some(table.hsa_ext_image_clear),
        hsa_ext_sampler_create: Some(sampler_create),
        hsa_ext_sampler_destroy: Some(sampler_destroy),
        hsa_ext_image_get_capability_with_layout: Some(capability_with_layout),
        hsa_ext_image_data_get_info_with_layout: Some(data_info_with_layout),
        hsa_ext_image_create_with_layout: Some(create_with_layout),
        hsa_ext_sampler_create_v2: Some(sampler_create_v2),
    }
}

pub(super) fn provide(builder: &mut Builder) {
    builder.hsa_ext_image_get_capability(capability);
    builder.hsa_ext_image_get_capability_with_layout(capability_with_layout);
    builder.hsa_ext_image_data_get_info(data_info);
    builder.hsa_ext_image_data_get_info_with_layout(data_info_with_layout);
    builder.hsa_ext_image_create(create).hsa_ext_image_create_with_layout(create_with_layout);
    builder.hsa_ext_image_copy(copy).hsa_ext_image_import(import).hsa_ext_image_export(export);
    builder.hsa_ext_image_destroy(destroy).hsa_amd_image_get_info_max_dim(max_dimension);
    builder.hsa_ext_sampler_create(sampler_create).hsa_ext_sampler_create_v2(sampler_create_v2);
    builder.hsa_ext_sampler_destroy(sampler_destroy);
}
