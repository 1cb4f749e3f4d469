//! Invalid values of environment variables, each in its own process, which opens a virtual GPU.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::process::Command;

use hip::{Device, DeviceBuffer};

use crate::common;

/// Tells the test below that it runs in such a process.
const CHILD: &str = "FERROCM_TEST_VARIABLES";

#[test]
fn a_device_is_opened_and_used() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    common::check_leaks();
    let used = Device::open("vgpu:gfx1100?cus=1&memory=64MiB").and_then(|device| {
        Device::open_default()?;
        let stream = device.stream()?;
        DeviceBuffer::from_slice(&stream, &[7_u32; 100])?.to_vec(&stream)
    });
    match used {
        Ok(numbers) => println!("said: {}", numbers == [7; 100]),
        Err(error) => println!("said: {error}"),
    }
}

/// The output of the process with a variable set. It neither panics nor dies.
fn said(variable: &str, value: &OsStr) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["variables::a_device_is_opened_and_used", "--exact", "--nocapture"]);
    child.env("FERROCM_DEVICE", "vgpu:gfx1100").env(CHILD, "1").env(variable, value);
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let other = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !other.contains("panicked"), "{variable}={value:?}: {said}{other}");
    said.split_once("said: ")
        .map_or(said.clone(), |(_, said)| said.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn a_value_that_cannot_be_used_is_an_error_that_names_variable_and_value() {
    let bad: [OsString; 7] = [
        "-1".into(),
        "NaN".into(),
        "18446744073709551615".into(),
        "18446744073709551616".into(),
        "9".repeat(100_000).into(),
        "%s%n=,\u{202e}".into(),
        OsString::from_vec(vec![b'1', 0xff, 0xfe]),
    ];
    let variables = [
        variables::DEVICE,
        variables::ALLOCATOR,
        variables::VGPU_CHECK,
        variables::VGPU_TIMEOUT,
        variables::VGPU_THREADS,
        variables::VGPU_VECTORS,
        variables::VGPU_ENGINE,
        variables::VGPU_COUNTERS,
        variables::VGPU_TRACE,
        variables::VGPU_SLOW,
    ];
    for variable in variables {
        for value in &bad {
            let said = said(variable.name, value);
            assert!(said.contains(variable.name) && said.len() < 1000, "{value:?}: {said}");
            if value.len() < 50 && value.is_ascii() {
                assert!(said.contains(value.to_str().unwrap()), "{said}");
            }
        }
        assert_eq!(said(variable.name, OsStr::new(" ")), "true", "{} is blank", variable.name);
    }
}

#[test]
fn values_in_range_are_used() {
    for (variable, value) in [
        (variables::VGPU_TIMEOUT, "31536000"),
        (variables::VGPU_TIMEOUT, "600000ms"),
        (variables::VGPU_THREADS, "1024"),
        (variables::VGPU_VECTORS, "BASELINE"),
        (variables::VGPU_ENGINE, "Reference"),
        (variables::ALLOCATOR, "direct"),
        (variables::VGPU_CHECK, "all"),
        (variables::VGPU_SLOW, "ok"),
    ] {
        assert_eq!(said(variable.name, OsStr::new(value)), "true", "{}={value}", variable.name);
    }
}
