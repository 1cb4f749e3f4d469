//! Memory and events shared by two processes: each test starts this program again as the other process.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use hip::{Allocator, Device, DeviceBuffer, Error, Event, EventOptions, IpcError, IpcEvent, IpcMemory};
use test_skip::{Lack, skip};

use crate::common;

const DATA: &str = "FERROCM_TEST_IPC";
const COUNT: usize = 50_001;

fn to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_text(text: &str) -> Vec<u8> {
    let digits = text.trim().as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The data from the test that started this process.
fn data() -> Vec<u8> {
    from_text(&std::env::var(DATA).expect("another test starts this one"))
}

/// The other process: a test of this file that is otherwise ignored.
struct Other {
    process: Child,
    to: Option<ChildStdin>,
    from: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(test: &str, data: &[u8]) -> Self {
        let mut process = common::this_program()
            .args(["--exact", &format!("ipc::{test}"), "--include-ignored", "--nocapture"])
            .env(DATA, to_text(data))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let from = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { to: process.stdin.take(), process, from }
    }

    /// Waits for a line with `name`, and returns the bytes after it.
    fn hear(&mut self, name: &str) -> Vec<u8> {
        let mut said = String::new();
        for line in &mut self.from {
            let line = line.unwrap();
            // The harness writes the test's name before the first line.
            if let Some((_, rest)) = line.split_once(name) {
                return from_text(rest);
            }
            said += &format!("{line}\n");
        }
        panic!("it never said `{name}`:\n{said}");
    }

    fn tell(&mut self) {
        writeln!(self.to.as_mut().unwrap()).unwrap();
    }

    /// Waits for its end, and checks that it succeeded.
    fn end(mut self) {
        drop(self.to.take());
        let rest: Vec<String> = self.from.map(Result::unwrap).collect();
        assert!(self.process.wait().unwrap().success(), "{rest:#?}");
        assert!(rest.iter().any(|line| line.contains("1 passed")), "{rest:#?}");
    }
}

/// Sends something to the process that started this one.
fn say(name: &str, bytes: &[u8]) {
    println!("{name}{}", to_text(bytes));
}

/// Waits for a message from the process that started this one.
fn wait_until_told() {
    assert_ne!(std::io::stdin().read_line(&mut String::new()).unwrap(), 0, "the other process is gone");
}

/// `None` if the library behind the device cannot share memory.
fn sharing(device: &Device) -> Option<()> {
    let has = ["hipIpcGetMemHandle", "hipIpcGetEventHandle"].iter().all(|name| device.table().has(name));
    if !has {
        skip(Lack::Device, format_args!("the library behind {device} shares nothing with other processes"));
    }
    has.then_some(())
}

fn numbers(from: u32) -> Vec<u32> {
    (from..from + COUNT as u32).collect()
}

#[test]
fn another_process_reads_and_writes_a_view_of_this_ones_memory() {
    let device = common::device();
    let Some(()) = sharing(&device) else { return };
    let default = device.allocator();
    for allocator in [Allocator::Direct, Allocator::Caching] {
        device.set_allocator(allocator).unwrap();
        let stream = device.stream().unwrap();
        // A neighbour, in the same segment if there is a cache.
        let neighbour = DeviceBuffer::from_slice(&stream, &numbers(5)).unwrap();
        let buffer = DeviceBuffer::from_slice(&stream, &numbers(100)).unwrap();
        let handle = buffer.slice(1..COUNT - 1).unwrap().ipc_handle().unwrap();
        let same = IpcMemory::from_bytes(&handle.to_bytes()).unwrap();
        // SAFETY: it is refused.
        let own = unsafe { same.open::<u32>(&device) };
        assert!(matches!(own, Err(Error::Ipc(IpcError::SameProcess))), "{own:?}");
        Other::start("opens_memory", &handle.to_bytes()).end();
        let mut expected = numbers(100);
        expected[1..COUNT - 1].iter_mut().for_each(|value| *value = 3 * *value + 1);
        assert!(buffer.to_vec(&stream).unwrap() == expected, "{allocator}");
        assert!(neighbour.to_vec(&stream).unwrap() == numbers(5), "{allocator}");
        drop((buffer, neighbour));
        device.trim_memory(0).unwrap();
    }
    device.set_allocator(default).unwrap();
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
#[ignore = "runs in the process that another test starts"]
fn opens_memory() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let handle = IpcMemory::from_bytes(&data()).unwrap();
    assert_eq!((handle.len(), handle.element().as_str()), (COUNT - 2, "u32"));
    // SAFETY: the other process waits for the end of this one.
    let (float, longer) = unsafe { (handle.open::<f32>(&device), handle.open::<u64>(&device)) };
    assert!(matches!(float, Err(Error::Ipc(IpcError::Element { .. }))), "{float:?}");
    assert!(matches!(longer, Err(Error::Ipc(IpcError::Element { size: 4, wanted_size: 8, .. }))));
    // SAFETY: the other process waits for the end of this one.
    let (mut buffer, again) =
        unsafe { (handle.open::<u32>(&device).unwrap(), handle.open::<u32>(&device).unwrap()) };
    let mut values = buffer.to_vec(&stream).unwrap();
    assert!(values == numbers(100)[1..COUNT - 1]);
    values.iter_mut().for_each(|value| *value = 3 * *value + 1);
    buffer.copy_from_host(&stream, &values).unwrap();
    drop(buffer);
    assert!(again.to_vec(&stream).unwrap() == values, "it is open once more");
    drop(again);
    assert_eq!((hip::drop_failures(), hip::live().device_allocations), (0, 0));
}

#[test]
fn this_process_reads_and_writes_another_ones_memory() {
    let device = common::device();
    let Some(()) = sharing(&device) else { return };
    let stream = device.stream().unwrap();
    let mut other = Other::start("gives_memory", &[]);
    let handle = IpcMemory::from_bytes(&other.hear("handle ")).unwrap();
    // SAFETY: the other process does not use the memory until it gets a message, and keeps it until it ends.
    let mut buffer = unsafe { handle.open::<u32>(&device).unwrap() };
    assert!(buffer.to_vec(&stream).unwrap() == numbers(7));
    buffer.slice_mut(10..).unwrap().fill(&stream, 3).unwrap();
    stream.synchronize().unwrap();
    drop(buffer);
    other.tell();
    other.end();
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
#[ignore = "runs in the process that another test starts"]
fn gives_memory() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let buffer = DeviceBuffer::from_slice(&stream, &numbers(7)).unwrap();
    say("handle ", &buffer.ipc_handle().unwrap().to_bytes());
    wait_until_told();
    let values = buffer.to_vec(&stream).unwrap();
    assert!(values[..10] == numbers(7)[..10] && values[10..].iter().all(|value| *value == 3));
}

#[test]
fn events_order_the_streams_of_two_processes() {
    let device = common::device();
    let Some(()) = sharing(&device) else { return };
    let stream = device.stream().unwrap();
    let options = EventOptions::new().interprocess(true);
    let (ours, theirs) = (Event::with(&device, options).unwrap(), Event::with(&device, options).unwrap());
    if common::has_known_fault(&device, "hipIpcGetEventHandle") {
        assert!(matches!(ours.ipc_handle(), Err(Error::KnownFault { .. })));
        return;
    }
    let plain = Event::new(&device).unwrap().ipc_handle();
    assert!(matches!(plain, Err(Error::Hip { .. })), "{plain:?}");
    let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, COUNT).unwrap();
    stream.synchronize().unwrap();
    let handles = [ours.ipc_handle().unwrap().to_bytes(), theirs.ipc_handle().unwrap().to_bytes()];
    // SAFETY: it is refused.
    let own = unsafe { IpcEvent::from_bytes(&handles[0]).unwrap().open(&device) };
    assert!(matches!(own, Err(Error::Ipc(IpcError::SameProcess))), "{own:?}");
    let data: Vec<u8> = [&buffer.ipc_handle().unwrap().to_bytes()[..], &handles.concat()].concat();

    // The fill and the event after it wait for a host function, which ends once the other process waits for
    // the event.
    let (go, held) = std::sync::mpsc::channel::<()>();
    stream.host_function(move || held.recv().unwrap()).unwrap();
    buffer.fill(&stream, 7).unwrap();
    ours.record(&stream).unwrap();
    assert!(!ours.is_done().unwrap());
    let mut other = Other::start("waits_for_an_event", &data);
    other.hear("waiting ");
    go.send(()).unwrap();
    other.hear("recorded ");
    stream.wait_event(&theirs).unwrap();
    assert!(buffer.to_vec(&stream).unwrap().iter().all(|value| *value == 8));
    other.tell();
    other.end();
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
#[ignore = "runs in the process that another test starts"]
fn waits_for_an_event() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let data = data();
    let (memory, events) = data.split_at(IpcMemory::SIZE);
    let (theirs, ours) = events.split_at(IpcEvent::SIZE);
    let (theirs, ours) = (IpcEvent::from_bytes(theirs).unwrap(), IpcEvent::from_bytes(ours).unwrap());
    let memory = IpcMemory::from_bytes(memory).unwrap();
    // SAFETY: the other process has both events until this one ends; it writes the memory before the first,
    // and reads it after the second.
    let (theirs, ours, mut buffer) = unsafe {
        (theirs.open(&device).unwrap(), ours.open(&device).unwrap(), memory.open::<u32>(&device).unwrap())
    };
    let timed = theirs.elapsed_since(&ours);
    assert!(matches!(timed, Err(Error::EventWithoutTiming { .. })), "{timed:?}");
    assert!(!theirs.is_done().unwrap());
    stream.wait_event(&theirs).unwrap();
    // A copy on the device after the event takes the contents at that time.
    let mut seen = DeviceBuffer::<u32>::zeroed(&stream, COUNT).unwrap();
    assert!(!stream.is_done().unwrap());
    seen.copy_from(&stream, &buffer).unwrap();
    say("waiting ", &[]);
    assert!(seen.to_vec(&stream).unwrap().iter().all(|value| *value == 7));
    buffer.fill(&stream, 8).unwrap();
    ours.record(&stream).unwrap();
    say("recorded ", &[]);
    wait_until_told();
    drop(buffer);
    assert_eq!(hip::drop_failures(), 0);
}

#[test]
fn memory_of_a_pool_is_not_shared() {
    let device = common::device();
    if !device.properties().memory_pools {
        skip(Lack::Device, format_args!("{device} has no memory pools"));
        return;
    }
    let stream = device.stream().unwrap();
    let pool = hip::MemoryPool::new(&device).unwrap();
    let error = pool.allocate::<u32>(&stream, 10).unwrap().ipc_handle().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}
