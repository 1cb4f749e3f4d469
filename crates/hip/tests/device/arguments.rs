//! What launches know about a kernel's arguments, for each way of compiling it, and what they refuse.

use std::process::Command;

use half::{bf16, f16};
use hip::code_object::Access;
use hip::launch::Parameter;
use hip::rtc::{Compiler, Program};
use hip::{Device, DeviceBuffer, Error, Function, Graph, Launch, LaunchError, Module, Stream};

use crate::common;

const SOURCE: &str = include_str!("../arguments/arguments.cu");

hip::kernels! {
    struct Right {
        unsafe fn scale(n: i32, factor: f32, x: &[f32], y: &mut [f32]);
    }
}
hip::kernels! {
    struct SharedOutput {
        unsafe fn scale(n: i32, factor: f32, x: &[f32], y: &[f32]);
    }
}
hip::kernels! {
    struct WrongElements {
        unsafe fn scale(n: i32, factor: f32, x: &[i64], y: &mut [f32]);
    }
}
hip::kernels! {
    struct WrongValue {
        unsafe fn scale(n: f32, factor: f32, x: &[f32], y: &mut [f32]);
    }
}

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Pair {
    first: f32,
    second: i32,
}

#[repr(C)]
#[derive(Clone, Copy, hip::DeviceCopy)]
struct Point {
    x: f32,
    yz: [f32; 3],
}

fn by_kernel_build(device: &Device) -> Module {
    let code = common::code("arguments", "arguments.cu", &device.target().processor, false);
    Module::load(device, &code).unwrap()
}

/// With this machine's device compiler; AMD's library records no facts.
fn at_run_time(device: &Device) -> Module {
    let compiler = Compiler::with_table(hiprtc_on_clang::table().unwrap()).unwrap();
    // All tests here compile the same program.
    let compiler = compiler.cache(concat!(env!("CARGO_TARGET_TMPDIR"), "/arguments")).unwrap();
    compiler.compile(&Program::new(SOURCE), device.target()).unwrap().load(device).unwrap()
}

/// With clang, as hipcc calls it.
fn by_others(device: &Device) -> Module {
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("k.hip"), folder.path().join("k.hsaco"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut clang: Command =
        kernel_build::toolchain::find().unwrap_or_else(|error| panic!("{error}")).command();
    clang.args(["--offload-device-only", "--no-gpu-bundle-output", "-O3", "-mcode-object-version=5"]);
    clang.arg(format!("--offload-arch={}", device.target().processor));
    clang.args(["-include", "hip/hip_runtime.h"]).arg("-o").arg(&object).arg(&source);
    assert!(clang.status().unwrap().success());
    Module::load_file(device, &object).unwrap()
}

fn run(launch: Launch<'_>) -> hip::Result<()> {
    // SAFETY: the tests pass as many elements as their kernels access; other launches are refused.
    unsafe { launch.enqueue() }
}

fn refused(launch: Launch<'_>) -> LaunchError {
    match run(launch) {
        Err(Error::Launch(error)) => *error,
        other => panic!("not refused: {other:?}"),
    }
}

/// Runs a test with the kernels, compiled in each way that records facts.
fn with_facts(test: impl Fn(&Stream, &Module)) {
    let device = common::device();
    let stream = device.stream().unwrap();
    for module in [by_kernel_build(&device), at_run_time(&device)] {
        test(&stream, &module);
    }
    stream.synchronize().unwrap();
}

#[test]
fn functions_know_their_arguments() {
    with_facts(|_, module| {
        let scale = module.function("scale").unwrap();
        let known = |parameter: &Parameter| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            (text(&parameter.name), text(&parameter.type_name), parameter.is_const, parameter.access)
        };
        let expected = [
            ("n", "int", false, None),
            ("factor", "float", false, None),
            ("x", "float*", true, Some(Access::Read)),
            ("y", "float*", false, Some(Access::Write)),
        ];
        let expected =
            expected.map(|(name, ty, constant, access)| (name.to_owned(), ty.to_owned(), constant, access));
        assert_eq!(scale.parameters().iter().map(known).collect::<Vec<_>>(), expected);
        assert_eq!(module.function("count").unwrap().parameters()[0].access, Some(Access::ReadWrite));
        assert_eq!(
            scale.to_string(),
            "scale(a value of 4 bytes of type `int` (`n`), a value of 4 bytes of type `float` (`factor`), \
             a pointer of type `const float*` (`x`), a pointer of type `float*` (`y`))"
        );
    });
}

#[test]
fn shared_memory_is_refused_where_the_kernel_writes() {
    with_facts(|stream, module| {
        let scale = module.function("scale").unwrap();
        let x = DeviceBuffer::from_slice(stream, &[1.0_f32, 2.0]).unwrap();
        let mut y = DeviceBuffer::<f32>::zeroed(stream, 2).unwrap();
        let start = || scale.launch(stream).grid(1).block(2).arg(2_i32).arg(3.0_f32);
        let message = "kernel `scale`, argument 3 (`y`): the kernel writes through this pointer (write_only) and got \
                       a shared borrow of memory of `f32`: pass it as `&mut`";
        assert_eq!(refused(start().arg(&x).arg(&y)).to_string(), message);
        assert_eq!(refused(start().arg(&x).arg(y.as_slice())).to_string(), message);
        assert_eq!(refused(start().arg(&x).arg(Some(y.as_slice()))).to_string(), message);

        let mut prepared = start().arg(&x).arg(&mut y).prepare().unwrap();
        let other = DeviceBuffer::<f32>::zeroed(stream, 2).unwrap();
        let Err(Error::Launch(error)) = prepared.set(3, &other) else { panic!("not refused") };
        assert_eq!(error.to_string(), message);
        // SAFETY: both buffers have two elements.
        unsafe { prepared.enqueue().unwrap() };
        drop(prepared);
        assert_eq!(y.to_vec(stream).unwrap(), [3.0, 6.0]);
        // Memory that the kernel only reads may be borrowed either way.
        let mut x = x;
        run(start().arg(&mut x).arg(&mut y)).unwrap();

        let mut graph = Graph::new(stream.device()).unwrap();
        // SAFETY: it is refused.
        let node = unsafe { graph.add_kernel(start().arg(&x).arg(&y), &[]) };
        let Err(Error::Launch(error)) = node else { panic!("not refused: {node:?}") };
        assert_eq!(error.to_string(), message);

        let count = module.function("count").unwrap();
        let counter = DeviceBuffer::<u32>::zeroed(stream, 1).unwrap();
        let error = refused(count.launch(stream).grid(1).block(1).arg(&counter)).to_string();
        assert!(
            error.contains("(`counter`)")
                && error.ends_with("or declare it `const` if the kernel only reads")
        );
    });
}

#[test]
fn numbers_of_another_kind_are_refused() {
    with_facts(|stream, module| {
        let scale = module.function("scale").unwrap();
        let x = DeviceBuffer::<f32>::zeroed(stream, 2).unwrap();
        let mut y = DeviceBuffer::<f32>::zeroed(stream, 2).unwrap();
        let mut wide = DeviceBuffer::<i64>::zeroed(stream, 2).unwrap();
        let start = || scale.launch(stream).grid(1).block(2);
        let message = |argument: &str, expected: &str, got: &str| {
            format!("kernel `scale`, argument {argument}: expected `{expected}`, got {got}")
        };
        let error = refused(start().arg(2_i32).arg(3.0_f32).arg(&wide).arg(&mut y));
        assert!(
            matches!(&error, LaunchError::ArgumentType { argument, .. } if argument.index == 2),
            "{error:?}"
        );
        assert_eq!(error.to_string(), message("2 (`x`)", "const float*", "memory of `i64`"));
        let error = refused(start().arg(2_i32).arg(3.0_f32).arg(&x).arg(&wide));
        assert_eq!(error.to_string(), message("3 (`y`)", "float*", "memory of `i64`"));
        let error = refused(start().arg(2_i32).arg(3.0_f32).arg(&x).arg(&mut wide));
        assert_eq!(error.to_string(), message("3 (`y`)", "float*", "memory of `i64`"));
        let error = refused(start().arg(2.0_f32).arg(3.0_f32).arg(&x).arg(&mut y));
        assert_eq!(error.to_string(), message("0 (`n`)", "int", "a value of type `f32`"));
        let error = refused(start().arg(2_i32).arg(3_u32).arg(&x).arg(&mut y));
        assert_eq!(error.to_string(), message("1 (`factor`)", "float", "a value of type `u32`"));
        let error = refused(start().arg([2_u16, 0]).arg(3.0_f32).arg(&x).arg(&mut y));
        assert_eq!(error.to_string(), message("0 (`n`)", "int", "a value of type `[u16; 2]`"));
        // The sign is not compared, and an address is not checked.
        run(start().arg(2_u32).arg(3.0_f32).arg(x.address()).arg(&mut y)).unwrap();
    });
}

#[test]
fn typed_functions_are_compared_when_they_are_loaded() {
    with_facts(|_, module| {
        let message = |error: Error| match error {
            Error::Launch(error) => error.to_string(),
            other => panic!("{other}"),
        };
        Right::load(module).map(drop).unwrap();
        let error = message(SharedOutput::load(module).map(drop).unwrap_err());
        assert!(error.starts_with("kernel `scale`, argument 3 (`y`): the kernel writes"), "{error}");
        let error = message(WrongElements::load(module).map(drop).unwrap_err());
        assert_eq!(error, "kernel `scale`, argument 2 (`x`): expected `const float*`, got memory of `i64`");
        let error = message(WrongValue::load(module).map(drop).unwrap_err());
        assert_eq!(error, "kernel `scale`, argument 0 (`n`): expected `int`, got a value of type `f32`");
    });
}

/// The parameters of the kernel `types` before its output, one by one.
macro_rules! launch_types {
    ($function:expr, $stream:expr, $($argument:expr),* $(,)?) => {
        $function.launch($stream).grid(1).block(1)$(.arg($argument))*
    };
}

#[test]
fn every_type_fits_its_own_and_no_other() {
    with_facts(|stream, module| {
        let types: Function = module.function("types").unwrap();
        let h = DeviceBuffer::from_slice(stream, &[f16::from_f32(1.0)]).unwrap();
        let b = DeviceBuffer::from_slice(stream, &[bf16::from_f32(2.0)]).unwrap();
        let v = DeviceBuffer::from_slice(stream, &[[0.0_f32, 0.0, 0.0, 4.0]]).unwrap();
        let u = DeviceBuffer::from_slice(stream, &[8_u32]).unwrap();
        let p = DeviceBuffer::from_slice(stream, &[Pair { first: 16.0, second: 32 }]).unwrap();
        let any = DeviceBuffer::from_slice(stream, &[64_i32]).unwrap();
        let flags = DeviceBuffer::from_slice(stream, &[1_u8]).unwrap();
        let mut out = DeviceBuffer::<f32>::zeroed(stream, 1).unwrap();
        let (pair, four) = (Pair { first: 128.0, second: 256 }, [0.0_f32, 0.0, 0.0, 512.0]);
        let half = f16::from_f32(0.5);
        let start =
            launch_types!(types, stream, &h, &b, &v, &u, &p, &any, &flags, pair, four, true, half, &mut out);
        run(start).unwrap();
        assert_eq!(
            out.to_vec(stream).unwrap(),
            [1.0 + 2.0 + 4.0 + 8.0 + 48.0 + 64.0 + 1.0 + 384.0 + 512.0 + 1.0 + 0.5]
        );

        // Vectors and structures of one kind of number count as that kind, in both directions; other
        // structures match anything.
        let floats = DeviceBuffer::from_slice(stream, &[0.0_f32; 4]).unwrap();
        let points = DeviceBuffer::from_slice(stream, &[Point { x: 0.0, yz: [0.0; 3] }]).unwrap();
        let mut point = DeviceBuffer::from_slice(stream, &[Point { x: 0.0, yz: [0.0; 3] }]).unwrap();
        let last = Point { x: 0.0, yz: [0.0; 3] };
        run(launch_types!(
            types, stream, &h, &b, &floats, &u, &p, &any, &flags, pair, last, 1_u8, half, &mut point
        ))
        .unwrap();
        run(launch_types!(
            types, stream, &h, &b, &points, &p, &floats, &p, &flags, pair, four, true, half, &mut out
        ))
        .unwrap();

        let bits = DeviceBuffer::<u16>::zeroed(stream, 4).unwrap();
        let launch =
            launch_types!(types, stream, &h, &b, &v, &u, &p, &any, &flags, pair, four, true, half, &mut out);
        let mut prepared = launch.prepare().unwrap();
        macro_rules! refuses {
            ($index:literal, $wrong:expr, $expected:literal) => {
                match prepared.set($index, $wrong) {
                    Err(Error::Launch(error)) => match *error {
                        LaunchError::ArgumentType { argument, expected, .. } => {
                            assert_eq!((argument.index, expected.as_str()), ($index, $expected));
                        }
                        other => panic!("{other}"),
                    },
                    other => panic!("not refused: {other:?}"),
                }
            };
        }
        refuses!(0, &bits, "const __half*");
        refuses!(0, &b, "const __half*");
        refuses!(1, &h, "const __hip_bfloat16*");
        refuses!(2, &u, "const float4*");
        refuses!(3, &points, "const unsigned int*");
        refuses!(6, &u, "const bool*");
        refuses!(8, [0_u32; 4], "float4");
        refuses!(10, 1_u16, "__half");
        // SAFETY: every buffer has the element that the kernel accesses.
        unsafe { prepared.enqueue().unwrap() };
    });
}

#[test]
fn code_without_facts_is_launched_and_says_that_they_are_unknown() {
    let device = common::device();
    let stream = device.stream().unwrap();
    let module = by_others(&device);
    let scale = module.function("scale").unwrap();
    for parameter in scale.parameters() {
        assert_eq!((&parameter.type_name, parameter.access, parameter.is_const), (&None, None, false));
    }
    let x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0]).unwrap();
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, 2).unwrap();
    // Checks that need no facts still apply.
    let error = refused(scale.launch(&stream).grid(1).block(2).arg(2_i64).arg(3.0_f32).arg(&x).arg(&mut y));
    assert!(matches!(error, LaunchError::ArgumentSize { .. }), "{error}");
    run(scale.launch(&stream).grid(1).block(2).arg(2_i32).arg(3.0_f32).arg(&x).arg(&mut y)).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [3.0, 6.0]);
    let raw = DeviceBuffer::<u8>::zeroed(&stream, 8).unwrap();
    run(scale.launch(&stream).grid(1).block(2).arg(2_i32).arg(3.0_f32).arg(&raw).arg(&mut y)).unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [0.0, 0.0]);
    Right::load(&module).map(drop).unwrap();
}
