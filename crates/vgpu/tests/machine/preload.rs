//! Arguments that arrive in scalar registers.

use test_skip::{Lack, skip};

use crate::common::{Arg, Gpu};

#[test]
fn preloaded_arguments_are_what_is_in_memory() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/preload");
    let builder = kernel_build::Builder::new(folder).targets(["gfx90a", "gfx942"]).jobs(2);
    let build = match builder.flag("-mllvm").flag("-amdgpu-kernarg-preload-count=8").build() {
        Ok(build) => build,
        Err(why) => {
            assert!(!why.to_string().contains("error:"), "{why}");
            skip(Lack::Tool, why);
            return;
        }
    };
    for (target, object) in build.modules[0].objects.iter().map(|object| (&object.target.processor, object)) {
        let gpu = Gpu::load(target, &object.bytes);
        let kernel = gpu.code.object().kernel("preloaded").expect("the kernel");
        assert!(
            kernel.descriptor.kernarg_preload_spec_length() >= 4,
            "{target}: the compiler preloads nothing"
        );
        let (out, more) = (gpu.alloc(4 * 128), gpu.upload(&[1, 2, 3, 4, 5, 6, 7, 8]));
        let args =
            [Arg::Pointer(out), Arg::I32(7), Arg::I32(9), Arg::I64(0x12_3456_789a), Arg::Pointer(more)];
        gpu.run("preloaded", 2, 64, &args);
        let expected: Vec<i32> = (0..128).map(|i| -2 * i + 0x12 + i % 8 + 1).collect();
        assert_eq!(gpu.download::<i32>(out, 128), expected, "{target}");
    }
}
