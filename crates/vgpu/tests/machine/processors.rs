//! Every processor of the table, as a device.

use test_skip::{Lack, skip};
use vgpu::machine::{Occupancy, TARGETS};

use crate::common::{Arg, Gpu};
use crate::profile::remark;

/// A kernel that the compiler makes for a processor runs on it, and the compiler counts waves as its row
/// does.
#[test]
fn every_processor_runs_a_kernel_that_is_compiled_for_it() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processors");
    let builder =
        kernel_build::Builder::new(folder).targets(TARGETS.iter().map(|target| target.name)).jobs(2);
    let build = match builder.flag("-Rpass-analysis=kernel-resource-usage").build() {
        Ok(build) => build,
        Err(why) => {
            assert!(!why.to_string().contains("error:"), "{why}");
            skip(Lack::Tool, why);
            return;
        }
    };
    let objects = &build.modules[0].objects;
    assert_eq!(objects.len(), TARGETS.len());
    for object in objects {
        let name = &object.target.processor;
        // It is the code of that processor, and no sibling's.
        let gpu = Gpu::load(&format!("{name}?cus=2&memory=64MiB"), &object.bytes);
        let target = gpu.device.target();
        assert_eq!((target.name, gpu.code.object().target().processor.as_str()), (&name[..], &name[..]));
        let numbers: Vec<i32> = (0..192).collect();
        let (x, out) = (gpu.upload(&numbers), gpu.alloc(12));
        gpu.run("sums", 3, 64, &[Arg::Pointer(x), Arg::Pointer(out)]);
        assert_eq!(gpu.download::<i32>(out, 3), [2016, 6112, 10208], "{name}");

        let kernel = gpu.code.object().kernel("sums").expect("the kernel");
        let said = object.diagnostics.iter().find_map(|told| remark(&told.message, "Occupancy [waves/SIMD]"));
        let size = kernel.max_flat_workgroup_size;
        let resources = target.resources(&kernel.descriptor, size, kernel.group_segment_size);
        let found = Occupancy::new(&target.limits.unit, resources);
        assert_eq!(Some(found.waves_per_simd), said, "{name}: {found}");
    }
}

/// What is compiled for a generic processor runs on each of its members.
#[test]
fn code_for_a_generic_processor_runs_on_its_members() {
    let generic = ["gfx9-4-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processors");
    let build = match kernel_build::Builder::new(folder).targets(generic).jobs(2).build() {
        Ok(build) => build,
        Err(why) => {
            assert!(!why.to_string().contains("error:"), "{why}");
            skip(Lack::Tool, why);
            return;
        }
    };
    for target in TARGETS.iter().filter(|target| target.processor.generic.is_some()) {
        let of = |object: &&kernel_build::BuiltObject| {
            Some(object.target.processor.as_str()) == target.processor.generic
        };
        let object = build.modules[0].objects.iter().find(of).expect("code for its generic processor");
        let gpu = Gpu::load(&format!("{}?cus=2&memory=64MiB", target.name), &object.bytes);
        let (x, out) = (gpu.upload(&[3i32; 64]), gpu.alloc(4));
        gpu.run("sums", 1, 64, &[Arg::Pointer(x), Arg::Pointer(out)]);
        assert_eq!(gpu.download::<i32>(out, 1), [192], "{}", target.name);
    }
}
