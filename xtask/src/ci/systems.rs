//! Runs steps like each system: with its events, its way to pass on values, and servers that imitate its
//! interfaces.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use setup::run;

use crate::tools;

/// Checks everything in a folder, which is emptied first.
pub(crate) fn systems(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let repository = folder.join("repository");
    fs::create_dir_all(repository.join("ci/sample/src"))?;
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=fleet", "-c", "user.email=fleet@example.com", "-C"]).arg(&repository);
        run::capture(command.args(arguments))
    };
    git(&["init", "--quiet", "--initial-branch", "main"])?;
    let mut commits = Vec::new();
    for file in ["ci/sample/src/a.cu", "README.md"] {
        fs::write(repository.join(file), "text")?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", file])?;
        commits.push(git(&["rev-parse", "HEAD"])?.trim().to_owned());
    }
    git(&["checkout", "--quiet", "-b", "change"])?;
    fs::write(repository.join("ci/sample/src/a.cu"), "other text")?;
    git(&["commit", "--quiet", "--all", "--message", "change"])?;
    let all = Systems { repository, folder: folder.to_owned() };
    all.preamble(&commits)?;
    all.comments()?;
    all.store(&commits[1])?;
    all.dependents()
}

struct Systems {
    repository: PathBuf,
    folder: PathBuf,
}

/// The result of a step.
struct Ran {
    good: bool,
    output: String,
}

impl Systems {
    /// Runs a step. Its output is in the folder `out`.
    fn step(&self, step: &str, variables: &[(&str, &str)]) -> Result<Ran> {
        let mut command = Command::new("bash");
        command.arg(tools::workspace().join(format!("ci/steps/{step}.sh"))).current_dir(&self.repository);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FLEET_") {
                command.env_remove(name);
            }
        }
        command.env("FLEET_HOME", tools::workspace()).env("FLEET_REPO", &self.repository);
        command.env("FLEET_OUT", self.folder.join("out")).env("FLEET_IN", self.folder.join("in"));
        command.env("FLEET_COMPONENT", "sample").env("FLEET_XTASK", std::env::current_exe()?);
        command.env("GITHUB_OUTPUT", self.folder.join("output")).envs(variables.iter().copied());
        let output = command.output().context("cannot run bash")?;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        println!("{text}");
        Ok(Ran { good: output.status.success(), output: text })
    }

    fn preamble(&self, commits: &[String]) -> Result<()> {
        let outputs = self.folder.join("output");
        let github = |event: &str, reference: &str, base: &str| -> Result<Vec<(String, String)>> {
            let _ = fs::remove_file(&outputs);
            let variables = [
                ("FLEET_SYSTEM", "github"),
                ("FLEET_EVENT", event),
                ("FLEET_REF", reference),
                ("FLEET_BASE", base),
            ];
            ensure!(self.step("preamble", &variables)?.good, "preamble fails");
            let text = fs::read_to_string(&outputs)?;
            let pairs = text.lines().filter_map(|line| line.split_once('='));
            Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        };
        let value = |outputs: &[(String, String)], name: &str| {
            outputs
                .iter()
                .find(|(other, _)| other == name)
                .map(|(_, value)| value.clone())
                .unwrap_or_default()
        };
        for (event, reference, tier) in [
            ("pull_request", "refs/pull/7/merge", "quick"),
            ("push", "refs/heads/main", "standard"),
            ("push", "refs/tags/v1", "full"),
            ("schedule", "refs/heads/main", "full"),
        ] {
            let outputs = github(event, reference, "")?;
            ensure!(value(&outputs, "tier") == tier, "{event} {reference}: {outputs:?}");
            let builds: Vec<serde_json::Value> = serde_json::from_str(&value(&outputs, "builds"))?;
            let pools: Vec<serde_json::Value> = serde_json::from_str(&value(&outputs, "pools"))?;
            ensure!(
                !builds.is_empty() && builds.iter().all(|row| row["runner"]["github"].is_array()),
                "{builds:?}"
            );
            ensure!(pools.is_empty() == (tier == "quick"), "{tier}: {pools:?}");
        }
        // HEAD changes a source of the component relative to the second commit; the second commit changes
        // none relative to the first.
        ensure!(
            value(&github("pull_request", "", &commits[1])?, "changed") == "true",
            "a change is not seen"
        );
        run::capture(
            Command::new("git").arg("-C").arg(&self.repository).args(["checkout", "--quiet", "main"]),
        )?;
        ensure!(
            value(&github("pull_request", "", &commits[0])?, "changed") == "false",
            "a change elsewhere counts"
        );
        let unknown =
            [("FLEET_SYSTEM", "github"), ("FLEET_EVENT", "pull_request"), ("FLEET_BASE", "0123456789")];
        let ran = self.step("preamble", &unknown)?;
        ensure!(!ran.good && ran.output.contains("is not in the checkout"), "{}", ran.output);

        let azure = [
            ("FLEET_SYSTEM", "azure"),
            ("FLEET_EVENT", "IndividualCI"),
            ("FLEET_BASE", "$(System.PullRequest.TargetBranch)"),
        ];
        let ran = self.step("preamble", &azure)?;
        ensure!(
            ran.good && ran.output.contains("##vso[task.setvariable variable=changed;isOutput=true]true"),
            "{}",
            ran.output
        );
        let ran = self.step("preamble", &[("FLEET_SYSTEM", "gitlab"), ("FLEET_COMPONENT", "other")])?;
        ensure!(
            !ran.good && ran.output.contains("no component other; there are: ferrocm\nsample"),
            "{}",
            ran.output
        );
        Ok(())
    }

    fn comments(&self) -> Result<()> {
        fs::create_dir_all(self.folder.join("out"))?;
        let text = "<!-- fleet hipify sample -->\n### \"hipify\" \\ `sample`\n";
        fs::write(self.folder.join("out/comment.md"), text)?;
        let earlier = "[{\"url\":\"u\",\"id\":4,\"user\":{\"login\":\"a\",\"id\":99},\"body\":\"other\"},{\"url\":\"u\",\"id\":17,\"user\":{\"login\":\"b\",\"id\":98},\"body\":\"<!-- fleet hipify sample --> old\"}]";
        for (system, listed, method, path) in [
            ("github", "[]", "POST", "/repos/vision/reduce/issues/7/comments"),
            ("github", earlier, "PATCH", "/repos/vision/reduce/issues/comments/17"),
            ("gitlab", "[]", "POST", "/projects/vision%2Freduce/merge_requests/7/notes"),
            ("gitlab", earlier, "PUT", "/projects/vision%2Freduce/merge_requests/7/notes/17"),
            ("azure", "[]", "POST", "/git/repositories/reduce/pullRequests/7/threads?api-version=7.1"),
        ] {
            let server = Server::start(listed)?;
            let variables = [
                ("FLEET_SYSTEM", system),
                ("FLEET_EVENT", "pull-request"),
                ("FLEET_REPOSITORY", "vision/reduce"),
                ("FLEET_CHANGE", "7"),
                ("FLEET_TOKEN", "secret"),
                ("FLEET_API", server.address.as_str()),
            ];
            ensure!(self.step("comment", &variables)?.good, "comment fails");
            let requests = server.requests();
            let last = requests.last().context("no request")?;
            ensure!(last.method == method && last.path == path, "{system}: {requests:?}");
            ensure!(last.token.ends_with("secret"), "{last:?}");
            let body: serde_json::Value = serde_json::from_slice(&last.body)?;
            let written = if system == "azure" { &body["comments"][0]["content"] } else { &body["body"] };
            ensure!(written.as_str().map(str::trim_end) == Some(text.trim_end()), "{system}: {body}");
        }
        let nowhere = [
            ("FLEET_SYSTEM", "github"),
            ("FLEET_EVENT", "pull-request"),
            ("FLEET_CHANGE", "7"),
            ("FLEET_TOKEN", "secret"),
            ("FLEET_API", "http://127.0.0.1:1"),
        ];
        let ran = self.step("comment", &nowhere)?;
        ensure!(ran.good && ran.output.contains("warning: the comment cannot be written"), "{}", ran.output);
        Ok(())
    }

    /// An archive is uploaded to a server file by file, the marker of the latest version last.
    fn store(&self, commit: &str) -> Result<()> {
        let package = self.folder.join("in/package/files");
        fs::create_dir_all(package.join("more"))?;
        let files = ["manifest.html", "manifest.json", "more/b.txt", "sample.tar.gz"];
        for file in files {
            fs::write(package.join(file), file)?;
        }
        let sums = run::capture(Command::new("sha256sum").args(files).current_dir(&package))?;
        fs::write(package.join("SHA256SUMS"), sums)?;
        let server = Server::start("{}")?;
        let variables = [
            ("FLEET_SYSTEM", "gitlab"),
            ("FLEET_EVENT", "tag"),
            ("FLEET_REF", "v1"),
            ("FLEET_COMMIT", commit),
            ("FLEET_STORE", server.address.as_str()),
        ];
        let ran = self.step("publish", &variables)?;
        ensure!(!ran.good && ran.output.contains("no token for the store"), "{}", ran.output);
        let with_token: Vec<_> = variables.into_iter().chain([("FLEET_STORE_TOKEN", "secret")]).collect();
        ensure!(self.step("publish", &with_token)?.good, "publish fails");
        let requests = server.requests();
        let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
        let mut expected = ["SHA256SUMS", "manifest.html", "manifest.json", "more/b.txt", "sample.tar.gz"]
            .map(|file| format!("/sample/{commit}/{file}"))
            .to_vec();
        expected.extend(["/sample/tags/v1", "/sample/latest"].map(str::to_owned));
        ensure!(paths == expected, "{paths:?}");
        ensure!(
            requests.iter().all(|request| request.method == "PUT" && request.token == "Bearer secret"),
            "{requests:?}"
        );
        let latest = format!("{commit}\n").into_bytes();
        ensure!(requests[4].body == b"sample.tar.gz" && requests[6].body == latest, "{requests:?}");
        // The signing program gets the key; its own tests show that it signs.
        let with_key: Vec<_> =
            with_token.iter().copied().chain([("FERROCM_SIGNING_KEY", "no key")]).collect();
        let ran = self.step("publish", &with_key)?;
        ensure!(!ran.good && ran.output.contains("the secret key cannot be used"), "{}", ran.output);
        fs::write(package.join("sample.tar.gz"), "other")?;
        let ran = self.step("publish", &with_token)?;
        ensure!(!ran.good && ran.output.contains("is not what was packed"), "{}", ran.output);
        Ok(())
    }

    /// Builds of `sample-rust` start after those of `sample`.
    fn dependents(&self) -> Result<()> {
        for (system, path) in [
            ("github", "/repos/ferrocm/ferrocm/dispatches"),
            ("gitlab", "/projects/ferrocm%2Fferrocm/pipeline"),
        ] {
            let server = Server::start("{}")?;
            let variables = [("FLEET_SYSTEM", system), ("FLEET_API", server.address.as_str())];
            let ran = self.step("downstream", &variables)?;
            ensure!(
                !ran.good && ran.output.contains("no token to start the build of ferrocm/ferrocm"),
                "{}",
                ran.output
            );
            let with_token: Vec<_> =
                variables.into_iter().chain([("FLEET_DOWNSTREAM_TOKEN", "secret")]).collect();
            ensure!(self.step("downstream", &with_token)?.good, "downstream fails");
            let requests = server.requests();
            ensure!(
                requests.len() == 1 && requests[0].method == "POST" && requests[0].path == path,
                "{requests:?}"
            );
            if system == "github" {
                let body: serde_json::Value = serde_json::from_slice(&requests[0].body)?;
                ensure!(body["event_type"] == "fleet-upstream", "{body}");
            }
        }
        let ran = self.step("downstream", &[("FLEET_SYSTEM", "azure")])?;
        ensure!(ran.good && ran.output.contains("starts by itself"), "{}", ran.output);
        let ran =
            self.step("downstream", &[("FLEET_SYSTEM", "github"), ("FLEET_COMPONENT", "sample-rust")])?;
        // Its folder is not in this repository.
        ensure!(!ran.good && ran.output.contains("which is not there"), "{}", ran.output);
        Ok(())
    }
}

/// A step's request to a server.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    path: String,
    token: String,
    body: Vec<u8>,
}

/// A server that answers every GET with one text, and everything else with an empty object.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(listed: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
        let address = format!("http://{}", listener.local_addr()?);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, listed) = (Arc::clone(&requests), listed.to_owned());
        // It ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Unreadable input is ignored; the checks then miss the request.
                let _ = answer(stream, &listed, &kept);
            }
        });
        Ok(Self { address, requests })
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().map(|requests| requests.clone()).unwrap_or_default()
    }
}

fn answer(stream: TcpStream, listed: &str, kept: &Mutex<Vec<Request>>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().context("a method")?, words.next().context("a path")?);
    let (mut token, mut length, mut stream) = (String::new(), 0, stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" | "private-token" => token = value.to_owned(),
            "content-length" => length = value.parse()?,
            "expect" => stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let text = if method == "GET" { listed } else { "{}" };
    // Before the answer, because the step may end with it.
    if let Ok(mut kept) = kept.lock() {
        kept.push(Request { method, path, token, body });
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())?;
    Ok(())
}
