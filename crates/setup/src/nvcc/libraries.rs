//! CUDA's libraries that programs are linked with: the runtime, cuBLAS, NCCL and others. Each is made from C
//! when the toolkit's folder is made, and finds the library on which it works when the program runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use device_compiler::toolchain::Toolchain;
use object::{Object as _, ObjectSymbol as _, SymbolKind};

use super::archive;
use crate::hipcc::HIP_LIBRARY;

/// A library of CUDA's.
struct Library {
    /// Its name without `lib`. The static one is also named `_static`.
    name: &'static str,
    /// The shared one's name, if there is one.
    soname: Option<&'static str>,
    code: Code,
}

/// What a library does.
enum Code {
    /// The C file.
    C(&'static str),
    /// Each function jumps to one of another library.
    Jumps(Jumps),
}

struct Jumps {
    soname: &'static str,
    /// The variable with the path of that library.
    variable: Option<&'static str>,
    /// The folder with it beside the HIP library's folder, in the layout of this project's libraries.
    folder: &'static str,
    /// What functions return without it.
    missing: u32,
    /// A line for each function: its name, the other's, and `text` if it returns text. `None` for all
    /// functions of the HIP library.
    names: Option<&'static str>,
}

const LIBRARIES: [Library; 7] = [
    Library {
        name: "cudart",
        soname: None,
        // hipErrorNotInitialized.
        code: Code::Jumps(Jumps { soname: HIP_LIBRARY, variable: None, folder: "", missing: 3, names: None }),
    },
    Library { name: "cublas", soname: Some("libcublas.so.12"), code: Code::C("cublas.c") },
    Library { name: "cublasLt", soname: Some("libcublasLt.so.12"), code: Code::C("cublaslt.c") },
    Library { name: "curand", soname: Some("libcurand.so.10"), code: Code::C("curand.c") },
    Library {
        name: "cufft",
        soname: Some("libcufft.so.11"),
        // CUFFT_SETUP_FAILED.
        code: Code::Jumps(Jumps {
            soname: "libhipfft.so.0",
            variable: None,
            folder: "",
            missing: 7,
            names: Some(include_str!("libraries/cufft.txt")),
        }),
    },
    Library {
        name: "nccl",
        soname: Some("libnccl.so.2"),
        // ncclInternalError.
        code: Code::Jumps(Jumps {
            soname: "librccl.so.1",
            variable: Some("FERROCM_RCCL_LIBRARY"),
            folder: "rccl",
            missing: 3,
            names: Some(include_str!("libraries/nccl.txt")),
        }),
    },
    Library {
        name: "nvrtc",
        soname: Some("libnvrtc.so.12"),
        // NVRTC_ERROR_INTERNAL_ERROR. AMD's library of this name has no such functions.
        code: Code::Jumps(Jumps {
            soname: "libhiprtc.so.7",
            variable: Some("FERROCM_HIPRTC_LIBRARY"),
            folder: "hiprtc",
            missing: 11,
            names: Some(include_str!("libraries/nvrtc.txt")),
        }),
    },
];
/// The C files, and what they include besides headers for programs.
const SOURCES: [(&str, &str); 9] = [
    ("cublas.c", include_str!("libraries/cublas.c")),
    ("cublas_calls.h", include_str!("libraries/cublas_calls.h")),
    ("cublas_sized.h", include_str!("libraries/cublas_sized.h")),
    ("cublas_wrappers.h", include_str!("libraries/cublas_wrappers.h")),
    ("cublaslt.c", include_str!("libraries/cublaslt.c")),
    ("curand.c", include_str!("libraries/curand.c")),
    ("find.c", include_str!("libraries/find.c")),
    ("rocblas.h", include_str!("libraries/rocblas.h")),
    ("shim_types.h", include_str!("libraries/shim_types.h")),
];
/// The headers for programs.
pub(super) const HEADERS: [(&str, &str); 14] = [
    ("cublas.h", include_str!("libraries/include/cublas.h")),
    ("cublasXt.h", include_str!("libraries/include/cublasXt.h")),
    ("cublas_api.h", include_str!("libraries/include/cublas_api.h")),
    ("cufft.h", include_str!("libraries/include/cufft.h")),
    ("cufftXt.h", include_str!("libraries/include/cufftXt.h")),
    ("cublas_v2.h", include_str!("libraries/include/cublas_v2.h")),
    ("cublasLt.h", include_str!("libraries/include/cublasLt.h")),
    ("ferrocm_cublas.h", include_str!("libraries/include/ferrocm_cublas.h")),
    ("ferrocm_cublaslt.h", include_str!("libraries/include/ferrocm_cublaslt.h")),
    ("ferrocm_cublaslt_structures.h", include_str!("libraries/include/ferrocm_cublaslt_structures.h")),
    ("ferrocm_library_c.h", include_str!("libraries/include/ferrocm_library_c.h")),
    ("ferrocm_nccl_structures.h", include_str!("libraries/include/ferrocm_nccl_structures.h")),
    ("nccl.h", include_str!("libraries/include/nccl.h")),
    ("nvrtc.h", include_str!("libraries/include/nvrtc.h")),
];
/// The headers of CUDA's folder that C files include, too.
const SHARED_HEADERS: [&str; 3] = ["curand.h", "ferrocm_mrg.h", "ferrocm_xorwow.h"];
const JUMPS: &str = include_str!("libraries/jumps.c");

/// What the libraries are made from, except the HIP library.
pub(super) fn salt() -> String {
    let sources: String = SOURCES.iter().map(|(_, text)| *text).collect();
    let names = LIBRARIES.iter().filter_map(|library| match &library.code {
        Code::Jumps(jumps) => jumps.names,
        Code::C(_) => None,
    });
    format!("{sources}{JUMPS}{}{LINK_OPTIONS:?}{LIBC}", names.collect::<String>())
}

/// Whether a program is linked with one of the shared libraries.
pub(super) fn is_shared(name: &OsStr) -> bool {
    LIBRARIES.iter().any(|library| library.soname.is_some() && name == library.name)
}

/// Makes all libraries in a folder, for programs that use this HIP library. `headers` has CUDA's headers.
pub(super) fn make(toolchain: &Toolchain, hip: &Path, headers: &Path, folder: &Path) -> Result<(), String> {
    let work = tempfile::tempdir().map_err(|error| error.to_string())?;
    let write = |path: PathBuf, bytes: &[u8]| {
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
    };
    let lists = |text: &str| {
        text.replace("@HIP@", HIP_LIBRARY)
            .replace("@HIP_PLACES@", &places(hip, "", HIP_LIBRARY))
            .replace("@ROCBLAS_PLACES@", &places(hip, "rocblas", "librocblas.so.5"))
    };
    for (name, text) in SOURCES.iter().chain(&HEADERS) {
        write(work.path().join(name), lists(text).as_bytes())?;
    }
    for name in SHARED_HEADERS {
        let path = headers.join(name);
        let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        write(work.path().join(name), &text)?;
    }
    // C files read no runtime.
    write(work.path().join("cuda_runtime.h"), b"")?;
    let libc = libc(toolchain, work.path())?;
    for library in &LIBRARIES {
        let file = match &library.code {
            Code::C(file) => (*file).to_owned(),
            Code::Jumps(jumps) => {
                let file = format!("{}.c", library.name);
                write(work.path().join(&file), lists(&jumps.text(library, hip)?).as_bytes())?;
                file
            }
        };
        let object = work.path().join(format!("{}.o", library.name));
        let mut clang: Command = toolchain.plain_command();
        clang.args(["-x", "c", "-std=gnu17", "-O2", "-fPIC", "-ffreestanding", "-c"]);
        clang.arg(work.path().join(file)).arg("-o").arg(&object);
        crate::run::capture(&mut clang).map_err(|error| error.to_string())?;
        let bytes = fs::read(&object).map_err(|error| error.to_string())?;
        let made = archive::of_one(&format!("{}.o", library.name), &bytes)?;
        write(folder.join(format!("lib{}_static.a", library.name)), &made)?;
        let Some(soname) = library.soname else { continue };
        let mut link = toolchain.linker_command();
        link.args(LINK_OPTIONS).args(["-soname", soname, "-o"]).arg(folder.join(soname)).arg(&object);
        crate::run::capture(link.arg(&libc)).map_err(|error| error.to_string())?;
        let plain = folder.join(format!("lib{}.so", library.name));
        std::os::unix::fs::symlink(soname, &plain)
            .map_err(|error| format!("{}: {error}", plain.display()))?;
    }
    Ok(())
}

/// A library with the C library's name and nothing in it, to link with. What needs the C library is
/// initialised after it: a constructor that ran before would have no environment, and nor would the libraries
/// that it opens.
fn libc(toolchain: &Toolchain, work: &Path) -> Result<PathBuf, String> {
    let (source, object, library) = (work.join("empty.c"), work.join("empty.o"), work.join(LIBC));
    fs::write(&source, "").map_err(|error| format!("{}: {error}", source.display()))?;
    let mut clang = toolchain.plain_command();
    clang.args(["-x", "c", "-fPIC", "-c"]).arg(&source).arg("-o").arg(&object);
    crate::run::capture(&mut clang).map_err(|error| error.to_string())?;
    let mut link = toolchain.linker_command();
    link.args(["-shared", "-soname", LIBC, "-o"]).arg(&library).arg(&object);
    crate::run::capture(&mut link).map_err(|error| error.to_string())?;
    Ok(library)
}

/// The linker's options for the shared libraries.
const LINK_OPTIONS: [&str; 2] = ["-shared", "-Bsymbolic"];

/// The C library.
const LIBC: &str = "libc.so.6";

/// Where a library may be, as the beginning of a list in C: in the layout of this project's libraries, and
/// beside the HIP library.
fn places(hip: &Path, folder: &str, soname: &str) -> String {
    let beside = hip.parent().unwrap_or(Path::new("/"));
    let mut list = String::new();
    let mut add = |path: PathBuf| {
        list.push('"');
        path.as_os_str().as_bytes().iter().for_each(|byte| list.push_str(&format!("\\{byte:03o}")));
        list.push_str("\", ");
    };
    if !folder.is_empty() {
        add(beside.join(folder).join(soname));
    }
    add(beside.join(soname));
    list
}

impl Jumps {
    /// The library in C.
    fn text(&self, library: &Library, hip: &Path) -> Result<String, String> {
        let hips;
        let names: Vec<[&str; 3]> = match self.names {
            Some(lines) => lines
                .lines()
                .map(|line| {
                    let mut words = line.split(' ');
                    [(); 3].map(|()| words.next().unwrap_or_default())
                })
                .collect(),
            None => {
                hips = functions(hip)?;
                hips.iter().map(|name| [name.as_str(), name.as_str(), ""]).collect()
            }
        };
        let variable = self.variable.map_or_else(|| "0".to_owned(), |name| format!("\"{name}\""));
        let text = JUMPS
            .replace("@PREFIX@", library.name)
            .replace("@SONAME@", self.soname)
            .replace("@VARIABLE@", &variable)
            // The HIP library is first, and works on no other.
            .replace("@ORDER@", if self.names.is_some() { "102" } else { "101" })
            .replace("@HIP_PLACES@", if self.names.is_some() { "@HIP_PLACES@" } else { "" })
            .replace("@PLACES@", &places(hip, self.folder, self.soname));
        Ok(format!("{text}{}", self.stubs(library, &names)))
    }

    /// A jump for each function, through a table that is filled when the program starts.
    fn stubs(&self, library: &Library, names: &[[&str; 3]]) -> String {
        let prefix = format!("ferrocm_{}", library.name);
        let mut code = format!(
            "__asm__(\".text\\n\"\n\"{prefix}_missing: movl ${}, %eax\\n xorl %edx, %edx\\n ret\\n\"\n\
             \"{prefix}_text: leaq {prefix}_absent(%rip), %rax\\n ret\\n\"\n\
             \"{prefix}_absent: .asciz \\\"there is no {}\\\"\\n\"\n",
            self.missing, self.soname
        );
        // A function of a static library stays the program's own.
        let visibility = |name: &str| match library.soname {
            Some(_) => String::new(),
            None => format!(".hidden {name}\\n"),
        };
        for (i, [name, ..]) in names.iter().enumerate() {
            let (at, hidden) = (8 * i, visibility(name));
            code.push_str(&format!(
                "\".globl {name}\\n{hidden}.type {name},@function\\n{name}: jmp *{prefix}_slots+{at}(%rip)\\n\"\n"
            ));
        }
        code.push_str(&format!(
            "\".data\\n.p2align 3\\n.globl {prefix}_slots\\n.hidden {prefix}_slots\\n{prefix}_slots:\\n\"\n"
        ));
        for [.., kind] in names {
            let other = if *kind == "text" { "text" } else { "missing" };
            code.push_str(&format!("\".quad {prefix}_{other}\\n\"\n"));
        }
        code.push_str(&format!(
            "\".section .rodata\\n.globl {prefix}_names\\n.hidden {prefix}_names\\n{prefix}_names:\\n\"\n"
        ));
        for [_, other, _] in names {
            code.push_str(&format!("\".asciz \\\"{other}\\\"\\n\"\n"));
        }
        code.push_str("\".byte 0\\n.text\\n\");\n");
        code
    }
}

/// The functions of the HIP library.
fn functions(library: &Path) -> Result<Vec<String>, String> {
    let bytes = fs::read(library).map_err(|error| error.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let mut names: Vec<String> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use device_compiler::{cache::Cache, toolchain};

    use super::*;

    /// The libraries that a shared library needs.
    fn needed(path: &Path) -> Vec<String> {
        use object::elf::{DT_NEEDED, FileHeader64};
        use object::read::elf::{Dyn as _, FileHeader as _};
        let bytes = fs::read(path).unwrap();
        let header = FileHeader64::<object::Endianness>::parse(&*bytes).unwrap();
        let endian = header.endian().unwrap();
        let sections = header.sections(endian, &*bytes).unwrap();
        let (entries, strings) = sections.dynamic(endian, &*bytes).unwrap().unwrap();
        let strings = sections.strings(endian, &*bytes, strings).unwrap();
        let names = entries.iter().filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
        let name = |entry: &_| {
            String::from_utf8(object::read::elf::Dyn::string(entry, endian, strings).unwrap().to_vec())
        };
        names.map(|entry| name(entry).unwrap()).collect()
    }

    #[test]
    fn every_library_is_made_and_has_its_functions() {
        let Ok(toolchain) = toolchain::find() else {
            test_skip::skip(test_skip::Lack::Tool, "there is no device compiler");
            return;
        };
        let folder = tempfile::tempdir().expect("folder");
        let headers = Cache::open(folder.path()).and_then(|cache| cache.cuda_headers()).expect("headers");
        // Any file with dynamic symbols stands for the HIP library.
        let hip = std::env::current_exe().expect("this program");
        make(&toolchain, &hip, &headers, folder.path()).expect("libraries");
        for (name, function) in [
            ("libcublas.so", "cublasSgemm_v2"),
            ("libcublasLt.so", "cublasLtMatmul"),
            ("libcufft.so", "cufftPlan1d"),
            ("libcurand.so", "curandGenerateUniform"),
            ("libnccl.so", "ncclAllReduce"),
            ("libnvrtc.so", "nvrtcCompileProgram"),
        ] {
            let found = functions(&folder.path().join(name)).expect("a shared library");
            assert!(found.iter().any(|found| found == function), "{name}: {found:?}");
            assert_eq!(needed(&folder.path().join(name)), [LIBC], "{name} is initialised after it");
        }
        for library in &LIBRARIES {
            assert!(folder.path().join(format!("lib{}_static.a", library.name)).is_file());
        }
    }
}
