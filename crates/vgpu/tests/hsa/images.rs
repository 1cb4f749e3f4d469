//! Images, which are always buffers of texels.

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
        (image(Geometry::HSA_EXT_IMAGE_GEOMETRY_1D, 16, unorm, r), unsupported),
        (image(Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, 16, unorm, r), unsupported),
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
    assert_eq!(capability(Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, &format(unorm, r)), 0);
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
    assert_eq!(agent_info(gpu("gfx90a"), box_sizes, [1u32; 4]), [0, 0, 0, 1]);
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
