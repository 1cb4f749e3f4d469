//! Parses apt's output about packages: the candidates of an index (`apt-cache madison`) and the files of a
//! resolved set (`--print-uris`).

use super::sources::without_credentials;

/// One version of a package in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The package's name.
    pub name: String,
    /// Its Debian version.
    pub version: String,
    /// Suite as the index names it, for example `bookworm-security`.
    pub suite: String,
}

/// A package file that apt would fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFile {
    /// The package's name.
    pub name: String,
    /// Its Debian version.
    pub version: String,
    /// The file's name in the download folder.
    pub file: String,
    /// Its address, without user and password.
    pub uri: String,
    /// Its size in bytes.
    pub size: u64,
    /// The hash in the signed index: 64 hexadecimal digits, lower case.
    pub sha256: String,
}

/// Parses `apt-cache madison`: ` name | version | uri suite/component arch Packages`.
pub fn parse_madison(text: &str) -> Vec<Candidate> {
    text.lines()
        .filter_map(|line| {
            let mut columns = line.split('|').map(str::trim);
            let (name, version, place) = (columns.next()?, columns.next()?, columns.next()?);
            let suite = place.split_whitespace().nth(1)?;
            let suite = suite.rsplit_once('/').map_or(suite, |(suite, _component)| suite);
            (!name.is_empty() && place.ends_with("Packages")).then(|| Candidate {
                name: name.to_owned(),
                version: version.to_owned(),
                suite: suite.to_owned(),
            })
        })
        .collect()
}

/// Parses `--print-uris`: `'uri' file size SHA256:hex`. A line of that form with another kind of hash is an
/// error, because the file could not be verified afterwards; so is one whose file is not in the download
/// folder.
///
/// # Errors
/// The line.
pub fn parse_print_uris(text: &str) -> Result<Vec<PackageFile>, String> {
    text.lines()
        .filter(|line| line.starts_with('\''))
        .map(|line| parse_uri_line(line).ok_or(line.to_owned()))
        .collect()
}

fn parse_uri_line(line: &str) -> Option<PackageFile> {
    let (uri, rest) = line.strip_prefix('\'')?.split_once("' ")?;
    let mut words = rest.split_whitespace();
    let (file, size, hash) = (words.next()?, words.next()?, words.next()?);
    if file.contains('/') {
        return None;
    }
    let mut parts = file.strip_suffix(".deb")?.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    let is_whole = |hex: &&str| hex.len() == 64 && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    let sha256 = hash.strip_prefix("SHA256:").filter(is_whole)?;
    Some(PackageFile {
        name: name.to_owned(),
        version: version.replace("%3a", ":"),
        file: file.to_owned(),
        uri: without_credentials(uri),
        size: size.parse().ok()?,
        sha256: sha256.to_ascii_lowercase(),
    })
}

/// The leading number of a Debian version's upstream part: `1:22.1.8-1~deb12u1` is 22.
pub fn major(version: &str) -> Option<u32> {
    let upstream = version.split_once(':').map_or(version, |(_epoch, rest)| rest);
    let digits = upstream.find(|c: char| !c.is_ascii_digit()).unwrap_or(upstream.len());
    upstream[..digits].parse().ok()
}

/// The upstream part of a Debian version, without Debian's suffix: `1:22.1.8-1~deb12u1` is `22.1.8`.
pub fn upstream(version: &str) -> &str {
    let upstream = version.split_once(':').map_or(version, |(_epoch, rest)| rest);
    let upstream = upstream.rsplit_once('-').map_or(upstream, |(upstream, _revision)| upstream);
    upstream.split(['+', '~']).next().unwrap_or(upstream)
}

/// A package file, and the suite whose index names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The file.
    pub file: PackageFile,
    /// The suite, or `unknown`.
    pub suite: String,
}

/// Adds to each file the suite of the candidate with its name and version.
pub fn with_suites(files: Vec<PackageFile>, candidates: &[Candidate]) -> Vec<Resolved> {
    files
        .into_iter()
        .map(|file| {
            let suite = candidates.iter().find(|c| c.name == file.name && c.version == file.version);
            let suite = suite.map_or_else(|| "unknown".to_owned(), |candidate| candidate.suite.clone());
            Resolved { file, suite }
        })
        .collect()
}

/// A package that is taken from the newest suite that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The package's name.
    pub name: &'static str,
    /// The oldest that works with clang 22.
    pub min_major: u32,
}

/// Splits the wanted packages into those that this suite's candidates satisfy (the first candidate is apt's
/// best) and those to look for in the next suite.
pub fn resolve(wanted: &[Wanted], candidates: &[Candidate]) -> (Vec<Candidate>, Vec<Wanted>) {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for want in wanted {
        let fits =
            |c: &&Candidate| c.name == want.name && major(&c.version).is_some_and(|m| m >= want.min_major);
        match candidates.iter().find(fits) {
            Some(candidate) => found.push(candidate.clone()),
            None => missing.push(*want),
        }
    }
    (found, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADISON: &str = "\
 hipify-perl | 7.2.4+dfsg-1~exp1 | http://mirror.example/debian experimental/main amd64 Packages
libamdhip64-dev | 5.7.1-6 | http://mirror.example/debian trixie/main amd64 Packages
libamdhip64-dev | 7.2.4-1~exp2 | http://mirror.example/debian experimental/main amd64 Packages
    llvm | 1.0 | http://mirror.example/debian bookworm/main Sources
N: a note
";

    #[test]
    fn madison_lines_are_read() {
        let candidates = parse_madison(MADISON);
        assert_eq!(candidates.len(), 3);
        assert_eq!(
            candidates[0],
            Candidate {
                name: "hipify-perl".to_owned(),
                version: "7.2.4+dfsg-1~exp1".to_owned(),
                suite: "experimental".to_owned(),
            }
        );
    }

    #[test]
    fn too_old_and_absent_packages_are_looked_for_elsewhere() {
        let wanted = [
            Wanted { name: "libamdhip64-dev", min_major: 7 },
            Wanted { name: "hipify-perl", min_major: 8 },
            Wanted { name: "rocm-device-libs-22", min_major: 7 },
        ];
        let (found, missing) = resolve(&wanted, &parse_madison(MADISON));
        assert_eq!(found.iter().map(|c| c.version.as_str()).collect::<Vec<_>>(), ["7.2.4-1~exp2"]);
        assert_eq!(
            missing.iter().map(|w| w.name).collect::<Vec<_>>(),
            ["hipify-perl", "rocm-device-libs-22"]
        );
    }

    #[test]
    fn print_uris_lines_are_read() {
        let hash = "a".repeat(64);
        let text = format!(
            "Reading package lists...\n\
             'http://u:p@m.example/pool/clang-22_22.1.8-1%7edeb12u1_amd64.deb' clang-22_1%3a22.1.8-1~deb12u1_amd64.deb 173508 SHA256:{hash}\n"
        );
        let files = parse_print_uris(&text).expect("parses");
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].name, "clang-22");
        assert_eq!(files[0].version, "1:22.1.8-1~deb12u1");
        assert_eq!(files[0].size, 173_508);
        assert_eq!(files[0].uri, "http://m.example/pool/clang-22_22.1.8-1%7edeb12u1_amd64.deb");
    }

    #[test]
    fn weak_or_broken_hashes_are_errors() {
        for tail in ["MD5Sum:00", "SHA256:abc", &format!("SHA256:{}", "x".repeat(64)), ""] {
            let line = format!("'http://m.example/a_1_all.deb' a_1_all.deb 10 {tail}");
            assert_eq!(parse_print_uris(&line), Err(line));
        }
    }

    #[test]
    fn a_file_outside_the_download_folder_is_an_error() {
        let hash = "a".repeat(64);
        let line = format!("'http://m.example/a_1_all.deb' ../a_1_all.deb 10 SHA256:{hash}");
        assert_eq!(parse_print_uris(&line), Err(line));
    }

    #[test]
    fn suites_are_matched_by_version() {
        let file = |version: &str| PackageFile {
            name: "a".to_owned(),
            version: version.to_owned(),
            file: String::new(),
            uri: String::new(),
            size: 0,
            sha256: String::new(),
        };
        let candidate = |version: &str, suite: &str| Candidate {
            name: "a".to_owned(),
            version: version.to_owned(),
            suite: suite.to_owned(),
        };
        let candidates = [candidate("2", "bookworm-security"), candidate("1", "bookworm")];
        let resolved = with_suites(vec![file("1"), file("2"), file("3")], &candidates);
        assert_eq!(
            resolved.iter().map(|package| package.suite.as_str()).collect::<Vec<_>>(),
            ["bookworm", "bookworm-security", "unknown"]
        );
    }

    #[test]
    fn versions_are_understood() {
        assert_eq!(major("1:22.1.8-1~deb12u1"), Some(22));
        assert_eq!(major("7.2.4+dfsg-1~exp1"), Some(7));
        assert_eq!(major("abc"), None);
        assert_eq!(upstream("1:22.1.8-1~deb12u1"), "22.1.8");
        assert_eq!(upstream("7.2.4+dfsg-1~exp1"), "7.2.4");
        assert_eq!(upstream("7.2.4-1~exp2"), "7.2.4");
    }
}
