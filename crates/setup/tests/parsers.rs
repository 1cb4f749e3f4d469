//! The parsers of apt's files and output, with arbitrary and with plausible texts.

use proptest::prelude::*;
use setup::debian::apt::stanza;
use setup::debian::index::{major, parse_madison, parse_print_uris, upstream};
use setup::debian::os::OsRelease;
use setup::debian::sources::{
    SignedBy, Source, debian_mirrors, parse_deb822, parse_list, without_credentials,
};

/// Lines composed of pieces of the formats and of anything else.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("deb"),
        Just("Types:"),
        Just("URIs:"),
        Just("Suites:"),
        Just("Components:"),
        Just("Signed-By:"),
        Just("signed-by="),
        Just("check-valid-until=no"),
        Just("["),
        Just("]"),
        Just("#"),
        Just("http://u:p@m.example/debian/"),
        Just("/"),
        Just("cdrom:"),
        Just("bookworm"),
        Just("oldstable"),
        Just("bookworm-security"),
        Just("main"),
        Just("-----BEGIN PGP PUBLIC KEY BLOCK-----"),
        Just("|"),
        Just("Packages"),
        Just("'http://m.example/a_1_all.deb'"),
        Just("a_1_all.deb"),
        Just("../a_1_all.deb"),
        Just("SHA256:0000000000000000000000000000000000000000000000000000000000000000"),
        Just("ID="),
        Just("VERSION_ID=\"12\""),
        Just("\\\""),
        Just("9"),
    ]
    .prop_map(str::to_owned);
    let piece = prop_oneof![8 => word, 1 => "\\PC{0,4}", 1 => any::<char>().prop_map(String::from)];
    let gap =
        prop_oneof![4 => Just(" "), 2 => Just("\n"), 1 => Just("\n "), 1 => Just(""), 1 => Just("\r\n")];
    proptest::collection::vec((piece, gap), 0..40)
        .prop_map(|parts| parts.into_iter().flat_map(|(piece, gap)| [piece, gap.to_owned()]).collect())
}

/// Sources written for apt must mean what was read, above all the required signer.
fn written_sources_read_back(sources: &[Source]) -> Result<(), TestCaseError> {
    let Some(mirrors) = debian_mirrors(sources) else { return Ok(()) };
    for mirror in [mirrors.main, mirrors.security] {
        let suites: Vec<&str> = mirror.suites.iter().map(String::as_str).collect();
        let written = stanza(&mirror, &suites, mirror.check_valid_until);
        let read = parse_deb822(&written);
        prop_assert_eq!(read.len(), 1, "{}", written);
        prop_assert_eq!(&read[0].uris, std::slice::from_ref(&mirror.uri));
        prop_assert_eq!(&read[0].suites, &mirror.suites);
        prop_assert_eq!(read[0].check_valid_until, mirror.check_valid_until);
        if mirror.signed_by.is_some() {
            prop_assert_eq!(&read[0].signed_by, &mirror.signed_by);
        }
        let is_blind = written.to_lowercase().lines().any(|line| line.starts_with("trusted"));
        prop_assert!(!is_blind, "{}", written);
    }
    Ok(())
}

/// A deb822 stanza of a Debian mirror with any valid signer.
fn mirror_stanza() -> impl Strategy<Value = String> {
    let key_line =
        prop_oneof![Just(" .".to_owned()), " [ \\t]?[-#A-Za-z0-9+/=:]{1,20}[ \\r]?", Just(" ".to_owned())];
    let key = proptest::collection::vec(key_line, 0..6).prop_map(|lines| {
        let lines = lines.join("\n");
        format!("Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n{lines}\n -----END PGP PUBLIC KEY BLOCK-----\n")
    });
    let signed_by = prop_oneof![
        Just(String::new()),
        "Signed-By:[ ]{0,2}\n",
        "Signed-By: /[a-z]{1,5}\\.gpg( /[a-z]{1,5}\\.gpg|\n /[a-z]{1,5}\\.gpg)?\n",
        key,
    ];
    let check = prop_oneof![Just(""), Just("Check-Valid-Until: no\n"), Just("check-valid-until: YES\n")];
    let uri = "http://[a-z]{1,8}\\.example(/[a-z]{1,5})?/debian/{0,3}";
    let suites = prop_oneof![Just("bookworm"), Just("oldstable bookworm-updates"), Just("bookworm/\n sid")];
    (uri, suites, signed_by, check).prop_map(|(uri, suites, signed_by, check)| {
        format!("Types: deb-src deb\nURIs: {uri}\nSuites: {suites}\nComponents: contrib main\n{signed_by}{check}\n")
    })
}

proptest! {
    #[test]
    fn the_mirror_is_written_as_it_was_read(stanza in mirror_stanza(), more in text()) {
        let sources = parse_deb822(&(stanza + &more));
        prop_assert!(debian_mirrors(&sources).is_some(), "{:?}", sources);
        written_sources_read_back(&sources)?;
    }

    #[test]
    fn any_sources_are_read_and_written_again(text in text()) {
        for sources in [parse_list(&text), parse_deb822(&text)] {
            for source in &sources {
                let words = source.uris.iter().chain(&source.suites).chain(&source.components);
                for word in words {
                    prop_assert!(!word.is_empty() && !word.contains(char::is_whitespace), "{:?}", source);
                }
                if let Some(SignedBy::Named(names)) = &source.signed_by {
                    prop_assert!(!names.trim().is_empty());
                }
            }
            written_sources_read_back(&sources)?;
        }
    }

    #[test]
    fn well_formed_sources_are_read_as_meant(
        host in "[a-z]{1,8}\\.example",
        key in proptest::option::of("/[a-z]{1,8}\\.gpg"),
        check in proptest::option::of(any::<bool>()),
        components in proptest::collection::vec("[a-z]{1,6}", 0..3),
    ) {
        let uri = format!("http://{host}/debian");
        let mut components = components;
        components.insert(0, "main".to_owned());
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let mut options = String::new();
        let mut fields = String::new();
        if let Some(key) = &key {
            options += &format!(" signed-by={key}");
            fields += &format!("Signed-By: {key}\n");
        }
        if let Some(check) = check {
            options += &format!(" check-valid-until={}", yes(check));
            fields += &format!("Check-Valid-Until: {}\n", yes(check));
        }
        let options = if options.is_empty() { options } else { format!("[{options} ] ") };
        let components = components.join(" ");
        let list = parse_list(&format!("deb {options}{uri} bookworm {components}\n"));
        let stanza =
            parse_deb822(&format!("Types: deb\nURIs: {uri}\nSuites: bookworm\nComponents: {components}\n{fields}"));
        prop_assert_eq!(&list, &stanza);
        prop_assert_eq!(list.len(), 1);
        prop_assert_eq!(list[0].signed_by.clone(), key.map(SignedBy::Named));
        prop_assert_eq!(list[0].check_valid_until, check);
        let mirrors = debian_mirrors(&list).expect("a main archive");
        prop_assert_eq!(mirrors.main.uri, uri);
        prop_assert!(mirrors.security_derived);
    }

    #[test]
    fn any_answer_of_apt_is_read(text in text()) {
        for candidate in parse_madison(&text) {
            prop_assert!(!candidate.name.is_empty() && !candidate.name.contains('|'));
            let _ = (major(&candidate.version), upstream(&candidate.version));
        }
        if let Ok(files) = parse_print_uris(&text) {
            for file in files {
                prop_assert!(file.file.ends_with(".deb") && !file.file.contains('/'), "{:?}", file);
                let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                prop_assert!(file.sha256.len() == 64 && file.sha256.chars().all(is_digit), "{:?}", file);
            }
        }
        let _ = OsRelease::parse(&text);
    }

    #[test]
    fn credentials_are_removed_and_nothing_else(
        user in "[a-zA-Z0-9:@%]{0,12}",
        rest in "[a-z]{1,8}(/[a-z@]{0,8}){0,3}",
    ) {
        prop_assert_eq!(without_credentials(&format!("https://{user}@{rest}")), format!("https://{rest}"));
        prop_assert_eq!(without_credentials(&format!("https://{rest}")), format!("https://{rest}"));
    }
}
