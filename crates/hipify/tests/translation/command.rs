//! The command: its output, its files and its exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, FromArgMatches};
use hipify::command::{Options, Streams, run};
use hipify::{Error, Rule};
use serde_json::Value;
use tempfile::TempDir;

const CUDA: &str = "#include <cuda_runtime.h>\nvoid f() { cudaFree(0); }\n";
const HIP: &str = "#include <hip/hip_runtime.h>\nvoid f() { hipFree(0); }\n";
const BAD: &str = "#include <cuda_runtime.h>\n  cuMulticastCreate(a, b);\n";

/// A folder with sources in it.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sub/.hidden")).unwrap();
    for (name, text) in [
        ("a.cu", CUDA),
        ("sub/b.cuh", CUDA),
        ("sub/c.cpp", "int x;\n"),
        ("sub/notes.txt", CUDA),
        ("sub/.hidden/d.cu", CUDA),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

struct Ran {
    result: Result<ExitCode, Error>,
    out: String,
    err: String,
}

impl Ran {
    fn code(&self) -> u8 {
        // An `ExitCode` reveals its value only when printed.
        let success = format!("{:?}", ExitCode::SUCCESS);
        u8::from(format!("{:?}", self.result.as_ref().expect("it runs")) != success)
    }
}

fn options(arguments: &[&str]) -> Result<Options, clap::Error> {
    let command = Options::augment_args(clap::Command::new("hipify"));
    let matches = command.try_get_matches_from([&["hipify"], arguments].concat())?;
    Options::from_arg_matches(&matches)
}

fn hipify(arguments: &[&str]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let result = run(&options(arguments).expect("options"), &mut Streams { out: &mut out, err: &mut err });
    Ran { result, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

#[test]
fn one_source_goes_to_the_standard_output_and_findings_beside_it() {
    let folder = folder();
    let ran = hipify(&[&path(&folder, "a.cu")]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code()), (HIP, "", 0));
    fs::write(folder.path().join("bad.cu"), BAD).unwrap();
    let ran = hipify(&[&path(&folder, "bad.cu")]);
    assert!(ran.err.contains("bad.cu:2:3: error: "), "{}", ran.err);
    assert_eq!(ran.code(), 0);
    assert_eq!(hipify(&[&path(&folder, "bad.cu"), "--quiet-warnings"]).err, "");
}

#[test]
fn several_sources_need_a_place() {
    let folder = folder();
    let ran = hipify(&[&path(&folder, "")]);
    assert!(matches!(ran.result, Err(Error::SeveralSources(3))), "{:?}", ran.result);
    let ran = hipify(&[&path(&folder, "nothing.cu")]);
    assert!(ran.result.unwrap_err().to_string().contains("nothing.cu"));
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(matches!(hipify(&[&path(&folder, "empty")]).result, Err(Error::NoSources(_))));
}

#[test]
fn in_place_keeps_the_original_and_its_permissions() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(at("a.cu"), fs::Permissions::from_mode(0o640)).unwrap();
    }
    assert_eq!(hipify(&["--in-place", &path(&folder, "")]).code(), 0);
    for name in ["a.cu", "sub/b.cuh"] {
        assert_eq!(text(at(name)), HIP);
        assert_eq!(text(at(&format!("{name}.prehip"))), CUDA);
    }
    assert!(!at("sub/c.cpp.prehip").exists(), "nothing changes there");
    assert_eq!(text(at("sub/.hidden/d.cu")), CUDA);
    assert_eq!(text(at("sub/notes.txt")), CUDA);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(at("a.cu")).unwrap().permissions().mode() & 0o777, 0o640);
    }
    // Changes made by hand since then stay, and so does the first original.
    fs::write(at("a.cu"), format!("{HIP}int more; cudaError_t e;\n")).unwrap();
    assert_eq!(hipify(&["-i", &path(&folder, "a.cu")]).code(), 0);
    assert_eq!(text(at("a.cu")), format!("{HIP}int more; hipError_t e;\n"));
    assert_eq!(text(at("a.cu.prehip")), CUDA);
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.as_encoded_bytes().starts_with(b".hipify")));
}

#[test]
fn output_is_a_file_or_a_folder() {
    let folder = folder();
    let out = folder.path().join("out");
    assert_eq!(hipify(&[&path(&folder, "a.cu"), "--output", &path(&folder, "out/x.cpp")]).code(), 0);
    assert_eq!(text(out.join("x.cpp")), HIP);
    assert_eq!(hipify(&[&path(&folder, "a.cu"), "--output", &path(&folder, "out")]).code(), 0);
    assert_eq!(text(out.join("a.cu")), HIP);
    let tree = tempfile::tempdir().unwrap();
    assert_eq!(hipify(&[&path(&folder, "sub"), "-o", &path(&tree, "tree")]).code(), 0);
    assert_eq!(text(tree.path().join("tree/b.cuh")), HIP);
    assert_eq!(text(tree.path().join("tree/c.cpp")), "int x;\n");
}

#[test]
fn a_difference_shows_both_sides_and_changes_nothing() {
    let folder = folder();
    let ran = hipify(&["--diff", &path(&folder, "")]);
    for line in ["-void f() { cudaFree(0); }\n", "+void f() { hipFree(0); }\n"] {
        assert_eq!(ran.out.matches(line).count(), 2, "{}", ran.out);
    }
    assert_eq!(ran.out.matches("--- a/").count(), 2);
    assert_eq!(text(folder.path().join("a.cu")), CUDA);
}

#[test]
fn a_check_fails_on_errors_and_on_warnings_if_asked() {
    let folder = folder();
    let check = |more: &[&str]| hipify(&[&["--check"], more, &[&path(&folder, "")]].concat());
    assert_eq!(check(&[]).code(), 0);
    fs::write(folder.path().join("w.cu"), "#include <mine.h>\ncudaWhatever();\n").unwrap();
    assert_eq!((check(&[]).code(), check(&["--strict"]).code()), (0, 1));
    assert_eq!(check(&["--strict", "--whitelist", "cudaOther,cudaWhatever"]).code(), 0);
    assert_eq!(check(&["--strict", "--exclude-files", "w.cu"]).code(), 0);
    fs::write(folder.path().join("sub/bad.cu"), BAD).unwrap();
    let ran = check(&[]);
    assert_eq!(ran.code(), 1);
    assert!(
        ran.out.contains("bad.cu:2:3: error: HIP has no equivalent of `cuMulticastCreate` [unsupported]\n")
    );
    assert!(ran.out.ends_with("5 names in 5 files (9 lines): 1 error, 1 warning, 0 notes\n"), "{}", ran.out);
    assert_eq!(check(&["--exclude-dirs", "sub"]).code(), 0);
    // Nothing but CUDA could declare it.
    fs::write(folder.path().join("w.cu"), "cudaWhatever();\n").unwrap();
    assert_eq!(check(&["--exclude-dirs", "sub"]).code(), 1);
    fs::write(folder.path().join("w.h"), "void cudaWhatever();\n").unwrap();
    fs::write(folder.path().join("w.cu"), "#include \"w.h\"\nvoid f() { cudaWhatever(); }\n").unwrap();
    assert_eq!(check(&["--exclude-dirs", "sub", "--strict"]).code(), 0);
    let debug = "#ifdef DEBUG\nvoid f() { cuMulticastCreate(); }\n#endif\n";
    fs::write(folder.path().join("w.cu"), debug).unwrap();
    assert_eq!(check(&["--exclude-dirs", "sub"]).code(), 0);
    assert_eq!(check(&["--exclude-dirs", "sub", "--define", "DEBUG"]).code(), 1);
    assert_eq!(text(folder.path().join("sub/bad.cu")), BAD);
}

#[test]
fn reports_are_json_and_sarif() {
    let folder = folder();
    fs::write(folder.path().join("b d.cu"), BAD).unwrap();
    let report = |format: &str| -> Value {
        let ran = hipify(&["--check", "--format", format, &path(&folder, "")]);
        assert_eq!(ran.code(), 1);
        serde_json::from_str(&ran.out).unwrap()
    };
    let json = report("json");
    assert_eq!(json["summary"]["errors"], 1);
    assert_eq!(json["summary"]["by_family"]["runtime"], 5);
    let finding = &json["files"][1]["findings"][0];
    assert_eq!((&finding["line"], &finding["column"]), (&Value::from(2), &Value::from(3)));
    assert_eq!((&finding["rule"], &finding["severity"]), (&"unsupported".into(), &"error".into()));
    assert!(finding["advice"].as_str().is_some_and(|advice| !advice.is_empty()));

    let sarif = report("sarif");
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), Rule::ALL.len());
    let result = &run["results"][0];
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    assert_eq!(result["level"], "error");
    let place = &result["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("b%20d.cu"));
    let region = |key: &str| place["region"][key].as_u64().unwrap();
    assert_eq!((region("startLine"), region("startColumn"), region("endColumn")), (2, 3, 20));
}

#[test]
fn statistics_count_by_family_kind_and_name() {
    let folder = folder();
    let ran = hipify(&["--examine", &path(&folder, "")]);
    assert!(ran.out.contains("cudaFree => hipFree"), "{}", ran.out);
    assert!(ran.out.contains("all files:"), "{}", ran.out);
    assert_eq!(text(folder.path().join("a.cu")), CUDA);
    let ran = hipify(&["--print-stats", &path(&folder, "a.cu")]);
    assert_eq!(ran.out, HIP);
    assert!(ran.err.contains("names translated      2"), "{}", ran.err);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for arguments in [
        &["--check", "--in-place", "a"][..],
        &["--diff", "--in-place", "a"],
        &["--in-place", "--output", "b", "a"],
        &["--examine", "--check", "a"],
        &[],
    ] {
        assert!(options(arguments).is_err(), "{arguments:?}");
    }
    assert!(options(&["--inplace", "a"]).is_ok_and(|options| options.in_place));
}

#[test]
fn bytes_that_are_no_text_pass_through() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.cu");
    fs::write(&file, b"// \xff\xfe cudaFree\n\xffcudaFree();\n").unwrap();
    assert_eq!(hipify(&["-i", file.to_str().unwrap()]).code(), 0);
    assert_eq!(
        fs::read(Path::new(&file)).unwrap(),
        b"#include <hip/hip_runtime.h>\n// \xff\xfe hipFree\n\xffhipFree();\n"
    );
}
