//! Memory that two processes share: the test starts itself once more as the other one.

mod support;

use std::ffi::c_void;
use std::process::Command;
use std::ptr::null_mut;

use hip_sys::{hipIpcMemHandle_t, hipMemcpyKind as Kind};
use support::{E, Kernels, Memory, NULL, OK, arguments, hip, launch, turn};

const HANDLE: &str = "FERROCM_TEST_IPC_HANDLE";
const LAZY: u32 = hip_sys::hipIpcMemLazyEnablePeerAccess;
const COUNT: usize = 50_001;

fn handle_of(memory: *mut c_void) -> hipIpcMemHandle_t {
    let mut handle = hipIpcMemHandle_t { reserved: [0; 64] };
    assert_eq!(hip!(hipIpcGetMemHandle(&mut handle, memory)), OK);
    handle
}

#[test]
fn what_one_process_writes_the_other_reads() {
    let _turn = turn();
    let first: Vec<f32> = (0..COUNT).map(|index| index as f32).collect();
    let memory = Memory::of(&first);
    let handle = handle_of(memory.pointer);
    assert_eq!(handle.reserved, handle_of(memory.pointer).reserved, "asking again changes nothing");
    let text: String = handle.reserved.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "the_other_process", "--include-ignored", "--nocapture"]).env(HANDLE, text);
    let output = other.output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    let expected: Vec<f32> = first.iter().map(|value| value + 3.0).collect();
    assert!(memory.read::<f32>(COUNT) == expected);
}

#[test]
#[ignore = "runs in the process that the test above starts"]
fn the_other_process() {
    let text = std::env::var(HANDLE).unwrap();
    let mut handle = hipIpcMemHandle_t { reserved: [0; 64] };
    for (index, byte) in handle.reserved.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap() as std::ffi::c_char;
    }
    let (mut shared, mut again) = (null_mut(), null_mut());
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut shared, handle, 0)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut shared, handle, LAZY)), OK);
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut again, handle, LAZY)), OK);
    assert_eq!(shared, again);
    let mut words = vec![0f32; COUNT];
    let to = words.as_mut_ptr().cast();
    assert_eq!(hip!(hipMemcpy(to, shared, 4 * COUNT, Kind::hipMemcpyDeviceToHost)), OK);
    assert!(words.iter().enumerate().all(|(index, &value)| value == index as f32));
    let beyond = hip!(hipMemcpy(to, shared, 4 * COUNT + 1, Kind::hipMemcpyDeviceToHost));
    assert_eq!(beyond, E::hipErrorInvalidValue, "its bounds are those of the other process");

    let kernels = Kernels::load();
    let ones = Memory::of(&vec![1.0f32; COUNT]);
    let (mut a, mut x, mut y, mut n) = (3.0f32, ones.pointer, shared, COUNT as u32);
    let blocks = [n.div_ceil(256), 1, 1];
    assert_eq!(launch(kernels.get("saxpy"), blocks, [256, 1, 1], 0, NULL, arguments![a, x, y, n]), OK);
    assert_eq!(hip!(hipDeviceSynchronize()), OK);
    assert_eq!(hip!(hipFree(shared)), E::hipErrorInvalidValue, "it is closed, not freed");
    assert_eq!(hip!(hipIpcCloseMemHandle(shared)), OK);
    assert_eq!(hip!(hipIpcCloseMemHandle(shared)), OK);
    assert_eq!(hip!(hipIpcCloseMemHandle(shared)), E::hipErrorInvalidValue);
    let gone = hip!(hipMemcpy(to, shared, 4, Kind::hipMemcpyDeviceToHost));
    assert_eq!(gone, E::hipErrorInvalidValue);
}

#[test]
fn only_device_memory_is_shared_and_only_with_others() {
    let _turn = turn();
    let memory = Memory::new(100);
    let handle = handle_of(memory.pointer);
    let (mut pointer, mut out) = (null_mut(), handle);
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut pointer, handle, LAZY)), E::hipErrorInvalidContext);
    let nothing = hipIpcMemHandle_t { reserved: [0; 64] };
    assert_eq!(hip!(hipIpcOpenMemHandle(&mut pointer, nothing, LAZY)), E::hipErrorInvalidHandle);
    assert_eq!(hip!(hipIpcCloseMemHandle(memory.pointer)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipIpcGetMemHandle(&mut out, null_mut())), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipHostMalloc(&mut pointer, 64, 0)), OK);
    assert_eq!(hip!(hipIpcGetMemHandle(&mut out, pointer)), E::hipErrorInvalidValue);
    assert_eq!(hip!(hipHostFree(pointer)), OK);
    // Shared memory is memory like any other.
    memory.write(&[7u8; 100]);
    assert_eq!(memory.read::<u8>(100), [7; 100]);
}
