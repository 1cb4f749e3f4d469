//! `ferrocm replay`.

use std::path::Path;

use hal::{Affinity, Device, Driver, File, MemoryKind, Options, Semaphore, Usage};

use super::{ferrocm, run};

/// A virtual GPU that captures what it does.
fn device(refer_to_files: bool) -> Device {
    let index = vgpu::attach(&"gfx1100?cus=2&memory=64MiB".parse().unwrap()).unwrap();
    let mut options = Options::default();
    (options.capture, options.refer_to_files) = (true, refer_to_files);
    let uri = format!("amdgpu:{index}").parse().unwrap();
    Driver::over(vgpu::hsa::table()).unwrap().open(&uri, options).unwrap()
}

/// A run that reads a file, without kernels.
fn captured_with(path: &Path) -> Vec<u8> {
    let device = device(true);
    let buffer = device.allocate(MemoryKind::Device, 1000).unwrap();
    let file = File::open(path).unwrap();
    let done = Semaphore::new(0);
    let queue = device.queue(Affinity::ANY).unwrap();
    queue.read(file.range(2, 1000), (&buffer).into(), &[], &[(&done, 1)]).unwrap();
    done.wait(1, None).unwrap();
    device.capture().unwrap().to_bytes()
}

/// A run without kernels.
fn captured() -> Vec<u8> {
    let device = device(false);
    let buffer = device.allocate(MemoryKind::Device, 1000).unwrap();
    buffer.write(10, b"some data").unwrap();
    let commands = device.record(0, Usage::OneShot).unwrap().finish().unwrap();
    let done = Semaphore::new(0);
    device.queue(Affinity::ANY).unwrap().execute(&commands, &[], &[], &[(&done, 1)]).unwrap();
    done.wait(1, None).unwrap();
    device.capture().unwrap().to_bytes()
}

#[test]
fn a_replay_tells_whether_buffers_end_as_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.replay");
    let mut bytes = captured();
    std::fs::write(&path, &bytes).unwrap();
    let file = path.to_str().unwrap();
    for device in ["vgpu", "vgpu:gfx90a?cus=2&memory=64MiB"] {
        let ran = run(&mut ferrocm(&["replay", "--device", device, file]));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let target = if device == "vgpu" { "gfx1100" } else { "gfx90a" };
        assert!(ran.out.starts_with(&format!("1 submissions on {target}")), "{}", ran.out);
        assert!(ran.out.ends_with("1 buffers end as in the captured run\n"), "{}", ran.out);
    }
    let ran = run(ferrocm(&["replay", file]).env("FERROCM_DEVICE", "vgpu:gfx90a?cus=2&memory=64MiB"));
    assert!(ran.code == Some(0) && ran.out.starts_with("1 submissions on gfx90a"), "{}{}", ran.out, ran.err);
    let ran = run(ferrocm(&["replay", file]).env("FERROCM_DEVICE", "gpu"));
    assert!(ran.code == Some(2) && ran.err.contains("FERROCM_DEVICE"), "{}", ran.err);
    let ran = run(&mut ferrocm(&["replay", "--device", "cuda:0", file]));
    assert!(ran.code == Some(1) && ran.err.contains("code for AMD's GPUs"), "{}", ran.err);
    // The last byte of the buffer is the last one of the file.
    let last = bytes.len() - 1;
    bytes[last] = 1;
    std::fs::write(&path, &bytes).unwrap();
    let ran = run(&mut ferrocm(&["replay", "--device", "vgpu", file]));
    assert!(ran.code == Some(1) && ran.err.contains("it is damaged"), "{}", ran.err);
    let hash = blake3::hash(&bytes[52..]);
    bytes[20..52].copy_from_slice(hash.as_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let ran = run(&mut ferrocm(&["replay", "--device", "vgpu", file]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.ends_with("buffer 0: 1 of 1000 bytes differ, from offset 999 on\n"), "{}", ran.out);
    assert!(ran.err.contains("1 of 1 buffers differ"), "{}", ran.err);
}

#[test]
fn files_that_a_run_read_are_looked_for_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let [empty, wrong, right] = ["empty", "wrong", "right"].map(|name| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    });
    let weights = folder.path().join("weights");
    let bytes: Vec<u8> = (0..1002_u32).map(|byte| (byte % 251) as u8).collect();
    std::fs::write(&weights, &bytes).unwrap();
    let path = folder.path().join("run.replay");
    std::fs::write(&path, captured_with(&weights)).unwrap();
    let replay = |folders: &[&Path]| {
        let mut command = ferrocm(&["replay", "--device", "vgpu"]);
        folders.iter().for_each(|folder| {
            command.arg("--look-in").arg(folder);
        });
        command.arg(&path);
        command
    };
    // Where it was, it need not be looked for.
    let ran = run(&mut replay(&[]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    std::fs::rename(&weights, right.join("weights")).unwrap();
    std::fs::write(wrong.join("weights"), vec![0; bytes.len()]).unwrap();
    let ran = run(&mut replay(&[&empty]));
    assert!(ran.code == Some(1) && ran.err.contains("weights"), "{}", ran.err);
    for named in [vec![right.clone()], vec![empty.clone(), right.clone(), wrong.clone()]] {
        let given: Vec<&Path> = named.iter().map(|folder| folder.as_path()).collect();
        let ran = run(&mut replay(&given));
        assert_eq!(ran.code, Some(0), "{given:?}: {}", ran.err);
        let named = std::env::join_paths(&named).unwrap();
        let ran = run(replay(&[]).env("FERROCM_REPLAY_FOLDERS", &named));
        assert_eq!(ran.code, Some(0), "{named:?}: {}", ran.err);
        // The option comes first.
        let ran = run(replay(&[&wrong]).env("FERROCM_REPLAY_FOLDERS", &named));
        assert!(ran.code == Some(1) && ran.err.contains("not those of the captured run"), "{}", ran.err);
    }
    let ran = run(replay(&[&right]).env("FERROCM_REPLAY_FOLDERS", " "));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = run(&mut replay(&[&folder.path().join("none")]));
    assert!(ran.code == Some(1) && ran.err.contains("no such folder to look in"), "{}", ran.err);
}
