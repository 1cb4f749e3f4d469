//! Which instructions the kernels of matrix products are compiled to, read from the code objects.

use std::collections::{BTreeMap, BTreeSet};

use code_object::{CodeObject, PROCESSORS, Processor};
use kernels::modules;

const TYPES: [&str; 4] = ["f16", "bf16", "i8", "f8_e4m3"];

// NEW-TARGET: the row of its instruction set, if that is new.
/// The matrix or dot instruction of products of the [`TYPES`] in each instruction set; nothing where they are
/// made by plain multiply-adds.
const PRODUCTS: &[(&[&str], [&str; 4])] = &[
    (&["gfx1030"], ["v_dot2c_f32_f16", "", "v_dot4c_i32_i8", "v_dot2c_f32_f16"]),
    (
        &["gfx90a"],
        [
            "v_mfma_f32_32x32x8f16",
            "v_mfma_f32_32x32x8bf16_1k",
            "v_mfma_i32_32x32x8i8",
            "v_mfma_f32_32x32x8f16",
        ],
    ),
    (
        &["gfx942"],
        [
            "v_mfma_f32_32x32x8_f16",
            "v_mfma_f32_32x32x8_bf16",
            "v_mfma_i32_32x32x16_i8",
            "v_mfma_f32_32x32x16_fp8_fp8",
        ],
    ),
    (
        &["gfx950"],
        [
            "v_mfma_f32_32x32x16_f16",
            "v_mfma_f32_32x32x16_bf16",
            "v_mfma_i32_32x32x32_i8",
            "v_mfma_f32_32x32x16_fp8_fp8",
        ],
    ),
    (
        &["gfx1100", "gfx1151"],
        [
            "v_wmma_f32_16x16x16_f16",
            "v_wmma_f32_16x16x16_bf16",
            "v_wmma_i32_16x16x16_iu8",
            "v_wmma_f32_16x16x16_f16",
        ],
    ),
    (
        &["gfx1201"],
        [
            "v_wmma_f32_16x16x16_f16",
            "v_wmma_f32_16x16x16_bf16",
            "v_wmma_i32_16x16x16_iu8",
            "v_wmma_f32_16x16x16_fp8_fp8",
        ],
    ),
];

fn mnemonics(instruction_set: &str) -> Option<[&'static str; 4]> {
    PRODUCTS.iter().find(|(sets, _)| sets.contains(&instruction_set)).map(|row| row.1)
}

#[test]
fn every_instruction_set_has_a_row() {
    for set in PROCESSORS.iter().filter_map(|row| row.instructions) {
        assert!(mnemonics(set).is_some(), "{set}");
    }
}

/// The matrix and dot instructions of each kernel of a listing.
fn multiplying(listing: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut kernel = "";
    for line in listing.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once('<')) {
            kernel = name;
        } else if let Some(mnemonic) = line.split_whitespace().next()
            && ["v_mfma_", "v_wmma_", "v_dot"].iter().any(|start| mnemonic.starts_with(start))
        {
            found.entry(kernel).or_default().insert(mnemonic);
        }
    }
    found
}

#[test]
fn products_are_made_by_the_instructions_of_the_target() {
    assert!(!modules::GEMM.code_objects.is_empty(), "nothing was compiled");
    for object in modules::GEMM.code_objects {
        let target = object.target_id().unwrap();
        let set = Processor::by_name(&target.processor).and_then(|row| row.instructions);
        let Some(mnemonics) = set.and_then(mnemonics) else { panic!("no row for {}", object.target) };
        let mut listing = String::new();
        vgpu_isa::listing(object.bytes, &mut listing).unwrap();
        let found = multiplying(&listing);
        for (name, mnemonic) in TYPES.into_iter().zip(mnemonics) {
            for side in [64, 128] {
                let kernel = format!("gemm_{name}_{side}");
                assert!(listing.contains(&format!("<{kernel}>:")), "{kernel} for {}", object.target);
                let expected: BTreeSet<&str> =
                    [mnemonic].into_iter().filter(|name| !name.is_empty()).collect();
                let found = found.get(&kernel[..]).cloned().unwrap_or_default();
                assert_eq!(found, expected, "{kernel} for {}", object.target);
            }
        }
    }
}

#[test]
fn products_keep_everything_in_registers() {
    for module in [&modules::GEMM, &modules::GEMM_EXPERTS, &modules::GEMV] {
        for object in module.code_objects {
            for kernel in CodeObject::parse(object.bytes).unwrap().kernels() {
                let memory = (kernel.vgpr_spills, kernel.private_segment_size);
                assert_eq!(memory, (0, 0), "{} for {}", kernel.name, object.target);
            }
        }
    }
}
