//! What needs a GPU that nobody else uses meanwhile: all of its memory, and how much of it is free. Test
//! runners give these tests the whole machine (`.config/nextest.toml`).

use std::time::{Duration, Instant};

use hip::{Device, DeviceBuffer, Error, Event, HostBuffer, Module};

use crate::device;

/// What the threads add up in floating point, exactly.
const PTX: &str = include_str!("kernels.ptx");

/// Names how long the threads work, in seconds.
const SECONDS: &str = "FERROCM_TEST_SECONDS";

/// How many threads there are, and streams of each.
const THREADS: usize = 8;
const STREAMS: usize = 4;

/// Memory that other processes may take or free between two looks.
const SLACK: usize = 32 << 20;

/// Bytes of this process in the host's memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    // SAFETY: a query without arguments of memory.
    pages * usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap()
}

fn free(device: &Device) -> usize {
    device.synchronize().unwrap();
    device.trim_memory(0).unwrap();
    device.memory_info().unwrap().free
}

/// Allocates until there is no more, and returns what there was and the error.
fn exhaust(
    mut allocate: impl FnMut(usize) -> hip::Result<DeviceBuffer<u8>>,
) -> (Vec<DeviceBuffer<u8>>, Error) {
    let mut all = Vec::new();
    let mut last = None;
    // Ever smaller pieces, so that nothing but crumbs is left.
    for size in [4 << 30, 256 << 20, 16 << 20, 2 << 20_usize] {
        loop {
            match allocate(size) {
                Ok(buffer) => all.push(buffer),
                Err(error) => {
                    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
                    assert!(!error.is_sticky());
                    last = Some(error);
                    break;
                }
            }
        }
    }
    (all, last.unwrap())
}

#[test]
fn a_device_without_free_memory_says_so_and_works_on() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let module = Module::load(&device, PTX.as_bytes()).unwrap();
    let saxpy = module.function("saxpy").unwrap();
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32; 1000]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 1000).unwrap();
    // What the driver loads or keeps on the first use stays.
    let mut rounds = 0_u8;
    let mut both = || {
        let before = free(&device);
        for direct in [false, true] {
            let (mut all, error) = exhaust(|size| match direct {
                true => DeviceBuffer::uninit_direct(&device, size),
                false => DeviceBuffer::uninit(&device, size),
            });
            let held: usize = all.iter().map(|buffer| buffer.as_slice().len()).sum();
            println!("{} buffers of {held} of {before} bytes, then: {error}", all.len());
            assert!(held > before / 2, "{held} of {before} bytes");
            // The last bytes are memory, too.
            let last = all.last_mut().unwrap();
            last.fill(&stream, 0x5a).unwrap();
            assert!(last.to_vec(&stream).unwrap().iter().all(|byte| *byte == 0x5a));
            // A kernel needs none of its own.
            let launch = saxpy.launch(&stream).elements(1000, 128).arg(1000_u32).arg(1.0_f32);
            // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
            unsafe { launch.arg(&x).arg(&mut y).enqueue().unwrap() };
            rounds += 1;
            assert_eq!(y.to_vec(&stream).unwrap(), vec![f32::from(rounds); 1000]);
            drop(all);
            // All of it is there again.
            let again = DeviceBuffer::<u8>::uninit_direct(&device, held / 2);
            assert!(again.is_ok(), "{:?}", again.err());
        }
        before
    };
    both();
    let (before, after) = (both(), free(&device));
    assert!(after + SLACK >= before, "{before} bytes were free before, {after} are after");
}

/// One round of a thread: copies, fills and launches on several streams that wait for each other.
fn work(device: &Device, module: &Module, thread: usize, round: usize) {
    let saxpy = module.function("saxpy").unwrap();
    let streams: Vec<_> = (0..STREAMS).map(|_| device.stream().unwrap()).collect();
    let n = 1000 + 37 * (round % 50);
    let value = (thread + 1) as f32;
    let x = DeviceBuffer::from_slice(&streams[0], &vec![value; n]).unwrap();
    let mut y = DeviceBuffer::<f32>::uninit(device, n).unwrap();
    y.fill(&streams[0], 1.0).unwrap();
    for stream in streams.iter().cycle().take(3 * STREAMS) {
        let launch = saxpy.launch(stream).elements(n, 128).arg(n as u32).arg(2.0_f32);
        // SAFETY: `saxpy` reads x[0..n], and reads and writes y[0..n].
        unsafe { launch.arg(&x).arg(&mut y).enqueue().unwrap() };
    }
    let expected = 1.0 + (3 * STREAMS) as f32 * 2.0 * value;
    let last = &streams[round % STREAMS];
    let host = HostBuffer::<f32>::zeroed(device, n).unwrap();
    let host = y.download(last, host).unwrap().wait().unwrap();
    assert!(host.iter().all(|found| *found == expected), "thread {thread}, round {round}");
    if round.is_multiple_of(16) {
        let graph = device
            .capture(|stream| {
                y.fill(stream, 0.0)?;
                let launch = saxpy.launch(stream).elements(n, 128).arg(n as u32).arg(1.0_f32);
                // SAFETY: as above.
                unsafe { launch.arg(&x).arg(&mut y).enqueue() }
            })
            .unwrap();
        let exec = graph.instantiate().unwrap();
        let event = Event::new(device).unwrap();
        exec.launch(last).unwrap();
        event.record(last).unwrap();
        streams[0].wait_event(&event).unwrap();
        assert_eq!(y.to_vec(&streams[0]).unwrap(), vec![value; n], "thread {thread}, round {round}");
    }
}

/// Eight threads with four streams each. Afterwards as much memory is free as before, on the device and on
/// the host.
#[test]
fn threads_work_side_by_side_and_leak_nothing() {
    let Some(device) = device() else { return };
    let module = Module::load(&device, PTX.as_bytes()).unwrap();
    let seconds: f64 = std::env::var(SECONDS).map_or(3.0, |text| text.parse().expect("a number of seconds"));
    let run = |time: Duration| {
        let rounds: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (device, module) = (&device, &module);
                    scope.spawn(move || {
                        let start = Instant::now();
                        let mut rounds = 0;
                        while start.elapsed() < time {
                            work(device, module, thread, rounds);
                            rounds += 1;
                        }
                        rounds
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        (rounds, free(&device), resident())
    };
    // The first rounds also fill what the driver and the allocator of the host keep.
    let (_, free_before, host_before) = run(Duration::from_secs_f64(seconds / 3.0));
    let (rounds, free_after, host_after) = run(Duration::from_secs_f64(seconds));
    println!(
        "{rounds} rounds; free on the device: {free_before} bytes before, {free_after} after; on the host \
         {host_before} bytes in use before, {host_after} after; {} failures in drop",
        hip::drop_failures()
    );
    assert!(rounds >= THREADS);
    assert_eq!(hip::drop_failures(), 0);
    assert!(
        free_after + SLACK >= free_before,
        "{free_before} bytes were free before, {free_after} are after"
    );
    assert!(host_after < host_before + 64 * (1 << 20), "{host_before} bytes before, {host_after} after");
}

#[test]
fn an_allocation_larger_than_the_device_is_an_error_at_once() {
    let Some(device) = device() else { return };
    let total = device.memory_info().unwrap().total;
    let stream = device.stream().unwrap();
    let errors = [
        DeviceBuffer::<u8>::uninit(&device, 2 * total).map(drop),
        DeviceBuffer::<u8>::uninit_direct(&device, 2 * total).map(drop),
        DeviceBuffer::<u8>::zeroed(&stream, 2 * total).map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err();
        println!("{error}");
        assert!(matches!(error, Error::OutOfMemory { .. }) && !error.is_sticky(), "{error:?}");
    }
    let mut large = DeviceBuffer::<u8>::uninit(&device, 1 << 28).unwrap();
    large.fill(&stream, 3).unwrap();
    assert!(large.to_vec(&stream).unwrap().iter().all(|byte| *byte == 3));
}
