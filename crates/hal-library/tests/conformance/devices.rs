//! Opening devices and loading code.

use hal::topology::Topology;
use hal::{Affinity, Arg, CodeObjects, Driver, Error, Grid, MemoryKind, Options, Semaphore, Usage};

use crate::common::{LONG, TARGETS, code, drivers, library, setups};

#[test]
fn a_device_whose_code_was_not_built_in_does_not_open() {
    let index = vgpu::attach(&"gfx1030?cus=2&memory=64MiB".parse().unwrap()).unwrap();
    let driver = Driver::over(vgpu::hsa::table()).unwrap();
    let uri = format!("amdgpu:{index}").parse().unwrap();
    let library = CodeObjects::new([file("gfx1100")]).unwrap();
    let error = driver.open(&uri, Options::default().with_library(library)).unwrap_err();
    assert_eq!(error.to_string(), "the device library has no code for gfx1030; it has gfx1100");
    let device = driver.open(&uri, Options::default()).unwrap();
    assert_eq!(device.target().to_string(), "gfx1030");
    let error = device.load(&code()).unwrap_err();
    let Error::NoCode { have, .. } = &error else { panic!("{error}") };
    assert_eq!(have.len(), TARGETS.len());
    let buffer = device.allocate(MemoryKind::Device, 64).unwrap();
    let mut recorder = device.record(0, Usage::Reusable).unwrap();
    let error = recorder.fill((&buffer).into(), &[0], 64).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::NoLibrary("a fill"));
}

/// The test's code for one target.
fn file(target: &str) -> Vec<u8> {
    let device = target.parse().unwrap();
    code().for_target("the test", &device).unwrap().into_owned()
}

#[test]
fn options_have_ranges() {
    let (driver, uri) = drivers().remove(0);
    let uri = uri.parse().unwrap();
    let refused = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        driver.open(&uri, options).unwrap_err().to_string()
    };
    assert_eq!(refused(|options| options.queues = 0), "the option `queues` is 0; 1 to 32 is possible");
    assert_eq!(refused(|options| options.queues = 33), "the option `queues` is 33; 1 to 32 is possible");
    assert_eq!(
        refused(|options| options.packets = 32),
        "the option `packets` is 32; 64 to 65536 is possible"
    );
    assert_eq!(
        refused(|options| options.packets = 100),
        "the option `packets` is 100; 64 to 128 is possible"
    );
    assert_eq!(
        refused(|options| options.block = 1),
        "the option `block` is 1; 65536 to 17179869184 is possible"
    );
    assert!(refused(|options| options.arguments = u64::MAX).starts_with("the option `arguments`"));
    assert_eq!(
        refused(|options| options.ring = 1),
        "the option `ring` is 1; 65536 to 1073741824 is possible"
    );
    assert_eq!(
        refused(|options| options.staging = 0),
        "the option `staging` is 0; 4096 to 1073741824 is possible"
    );
    assert_eq!(
        refused(|options| options.limit = 1),
        "the option `limit` is 1; 4096 to 1125899906842624 is possible"
    );
    assert!(refused(|options| options.host_limit = u64::MAX).starts_with("the option `host_limit`"));
    assert!(refused(|options| options.signals = (1 << 20) + 1).starts_with("the option `signals`"));
    assert!(refused(|options| options.profile = (1 << 20) + 1).starts_with("the option `profile`"));
}

#[test]
fn code_is_loaded_once_and_its_kernels_are_listed() {
    for setup in setups() {
        let again = setup.device.load(&code()).unwrap();
        assert!(std::ptr::eq(again.on(0).unwrap().agent().runtime().table(), vgpu::hsa::table()));
        let error = again.kernel("subtract").unwrap_err();
        let Error::NoKernel { have, .. } = &error else { panic!("{error}") };
        assert!(have.iter().any(|name| name == "add") && have.len() == 6, "{error}");
        assert!(again.on(1).is_none());
    }
}

#[test]
fn several_gpus_are_one_device() {
    [0, 64].into_iter().for_each(several_gpus);
}

/// `scheduler` is the option.
fn several_gpus(scheduler: usize) {
    let first = vgpu::attach(&"gfx1100?cus=2&memory=64MiB&count=2".parse().unwrap()).unwrap();
    let driver = Driver::over(vgpu::hsa::table()).unwrap();
    let mut options = Options::default().with_library(library());
    options.scheduler = scheduler;
    let uri = format!("amdgpu://{},{first}", first + 1);
    let device = driver.open(&uri.parse().unwrap(), options).unwrap();
    assert_eq!(device.members(), 2);
    assert_ne!(device.agent(0), device.agent(1));
    let code = device.load(&code()).unwrap();
    let add = code.kernel("add").unwrap();
    let buffers: Vec<_> =
        (0..2).map(|member| device.allocate_on(MemoryKind::Device, member, 4 * 256).unwrap()).collect();
    let (line, go) = (Semaphore::new(0), Semaphore::new(0));
    let (n, mut value) = (256i32.to_le_bytes(), 0);
    for buffer in &buffers {
        buffer.write(0, &[0; 4 * 256]).unwrap();
        // Each GPU works on the memory of both.
        for member in 0..2 {
            let mut recorder = device.record(member, Usage::OneShot).unwrap();
            let step = (member as i32 + 1).to_le_bytes();
            let args = [Arg::from(buffer), Arg::Bytes(&n), Arg::Bytes(&step)];
            // SAFETY: the kernel adds to 256 numbers.
            unsafe { recorder.dispatch(&add, Grid::linear(4, 64), &args) }.unwrap();
            let commands = recorder.finish().unwrap();
            let queue = device.queue(Affinity(0b1111 << (4 * member))).unwrap();
            assert_eq!(queue.member(), member);
            queue.execute(&commands, &[], &[(&line, value), (&go, 1)], &[(&line, value + 1)]).unwrap();
            value += 1;
            let other = device.queue(Affinity(0b1111 << (4 * (1 - member)))).unwrap();
            assert_eq!(
                other.execute(&commands, &[], &[], &[]),
                Err(Error::OtherDevice("the command buffer"))
            );
        }
    }
    go.signal(1).unwrap();
    line.wait(value, LONG).unwrap();
    assert_eq!(device.scheduling().map_or(0, |counts| counts.scheduled), if scheduler == 0 { 0 } else { 4 });
    for buffer in &buffers {
        let mut bytes = [0; 4 * 256];
        buffer.read(0, &mut bytes).unwrap();
        assert!(bytes.chunks(4).all(|value| value == 3i32.to_le_bytes()));
    }
    assert!(device.record(2, Usage::OneShot).is_err());
}

#[test]
fn things_of_another_device_are_refused() {
    let setups = setups();
    let (one, two) = (&setups[0], &setups[1]);
    let foreign = two.buffer(&[0; 8]);
    let mut recorder = one.record();
    let error = recorder.fill((&foreign).into(), &[0], 8).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OtherDevice("the buffer"));
    let kernel = two.code.kernel("add").unwrap();
    // SAFETY: it is refused.
    let error = unsafe { recorder.dispatch(&kernel, Grid::linear(1, 1), &[]) }.map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OtherDevice("the kernel"));
    let commands = recorder.finish().unwrap();
    assert_eq!(two.queue.execute(&commands, &[], &[], &[]), Err(Error::OtherDevice("the command buffer")));
    assert_eq!(one.queue.deallocate(foreign, &[], &[]), Err(Error::OtherDevice("the buffer")));
}

#[test]
fn the_topology_names_gpus_as_hsa_does() {
    let (driver, _) = drivers().remove(0);
    let topology = Topology::read(driver.runtime()).unwrap();
    assert!(!topology.cpus.is_empty());
    for gpu in &topology.gpus {
        assert!(gpu.uuid.as_ref().is_some_and(|uuid| uuid.starts_with("GPU-")), "{gpu}");
        assert!(gpu.cpu < topology.cpus.len() && gpu.vendor == 0x1002);
        assert_eq!(gpu.hops.len(), topology.gpus.len());
    }
    for (index, gpu) in topology.gpus.iter().enumerate() {
        let uri = format!("amdgpu://{}", gpu.uuid.as_ref().unwrap().to_lowercase());
        assert_eq!(topology.select(&uri.parse().unwrap()).unwrap().members, [index]);
    }
}

#[test]
fn places_without_the_library_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libhsa-runtime64.so.1");
    std::fs::write(&file, "no library").unwrap();
    // SAFETY: the file is no library, so nothing runs.
    let error =
        unsafe { Driver::load_from([folder.path().to_owned(), "/nowhere/libhsa.so".into()]) }.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(file.to_str().unwrap()) && text.contains("/nowhere/libhsa.so"), "{text}");
}
