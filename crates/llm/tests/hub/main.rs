//! Names of Hugging Face's hub, against a server of our own on loopback, and Hugging Face's own client.

mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use llm::hub::{Hub, HubError, HubName};
use server::{COMMIT, Plan, Server, sha256};
use tempfile::TempDir;
use test_skip::{Lack, skip};

/// A Python that has Hugging Face's client; `cargo xtask test server` makes one.
const PYTHON: &str = "FERROCM_TEST_HUB_PYTHON";

fn plan(files: &[(&str, &[u8])]) -> Plan {
    let files = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    Plan { files, ..Plan::default() }
}

/// Bytes that differ everywhere.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn one_model() -> Plan {
    plan(&[("README.md", b"# a model"), ("m-Q4_K_M.gguf", &bytes(300_000)), ("m-Q8_0.gguf", &bytes(50))])
}

struct Setting {
    server: Server,
    hub: Hub,
    cache: TempDir,
}

fn start(plan: Plan) -> Setting {
    let server = Server::start(plan);
    let cache = tempfile::tempdir().expect("a folder");
    let hub = Hub {
        endpoint: server.url.clone(),
        cache: cache.path().to_owned(),
        token: None,
        is_offline: false,
        patience: Duration::from_secs(10),
        pause: Duration::from_millis(1),
    };
    Setting { server, hub, cache }
}

fn name(text: &str) -> HubName {
    text.parse().expect("a name")
}

impl Setting {
    fn resolve(&self, text: &str) -> Result<PathBuf, HubError> {
        self.hub.resolve(&name(text), &mut |_| {})
    }

    fn error(&self, text: &str) -> String {
        self.resolve(text).expect_err("an error").to_string()
    }

    fn repository(&self) -> PathBuf {
        self.cache.path().join("models--owner--name")
    }

    /// Files in the cache that are no folders, below the blobs.
    fn blobs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.repository().join("blobs")).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }
}

#[test]
fn a_model_is_fetched_once_and_then_found_without_a_server() {
    let mut setting = start(one_model());
    let mut last = None;
    let path = setting.hub.resolve(&name("hf:owner/name"), &mut |now| last = Some((now.here, now.of)));
    let path = path.expect("fetched");
    assert_eq!(last, Some((300_000, 300_000)));
    assert_eq!(path, setting.repository().join("snapshots").join(COMMIT).join("m-Q4_K_M.gguf"));
    assert_eq!(fs::read(&path).expect("the model"), bytes(300_000));
    let link = fs::read_link(&path).expect("a link");
    assert_eq!(link, Path::new("../../blobs").join(sha256(&bytes(300_000))));
    assert_eq!(fs::read_to_string(setting.repository().join("refs/main")).expect("a ref"), COMMIT);
    let asked = setting.server.seen().len();
    setting.hub.is_offline = true;
    assert_eq!(setting.resolve("hf:owner/name").expect("cached"), path);
    assert_eq!(setting.resolve("hf:owner/name:q4_k_m").expect("cached"), path);
    assert_eq!(setting.resolve("hf:owner/name/m-Q4_K_M.gguf").expect("cached"), path);
    assert_eq!(setting.resolve(&format!("hf:owner/name@{COMMIT}:Q4_K_M")).expect("cached"), path);
    assert_eq!(setting.server.seen().len(), asked);
    let error = setting.error("hf:owner/name:Q8_0");
    assert!(error.contains("hf:owner/name:Q8_0 is not in the cache, and HF_HUB_OFFLINE"), "{error}");
}

#[test]
fn revisions_split_files_and_folders_are_fetched_whole() {
    let setting = start(plan(&[
        ("Q4_0/m-00001-of-00002.gguf", &bytes(1000)),
        ("Q4_0/m-00002-of-00002.gguf", &bytes(2000)),
        ("with blanks.gguf", b"x"),
    ]));
    let path = setting.resolve("hf:owner/name@refs/pr/1:Q4_0").expect("fetched");
    assert!(path.ends_with("Q4_0/m-00001-of-00002.gguf"), "{}", path.display());
    assert_eq!(fs::read(path.with_file_name("m-00002-of-00002.gguf")).expect("part 2"), bytes(2000));
    assert_eq!(fs::read_to_string(setting.repository().join("refs/refs/pr/1")).expect("a ref"), COMMIT);
    let other = setting.resolve("hf:owner/name/with blanks.gguf").expect("fetched");
    assert_eq!(fs::read(other).expect("a file"), b"x");

    let index = br#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    let files: &[(&str, &[u8])] = &[
        ("config.json", b"{}"),
        ("tokenizer.json", b"{}"),
        ("1_Pooling/config.json", b"{}"),
        ("model.safetensors.index.json", index),
        ("model-1.safetensors", b"1"),
        ("model-2.safetensors", b"2"),
        ("pytorch_model.bin", b"not this"),
    ];
    let setting = start(plan(files));
    let folder = setting.resolve("hf:owner/name").expect("fetched");
    assert_eq!(folder, setting.repository().join("snapshots").join(COMMIT));
    for (file, content) in &files[..6] {
        assert_eq!(fs::read(folder.join(file)).expect("a file"), *content);
    }
    assert!(!folder.join("pytorch_model.bin").exists());
    setting.server.change(|plan| plan.files.clear());
    assert_eq!(setting.resolve("hf:owner/name").expect("cached"), folder);
    // Without one of its parts, it is not in the cache.
    fs::remove_file(folder.join("model-2.safetensors")).expect("remove");
    assert_eq!(setting.hub.cached(&name("hf:owner/name")).expect("looked up"), None);
}

#[test]
fn a_broken_download_continues_where_it_ended() {
    let mut plan = one_model();
    plan.breaks = (40_000, 3);
    plan.is_busy = 2;
    let setting = start(plan);
    let path = setting.resolve("hf:owner/name").expect("fetched");
    assert_eq!(fs::read(path).expect("the model"), bytes(300_000));
    let ranges: Vec<_> =
        setting.server.seen().into_iter().filter(|seen| seen.is_other_host).map(|seen| seen.range).collect();
    let range = |from: usize| Some(format!("bytes={from}-"));
    assert_eq!(ranges, [None, range(40_000), range(80_000), range(120_000)]);
}

#[test]
fn another_attempt_continues_and_a_server_without_ranges_begins_anew() {
    let mut plan = one_model();
    plan.breaks = (10_000, 1);
    let setting = start(plan.clone());
    // What a process that was killed leaves.
    let hash = sha256(&bytes(300_000));
    fs::create_dir_all(setting.repository().join("blobs")).expect("a folder");
    let partial = setting.repository().join("blobs").join(format!("{hash}.incomplete"));
    fs::write(&partial, &bytes(300_000)[..200_000]).expect("write");
    setting.server.change(|plan| plan.breaks.1 = 0);
    setting.resolve("hf:owner/name").expect("fetched");
    assert_eq!(setting.blobs(), std::slice::from_ref(&hash));
    assert_eq!(
        setting.server.seen().last().and_then(|seen| seen.range.clone()),
        Some("bytes=200000-".into())
    );

    plan.has_no_ranges = true;
    let setting = start(plan);
    let path = setting.resolve("hf:owner/name").expect("fetched");
    assert_eq!(fs::read(path).expect("the model"), bytes(300_000));
}

#[test]
fn wrong_bytes_are_refused_and_leave_nothing() {
    let mut plan = one_model();
    plan.is_wrong = true;
    let setting = start(plan);
    let error = setting.error("hf:owner/name");
    assert!(error.contains("m-Q4_K_M.gguf has the wrong SHA-256"), "{error}");
    assert!(error.contains(&sha256(&bytes(300_000))), "{error}");
    assert_eq!(setting.blobs(), Vec::<String>::new());
    assert_eq!(setting.hub.cached(&name("hf:owner/name")).expect("looked up"), None);
    setting.server.change(|plan| plan.is_wrong = false);
    setting.resolve("hf:owner/name").expect("fetched");
    // A list that says less than comes.
    let setting = start(one_model());
    let list = format!(
        r#"{{"sha": "{COMMIT}", "siblings": [{{"rfilename": "m-Q8_0.gguf", "size": 49, "blobId": "", "lfs": {{"sha256": "{}"}}}}]}}"#,
        sha256(&bytes(49))
    );
    setting.server.change(|plan| plan.list = Some(list));
    let error = setting.error("hf:owner/name");
    assert!(error.contains("wrong length: more bytes, not 49"), "{error}");
}

#[test]
fn every_refusal_says_what_to_do() {
    let mut setting = start(one_model());
    let error = setting.error("hf:owner/other");
    assert!(error.contains("the server has no such repository"), "{error}");
    let error = setting.error("hf:owner/name@v9");
    assert!(error.contains("the server has no such revision"), "{error}");
    let error = setting.error("hf:owner/name:Q2_K");
    assert!(error.contains("the GGUF files are m-Q4_K_M.gguf, m-Q8_0.gguf"), "{error}");

    setting.server.change(|plan| plan.token = Some("hf_good".into()));
    let error = setting.error("hf:owner/name");
    assert!(error.contains("set HF_TOKEN") && error.contains("is private"), "{error}");
    setting.hub.token = Some("hf_bad".into());
    let error = setting.error("hf:owner/name");
    assert!(error.contains("the token in HF_TOKEN may not read it") && !error.contains("hf_bad"), "{error}");
    setting.server.change(|plan| plan.is_gated = true);
    let error = setting.error("hf:owner/name");
    assert!(error.contains("this is GatedRepo") && error.contains("Ask for access at http://127"), "{error}");
    assert!(!setting.repository().join("refs/main").exists());

    setting.hub.token = Some("hf_good".into());
    setting.resolve("hf:owner/name").expect("fetched");
    let seen = setting.server.seen();
    assert!(seen.iter().any(|seen| seen.is_other_host), "{seen:?}");
    // The token stays with the hub.
    for seen in seen {
        assert_eq!(seen.authorization.is_some(), !seen.is_other_host, "{seen:?}");
    }
}

#[test]
fn a_server_that_is_not_there_or_says_nothing_is_an_error_in_time() {
    let mut setting = start(one_model());
    setting.server.change(|plan| plan.is_busy = usize::MAX);
    let error = setting.error("hf:owner/name");
    assert!(error.contains("503 Service Unavailable"), "{error}");
    assert_eq!(setting.server.seen().len(), 5);
    setting.hub.patience = Duration::from_millis(200);
    setting.server.change(|plan| (plan.is_busy, plan.stall) = (0, Some(Duration::from_secs(3))));
    let error = setting.error("hf:owner/name");
    assert!(error.contains("timeout"), "{error}");
    setting.server.change(|plan| plan.list = Some("<html>".into()));
    assert!(setting.error("hf:owner/name").contains("list of files cannot be read"));
    let nobody =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    setting.hub.endpoint = format!("http://{nobody}");
    let error = setting.error("hf:owner/name");
    assert!(
        error.contains("the connection was refused") && error.contains("works without a network"),
        "{error}"
    );
    setting.hub.endpoint = "http://no-such-host.invalid".to_owned();
    assert!(setting.error("hf:owner/name").contains("hf:owner/name was not fetched"));
}

#[test]
fn a_list_of_the_server_cannot_lead_out_of_the_cache() {
    let setting = start(one_model());
    let hash = sha256(b"x");
    let file = |path: &str, hash: &str| {
        format!(
            r#"{{"sha": "{COMMIT}", "siblings": [{{"rfilename": "{path}", "size": 1, "blobId": "{hash}"}}]}}"#
        )
    };
    setting.server.change(|plan| plan.list = Some(file("../../../evil.gguf", &hash)));
    assert!(setting.error("hf:owner/name").contains("has no model"));
    setting.server.change(|plan| plan.list = Some(file("m.gguf", "../../evil")));
    assert!(setting.error("hf:owner/name").contains("does not say which hash"));
    setting.server.change(|plan| plan.list = Some(r#"{"sha": "../..", "siblings": []}"#.into()));
    assert!(setting.error("hf:owner/name").contains("the server's commit is"));
    let entries: Vec<_> =
        fs::read_dir(setting.cache.path().parent().expect("a folder")).expect("read").flatten().collect();
    assert!(!entries.iter().any(|entry| entry.file_name().to_string_lossy().contains("evil")));
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    // Root may write everywhere, but not into a file.
    let mut setting = start(one_model());
    let file = setting.cache.path().join("file");
    fs::write(&file, "").expect("write");
    setting.hub.cache = file.clone();
    let error = setting.error("hf:owner/name");
    assert!(error.contains("cannot ") && error.contains(&file.display().to_string()), "{error}");
}

#[test]
fn a_full_disk_is_an_error_that_names_the_folder() {
    let mut setting = start(one_model());
    // A file system of 64 KiB, in a name space of this process's child: this test runs itself there.
    if std::env::var_os("FERROCM_TEST_HUB_FULL").is_none() {
        let test = std::env::current_exe().expect("the test");
        let script = "mount -t tmpfs -o size=64k none \"$FERROCM_TEST_HUB_FULL\" && exec \"$0\" --exact a_full_disk_is_an_error_that_names_the_folder --nocapture";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(test);
        let output = command.env("FERROCM_TEST_HUB_FULL", setting.cache.path()).output();
        return match output {
            Ok(output) if output.status.success() => {}
            Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => {
                skip(Lack::Machine, "no name spaces for mounts")
            }
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => skip(Lack::Machine, format_args!("unshare: {error}")),
        };
    }
    setting.hub.cache = PathBuf::from(std::env::var_os("FERROCM_TEST_HUB_FULL").expect("a folder"));
    let error = setting.error("hf:owner/name");
    assert!(error.contains("no room left in") && error.contains("blobs: hf:owner/name takes"), "{error}");
}

#[test]
fn models_are_listed_and_deleted_one_by_one() {
    let setting = start(one_model());
    setting.resolve("hf:owner/name:Q8_0").expect("fetched");
    setting.resolve("hf:owner/name@refs/pr/1").expect("fetched");
    setting.resolve("hf:owner/name").expect("fetched");
    let list = setting.hub.list().expect("a list");
    let names: Vec<_> = list.iter().map(|model| (model.name.as_str(), model.bytes)).collect();
    assert_eq!(
        names,
        [
            ("hf:owner/name/m-Q4_K_M.gguf", 300_000),
            ("hf:owner/name/m-Q8_0.gguf", 50),
            ("hf:owner/name@refs/pr/1/m-Q4_K_M.gguf", 300_000),
            ("hf:owner/name@refs/pr/1/m-Q8_0.gguf", 50),
        ]
    );
    for model in &list {
        assert_eq!(setting.hub.cached(&name(&model.name)).expect("found"), Some(model.path.clone()));
    }
    assert!(setting.hub.remove(&name("hf:owner/name:Q8_0")).expect("removed"));
    assert!(!setting.hub.remove(&name("hf:owner/name:Q8_0")).expect("not there"));
    assert_eq!(setting.blobs().len(), 1);
    assert!(setting.hub.remove(&name("hf:owner/name")).expect("removed"));
    assert_eq!(setting.hub.list().expect("a list"), []);
    assert!(!setting.repository().exists());
    assert!(!setting.hub.remove(&name("hf:owner/name")).expect("not there"));
}

#[test]
fn a_new_commit_is_found_by_fetch_only() {
    let setting = start(one_model());
    let path = setting.resolve("hf:owner/name:Q8_0").expect("fetched");
    let commit = "f".repeat(40);
    let list = format!(
        r#"{{"sha": "{commit}", "siblings": [{{"rfilename": "m-Q8_0.gguf", "size": 50, "blobId": "", "lfs": {{"sha256": "{}"}}}}]}}"#,
        sha256(&bytes(50))
    );
    setting.server.change(|plan| plan.list = Some(list));
    assert_eq!(setting.resolve("hf:owner/name:Q8_0").expect("cached"), path);
    assert_eq!(setting.server.seen(), []);
    let new = setting.hub.fetch(&name("hf:owner/name:Q8_0"), &mut |_| {}).expect("fetched");
    assert!(new.to_string_lossy().contains(&commit));
    // Its bytes are the same: only the list was asked for.
    assert_eq!(setting.server.seen().len(), 1);
    assert_eq!(setting.resolve("hf:owner/name:Q8_0").expect("cached"), new);
}

/// Executes a program of Hugging Face's client, which prints a path.
fn python(
    python: &std::ffi::OsStr,
    setting: &Setting,
    variables: &BTreeMap<&str, &str>,
    program: &str,
) -> PathBuf {
    let mut command = Command::new(python);
    command.args(["-c", &format!("from huggingface_hub import *\nprint({program})")]);
    command.env("HF_HUB_CACHE", &setting.hub.cache).env("HF_ENDPOINT", &setting.hub.endpoint);
    let output = command.env("HF_HUB_DISABLE_XET", "1").envs(variables).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).expect("text").trim())
}

#[test]
fn hugging_faces_own_client_shares_the_cache() {
    let Some(with) = std::env::var_os(PYTHON) else {
        return skip(Lack::Suite, "`cargo xtask test server` makes Hugging Face's client");
    };
    let mut setting = start(one_model());
    let path = setting.resolve("hf:owner/name").expect("fetched");
    let offline = BTreeMap::from([("HF_HUB_OFFLINE", "1")]);
    let theirs = python(&with, &setting, &offline, "hf_hub_download('owner/name', 'm-Q4_K_M.gguf')");
    assert_eq!(theirs, path);
    let sizes = python(
        &with,
        &setting,
        &offline,
        "[r.size_on_disk for r in scan_cache_dir().repos], [str(w) for w in scan_cache_dir().warnings]",
    );
    assert_eq!(sizes, Path::new("[300000] []"));
    // And what it fetched.
    let setting2 = start(one_model());
    let theirs = python(&with, &setting2, &BTreeMap::new(), "hf_hub_download('owner/name', 'm-Q8_0.gguf')");
    setting.hub.cache = setting2.hub.cache.clone();
    setting.hub.is_offline = true;
    assert_eq!(setting.resolve("hf:owner/name/m-Q8_0.gguf").expect("cached"), theirs);
    let list: Vec<_> = setting.hub.list().expect("a list").into_iter().map(|model| model.name).collect();
    assert_eq!(list, ["hf:owner/name/m-Q8_0.gguf"]);
    // What the repository's usual file is, this cache cannot tell.
    assert!(matches!(setting.resolve("hf:owner/name"), Err(HubError::Offline { .. })));
}
