//! Detects the distribution, and whether packages can be fetched on it.

use std::collections::BTreeMap;

/// The relevant parts of `/etc/os-release`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsRelease {
    /// `ID`, for example `debian`.
    pub id: String,
    /// `VERSION_ID`, for example `12`; empty on rolling distributions.
    pub version_id: String,
    /// `PRETTY_NAME`, for people.
    pub pretty: String,
}

impl OsRelease {
    /// Reads the machine's own file; a machine without one is "unknown".
    pub fn of_this_machine() -> Self {
        ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok())
            .map_or_else(|| Self::parse(""), |text| Self::parse(&text))
    }

    /// Parses the shell-like `KEY=value` lines.
    pub fn parse(text: &str) -> Self {
        let fields: BTreeMap<&str, String> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.trim(), unquote(value.trim())))
            .collect();
        let get = |key: &str| fields.get(key).cloned().unwrap_or_default();
        let id = get("ID");
        let pretty = match get("PRETTY_NAME") {
            name if !name.is_empty() => name,
            _ if !id.is_empty() => id.clone(),
            _ => "an unknown system (no os-release file)".to_owned(),
        };
        Self { id, version_id: get("VERSION_ID"), pretty }
    }
}

fn unquote(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote)) {
            return inner.replace("\\\"", "\"").replace("\\$", "$").replace("\\\\", "\\");
        }
    }
    value.to_owned()
}

/// Whether packages can be fetched here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// Debian 12 on a tested architecture, with apt and dpkg.
    Debian12,
    /// Anything else, with the reason in words.
    Unsupported(String),
}

/// Programs needed for fetching and unpacking; all are part of a minimal Debian.
pub const NEEDED_PROGRAMS: [&str; 5] = ["apt-get", "apt-cache", "dpkg", "dpkg-deb", "tar"];

/// Decides from the distribution, its package architecture and the missing programs.
pub fn decide(os: &OsRelease, architecture: Option<&str>, missing_programs: &[&str]) -> Support {
    if os.id != "debian" || os.version_id != "12" {
        return Support::Unsupported(format!("this is {}, not Debian 12", os.pretty));
    }
    if !missing_programs.is_empty() {
        return Support::Unsupported(format!("{} has no {}", os.pretty, missing_programs.join(", ")));
    }
    match architecture {
        Some("amd64") => Support::Debian12,
        Some(other) => {
            Support::Unsupported(format!("{} is tested on amd64 only, this is {other}", os.pretty))
        }
        None => Support::Unsupported("dpkg does not say which architecture this is".to_owned()),
    }
}

/// Checks this machine.
pub fn support_of_this_machine() -> Support {
    let missing: Vec<&str> =
        NEEDED_PROGRAMS.into_iter().filter(|program| crate::run::find_program(program).is_none()).collect();
    let architecture = crate::run::output_of("dpkg", &["--print-architecture"]);
    decide(&OsRelease::of_this_machine(), architecture.as_deref(), &missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKWORM: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n\
        VERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n";

    #[test]
    fn bookworm_is_supported() {
        let os = OsRelease::parse(BOOKWORM);
        assert_eq!(os.id, "debian");
        assert_eq!(os.pretty, "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(decide(&os, Some("amd64"), &[]), Support::Debian12);
    }

    #[test]
    fn quotes_comments_and_escapes_are_read() {
        let os = OsRelease::parse("# a comment\n ID='x y'\nPRETTY_NAME=\"a \\\"b\\\" \\$c\"\nVERSION_ID=3\n");
        assert_eq!((os.id.as_str(), os.version_id.as_str(), os.pretty.as_str()), ("x y", "3", "a \"b\" $c"));
    }

    #[test]
    fn others_are_refused_by_name() {
        for (text, name) in [
            ("ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04\"\nID_LIKE=debian", "Ubuntu 24.04"),
            ("ID=debian\nVERSION_ID=\"13\"\nPRETTY_NAME=\"Debian 13\"", "Debian 13"),
            ("ID=arch\n", "arch"),
            ("", "unknown system"),
        ] {
            let Support::Unsupported(reason) = decide(&OsRelease::parse(text), Some("amd64"), &[]) else {
                panic!("{text} must not be supported")
            };
            assert!(reason.contains(name), "{reason}");
        }
    }

    #[test]
    fn missing_programs_and_architectures_are_named() {
        let os = OsRelease::parse(BOOKWORM);
        let Support::Unsupported(reason) = decide(&os, Some("amd64"), &["dpkg-deb"]) else { panic!() };
        assert!(reason.contains("dpkg-deb"), "{reason}");
        let Support::Unsupported(reason) = decide(&os, Some("riscv64"), &[]) else { panic!() };
        assert!(reason.contains("riscv64"), "{reason}");
        assert!(matches!(decide(&os, None, &[]), Support::Unsupported(_)));
    }
}
