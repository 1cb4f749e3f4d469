//! Models on Hugging Face's hub, by names such as `hf:owner/name:Q4_K_M`, in the cache that Hugging Face's
//! own programs use.
//!
//! [`HubName`] is a name. [`Hub`] is a server with a cache, by default those that the environment names
//! ([`Hub::from_environment`]). [`Hub::cached`] asks only the cache, and [`Hub::resolve`] the server if
//! something is missing there; [`Hub::fetch`] always asks for the newest state.
//!
//! Nothing appears in the cache before it is complete: a file has the length that the server said, and large
//! files also the SHA-256. What was downloaded of a file before it failed is kept, and the next attempt
//! continues there.

mod cache;
mod client;
mod error;
mod name;
mod selection;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use cache::CachedRepository;
pub use error::HubError;
pub use name::HubName;

use cache::Repository;
use client::Client;
use selection::Selected;

/// The server, unless `HF_ENDPOINT` names another.
const ENDPOINT: &str = "https://huggingface.co";

/// How much of a model has been fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchProgress<'p> {
    /// The file that is being fetched.
    pub file: &'p str,
    /// Bytes of all files that are here.
    pub here: u64,
    /// Bytes of all files.
    pub of: u64,
}

/// A server and a cache.
#[derive(Clone, Debug)]
pub struct Hub {
    /// The server's URL, without a slash at its end.
    pub endpoint: String,
    /// The folder of the cache.
    pub cache: PathBuf,
    /// Who asks.
    pub token: Option<String>,
    /// Whether only the cache may be used.
    pub is_offline: bool,
    /// The time for a connection, and for each piece of an answer.
    pub patience: Duration,
    /// The time before the second attempt; it doubles for each further one.
    pub pause: Duration,
}

impl Hub {
    /// What the environment says, as Hugging Face's own programs read it: `HF_ENDPOINT`; `HF_HUB_CACHE`, or
    /// `hub` in `HF_HOME`, in `huggingface` in `XDG_CACHE_HOME`, or in `~/.cache`; `HF_TOKEN`, or the file
    /// `HF_TOKEN_PATH`, or `token` in `HF_HOME`; `HF_HUB_OFFLINE`.
    ///
    /// # Errors
    /// [`HubError::NoCache`] if no folder has a name.
    pub fn from_environment() -> Result<Self, HubError> {
        Self::of(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn of(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Result<Self, HubError> {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().trim().to_owned());
        let folder = |name: &str| variable(name).map(PathBuf::from);
        let home = folder("HF_HOME").or_else(|| {
            let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
            Some(caches?.join("huggingface"))
        });
        let cache = folder("HF_HUB_CACHE").or_else(|| Some(home.as_ref()?.join("hub")));
        let token_path = folder("HF_TOKEN_PATH").or_else(|| Some(home.as_ref()?.join("token")));
        let of_file = || Some(std::fs::read_to_string(token_path?).ok()?.trim().to_owned());
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let is_on =
            |value: String| ["1", "on", "yes", "true"].iter().any(|on| value.eq_ignore_ascii_case(on));
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache: cache.ok_or(HubError::NoCache)?,
            token: text("HF_TOKEN").or_else(of_file).filter(|token| !token.is_empty()),
            is_offline: text("HF_HUB_OFFLINE").is_some_and(is_on),
            patience: Duration::from_secs(30),
            pause: Duration::from_secs(1),
        })
    }

    fn repository(&self, name: &HubName) -> Repository {
        Repository::new(&self.cache, &name.repository)
    }

    /// The model's file, or the folder of its safetensors, if the cache has all of it.
    ///
    /// # Errors
    /// The cache cannot be read, or the name could mean several files.
    pub fn cached(&self, name: &HubName) -> Result<Option<PathBuf>, HubError> {
        let repository = self.repository(name);
        let Some(commit) = repository.commit(&name.revision)? else { return Ok(None) };
        // Without the list of what the server has, the name must say which file it means.
        let (files, is_whole) = match repository.record(&commit)? {
            Some(record) => (record.files.into_iter().map(|file| file.path).collect(), true),
            None => (repository.files(&commit)?, false),
        };
        let selected = match selection::select(name, &files) {
            Ok(selected) => selected,
            Err(_) if !is_whole => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_whole && selected.is_guess {
            return Ok(None);
        }
        let snapshot = repository.snapshot(&commit);
        let is_here = selected.files.iter().all(|file| snapshot.join(file).is_file());
        // An index names the files that belong to it.
        let is_complete = is_here && (!selected.is_folder() || selection::is_folder_complete(&snapshot));
        Ok(is_complete.then(|| selected.path(&snapshot)))
    }

    /// The model's file or folder, from the cache, or else from the server.
    ///
    /// # Errors
    /// [`HubError`].
    pub fn resolve(
        &self,
        name: &HubName,
        progress: &mut dyn FnMut(FetchProgress<'_>),
    ) -> Result<PathBuf, HubError> {
        match self.cached(name)? {
            Some(path) => Ok(path),
            None => self.fetch(name, progress),
        }
    }

    /// The model's file or folder in the newest state that the server has. Files that did not change are not
    /// fetched again.
    ///
    /// # Errors
    /// [`HubError`].
    pub fn fetch(
        &self,
        name: &HubName,
        progress: &mut dyn FnMut(FetchProgress<'_>),
    ) -> Result<PathBuf, HubError> {
        if self.is_offline {
            return Err(HubError::Offline { name: name.to_string() });
        }
        let client = Client::new(self, name)?;
        let record = client.record(name)?;
        let paths: Vec<String> = record.files.iter().map(|file| file.path.clone()).collect();
        let selected = selection::select(name, &paths)?;
        let repository = self.repository(name);
        repository.begin(&record)?;
        let files =
            selected.files.iter().filter_map(|path| record.files.iter().find(|file| file.path == *path));
        let files: Vec<_> = files.collect();
        let of = files.iter().map(|file| file.size).sum();
        let mut here = 0;
        for file in files {
            let mut tell = |bytes: u64| progress(FetchProgress { file: &file.path, here: here + bytes, of });
            client.download(name, &repository, &record.sha, file, &mut tell)?;
            here += file.size;
        }
        // Only now: a revision that is in the cache is one that something was fetched of.
        repository.point(&name.revision, &record.sha)?;
        let snapshot = repository.snapshot(&record.sha);
        if selected.is_folder() && !selection::is_folder_complete(&snapshot) {
            return Err(HubError::Selection {
                name: name.to_string(),
                problem: "has an index of safetensors files that are not all there".to_owned(),
            });
        }
        Ok(selected.path(&snapshot))
    }

    /// The models of the hub that are in the cache, sorted by name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn list(&self) -> Result<Vec<CachedRepository>, HubError> {
        cache::list(&self.cache)
    }

    /// Deletes from the cache what a name means: one file, or all of a repository if the name has neither a
    /// file nor a kind. Whether it was there.
    ///
    /// # Errors
    /// Something cannot be deleted.
    pub fn remove(&self, name: &HubName) -> Result<bool, HubError> {
        let repository = self.repository(name);
        if name.is_whole_repository() {
            return repository.remove_all();
        }
        let Some(commit) = repository.commit(&name.revision)? else { return Ok(false) };
        let files = repository.files(&commit)?;
        match selection::select(name, &files) {
            Ok(Selected { files, .. }) => repository.remove_files(&commit, &files),
            Err(_) => Ok(false),
        }
    }
}

/// The files that a name means, of those that a repository has.
///
/// # Errors
/// [`HubError::Selection`] if it is none, or could be several.
pub fn select(name: &HubName, files: &[String]) -> Result<Vec<String>, HubError> {
    selection::select(name, files).map(|selected| selected.files)
}

/// Where a file of the cache is, for errors.
fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HubError + use<> {
    let path = path.to_owned();
    move |error| HubError::io(operation, &path, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(variables: &[(&str, &str)]) -> Hub {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        Hub::of(&variable).expect("a hub")
    }

    #[test]
    fn the_environment_is_read_as_hugging_face_reads_it() {
        let default = hub(&[("HOME", "/h")]);
        assert_eq!(default.cache, Path::new("/h/.cache/huggingface/hub"));
        assert_eq!((default.endpoint.as_str(), default.is_offline), (ENDPOINT, false));
        assert_eq!(hub(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).cache, Path::new("/x/huggingface/hub"));
        assert_eq!(hub(&[("HOME", "/h"), ("HF_HOME", "/f")]).cache, Path::new("/f/hub"));
        let all = hub(&[
            ("HF_HOME", "/f"),
            ("HF_HUB_CACHE", "/c"),
            ("HF_ENDPOINT", "http://mirror/"),
            ("HF_TOKEN", " t\n"),
            ("HF_HUB_OFFLINE", "True"),
        ]);
        assert_eq!((all.cache.as_path(), all.endpoint.as_str()), (Path::new("/c"), "http://mirror"));
        assert_eq!((all.token.as_deref(), all.is_offline), (Some("t"), true));
        assert!(matches!(Hub::of(&|_| None), Err(HubError::NoCache)));
    }

    #[test]
    fn a_token_also_comes_from_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().to_str().expect("a name");
        assert_eq!(hub(&[("HF_HOME", home)]).token, None);
        std::fs::write(folder.path().join("token"), "hf_abc\n").expect("write");
        assert_eq!(hub(&[("HF_HOME", home)]).token.as_deref(), Some("hf_abc"));
        assert_eq!(hub(&[("HF_HOME", home), ("HF_TOKEN", "x")]).token.as_deref(), Some("x"));
    }
}
