//! What is compared.

use std::ffi::c_void;
use std::ptr::null_mut;

use anyhow::Result;
use hip::hip_sys::{Table, hipFunction_t, hipMemcpyKind, hipModule_t, hipStream_t};
use hip::{Device, DeviceBuffer, Event, HostBuffer, LaunchConfig, Module, Stream};

use crate::measure::{Plan, compare, print_head};
use crate::raw::{Memory, check};

/// The compiled kernels.
#[allow(unreachable_pub, dead_code, reason = "generated for libraries, which publish it")]
mod modules {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// What every case has at hand.
struct Bench<'a> {
    plan: &'a Plan,
    device: &'a Device,
    stream: &'a Stream,
    table: &'static Table,
    only: Option<&'a str>,
}

impl Bench<'_> {
    fn handle(&self) -> hipStream_t {
        self.stream.as_raw()
    }

    fn case(
        &self,
        name: &str,
        raw: impl FnMut(usize) -> Result<()>,
        ours: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        self.case_of(name, 1, raw, ours)
    }

    /// As [`case`](Self::case) for an operation that takes about as long as `size` others: fewer of them make a batch.
    fn case_of(
        &self,
        name: &str,
        size: usize,
        mut raw: impl FnMut(usize) -> Result<()>,
        mut ours: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        if self.only.is_some_and(|only| !name.contains(only)) {
            return Ok(());
        }
        let batch = self.plan.batch.div_ceil(size);
        compare(self.plan, name, batch, &mut raw, &mut ours, &mut || Ok(self.stream.synchronize()?))
    }
}

/// Runs every case, or those whose name has `only` in it.
pub(crate) fn run(device: &Device, plan: &Plan, only: Option<&str>) -> Result<()> {
    let stream = device.stream()?;
    device.make_current()?;
    let bench = Bench { plan, device, stream: &stream, table: device.table(), only };
    print_head();
    launches(&bench)?;
    copies(&bench)?;
    allocations(&bench)?;
    events(&bench)?;
    graphs(&bench)
}

/// The same kernel as a C program gets it.
struct RawKernel {
    module: hipModule_t,
    function: hipFunction_t,
    /// HIP may refer to the image as long as the module is loaded.
    _image: Vec<u8>,
}

impl RawKernel {
    fn load(device: &Device, name: &std::ffi::CStr) -> Result<Self> {
        let object = modules::CALLS.for_device(device.target());
        let object = object.ok_or_else(|| anyhow::anyhow!("no code for {device}; set FERROCM_TARGETS"))?;
        let (table, image) = (device.table(), object.bytes.to_vec());
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: the image is a code object and stays where it is, the results are places to write to.
        unsafe {
            check((table.hipModuleLoadData)(&raw mut module, image.as_ptr().cast()))?;
            check((table.hipModuleGetFunction)(&raw mut function, module, name.as_ptr()))?;
        }
        Ok(Self { module, function, _image: image })
    }
}

const N: usize = 256;

fn launches(bench: &Bench<'_>) -> Result<()> {
    let module = Module::load_embedded(bench.device, &modules::CALLS)?;
    let (table, stream, handle) = (bench.table, bench.stream, bench.handle());

    let nothing = module.function("nothing")?;
    let raw = RawKernel::load(bench.device, c"nothing")?;
    let raw_nothing = |count| {
        for _ in 0..count {
            // SAFETY: the function is loaded and takes no arguments.
            check(unsafe {
                (table.hipModuleLaunchKernel)(
                    raw.function,
                    1,
                    1,
                    1,
                    64,
                    1,
                    1,
                    0,
                    handle,
                    null_mut(),
                    null_mut(),
                )
            })?;
        }
        Ok(())
    };
    let config = LaunchConfig::for_elements(64, 64);
    bench.case("launch, no arguments, unchecked", raw_nothing, |count| {
        for _ in 0..count {
            // SAFETY: the kernel takes no arguments and touches no memory.
            unsafe { nothing.launch_unchecked(stream, &config, &mut [])? };
        }
        Ok(())
    })?;

    let saxpy = module.function("saxpy")?;
    let raw_saxpy = RawKernel::load(bench.device, c"saxpy")?;
    let (raw_x, raw_y) = (Memory::new(table, 4 * N)?, Memory::new(table, 4 * N)?);
    let raw_saxpy_launches = |count| {
        let (mut n, mut a, mut x, mut y) = (N as u32, 2.0_f32, raw_x.pointer, raw_y.pointer);
        for _ in 0..count {
            let mut arguments: [*mut c_void; 4] =
                [(&raw mut n).cast(), (&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast()];
            // SAFETY: there is a pointer for each argument, and both arrays have N elements.
            check(unsafe {
                (table.hipModuleLaunchKernel)(
                    raw_saxpy.function,
                    1,
                    1,
                    1,
                    N as u32,
                    1,
                    1,
                    0,
                    handle,
                    arguments.as_mut_ptr(),
                    null_mut(),
                )
            })?;
        }
        Ok(())
    };
    let x = DeviceBuffer::<f32>::zeroed(stream, N)?;
    let mut y = DeviceBuffer::<f32>::zeroed(stream, N)?;
    bench.case("launch, four arguments, checked", raw_saxpy_launches, |count| {
        for _ in 0..count {
            let launch =
                saxpy.launch(stream).elements(N, N as u32).arg(N as u32).arg(2.0_f32).arg(&x).arg(&mut y);
            // SAFETY: both arrays have N elements.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    })?;
    let launch = saxpy.launch(stream).elements(N, N as u32).arg(N as u32).arg(2.0_f32).arg(&x).arg(&mut y);
    let mut prepared = launch.prepare()?;
    bench.case("launch, four arguments, prepared", raw_saxpy_launches, |count| {
        for _ in 0..count {
            // SAFETY: both arrays have N elements.
            unsafe { prepared.enqueue()? };
        }
        Ok(())
    })?;
    stream.synchronize()?;
    for kernel in [raw, raw_saxpy] {
        // SAFETY: the module was loaded, and the stream is idle.
        check(unsafe { (table.hipModuleUnload)(kernel.module) })?;
    }
    Ok(())
}

fn copies(bench: &Bench<'_>) -> Result<()> {
    let (table, stream, handle) = (bench.table, bench.stream, bench.handle());
    for (size, label) in [(4 << 10, "4 KiB"), (1 << 20, "1 MiB")] {
        let long = if size > 64 << 10 { 10 } else { 1 };
        let raw = Memory::new(table, size)?;
        let mut buffer = DeviceBuffer::<u8>::zeroed(stream, size)?;
        let mut host = vec![1_u8; size];
        let pageable = host.clone();
        bench.case_of(
            &format!("copy to device, {label}, blocking"),
            long,
            |count| {
                for _ in 0..count {
                    let kind = hipMemcpyKind::hipMemcpyHostToDevice;
                    // SAFETY: both sides have that many bytes, and the wait follows.
                    unsafe {
                        check((table.hipMemcpyAsync)(
                            raw.pointer,
                            pageable.as_ptr().cast(),
                            size,
                            kind,
                            handle,
                        ))?;
                        check((table.hipStreamSynchronize)(handle))?;
                    }
                }
                Ok(())
            },
            |count| {
                for _ in 0..count {
                    buffer.copy_from_host(stream, &pageable)?;
                }
                Ok(())
            },
        )?;
        let mut raw_host = host.clone();
        bench.case_of(
            &format!("copy to host, {label}, blocking"),
            long,
            |count| {
                for _ in 0..count {
                    let kind = hipMemcpyKind::hipMemcpyDeviceToHost;
                    // SAFETY: both sides have that many bytes, and the wait follows.
                    unsafe {
                        check((table.hipMemcpyAsync)(
                            raw_host.as_mut_ptr().cast(),
                            raw.pointer,
                            size,
                            kind,
                            handle,
                        ))?;
                        check((table.hipStreamSynchronize)(handle))?;
                    }
                }
                Ok(())
            },
            |count| {
                for _ in 0..count {
                    buffer.copy_to_host(stream, &mut host)?;
                }
                Ok(())
            },
        )?;
        let raw_pinned = HostBuffer::<u8>::zeroed(bench.device, size)?;
        let mut pinned = Some(HostBuffer::<u8>::zeroed(bench.device, size)?);
        bench.case_of(
            &format!("copy to device, {label}, pinned, owned"),
            long,
            |count| {
                for _ in 0..count {
                    let mut event = null_mut();
                    let kind = hipMemcpyKind::hipMemcpyHostToDevice;
                    // SAFETY: both sides have that many bytes; the event marks when the memory is free again.
                    unsafe {
                        check((table.hipMemcpyAsync)(
                            raw.pointer,
                            raw_pinned.as_ptr().cast(),
                            size,
                            kind,
                            handle,
                        ))?;
                        check((table.hipEventCreateWithFlags)(
                            &raw mut event,
                            hip::hip_sys::hipEventDisableTiming,
                        ))?;
                        check((table.hipEventRecord)(event, handle))?;
                        check((table.hipEventSynchronize)(event))?;
                        check((table.hipEventDestroy)(event))?;
                    }
                }
                Ok(())
            },
            |count| {
                for _ in 0..count {
                    if let Some(host) = pinned.take() {
                        pinned = Some(buffer.upload(stream, host)?.wait()?);
                    }
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn allocations(bench: &Bench<'_>) -> Result<()> {
    let table = bench.table;
    for (size, label) in [(4 << 10, "4 KiB"), (16 << 20, "16 MiB")] {
        bench.case(
            &format!("allocate and free, {label}"),
            |count| {
                for _ in 0..count {
                    drop(Memory::new(table, size)?);
                }
                Ok(())
            },
            |count| {
                for _ in 0..count {
                    drop(DeviceBuffer::<u8>::uninit(bench.device, size)?);
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn events(bench: &Bench<'_>) -> Result<()> {
    let (table, stream, handle) = (bench.table, bench.stream, bench.handle());
    let event = Event::new(bench.device)?;
    let mut raw = null_mut();
    // SAFETY: the result is a place to write to.
    check(unsafe { (table.hipEventCreate)(&raw mut raw) })?;
    bench.case(
        "record an event",
        |count| {
            for _ in 0..count {
                // SAFETY: both handles are valid.
                check(unsafe { (table.hipEventRecord)(raw, handle) })?;
            }
            Ok(())
        },
        |count| {
            for _ in 0..count {
                event.record(stream)?;
            }
            Ok(())
        },
    )?;
    bench.case(
        "record an event and wait for it",
        |count| {
            for _ in 0..count {
                // SAFETY: both handles are valid.
                unsafe {
                    check((table.hipEventRecord)(raw, handle))?;
                    check((table.hipEventSynchronize)(raw))?;
                }
            }
            Ok(())
        },
        |count| {
            for _ in 0..count {
                event.record(stream)?;
                event.synchronize()?;
            }
            Ok(())
        },
    )?;
    // SAFETY: the event is destroyed once.
    check(unsafe { (table.hipEventDestroy)(raw) })
}

/// Kernels of one graph.
const NODES: usize = 20;

fn graphs(bench: &Bench<'_>) -> Result<()> {
    let (table, stream, handle) = (bench.table, bench.stream, bench.handle());
    let module = Module::load_embedded(bench.device, &modules::CALLS)?;
    let saxpy = module.function("saxpy")?;
    let x = DeviceBuffer::<f32>::zeroed(stream, N)?;
    let mut y = DeviceBuffer::<f32>::zeroed(stream, N)?;
    let mut kernels = |stream: &Stream| -> hip::Result<()> {
        for _ in 0..NODES {
            let launch =
                saxpy.launch(stream).elements(N, N as u32).arg(N as u32).arg(2.0_f32).arg(&x).arg(&mut y);
            // SAFETY: both arrays have N elements.
            unsafe { launch.enqueue()? };
        }
        Ok(())
    };
    let exec = bench.device.capture(&mut kernels)?.instantiate()?;
    let raw = exec.as_raw();
    bench.case_of(
        &format!("launch a graph of {NODES} kernels"),
        NODES,
        |count| {
            for _ in 0..count {
                // SAFETY: both handles are valid, and what the graph uses lives on.
                check(unsafe { (table.hipGraphLaunch)(raw, handle) })?;
            }
            Ok(())
        },
        |count| {
            for _ in 0..count {
                exec.launch(stream)?;
            }
            Ok(())
        },
    )?;
    bench.case_of(
        &format!("{NODES} kernels one by one, and in a graph"),
        NODES,
        |count| {
            for _ in 0..count {
                kernels(stream)?;
            }
            Ok(())
        },
        |count| {
            for _ in 0..count {
                exec.launch(stream)?;
            }
            Ok(())
        },
    )
}
