//! Each way to find a library, with libraries compiled for the tests. Every test uses its own names, because
//! an opened library stays in the process.

use std::path::{Path, PathBuf};

use sys_load::{Library, LoadError, Places, Search, Source, Version, Versioning};

use crate::workshop::Workshop;

/// The source of every library of these tests.
const SOURCE: &str = "int slt_present(void) { return 1; }";

fn search(names: &'static [&'static str]) -> Search {
    Search {
        what: "the test library",
        variable: "SLT_LIBRARY",
        names,
        required: c"slt_present",
        versioning: Versioning::FileName { otherwise: None },
        stack: sys_load::Stack::Rocm,
    }
}

fn find(search: &Search, places: &Places) -> Result<Library, LoadError> {
    // SAFETY: what has the names of the search in these places was made by the test and has no initialisers.
    unsafe { Library::find_in(search, places) }
}

fn open_by_hand(path: &Path) {
    // SAFETY: the library was made by the test and has no initialisers.
    let library = unsafe { libloading::Library::new(path) }.expect("it opens");
    std::mem::forget(library);
}

/// The one attempt at this place.
fn reason<'a>(error: &'a LoadError, place: &Path) -> &'a str {
    let place = place.to_string_lossy();
    let mut found = error.attempts.iter().filter(|attempt| attempt.place == place);
    match (found.next(), found.next()) {
        (Some(attempt), None) => &attempt.reason,
        other => panic!("{place}: {other:?} in\n{error}"),
    }
}

#[test]
fn the_variable_names_the_one_file() {
    let Some(workshop) = Workshop::open() else { return };
    let file = workshop.library("anywhere/odd name.so", SOURCE);
    workshop.library("rocm/lib/libslt_variable.so.1", SOURCE);
    let places = Places::within(workshop.path("")).with_variable("ROCM_PATH", workshop.path("rocm"));
    let search = search(&["libslt_variable.so.1"]);

    let library = find(&search, &places.clone().with_variable("SLT_LIBRARY", &file)).unwrap();
    assert_eq!((library.path(), library.source()), (&*file, Source::Variable("SLT_LIBRARY")));
    assert_eq!(library.version(), None);

    let missing = workshop.path("missing.so");
    let error = find(&search, &places.clone().with_variable("SLT_LIBRARY", &missing)).unwrap_err();
    assert_eq!(error.attempts.len(), 1, "nothing else is tried: {error}");
    assert_eq!(error.attempts[0].source, Source::Variable("SLT_LIBRARY"));
    assert!(reason(&error, &missing).contains("No such file"), "{error}");

    let library = find(&search, &places.with_variable("SLT_LIBRARY", "")).unwrap();
    assert_eq!(library.source(), Source::Installation("ROCM_PATH"), "an empty variable is not set");
}

#[test]
fn files_that_do_not_serve_say_why() {
    let Some(workshop) = Workshop::open() else { return };
    let search = search(&["libslt_why.so.1"]);
    let why = |path: &Path| {
        // SAFETY: the only one that can be opened was made by this test.
        let error = unsafe { Library::open(&search, path) }.unwrap_err();
        assert_eq!((error.attempts.len(), error.attempts[0].source), (1, Source::Caller));
        let text = error.to_string();
        assert!(text.contains("the test library") && text.contains("SLT_LIBRARY"), "{text}");
        error.attempts[0].reason.clone()
    };

    let text = workshop.path("text.so");
    std::fs::write(&text, "no library, but long enough to have a header if it were one, which it is not")
        .unwrap();
    let short = workshop.path("short.so");
    std::fs::write(&short, "\x7fELF").unwrap();
    let other = workshop.library("other.so", "int something_else(void) { return 1; }");
    let needy = workshop.library_with("needy.so", "int f(void); int slt_present(void) { return f(); }", &[]);
    let dangling = workshop.link("dangling.so", "nowhere.so");

    assert_eq!(why(&text), "invalid ELF header");
    assert_eq!(why(&short), "file too short");
    assert_eq!(why(&other), "has no symbol slt_present");
    assert!(why(&needy).contains("undefined symbol: f"));
    assert!(why(&dangling).contains("No such file"));
    assert!(why(&workshop.path("")).contains("directory"));
    assert!(why(Path::new("a\0b")).to_lowercase().contains("nul"), "{}", why(Path::new("a\0b")));
}

#[test]
fn an_explicit_path_gives_file_and_version() {
    let Some(workshop) = Workshop::open() else { return };
    let file = workshop.library("libslt_explicit.so.6.4.43483", SOURCE);
    let link = workshop.link("libslt_explicit.so.6", &file);
    // SAFETY: the library was made by this test.
    let library = unsafe { Library::open(&search(&[]), &link) }.unwrap();
    assert_eq!(library.path(), file);
    assert_eq!(library.version(), Some(Version::new(6, 4, 43483)));
    assert!(library.symbol(c"slt_present").is_some() && library.symbol(c"slt_absent").is_none());
}

#[test]
fn a_loaded_library_is_found_whatever_its_file_is_called() {
    let Some(workshop) = Workshop::open() else { return };
    let nowhere = Places::within(workshop.path("empty"));

    let newer = workshop.library("process/libslt_newer.so.9.8.7", SOURCE);
    open_by_hand(&newer);
    let library = find(&search(&["libslt_newer.so.2", "libslt_newer.so.1"]), &nowhere).unwrap();
    assert_eq!((library.path(), library.source()), (&*newer, Source::Process));
    assert_eq!(library.version(), Some(Version::new(9, 8, 7)));

    let linked = workshop.library("process/libslt_linked.so.1.2.3", SOURCE);
    open_by_hand(&workshop.link("process/plugin", &linked));
    let library = find(&search(&["libslt_linked.so.2"]), &nowhere).unwrap();
    assert_eq!((library.path(), library.source()), (&*linked, Source::Process));

    let mangled = workshop.library("process/libslt_mangled-0a1b2c3d.so.6", SOURCE);
    open_by_hand(&mangled);
    let library = find(&search(&["libslt_mangled.so.7"]), &nowhere).unwrap();
    assert_eq!((library.path(), library.source()), (&*mangled, Source::Process));

    let renamed = workshop.library_with("process/renamed", SOURCE, &["-Wl,-soname,libslt_soname.so.1"]);
    open_by_hand(&renamed);
    let library = find(&search(&["libslt_soname.so.1"]), &nowhere).unwrap();
    assert_eq!((library.path(), library.source()), (&*renamed, Source::Process));
}

#[test]
fn a_loaded_library_that_is_another_one_is_passed_over() {
    let Some(workshop) = Workshop::open() else { return };
    let wrong = workshop.library_with(
        "process/libslt_wrong.so.1",
        "int something_else(void) { return 1; }",
        &["-Wl,-soname,libslt_wrong.so.1"],
    );
    open_by_hand(&wrong);
    let right = workshop.library("rocm/lib/libslt_wrong.so.2", SOURCE);
    let places = Places::within(workshop.path("empty")).with_variable("ROCM_PATH", workshop.path("rocm"));
    let library = find(&search(&["libslt_wrong.so.2", "libslt_wrong.so.1"]), &places).unwrap();
    assert_eq!(library.path(), right);
    let loaded: Vec<_> =
        library.passed_over().iter().filter(|attempt| attempt.source == Source::Process).collect();
    assert_eq!(loaded.len(), 1, "once, though it has two names: {loaded:?}");
    assert_eq!(loaded[0].reason, "has no symbol slt_present");
}

#[test]
fn libraries_beside_a_loaded_one_go_before_the_systems() {
    let Some(workshop) = Workshop::open() else { return };
    open_by_hand(&workshop.library("release/lib/libamd_comgr.so.3", "int comgr(void) { return 1; }"));
    let beside = workshop.library("release/lib/libslt_beside.so.1", SOURCE);
    workshop.library("rocm/lib/libslt_beside.so.1", SOURCE);
    let places = Places::within(workshop.path("empty")).with_variable("ROCM_PATH", workshop.path("rocm"));
    let library = find(&search(&["libslt_beside.so.1"]), &places).unwrap();
    assert_eq!((library.path(), library.source()), (&*beside, Source::Beside));
}

#[test]
fn the_systems_loader_goes_before_installations() {
    let Some(workshop) = Workshop::open() else { return };
    // Every loader knows the C library, and the process has it; the required symbol keeps the search from
    // stopping there.
    let error = find(&search(&["libc.so.6"]), &Places::within(workshop.path("empty"))).unwrap_err();
    let by_loader = error.attempts.iter().position(|attempt| attempt.source == Source::Loader).unwrap();
    assert_eq!(error.attempts[by_loader].reason, "has no symbol slt_present");
    let in_opt = error.attempts.iter().position(|attempt| attempt.source == Source::Installation("/opt"));
    assert!(in_opt.is_some_and(|in_opt| by_loader < in_opt), "{error}");
}

#[test]
fn variables_go_before_opt_and_opt_goes_before_wheels() {
    let Some(workshop) = Workshop::open() else { return };
    const NAMES: &[&str] = &["libslt_order.so.1"];
    let rocm_path = workshop.library("rocm/lib/libslt_order.so.1", SOURCE);
    let hip_path = workshop.library("hip/lib64/libslt_order.so.1", SOURCE);
    let opt = workshop.library("opt/rocm/lib/libslt_order.so.1", SOURCE);
    let newer = workshop.library("opt/rocm-7.10.0/lib/libslt_order.so.1", SOURCE);
    let older = workshop.library("opt/rocm-7.2.1/lib/libslt_order.so.1", SOURCE);
    let wheel =
        workshop.library("env/lib/python3.12/site-packages/_rocm_sdk_core/lib/libslt_order.so.1", SOURCE);
    let places = Places::within(workshop.path(""))
        .with_variable("ROCM_PATH", workshop.path("rocm"))
        .with_variable("HIP_PATH", workshop.path("hip"))
        .with_variable("VIRTUAL_ENV", workshop.path("env"));

    // The order of the places. An opened file would be found in the process from then on, so these files are
    // not libraries, and the search reports each attempt.
    let expected: [(&PathBuf, Source); 6] = [
        (&rocm_path, Source::Installation("ROCM_PATH")),
        (&hip_path, Source::Installation("HIP_PATH")),
        (&opt, Source::Installation("/opt")),
        (&newer, Source::Installation("/opt")),
        (&older, Source::Installation("/opt")),
        (&wheel, Source::Wheel("VIRTUAL_ENV")),
    ];
    for (file, _) in &expected {
        std::fs::write(file, "spoilt").unwrap();
    }
    let error = find(&search(NAMES), &places).unwrap_err();
    let tried: Vec<(PathBuf, Source)> = error
        .attempts
        .iter()
        .filter(|attempt| attempt.reason == "file too short")
        .map(|attempt| (PathBuf::from(&attempt.place), attempt.source))
        .collect();
    assert_eq!(tried, expected.map(|(file, source)| (file.clone(), source)), "{error}");

    std::fs::remove_file(&older).unwrap();
    let restored = workshop.library("opt/rocm-7.2.1/lib/libslt_order.so.1", SOURCE);
    let library = find(&search(NAMES), &places).unwrap();
    assert_eq!((library.path(), library.source()), (&*restored, Source::Installation("/opt")));
    assert_eq!(library.passed_over().iter().filter(|a| a.reason == "file too short").count(), 4);
}

#[test]
fn wheels_give_libraries_with_and_without_versions() {
    let Some(workshop) = Workshop::open() else { return };
    let site = "env/lib/python3.12/site-packages";
    let core = workshop.library(&format!("{site}/_rocm_sdk_core/lib/libslt_core.so.7"), SOURCE);
    let blas =
        workshop.library(&format!("{site}/_rocm_sdk_libraries_gfx110X_all/lib/libslt_blas.so.5"), SOURCE);
    let torch = workshop.library(&format!("{site}/torch/lib/libslt_torch.so"), SOURCE);
    let places = Places::within(workshop.path("empty")).with_variable("VIRTUAL_ENV", workshop.path("env"));
    for (names, file) in [
        (&["libslt_core.so.7", "libslt_core.so"][..], core),
        (&["libslt_blas.so.5", "libslt_blas.so"], blas),
        (&["libslt_torch.so.7", "libslt_torch.so"], torch),
    ] {
        let library = find(&search(names), &places).unwrap();
        assert_eq!((library.path(), library.source()), (&*file, Source::Wheel("VIRTUAL_ENV")));
        assert_eq!(library.version(), None, "an ABI number is no version");
    }
}

#[test]
fn versions_are_asked_for_where_names_do_not_tell() {
    let Some(workshop) = Workshop::open() else { return };
    fn ask(library: &Library) -> Option<Version> {
        let function = library.symbol(c"slt_version")?;
        // SAFETY: every library of this test that has the symbol gives it this type.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(function) };
        Some(Version::new(function(), 1, 0))
    }
    let telling = "int slt_present(void) { return 1; } unsigned slt_version(void) { return 8; }";
    let plain = workshop.library("libslt_plain.so.1", telling);
    let named = workshop.library("libslt_named.so.2.3.4", telling);
    let silent = workshop.library("libslt_silent.so.1", SOURCE);
    let version = |path: &Path, versioning| {
        // SAFETY: the libraries were made by this test.
        unsafe { Library::open(&Search { versioning, ..search(&[]) }, path) }.unwrap().version()
    };
    let by_name = Versioning::FileName { otherwise: Some(ask) };
    assert_eq!(version(&plain, by_name), Some(Version::new(8, 1, 0)));
    assert_eq!(version(&named, by_name), Some(Version::new(2, 3, 4)), "the name goes first");
    assert_eq!(
        version(&named, Versioning::Ask(ask)),
        Some(Version::new(8, 1, 0)),
        "the name counts other things"
    );
    assert_eq!(version(&silent, by_name), None);
    assert_eq!(version(&silent, Versioning::Ask(ask)), None);
}

#[test]
#[cfg_attr(miri, ignore = "Miri cannot open libraries")]
fn the_error_tells_every_place_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let folders = [
        "rocm/lib",
        "rocm/lib64",
        "opt/rocm/lib",
        "opt/rocm/core-7.14/lib",
        "opt/rocm-7.2.1",
        "env/lib/python3.12/site-packages/torch/lib",
        "env/lib/python3.9/site-packages",
    ];
    for folder in folders {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let places = Places::within(&root)
        .with_variable("ROCM_PATH", root.join("rocm"))
        .with_variable("HIP_PATH", root.join("gone"))
        .with_variable("VIRTUAL_ENV", root.join("env"))
        .with_variable("CONDA_PREFIX", root.join("conda"))
        .with_variable("PYTHONPATH", root.join("modules"));
    let error = find(&search(&["libslt_none.so.2", "libslt_none.so.1"]), &places).unwrap_err();
    let text = error.to_string().replace(&*root.to_string_lossy(), "ROOT");
    // Another test may have loaded a ROCm library into this process; then its folder is searched, too.
    let lines: Vec<_> =
        text.lines().filter(|line| !line.contains("(beside a loaded library of the same stack)")).collect();
    let missing = "cannot open shared object file: No such file or directory";
    let none = "has none of libslt_none.so.2, libslt_none.so.1";
    let expected = [
        "the test library was not found (set SLT_LIBRARY to name its file); tried:".to_owned(),
        "  libslt_none.so.2, libslt_none.so.1 (already loaded): not in the process".to_owned(),
        format!("  libslt_none.so.2 (the system's loader): {missing}"),
        format!("  libslt_none.so.1 (the system's loader): {missing}"),
        format!("  ROOT/rocm/lib (installation, ROCM_PATH): {none}"),
        format!("  ROOT/rocm/lib64 (installation, ROCM_PATH): {none}"),
        "  ROOT/gone/lib (installation, HIP_PATH): no such folder".to_owned(),
        format!("  ROOT/opt/rocm/lib (installation, /opt): {none}"),
        format!("  ROOT/opt/rocm/core-7.14/lib (installation, /opt): {none}"),
        "  ROOT/opt/rocm-7.2.1/lib (installation, /opt): no such folder".to_owned(),
        "  ROOT/modules (Python package, PYTHONPATH): no such folder".to_owned(),
        format!("  ROOT/env/lib/python3.12/site-packages/torch/lib (Python package, VIRTUAL_ENV): {none}"),
        "  ROOT/env/lib/python3.9/site-packages (Python package, VIRTUAL_ENV): no package with ROCm libraries"
            .to_owned(),
        "  ROOT/conda/lib/python3*/site-packages (Python package, CONDA_PREFIX): no such folder".to_owned(),
    ];
    // Only glibc's loader uses this wording.
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        assert_eq!(lines, expected);
    }
}
