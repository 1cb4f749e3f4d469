//! Any text as apt's sources, as its answers and as an os-release file is read without a panic. Text written
//! for apt says the same as what was read, and the file of a package stays in its folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use setup::debian::apt::stanza;
use setup::debian::index::{major, parse_madison, parse_print_uris, upstream};
use setup::debian::os::OsRelease;
use setup::debian::sources::{debian_mirrors, parse_deb822, parse_list, without_credentials};

fuzz_target!(|text: &str| {
    for sources in [parse_list(text), parse_deb822(text)] {
        let Some(mirrors) = debian_mirrors(&sources) else { continue };
        for mirror in [mirrors.main, mirrors.security] {
            let suites: Vec<&str> = mirror.suites.iter().map(String::as_str).collect();
            let read = parse_deb822(&stanza(&mirror, &suites, mirror.check_valid_until));
            assert_eq!(read.len(), 1);
            assert_eq!(read[0].uris, [mirror.uri]);
            assert_eq!(read[0].suites, mirror.suites);
            assert!(mirror.signed_by.is_none() || read[0].signed_by == mirror.signed_by);
        }
    }
    for candidate in parse_madison(text) {
        let _ = (major(&candidate.version), upstream(&candidate.version));
    }
    for file in parse_print_uris(text).unwrap_or_default() {
        assert!(!file.file.contains('/') && file.sha256.len() == 64);
    }
    let _ = (OsRelease::parse(text), without_credentials(text));
});
