//! Programs that use `hip` on the drop-in. Through its extensions, they get everything that a built-in
//! virtual GPU offers.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::process::Command;

use hip::hip_sys::{Table, hipError_t};
use hip::{Allocator, Device, DeviceBuffer, Error, Module};

use crate::support::DROP_IN;

/// The variables that choose the drop-in's devices.
const VARIABLES: [&str; 2] = ["FERROCM_DEVICE", "FERROCM_HIP_DEVICE"];

/// The drop-in.
fn table() -> &'static Table {
    // SAFETY: the library is an implementation of HIP.
    unsafe { Table::load_from(&DROP_IN.library()) }.unwrap()
}

/// Makes virtual GPUs in the drop-in. Returns the ordinals and the URI of each, or the error.
fn open(table: &Table, uri: &str) -> Result<(std::ops::Range<c_int>, String), String> {
    let (mut first, mut count, mut text) = (-1, -1, [0; 4096]);
    let uri = CString::new(uri).unwrap();
    let open = table.ext.open_virtual.expect("the drop-in has virtual GPUs");
    let place: *mut c_char = text.as_mut_ptr();
    // SAFETY: the URI ends in a NUL, and the results are valid for writes, of that size.
    let opened = unsafe { open(uri.as_ptr(), &raw mut first, &raw mut count, place, text.len()) };
    // SAFETY: the drop-in has written a text that ends in a NUL.
    let text = unsafe { CStr::from_ptr(place) }.to_str().unwrap().to_owned();
    if opened { Ok((first..first + count, text)) } else { Err(text) }
}

fn device(table: &'static Table, uri: &str) -> Device {
    let (ordinals, _) = open(table, uri).unwrap();
    // SAFETY: the table is the drop-in's.
    unsafe { Device::of_table(table, ordinals.start.unsigned_abs()) }.unwrap()
}

fn kernels(device: &Device) -> Module {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hip/tests/kernels");
    let build = kernel_build::Builder::new(folder).targets([&device.target().processor]).build().unwrap();
    Module::load(device, &build.modules[0].objects[0].bytes).unwrap()
}

/// Writes to the first element after a buffer.
fn write_behind(device: &Device) -> Error {
    let stream = device.stream().unwrap();
    let mut data = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    let write = kernels(device).function("write_at").unwrap();
    // SAFETY: only run where an out-of-bounds access is a harmless error.
    unsafe { write.launch(&stream).grid(1).block(64).arg(&mut data).arg(64_i64).enqueue() }.unwrap();
    stream.synchronize().unwrap_err()
}

#[test]
fn the_drop_in_is_not_taken_for_amds_library() {
    let device = device(table(), "vgpu:gfx1100?cus=2&memory=64MiB");
    assert!(table().version().is_some() && table().amd_release().is_none());
    assert!(device.quirks().is_empty(), "of AMD's library of this version");
    assert!(table().path().is_some() && !device.takes_amd_libraries(), "it is a virtual GPU's");
}

#[test]
fn buffers_have_exact_bounds_and_a_fault_is_a_report() {
    let device = device(table(), "vgpu:gfx1100?cus=2&memory=64MiB");
    assert!(device.has_exact_bounds() && device.allocator() == Allocator::Direct);
    let error = write_behind(&device);
    let Error::Fault(report) = &error else { panic!("{error}") };
    assert_eq!(report.code(), hipError_t::hipErrorIllegalAddress);
    assert!(report.is_contained() && report.text().contains("write_at"), "{error}");
    let fault = report.details().expect("the fault as data");
    assert_eq!((fault.kernel.as_str(), fault.at.lane), ("write_at", Some(5)));
    let frame = fault.at.source.frame().expect("a line");
    assert!(frame.file.as_deref().unwrap().ends_with("test.cu"), "{fault}");
    // The device still works.
    let stream = device.stream().unwrap();
    assert_eq!(DeviceBuffer::from_slice(&stream, &[1, 2]).unwrap().to_vec(&stream).unwrap(), [1, 2]);
}

#[test]
fn virtual_gpus_are_made_by_name_whatever_the_environment_says() {
    let table = table();
    let (both, uri) = open(table, "vgpu:gfx90a?cus=3&count=2&memory=64MiB").unwrap();
    assert_eq!((both.clone(), uri.as_str()), (0..2, "vgpu:gfx90a?cus=3&memory=64MiB&count=1"));
    // An equal URI gives the same device, another one a new device.
    assert_eq!(open(table, "vgpu:gfx90a?cus=3&count=2&memory=64MiB").unwrap().0, both);
    assert_eq!(open(table, "vgpu:gfx1100?cus=3&memory=64MiB").unwrap().0, 2..3);
    // SAFETY: the table is the drop-in's.
    let device = |ordinal| unsafe { Device::of_table(table, ordinal) }.unwrap();
    let found: Vec<_> = (0..3).map(|ordinal| device(ordinal).target().processor.clone()).collect();
    assert_eq!(found, ["gfx90a", "gfx90a", "gfx1100"]);
    for (uri, reason) in [
        ("vgpu:gfx803", "gfx803"),
        ("vgpu:gfx90a?cores=4", "`cores`"),
        ("amdgpu:0", "`amdgpu:0`"),
        ("cuda", "NVIDIA"),
    ] {
        let told = open(table, uri).unwrap_err();
        assert!(told.contains(reason), "{uri}: {told}");
    }
}

/// Runs one test of this file alone, with environment variables.
fn alone(test: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("rust::{test}"), "--exact", "--nocapture", "--include-ignored"]);
    for name in ["FERROCM_LOG"].iter().chain(&VARIABLES) {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    error
}

#[test]
#[ignore = "the tests below run it in processes of their own"]
fn faults() {
    println!("{}", write_behind(&device(table(), "vgpu:gfx1100?cus=2&memory=64MiB")));
}

#[test]
fn who_gets_the_report_of_a_fault_is_the_only_one_to_tell() {
    assert_eq!(alone("faults", &[]), "");
    // If a log is requested, it contains the report once.
    let log = alone("faults", &[("FERROCM_LOG", "error")]);
    assert!(log.contains("write_at"), "{log}");
    assert_eq!(log.matches("libamdhip64: error").count(), 1, "{log}");
}

#[test]
#[ignore = "the test below runs it in processes of their own"]
fn starts() {
    let table = table();
    let expected = std::env::var("STARTS").unwrap();
    let mut count = 0;
    // SAFETY: the place is valid for writes.
    let code = unsafe { (table.hipGetDeviceCount)(&raw mut count) };
    assert_eq!(code, hipError_t::hipSuccess);
    // SAFETY: the table is the drop-in's.
    let device = unsafe { Device::of_table(table, 0) }.unwrap();
    assert_eq!(format!("{count} {}", device.target().processor), expected);
    // GPUs opened now are added.
    assert_eq!(open(table, "vgpu:gfx942?cus=5&memory=64MiB").unwrap().0, count..count + 1);
}

#[test]
fn the_librarys_own_variable_comes_before_the_programs() {
    const TWO: &str = "vgpu:gfx90a?count=2&memory=64MiB";
    alone("starts", &[("FERROCM_DEVICE", TWO), ("STARTS", "2 gfx90a")]);
    alone("starts", &[("FERROCM_HIP_DEVICE", TWO), ("FERROCM_DEVICE", "amdgpu:1"), ("STARTS", "2 gfx90a")]);
}
