//! Replay files.

use hal::{
    Affinity, Arg, Device, Driver, Error, File, Grid, MemoryKind, Options, Place, Replay, Semaphore, Usage,
};

use crate::common::{LONG, Setup, TARGETS, drivers, pattern, setups, setups_with};

#[path = "../../../hal/tests/any_replay/mod.rs"]
mod any_replay;

fn capturing() -> Vec<Setup> {
    let mut options = Options::default();
    options.capture = true;
    setups_with(&options)
}

/// A device for a replay, of the target with a number.
fn device(replay: &Replay, target: usize) -> Device {
    let (driver, uri): (Driver, String) = drivers().remove(target);
    driver.open(&uri.parse().unwrap(), replay.options().unwrap()).unwrap()
}

/// Runs one of everything, and captures it.
fn run(setup: &Setup) -> Replay {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, pattern(10_000, 1)).unwrap();
    let (device, queue) = (&setup.device, &setup.queue);
    let other = device.queue(Affinity(2)).unwrap();
    let line = Semaphore::new(0);

    // Data comes from the host, from a file, and with imported memory.
    let data = device.allocate(MemoryKind::Device, 10_000).unwrap();
    let file = File::open(&path).unwrap();
    queue.read(file.range(0, 10_000), (&data).into(), &[], &[(&line, 1)]).unwrap();
    let imported = device.import(pattern(4096, 2)).unwrap();
    let value = setup.buffer(&1u64.to_le_bytes());
    let counts = setup.buffer(&[3u32, 1, 1].map(u32::to_le_bytes).concat());
    let never = device.allocate(MemoryKind::Host, 100).unwrap();

    // Each command, with and without bindings.
    let add = setup.code.kernel("add").unwrap();
    let (n, step) = (1000i32.to_le_bytes(), 7i32.to_le_bytes());
    let args = [Arg::At(Place::Binding(0, 0)), Arg::Bytes(&n), Arg::Bytes(&step)];
    let mut recorder = setup.record();
    // SAFETY: the kernel adds to numbers of what is bound, at most 1000.
    unsafe { recorder.dispatch(&add, Grid::linear(4, 256), &args) }.unwrap();
    // SAFETY: as above.
    unsafe {
        recorder.barrier().dispatch_indirect(&add, [64, 1, 1], 0, (&counts).into(), &args).unwrap();
    }
    recorder.barrier().copy(Place::Buffer(&imported, 8), Place::Binding(0, 4), 1000).unwrap();
    recorder.barrier().fill(Place::Buffer(&data, 9000), &[1, 2], 600).unwrap();
    recorder.update(Place::Buffer(&imported, 3000), b"an update").unwrap();
    recorder.time_stamp(Place::Binding(1, 16)).unwrap();
    let commands = recorder.finish().unwrap();
    let mut recorder = device.record(0, Usage::OneShot).unwrap();
    setup.step(&mut recorder, (&value).into(), 4);
    let once = recorder.finish().unwrap();

    // The second is submitted first, and waits.
    let go = Semaphore::new(0);
    let times = device.allocate(MemoryKind::Device, 40).unwrap();
    let bindings = [(data.clone(), 400), (times, 8)];
    other.execute(&once, &[], &[(&go, 1), (&line, 3)], &[(&line, 4)]).unwrap();
    queue.execute(&commands, &bindings, &[(&line, 1)], &[(&line, 2)]).unwrap();
    let its = value.clone();
    queue.call(&[(&line, 2)], &[(&line, 3)], move || its.write(0, &5u64.to_le_bytes())).unwrap();
    go.signal(1).unwrap();
    line.wait(4, LONG).unwrap();
    assert_eq!(setup.read(&value), 19u64.to_le_bytes());
    assert!(setup.read(&never) == [0; 100]);
    device.capture().unwrap()
}

#[test]
fn a_replay_ends_with_what_the_run_had() {
    for (target, setup) in capturing().iter().enumerate() {
        let replay = run(setup);
        assert!(replay.target().starts_with(TARGETS[target]));
        assert_eq!(replay.submissions(), 2);
        // Those that something still holds.
        assert!(replay.compared() >= 5);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.replay");
        replay.save(&path).unwrap();
        let loaded = Replay::load(&path).unwrap();
        assert!(loaded == replay);
        let device = device(&loaded, target);
        // Again and again, also on one device.
        for _ in 0..2 {
            // SAFETY: the kernels are those of this test.
            assert_eq!(unsafe { loaded.run(&device) }, Ok(Vec::new()));
        }
    }
}

#[test]
fn a_replay_can_refer_to_the_files_that_were_read() {
    let mut options = Options::default();
    (options.capture, options.refer_to_files) = (true, true);
    for (target, setup) in setups_with(&options).iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        std::fs::write(&path, pattern(100_000, 1)).unwrap();
        let file = File::open(&path).unwrap();
        let buffer = setup.device.allocate(MemoryKind::Device, 90_000).unwrap();
        let line = Semaphore::new(0);
        setup.queue.read(file.range(1000, 80_000), Place::Buffer(&buffer, 8), &[], &[(&line, 1)]).unwrap();
        line.wait(1, LONG).unwrap();
        // Of a file that ends too early there are bytes.
        let short = setup.queue.read(file.range(99_000, 2000), (&buffer).into(), &[], &[(&line, 2)]);
        assert!(short.is_ok() && line.wait(2, LONG).is_err());
        let line = Semaphore::new(0);
        let mut recorder = setup.record();
        setup.step(&mut recorder, Place::Buffer(&buffer, 8000), 5);
        let commands = recorder.finish().unwrap();
        setup.queue.execute(&commands, &[], &[], &[(&line, 1)]).unwrap();
        line.wait(1, LONG).unwrap();
        let replay = setup.device.capture().unwrap();
        assert_eq!(replay.files().collect::<Vec<_>>(), [std::path::absolute(&path).unwrap()]);
        let bytes = replay.to_bytes();
        let mut loaded = Replay::parse(&bytes).unwrap();
        assert!(loaded == replay);
        let device = device(&loaded, target);
        // SAFETY: the kernels are those of this test, here and below.
        let run = |replay: &Replay| unsafe { replay.run(&device) };
        assert_eq!(run(&loaded), Ok(Vec::new()));
        let other = tempfile::tempdir().unwrap();
        std::fs::rename(&path, other.path().join("weights")).unwrap();
        let error = run(&loaded).unwrap_err();
        assert!(matches!(error, Error::Open { kind: std::io::ErrorKind::NotFound, .. }), "{error}");
        loaded.look_in(other.path());
        assert_eq!(run(&loaded), Ok(Vec::new()));
        // One that has changed outside of what was read is the same, any other is not.
        let change = |at: usize| {
            let mut bytes = pattern(100_000, 1);
            bytes[at] ^= 1;
            std::fs::write(other.path().join("weights"), bytes).unwrap();
        };
        change(999);
        assert_eq!(run(&loaded), Ok(Vec::new()));
        change(1000);
        let hash = blake3::hash(&pattern(100_000, 1)[1000..81_000]);
        let text = run(&loaded).unwrap_err().to_string();
        let problem = format!(
            "the 80000 bytes at offset 1000 are not those of the captured run, whose BLAKE3 hash is {hash}"
        );
        assert!(text.ends_with(&problem), "{text}");
        std::fs::write(other.path().join("weights"), [1; 5000]).unwrap();
        assert!(run(&loaded).unwrap_err().to_string().ends_with(&problem));
    }
}

#[test]
fn a_replay_that_differs_says_where() {
    for (target, setup) in capturing().iter().enumerate() {
        let buffer = setup.buffer(&pattern(1000, 3));
        let kept = setup.buffer(&pattern(1000, 4));
        let replay = setup.device.capture().unwrap();
        // The contents at the end are at the end of the file: those of the second buffer.
        let mut bytes = replay.to_bytes();
        let len = bytes.len();
        (bytes[len - 900], bytes[len - 1]) = (!bytes[len - 900], !bytes[len - 1]);
        let damaged = Replay::parse(&bytes).unwrap_err().to_string();
        assert!(damaged.contains("it is damaged"), "{damaged}");
        let changed = Replay::parse(&any_replay::sealed(&bytes)).unwrap();
        // SAFETY: there are no kernels.
        let differences = unsafe { changed.run(&device(&changed, target)) }.unwrap();
        let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["buffer 1: 2 of 1000 bytes differ, from offset 100 on"]);
        drop((buffer, kept));
    }
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    for setup in setups() {
        let error = setup.device.capture().unwrap_err();
        assert_eq!(error.to_string(), "the device was opened without `Options::capture`");
    }
    let all = capturing();
    let setup = &all[0];
    let buffer = setup.buffer(&[0; 64]);
    let mut recorder = setup.record();
    let add = setup.code.kernel("add").unwrap();
    let (n, address) = (4i32.to_le_bytes(), buffer.address().to_le_bytes());
    let args = [Arg::Bytes(&address), Arg::Bytes(&n), Arg::Bytes(&n)];
    // SAFETY: it is refused.
    let error = unsafe { recorder.dispatch(&add, Grid::linear(1, 4), &args) }.map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "argument 0 of kernel add is an address without its buffer");
    // On another target.
    let replay = run(setup);
    let (driver, uri) = drivers().remove(1);
    let error = driver.open(&uri.parse().unwrap(), replay.options().unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the device library has no code for gfx90a") && text.ends_with("it has gfx1100")
    );
    // SAFETY: it is refused.
    let error = unsafe { replay.run(&all[1].device) }.unwrap_err();
    assert!(matches!(error, Error::NoCode { .. }), "{error}");
    let missing = Replay::load("/nowhere/run.replay").unwrap_err();
    assert!(matches!(missing, Error::Open { kind: std::io::ErrorKind::NotFound, .. }), "{missing}");
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let replay = run(&capturing()[0]);
    let bytes = replay.to_bytes();
    // Where the structure is: before and behind the code, which is most of the file.
    let places = (0..400).chain(bytes.len() - 45_000..bytes.len());
    for place in places.step_by(7) {
        let mut changed = bytes.clone();
        changed[place] ^= 1 << (place % 8);
        any_replay::run(&changed);
        any_replay::run(&any_replay::sealed(&changed));
    }
    for len in (0..100).chain((bytes.len() - 2000..bytes.len()).step_by(13)) {
        let text = Replay::parse(&bytes[..len]).unwrap_err().to_string();
        assert!(text.starts_with("the replay file: "), "{text}");
        assert!(Replay::parse(&any_replay::sealed(&bytes[..len])).is_err());
    }
}
