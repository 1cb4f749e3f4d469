//! Runs bindgen on one version of a library's headers.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};

use crate::library::{Library, Vendor, Version};

/// bindgen's output for `version`, whose headers are in `include`.
pub(crate) fn bindgen(library: &Library, version: &Version, include: &Path) -> Result<String> {
    ensure!(include.is_dir(), "{} does not exist", include.display());
    let target = bindgen::RustTarget::stable(89, 0).map_err(|error| anyhow!("Rust 1.89: {error}"))?;
    let mut builder = bindgen::Builder::default()
        .header_contents("all.h", library.headers)
        .clang_arg(format!("-I{}", include.display()))
        .clang_args(["-x", "c", "-std=c11", "--target=x86_64-linux-gnu", "-D__HIP_PLATFORM_AMD__=1"])
        .clang_args(["-fparse-all-comments", "-DLITTLEENDIAN_CPU=1"])
        // The folder may be one that clang treats as a system's (/usr/include), or also contain C headers.
        .clang_args(["-fretain-comments-from-system-headers", "-Wno-macro-redefined"])
        .clang_args(version.clang)
        // NVIDIA's comments are not ours to give on.
        .generate_comments(library.vendor == Vendor::Amd)
        // A structure of an older version may have one in it that has become too large to be derived for.
        .derive_debug(library.vendor == Vendor::Amd)
        .allowlist_file(library.files)
        .allowlist_function(library.declared_here)
        .blocklist_item(library.ignored_constants)
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: false })
        .default_macro_constant_type(bindgen::MacroTypeVariation::Unsigned)
        .ctypes_prefix("::std::ffi")
        .rust_target(target)
        .rust_edition(bindgen::RustEdition::Edition2021)
        .disable_header_comment()
        .derive_default(true)
        .wrap_unsafe_ops(true)
        .layout_tests(true)
        .formatter(bindgen::Formatter::None);
    for item in library.imported {
        builder = builder.blocklist_type(item).blocklist_function(item).blocklist_var(item);
    }
    let bindings =
        builder.generate().with_context(|| format!("bindgen on {} {}", library.what, version.version))?;
    Ok(bindings.to_string())
}
