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

fn layout(stack: Stack) -> &'static Layout {
    stack.layout().expect("a stack that is installed somewhere")
}

/// Paths without the root, each with its source.
fn relative(root: &Path, folders: impl IntoIterator<Item = (PathBuf, Source)>) -> Vec<(String, Source)> {
    let relative = |path: PathBuf| path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
    folders.into_iter().map(|(path, source)| (relative(path), source)).collect()
}

fn wheels(places: &Places, root: &Path) -> Vec<String> {
    let good = places.wheels(Stack::Rocm).into_iter().filter(|(_, _, wrong)| wrong.is_none());
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
    assert_eq!(relative(&root, places.installations(layout(Stack::Rocm))), expected);
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

    let wrong: Vec<_> =
        places.wheels(Stack::Rocm).into_iter().filter(|(_, _, wrong)| wrong.is_some()).collect();
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

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "reads folders")]
fn cuda_is_in_its_toolkits_and_in_the_folders_of_its_packages() {
    let targets = format!("{}-linux/lib", if cfg!(target_arch = "aarch64") { "sbsa" } else { "x86_64" });
    let (chosen, newest) =
        (format!("usr/local/cuda/targets/{targets}"), format!("usr/local/cuda-13.1/targets/{targets}"));
    let site = "env/lib/python3.12/site-packages";
    let (_keep, root) = tree(&[
        "named/lib64",
        "usr/local/cuda-12.8/lib64",
        &newest,
        &chosen,
        &format!("{site}/nvidia/nccl/lib"),
        &format!("{site}/nvidia/cu13/lib"),
        &format!("{site}/nvidia/cudnn/include"),
        &format!("{site}/torch/lib"),
        "usr/lib/python3/dist-packages/torch/lib",
        "opt/conda/lib/python3.11/site-packages/nvidia/cublas/lib",
    ]);
    let places = Places::within(&root)
        .with_variable("CUDA_HOME", root.join("named"))
        .with_variable("ROCM_PATH", root.join("named"))
        .with_variable("VIRTUAL_ENV", root.join("env"));
    let usual = Source::Installation("/usr/local");
    let expected = [
        ("named/lib64".to_owned(), Source::Installation("CUDA_HOME")),
        (chosen, usual),
        (newest, usual),
        ("usr/local/cuda-12.8/lib64".to_owned(), usual),
    ];
    assert_eq!(relative(&root, places.installations(layout(Stack::Cuda))), expected);

    let found = places.wheels(Stack::Cuda).into_iter().map(|(path, source, wrong)| {
        assert_eq!(wrong, None, "{}", path.display());
        (path, source)
    });
    let (environment, machine) = (Source::Wheel("VIRTUAL_ENV"), Source::Wheel("the machine's packages"));
    let expected = [
        (format!("{site}/nvidia/cu13/lib"), environment),
        (format!("{site}/nvidia/nccl/lib"), environment),
        (format!("{site}/torch/lib"), environment),
        ("usr/lib/python3/dist-packages/torch/lib".to_owned(), machine),
        ("opt/conda/lib/python3.11/site-packages/nvidia/cublas/lib".to_owned(), machine),
    ];
    assert_eq!(relative(&root, found), expected);
}

#[test]
fn a_drivers_library_is_in_no_installation() {
    assert!(Stack::Alone.layout().is_none());
    assert_eq!(Places::of_process().wheels(Stack::Alone), []);
}

#[test]
fn given_variables_replace_those_of_the_process() {
    let places = Places::of_process();
    assert_eq!(places.variable("PATH"), std::env::var_os("PATH").filter(|path| !path.is_empty()));
    let places = places.with_variable("A", "1").with_variable("EMPTY", "");
    assert_eq!(places.variable("A"), Some("1".into()));
    assert_eq!((places.variable("EMPTY"), places.variable("PATH")), (None, None));
}
