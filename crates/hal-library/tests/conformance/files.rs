//! Files.

use std::io::ErrorKind;

use hal::{Error, File, MemoryKind, Options, Place, Semaphore};

use crate::common::{LONG, Setup, pattern, setups, setups_with};

const KINDS: [MemoryKind; 2] = [MemoryKind::Device, MemoryKind::Host];

/// The error of a transfer that is the only work.
fn failure(submit: impl FnOnce(&Semaphore) -> hal::Result<()>) -> Error {
    let done = Semaphore::new(0);
    submit(&done).unwrap();
    done.wait(1, LONG).unwrap_err()
}

#[test]
fn exactly_the_range_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let contents = pattern(100_003, 3);
    let source = folder.path().join("source");
    std::fs::write(&source, &contents).unwrap();
    // Device memory is reached in 25 steps.
    let mut options = Options::default();
    options.staging = 4096;
    for setup in setups_with(&options) {
        for kind in KINDS {
            let ranges = [(0, 0, 100_003), (1, 3, 5000), (4095, 2, 4096), (100_002, 100, 1), (7, 7, 0)];
            for (offset, at, len) in ranges {
                let buffer = setup.device.allocate(kind, 100_010).unwrap();
                buffer.write(0, &[0xee; 100_010]).unwrap();
                let (from, line) = (File::open(&source).unwrap(), Semaphore::new(0));
                let place = Place::Buffer(&buffer, at);
                setup.queue.read(from.range(offset, len), place, &[], &[(&line, 1)]).unwrap();
                // What is submitted holds its file.
                drop(from);
                line.wait(1, LONG).unwrap();
                let mut expected = vec![0xee; 100_010];
                let part = &contents[offset as usize..][..len as usize];
                expected[at as usize..][..part.len()].copy_from_slice(part);
                assert!(setup.read(&buffer) == expected, "{kind:?}: {len} bytes from {offset} to {at}");

                let path = folder.path().join("target");
                std::fs::write(&path, [0x11; 10]).unwrap();
                let to = File::create(&path).unwrap();
                assert_eq!(to.path(), path);
                setup.queue.write(place, to.range(5, len), &[(&line, 1)], &[(&line, 2)]).unwrap();
                line.wait(2, LONG).unwrap();
                let mut expected = vec![0x11; 10.max(5 + part.len())];
                expected[5..][..part.len()].copy_from_slice(part);
                assert!(std::fs::read(&path).unwrap() == expected, "{kind:?}: {len} bytes from {at}");
            }
        }
    }
}

#[test]
fn files_and_work_of_devices_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("value");
    for setup in setups() {
        for kind in KINDS {
            std::fs::write(&path, 1u64.to_le_bytes()).unwrap();
            let file = File::create(&path).unwrap();
            let value = setup.device.allocate(kind, 8).unwrap();
            let mut recorder = setup.record();
            setup.step(&mut recorder, (&value).into(), 2);
            let commands = recorder.finish().unwrap();
            let (go, line) = (Semaphore::new(0), Semaphore::new(0));
            for round in 0..10u64 {
                let at = |step| (&line, 3 * round + step);
                let read_after = [at(0), (&go, 1)];
                setup.queue.read(file.range(0, 8), (&value).into(), &read_after, &[at(1)]).unwrap();
                setup.queue.execute(&commands, &[], &[at(1)], &[at(2)]).unwrap();
                setup.queue.write((&value).into(), file.range(0, 8), &[at(2)], &[at(3)]).unwrap();
            }
            assert_eq!(std::fs::read(&path).unwrap(), 1u64.to_le_bytes());
            go.signal(1).unwrap();
            line.wait(30, LONG).unwrap();
            let expected = (0..10).fold(1u64, |value, _| value * 3 + 2);
            assert_eq!(std::fs::read(&path).unwrap(), expected.to_le_bytes(), "{kind:?}");
        }
    }
}

#[test]
fn a_host_call_may_wait_for_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes");
    std::fs::write(&path, b"12345678").unwrap();
    for setup in setups() {
        let buffer = setup.buffer(&[0; 8]);
        let [go, read, done] = std::array::from_fn(|_| Semaphore::new(0));
        let its = read.clone();
        setup.queue.call(&[], &[(&done, 1)], move || its.wait(1, LONG)).unwrap();
        let file = File::open(&path).unwrap();
        setup.queue.read(file.range(0, 8), (&buffer).into(), &[(&go, 1)], &[(&read, 1)]).unwrap();
        go.signal(1).unwrap();
        done.wait(1, LONG).unwrap();
        assert_eq!(setup.read(&buffer), b"12345678");
    }
}

#[test]
fn a_file_that_ends_too_early_is_named_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short");
    std::fs::write(&path, vec![7; 10_000]).unwrap();
    let mut options = Options::default();
    options.staging = 4096;
    for setup in setups_with(&options) {
        for kind in KINDS {
            let buffer = setup.device.allocate(kind, 20_000).unwrap();
            buffer.write(0, &[0; 20_000]).unwrap();
            let file = File::open(&path).unwrap();
            let read = |offset, len| {
                let to = Place::Buffer(&buffer, 0);
                failure(|done| setup.queue.read(file.range(offset, len), to, &[], &[(done, 1)]))
            };
            let error = read(500, 9_501);
            let text = format!("reading 1 bytes at offset 10000 of {}: the file ends there", path.display());
            assert_eq!(error.to_string(), text);
            assert!(matches!(error, Error::File { kind: ErrorKind::UnexpectedEof, .. }), "{error:?}");
            assert!(matches!(read(1 << 40, 10), Error::File { offset, len: 10, .. } if offset == 1 << 40));
            // What is there was read when it came: whole parts to device memory.
            let got = setup.read(&buffer);
            let parts = if kind == MemoryKind::Device { 8192 } else { 9500 };
            assert!(got[..parts] == vec![7; parts] && got[9500..] == [0; 10_500], "{kind:?}");
        }
    }
}

#[test]
fn the_systems_reason_is_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, [0; 64]).unwrap();
    let missing = File::open(folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, Error::Open { kind: ErrorKind::NotFound, .. }), "{missing:?}");
    let text = missing.to_string();
    assert!(text.starts_with("opening /") && text.contains("none: No such file"), "{text}");
    for setup in setups() {
        for kind in KINDS {
            let buffer = setup.device.allocate(kind, 64).unwrap();
            let write = |file: &File| {
                let from = Place::Buffer(&buffer, 0);
                failure(|done| setup.queue.write(from, file.range(8, 64), &[], &[(done, 1)]))
            };
            let read_only = File::open(&path).unwrap();
            let text = write(&read_only).to_string();
            let begin = format!("writing 64 bytes at offset 8 of {}: Bad file descriptor", path.display());
            assert!(text.starts_with(&begin), "{text}");
            let folder = File::open(folder.path()).unwrap();
            let error =
                failure(|done| setup.queue.read(folder.range(0, 1), (&buffer).into(), &[], &[(done, 1)]));
            assert!(matches!(error, Error::File { kind: ErrorKind::IsADirectory, .. }), "{error:?}");
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let error = write(&File::new(full, "/dev/full"));
            assert!(matches!(error, Error::File { kind: ErrorKind::StorageFull, .. }), "{error:?}");
        }
    }
}

#[test]
fn a_failed_wait_reaches_what_waits_for_a_file_and_no_thread_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, b"12345678").unwrap();
    for setup in setups() {
        let buffer = setup.buffer(&[0; 8]);
        let file = File::create(&path).unwrap();
        let [go, read, written, behind, after] = std::array::from_fn(|_| Semaphore::new(0));
        let (place, range) = (Place::Buffer(&buffer, 0), file.range(0, 8));
        setup.queue.read(range, place, &[(&go, 1)], &[(&read, 1)]).unwrap();
        setup.queue.write(place, range, &[(&read, 1)], &[(&written, 1)]).unwrap();
        setup.queue.barrier(&[(&written, 1)], &[(&behind, 1)]).unwrap();
        let failure = Error::Failed("given up".into());
        go.fail(failure.clone());
        for semaphore in [&read, &written, &behind] {
            assert_eq!(semaphore.wait(1, LONG), Err(failure.clone()));
        }
        assert_eq!(setup.read(&buffer), [0; 8]);
        setup.queue.read(range, place, &[], &[(&after, 1)]).unwrap();
        after.wait(1, LONG).unwrap();
        assert_eq!(setup.read(&buffer), b"12345678");
    }
}

#[test]
fn transfers_that_cannot_be_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("file")).unwrap();
    let mut all = setups();
    let other = all.pop().unwrap();
    let setup: Setup = all.pop().unwrap();
    let (buffer, foreign) = (setup.buffer(&[0; 64]), other.buffer(&[0; 64]));
    let read = |offset, len, to: Place<'_>| {
        let done = setup.queue.read(file.range(offset, len), to, &[], &[]);
        assert_eq!(setup.queue.write(to, file.range(offset, len), &[], &[]), done);
        done.unwrap_err().to_string()
    };
    let place = Place::Buffer(&buffer, 8);
    assert_eq!(read(0, 57, place), "57 bytes at offset 8 are outside a buffer of 64 bytes");
    let whole = Place::Buffer(&buffer, 0);
    assert!(read(u64::MAX, 2, whole).contains("outside a file of 9223372036854775807 bytes"));
    assert!(read(i64::MAX as u64 - 1, 2, whole).contains("outside a file"));
    assert_eq!(read(0, 8, Place::Binding(1, 0)), "binding 1: only command buffers have bindings");
    assert_eq!(read(0, 8, (&foreign).into()), "the buffer belongs to another device");
    assert_eq!(std::fs::metadata(file.path()).unwrap().len(), 0);
}
