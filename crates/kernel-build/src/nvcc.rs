//! nvcc options in build scripts: their translation for clang, so that the list can stay, and which of them
//! nvcc gets. The table of options is [`device_compiler::nvcc::options`].

use std::ffi::{OsStr, OsString};

use device_compiler::nvcc::options::{self, Kind, Role, Row};
use device_compiler::nvcc::response;

use crate::Error;

/// The options for clang, from options of nvcc and clang.
///
/// # Errors
/// [`Error::Option`] for one of nvcc's that AMD's compiler cannot serve.
pub(crate) fn options(given: &[OsString]) -> Result<Vec<OsString>, Error> {
    let given = response::expand(given)?;
    let mut out = Vec::with_capacity(given.len());
    for option in options::each(&given) {
        match option.kind {
            Kind::Option(Row { role: Role::Refused, long, note, .. }, _) => {
                return Err(Error::Option { option: format!("--{long}"), reason: (*note).to_owned() });
            }
            // An option without its value can only be the last.
            Kind::Option(row, value) => {
                out.extend(options::for_clang(row, value.as_deref()).unwrap_or_default());
            }
            Kind::Unknown | Kind::File => out.extend_from_slice(option.words),
        }
    }
    Ok(out)
}

/// The options for nvcc: unchanged, without those that the builder sets itself.
pub(crate) fn for_nvcc(given: &[OsString]) -> Vec<OsString> {
    let is_builders = |kind: &Kind| match kind {
        Kind::Option(row, _) => matches!(row.role, Role::Phase(_) | Role::Place | Role::Architecture),
        Kind::Unknown | Kind::File => false,
    };
    options::each(given)
        .filter(|option| !is_builders(&option.kind))
        .flat_map(|option| option.words)
        .cloned()
        .collect()
}

/// NVIDIA's architectures in options, as written; for `arch=compute_80,code=sm_80`, the latter.
pub(crate) fn archs(given: &[OsString]) -> Vec<String> {
    let mut named = Vec::new();
    for option in options::each(given) {
        if let Kind::Option(Row { role: Role::Architecture, .. }, Some(value)) = option.kind {
            named.extend(options::architectures(OsStr::to_str(&value).unwrap_or_default()));
        }
    }
    named.retain(|name| !name.starts_with("gfx"));
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[&str]) -> Vec<String> {
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        options(&given).unwrap().into_iter().map(|option| option.into_string().unwrap()).collect()
    }

    #[test]
    fn the_options_of_build_scripts_become_clangs() {
        let candle =
            ["--expt-relaxed-constexpr", "-std=c++17", "-O3", "-Xcompiler", "-fPIC", "-DNO_BF16_KERNEL"];
        assert_eq!(of(&candle), ["-std=c++17", "-O3", "-DNO_BF16_KERNEL"]);
        let others = [
            "-gencode=arch=compute_80,code=sm_80",
            "-arch",
            "sm_90",
            "--ptxas-options=-v",
            "--std=c++20",
            "--define-macro",
            "A=1",
            "-t0",
            "--fmad=false",
            "--fmad=true",
            "--threads",
            "4",
            "-diag-suppress=20012",
        ];
        assert_eq!(of(&others), ["-std=c++20", "-DA=1", "-ffp-contract=off"]);
        assert_eq!(of(&["--use_fast_math"]), options::FAST_MATH);
        // The commands would bury errors.
        assert_eq!(of(&["--verbose", "-v", "-Iinclude", "-I", "more"]), ["-Iinclude", "-Imore"]);
    }

    #[test]
    fn nvcc_gets_what_the_builder_does_not_say_itself() {
        let given: Vec<OsString> = [
            "-O3",
            "-std=c++17",
            "--expt-relaxed-constexpr",
            "--ptx",
            "-gencode=arch=compute_80,code=sm_80",
            "-odir",
            "out",
            "-Xcompiler",
            "-fPIC",
            "-arch",
            "sm_90",
            "--define-macro",
            "A=1",
            "--fmad=false",
            "--lib",
        ]
        .map(Into::into)
        .into();
        let kept = [
            "-O3",
            "-std=c++17",
            "--expt-relaxed-constexpr",
            "-Xcompiler",
            "-fPIC",
            "--define-macro",
            "A=1",
            "--fmad=false",
        ];
        assert_eq!(for_nvcc(&given), kept);
        assert_eq!(archs(&given), ["sm_80", "sm_90"]);
        assert_eq!(
            archs(&["-gencode".into(), "arch=compute_90,code=[sm_90,compute_90]".into()]),
            ["sm_90", "compute_90"]
        );
        assert_eq!(archs(&["-O3".into(), "-arch".into()]), [""; 0]);
    }

    #[test]
    fn an_option_without_its_value_ends_the_list() {
        assert_eq!(of(&["-O2", "-Xcompiler"]), ["-O2"]);
        assert_eq!(of(&["--std"]), [""; 0]);
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let error = options(&["-O3".into(), "--optix-ir".into()]).unwrap_err().to_string();
        assert_eq!(error, "nvcc's option --optix-ir: OptiX is for NVIDIA GPUs only");
    }

    #[test]
    fn options_come_from_files_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("options").into_os_string().into_string().unwrap();
        std::fs::write(&file, "-DA=1 -Xptxas -v\n-fmad=false").unwrap();
        let expected = ["-DA=1", "-ffp-contract=off"];
        assert_eq!(of(&["--options-file", &file]), expected);
        assert_eq!(of(&[&format!("@{file}")]), expected);
        assert!(options(&["-optf".into(), "/no/such".into()]).is_err());
    }
}
