//! Every name in hipify-perl's tables is translated as by hipify-perl, except for the rows in the table of
//! differences. Without hipify-perl, the tests skip themselves.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use hipify::perl::Facts;
use hipify::tables::{DIFFERENCES, Family};
use hipify::{Options, translate};
use test_skip::{Lack, skip};

/// hipify-perl of the release that the tables are from: named by `FERROCM_HIPIFY_PERL`, installed by `ferrocm
/// setup`, in `PATH`, or in ROCm.
fn hipify_perl() -> Option<PathBuf> {
    let cache = env::var_os("FERROCM_CACHE").map(PathBuf::from).or_else(|| {
        let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        Some(caches.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("ferrocm"))
    });
    let path = env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<_> = env::var_os("FERROCM_HIPIFY_PERL").map(PathBuf::from).into_iter().collect();
    candidates.extend(cache.map(|cache| cache.join("toolchain/current/usr/bin/hipify-perl")));
    candidates.extend(env::split_paths(&path).map(|folder| folder.join("hipify-perl")));
    candidates.push(PathBuf::from("/opt/rocm/bin/hipify-perl"));
    let found = candidates.into_iter().find(|path| path.is_file());
    let Some(found) = found else {
        skip(
            Lack::Tool,
            "no hipify-perl; `ferrocm setup` installs it, and FERROCM_HIPIFY_PERL names another one",
        );
        return None;
    };
    let version = Command::new("perl").arg(&found).arg("-version").output();
    let Ok(version) = version else {
        skip(Lack::Tool, "no perl");
        return None;
    };
    let version = String::from_utf8_lossy(&version.stderr).into_owned();
    if !version.contains("7.2") {
        skip(
            Lack::Machine,
            format_args!("{} is for {}, and the tables are of 7.2", found.display(), version.trim()),
        );
        return None;
    }
    Some(found)
}

fn run(program: &Path, source: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new("perl")
        .arg(program)
        .args(arguments)
        .args(["-quiet-warnings", "--"].map(OsString::from))
        .arg(source)
        .env("LC_ALL", "C")
        .output()
        .expect("perl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn every_name_becomes_what_hipify_perl_makes_of_it() {
    let Some(program) = hipify_perl() else { return };
    let facts = Facts::read(&fs::read_to_string(&program).unwrap());
    assert!(facts.names.len() > 9000, "names of {}", program.display());
    let names: BTreeSet<&str> =
        facts.names.keys().map(String::as_str).chain(DIFFERENCES.iter().map(|d| d.name)).collect();
    let line = |name: &str| {
        if name.contains('.') { format!("#include <{name}>\n") } else { format!("{name} x;\n") }
    };
    let text: String = names.iter().map(|name| line(name)).collect();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("names.cu");
    fs::write(&source, &text).unwrap();

    let mut applied = BTreeSet::new();
    let mut unlisted = Vec::new();
    for arguments in [&[][..], &["-roc"], &["-miopen"], &["-experimental"], &["-roc", "-experimental"]] {
        let mut options = Options::default();
        options.roc = arguments.contains(&"-roc");
        options.miopen = arguments.contains(&"-miopen");
        options.experimental = arguments.contains(&"-experimental");
        options.duplicate_headers = true;
        options.runtime_header = false;
        let mut theirs = run(&program, &source, arguments);
        if theirs.first().is_some_and(|line| line == "#include \"hip/hip_runtime.h\"") {
            theirs.remove(0);
        }
        let ours = String::from_utf8(translate(text.as_bytes(), &options).text).unwrap();
        let ours: Vec<_> = ours.lines().collect();
        assert_eq!(ours.len(), theirs.len());
        for ((name, ours), theirs) in names.iter().zip(ours).zip(&theirs) {
            // Headers that HIP does not need are removed here and become empty brackets there; amid code, a
            // `#` stays.
            if ours == theirs || matches!(ours, "" | "#") && theirs == "#include <>" {
                continue;
            }
            let difference = DIFFERENCES.iter().find(|difference| difference.name == *name);
            let as_listed = difference.filter(|difference| {
                let there = if difference.theirs == "-" { difference.name } else { difference.theirs };
                let any = |line: &str, texts: &str| texts.split('|').any(|text| line.contains(text));
                any(ours, difference.ours) && any(theirs, there)
            });
            match as_listed {
                Some(difference) => _ = applied.insert(difference.name),
                None => unlisted.push(format!("{name} with {arguments:?}: {ours} here, {theirs} there")),
            }
        }
    }
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    for difference in DIFFERENCES.iter() {
        assert!(applied.contains(difference.name), "{} differs no longer: remove its row", difference.name);
    }
}

#[test]
fn the_tables_have_all_that_hipify_perl_says_of_its_names() {
    let Some(program) = hipify_perl() else { return };
    let facts = Facts::read(&fs::read_to_string(&program).unwrap());
    for (file, text) in facts.tables() {
        let family = Family::all().find(|family| format!("{family}.txt") == file);
        let Some(family) = family else { continue };
        assert!(family.table() == text, "{file}: `cargo xtask hipify --update-tables` writes it anew");
    }
}
