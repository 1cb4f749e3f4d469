//! Any bytes as the manifest of a cache of kernels: it has no entries, or exactly those that the bytes
//! encode. Also with a valid hash in front.
#![no_main]

use device_compiler::cache::{Cache, Dependencies, entries};
use libfuzzer_sys::fuzz_target;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // Anybody can compute this: the format's hash of these bytes, for this key.
    let sealed = device_compiler::cache::sealed(KEY, bytes);
    check(&sealed);
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(dependencies) = Dependencies::from_json(text)
    {
        assert_eq!(Dependencies::from_json(&dependencies.to_json()), Some(dependencies));
    }
});

fn check(manifest: &[u8]) {
    for entry in entries(KEY, manifest) {
        assert_eq!(entry.object.len(), 64);
        assert!(entry.object.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    let other = format!("1{}", &KEY[1..]);
    assert!(entries(&other, manifest).is_empty());
    // As a file of a cache.
    thread_local! {
        static CACHE: (tempfile::TempDir, Cache) = {
            let folder = tempfile::tempdir().expect("a folder");
            let cache = Cache::open(folder.path()).expect("a cache");
            (folder, cache)
        };
    }
    CACHE.with(|(folder, cache)| {
        let path = folder.path().join("manifests").join(&KEY[..2]);
        std::fs::create_dir_all(&path).expect("a folder");
        std::fs::write(path.join(KEY), manifest).expect("a file");
        // No code was stored, so nothing can be found.
        assert!(cache.lookup(KEY, |_| Some(String::new())).is_none());
    });
}
