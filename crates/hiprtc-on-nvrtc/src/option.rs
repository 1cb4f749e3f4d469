//! Options of AMD's compiler, which is clang, in NVRTC's words.

use std::ffi::c_int;

/// The options in NVRTC's words. NVRTC compiles for the `architectures`, in rising order; empty if it does
/// not tell.
///
/// | clang | NVRTC |
/// |---|---|
/// | `--offload-arch=sm_90` | `--gpu-architecture=sm_90`; for an architecture newer than NVRTC, PTX for the newest that it knows |
/// | `-fgpu-rdc` | `-dlto` |
/// | `-O0` | `--ptxas-options=-O0` |
/// | `-O1`, `-O2`, `-O3`, `-Os`, `-Oz`, `-Ofast` | nothing: it always optimises; `-Ofast` also means `--use_fast_math` |
/// | `-ffast-math` | `--use_fast_math` |
/// | `-ffp-contract=off`, and any other value | `--fmad=false`, `--fmad=true` |
/// | `-std=gnu++17` | `-std=c++17` |
/// | `-g`, `-gline-tables-only` | `-lineinfo`: code stays optimised |
/// | `-W…`, `-g0`, `-D__HIP_PLATFORM_AMD__` | nothing |
///
/// Everything else stays as it is. NVRTC's log names an option that it does not know.
#[must_use]
pub fn translate(options: &[&str], architectures: &[c_int]) -> Vec<String> {
    let mut made: Vec<String> = Vec::with_capacity(options.len());
    let mut rest = options.iter().copied();
    while let Some(option) = rest.next() {
        match option {
            // Their values are options of their own, and not to be translated.
            "-D" | "-U" | "-I" | "-include" | "-Xptxas" => {
                made.push(option.to_owned());
                made.extend(rest.next().map(str::to_owned));
            }
            "-arch" | "--gpu-architecture" | "--offload-arch" => {
                made.extend(rest.next().map(|name| architecture(name, architectures)));
            }
            _ => made.extend(one(option, architectures)),
        }
    }
    made
}

/// One option that is whole by itself.
fn one(option: &str, architectures: &[c_int]) -> Option<String> {
    let target = ["--offload-arch=", "--gpu-architecture=", "-arch="];
    if let Some(name) = target.iter().find_map(|prefix| option.strip_prefix(prefix)) {
        return Some(architecture(name, architectures));
    }
    if let Some(language) = option.strip_prefix("-std=gnu++").or_else(|| option.strip_prefix("--std=gnu++")) {
        return Some(format!("-std=c++{language}"));
    }
    if let Some(contract) = option.strip_prefix("-ffp-contract=") {
        return Some(format!("--fmad={}", contract != "off"));
    }
    let name = match option {
        "-fgpu-rdc" => "-dlto",
        "-O0" => "--ptxas-options=-O0",
        "-ffast-math" | "-Ofast" => "--use_fast_math",
        "-g" | "-gline-tables-only" => "-lineinfo",
        "-O" | "-O1" | "-O2" | "-O3" | "-Os" | "-Oz" | "-g0" | "-fno-gpu-rdc" | "-fno-fast-math" => {
            return None;
        }
        _ if option.starts_with("-W") || option.starts_with("-D__HIP_PLATFORM_AMD__") => return None,
        other => other,
    };
    Some(name.to_owned())
}

/// The option for an architecture.
fn architecture(name: &str, known: &[c_int]) -> String {
    let number: Option<c_int> = name.strip_prefix("sm_").and_then(|number| number.parse().ok());
    let newest = known.last().copied();
    match (number, newest) {
        // The driver compiles PTX for what is newer.
        (Some(number), Some(newest)) if number > newest => format!("--gpu-architecture=compute_{newest}"),
        _ => format!("--gpu-architecture={name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn made(options: &[&str]) -> Vec<String> {
        translate(options, &[75, 80, 90])
    }

    #[test]
    fn clangs_options_become_nvrtcs() {
        assert_eq!(made(&["--offload-arch=sm_90"]), ["--gpu-architecture=sm_90"]);
        assert_eq!(
            made(&["-arch", "sm_80", "-arch=sm_90a"]),
            ["--gpu-architecture=sm_80", "--gpu-architecture=sm_90a"]
        );
        assert_eq!(made(&["-O3", "-Wall", "-Wno-unused", "-g0"]), [""; 0]);
        assert_eq!(
            made(&["-O0", "-ffast-math", "-ffp-contract=off", "-std=gnu++17", "-g", "-fgpu-rdc"]),
            ["--ptxas-options=-O0", "--use_fast_math", "--fmad=false", "-std=c++17", "-lineinfo", "-dlto"]
        );
        assert_eq!(made(&["-ffp-contract=fast"]), ["--fmad=true"]);
    }

    #[test]
    fn what_nvrtc_knows_stays_and_so_do_values() {
        let same =
            ["-DN=4", "-D", "-O2", "-I", "-Wall", "-std=c++20", "--maxrregcount=32", "-Xptxas", "-O1", "-w"];
        assert_eq!(made(&same), same);
        assert_eq!(made(&["-D"]), ["-D"]);
    }

    #[test]
    fn a_newer_architecture_gets_ptx() {
        assert_eq!(made(&["--offload-arch=sm_120"]), ["--gpu-architecture=compute_90"]);
        assert_eq!(made(&["--offload-arch=sm_70"]), ["--gpu-architecture=sm_70"], "NVRTC's error names it");
        assert_eq!(translate(&["--offload-arch=sm_120"], &[]), ["--gpu-architecture=sm_120"]);
        assert_eq!(made(&["--offload-arch=gfx90a"]), ["--gpu-architecture=gfx90a"]);
    }
}
