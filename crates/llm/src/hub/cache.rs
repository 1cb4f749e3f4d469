//! The cache's layout, which is Hugging Face's: `models--OWNER--NAME` with `blobs` by hash, `refs` from
//! revisions to commits, and `snapshots` of commits with links to blobs. Beside these, `.ferrocm` keeps the
//! list of a commit's files as the server gave it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::name::is_path;
use super::{HubError, io_error, selection};

const RECORDS: &str = ".ferrocm";
const PREFIX: &str = "models--";

/// What the server says about a revision.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Record {
    /// The commit.
    pub(super) sha: String,
    #[serde(rename = "siblings")]
    pub(super) files: Vec<RemoteFile>,
}

/// A file on the server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct RemoteFile {
    #[serde(rename = "rfilename")]
    pub(super) path: String,
    #[serde(default)]
    pub(super) size: u64,
    /// The hash that git has for it.
    #[serde(rename = "blobId", default)]
    pub(super) blob: String,
    /// Of large files.
    #[serde(default)]
    pub(super) lfs: Option<LargeFile>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct LargeFile {
    pub(super) sha256: String,
}

impl RemoteFile {
    /// The name of its blob, which is the server's ETag.
    pub(super) fn hash(&self) -> &str {
        self.lfs.as_ref().map_or(&self.blob, |large| &large.sha256)
    }
}

/// Whether a text is a commit or a hash.
pub(super) fn is_hash(text: &str) -> bool {
    (40..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A repository in the cache.
#[derive(Debug)]
pub(super) struct Repository {
    folder: PathBuf,
    locks: PathBuf,
}

impl Repository {
    pub(super) fn new(cache: &Path, repository: &str) -> Self {
        let name = format!("{PREFIX}{}", repository.replace('/', "--"));
        Self { folder: cache.join(&name), locks: cache.join(".locks").join(name) }
    }

    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit)
    }

    pub(super) fn blob(&self, hash: &str) -> PathBuf {
        self.folder.join("blobs").join(hash)
    }

    /// The commit of a revision, if it is known here.
    pub(super) fn commit(&self, revision: &str) -> Result<Option<String>, HubError> {
        let path = self.folder.join("refs").join(revision);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_owned()).filter(|commit| is_hash(commit))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok((is_hash(revision) && self.snapshot(revision).is_dir()).then(|| revision.to_owned()))
            }
            Err(error) => Err(HubError::io("read", &path, error)),
        }
    }

    fn record_path(&self, commit: &str) -> PathBuf {
        self.folder.join(RECORDS).join(format!("{commit}.json"))
    }

    /// The server's list of a commit's files, if this program fetched it.
    pub(super) fn record(&self, commit: &str) -> Result<Option<Record>, HubError> {
        let path = self.record_path(commit);
        match fs::read(&path) {
            // What cannot be read is made again.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(HubError::io("read", &path, error)),
        }
    }

    /// The files of a commit that are here.
    pub(super) fn files(&self, commit: &str) -> Result<Vec<String>, HubError> {
        selection::files_below(&self.snapshot(commit))
    }

    /// Makes the folders, and keeps the server's list.
    pub(super) fn begin(&self, record: &Record) -> Result<(), HubError> {
        for folder in [self.folder.join("blobs"), self.snapshot(&record.sha), self.locks.clone()] {
            fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        }
        let text = serde_json::to_vec(record).map_err(|error| {
            HubError::io("write", &self.record_path(&record.sha), io::Error::other(error))
        })?;
        write_whole(&self.record_path(&record.sha), &text)
    }

    /// Makes a revision mean this commit.
    pub(super) fn point(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        match revision == commit {
            true => Ok(()),
            false => write_whole(&self.folder.join("refs").join(revision), commit.as_bytes()),
        }
    }

    /// Locks a blob against other programs, Hugging Face's own among them. The lock ends with the file.
    pub(super) fn lock(&self, hash: &str) -> Result<File, HubError> {
        let path = self.locks.join(format!("{hash}.lock"));
        let file = File::create(&path).map_err(io_error("create", &path))?;
        file.lock().map_err(io_error("lock", &path))?;
        Ok(file)
    }

    /// Makes a commit's file mean a blob.
    pub(super) fn link(&self, commit: &str, path: &str, hash: &str) -> Result<(), HubError> {
        let place = self.snapshot(commit).join(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        }
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(HubError::io("replace", &place, error));
            }
            _ => {}
        }
        let up = "../".repeat(2 + path.matches('/').count());
        match std::os::unix::fs::symlink(format!("{up}blobs/{hash}"), &place) {
            Ok(()) => Ok(()),
            // File systems without links have the file itself there, as Hugging Face's programs do it.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) =>
            {
                fs::rename(self.blob(hash), &place).map_err(io_error("move a file to", &place))
            }
            Err(error) => Err(HubError::io("create", &place, error)),
        }
    }

    pub(super) fn remove_all(&self) -> Result<bool, HubError> {
        match fs::remove_dir_all(&self.locks) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(HubError::io("delete", &self.locks, error));
            }
            _ => {}
        }
        match fs::remove_dir_all(&self.folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(HubError::io("delete", &self.folder, error)),
        }
    }

    /// Deletes files of a commit, and their blobs unless another commit has them. Whether one was there.
    pub(super) fn remove_files(&self, commit: &str, files: &[String]) -> Result<bool, HubError> {
        let mut blobs = Vec::new();
        let mut was_there = false;
        for file in files {
            let path = self.snapshot(commit).join(file);
            let target = fs::canonicalize(&path).ok();
            match fs::remove_file(&path) {
                Ok(()) => was_there = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(HubError::io("delete", &path, error)),
            }
            blobs.extend(target);
        }
        let snapshots = self.folder.join("snapshots");
        let others: Vec<PathBuf> = selection::files_below(&snapshots)?
            .iter()
            .filter_map(|file| fs::canonicalize(snapshots.join(file)).ok())
            .collect();
        let own = fs::canonicalize(self.folder.join("blobs")).ok();
        for blob in blobs.iter().filter(|blob| !others.contains(blob)) {
            // Links elsewhere are somebody else's.
            if blob.parent() == own.as_deref() {
                fs::remove_file(blob).map_err(io_error("delete", blob))?;
            }
        }
        Ok(was_there)
    }
}

/// Writes a file that others see as a whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), HubError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io_error("create a file in", folder))?;
    file.write_all(bytes).map_err(io_error("write", path))?;
    file.persist(path).map_err(|error| HubError::io("write", path, error.error))?;
    Ok(())
}

/// A model of the hub in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRepository {
    /// The name that loads it.
    pub name: String,
    /// The file, or the folder.
    pub path: PathBuf,
    /// The bytes of its files.
    pub bytes: u64,
}

/// The models in a cache: each GGUF file of each commit that a revision means, and folders with safetensors.
pub(super) fn list(cache: &Path) -> Result<Vec<CachedRepository>, HubError> {
    let entries = match fs::read_dir(cache) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(HubError::io("read", cache, error)),
    };
    let mut found: BTreeMap<String, CachedRepository> = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(io_error("read", cache))?;
        let Ok(folder) = entry.file_name().into_string() else { continue };
        // An owner has no `--` in its name, a model may.
        let Some((owner, name)) = folder.strip_prefix(PREFIX).and_then(|rest| rest.split_once("--")) else {
            continue;
        };
        let repository = Repository::new(cache, &format!("{owner}/{name}"));
        for revision in selection::files_below(&entry.path().join("refs"))? {
            let Some(commit) = repository.commit(&revision)? else { continue };
            let at = if revision == "main" { String::new() } else { format!("@{revision}") };
            let prefix = format!("hf:{owner}/{name}{at}");
            for model in models_of(&repository, &commit, &prefix)? {
                found.insert(model.name.clone(), model);
            }
        }
    }
    Ok(found.into_values().collect())
}

fn models_of(repository: &Repository, commit: &str, prefix: &str) -> Result<Vec<CachedRepository>, HubError> {
    let snapshot = repository.snapshot(commit);
    let files: Vec<String> = repository.files(commit)?.into_iter().filter(|path| is_path(path)).collect();
    let size = |file: &String| fs::metadata(snapshot.join(file)).map_or(0, |metadata| metadata.len());
    let mut models = Vec::new();
    for file in files.iter().filter(|file| file.ends_with(".gguf")) {
        let name = format!("{prefix}/{file}");
        // Later parts of a split model belong to the first.
        let Ok(parsed) = name.parse::<super::HubName>() else { continue };
        let Ok(selected) = selection::select(&parsed, &files) else { continue };
        let bytes = selected.files.iter().map(size).sum();
        models.push(CachedRepository { name, path: snapshot.join(file), bytes });
    }
    if models.is_empty() && selection::is_folder_complete(&snapshot) && snapshot.join("config.json").is_file()
    {
        let bytes = files.iter().map(size).sum();
        models.push(CachedRepository { name: prefix.to_owned(), path: snapshot, bytes });
    }
    Ok(models)
}
