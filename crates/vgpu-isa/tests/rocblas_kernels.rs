//! All machine code in Debian's packages of rocBLAS: it decodes, prints as LLVM prints it, and its metadata
//! is read.
//!
//! `cargo xtask test rocblas-kernels RELEASE` fetches the packages and names the folder of the kernels in
//! `FERROCM_ROCBLAS_KERNELS`; without it, nothing is tested. If llvm-objdump 22 is installed, each listing is
//! compared with its listing.

mod objdump;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use code_object::CodeObject;
use test_skip::{Lack, skip};
use vgpu_isa::{Isa, Listed};

const FOLDER_VARIABLE: &str = "FERROCM_ROCBLAS_KERNELS";

/// Files below a folder that hold machine code.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let entry = entry.expect("an entry of the folder");
        let path = entry.path();
        if entry.file_type().expect("its type").is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "co" || extension == "hsaco") {
            found.push(path);
        }
    }
}

/// The content of a compressed bundle; other bytes unchanged.
fn uncompressed(bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(code_object::bundle::COMPRESSED_MAGIC) {
        return code_object::bundle::uncompressed(&bytes).expect("a compressed bundle");
    }
    bytes
}

/// The code objects of a file: the file itself, or the entries if it is a bundle.
fn code_objects(bytes: &[u8]) -> Vec<&[u8]> {
    if !bytes.starts_with(code_object::bundle::MAGIC) {
        return vec![bytes];
    }
    let entries = code_object::bundle::entries(bytes).expect("a sound bundle");
    entries.into_iter().map(|entry| entry.bytes).filter(|bytes| !bytes.is_empty()).collect()
}

#[derive(Default)]
struct Total {
    objects: u64,
    kernels: u64,
    instructions: u64,
}

#[test]
fn all_kernels_decode_and_print_as_llvm_does() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else {
        skip(
            Lack::Suite,
            format_args!("{FOLDER_VARIABLE} is not set; run `cargo xtask test rocblas-kernels all`"),
        );
        return;
    };
    let mut all = Vec::new();
    files(Path::new(&folder), &mut all);
    assert!(!all.is_empty(), "no kernels in {}", folder.display());
    all.sort();
    let tool = objdump::llvm_objdump();
    if tool.is_none() {
        skip(Lack::Tool, "listings are not compared: llvm-objdump 22 is not installed");
    }
    if tool.is_none() {
        eprintln!("llvm-objdump 22 is not installed: texts are not compared");
    }
    let (next, totals, failures) = (AtomicUsize::new(0), Mutex::default(), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (next, totals, failures, all, tool) = (&next, &totals, &failures, &all, &tool);
            scope.spawn(move || {
                let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels-{thread}.co"));
                while let Some(file) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let bytes = uncompressed(std::fs::read(file).expect("readable"));
                    for object in code_objects(&bytes) {
                        if let Err(what) = check(object, tool.as_deref(), &place, totals) {
                            failures
                                .lock()
                                .expect("no thread panics")
                                .push(format!("{}: {what}", file.display()));
                        }
                    }
                }
                let _ = std::fs::remove_file(place);
            });
        }
    });
    let totals: BTreeMap<String, Total> = totals.into_inner().expect("no thread panics");
    for (target, total) in &totals {
        let Total { objects, kernels, instructions } = total;
        eprintln!("{target}: {objects} code objects, {kernels} kernels, {instructions} instructions");
    }
    let failures = failures.into_inner().expect("no thread panics");
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
    assert!(totals.values().any(|total| total.instructions > 0), "no kernels of the targets");
}

/// Checks one code object; those of other targets only for their metadata.
fn check(
    bytes: &[u8],
    tool: Option<&Path>,
    place: &Path,
    totals: &Mutex<BTreeMap<String, Total>>,
) -> Result<(), String> {
    let object = CodeObject::parse(bytes).map_err(|e| e.to_string())?;
    let processor = object.target().processor.to_string();
    let listed = match Isa::by_name(&processor) {
        Some(_) => objdump::check(bytes, tool, place)?,
        None => Listed::default(),
    };
    if listed.unknown > 0 {
        return Err(format!("{} words are no instruction", listed.unknown));
    }
    let mut totals = totals.lock().expect("no thread panics");
    let total = totals.entry(processor).or_default();
    total.objects += 1;
    total.kernels += object.kernels().len() as u64;
    total.instructions += listed.instructions;
    Ok(())
}
