//! Images: descriptors, refusals, and kernels that read and write them, against a model in doubles.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::common::*;
use hsa_sys::*;

use hsa_ext_image_channel_order_t as Order;
use hsa_ext_image_channel_type_t as Type;
use hsa_ext_image_geometry_t as Geometry;

const INVALID: S = S::HSA_STATUS_ERROR_INVALID_ARGUMENT;
const LINEAR: hsa_ext_image_data_layout_t = hsa_ext_image_data_layout_t::HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR;
const ACCESS: hsa_access_permission_t = hsa_access_permission_t::HSA_ACCESS_PERMISSION_RO;

fn format(kind: Type, order: Order) -> hsa_ext_image_format_t {
    hsa_ext_image_format_t { channel_type: kind.0, channel_order: order.0 }
}

fn image(geometry: Geometry, width: usize, kind: Type, order: Order) -> hsa_ext_image_descriptor_t {
    let format = format(kind, order);
    hsa_ext_image_descriptor_t { geometry, width, height: 0, depth: 0, array_size: 0, format }
}

/// A buffer of this many pairs of bytes.
fn bytes(width: usize) -> hsa_ext_image_descriptor_t {
    let kind = Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8;
    image(Geometry::HSA_EXT_IMAGE_GEOMETRY_1DB, width, kind, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RG)
}

fn create(
    agent: hsa_agent_t,
    image: &hsa_ext_image_descriptor_t,
    data: *const c_void,
) -> Result<hsa_ext_image_t, S> {
    let mut made = hsa_ext_image_t { handle: 0 };
    match hsa!(hsa_ext_image_create_with_layout(agent, image, data, ACCESS, LINEAR, 0, 0, &mut made)) {
        S::HSA_STATUS_SUCCESS => Ok(made),
        status => Err(status),
    }
}

#[test]
fn buffers_of_texels_have_descriptors_at_their_handles() {
    let data = [0u32; 64];
    let start = data.as_ptr() as u64;
    for target in ["gfx90a", "gfx1030", "gfx1100", "gfx1201"] {
        let agent = gpu(target);
        let made = create(agent, &bytes(100), data.as_ptr().cast()).unwrap();
        // SAFETY: a handle is the address of a descriptor.
        let words = unsafe { *(made.handle as *const [u32; 12]) };
        assert_eq!(u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32, start);
        assert_eq!(words[1] >> 16, 2, "bytes of an element");
        assert_eq!((words[2], words[10]), (100, 100), "elements");
        let order = Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RG.0;
        assert_eq!(words[8..10], [Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8.0, order]);
        // x, y, 0, 1.
        assert_eq!(words[3] & 0xfff, 4 | 5 << 3 | 1 << 9);
        ok!(hsa_ext_image_destroy(agent, made));
        assert_eq!(hsa!(hsa_ext_image_destroy(agent, made)), INVALID, "twice");
    }
}

#[test]
fn other_images_are_refused_and_capabilities_say_so() {
    let data = [0u32; 64];
    let at = data.as_ptr().cast();
    let agent = gpu("gfx1100");
    let (unorm, r) = (Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_R);
    let buffer = Geometry::HSA_EXT_IMAGE_GEOMETRY_1DB;
    let unsupported = S::HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED;
    let refused = [
        (image(Geometry::HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, 16, unorm, r), unsupported),
        (image(Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, 16, unorm, r), INVALID),
        (
            image(Geometry::HSA_EXT_IMAGE_GEOMETRY_1D, 16385, unorm, r),
            S::HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED,
        ),
        (image(buffer, 16, Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24, r), unsupported),
        (image(buffer, 16, unorm, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH), unsupported),
        (image(buffer, 16, unorm, Order(99)), unsupported),
        (image(buffer, 0, unorm, r), INVALID),
        (image(buffer, usize::MAX, unorm, r), S::HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED),
        (hsa_ext_image_descriptor_t { height: 2, ..image(buffer, 16, unorm, r) }, INVALID),
    ];
    for (image, status) in &refused {
        assert_eq!(create(agent, image, at).unwrap_err(), *status, "{image:?}");
    }
    assert_eq!(create(agent, &bytes(16), null()).unwrap_err(), INVALID);
    assert_eq!(create(agent, &bytes(16), at.wrapping_byte_add(1)).unwrap_err(), INVALID, "misaligned");
    assert_eq!(create(host(), &bytes(16), at).unwrap_err(), S::HSA_STATUS_ERROR_NOT_SUPPORTED);
    let capability = |geometry, format: &hsa_ext_image_format_t| {
        let mut mask = 99;
        ok!(hsa_ext_image_get_capability(agent, geometry, format, &mut mask));
        mask
    };
    assert_ne!(capability(buffer, &format(unorm, r)), 0);
    assert_ne!(capability(Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, &format(unorm, r)), 0);
    assert_eq!(capability(Geometry::HSA_EXT_IMAGE_GEOMETRY_2DDEPTH, &format(unorm, r)), 0);
    assert_eq!(capability(buffer, &format(Type(99), r)), 0);
    let mut info = hsa_ext_image_data_info_t { size: 0, alignment: 0 };
    ok!(hsa_ext_image_data_get_info(agent, &bytes(100), ACCESS, &mut info));
    assert_eq!((info.size, info.alignment), (200, 256));
    let row = |pitch| {
        let mut info = hsa_ext_image_data_info_t { size: 0, alignment: 0 };
        hsa!(hsa_ext_image_data_get_info_with_layout(agent, &bytes(100), ACCESS, LINEAR, pitch, 0, &mut info))
    };
    assert_eq!(row(256), S::HSA_STATUS_SUCCESS);
    assert_eq!(row(128), S::HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED);
}

#[test]
fn devices_without_instructions_for_images_have_none() {
    let agent = gpu("gfx942");
    let max = hsa_agent_info_t::HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS.0;
    // Words of 32 bits, as AMD's runtime writes them: memory after them is unchanged.
    assert_eq!(agent_info(agent, max, [1u32; 2]), [0, 1]);
    assert_eq!(agent_info(gpu("gfx90a"), max, [1u32; 2]), [u32::MAX, 1]);
    let box_sizes = hsa_agent_info_t::HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS.0;
    assert_eq!(agent_info(gpu("gfx90a"), box_sizes, [1u32; 4]), [16384, 16384, 8192, 1]);
    assert_eq!(agent_info(agent, box_sizes, [1u32; 4]), [0, 0, 0, 1]);
    let data = [0u32; 64];
    assert!(create(agent, &bytes(16), data.as_ptr().cast()).is_err());
}

#[test]
fn samplers_are_of_modes_that_there_are() {
    let agent = gpu("gfx1100");
    let mut modes =
        hsa_ext_sampler_descriptor_v2_t { coordinate_mode: 0, filter_mode: 0, address_modes: [0; 3] };
    let mut made = hsa_ext_sampler_t { handle: 0 };
    ok!(hsa_ext_sampler_create_v2(agent, &modes, &mut made));
    ok!(hsa_ext_sampler_destroy(agent, made));
    assert_eq!(hsa!(hsa_ext_sampler_destroy(agent, made)), INVALID, "twice");
    assert_eq!(hsa!(hsa_ext_sampler_create_v2(agent, &modes, null_mut())), INVALID);
    modes.filter_mode = 9;
    assert_eq!(hsa!(hsa_ext_sampler_create_v2(agent, &modes, &mut made)), INVALID);
}

/// AMD's OpenCL interprets the extension's bit as support for images of all kinds, with the sizes that its
/// standard requires.
#[test]
fn where_opencl_is_loaded_there_are_no_images() {
    const CHILD: &str = "FERROCM_TEST_OPENCL";
    let bits = |agent| agent_info(agent, hsa_agent_info_t::HSA_AGENT_INFO_EXTENSIONS.0, [0u8; 128])[0];
    let images = 1 << hsa_extension_t::HSA_EXTENSION_IMAGES.0;
    if let Some(library) = std::env::var_os(CHILD) {
        let agent = gpu("gfx1100");
        assert_eq!(bits(agent) & images, images, "HIP has buffers of texels");
        // SAFETY: the library has neither code nor data.
        let loaded = unsafe { libloading::Library::new(library) }.expect("a library");
        assert_eq!(bits(agent) & images, 0);
        drop(loaded);
        eprintln!("went on");
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencl");
    std::fs::create_dir_all(&folder).expect("a folder");
    let library = folder.join("libamdocl64.so.2");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]).arg(&library);
    assert!(cc.status().expect("a C compiler, with which Rust links").success());
    let name = "images::where_opencl_is_loaded_there_are_no_images";
    let (status, error) = in_child(name, CHILD, library.to_str().expect("UTF-8"));
    assert!(status.success() && error.contains("went on"), "{status:?}: {error}");
}

/// A sampler's modes.
#[derive(Clone, Copy, Debug)]
struct Modes {
    linear: bool,
    normalized: bool,
    addressing: Addressing,
}

use hsa_ext_sampler_addressing_mode_t as Addressing;

/// An image in memory of a device, its texture for kernels, and its elements as numbers.
struct Texture {
    size: [usize; 3],
    /// The object, at the start of its memory.
    memory: *mut c_void,
    data: *mut c_void,
    elements: Vec<[f64; 4]>,
}

const BYTES_OF_OBJECT: usize = 80;

impl Texture {
    /// An image whose elements have this type and order; `value` makes the channels of one.
    fn new<T: Copy>(
        agent: hsa_agent_t,
        geometry: Geometry,
        size: [usize; 3],
        (kind, modes): (Type, Modes),
        value: impl Fn(usize) -> ([T; 4], [f64; 4]),
    ) -> Texture {
        let [width, height, depth] = size;
        let layered =
            matches!(geometry, Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA | Geometry::HSA_EXT_IMAGE_GEOMETRY_2DA);
        let flat = |size: usize, is_there: bool| if is_there { size } else { 0 };
        let has_rows =
            !matches!(geometry, Geometry::HSA_EXT_IMAGE_GEOMETRY_1D | Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA);
        let described = hsa_ext_image_descriptor_t {
            geometry,
            width,
            height: flat(height, has_rows),
            depth: flat(depth, geometry == Geometry::HSA_EXT_IMAGE_GEOMETRY_3D),
            array_size: flat(depth, layered),
            format: format(kind, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA),
        };
        let mut info = hsa_ext_image_data_info_t { size: 0, alignment: 0 };
        ok!(hsa_ext_image_data_get_info(agent, &described, ACCESS, &mut info));
        let pitch = (width * size_of::<[T; 4]>()).next_multiple_of(256);
        assert_eq!(info.size, pitch * height * depth, "rows at multiples of 256 bytes");
        let data = allocate(pool(agent, COARSE), info.size);
        let mut elements = Vec::new();
        for at in 0..width * height * depth {
            let (channels, numbers) = value(at);
            let place = at / width * pitch + at % width * size_of::<[T; 4]>();
            // SAFETY: the element is within the memory.
            unsafe { data.byte_add(place).cast::<[T; 4]>().write_unaligned(channels) };
            elements.push(numbers);
        }
        let mut made = hsa_ext_image_t { handle: 0 };
        ok!(hsa_ext_image_create(agent, &described, data, ACCESS, &mut made));
        let sampler = hsa_ext_sampler_descriptor_v2_t {
            coordinate_mode: u32::from(modes.normalized),
            filter_mode: u32::from(modes.linear),
            address_modes: [modes.addressing.0; 3],
        };
        let mut sampled = hsa_ext_sampler_t { handle: 0 };
        ok!(hsa_ext_sampler_create_v2(agent, &sampler, &mut sampled));
        let memory = allocate(pool(agent, COARSE), BYTES_OF_OBJECT);
        // SAFETY: handles are addresses of descriptors with at least so many words, and the memory is larger.
        unsafe {
            memory.cast::<[u32; 12]>().write_unaligned(*(made.handle as *const [u32; 12]));
            memory.byte_add(48).cast::<[u32; 8]>().write_unaligned(*(sampled.handle as *const [u32; 8]));
        }
        ok!(hsa_ext_image_destroy(agent, made));
        ok!(hsa_ext_sampler_destroy(agent, sampled));
        Texture { size, memory, data, elements }
    }

    /// The element with an index that may be outside, as its addressing mode says.
    fn element(&self, at: [i64; 3], modes: Modes) -> [f64; 4] {
        let mut place = [0; 3];
        for (place, (at, size)) in place.iter_mut().zip(at.into_iter().zip(self.size)) {
            let size = size as i64;
            *place = match modes.addressing {
                Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT => at.rem_euclid(size),
                Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT => {
                    let folded = at.rem_euclid(2 * size);
                    if folded < size { folded } else { 2 * size - 1 - folded }
                }
                Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER if !(0..size).contains(&at) => {
                    return [0.0; 4];
                }
                _ => at.clamp(0, size - 1),
            } as usize;
        }
        self.elements[(place[2] * self.size[1] + place[1]) * self.size[0] + place[0]]
    }

    /// What a read gives along so many dimensions; the place along others is the index of a layer.
    fn read(&self, at: [f32; 3], places: usize, modes: Modes) -> [f64; 4] {
        let mut lower = [0i64; 3];
        let mut part = [0f64; 3];
        for dimension in 0..3 {
            let mut place = f64::from(at[dimension]);
            if dimension >= places {
                lower[dimension] = (place as i64).clamp(0, self.size[dimension] as i64 - 1);
                continue;
            }
            if modes.normalized {
                place *= self.size[dimension] as f64;
            }
            if modes.linear {
                place -= 0.5;
                part[dimension] = place - place.floor();
            }
            lower[dimension] = place.floor() as i64;
        }
        let mut sum = [0f64; 4];
        for corner in 0..8usize {
            let mut weight = 1.0;
            let mut index = lower;
            for dimension in 0..3 {
                let upper = corner >> dimension & 1;
                weight *= if upper == 1 { part[dimension] } else { 1.0 - part[dimension] };
                index[dimension] += upper as i64;
            }
            if weight > 0.0 {
                let element = self.element(index, modes);
                for (sum, value) in sum.iter_mut().zip(element) {
                    *sum += weight * value;
                }
            }
        }
        sum
    }

    fn end(self) {
        free(self.memory);
        free(self.data);
    }
}

/// Places around an image: inside, at its edges and far outside, none of them where rounding decides.
fn places(size: [usize; 3], modes: Modes) -> Vec<[f32; 4]> {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut all = Vec::new();
    for _ in 0..128 {
        let mut at = [0.0f32; 4];
        for dimension in 0..3 {
            let width = size[dimension] as f64;
            let mut place = (random() * 4.0 - 1.5) * width;
            if (place - place.round()).abs() < 0.01 {
                place += 0.1;
            }
            at[dimension] = if modes.normalized { place / width } else { place } as f32;
        }
        all.push(at);
    }
    all
}

const MODES: [Addressing; 4] = [
    Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE,
    Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER,
    Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT,
    Addressing::HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT,
];

#[test]
fn reads_through_samplers_are_those_of_the_model() {
    const FLOAT: Type = Type::HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT;
    let kernels = [
        ("sample_line", Geometry::HSA_EXT_IMAGE_GEOMETRY_1D, [37, 1, 1], 1),
        ("sample_plane", Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, [19, 7, 1], 2),
        ("sample_box", Geometry::HSA_EXT_IMAGE_GEOMETRY_3D, [9, 5, 4], 3),
        ("sample_lines", Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA, [21, 1, 5], 1),
        ("sample_planes", Geometry::HSA_EXT_IMAGE_GEOMETRY_2DA, [6, 3, 4], 2),
    ];
    let value = |at: usize| {
        let channels = [0, 1, 2, 3].map(|channel| ((at * 31 + channel * 17) % 101) as f32 - 40.0);
        (channels, channels.map(f64::from))
    };
    for target in super::kernels::TARGETS {
        let agent = gpu(target);
        let program = super::kernels::Program::of("textures", agent, target);
        let queue = Queue::new(agent, 64);
        let out = allocate(pool(agent, COARSE), 16 * 128);
        let from = allocate(pool(agent, COARSE), 16 * 128);
        for (kernel, geometry, size, dimensions) in kernels {
            for (linear, normalized) in [(false, false), (false, true), (true, false), (true, true)] {
                for addressing in MODES {
                    let modes = Modes { linear, normalized, addressing };
                    let texture = Texture::new(agent, geometry, size, (FLOAT, modes), value);
                    let mut all = places(size, modes);
                    // Layers are whole numbers.
                    if dimensions < 3 {
                        all.iter_mut().enumerate().for_each(|(index, at)| at[2] = index as f32 % 7.0 - 1.0);
                        all.iter_mut().filter(|_| dimensions < 2).for_each(|at| at[1] = 0.0);
                        all.iter_mut().filter(|_| size[2] == 1).for_each(|at| at[2] = 0.0);
                    }
                    slice::<[f32; 4]>(from, 128).copy_from_slice(&all);
                    super::kernels::run(
                        &queue,
                        program.packet(kernel, 2, &[out as u64, texture.memory as u64, from as u64]),
                    );
                    // A weight has a fraction of eight bits.
                    let tolerance = if linear { 101.0 * dimensions as f64 / 256.0 } else { 0.0 };
                    for (at, found) in all.iter().zip(slice::<[f32; 4]>(out, 128)) {
                        let wanted = texture.read([at[0], at[1], at[2]], dimensions, modes);
                        for (found, wanted) in found.iter().zip(wanted) {
                            assert!(
                                (f64::from(*found) - wanted).abs() <= tolerance,
                                "{target} {kernel} {modes:?} at {at:?}: {found}, not {wanted}"
                            );
                        }
                    }
                    texture.end();
                }
            }
        }
        free(out);
        free(from);
    }
}

#[test]
fn elements_of_other_types_become_numbers() {
    let near = Modes { linear: false, normalized: false, addressing: MODES[0] };
    let size = [19, 7, 1];
    for target in super::kernels::TARGETS {
        let agent = gpu(target);
        let program = super::kernels::Program::of("textures", agent, target);
        let queue = Queue::new(agent, 64);
        let out = allocate(pool(agent, COARSE), 16 * 128);
        let from = allocate(pool(agent, COARSE), 16 * 128);
        let all = places(size, near);
        slice::<[f32; 4]>(from, 128).copy_from_slice(&all);
        let run = |kernel: &str, texture: &Texture| {
            let arguments = [out as u64, texture.memory as u64, from as u64];
            super::kernels::run(&queue, program.packet(kernel, 2, &arguments));
        };
        let compare = |texture: &Texture| {
            for (at, found) in all.iter().zip(slice::<[f32; 4]>(out, 128)) {
                let wanted = texture.read([at[0], at[1], 0.0], 2, near);
                assert_eq!(
                    found.map(f64::from),
                    wanted.map(|value| f64::from(value as f32)),
                    "{target} {at:?}"
                );
            }
        };
        let geometry = Geometry::HSA_EXT_IMAGE_GEOMETRY_2D;
        let bytes = |at: usize| [0, 1, 2, 3].map(|channel| ((at * 37 + channel * 85) % 256) as u8);
        let texture =
            Texture::new(agent, geometry, size, (Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, near), |at| {
                (bytes(at), bytes(at).map(|byte| f64::from(byte) / 255.0))
            });
        run("sample_plane", &texture);
        compare(&texture);
        texture.end();
        let texture =
            Texture::new(agent, geometry, size, (Type::HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, near), |at| {
                let halves = bytes(at).map(|byte| half::f16::from_f32(f32::from(byte) / 16.0));
                (halves, halves.map(f64::from))
            });
        run("sample_plane", &texture);
        compare(&texture);
        run("sample_green", &texture);
        for (at, found) in all.iter().zip(slice::<[f32; 4]>(out, 128)) {
            assert_eq!(f64::from(found[0]), texture.read([at[0], at[1], 0.0], 2, near)[1]);
        }
        texture.end();
        let kind = Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16;
        let texture = Texture::new(agent, geometry, size, (kind, near), |at| {
            let numbers = bytes(at).map(|byte| u16::from(byte) * 257);
            (numbers, numbers.map(f64::from))
        });
        run("sample_numbers", &texture);
        for (at, found) in all.iter().zip(slice::<[u32; 4]>(out, 128)) {
            assert_eq!(found.map(f64::from), texture.read([at[0], at[1], 0.0], 2, near));
        }
        texture.end();
        free(out);
        free(from);
    }
}

#[test]
fn surfaces_are_written_within_their_bounds_only() {
    let near = Modes { linear: false, normalized: false, addressing: MODES[0] };
    let (size, kind) = ([9, 5, 4], Type::HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT);
    for target in super::kernels::TARGETS {
        let agent = gpu(target);
        let program = super::kernels::Program::of("textures", agent, target);
        let queue = Queue::new(agent, 64);
        let geometry = Geometry::HSA_EXT_IMAGE_GEOMETRY_3D;
        let numbers = |at: usize| [0, 1, 2, 3].map(|channel| (4 * at + channel) as f32);
        let value = |at: usize| (numbers(at), numbers(at).map(f64::from));
        let from = Texture::new(agent, geometry, size, (kind, near), value);
        let to = Texture::new(agent, geometry, size, (kind, near), |_| ([-1f32; 4], [-1.0; 4]));
        let arguments = [to.memory as u64, from.memory as u64, 9 | 5 << 32];
        super::kernels::run(&queue, program.packet("move_box", 3, &arguments));
        for z in 0..4 {
            for y in 0..5 {
                for x in 0..9 {
                    let at = (z * 5 + y) * 256 + x * 16;
                    // SAFETY: the element is within the memory, and the kernel has ended.
                    let found = unsafe { to.data.byte_add(at).cast::<[f32; 4]>().read_unaligned() };
                    let moved = x > 0 && y > 0 && z > 0;
                    let wanted = if moved { numbers(((z - 1) * 5 + y - 1) * 9 + x - 1) } else { [-1.0; 4] };
                    assert_eq!(found, wanted, "{target} at {x}, {y}, {z}");
                }
            }
        }
        from.end();
        to.end();
    }
}

#[test]
fn parts_of_images_are_copied_row_by_row() {
    let agent = gpu("gfx1100");
    let at = |x, y, z| hsa_dim3_t { x, y, z };
    let made = |width| {
        let kind = Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32;
        let mut described =
            image(Geometry::HSA_EXT_IMAGE_GEOMETRY_3D, width, kind, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_R);
        (described.height, described.depth) = (4, 3);
        let mut info = hsa_ext_image_data_info_t { size: 0, alignment: 0 };
        ok!(hsa_ext_image_data_get_info(agent, &described, ACCESS, &mut info));
        let data = allocate(pool(agent, COARSE), info.size);
        let mut image = hsa_ext_image_t { handle: 0 };
        ok!(hsa_ext_image_create(agent, &described, data, ACCESS, &mut image));
        (image, data)
    };
    let ((first, first_data), (second, second_data)) = (made(70), made(9));
    // All of the first image, from memory with a pitch of its own.
    let numbers: Vec<u32> = (0..100 * 4 * 3).collect();
    let all = hsa_ext_image_region_t { offset: at(0, 0, 0), range: at(70, 4, 3) };
    ok!(hsa_ext_image_import(agent, numbers.as_ptr().cast(), 400, 0, first, &all));
    ok!(hsa_ext_image_copy(agent, first, &at(60, 1, 0), second, &at(2, 0, 1), &at(5, 3, 2)));
    let mut part = vec![0u32; 5 * 3 * 2];
    let region = hsa_ext_image_region_t { offset: at(2, 0, 1), range: at(5, 3, 2) };
    ok!(hsa_ext_image_export(agent, second, part.as_mut_ptr().cast(), 0, 0, &region));
    for (index, found) in (0..).zip(part) {
        let (x, y, z) = (index % 5, index / 5 % 3, index / 15);
        assert_eq!(found, (z * 4 + y + 1) * 100 + x + 60);
    }
    // What is outside is refused, and so is memory that is not there.
    let outside = hsa_ext_image_region_t { offset: at(5, 0, 0), range: at(5, 1, 1) };
    assert_eq!(
        hsa!(hsa_ext_image_export(agent, second, numbers.as_ptr().cast_mut().cast(), 0, 0, &outside)),
        INVALID
    );
    let wraps = hsa_ext_image_region_t { offset: at(u32::MAX, 0, 0), range: at(2, 1, 1) };
    assert_eq!(hsa!(hsa_ext_image_import(agent, numbers.as_ptr().cast(), 0, 0, second, &wraps)), INVALID);
    assert_eq!(hsa!(hsa_ext_image_import(agent, null(), 0, 0, second, &region)), INVALID);
    assert_eq!(
        hsa!(hsa_ext_image_import(agent, numbers.as_ptr().cast(), 4, 0, second, &region)),
        INVALID,
        "pitch"
    );
    assert_eq!(
        hsa!(hsa_ext_image_copy(agent, first, &at(0, 2, 0), second, &at(0, 0, 0), &at(1, 3, 1))),
        INVALID
    );
    ok!(hsa_ext_image_destroy(agent, first));
    assert_eq!(
        hsa!(hsa_ext_image_copy(agent, first, &at(0, 0, 0), second, &at(0, 0, 0), &at(1, 1, 1))),
        INVALID,
        "an image that is no more"
    );
    ok!(hsa_ext_image_destroy(agent, second));
    free(first_data);
    free(second_data);
}
