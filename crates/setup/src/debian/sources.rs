//! Reads the machine's own apt sources, one-line (`.list`) and deb822 (`.sources`), to learn which mirror it
//! uses and which key signs it. Never writes there.

use std::path::{Path, PathBuf};

/// The keys that apt must trust for a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedBy {
    /// Key files or fingerprints, as written.
    Named(String),
    /// A key block inside the sources file, its lines without their indentation.
    Inline(Vec<String>),
}

impl SignedBy {
    /// An empty field names no key: apt would then accept every key that the machine trusts.
    fn named(text: &str) -> Option<Self> {
        let names = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!names.is_empty()).then_some(Self::Named(names))
    }
}

/// One source: the binary packages of some suites at some addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Addresses of the archive.
    pub uris: Vec<String>,
    /// Suites, as the archive names them.
    pub suites: Vec<String>,
    /// Components of each suite: `main`, …
    pub components: Vec<String>,
    /// `Signed-By`, if the machine sets it.
    pub signed_by: Option<SignedBy>,
    /// `Check-Valid-Until`, if the machine sets it.
    pub check_valid_until: Option<bool>,
}

/// A mirror and how it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Its address, without a slash at the end.
    pub uri: String,
    /// The used suites.
    pub suites: Vec<String>,
    /// The required signature of its indexes.
    pub signed_by: Option<SignedBy>,
    /// `Check-Valid-Until`, if the machine sets it.
    pub check_valid_until: Option<bool>,
}

/// The mirrors that a Debian 12 machine uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrors {
    /// The main archive: bookworm and, if the machine uses it, bookworm-updates. It also serves the newer
    /// suites.
    pub main: Mirror,
    /// The security archive.
    pub security: Mirror,
    /// Whether the security address was derived, because the machine names none.
    pub security_derived: bool,
}

/// The key file that Debian 12 ships for its archive.
pub const ARCHIVE_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Parses a one-line-style file: `deb [option=value …] uri suite component…`.
pub fn parse_list(text: &str) -> Vec<Source> {
    text.lines().filter_map(parse_list_line).collect()
}

fn parse_list_line(line: &str) -> Option<Source> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let rest = line.strip_prefix("deb").filter(|rest| rest.starts_with([' ', '\t', '[']))?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => ("", rest),
    };
    let mut source = Source {
        uris: Vec::new(),
        suites: Vec::new(),
        components: Vec::new(),
        signed_by: None,
        check_valid_until: None,
    };
    for option in options.split_whitespace() {
        let Some((key, value)) = option.split_once('=') else { continue };
        match key.to_ascii_lowercase().as_str() {
            "signed-by" => source.signed_by = SignedBy::named(value),
            "check-valid-until" => source.check_valid_until = Some(is_yes(value)),
            _ => {}
        }
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    source.uris.push(words.next()?);
    source.suites.push(words.next()?);
    source.components.extend(words);
    Some(source)
}

/// Parses a deb822 file: stanzas of `Field: value` with indented continuation lines.
pub fn parse_deb822(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sources.extend(source_of_stanza(&fields));
            fields.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, lines)) = fields.last_mut() {
                lines.push(line.trim().to_owned());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_ascii_lowercase(), vec![value.trim().to_owned()]));
        }
    }
    sources
}

fn source_of_stanza(fields: &[(String, Vec<String>)]) -> Option<Source> {
    let lines = |key: &str| fields.iter().find(|(name, _)| name == key).map(|(_, lines)| lines);
    let words = |key: &str| -> Vec<String> {
        lines(key).into_iter().flatten().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect()
    };
    if !words("types").iter().any(|kind| kind == "deb")
        || words("enabled").first().is_some_and(|word| !is_yes(word))
    {
        return None;
    }
    let signed_by =
        lines("signed-by").and_then(|lines| match lines.iter().any(|line| line.contains("BEGIN PGP")) {
            true => Some(SignedBy::Inline(lines.iter().filter(|line| !line.is_empty()).cloned().collect())),
            false => SignedBy::named(&lines.join(" ")),
        });
    Some(Source {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
        signed_by,
        check_valid_until: words("check-valid-until").first().map(|word| is_yes(word)),
    })
}

fn is_yes(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "yes" | "true" | "1" | "on" | "enable" | "with")
}

/// All sources of a machine, given its apt folder (`/etc/apt`), and the files they were read from.
pub fn read_sources(apt_folder: &Path) -> (Vec<Source>, Vec<PathBuf>) {
    let mut files = vec![apt_folder.join("sources.list")];
    if let Ok(entries) = std::fs::read_dir(apt_folder.join("sources.list.d")) {
        let mut parts: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        parts.sort();
        files.extend(parts);
    }
    let mut sources = Vec::new();
    let mut read = Vec::new();
    for file in files {
        let parse = match file.extension().and_then(|ext| ext.to_str()) {
            Some("list") => parse_list,
            Some("sources") => parse_deb822,
            _ => continue,
        };
        if let Ok(text) = std::fs::read_to_string(&file) {
            sources.extend(parse(&text));
            read.push(file);
        }
    }
    (sources, read)
}

/// Picks the mirrors for Debian 12 out of the machine's sources; `None` when no source serves its main
/// archive.
pub fn debian_mirrors(sources: &[Source]) -> Option<Mirrors> {
    let main = find(sources, &["bookworm", "oldstable"], true)?;
    let updates =
        find(sources, &["bookworm-updates", "oldstable-updates"], true).filter(|u| u.uri == main.uri);
    let mut main_mirror = main;
    main_mirror.suites.extend(updates.into_iter().flat_map(|updates| updates.suites));
    let (security, security_derived) =
        match find(sources, &["bookworm-security", "oldstable-security", "bookworm-security/updates"], false)
        {
            Some(security) => (security, false),
            None => (
                Mirror {
                    uri: derived_security_uri(&main_mirror.uri)?,
                    suites: vec!["bookworm-security".to_owned()],
                    ..main_mirror.clone()
                },
                true,
            ),
        };
    Some(Mirrors { main: main_mirror, security, security_derived })
}

fn find(sources: &[Source], suites: &[&str], main_only: bool) -> Option<Mirror> {
    for source in sources {
        if main_only && !source.components.iter().any(|component| component == "main") {
            continue;
        }
        let suite = source.suites.iter().find(|suite| suites.contains(&suite.trim_end_matches('/')));
        // A CD-ROM holds neither the security archive nor the newer suites.
        let uris = source.uris.iter().map(|uri| uri.trim_end_matches('/'));
        let uri = uris.filter(|uri| !uri.is_empty()).find(|uri| !uri.starts_with("cdrom:"));
        if let (Some(suite), Some(uri)) = (suite, uri) {
            return Some(Mirror {
                uri: uri.to_owned(),
                suites: vec![suite.trim_end_matches('/').to_owned()],
                signed_by: source.signed_by.clone(),
                check_valid_until: source.check_valid_until,
            });
        }
    }
    None
}

/// Debian mirrors that carry both archives keep them side by side as `debian` and `debian-security`.
fn derived_security_uri(main: &str) -> Option<String> {
    main.strip_suffix("/debian").map(|base| format!("{base}/debian-security"))
}

/// An address without user and password, for messages and the manifest.
pub fn without_credentials(uri: &str) -> String {
    match uri.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            match rest[..host_end].rfind('@') {
                Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
                None => uri.to_owned(),
            }
        }
        None => uri.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "\
# what the installer wrote
Types: deb deb-src
URIs: http://mirror.example/debian/
Suites: bookworm
 bookworm-updates
# a comment inside a stanza
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

types: deb
uris: http://mirror.example/debian-security
suites: bookworm-security
components: main
signed-by:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----
check-valid-until: no

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://src.example/debian
Suites: bookworm
Components: main
";

    #[test]
    fn deb822_stanzas_comments_and_continuations() {
        let sources = parse_deb822(DEB822);
        assert_eq!(sources.len(), 2, "disabled and source-only stanzas are left out");
        assert_eq!(sources[0].suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(sources[0].components, ["main", "contrib"]);
        assert_eq!(sources[0].signed_by, Some(SignedBy::Named(ARCHIVE_KEYRING.to_owned())));
        let Some(SignedBy::Inline(lines)) = &sources[1].signed_by else { panic!("{:?}", sources[1]) };
        assert_eq!(lines.first().map(String::as_str), Some("-----BEGIN PGP PUBLIC KEY BLOCK-----"));
        assert_eq!(lines.len(), 4);
        assert_eq!(sources[1].check_valid_until, Some(false));
    }

    #[test]
    fn list_lines_options_and_comments() {
        let text = "# deb http://no.example/debian bookworm main\n\
            deb [arch=amd64 signed-by=/k.gpg check-valid-until=no] http://a.example/debian bookworm main contrib # tail\n\
            deb-src http://a.example/debian bookworm main\n\
            deb\thttp://b.example/debian-security/  bookworm-security\tmain\n\
            deb [broken http://c.example/ x main\n\
            deb http://only-uri.example\n\
            debug http://d.example/debian bookworm main\n";
        let sources = parse_list(text);
        assert_eq!(sources.len(), 2, "{sources:?}");
        assert_eq!(sources[0].uris, ["http://a.example/debian"]);
        assert_eq!(sources[0].components, ["main", "contrib"]);
        assert_eq!(sources[0].signed_by, Some(SignedBy::Named("/k.gpg".to_owned())));
        assert_eq!(sources[0].check_valid_until, Some(false));
        assert_eq!(sources[1].suites, ["bookworm-security"]);
    }

    #[test]
    fn an_empty_key_field_names_no_key() {
        let list = parse_list("deb [signed-by=] http://a.example/debian bookworm main");
        let stanza =
            parse_deb822("Types: deb\nURIs: http://a.example/debian\nSuites: bookworm\nSigned-By:\n");
        assert_eq!((list[0].signed_by.as_ref(), stanza[0].signed_by.as_ref()), (None, None));
    }

    #[test]
    fn mirrors_come_from_the_right_stanzas() {
        let mirrors = debian_mirrors(&parse_deb822(DEB822)).expect("has a main archive");
        assert_eq!(mirrors.main.uri, "http://mirror.example/debian");
        assert_eq!(mirrors.main.suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(mirrors.security.uri, "http://mirror.example/debian-security");
        assert!(!mirrors.security_derived);
    }

    #[test]
    fn a_missing_security_source_is_derived_and_said() {
        let mirrors = debian_mirrors(&parse_list("deb http://a.example/debian bookworm main")).expect("main");
        assert_eq!(mirrors.security.uri, "http://a.example/debian-security");
        assert_eq!(mirrors.security.suites, ["bookworm-security"]);
        assert!(mirrors.security_derived);
        assert_eq!(debian_mirrors(&parse_list("deb http://a.example/odd bookworm main")), None);
    }

    #[test]
    fn third_party_and_cdrom_sources_are_not_taken() {
        let sources = parse_list(
            "deb https://vendor.example/apt bookworm stable\n\
             deb cdrom:[Debian]/ bookworm main\n\
             deb http://a.example/debian bookworm main\n",
        );
        assert_eq!(debian_mirrors(&sources).expect("main").main.uri, "http://a.example/debian");
        assert_eq!(debian_mirrors(&sources[..1]), None);
    }

    #[test]
    fn updates_of_another_mirror_are_left_out() {
        let sources = parse_list(
            "deb http://a.example/debian oldstable main\ndeb http://b.example/debian bookworm-updates main\n\
             deb http://a.example/debian-security oldstable-security main\n",
        );
        let mirrors = debian_mirrors(&sources).expect("main");
        assert_eq!(mirrors.main.suites, ["oldstable"]);
        assert_eq!(mirrors.security.suites, ["oldstable-security"]);
    }

    #[test]
    fn both_formats_are_read_from_a_folder() {
        let folder = tempfile::tempdir().expect("temp folder");
        let parts = folder.path().join("sources.list.d");
        std::fs::create_dir(&parts).expect("folder");
        std::fs::write(folder.path().join("sources.list"), "deb http://a.example/debian bookworm main\n")
            .expect("write");
        std::fs::write(parts.join("debian.sources"), DEB822).expect("write");
        std::fs::write(parts.join("off.list.disabled"), "deb http://x.example/debian bookworm main\n")
            .expect("write");
        let (sources, files) = read_sources(folder.path());
        assert_eq!((sources.len(), files.len()), (3, 2));
    }

    #[test]
    fn credentials_stay_out_of_messages() {
        assert_eq!(without_credentials("https://me:pw@host.example/debian"), "https://host.example/debian");
        assert_eq!(without_credentials("http://host.example/a@b"), "http://host.example/a@b");
        assert_eq!(without_credentials("file:/srv/debian"), "file:/srv/debian");
    }
}
