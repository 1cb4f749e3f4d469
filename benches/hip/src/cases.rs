//! The comparisons: raw calls with the safe API, or with raw calls of another library.

use anyhow::Result;
use hip::{Device, DeviceBuffer, Event, HostBuffer, LaunchConfig, Module};

use crate::measure::{Plan, compare, print_head};
use crate::modules;
use crate::raw::{ALLOCATIONS, COPIES, Kernels, N, NODES, Operation, Raw};

/// How much to measure, and which cases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection<'a> {
    pub(crate) plan: &'a Plan,
    /// Cases whose name contains this.
    pub(crate) only: Option<&'a str>,
}

impl Selection<'_> {
    /// Compares an operation with another way to do it, if it is selected.
    fn compare(
        &self,
        name: &str,
        raw: &mut Operation<'_>,
        other: &mut dyn FnMut(usize) -> Result<()>,
        settle: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        if self.only.is_some_and(|only| !name.contains(only)) {
            return Ok(());
        }
        compare(self.plan, name, self.plan.batch.div_ceil(raw.size), &mut raw.run, other, settle)
    }
}

/// Compares raw calls of one library with the same calls of the library of `device`.
pub(crate) fn libraries(selection: Selection<'_>, device: &Device, against: &Device) -> Result<()> {
    let (stream, stream_against) = (device.stream()?, against.stream()?);
    let (raw, raw_against) = (Raw::new(device, &stream), Raw::new(against, &stream_against));
    // Each library has a current device of its own.
    against.make_current()?;
    device.make_current()?;
    print_head("against", "device");
    for (mut other, mut own) in raw_against.operations()?.into_iter().zip(raw.operations()?) {
        let name = own.name.clone();
        selection.compare(&name, &mut other, &mut own.run, &mut || {
            stream.synchronize()?;
            Ok(stream_against.synchronize()?)
        })?;
    }
    Ok(())
}

/// The state available to every case of the safe API.
struct Bench<'a> {
    selection: Selection<'a>,
    raw: Raw<'a>,
}

impl Bench<'_> {
    /// Compares a raw operation with the same operation of `hip`, `once`.
    fn case(
        &self,
        variant: &str,
        mut raw: Operation<'_>,
        mut once: impl FnMut() -> hip::Result<()>,
    ) -> Result<()> {
        let name = format!("{}{variant}", raw.name);
        self.selection.compare(
            &name,
            &mut raw,
            &mut |count| Ok((0..count).try_for_each(|_| once())?),
            &mut || Ok(self.raw.stream.synchronize()?),
        )
    }
}

/// Compares raw calls with the safe API.
pub(crate) fn safe_api(selection: Selection<'_>, device: &Device) -> Result<()> {
    let stream = device.stream()?;
    device.make_current()?;
    let bench = Bench { selection, raw: Raw::new(device, &stream) };
    print_head("raw calls", "hip");
    launches(&bench)?;
    copies(&bench)?;
    allocations(&bench)?;
    events(&bench)?;
    graphs(&bench)
}

fn launches(bench: &Bench<'_>) -> Result<()> {
    let module = Module::load_embedded(bench.raw.device, &modules::CALLS)?;
    let (raw, stream) = (bench.raw, bench.raw.stream);
    let nothing = module.function("nothing")?;
    let config = LaunchConfig::for_elements(64, 64);
    bench.case(", unchecked", raw.launch_nothing()?, || {
        // SAFETY: the kernel takes no arguments and touches no memory.
        unsafe { nothing.launch_unchecked(stream, &config, &mut []) }
    })?;
    let saxpy = module.function("saxpy")?;
    let x = DeviceBuffer::<f32>::zeroed(stream, N)?;
    let mut y = DeviceBuffer::<f32>::zeroed(stream, N)?;
    bench.case(", checked", raw.launch_saxpy()?, || {
        let launch =
            saxpy.launch(stream).elements(N, N as u32).arg(N as u32).arg(2.0_f32).arg(&x).arg(&mut y);
        // SAFETY: both arrays have N elements.
        unsafe { launch.enqueue() }
    })?;
    let launch = saxpy.launch(stream).elements(N, N as u32).arg(N as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    let mut prepared = launch.prepare()?;
    bench.case(", prepared", raw.launch_saxpy()?, || {
        // SAFETY: both arrays have N elements.
        unsafe { prepared.enqueue() }
    })?;
    bench.case("", raw.launch_and_wait()?, || {
        // SAFETY: the kernel takes no arguments and touches no memory.
        unsafe { nothing.launch_unchecked(stream, &config, &mut [])? };
        stream.synchronize()
    })
}

fn copies(bench: &Bench<'_>) -> Result<()> {
    let (raw, stream) = (bench.raw, bench.raw.stream);
    for (size, label, part) in COPIES {
        let mut buffer = DeviceBuffer::<u8>::zeroed(stream, size)?;
        let mut host = vec![1_u8; size];
        bench.case("", raw.copy_to_device(size, label, part)?, || buffer.copy_from_host(stream, &host))?;
        bench.case("", raw.copy_to_host(size, label, part)?, || buffer.copy_to_host(stream, &mut host))?;
        let mut pinned = Some(HostBuffer::<u8>::zeroed(bench.raw.device, size)?);
        bench.case("", raw.copy_pinned(size, label, part)?, || {
            if let Some(host) = pinned.take() {
                pinned = Some(buffer.upload(stream, host)?.wait()?);
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn allocations(bench: &Bench<'_>) -> Result<()> {
    for (size, label) in ALLOCATIONS {
        bench.case("", bench.raw.allocate(size, label), || {
            DeviceBuffer::<u8>::uninit(bench.raw.device, size).map(drop)
        })?;
    }
    Ok(())
}

fn events(bench: &Bench<'_>) -> Result<()> {
    let event = Event::new(bench.raw.device)?;
    bench.case("", bench.raw.record()?, || event.record(bench.raw.stream))?;
    bench.case("", bench.raw.record_and_wait()?, || {
        event.record(bench.raw.stream)?;
        event.synchronize()
    })
}

fn graphs(bench: &Bench<'_>) -> Result<()> {
    let (device, stream) = (bench.raw.device, bench.raw.stream);
    let exec = Kernels::new(device, stream)?.graph(device)?;
    bench.case("", bench.raw.launch_graph()?, || exec.launch(stream))?;
    let mut kernels = Kernels::new(device, stream)?;
    let name = format!("{NODES} kernels one by one, and in a graph");
    let one_by_one = Operation::new(name, NODES, || Ok(kernels.enqueue(stream)?));
    bench.case("", one_by_one, || exec.launch(stream))
}
