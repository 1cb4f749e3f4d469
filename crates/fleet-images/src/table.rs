//! The table, and checks for errors that would otherwise appear only on a machine.

use toml_edit::{DocumentMut, Item, TableLike};

use crate::{Error, Result};

/// The contents of machines and containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The machines' distribution.
    pub distribution: String,
    /// The name of their release.
    pub codename: String,
    /// The user that runs jobs.
    pub user: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// Packages on machines.
    pub machine_packages: Vec<String>,
    /// The base image of builds, and the name of its release.
    pub build_image: (String, String),
    /// Packages for builds.
    pub build_packages: Vec<String>,
    /// The base image of tests, and its version.
    pub test_image: (String, String),
    /// The name of its release.
    pub test_codename: String,
    /// Packages for tests.
    pub test_packages: Vec<String>,
    /// The release of ROCm.
    pub rocm: String,
    /// Keys that sign packages.
    pub keys: Vec<Key>,
    /// Other sources of packages.
    pub sources: Vec<Source>,
}

/// A key that signs packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name here, and its file's.
    pub name: String,
    /// Where its owner publishes it.
    pub url: String,
    /// 40 hexadecimal digits.
    pub fingerprint: String,
}

/// A source of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name here, and its file's.
    pub name: String,
    /// Its address.
    pub uri: String,
    /// The used components.
    pub components: Vec<String>,
    /// The name of its key.
    pub key: String,
    /// Where it is used: `machine`, `test`.
    pub on: Vec<String>,
    /// The host whose packages take precedence over the distribution's of the same name.
    pub prefer: Option<String>,
}

/// A part of the table, with its place for errors.
struct Part<'a> {
    place: String,
    table: &'a dyn TableLike,
}

impl<'a> Part<'a> {
    fn error(&self, key: &str, problem: impl Into<String>) -> Error {
        Error::Table { place: format!("{}.{key}", self.place), problem: problem.into() }
    }

    fn item(&self, key: &str) -> Result<&'a Item> {
        self.table.get(key).ok_or_else(|| self.error(key, "it is missing"))
    }

    /// One word: it is written to files unquoted, so it must not end a line or word there.
    fn word(&self, key: &str) -> Result<String> {
        let text = self.item(key)?.as_str().ok_or_else(|| self.error(key, "it is not text"))?;
        self.checked(key, text)
    }

    fn checked(&self, key: &str, text: &str) -> Result<String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-+._:/{}".contains(letter);
        if text.is_empty() || text.starts_with('-') || !text.chars().all(fits) {
            return Err(self.error(key, format!("\"{text}\" is not a word of letters, digits and -+._:/")));
        }
        Ok(text.to_owned())
    }

    /// Words in alphabetical order, each once, so that a change touches one line.
    fn words(&self, key: &str) -> Result<Vec<String>> {
        let array = self.item(key)?.as_array().ok_or_else(|| self.error(key, "it is not a list"))?;
        let words = array.iter().map(|value| {
            let text = value.as_str().ok_or_else(|| self.error(key, "it has an item that is not text"))?;
            self.checked(key, text)
        });
        let words: Vec<String> = words.collect::<Result<_>>()?;
        match words.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(self.error(key, format!("{} comes after {}", pair[1], pair[0]))),
            None if words.is_empty() => Err(self.error(key, "it is empty")),
            None => Ok(words),
        }
    }

    /// Refuses unknown keys.
    fn only(&self, known: &[&str]) -> Result<()> {
        match self.table.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, _)) => Err(self.error(key, "it is unknown")),
            None => Ok(()),
        }
    }
}

fn part<'a>(document: &'a DocumentMut, name: &str, known: &[&str]) -> Result<Part<'a>> {
    let missing = || Error::Table { place: name.to_owned(), problem: "the section is missing".to_owned() };
    let table = document.get(name).and_then(Item::as_table_like).ok_or_else(missing)?;
    let part = Part { place: name.to_owned(), table };
    part.only(known)?;
    Ok(part)
}

fn parts<'a>(document: &'a DocumentMut, name: &str, known: &[&str]) -> Result<Vec<Part<'a>>> {
    let missing = || Error::Table { place: name.to_owned(), problem: "there is none".to_owned() };
    let tables = document.get(name).and_then(Item::as_array_of_tables).ok_or_else(missing)?;
    tables
        .iter()
        .enumerate()
        .map(|(index, table)| {
            let part = Part { place: format!("{name} {}", index + 1), table };
            part.only(known)?;
            Ok(part)
        })
        .collect()
}

impl Table {
    /// Reads the table.
    ///
    /// # Errors
    /// [`Error::Syntax`], and [`Error::Table`] with the place of the error.
    pub fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse()?;
        let sections = ["machine", "build", "test", "rocm", "key", "source"];
        if let Some((name, _)) = document.iter().find(|(name, _)| !sections.contains(name)) {
            let problem = "it is unknown".to_owned();
            return Err(Error::Table { place: name.to_owned(), problem });
        }
        let machine = ["distribution", "version", "codename", "user", "groups", "packages"];
        let machine = part(&document, "machine", &machine)?;
        let build = part(&document, "build", &["image", "codename", "packages"])?;
        let test = part(&document, "test", &["image", "version", "codename", "packages"])?;
        let rocm = part(&document, "rocm", &["release", "driver"])?;
        let (distribution, release) = (machine.word("distribution")?, rocm.word("release")?);
        let driver = rocm.word("driver")?;
        let fill = |text: String| {
            text.replace("{distribution}", &distribution)
                .replace("{rocm}", &release)
                .replace("{driver}", &driver)
        };

        let mut keys = Vec::new();
        for part in parts(&document, "key", &["name", "url", "fingerprint"])? {
            let (url, fingerprint) = (part.word("url")?, part.word("fingerprint")?);
            if !url.starts_with("https://") {
                return Err(part.error("url", "keys are fetched by https"));
            }
            let digits =
                fingerprint.chars().all(|digit| digit.is_ascii_digit() || ('A'..='F').contains(&digit));
            if fingerprint.len() != 40 || !digits {
                return Err(part.error("fingerprint", "it is not 40 digits of 0 to 9 and A to F"));
            }
            keys.push(Key { name: part.word("name")?, url, fingerprint });
        }
        let mut sources: Vec<Source> = Vec::new();
        let known = ["name", "uri", "components", "key", "on", "prefer"];
        for part in parts(&document, "source", &known)? {
            let (name, uri, key) = (part.word("name")?, fill(part.word("uri")?), part.word("key")?);
            if uri.contains(['{', '}']) {
                return Err(part.error("uri", format!("{uri} has braces of unknown meaning")));
            }
            if !keys.iter().any(|found| found.name == key) {
                return Err(part.error("key", format!("there is no key \"{key}\"")));
            }
            let on = part.words("on")?;
            if let Some(place) = on.iter().find(|place| !["machine", "test"].contains(&place.as_str())) {
                return Err(part.error("on", format!("{place} is neither machine nor test")));
            }
            if sources.iter().any(|source| source.name == name) {
                return Err(part.error("name", format!("there are two sources \"{name}\"")));
            }
            let prefer = part.table.contains_key("prefer").then(|| part.word("prefer")).transpose()?;
            sources.push(Source { name, uri, components: part.words("components")?, key, on, prefer });
        }
        Ok(Self {
            codename: machine.word("codename")?,
            user: machine.word("user")?,
            groups: machine.words("groups")?,
            machine_packages: machine.words("packages")?,
            build_image: (build.word("image")?, build.word("codename")?),
            build_packages: build.words("packages")?,
            test_image: (test.word("image")?, test.word("version")?),
            test_codename: test.word("codename")?,
            test_packages: test.words("packages")?,
            distribution,
            rocm: release,
            keys,
            sources,
        })
    }

    /// The sources of a place.
    pub fn sources_on(&self, place: &str) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(move |source| source.on.iter().any(|found| found == place))
    }

    /// The keys of a place's sources.
    pub fn keys_on(&self, place: &str) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| self.sources_on(place).any(|source| source.key == key.name))
    }
}

impl Source {
    /// The source in apt's format.
    pub(crate) fn stanza(&self, codename: &str) -> String {
        format!(
            "Types: deb\nURIs: {}\nSuites: {codename}\nComponents: {}\nArchitectures: amd64\nSigned-By: {}\n",
            self.uri,
            self.components.join(" "),
            key_file(&self.key)
        )
    }

    /// apt's preference for its packages.
    pub(crate) fn preferences(&self) -> Option<String> {
        let host = self.prefer.as_ref()?;
        Some(format!("Package: *\nPin: origin {host}\nPin-Priority: 600\n"))
    }
}

/// The path of a key on a machine or in a container.
pub(crate) fn key_file(name: &str) -> String {
    format!("/etc/apt/keyrings/{name}.asc")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = include_str!("../../../ci/images/images.toml");

    #[test]
    fn the_project_s_table_is_read() {
        let table = Table::parse(WHOLE).unwrap();
        assert!(table.machine_packages.iter().any(|package| package == "docker-ce"));
        assert_eq!(table.sources_on("machine").count(), 2);
        assert_eq!(table.keys_on("test").map(|key| key.name.as_str()).collect::<Vec<_>>(), ["rocm"]);
        let source = table.sources_on("test").next().unwrap();
        assert_eq!(source.uri, format!("https://repo.radeon.com/rocm/apt/{}", table.rocm));
        assert!(source.stanza("noble").ends_with("Signed-By: /etc/apt/keyrings/rocm.asc\n"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let wrong = |from: &str, to: &str| {
            assert!(WHOLE.contains(from), "{from}");
            Table::parse(&WHOLE.replacen(from, to, 1)).unwrap_err().to_string()
        };
        for (from, to, message) in [
            ("user = \"runner\"", "", "machine.user: it is missing"),
            ("user = \"runner\"", "user = 3", "machine.user: it is not text"),
            ("user = \"runner\"", "user = \"a b\"", "machine.user: \"a b\" is not a word"),
            ("user = \"runner\"", "user = \"runner\"\ncolour = \"red\"", "machine.colour: it is unknown"),
            ("\"git\",", "\"git\", \"curl\",", "machine.packages: curl comes after git"),
            ("\"git\",", "\"git\", \"git\",", "machine.packages: git comes after git"),
            ("\"git\",", "\"git; reboot\",", "machine.packages: \"git; reboot\" is not a word"),
            ("\"git\",", "\"-y\",", "machine.packages: \"-y\" is not a word"),
            ("[rocm]", "[rock]", "rock: it is unknown"),
            ("key = \"rocm\"", "key = \"rocks\"", "source 2.key: there is no key \"rocks\""),
            (
                "amdgpu/{driver}",
                "amdgpu/{drover}",
                "source 2.uri: https://repo.radeon.com/amdgpu/{drover}/ubuntu has braces",
            ),
            ("on = [\"machine\"]", "on = [\"moon\"]", "source 1.on: moon is neither"),
            ("CA8BB4727A47B4D0", "CA8BB4727A47B4", "key 2.fingerprint: it is not 40 digits"),
            (
                "https://repo.radeon.com/rocm/rocm",
                "http://repo.radeon.com/rocm/rocm",
                "key 2.url: keys are fetched by https",
            ),
            ("name = \"amdgpu\"", "name = \"docker\"", "source 2.name: there are two sources \"docker\""),
        ] {
            let error = wrong(from, to);
            assert!(error.starts_with(&format!("ci/images/images.toml: {message}")), "{error}");
        }
        assert!(matches!(Table::parse("a = "), Err(Error::Syntax(_))));
    }
}
