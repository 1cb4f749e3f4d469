//! Every part of a code object, and every way in which it can be wrong, on a synthetic file.

use code_object::{Access, ArgKind, Binding, CodeObject, Error, HiddenArg, RelocationKind, SymbolKind};
use serde_json::{Value, json};

use crate::support::{CODE, DATA, DESCRIPTOR, Synthetic, kernel_metadata};

fn error(bytes: &[u8]) -> Error {
    CodeObject::parse(bytes).expect_err("the file should be refused")
}

/// Builds the file with one change and returns the error.
fn changed(change: impl FnOnce(&mut Synthetic)) -> Error {
    let mut file = Synthetic::default();
    change(&mut file);
    error(&file.build())
}

/// Overwrites bytes of the built file at a place and returns the error.
fn patched(place: impl FnOnce(&Synthetic) -> usize, bytes: &[u8]) -> Error {
    let mut file = Synthetic::default();
    let mut built = file.build();
    let at = place(&file);
    built[at..at + bytes.len()].copy_from_slice(bytes);
    error(&built)
}

#[test]
fn everything_is_read() {
    let bytes = Synthetic::default().build();
    let object = CodeObject::parse(&bytes).unwrap();
    assert_eq!((object.target().to_string().as_str(), object.version()), ("gfx1100", 5));
    assert_eq!((object.flags(), object.generic_version(), object.load_size()), (0x41, None, DATA + 256));

    let [kernel] = object.kernels() else { panic!("{:?}", object.kernels()) };
    assert_eq!((kernel.name.as_str(), kernel.symbol.as_str()), ("axpy", "axpy.kd"));
    assert_eq!((kernel.descriptor_vaddr, kernel.entry_vaddr), (DESCRIPTOR, CODE));
    assert_eq!(kernel.descriptor.group_segment_fixed_size, 512);
    assert_eq!((kernel.kernarg_size, kernel.kernarg_align), (24, 8));
    assert_eq!((kernel.group_segment_size, kernel.private_segment_size), (512, 16));
    assert_eq!((kernel.wavefront_size, kernel.max_flat_workgroup_size), (32, 256));
    assert_eq!(kernel.required_workgroup_size, Some([64, 2, 1]));
    assert_eq!((kernel.sgpr_count, kernel.vgpr_count, kernel.agpr_count), (9, 5, 0));
    assert_eq!((kernel.sgpr_spills, kernel.vgpr_spills), (1, 2));
    assert_eq!((kernel.uses_dynamic_stack, kernel.uniform_workgroup_size), (false, true));
    assert_eq!(kernel.args[0].name.as_deref(), Some("y"));
    assert_eq!(kernel.args[0].type_name.as_deref(), Some("float*"));
    assert_eq!((kernel.args[0].access, kernel.args[0].is_const), (Some(Access::ReadWrite), false));
    assert_eq!(kernel.args[1].access, None);
    assert_eq!(kernel.args[4].kind, ArgKind::Other("hidden_of_the_future".into()));
    assert_eq!(kernel.explicit_args().count(), 3);
    let hidden: Vec<_> = kernel.hidden_args().map(|(hidden, arg)| (hidden, arg.offset)).collect();
    assert_eq!(hidden, [(HiddenArg::BlockCountX, 12), (HiddenArg::GroupSizeX, 16)]);
    assert!(object.kernel("axpy").is_some() && object.kernel("axpy.kd").is_none());

    let segments: Vec<_> =
        object.segments().iter().map(|s| (s.vaddr, s.mem_size, s.executable, s.writable)).collect();
    assert_eq!(segments, [(DESCRIPTOR, 64, false, false), (CODE, 8, true, false), (DATA, 256, false, true)]);
    assert_eq!(&bytes[object.file_range(CODE, 4).unwrap()], [0x00, 0x00, 0xb0, 0xbf]);
    assert_eq!(object.file_range(DATA + 8, 16), None);
    assert_eq!(object.file_range(u64::MAX, u64::MAX), None);

    let symbol = object.symbol("axpy.kd").unwrap();
    assert_eq!((symbol.kind, symbol.binding), (SymbolKind::KernelDescriptor, Binding::Global));
    assert!(object.symbol("elsewhere").unwrap().undefined);
    let [first, second] = object.relocations() else { panic!("{:?}", object.relocations()) };
    assert_eq!((first.kind, first.offset, first.symbol), (RelocationKind::Relative64, DATA, None));
    assert_eq!((second.kind, second.addend), (RelocationKind::Abs64, 4));
    assert_eq!(object.symbols()[second.symbol.unwrap()].name, "table");
}

#[test]
fn versions_four_to_six_are_read() {
    for (abi_version, version) in [(2, 4), (3, 5), (4, 6)] {
        let bytes = Synthetic { abi_version, ..Synthetic::default() }.build();
        assert_eq!(CodeObject::parse(&bytes).unwrap().version(), version);
    }
    for abi_version in [0, 1, 5, 255] {
        let found = changed(|file| file.abi_version = abi_version);
        assert!(matches!(found, Error::UnsupportedVersion { abi_version: a } if a == abi_version), "{found}");
    }
}

#[test]
fn flags_give_the_target() {
    let target = |flags: u32, metadata: Option<&str>| {
        let mut file = Synthetic { flags, ..Synthetic::default() };
        file.metadata["amdhsa.target"] = json!(metadata);
        CodeObject::parse(&file.build()).map(|object| (object.target().to_string(), object.generic_version()))
    };
    assert_eq!(target(0xe3f, None).unwrap().0, "gfx90a:sramecc+:xnack-");
    assert_eq!(target(0x53f, Some("amdgcn-amd-amdhsa--gfx90a")).unwrap().0, "gfx90a");
    assert_eq!(target(0x0100_0054, None).unwrap(), ("gfx11-generic".into(), Some(1)));
    assert_eq!(target(0xfe, Some("amdgcn-amd-amdhsa--gfx1399")).unwrap().0, "gfx1399");
    assert!(matches!(target(0xfe, None), Err(Error::UnknownProcessor { mach: 0xfe })));
    assert!(matches!(target(0x41, Some("gfx1030")), Err(Error::TargetMismatch { .. })));
    assert!(matches!(target(0x41, Some("gfx")), Err(Error::BadTarget(_))));
}

#[test]
fn what_is_no_code_object_is_named() {
    assert!(matches!(error(b""), Error::NotElf { found } if found.is_empty()));
    assert!(matches!(error(b"#include <x>"), Error::NotElf { found } if found == b"#inc"));
    assert!(matches!(error(b"\x7fEL"), Error::Truncated { end: 64, len: 3, .. }));
    assert!(matches!(error(b"__CLANG_OFFLOAD_BUNDLE__...."), Error::OffloadBundle));
    assert!(matches!(error(b"CCOB\x02\x00"), Error::OffloadBundle));
    assert!(matches!(patched(|_| 4, &[1]), Error::NotAmdgpu { field: "EI_CLASS", found: 1, expected: 2 }));
    assert!(matches!(patched(|_| 5, &[2]), Error::NotAmdgpu { field: "EI_DATA", .. }));
    assert!(matches!(patched(|_| 7, &[0]), Error::NotAmdgpu { field: "EI_OSABI", found: 0, .. }));
    assert!(matches!(patched(|_| 18, &[62]), Error::NotAmdgpu { field: "e_machine", found: 62, .. }));
    assert!(matches!(patched(|_| 16, &[1]), Error::NotLinked { found: 1 }));
}

#[test]
fn headers_that_point_outside_are_truncations() {
    let far = u64::MAX.to_le_bytes();
    for (place, part) in [(32usize, "program header table"), (40, "section header table")] {
        let found = patched(|_| place, &far);
        assert!(matches!(&found, Error::Truncated { what, .. } if what.contains(part)), "{found}");
    }
    let found = patched(|file| file.places.program_headers + 8, &far);
    assert!(matches!(&found, Error::Truncated { what, .. } if what == "segment 0"), "{found}");
    let found = patched(|file| file.places.program_headers + 3 * 56 + 32, &far);
    assert!(matches!(&found, Error::Truncated { what, .. } if what == "segment 3"), "{found}");
    let found = patched(|file| file.places.section_headers + 64 + 32, &far);
    assert!(matches!(&found, Error::Truncated { what, .. } if what == "section 1"), "{found}");
}

#[test]
fn impossible_segments_are_refused() {
    let cases: [(usize, u64, &str); 4] = [
        (40, 8, "more bytes in the file"),
        (16, u64::MAX - 8, "beyond the address space"),
        (48, 48, "not a power of two"),
        (16, CODE, "overlap"),
    ];
    for (field, value, part) in cases {
        let found = patched(|file| file.places.program_headers + field, &value.to_le_bytes());
        assert!(matches!(found, Error::MalformedElf { .. }) && found.to_string().contains(part), "{found}");
    }
}

#[test]
fn descriptors_must_be_there() {
    let found = changed(|file| file.symbols[0].0 = "other.kd");
    assert!(
        matches!(found, Error::MissingDescriptor { kernel, symbol } if kernel == "axpy" && symbol == "axpy.kd")
    );
    let found = changed(|file| file.symbols[0].4 = 0);
    assert!(matches!(found, Error::MissingDescriptor { .. }));
    let found = changed(|file| file.symbols[0].1 = DESCRIPTOR + 4);
    assert!(matches!(found, Error::DescriptorOutOfRange { vaddr, .. } if vaddr == DESCRIPTOR + 4));
    for entry in [0, 0x2000, i64::MIN, i64::MAX] {
        let found = patched(|file| file.places.descriptor + 16, &entry.to_le_bytes());
        assert!(matches!(found, Error::EntryOutOfRange { .. }), "{found}");
    }
}

#[test]
fn symbols_and_relocations_stay_inside() {
    let found = changed(|file| file.symbols[2].1 = DATA + 256);
    assert!(found.to_string().contains("dynamic symbol table: 16 bytes at 0x3100"), "{found}");
    let found = changed(|file| file.relocations[0].0 = DATA + 252);
    assert!(found.to_string().contains("target 0x30fc is not within"), "{found}");
    let found = changed(|file| file.relocations[0].2 = 5);
    assert!(found.to_string().contains("symbol 5 does not exist"), "{found}");
}

#[test]
fn metadata_must_be_complete_and_possible() {
    let found = changed(|file| file.metadata = json!([1, 2]));
    assert!(matches!(found, Error::Metadata(_)), "{found}");
    assert!(matches!(patched(|file| file.places.note, &[0xc1]), Error::Metadata(_)));
    assert!(matches!(patched(|file| file.places.note - 8, b"GNU"), Error::MissingMetadata));

    for field in [
        ".name",
        ".symbol",
        ".kernarg_segment_size",
        ".kernarg_segment_align",
        ".group_segment_fixed_size",
        ".private_segment_fixed_size",
        ".wavefront_size",
        ".max_flat_workgroup_size",
    ] {
        let found = changed(|file| {
            file.kernel().as_object_mut().unwrap().remove(field);
        });
        assert!(matches!(found, Error::MissingField { field: f, .. } if f == field), "{found}");
    }
    let arg = |offset: u64, size: u64| json!({".offset": offset, ".size": size, ".value_kind": "by_value"});
    let cases: [(&str, Value); 7] = [
        (".kernarg_segment_align", json!(3)),
        (".kernarg_segment_align", json!(0)),
        (".wavefront_size", json!(64)),
        (".max_flat_workgroup_size", json!(0)),
        (".reqd_workgroup_size", json!([1, 0, 1])),
        (".args", json!([arg(20, 8)])),
        (".args", json!([arg(0xffff_ffff, 0xffff_ffff)])),
    ];
    for (field, value) in cases {
        let found = changed(|file| file.kernel()[field] = value.clone());
        assert!(
            matches!(&found, Error::BadField { kernel, .. } if kernel == "axpy"),
            "{field}={value}: {found}"
        );
    }
    let found = changed(|file| file.kernel()[".args"][1][".size"] = Value::Null);
    assert!(found.to_string().contains("axpy, argument 1: .size is missing"), "{found}");
    let found =
        changed(|file| file.metadata["amdhsa.kernels"] = json!([kernel_metadata(), kernel_metadata()]));
    assert!(matches!(found, Error::DuplicateKernel { kernel } if kernel == "axpy"));
}

/// As the linker writes them: one note for each input.
#[test]
fn metadata_of_several_notes_is_read_together() {
    let mut object = Synthetic::default();
    let mut second = kernel_metadata();
    second[".name"] = "scal".into();
    second[".symbol"] = "scal.kd".into();
    object.symbols.insert(1, ("scal.kd", DESCRIPTOR, 64, 1 << 4 | 1, 1));
    object.relocations.clear();
    let target = "amdgcn-amd-amdhsa--gfx1100";
    object.further = vec![
        json!({"amdhsa.target": target, "amdhsa.kernels": [second], "amdhsa.printf": ["more"]}),
        json!({"amdhsa.version": [1, 2]}),
    ];
    let parsed = CodeObject::parse(&object.build()).unwrap();
    let names: Vec<&str> = parsed.kernels().iter().map(|kernel| &*kernel.name).collect();
    assert_eq!(names, ["axpy", "scal"]);
    assert_eq!(parsed.kernel("scal").unwrap().symbol, "scal.kd");
    assert_eq!(parsed.printf_formats(), ["unknown to us", "more"]);

    object.further[0]["amdhsa.target"] = "amdgcn-amd-amdhsa--gfx1030".into();
    let error = error(&object.build());
    assert!(matches!(&error, Error::MetadataTargets { other, .. } if other.ends_with("gfx1030")), "{error}");
    object.further[0] = json!({"amdhsa.kernels": [kernel_metadata()]});
    let error = self::error(&object.build());
    assert!(matches!(&error, Error::DuplicateKernel { kernel } if kernel == "axpy"), "{error}");
}

#[test]
fn a_module_without_kernels_is_fine() {
    let metadata = json!({"amdhsa.version": [1, 2], "amdhsa.kernels": []});
    let mut file = Synthetic { metadata, ..Synthetic::default() };
    assert!(CodeObject::parse(&file.build()).unwrap().kernels().is_empty());
}
