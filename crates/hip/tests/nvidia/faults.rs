//! Kernels that fault: the process loses its device, and the error says what to do. Other processes lose
//! nothing.

use std::process::Command;

use hip::{DeviceAddress, DeviceBuffer, Error, Module};

use crate::device;

/// Faults of other kinds than the one in `kernels.ptx`.
const PTX: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .entry trap_itself() { trap; }
.visible .entry write_to(.param .u64 address)
{
    .reg .b64 %d;
    ld.param.u64 %d, [address];
    cvta.to.global.u64 %d, %d;
    st.global.u32 [%d], 1;
    ret;
}
";

/// Names the kind of fault to the process that has it.
const KIND: &str = "FERROCM_TEST_FAULT";

/// Each kind: an address that nothing is at, one that is no multiple of the access's size, and a kernel that
/// ends itself as a failed `assert` does.
const KINDS: [&str; 3] = ["address", "misaligned", "trap"];

#[test]
fn a_kernel_that_faults_ends_the_device_for_the_process() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let numbers: Vec<u32> = (0..1 << 20).collect();
    let buffer = DeviceBuffer::from_slice(&stream, &numbers).unwrap();
    for kind in KINDS {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "faults::the_faulting_process", "--nocapture"])
            .env(KIND, kind)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        println!("{kind}: {text}{}", String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success() && text.contains("as it should"), "{kind}");
        // This process shares the GPU with it, and neither the memory nor the device.
        assert_eq!(buffer.to_vec(&stream).unwrap(), numbers, "{kind}");
    }
}

#[test]
#[ignore = "the process of another test, which has no use for its device afterwards"]
fn the_faulting_process() {
    let Ok(kind) = std::env::var(KIND) else { return };
    let device = device().unwrap();
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let module = Module::load(&device, PTX.as_bytes()).unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &[1_u32, 2]).unwrap();
    let function = module.function(if kind == "trap" { "trap_itself" } else { "write_to" }).unwrap();
    let launch = function.launch(&stream).grid(1).block(1);
    let launch = match &*kind {
        "address" => launch.arg(DeviceAddress(16)),
        "misaligned" => launch.arg(DeviceAddress(buffer.as_slice().address().0 + 1)),
        _ => launch,
    };
    // SAFETY: nothing of the device is used afterwards but what fails.
    unsafe { launch.enqueue().unwrap() };
    let error = stream.synchronize().unwrap_err();
    println!("{error}");
    assert!(matches!(&error, Error::Fault(_)) && error.is_sticky(), "{error:?}");
    assert!(error.to_string().contains("end the process"), "{error}");
    // Whatever the process still asks of the device fails in the same way, and says so.
    let later = [
        ("another stream", other.synchronize().unwrap_err()),
        ("a copy", buffer.to_vec(&other).unwrap_err()),
        ("memory", DeviceBuffer::<u32>::uninit_direct(&device, 1 << 20).map(drop).unwrap_err()),
        ("a module", Module::load(&device, PTX.as_bytes()).map(drop).unwrap_err()),
        ("a new stream", device.stream().map(drop).unwrap_err()),
    ];
    for (what, error) in later {
        println!("{what}: {error}");
        assert!(error.is_sticky() && error.to_string().contains("end the process"), "{what}: {error}");
    }
    drop((buffer, function, module, stream, other));
    println!("as it should");
}
