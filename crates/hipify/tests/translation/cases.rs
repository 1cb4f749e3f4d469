//! Sources and their translations: `cases/NAME.cu`, `NAME.cu.hip`, and `NAME.cu.findings` if there are
//! findings.
//!
//! The first line of a source may set options: `// OPTIONS: roc hip-launches`. `FERROCM_BLESS=1` rewrites the
//! expected files.

use std::path::{Path, PathBuf};
use std::{env, fs};

use hipify::{Options, translate};

fn options(text: &str) -> Options {
    let mut options = Options::default();
    let first = text.lines().next().and_then(|line| line.strip_prefix("// OPTIONS: "));
    for option in first.unwrap_or_default().split_whitespace() {
        match option {
            "roc" => options.roc = true,
            "miopen" => options.miopen = true,
            "experimental" => options.experimental = true,
            "hip-launches" => options.hip_launches = true,
            "keep-comments" => options.comments = false,
            "keep-duplicate-headers" => options.duplicate_headers = true,
            "no-runtime-header" => options.runtime_header = false,
            own if own.starts_with("own=") => options.own_names.push(own[4..].to_owned()),
            other => panic!("no option {other}"),
        }
    }
    options
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    paths.sort();
    paths
}

/// The differing lines, each with its number: `-` expected, `+` found.
fn differences(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let mut out = String::new();
    for line in 0..expected.len().max(found.len()) {
        let (expected, found) = (expected.get(line), found.get(line));
        if expected != found {
            for (sign, text) in [('-', expected), ('+', found)] {
                out.extend(text.map(|text| format!("{:4} {sign}{text}\n", line + 1)));
            }
        }
    }
    out
}

#[test]
fn sources_become_what_is_expected() {
    let bless = env::var_os("FERROCM_BLESS").is_some();
    let cases = cases();
    assert!(cases.len() > 20);
    for path in cases {
        let text = fs::read_to_string(&path).unwrap();
        let options = options(&text);
        let translation = translate(text.as_bytes(), &options);
        let findings: String = translation
            .findings
            .iter()
            .map(|f| format!("{}:{}: {}: {} [{}]\n", f.line, f.column, f.severity, f.message, f.rule))
            .collect();
        let beside = |extension: &str| PathBuf::from(format!("{}.{extension}", path.display()));
        if bless {
            fs::write(beside("hip"), &translation.text).unwrap();
            let _ = fs::remove_file(beside("findings"));
            if !findings.is_empty() {
                fs::write(beside("findings"), &findings).unwrap();
            }
        }
        let name = path.display();
        let translated = String::from_utf8(translation.text.clone()).unwrap();
        for (what, extension, found) in [("", "hip", &translated), ("'s findings", "findings", &findings)] {
            let expected = fs::read_to_string(beside(extension)).unwrap_or_default();
            assert!(&expected == found, "{name}{what}:\n{}", differences(&expected, found));
        }
        assert_eq!(translate(&translation.text, &options).text, translation.text, "{name} a second time");
        let lines = translation.text.split_inclusive(|&byte| byte == b'\n').count();
        let added = usize::from(translated.starts_with("#include <hip/hip_runtime.h>\n"));
        assert!((text.lines().count()..=text.lines().count() + added).contains(&lines), "{name}");
    }
}
