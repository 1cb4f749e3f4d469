use super::*;

/// A root with these folders in it.
fn tree(folders: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    for folder in folders {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    (folder, root)
}

/// Paths without the root, each with its source.
fn relative(root: &Path, folders: impl IntoIterator<Item = (PathBuf, Source)>) -> Vec<(String, Source)> {
    let relative = |path: PathBuf| path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
    folders.into_iter().map(|(path, source)| (relative(path), source)).collect()
}

fn wheels(places: &Places, root: &Path) -> Vec<String> {
    let good = places.wheels().into_iter().filter(|(_, _, wrong)| wrong.is_none());
    relative(root, good.map(|(path, source, _)| (path, source))).into_iter().map(|(path, _)| path).collect()
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "reads folders")]
fn installations_are_the_named_ones_then_the_chosen_one_then_the_newest() {
    let multiarch = format!("chosen/lib/{}", multiarch_folder());
    let (_keep, root) = tree(&[
        "opt/rocm-6.4.3/lib",
        "opt/rocm-7.10.0/lib",
        "opt/rocm-7.2.1/lib/",
        "opt/rocm-7.2.1/lib64",
        "opt/rocm/core-7.14/lib",
        "opt/other/lib",
        "chosen/lib64",
        &multiarch,
    ]);
    let places = Places::within(&root).with_variable("ROCM_PATH", root.join("chosen"));
    let opt = Source::Installation("/opt");
    let chosen = Source::Installation("ROCM_PATH");
    let expected = [
        ("chosen/lib".to_owned(), chosen),
        ("chosen/lib64".to_owned(), chosen),
        (multiarch, chosen),
        ("opt/rocm/lib".to_owned(), opt),
        ("opt/rocm/core-7.14/lib".to_owned(), opt),
        ("opt/rocm-7.10.0/lib".to_owned(), opt),
        ("opt/rocm-7.2.1/lib".to_owned(), opt),
        ("opt/rocm-7.2.1/lib64".to_owned(), opt),
        ("opt/rocm-6.4.3/lib".to_owned(), opt),
    ];
    assert_eq!(relative(&root, places.installations()), expected);
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "reads folders")]
fn packages_are_looked_for_in_pythons_order() {
    let torch = |prefix: &str| format!("{prefix}/torch/lib");
    let order = [
        torch("modules"),
        torch("env/lib/python3.13/site-packages"),
        torch("env/lib/python3.9/site-packages"),
        torch("conda/lib/python3.11/site-packages"),
        torch("home/.local/lib/python3.12/site-packages"),
        torch("usr/local/lib/python3.11/dist-packages"),
    ];
    let (_keep, root) = tree(&order.each_ref().map(String::as_str));
    let path = std::env::join_paths([root.join("modules"), root.join("gone"), PathBuf::new()]).unwrap();
    let places = Places::within(&root)
        .with_variable("PYTHONPATH", path)
        .with_variable("VIRTUAL_ENV", root.join("env"))
        .with_variable("CONDA_PREFIX", root.join("conda"))
        .with_variable("HOME", root.join("home"));
    assert_eq!(wheels(&places, &root), order);

    let wrong: Vec<_> = places.wheels().into_iter().filter(|(_, _, wrong)| wrong.is_some()).collect();
    assert_eq!(wrong, [(root.join("gone"), Source::Wheel("PYTHONPATH"), Some("no such folder".to_owned()))]);

    let moved = places.with_variable("PYTHONUSERBASE", root.join("elsewhere"));
    assert!(!wheels(&moved, &root).iter().any(|path| path.starts_with("home")), "PYTHONUSERBASE replaces it");
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "reads folders")]
fn rocm_packages_go_before_torch_and_the_chosen_target_before_others() {
    let site = "env/lib/python3.12/site-packages";
    let (_keep, root) = tree(&[
        &format!("{site}/torch/lib"),
        &format!("{site}/_rocm_sdk_core/lib"),
        &format!("{site}/_rocm_sdk_core_20260101/lib"),
        &format!("{site}/_rocm_sdk_corelike/lib"),
        &format!("{site}/_rocm_sdk_libraries_gfx110X_all/lib"),
        &format!("{site}/_rocm_sdk_libraries_gfx94X_dcgpu/lib"),
        &format!("{site}/_rocm_sdk_libraries/nothing"),
        &format!("{site}/rocm_sdk/lib"),
    ]);
    let places = Places::within(&root).with_variable("VIRTUAL_ENV", root.join("env"));
    let names = |places: &Places| -> Vec<String> {
        wheels(places, &root).iter().map(|path| path[site.len() + 1..].to_owned()).collect()
    };
    let by_name = [
        "_rocm_sdk_core/lib",
        "_rocm_sdk_core_20260101/lib",
        "_rocm_sdk_libraries_gfx110X_all/lib",
        "_rocm_sdk_libraries_gfx94X_dcgpu/lib",
        "torch/lib",
    ];
    assert_eq!(names(&places), by_name);
    let chosen = places.with_variable("ROCM_SDK_TARGET_FAMILY", "gfx94X-dcgpu");
    let mut chosen_first = by_name;
    chosen_first.swap(2, 3);
    assert_eq!(names(&chosen), chosen_first);
}

#[test]
fn given_variables_replace_those_of_the_process() {
    let places = Places::of_process();
    assert_eq!(places.variable("PATH"), std::env::var_os("PATH").filter(|path| !path.is_empty()));
    let places = places.with_variable("A", "1").with_variable("EMPTY", "");
    assert_eq!(places.variable("A"), Some("1".into()));
    assert_eq!((places.variable("EMPTY"), places.variable("PATH")), (None, None));
}
