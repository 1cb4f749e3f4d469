//! The measurement: every kernel on all devices, in turn, so that a change of the clock or of the load
//! affects all of them.

use std::time::Duration;

use anyhow::{Context, Result};
use vgpu::machine::{Executed, Machine};

use crate::arguments::Arguments;
use crate::contender::Contender;
use crate::opencl::{OnPocl, Pocl};
use crate::report::{self, Device, Host, Measured, Report};
use crate::virtual_gpu::OnVirtualGpu;
use crate::workload::{Kernel, Workload};

/// Measures what the command line asks for, and prints it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (targets, threads, kernels) = (arguments.targets()?, arguments.threads(), arguments.kernels());
    let pocl = Pocl::find();
    let mut report = Report { host: Host::new(&pocl), repeats: arguments.repeat, results: Vec::new() };
    report::print_head(&report.host, arguments.repeat);
    for kernel in kernels {
        let results = measure(kernel, &targets, &threads, pocl.as_ref().ok(), arguments.repeat)
            .with_context(|| report::name(kernel))?;
        report::print_kernel(&results, pocl.is_ok());
        report.results.extend(results);
    }
    report::print_summary(&report.results);
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// What a workload runs on, and its properties.
struct Entry<C> {
    device: Device,
    threads: Vec<usize>,
    runner: C,
    executed: Option<Executed>,
    times: Vec<Vec<Duration>>,
}

fn measure(
    kernel: Kernel,
    targets: &[String],
    threads: &[usize],
    pocl: Option<&Pocl>,
    repeats: u16,
) -> Result<Vec<Measured>> {
    let workload = Workload::new(kernel);
    let machine = Machine::global();
    let mut virtual_gpus = Vec::new();
    for target in targets {
        let mut runner = OnVirtualGpu::new(&workload, target).with_context(|| target.clone())?;
        for count in threads {
            machine.set_threads(*count);
            verify(&workload, &mut runner).with_context(|| format!("{target}, {count} threads"))?;
        }
        let executed = Some(runner.count().with_context(|| target.clone())?);
        let times = vec![Vec::new(); threads.len()];
        let device = Device::Virtual(target.clone());
        virtual_gpus.push(Entry { device, threads: threads.to_vec(), runner, executed, times });
    }
    let mut natives = Vec::new();
    for count in threads {
        match pocl.map_or(Ok(None), |pocl| on_pocl(pocl, &workload, *count)) {
            Ok(Some(runner)) => {
                let threads = vec![*count];
                let times = vec![Vec::new()];
                natives.push(Entry { device: Device::Pocl, threads, runner, executed: None, times });
            }
            Ok(None) => {}
            // The figures of the virtual GPU do not depend on it.
            Err(error) => eprintln!("{}: {error:#}", report::name(kernel)),
        }
    }
    for _ in 0..repeats {
        for entry in &mut virtual_gpus {
            for (count, times) in entry.threads.iter().zip(&mut entry.times) {
                machine.set_threads(*count);
                times.push(entry.runner.launch()?);
            }
        }
        for entry in &mut natives {
            entry.times[0].push(entry.runner.launch()?);
        }
    }
    let mut results = results(&workload, virtual_gpus);
    results.extend(self::results(&workload, natives));
    report::relate(&mut results);
    Ok(results)
}

/// A workload on PoCL, verified; `None` if PoCL has fewer threads.
fn on_pocl<'a>(pocl: &Pocl, workload: &'a Workload, threads: usize) -> Result<Option<OnPocl<'a>>> {
    let Some(mut runner) = pocl.prepare(workload, threads)? else { return Ok(None) };
    verify(workload, &mut runner).with_context(|| format!("PoCL, {threads} threads"))?;
    Ok(Some(runner))
}

/// Runs a workload once, which also warms everything up, and compares the result with the reference.
fn verify(workload: &Workload, runner: &mut impl Contender) -> Result<()> {
    runner.reset()?;
    runner.launch()?;
    workload.check(&runner.output()?)
}

fn results<C>(workload: &Workload, entries: Vec<Entry<C>>) -> Vec<Measured> {
    let of_entry = |entry: Entry<C>| {
        let Entry { device, threads, executed, times, .. } = entry;
        threads
            .into_iter()
            .zip(times)
            .map(move |(threads, times)| Measured::new(workload, device.clone(), threads, times, executed))
    };
    entries.into_iter().flat_map(of_entry).collect()
}
