//! Textures and surfaces: what they tell HSA, and what they refuse.

use std::ptr::{null, null_mut};

use hip_sys::{
    HIP_ARRAY3D_DESCRIPTOR, HIP_RESOURCE_DESC, HIP_RESOURCE_VIEW_DESC, HIP_TEXTURE_DESC,
    HIP_TRSF_NORMALIZED_COORDINATES, HIP_TRSF_READ_AS_INTEGER, HIPaddress_mode, HIPfilter_mode,
    HIPresourceViewFormat, HIPresourcetype, hipArray_Format as Format, hipArray_t, hipArrayLayered,
    hipArraySurfaceLoadStore, hipArrayTextureGather, hipChannelFormatDesc, hipChannelFormatKind,
    hipResourceDesc, hipResourceType as Resource, hipResourceViewDesc, hipResourceViewFormat as View,
    hipTextureAddressMode as Address, hipTextureDesc, hipTextureFilterMode as Filter,
    hipTextureReadMode as Read,
};
use hsa_sys::{
    hsa_ext_image_channel_order_t as Order, hsa_ext_image_channel_type_t as Type,
    hsa_ext_image_geometry_t as Geometry, hsa_ext_sampler_addressing_mode_t as Mode,
    hsa_ext_sampler_coordinate_mode_t as Coordinates, hsa_ext_sampler_filter_mode_t as Filtering,
};

use super::*;

const INVALID: E = E::hipErrorInvalidValue;
const UNSUPPORTED: E = E::hipErrorNotSupported;
const BYTES: hipChannelFormatDesc =
    hipChannelFormatDesc { x: 8, y: 8, z: 8, w: 8, f: hipChannelFormatKind::hipChannelFormatKindUnsigned };

fn wanted(width: usize, height: usize, depth: usize, flags: u32) -> HIP_ARRAY3D_DESCRIPTOR {
    HIP_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: Format::HIP_AD_FORMAT_UNSIGNED_INT8,
        NumChannels: 4,
        Flags: flags,
    }
}

fn of_array(array: hipArray_t) -> hipResourceDesc {
    let mut resource = hipResourceDesc { resType: Resource::hipResourceTypeArray, ..Default::default() };
    resource.res.array.array = array;
    resource
}

fn of_plane(start: *mut c_void, width: usize, height: usize, pitch: usize) -> hipResourceDesc {
    let mut resource = hipResourceDesc { resType: Resource::hipResourceTypePitch2D, ..Default::default() };
    resource.res.pitch2D = hip_sys::hipResourceDesc__bindgen_ty_1__bindgen_ty_4 {
        devPtr: start,
        desc: BYTES,
        width,
        height,
        pitchInBytes: pitch,
    };
    resource
}

impl Hip {
    fn shaped(&self, wanted: HIP_ARRAY3D_DESCRIPTOR) -> hipArray_t {
        let mut array = null_mut();
        assert_eq!(hip!(self, hipArray3DCreate(&mut array, &wanted)), OK);
        array
    }

    /// Makes a texture and destroys it; the code of what failed.
    fn texture(&self, resource: &hipResourceDesc, texture: &hipTextureDesc, view: Option<View>) -> E {
        let mut handle = null_mut();
        let view = view.map(|format| hipResourceViewDesc { format, ..Default::default() });
        let view = view.as_ref().map_or(null(), |view| &raw const *view);
        match hip!(self, hipCreateTextureObject(&mut handle, resource, texture, view)) {
            OK => hip!(self, hipDestroyTextureObject(handle)),
            code => code,
        }
    }
}

/// Geometry, width, height, depth and layers of the last image, and its pitches.
fn shape() -> (Geometry, [usize; 4], [usize; 2]) {
    let image = fake::last_image().0.unwrap();
    let d = image.descriptor;
    (d.geometry, [d.width, d.height, d.depth, d.array_size], [image.row_pitch, image.slice_pitch])
}

#[test]
fn every_shape_of_array_is_an_image_of_its_geometry() {
    let hip = start();
    let live = fake::last_image().2;
    // Of arrays with flags, only those for surfaces can be surfaces.
    let layered = hipArrayLayered | hipArraySurfaceLoadStore;
    for (array, geometry, lengths, pitches) in [
        (wanted(65, 0, 0, 0), Geometry::HSA_EXT_IMAGE_GEOMETRY_1D, [65, 0, 0, 0], [512, 0]),
        (wanted(64, 5, 0, 0), Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, [64, 5, 0, 0], [256, 0]),
        (wanted(3, 5, 7, 0), Geometry::HSA_EXT_IMAGE_GEOMETRY_3D, [3, 5, 7, 0], [256, 1280]),
        (wanted(9, 0, 4, layered), Geometry::HSA_EXT_IMAGE_GEOMETRY_1DA, [9, 0, 0, 4], [256, 256]),
        (wanted(9, 2, 4, layered), Geometry::HSA_EXT_IMAGE_GEOMETRY_2DA, [9, 2, 0, 4], [256, 512]),
    ] {
        let array = hip.shaped(array);
        let resource = of_array(array);
        assert_eq!(hip.texture(&resource, &hipTextureDesc::default(), None), OK);
        assert_eq!(shape(), (geometry, lengths, pitches));
        let format = fake::last_image().0.unwrap().descriptor.format;
        assert_eq!(format.channel_type, Type::HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8.0);
        assert_eq!(format.channel_order, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA.0);
        let mut surface = null_mut();
        assert_eq!(hip!(hip, hipCreateSurfaceObject(&mut surface, &resource)), OK);
        assert_eq!(shape(), (geometry, lengths, pitches));
        // Kernels find the image's descriptor at the handle.
        // SAFETY: the handle is the address of a descriptor.
        assert_eq!(unsafe { surface.cast::<[u32; 12]>().read() }, [1; 12]);
        assert_eq!(hip!(hip, hipDestroySurfaceObject(surface)), OK);
        assert_eq!(hip!(hip, hipDestroySurfaceObject(surface)), INVALID);
        assert_eq!(hip!(hip, hipFreeArray(array)), OK);
    }
    assert_eq!(fake::last_image().2, live);
}

#[test]
fn a_texture_has_an_image_and_a_sampler_behind_it_and_tells_its_descriptions() {
    let hip = start();
    let live = (fake::last_image().2, fake::live().0);
    let array = hip.shaped(wanted(8, 8, 0, 0));
    let texture = hipTextureDesc {
        addressMode: [
            Address::hipAddressModeWrap,
            Address::hipAddressModeMirror,
            Address::hipAddressModeBorder,
        ],
        filterMode: Filter::hipFilterModeLinear,
        readMode: Read::hipReadModeNormalizedFloat,
        normalizedCoords: 1,
        borderColor: [0.5; 4],
        ..Default::default()
    };
    let view =
        hipResourceViewDesc { format: View::hipResViewFormatSignedShort2, width: 8, ..Default::default() };
    let mut handle = null_mut();
    assert_eq!(hip!(hip, hipCreateTextureObject(&mut handle, &of_array(array), &texture, &view)), OK);
    // SAFETY: the handle is the address of two descriptors.
    let words = unsafe { handle.cast::<[u32; 20]>().read() };
    assert_eq!((words[..12].to_vec(), words[12..].to_vec()), (vec![1; 12], vec![2; 8]));
    let (image, sampler, _) = fake::last_image();
    let (format, sampler) = (image.unwrap().descriptor.format, sampler.unwrap());
    assert_eq!(format.channel_type, Type::HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16.0);
    assert_eq!(format.channel_order, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_RG.0);
    assert_eq!(sampler.filter_mode, Filtering::HSA_EXT_SAMPLER_FILTER_MODE_LINEAR.0);
    assert_eq!(sampler.coordinate_mode, Coordinates::HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED.0);
    let modes = [
        Mode::HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT,
        Mode::HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT,
        Mode::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER,
    ];
    assert_eq!(sampler.address_modes, modes.map(|mode| mode.0));

    let mut resource = hipResourceDesc::default();
    assert_eq!(hip!(hip, hipGetTextureObjectResourceDesc(&mut resource, handle)), OK);
    // SAFETY: the texture is over an array.
    assert_eq!(unsafe { resource.res.array.array }, array);
    let mut found = hipResourceViewDesc::default();
    assert_eq!(hip!(hip, hipGetTextureObjectResourceViewDesc(&mut found, handle)), OK);
    assert_eq!((found.format, found.width), (view.format, 8));
    let mut driver = HIP_RESOURCE_DESC::default();
    assert_eq!(hip!(hip, hipTexObjectGetResourceDesc(&mut driver, handle)), OK);
    // SAFETY: as above.
    assert_eq!(unsafe { driver.res.array.hArray }, array);
    let mut described = HIP_TEXTURE_DESC::default();
    assert_eq!(hip!(hip, hipTexObjectGetTextureDesc(&mut described, handle)), OK);
    assert_eq!(described.flags, HIP_TRSF_NORMALIZED_COORDINATES);
    assert_eq!((described.filterMode, described.borderColor), (HIPfilter_mode(1), [0.5; 4]));
    assert_eq!(described.addressMode, [0, 2, 3].map(HIPaddress_mode));
    let mut viewed = HIP_RESOURCE_VIEW_DESC::default();
    assert_eq!(hip!(hip, hipTexObjectGetResourceViewDesc(&mut viewed, handle)), OK);
    assert_eq!(viewed.format, HIPresourceViewFormat(view.format.0));
    assert_eq!(hip!(hip, hipTexObjectGetResourceDesc(null_mut(), handle)), INVALID);
    assert_eq!(hip!(hip, hipTexObjectDestroy(handle)), OK);
    assert_eq!(hip!(hip, hipDestroyTextureObject(handle)), INVALID);
    assert_eq!(hip!(hip, hipTexObjectGetTextureDesc(&mut described, handle)), INVALID);
    assert_eq!(hip!(hip, hipFreeArray(array)), OK);
    assert_eq!((fake::last_image().2, fake::live().0), live);
}

#[test]
fn coordinates_that_are_not_normalized_do_not_repeat() {
    let hip = start();
    let array = hip.shaped(wanted(8, 8, 0, 0));
    let mut texture = hipTextureDesc {
        addressMode: [
            Address::hipAddressModeWrap,
            Address::hipAddressModeMirror,
            Address::hipAddressModeClamp,
        ],
        ..Default::default()
    };
    assert_eq!(hip.texture(&of_array(array), &texture, None), OK);
    let sampler = fake::last_image().1.unwrap();
    assert_eq!(sampler.address_modes, [Mode::HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE.0; 3]);
    assert_eq!(sampler.filter_mode, Filtering::HSA_EXT_SAMPLER_FILTER_MODE_NEAREST.0);
    assert_eq!(sampler.coordinate_mode, Coordinates::HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED.0);
    texture.addressMode[1] = Address(4);
    assert_eq!(hip.texture(&of_array(array), &texture, None), INVALID);
    texture.addressMode[1] = Address::hipAddressModeClamp;
    texture.filterMode = Filter(2);
    assert_eq!(hip.texture(&of_array(array), &texture, None), INVALID);
    assert_eq!(hip!(hip, hipFreeArray(array)), OK);
}

#[test]
fn pitched_memory_is_a_plane() {
    let hip = start();
    let memory = hip.malloc(512 * 3);
    let plain = hipTextureDesc::default();
    assert_eq!(hip.texture(&of_plane(memory, 100, 3, 512), &plain, None), OK);
    assert_eq!(shape(), (Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, [100, 3, 0, 0], [512, 0]));
    assert_eq!(fake::last_image().0.unwrap().data, memory as usize);
    for wrong in [
        of_plane(null_mut(), 100, 3, 512),
        of_plane(memory.wrapping_byte_add(128), 100, 2, 512),
        of_plane(memory, 100, 3, 500),
        of_plane(memory, 129, 2, 512),
        of_plane(memory, 0, 3, 512),
        of_plane(memory, 100, 0, 512),
        of_plane(memory, 100, 4, 512),
        of_plane(memory, 4098, 1, 1 << 20),
        of_plane(memory, 1, 4099, 256),
        of_plane(memory, 1, 3, usize::MAX & !255),
    ] {
        // SAFETY: they are planes.
        let plane = unsafe { wrong.res.pitch2D };
        assert_eq!(hip.texture(&wrong, &plain, None), INVALID, "{plane:?}");
    }
    // The driver's form.
    let mut resource = HIP_RESOURCE_DESC { resType: HIPresourcetype(3), ..Default::default() };
    resource.res.pitch2D = hip_sys::HIP_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
        devPtr: memory,
        format: Format::HIP_AD_FORMAT_HALF,
        numChannels: 2,
        width: 60,
        height: 2,
        pitchInBytes: 256,
    };
    let texture = HIP_TEXTURE_DESC { flags: HIP_TRSF_READ_AS_INTEGER, ..Default::default() };
    let mut handle = null_mut();
    assert_eq!(hip!(hip, hipTexObjectCreate(&mut handle, &resource, &texture, null())), OK);
    assert_eq!(shape(), (Geometry::HSA_EXT_IMAGE_GEOMETRY_2D, [60, 2, 0, 0], [256, 0]));
    let mut found = HIP_RESOURCE_DESC::default();
    assert_eq!(hip!(hip, hipTexObjectGetResourceDesc(&mut found, handle)), OK);
    // SAFETY: the texture is over a plane.
    let plane = unsafe { found.res.pitch2D };
    assert_eq!((plane.format, plane.numChannels), (Format::HIP_AD_FORMAT_HALF, 2));
    assert_eq!((plane.devPtr, plane.width, plane.height, plane.pitchInBytes), (memory, 60, 2, 256));
    assert_eq!(hip!(hip, hipTexObjectDestroy(handle)), OK);
    assert_eq!(hip!(hip, hipTexObjectCreate(null_mut(), &resource, &texture, null())), INVALID);
    assert_eq!(hip!(hip, hipTexObjectCreate(&mut handle, null(), &texture, null())), INVALID);
    resource.res.pitch2D = hip_sys::HIP_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
        numChannels: 7,
        // SAFETY: it is a plane.
        ..unsafe { resource.res.pitch2D }
    };
    assert_eq!(hip!(hip, hipTexObjectCreate(&mut handle, &resource, &texture, null())), INVALID);
    hip.free(memory);
}

#[test]
fn what_is_no_texture_or_surface_is_refused_and_nothing_is_left() {
    let hip = start();
    let array = hip.shaped(wanted(8, 8, 0, 0));
    let gather = hip.shaped(wanted(8, 8, 0, hipArrayTextureGather));
    let dead = hip.shaped(wanted(8, 8, 0, 0));
    assert_eq!(hip!(hip, hipFreeArray(dead)), OK);
    let live = (fake::last_image().2, fake::live().0);
    let plain = hipTextureDesc::default();
    let mut handle = null_mut();
    let bad = E::hipErrorInvalidChannelDescriptor;
    let resource = of_array(array);
    assert_eq!(hip!(hip, hipCreateTextureObject(null_mut(), &resource, &plain, null())), bad);
    assert_eq!(hip!(hip, hipCreateTextureObject(&mut handle, null(), &plain, null())), bad);
    assert_eq!(hip!(hip, hipCreateTextureObject(&mut handle, &resource, null(), null())), bad);
    for none in [null_mut(), dead] {
        assert_eq!(hip.texture(&of_array(none), &plain, None), INVALID);
        let mut surface = null_mut();
        assert_eq!(hip!(hip, hipCreateSurfaceObject(&mut surface, &of_array(none))), INVALID);
    }
    let other = |kind: u32| hipResourceDesc { resType: Resource(kind), ..resource };
    assert_eq!(hip.texture(&other(1), &plain, None), UNSUPPORTED);
    assert_eq!(hip.texture(&other(7), &plain, None), INVALID);
    assert_eq!(hip.texture(&resource, &hipTextureDesc { maxAnisotropy: 1, ..plain }, None), UNSUPPORTED);
    assert_eq!(hip.texture(&resource, &hipTextureDesc { mipmapLevelBias: 1.0, ..plain }, None), UNSUPPORTED);
    // Elements of another size, compressed ones, and integers as colours.
    for view in [View::hipResViewFormatFloat2, View::hipResViewFormatNone, View(25)] {
        assert_eq!(hip.texture(&resource, &plain, Some(view)), INVALID);
    }
    assert_eq!(hip.texture(&resource, &plain, Some(View::hipResViewFormatFloat1)), OK);
    assert_eq!(hip.texture(&resource, &hipTextureDesc { sRGB: 1, ..plain }, None), INVALID);
    let colours = hipTextureDesc { sRGB: 1, readMode: Read::hipReadModeNormalizedFloat, ..plain };
    assert_eq!(hip.texture(&resource, &colours, None), OK);
    let order = fake::last_image().0.unwrap().descriptor.format.channel_order;
    assert_eq!(order, Order::HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA.0);

    let mut surface = null_mut();
    assert_eq!(hip!(hip, hipCreateSurfaceObject(null_mut(), &resource)), INVALID);
    assert_eq!(hip!(hip, hipCreateSurfaceObject(&mut surface, null())), INVALID);
    assert_eq!(hip!(hip, hipCreateSurfaceObject(&mut surface, &of_array(gather))), INVALID);
    assert_eq!(hip!(hip, hipCreateSurfaceObject(&mut surface, &other(2))), INVALID);
    assert_eq!(hip!(hip, hipDestroySurfaceObject(null_mut())), OK);
    assert_eq!(hip!(hip, hipDestroySurfaceObject(8 as _)), INVALID);
    let stored = hip.shaped(wanted(8, 8, 0, hipArraySurfaceLoadStore));
    assert_eq!(hip!(hip, hipCreateSurfaceObject(&mut surface, &of_array(stored))), OK);
    assert_eq!(hip!(hip, hipDestroySurfaceObject(surface)), OK);
    assert_eq!(hip!(hip, hipFreeArray(stored)), OK);

    fake::REFUSE_SAMPLER.store(true, Ordering::Release);
    assert_ne!(hip.texture(&resource, &plain, None), OK);
    fake::REFUSE_SAMPLER.store(false, Ordering::Release);
    assert_eq!((fake::last_image().2, fake::live().0), live);
    for array in [array, gather] {
        assert_eq!(hip!(hip, hipFreeArray(array)), OK);
    }
}

#[test]
fn the_limits_of_images_are_hsas() {
    let hip = start();
    // SAFETY: all numbers and pointers of the structure may be zero.
    let mut p: hip_sys::hipDeviceProp_tR0600 = unsafe { std::mem::zeroed() };
    assert_eq!(hip!(hip, hipGetDevicePropertiesR0600(&mut p, 0)), OK);
    assert_eq!((p.maxTexture1D, p.maxSurface1D), (4096, 4096));
    assert_eq!((p.maxTexture2D, p.maxSurface2D), ([4097, 4098], [4097, 4098]));
    assert_eq!((p.maxTexture3D, p.maxSurface3D), ([1024, 1025, 1026], [1024, 1025, 1026]));
    assert_eq!((p.maxTexture1DLayered, p.maxSurface1DLayered), ([4099, 512], [4099, 512]));
    assert_eq!((p.maxTexture2DLayered, p.maxSurface2DLayered), ([4100, 4101, 512], [4100, 4101, 512]));
    assert_eq!(p.maxTexture1DLinear, i32::MAX);
    assert_eq!((p.textureAlignment, p.texturePitchAlignment, p.surfaceAlignment), (256, 256, 256));
    use hip_sys::hipDeviceAttribute_t as A;
    for (which, expected) in [
        (A::hipDeviceAttributeMaxTexture1DWidth, 4096),
        (A::hipDeviceAttributeMaxTexture2DHeight, 4098),
        (A::hipDeviceAttributeMaxTexture3DDepth, 1026),
        (A::hipDeviceAttributeMaxSurface2D, 4097),
        (A::hipDeviceAttributeImageSupport, 1),
    ] {
        let mut value = 0;
        assert_eq!(hip!(hip, hipDeviceGetAttribute(&mut value, which, 0)), OK);
        assert_eq!(value, expected, "{which:?}");
    }
}
