//! `ferrocm replay`.

use hal::{Affinity, Driver, MemoryKind, Options, Semaphore, Usage};

use super::{ferrocm, run};

/// A run on a virtual GPU, without kernels.
fn captured() -> Vec<u8> {
    let index = vgpu::attach(&"gfx1100?cus=2&memory=64MiB".parse().unwrap()).unwrap();
    let mut options = Options::default();
    options.capture = true;
    let uri = format!("amdgpu:{index}").parse().unwrap();
    let device = Driver::over(vgpu::hsa::table()).unwrap().open(&uri, options).unwrap();
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
