//! A server that answers as Hugging Face's hub does, and fails as it is told.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What the server does.
#[derive(Clone, Default)]
pub(crate) struct Plan {
    /// The files of the repository `owner/name`. Those that end in `.gguf` or `.safetensors` are large ones,
    /// which come from another host.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The token that files and lists need.
    pub(crate) token: Option<String>,
    /// Lists need no token, files do.
    pub(crate) is_gated: bool,
    /// The connection breaks after this many bytes, so many times.
    pub(crate) breaks: (usize, usize),
    /// This many answers are 503.
    pub(crate) is_busy: usize,
    /// Ranges are ignored.
    pub(crate) has_no_ranges: bool,
    /// Other bytes come than the list says.
    pub(crate) is_wrong: bool,
    /// Nothing comes for this long.
    pub(crate) stall: Option<Duration>,
    /// Every answer to a list.
    pub(crate) list: Option<String>,
}

/// A request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) path: String,
    /// `Host`, by its port's owner: whether the other host was asked.
    pub(crate) is_other_host: bool,
    pub(crate) authorization: Option<String>,
    pub(crate) range: Option<String>,
}

struct State {
    plan: Plan,
    seen: Vec<Seen>,
    other: SocketAddr,
}

/// A running server: two hosts, the hub and the one that large files come from.
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start(plan: Plan) -> Self {
        let listen = || TcpListener::bind("127.0.0.1:0").expect("a port");
        let (hub, other) = (listen(), listen());
        let url = format!("http://{}", hub.local_addr().expect("an address"));
        let state = State { plan, seen: Vec::new(), other: other.local_addr().expect("an address") };
        let state = Arc::new(Mutex::new(state));
        for (listener, is_other) in [(hub, false), (other, true)] {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let state = Arc::clone(&state);
                    thread::spawn(move || serve(&state, stream, is_other));
                }
            });
        }
        Self { url, state }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().expect("the state").seen.clone()
    }

    /// Changes what the server does, and forgets what it saw.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Plan)) {
        let mut state = self.state.lock().expect("the state");
        change(&mut state.plan);
        state.seen.clear();
    }
}

fn is_large(path: &str) -> bool {
    path.ends_with(".gguf") || path.ends_with(".safetensors")
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash that git would have for it is of the same length.
fn blob(bytes: &[u8]) -> String {
    sha256(bytes)[..40].to_owned()
}

fn serve(state: &Mutex<State>, mut stream: TcpStream, is_other_host: bool) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut lines = BufReader::new(reading);
    while let Some((method, seen)) = request(&mut lines, is_other_host) {
        if answer(state, &mut stream, &method, seen).is_none() {
            return;
        }
    }
}

fn request(lines: &mut BufReader<TcpStream>, is_other_host: bool) -> Option<(String, Seen)> {
    let mut first = String::new();
    lines.read_line(&mut first).ok().filter(|count| *count > 0)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut seen = Seen { path, is_other_host, authorization: None, range: None };
    let mut length = 0;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => seen.authorization = Some(value.to_owned()),
            "range" => seen.range = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    std::io::copy(&mut lines.take(length), &mut std::io::sink()).ok()?;
    Some((method, seen))
}

/// Answers; nothing if the connection is to end.
fn answer(state: &Mutex<State>, stream: &mut TcpStream, method: &str, seen: Seen) -> Option<()> {
    let (plan, other, breaks, is_busy) = {
        let mut state = state.lock().ok()?;
        state.seen.push(seen.clone());
        let is_busy = state.plan.is_busy > 0;
        state.plan.is_busy = state.plan.is_busy.saturating_sub(1);
        let is_file = seen.is_other_host || !is_large(&seen.path);
        let breaks = (is_file && seen.path.contains("/resolve/") && state.plan.breaks.1 > 0)
            .then_some(state.plan.breaks.0);
        if breaks.is_some() {
            state.plan.breaks.1 -= 1;
        }
        (state.plan.clone(), state.other, breaks, is_busy)
    };
    let mut reply = |status: &str, headers: &[(&str, String)], body: &[u8], upto: usize| {
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
        if method != "HEAD" {
            stream.write_all(&body[..upto.min(body.len())]).ok()?;
        }
        (upto >= body.len()).then_some(())
    };
    let refuse =
        |code: &str| vec![("X-Error-Code", code.to_owned()), ("X-Error-Message", format!("this is {code}"))];
    if is_busy {
        return reply("503 Service Unavailable", &[], b"", usize::MAX);
    }
    let path = seen.path.split('?').next()?;
    let may = plan.token.is_none()
        || seen.authorization == plan.token.as_ref().map(|token| format!("Bearer {token}"));
    if let Some(revision) = path.strip_prefix("/api/models/owner/name/revision/") {
        if !may && !plan.is_gated {
            return reply("401 Unauthorized", &refuse("RepoNotFound"), b"", usize::MAX);
        }
        if !["main", "refs%2Fpr%2F1", COMMIT].contains(&revision) {
            return reply("404 Not Found", &refuse("RevisionNotFound"), b"", usize::MAX);
        }
        let list = plan.list.clone().unwrap_or_else(|| list(&plan).to_string());
        return reply("200 OK", &[("Content-Type", "application/json".into())], list.as_bytes(), usize::MAX);
    }
    let rest = path.strip_prefix("/owner/name/resolve/").and_then(|rest| rest.split_once('/'));
    let Some((_, file)) = rest else {
        return reply("404 Not Found", &refuse("RepoNotFound"), b"", usize::MAX);
    };
    let file = file.replace("%20", " ");
    let Some(mut bytes) = plan.files.get(&file).cloned() else {
        return reply("404 Not Found", &refuse("EntryNotFound"), b"", usize::MAX);
    };
    let etag = if is_large(&file) { sha256(&bytes) } else { blob(&bytes) };
    let mut headers = vec![
        ("ETag", format!("\"{etag}\"")),
        ("X-Repo-Commit", COMMIT.to_owned()),
        ("Accept-Ranges", "bytes".to_owned()),
    ];
    if !seen.is_other_host && !may {
        return reply("403 Forbidden", &refuse("GatedRepo"), b"", usize::MAX);
    }
    if is_large(&file) && !seen.is_other_host {
        headers.push(("Location", format!("http://{other}{}", seen.path)));
        headers.push(("X-Linked-Etag", format!("\"{etag}\"")));
        headers.push(("X-Linked-Size", bytes.len().to_string()));
        return reply("302 Found", &headers, b"", usize::MAX);
    }
    if let Some(stall) = plan.stall {
        thread::sleep(stall);
    }
    if plan.is_wrong {
        bytes[0] ^= 1;
    }
    let start =
        seen.range.as_deref().and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
    let start: usize = start.filter(|_| !plan.has_no_ranges).unwrap_or(0);
    let status = match seen.range {
        Some(_) if start >= bytes.len() => return reply("416 Range Not Satisfiable", &[], b"", usize::MAX),
        Some(_) if !plan.has_no_ranges => {
            headers.push(("Content-Range", format!("bytes {start}-{}/{}", bytes.len() - 1, bytes.len())));
            "206 Partial Content"
        }
        _ => "200 OK",
    };
    reply(status, &headers, &bytes[start..], breaks.unwrap_or(usize::MAX))
}

fn list(plan: &Plan) -> Value {
    let file = |(path, bytes): (&String, &Vec<u8>)| {
        let mut file = json!({ "rfilename": path, "size": bytes.len(), "blobId": blob(bytes) });
        if is_large(path) {
            file["lfs"] = json!({ "sha256": sha256(bytes), "size": bytes.len(), "pointerSize": 130 });
        }
        file
    };
    json!({ "id": "owner/name", "sha": COMMIT, "siblings": plan.files.iter().map(file).collect::<Vec<_>>() })
}
