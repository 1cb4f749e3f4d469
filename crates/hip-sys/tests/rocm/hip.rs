//! Tests on AMD's own runtime of one release, in a sysroot; `cargo xtask test rocm` runs these.

use std::ffi::CStr;
use std::ptr::null_mut;

use hip_sys::{
    HIP_MEMCPY3D, Source, Table, hip_Memcpy2D, hipChannelFormatDesc, hipDeviceAttribute_t,
    hipDeviceProp_tR0600, hipError_t, hipMemPoolProps, hipMemoryType, hipPointerAttribute_t,
};
use test_support::sysroot::{Sysroot, compare_symbols};

/// Each release, with the version of HIP in its headers and the version in the file name.
const VERSIONS: [(&str, (&str, &str)); 4] = [
    ("5.2", ("5.2.3", "5.2.21153")),
    ("5.7", ("5.7.1", "5.7.31921")),
    ("6.4", ("6.4.3", "6.4.43484")),
    ("7.2", ("7.2.4", "7.2.53211")),
];

fn find() -> Option<(Sysroot, &'static str, &'static str)> {
    let sysroot = Sysroot::find()?;
    let (version, file) = sysroot.pick("HIP", &VERSIONS)?;
    Some((sysroot, version, file))
}

/// The result of a version's functions without a GPU, except the one that counts devices. HIP 5.2 has no
/// better code for it, nor does 5.7 on the first call of a process.
fn no_device(version: &str, is_first: bool) -> hipError_t {
    match version {
        "5.2.3" => hipError_t::hipErrorInvalidDevice,
        "5.7.1" if is_first => hipError_t::hipErrorInvalidDevice,
        _ => hipError_t::hipErrorNoDevice,
    }
}

#[test]
fn the_library_of_the_release_is_found() {
    let Some((sysroot, _, file)) = find() else { return };
    let table = Table::load().unwrap();
    let path = table.path().unwrap();
    assert!(sysroot.holds(path), "{}", path.display());
    assert_eq!(table.source(), Some(Source::Loader));
    let version = table.version().unwrap();
    assert_eq!(version.to_string(), file);

    let mut code = 0;
    // SAFETY: the function writes the one number.
    assert_eq!(unsafe { (table.hipRuntimeGetVersion)(&mut code) }, hipError_t::hipSuccess);
    let code = u32::try_from(code).unwrap();
    assert_eq!(code, version.major * 10_000_000 + version.minor * 100_000 + version.patch);
}

#[test]
fn the_library_exports_what_the_bindings_say_and_no_more() {
    let Some((_, version, _)) = find() else { return };
    compare_symbols::<Table>(version).unwrap();
}

#[test]
fn without_a_gpu_every_answer_is_an_error_with_a_name() {
    let Some((sysroot, version, _)) = find() else { return };
    if !sysroot.is_without_gpu() {
        return;
    }
    let table = Table::load().unwrap();
    let (mut count, mut device, mut memory, mut stream) = (-1, -1, null_mut(), null_mut());
    // SAFETY: every place has the type that the function writes, if it writes.
    let (first, counted, others) = unsafe {
        (
            (table.hipInit)(0),
            (table.hipGetDeviceCount)(&mut count),
            [
                (table.hipInit)(0),
                (table.hipGetDevice)(&mut device),
                (table.hipSetDevice)(0),
                (table.hipMalloc)(&mut memory, 64),
                (table.hipStreamCreate)(&mut stream),
                (table.hipDeviceSynchronize)(),
            ],
        )
    };
    assert_eq!((counted, count), (hipError_t::hipErrorNoDevice, 0));
    assert_eq!(format!("{counted:?}"), "hipErrorNoDevice");
    assert_eq!(first, no_device(version, true));
    assert_eq!(others, [no_device(version, false); 6]);
}

#[test]
fn errors_have_the_names_that_the_library_gives_them() {
    if find().is_none() {
        return;
    }
    let table = Table::load().unwrap();
    let mut compared = 0;
    for code in 0..2000 {
        let ours = format!("{:?}", hipError_t(code));
        // SAFETY: the function takes any value and returns a string that lives as long as the library.
        let theirs = unsafe { CStr::from_ptr((table.hipGetErrorName)(hipError_t(code))) };
        let theirs = theirs.to_str().unwrap();
        // An error that a library calls unknown may be newer than the library.
        if ours != theirs && theirs != "hipErrorUnknown" {
            assert!(!ours.starts_with("hipError_t("), "{code} is {theirs} and has no constant");
            assert_eq!(ours, theirs, "{code}");
        }
        compared += u32::from(ours == theirs);
    }
    assert!(compared > 70, "only {compared} names were compared");
}

#[test]
fn functions_that_the_version_lacks_are_stubs() {
    let Some((_, version, _)) = find() else { return };
    let table = Table::load().unwrap();
    for (symbol, since) in
        [("hipLaunchHostFunc", "5.7.1"), ("hipGetProcAddress", "6.4.3"), ("hipLibraryLoadData", "7.2.4")]
    {
        let availability = table.availability(symbol).unwrap();
        assert_eq!(availability.provided, availability.versions().any(|v| v == version), "{symbol}");
        assert_eq!(availability.versions().next(), Some(since), "{symbol}");
    }
    if !table.has("hipLaunchHostFunc") {
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.hipLaunchHostFunc)(null_mut(), None, null_mut()) };
        assert_eq!(status, hipError_t::hipErrorNotSupported);
    }
}

#[test]
fn what_older_versions_have_in_another_form_is_there_in_the_newest() {
    let Some((sysroot, version, _)) = find() else { return };
    let table = Table::load().unwrap();
    for symbol in [
        "hipGetDevicePropertiesR0600",
        "hipChooseDeviceR0600",
        "hipDeviceGetTexture1DLinearMaxWidth",
        "hipExtModuleLaunchKernel",
        "hipHccModuleLaunchKernel",
    ] {
        assert!(table.has(symbol), "{symbol}");
    }
    if !sysroot.is_without_gpu() {
        return;
    }
    let mut count = 0;
    // SAFETY: the function writes the one number.
    assert_eq!(unsafe { (table.hipGetDeviceCount)(&mut count) }, hipError_t::hipErrorNoDevice);

    let (mut device, mut number, mut width, mut pool) = (0, 0, 0, null_mut());
    let mut properties = hipDeviceProp_tR0600::default();
    let mut pointer = hipPointerAttribute_t::default();
    let format = hipChannelFormatDesc::default();
    let (host, on_device) = (hipMemoryType::hipMemoryTypeHost, hipMemoryType::hipMemoryTypeDevice);
    let copy_2d = hip_Memcpy2D { srcMemoryType: host, dstMemoryType: on_device, ..Default::default() };
    let copy_3d = HIP_MEMCPY3D { srcMemoryType: host, dstMemoryType: on_device, ..Default::default() };
    // SAFETY: every place has the type that the function reads or writes.
    let statuses = unsafe {
        [
            (table.hipGetDevicePropertiesR0600)(&mut properties, 0),
            (table.hipChooseDeviceR0600)(&mut device, &properties),
            (table.hipDeviceGetTexture1DLinearMaxWidth)(&mut width, &format, 0),
            (table.hipDeviceGetAttribute)(&mut number, hipDeviceAttribute_t::hipDeviceAttributeWarpSize, 0),
            (table.hipPointerGetAttributes)(&mut pointer, (&raw const number).cast()),
            (table.hipMemcpyParam2D)(&copy_2d),
            (table.hipDrvMemcpy3D)(&copy_3d),
            (table.hipMemPoolCreate)(&mut pool, &hipMemPoolProps::default()),
        ]
    };
    // None of these is a stub's result: each call reached the library.
    assert_eq!(statuses, [no_device(version, false); 8]);
}
