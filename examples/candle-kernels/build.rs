//! Compiles the sources of candle-kernels as its own build script does, with this project's compiler in the
//! place of nvcc; or, in their place, this project's own kernels of the same names.

use std::path::PathBuf;

use kernel_build::Builder;

/// Folder of candle-kernels' sources: the one with its `Cargo.toml`. Or [`OWN`].
const SOURCES: &str = "CANDLE_KERNELS";
/// Says that this project's own kernels are to be tested.
const OWN: &str = "own";
const OWN_SOURCES: &str = "../../kernels";
/// The matrix products of `mmq_gguf`, too: `1` for all of them, or some, such as `q4_0,q6_k`. Each takes
/// minutes to compile.
const MMQ: &str = "CANDLE_KERNELS_MMQ";
/// The sources that candle loads as modules.
const MODULES: [&str; 11] = [
    "affine", "binary", "cast", "conv", "fill", "indexing", "quantized", "reduce", "sort", "ternary", "unary",
];
/// What `Builder` reads by itself.
const TARGETS: &str = "FERROCM_TARGETS";
/// What is compiled for unless that variable says otherwise.
const DEFAULT_TARGETS: [&str; 7] =
    ["gfx1100", "gfx90a", "gfx942", "gfx1030", "gfx1201", "gfx950", "gfx11-generic"];

/// The sources that candle-kernels links as a library.
const LAUNCHERS: [&str; 5] = [
    "moe/moe_gguf.cu",
    "moe/moe_wmma.cu",
    "moe/moe_wmma_gguf.cu",
    "mmvq_gguf.cu",
    "mmq_gguf/mmq_quantize.cu",
];
/// What it links besides, one source for each type of blocks: `mmq_gguf/mmq_instance_q4_0.cu`.
const PRODUCTS: [&str; 10] = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"];

fn main() {
    for name in [SOURCES, MMQ, TARGETS] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rustc-check-cfg=cfg(own_kernels)");
    println!("cargo::rustc-check-cfg=cfg(mmq, values(none(), \"{}\"))", PRODUCTS.join("\", \""));
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let Some(folder) = set(SOURCES) else {
        println!(
            "cargo::error={SOURCES} is not set: it names the folder of candle-kernels 0.11.1. \
             `cargo xtask test candle` fetches the crate, sets the variable and runs the tests"
        );
        std::process::exit(1);
    };
    if folder == OWN {
        println!("cargo::rustc-cfg=own_kernels");
        // The modules that candle has. What else is there has tests of its own.
        let mut own = Builder::new(OWN_SOURCES);
        for module in MODULES {
            own = own.source(format!("{module}.cu"));
        }
        own.embed_or_exit();
        return;
    }
    let sources = PathBuf::from(folder).join("src");
    let out = PathBuf::from(set("OUT_DIR").expect("Cargo sets it"));
    let builder = || {
        let builder = Builder::new(&sources).flag("--expt-relaxed-constexpr").flag("-std=c++17").flag("-O3");
        if set(TARGETS).is_some() { builder } else { builder.targets(DEFAULT_TARGETS) }
    };

    builder().exclude("moe_*.cu").exclude("mmvq_gguf.cu").exclude("mmq_*.cu").embed_or_exit();

    let mut launchers = builder().flag("-Xcompiler").flag("-fPIC");
    for source in LAUNCHERS {
        launchers = launchers.source(source);
    }
    let products = set(MMQ).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let mut any = false;
    for name in PRODUCTS {
        if products == "1" || products.split(',').any(|product| product.trim() == name) {
            launchers = launchers.source(format!("mmq_gguf/mmq_instance_{name}.cu"));
            println!("cargo::rustc-cfg=mmq=\"{name}\"");
            any = true;
        }
    }
    if any {
        println!("cargo::rustc-cfg=mmq");
    }
    launchers.build_lib_or_exit(out.join("libcandle_launchers.a"));
}
