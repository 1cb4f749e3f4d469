//! Host code in a program that opens no device. It uses the device in `FERROCM_DEVICE`, or gets an error if
//! there is none.
//!
//! Each case runs this program in a separate process.

use std::ffi::CStr;
use std::process::{Command, Output};

use host_code_test as code;

/// Tells a child process which case to run.
const CASE: &str = "HOST_CODE_TEST_CASE";

/// Runs the test of this name in a separate process with this device.
fn run(test: &str, device: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture"]).env(CASE, "1").env("FERROCM_DEVICE", device);
    command.output().unwrap()
}

fn is_child() -> bool {
    std::env::var_os(CASE).is_some()
}

fn succeed(output: &Output) {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{:?}: {text}", output.status);
}

#[test]
fn the_default_device_is_opened() {
    if is_child() {
        // No kernel has run, so the variable has its initial value.
        assert_eq!(code::count_calls(), 40);
        assert_eq!(hip_host::failure(), None);
        assert_eq!(code::sum_to(10), 55);
        assert!(hip::Device::table_in_use().is_some());
        let device = hip::Device::open_default().unwrap();
        assert_eq!(device.target().processor, "gfx90a");
        assert_eq!(code::count_devices(), 1);
        return;
    }
    succeed(&run("the_default_device_is_opened", "vgpu:gfx90a"));
}

#[test]
fn without_a_device_calls_fail_and_say_why() {
    if is_child() {
        let no_device = 100;
        assert_eq!(code::sum_to(10), -no_device);
        assert_eq!(code::count_devices(), 0);
        // SAFETY: the text is the library's own.
        let text = unsafe { CStr::from_ptr(code::describe(no_device)) };
        assert!(text.to_string_lossy().contains("no device"), "{text:?}");
        let failure = hip_host::failure().unwrap();
        assert!(failure.contains("cuda"), "{failure}");
        // A device that the program opens later is used.
        hip::Device::open("vgpu:gfx1100").unwrap();
        assert_eq!(code::sum_to(10), 55);
        return;
    }
    succeed(&run("without_a_device_calls_fail_and_say_why", "cuda"));
}

#[test]
fn a_chosen_table_is_called_whatever_is_open() {
    if is_child() {
        hip::Device::open_default().unwrap().make_current().unwrap();
        hip_host::set_table(hip::hip_sys::Table::unsupported());
        assert_eq!(code::sum_to(10), -801);
        return;
    }
    succeed(&run("a_chosen_table_is_called_whatever_is_open", "vgpu"));
}

#[test]
fn a_process_may_end_while_kernels_run() {
    if is_child() {
        std::thread::spawn(|| while code::sum_to(50) == 1275 {});
        assert_eq!(code::sum_to(10), 55);
        return;
    }
    for _ in 0..5 {
        succeed(&run("a_process_may_end_while_kernels_run", "vgpu:gfx1100"));
    }
}
