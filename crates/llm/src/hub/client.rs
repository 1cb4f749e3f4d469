//! Requests to the server.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use ureq::http::{Response, StatusCode, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body};

use super::cache::{Record, RemoteFile, Repository, is_hash};
use super::name::{HubName, is_path};
use super::{Hub, HubError, io_error};

/// Attempts without a further byte before a download is given up.
const ATTEMPTS: u32 = 5;
/// Bytes of a list of files.
const MOST_LIST: u64 = 64 << 20;
/// Bytes that are read and hashed at once.
const PIECE: usize = 1 << 20;

pub(super) struct Client<'h> {
    hub: &'h Hub,
    agent: Agent,
}

/// Why an attempt failed.
enum Failure {
    /// Another attempt may succeed.
    Passing(HubError),
    Final(HubError),
}

impl<'h> Client<'h> {
    pub(super) fn new(hub: &'h Hub, name: &HubName) -> Result<Self, HubError> {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::from(authorities(hub, name)?))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(tls)
            .timeout_connect(Some(hub.patience))
            .timeout_recv_response(Some(hub.patience))
            .timeout_per_read(Some(hub.patience))
            .user_agent(concat!("ferrocm/", env!("CARGO_PKG_VERSION")))
            // Bytes of a file, not of its compressed form.
            .accept_encoding("identity")
            .build()
            .new_agent();
        Ok(Self { hub, agent })
    }

    fn get(&self, name: &HubName, url: &str, from: u64) -> Result<Response<Body>, Failure> {
        let mut request = self.agent.get(url);
        if let Some(token) = &self.hub.token {
            // Not sent on to the hosts that files are redirected to.
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if from > 0 {
            request = request.header(header::RANGE, format!("bytes={from}-"));
        }
        let response = request.call().map_err(|error| network(name, url, &error))?;
        let status = response.status();
        if status.is_success() || (from > 0 && status == StatusCode::RANGE_NOT_SATISFIABLE) {
            return Ok(response);
        }
        Err(self.refusal(name, url, response))
    }

    /// What an answer that is no success means.
    fn refusal(&self, name: &HubName, url: &str, mut response: Response<Body>) -> Failure {
        let status = response.status();
        let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let (code, message) = (header("x-error-code").unwrap_or_default(), header("x-error-message"));
        let message = message.or_else(|| {
            let text = response.body_mut().with_config().limit(1 << 16).read_to_string().ok()?;
            let value: serde_json::Value = serde_json::from_str(&text).ok()?;
            Some(value.get("error")?.as_str()?.to_owned())
        });
        let name_text = name.to_string();
        let url = url.to_owned();
        let what = match (status, code.as_str()) {
            (_, "RevisionNotFound") => Some("revision"),
            (_, "EntryNotFound") => Some("file"),
            (StatusCode::NOT_FOUND, _) => Some("repository"),
            _ => None,
        };
        if let Some(what) = what {
            return Failure::Final(HubError::NotFound { name: name_text, what, url });
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let page = format!("{}/{}", self.hub.endpoint, name.repository());
            let advice = match (code.as_str(), &self.hub.token) {
                ("GatedRepo", _) => {
                    format!(
                        "Ask for access at {page}, and set HF_TOKEN to a token of the account that has it."
                    )
                }
                (_, None) => {
                    "The repository does not exist, or is private: set HF_TOKEN to a token that may read it."
                        .to_owned()
                }
                (_, Some(_)) => {
                    "The repository does not exist, or the token in HF_TOKEN may not read it.".to_owned()
                }
            };
            let problem = message.unwrap_or_else(|| format!("the server answered {status}"));
            return Failure::Final(HubError::Refused { name: name_text, problem, url, advice });
        }
        let said =
            message.map(|message| format!("{status}: {message}")).unwrap_or_else(|| status.to_string());
        let error = HubError::Status { name: name_text, status: said, url };
        match status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            true => Failure::Passing(error),
            false => Failure::Final(error),
        }
    }

    /// Waits before another attempt; gives up after the last.
    fn again(&self, failures: &mut u32, error: HubError) -> Result<(), HubError> {
        *failures += 1;
        if *failures >= ATTEMPTS {
            return Err(error);
        }
        let pause = self.hub.pause.saturating_mul(1 << (*failures - 1));
        thread::sleep(pause.min(Duration::from_secs(60)));
        Ok(())
    }

    /// What the server has of a revision.
    pub(super) fn record(&self, name: &HubName) -> Result<Record, HubError> {
        let revision = escaped(&name.revision).replace('/', "%2F");
        let url =
            format!("{}/api/models/{}/revision/{revision}?blobs=true", self.hub.endpoint, name.repository);
        let mut failures = 0;
        loop {
            match self.record_once(name, &url) {
                Ok(record) => return Ok(record),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(error)) => self.again(&mut failures, error)?,
            }
        }
    }

    fn record_once(&self, name: &HubName, url: &str) -> Result<Record, Failure> {
        let mut response = self.get(name, url, 0)?;
        let answer =
            |problem: String| HubError::Answer { name: name.to_string(), problem, url: url.to_owned() };
        let bytes = response.body_mut().with_config().limit(MOST_LIST).read_to_vec();
        let bytes = bytes.map_err(|error| network(name, url, &error))?;
        let mut record: Record = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::Final(answer(format!("the server's list of files cannot be read: {error}")))
        })?;
        if !is_hash(&record.sha) {
            return Err(Failure::Final(answer(format!("the server's commit is {:?}", record.sha))));
        }
        // What would lie outside of the model's folder is not there.
        record.files.retain(|file| is_path(&file.path));
        Ok(record)
    }

    /// Puts a file into the cache, unless it is there.
    pub(super) fn download(
        &self,
        name: &HubName,
        repository: &Repository,
        commit: &str,
        file: &RemoteFile,
        tell: &mut dyn FnMut(u64),
    ) -> Result<(), HubError> {
        if repository.snapshot(commit).join(&file.path).is_file() {
            tell(file.size);
            return Ok(());
        }
        let hash = file.hash();
        if !is_hash(hash) {
            let url = self.hub.endpoint.clone();
            let problem = format!("the server does not say which hash its file {} has", file.path);
            return Err(HubError::Answer { name: name.to_string(), problem, url });
        }
        let _lock = repository.lock(hash)?;
        let blob = repository.blob(hash);
        if !blob.is_file() {
            let partial = repository.blob(&format!("{hash}.incomplete"));
            let out = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&partial);
            let mut out = out.map_err(io_error("create", &partial))?;
            let mut download = Download {
                client: self,
                name,
                file,
                out: &mut out,
                here: 0,
                sum: Sha256::new(),
                partial: &partial,
            };
            let finished = download.run(commit, tell);
            // What is wrong must not be continued; what is incomplete may be.
            if matches!(finished, Err(HubError::Checksum { .. })) {
                fs::remove_file(&partial).map_err(io_error("delete", &partial))?;
            }
            finished?;
            fs::rename(&partial, &blob).map_err(io_error("move a file to", &blob))?;
        }
        tell(file.size);
        repository.link(commit, &file.path, hash)
    }
}

/// Who may vouch for the server: the system's certificates, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`,
/// so that proxies of companies work.
fn authorities(hub: &Hub, name: &HubName) -> Result<Vec<Certificate<'static>>, HubError> {
    if !hub.endpoint.starts_with("https://") {
        return Ok(Vec::new());
    }
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reasons: String = found.errors.iter().map(|error| format!(" ({error})")).collect();
        let problem = format!(
            "this system has no certificates to check the server's with: install ca-certificates, or set \
             SSL_CERT_FILE{reasons}"
        );
        return Err(HubError::Network { name: name.to_string(), problem, url: hub.endpoint.clone() });
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

/// A download in progress.
struct Download<'d> {
    client: &'d Client<'d>,
    name: &'d HubName,
    file: &'d RemoteFile,
    out: &'d mut File,
    /// Bytes that are in the file.
    here: u64,
    /// Of these bytes.
    sum: Sha256,
    partial: &'d std::path::Path,
}

impl Download<'_> {
    fn run(&mut self, commit: &str, tell: &mut dyn FnMut(u64)) -> Result<(), HubError> {
        self.take_over(tell)?;
        let Client { hub, .. } = self.client;
        let url = format!(
            "{}/{}/resolve/{commit}/{}",
            hub.endpoint,
            self.name.repository,
            escaped(&self.file.path)
        );
        let mut failures = 0;
        while self.here < self.file.size {
            let before = self.here;
            match self.attempt(&url, tell) {
                Ok(()) => {}
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(error)) => {
                    if self.here > before {
                        failures = 0;
                    }
                    self.client.again(&mut failures, error)?;
                }
            }
        }
        self.out.sync_all().map_err(io_error("write", self.partial))?;
        self.check()
    }

    /// Hashes what an earlier attempt left.
    fn take_over(&mut self, tell: &mut dyn FnMut(u64)) -> Result<(), HubError> {
        let mut buffer = vec![0; PIECE];
        loop {
            let count = self.out.read(&mut buffer).map_err(io_error("read", self.partial))?;
            if count == 0 {
                break;
            }
            self.sum.update(&buffer[..count]);
            self.here += count as u64;
            tell(self.here);
        }
        if self.here > self.file.size {
            self.restart()?;
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<(), HubError> {
        self.out
            .set_len(0)
            .and_then(|()| self.out.seek(SeekFrom::Start(0)))
            .map_err(io_error("write", self.partial))?;
        (self.here, self.sum) = (0, Sha256::new());
        Ok(())
    }

    fn attempt(&mut self, url: &str, tell: &mut dyn FnMut(u64)) -> Result<(), Failure> {
        let mut response = self.client.get(self.name, url, self.here)?;
        if self.here > 0 && !self.continues(&response) {
            self.restart().map_err(Failure::Final)?;
            if !response.status().is_success() {
                // The next attempt asks for everything.
                return Ok(());
            }
        }
        let mut body = response.body_mut().as_reader();
        let mut buffer = vec![0; PIECE];
        while self.here < self.file.size {
            let room = usize::try_from(self.file.size - self.here).unwrap_or(PIECE).min(PIECE);
            let count = match body.read(&mut buffer[..room]) {
                Ok(0) => return Err(self.broken(url, "the connection ended early")),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(url, &error.to_string())),
            };
            self.out.write_all(&buffer[..count]).map_err(|error| Failure::Final(self.not_written(error)))?;
            self.sum.update(&buffer[..count]);
            self.here += count as u64;
            tell(self.here);
        }
        // A byte more than announced is another file.
        match body.read(&mut buffer[..1]) {
            Ok(1) => {
                Err(Failure::Final(self.wrong("length", "more bytes".to_owned(), self.file.size.to_string())))
            }
            _ => Ok(()),
        }
    }

    /// Whether an answer has the bytes from where this download is.
    fn continues(&self, response: &Response<Body>) -> bool {
        let range = response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
        let start = range.and_then(|range| range.strip_prefix("bytes ")?.split('-').next()?.parse().ok());
        response.status() == StatusCode::PARTIAL_CONTENT && start == Some(self.here)
    }

    fn broken(&self, url: &str, problem: &str) -> Failure {
        let problem =
            format!("{problem} after {} of {} bytes of {}", self.here, self.file.size, self.file.path);
        Failure::Passing(HubError::Network { name: self.name.to_string(), problem, url: url.to_owned() })
    }

    fn not_written(&self, error: io::Error) -> HubError {
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        match self.partial.parent() {
            Some(folder) if is_full => HubError::DiskFull {
                name: self.name.to_string(),
                folder: folder.to_owned(),
                size: self.file.size - self.here,
            },
            _ => HubError::io("write", self.partial, error),
        }
    }

    fn check(&mut self) -> Result<(), HubError> {
        let Some(large) = &self.file.lfs else { return Ok(()) };
        let sum = std::mem::take(&mut self.sum).finalize();
        let got: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        match got.eq_ignore_ascii_case(&large.sha256) {
            true => Ok(()),
            false => Err(self.wrong("SHA-256", got, large.sha256.clone())),
        }
    }

    fn wrong(&self, what: &'static str, got: String, expected: String) -> HubError {
        let (name, file) = (self.name.to_string(), self.file.path.clone());
        HubError::Checksum { name, file, what, got, expected }
    }
}

fn network(name: &HubName, url: &str, error: &ureq::Error) -> Failure {
    let error_of =
        |problem: String| HubError::Network { name: name.to_string(), problem, url: url.to_owned() };
    match error {
        ureq::Error::HostNotFound => Failure::Final(error_of("the host is not known".to_owned())),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
            Failure::Final(error_of(format!("the connection is not secure: {error}")))
        }
        // A refused connection stays refused; a broken one may have been a hiccup.
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Failure::Final(error_of("the connection was refused".to_owned()))
        }
        ureq::Error::Io(_)
        | ureq::Error::Timeout(_)
        | ureq::Error::ConnectionFailed
        | ureq::Error::BodyStalled => Failure::Passing(error_of(error.to_string())),
        _ => Failure::Final(error_of(error.to_string())),
    }
}

/// A path for a URL.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
