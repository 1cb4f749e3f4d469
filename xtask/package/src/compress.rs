//! Packs bundles of compiled kernels by Zstandard at a high level. Build scripts pack them by zlib, which
//! needs no C compiler and takes a fraction of the time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use code_object::bundle;

/// The highest level that unpacks with a window of 8 MiB.
const LEVEL: i32 = 19;

/// Packs each compressed bundle below a folder again. Prints the size of all of them.
pub(crate) fn bundles(folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    find(folder, &mut files)?;
    let next = AtomicUsize::new(0);
    let sizes = Mutex::new(Ok((0, 0)));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = again(path).with_context(|| format!("cannot pack {}", path.display()));
                    let mut sizes = sizes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    match (&mut *sizes, done) {
                        (Ok((before, after)), Ok(sizes)) => {
                            (*before, *after) = (*before + sizes.0, *after + sizes.1)
                        }
                        (sizes @ Ok(_), Err(error)) => *sizes = Err(error),
                        (Err(_), _) => return,
                    }
                }
            });
        }
    });
    let (before, after) = sizes.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())?;
    println!("{after:>9} bytes  of compiled kernels in {} bundles, {before} before packing", files.len());
    Ok(())
}

/// The compressed bundles below a folder.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let told = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(told)? {
        let path = entry.with_context(told)?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "hipfb") {
            files.push(path);
        }
    }
    Ok(())
}

/// Packs a file again; returns its old and its new size. A file that would grow stays.
fn again(path: &Path) -> Result<(usize, usize)> {
    let old = fs::read(path)?;
    let new = packed(&old)?;
    if new.len() >= old.len() {
        return Ok((old.len(), old.len()));
    }
    fs::write(path, &new)?;
    Ok((old.len(), new.len()))
}

/// The same bundle, packed by Zstandard.
fn packed(old: &[u8]) -> Result<Vec<u8>> {
    let content = bundle::uncompressed(old)?;
    let new = bundle::of_zstandard(&content, &zstd::bulk::compress(&content, LEVEL)?)?;
    anyhow::ensure!(bundle::uncompressed(&new)? == content, "what was packed is not what is unpacked");
    Ok(new)
}

#[cfg(test)]
mod tests {
    use code_object::bundle::Entry;

    use super::*;

    #[test]
    fn bundles_below_a_folder_become_smaller_and_keep_their_content() {
        let folder = tempfile::tempdir().expect("a folder");
        // Far apart, so that only a large window finds the repetition.
        let noise: Vec<u8> = (0..100_000_u32).flat_map(|n| n.wrapping_mul(n | 1).to_le_bytes()).collect();
        let id = "hipv4-amdgcn-amd-amdhsa--gfx1100";
        let other = "cuda-nvptx64-nvidia-cuda--sm_80";
        let plain = bundle::bundle(&[Entry { id, bytes: &noise }, Entry { id: other, bytes: &noise }]);
        let old = bundle::compressed(&plain).expect("packed");
        let below = folder.path().join("kernels/nvidia");
        fs::create_dir_all(&below).expect("a folder");
        let (path, text) = (below.join("a.nvidia.hipfb"), below.join("targets.txt"));
        fs::write(&path, &old).expect("written");
        fs::write(&text, "sm_80\n").expect("written");
        bundles(folder.path()).expect("packed again");
        let new = fs::read(&path).expect("read");
        assert!(new.len() < old.len() * 2 / 3, "{} of {}", new.len(), old.len());
        assert_eq!(bundle::uncompressed(&new).expect("unpacked"), plain);
        bundles(folder.path()).expect("packed again");
        assert_eq!(fs::read(&path).expect("read"), new, "a second time changes nothing");
        fs::write(&path, &new[..new.len() / 2]).expect("written");
        let error = format!("{:#}", bundles(folder.path()).expect_err("damaged"));
        assert!(error.contains("a.nvidia.hipfb") && error.contains("cut off"), "{error}");
    }
}
