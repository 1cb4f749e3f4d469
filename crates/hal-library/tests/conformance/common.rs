//! Devices, and the two ways to run commands.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use hal::{
    Affinity, Arg, Buffer, CodeObjects, Device, Driver, Executable, Grid, MemoryKind, Options, Place, Queue,
    Recorder, Result, Semaphore, Usage,
};

pub(crate) const TARGETS: [&str; 3] = ["gfx1100", "gfx90a", "gfx942"];

/// Longer than any wait takes that ends.
pub(crate) const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// A device of each target.
pub(crate) fn drivers() -> Vec<(Driver, String)> {
    let uris = TARGETS.map(|target| {
        let index = vgpu::attach(&format!("{target}?cus=2&memory=256MiB").parse().unwrap()).unwrap();
        format!("amdgpu:{index}")
    });
    let driver = Driver::over(vgpu::hsa::table()).unwrap();
    uris.into_iter().map(|uri| (driver.clone(), uri)).collect()
}

/// Opens a device of each target.
pub(crate) fn devices(options: &Options) -> Vec<Device> {
    let open = |(driver, uri): (Driver, String)| {
        let options = options.clone().with_library(library());
        driver.open(&uri.parse().unwrap(), options).unwrap()
    };
    drivers().into_iter().map(open).collect()
}

/// The test's kernels.
pub(crate) fn code() -> CodeObjects {
    static CODE: OnceLock<CodeObjects> = OnceLock::new();
    CODE.get_or_init(|| build("tests/kernels")).clone()
}

/// The device library, for all targets of the tests, whatever the build embeds.
pub(crate) fn library() -> CodeObjects {
    static LIBRARY: OnceLock<CodeObjects> = OnceLock::new();
    LIBRARY.get_or_init(|| build("device")).clone()
}

/// Compiles the sources in a folder of this package.
pub(crate) fn build(folder: &str) -> CodeObjects {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let build = kernel_build::Builder::new(path).targets(TARGETS).build();
    let build = build.unwrap_or_else(|error| panic!("compiling {folder}: {error}"));
    CodeObjects::new(build.objects().map(|(_, object)| object.bytes.clone())).unwrap()
}

/// Bytes that differ from their neighbours.
pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    let byte = |index: usize| (index as u8).wrapping_mul(31).wrapping_add((index >> 8) as u8);
    (0..len).map(|index| byte(index).wrapping_add(seed)).collect()
}

/// Records a command.
pub(crate) type Command<'c> = dyn Fn(&mut Recorder) -> Result<()> + 'c;

/// A device with its code and a queue.
pub(crate) struct Setup {
    pub(crate) device: Device,
    pub(crate) code: Executable,
    pub(crate) queue: Queue,
}

pub(crate) fn setups() -> Vec<Setup> {
    setups_with(&Options::default())
}

/// Without and with a scheduler on the device.
pub(crate) fn setups_of_both(mut options: Options) -> Vec<Setup> {
    let mut setups = setups_with(&options);
    options.scheduler = 256;
    setups.extend(setups_with(&options));
    setups
}

pub(crate) fn setups_with(options: &Options) -> Vec<Setup> {
    let setup = |device: Device| Setup {
        code: device.load(&code()).unwrap(),
        queue: device.queue(Affinity(1)).unwrap(),
        device,
    };
    devices(options).into_iter().map(setup).collect()
}

impl Setup {
    pub(crate) fn buffer(&self, bytes: &[u8]) -> Buffer {
        let buffer = self.device.allocate(MemoryKind::Device, bytes.len() as u64).unwrap();
        buffer.write(0, bytes).unwrap();
        buffer
    }

    pub(crate) fn read(&self, buffer: &Buffer) -> Vec<u8> {
        let mut bytes = vec![0; buffer.size() as usize];
        buffer.read(0, &mut bytes).unwrap();
        bytes
    }

    pub(crate) fn record(&self) -> Recorder {
        self.device.record(0, Usage::Reusable).unwrap()
    }

    /// Adds a launch of `step`, whose order shows in the result.
    pub(crate) fn step(&self, commands: &mut Recorder, value: Place<'_>, add: u64) {
        let kernel = self.code.kernel("step").unwrap();
        let add = add.to_le_bytes();
        // SAFETY: the kernel reads and writes one number at the address.
        unsafe { commands.dispatch(&kernel, Grid::linear(1, 1), &[Arg::At(value), Arg::Bytes(&add)]) }
            .unwrap();
    }

    /// Runs commands one by one, and in one command buffer, and calls `check` after each. With a scheduler, the
    /// device issues them one by one, too.
    pub(crate) fn both(&self, commands: &[&Command<'_>], mut check: impl FnMut(&str)) {
        let done = Semaphore::new(0);
        for (index, command) in commands.iter().enumerate() {
            let mut recorder = self.device.record(0, Usage::OneShot).unwrap();
            command(&mut recorder).unwrap();
            let one = recorder.finish().unwrap();
            let value = index as u64;
            self.queue.execute(&one, &[], &[(&done, value)], &[(&done, value + 1)]).unwrap();
        }
        done.wait(commands.len() as u64, LONG).unwrap();
        check("direct");
        if self.device.scheduling().is_some() {
            let done = Semaphore::new(0);
            // The last first, so that nobody has promised what it waits for.
            for (index, command) in commands.iter().enumerate().rev() {
                let mut recorder = self.device.record(0, Usage::OneShot).unwrap();
                command(&mut recorder).unwrap();
                let one = recorder.finish().unwrap();
                let value = index as u64 + 1;
                self.queue.execute(&one, &[], &[(&done, value)], &[(&done, value + 1)]).unwrap();
            }
            done.signal(1).unwrap();
            done.wait(commands.len() as u64 + 1, LONG).unwrap();
            check("scheduled");
        }
        let mut recorder = self.record();
        for command in commands {
            command(&mut recorder).unwrap();
            recorder.barrier();
        }
        let all = recorder.finish().unwrap();
        for replay in 0..3 {
            let done = Semaphore::new(0);
            self.queue.execute(&all, &[], &[], &[(&done, 1)]).unwrap();
            done.wait(1, LONG).unwrap();
            check(&format!("recorded, replay {replay}"));
        }
    }
}
