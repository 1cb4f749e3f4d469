//! The registration of runners, with stand-ins for all their programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::stage::{Ended, Stage};

/// A stage with a token, and an archive of a runner whose two programs are stand-ins.
struct Pool {
    stage: Stage,
    script: &'static str,
    variables: Vec<(&'static str, String)>,
}

impl Pool {
    fn new(script: &'static str, configure: &str, run: &str) -> Self {
        let stage = Stage::new();
        stage.program_at("runner/config.sh", configure);
        stage.program_at("runner/run.sh", run);
        let archive = stage.at("runner.tar.gz").display().to_string();
        let mut tar = Command::new("tar");
        tar.args(["-czf", &archive, "-C"]).arg(stage.at("runner")).args(["config.sh", "run.sh"]);
        setup::run::capture(&mut tar).unwrap();
        let sum = setup::run::capture(Command::new("sha256sum").arg(&archive)).unwrap();
        let token = stage.file("token", "secret-of-the-pool\n");
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        let home = stage.at("agent").display().to_string();
        let variables = vec![
            ("RUNNER_URL", "https://example.invalid/org".to_owned()),
            ("RUNNER_TOKEN_FILE", token.display().to_string()),
            ("RUNNER_HOME", home),
            ("RUNNER_ARCHIVE", archive),
            ("RUNNER_SHA256", sum.split(' ').next().unwrap().to_owned()),
        ];
        Self { stage, script, variables }
    }

    fn set(&mut self, name: &'static str, value: &str) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.to_owned()));
    }

    fn start(&self) -> Ended {
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.stage.script(self.script, &[], &variables)
    }

    /// Starts it and returns the calls, none of which may contain the token.
    fn calls(&self) -> (Ended, Vec<String>) {
        let (ended, calls) = (self.start(), self.stage.calls());
        assert!(!format!("{ended:?}{calls:?}").contains("[secret"), "{ended:?} {calls:?}");
        (ended, calls)
    }
}

/// Records the token from the environment, which other users cannot see.
fn notes(variable: &str) -> String {
    format!("echo \"with token ${variable}\" >> \"$(dirname \"$HOME\")/log\"")
}

#[test]
fn github_s_runner_registers_for_one_job_and_anew_for_the_next() {
    let configure = format!("{}; touch .runner", notes("ACTIONS_RUNNER_INPUT_TOKEN"));
    // An ephemeral runner removes its registration.
    let run = format!("{}; rm .runner", notes("ACTIONS_RUNNER_INPUT_TOKEN"));
    let mut pool = Pool::new("ci/images/runners/github.sh", &configure, &run);
    let refused = pool.start();
    assert!(
        refused.status == 1 && refused.err.contains("github.sh: RUNNER_LABELS is not set"),
        "{refused:?}"
    );
    pool.set("RUNNER_LABELS", "self-hosted,gpu");
    let mut names = Vec::new();
    for _ in 0..2 {
        let (ended, calls) = pool.calls();
        assert_eq!(ended.status, 0, "{ended:?}");
        let [configured, token, ran, without] = &calls[..] else { panic!("{calls:?}") };
        let start = "config.sh [--unattended] [--ephemeral] [--disableupdate] [--replace] [--url] [https://example.invalid/org] \
                     [--labels] [self-hosted,gpu] [--name] [";
        let name = configured.strip_prefix(start).and_then(|rest| rest.strip_suffix("] [--work] [_work]"));
        names.push(name.unwrap_or_else(|| panic!("{configured}")).to_owned());
        assert_eq!((token.as_str(), ran.as_str()), ("with token secret-of-the-pool", "run.sh"));
        assert_eq!(without, "with token ", "jobs do not see it");
    }
    assert_ne!(names[0], names[1]);

    // A start that ended before its job: the registration is still valid.
    fs::write(pool.stage.at("agent/.runner"), "").unwrap();
    let (ended, calls) = pool.calls();
    assert_eq!((ended.status, calls.len()), (0, 2), "{calls:?}");
    assert!(ended.err.contains("an earlier start is used") && calls[0] == "run.sh", "{ended:?}");
}

#[test]
fn what_is_not_as_it_should_be_is_named_and_nothing_is_registered() {
    let mut pool = Pool::new("ci/images/runners/github.sh", "", "");
    pool.set("RUNNER_LABELS", "a");
    let token = pool.stage.at("token");
    let refused = |pool: &Pool, message: &str| {
        let (ended, calls) = pool.calls();
        assert_eq!(ended.status, 1, "{message}: {ended:?}");
        assert!(ended.err.contains(message) && calls.is_empty(), "{message}: {ended:?} {calls:?}");
    };
    let sum = pool.variables.iter().find(|(name, _)| *name == "RUNNER_SHA256").unwrap().1.clone();
    pool.set("RUNNER_SHA256", &"0".repeat(64));
    refused(&pool, "is not what RUNNER_SHA256 says");
    assert!(!pool.stage.at("agent/config.sh").exists());
    pool.set("RUNNER_SHA256", &sum);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&pool, "can be read by others (mode 644)");
    fs::write(&token, " \n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    refused(&pool, "is empty");
    fs::remove_file(&token).unwrap();
    refused(&pool, "cannot be read");
    for name in ["RUNNER_TOKEN_FILE", "RUNNER_URL", "RUNNER_HOME"] {
        pool.set(name, "");
        refused(&pool, &format!("{name} is not set"));
    }
}

#[test]
fn azure_s_agent_runs_one_job_and_leaves_the_pool_whatever_becomes_of_it() {
    // Registers, and removes the registration.
    let configure = format!(
        "{}; if [ \"$1\" = remove ]; then rm .agent; else touch .agent; fi",
        notes("VSTS_AGENT_INPUT_TOKEN")
    );
    for (status, run) in [(0, ""), (3, "exit 3")] {
        let mut pool = Pool::new("ci/images/runners/azure.sh", &configure, run);
        pool.set("RUNNER_POOL", "gpus");
        let (ended, calls) = pool.calls();
        assert_eq!(ended.status, status, "{ended:?}");
        let [configured, token, ran, removed, _] = &calls[..] else { panic!("{calls:?}") };
        let start = "config.sh [--unattended] [--acceptTeeEula] [--replace] [--auth] [pat] [--url] [https://example.invalid/org] \
                     [--pool] [gpus] [--agent] [";
        assert!(configured.starts_with(start), "{configured}");
        assert_eq!((token.as_str(), ran.as_str()), ("with token secret-of-the-pool", "run.sh [--once]"));
        assert_eq!(removed, "config.sh [remove] [--unattended] [--auth] [pat]");
        assert!(!pool.stage.at("agent/.agent").exists());
    }
}

#[test]
fn gitlab_s_runner_takes_one_job_and_gives_containers_the_gpu() {
    let mut pool = Pool::new("ci/images/runners/gitlab.sh", "", "");
    pool.set("RUNNER_IMAGE", "registry.example.invalid/test:1");
    let refused = pool.start();
    assert!(refused.status == 1 && refused.err.contains("gitlab-runner is not installed"), "{refused:?}");
    pool.stage.program("gitlab-runner", &notes("CI_SERVER_TOKEN"));
    pool.stage.program("hostname", "echo here");
    let expected = "gitlab-runner [run-single] [--url] [https://example.invalid/org] [--name] [here] [--executor] [docker] \
                    [--docker-image] [registry.example.invalid/test:1] [--max-builds] [1] [--wait-timeout] [1800]";
    let (ended, calls) = pool.calls();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(calls[1..], [expected, "with token secret-of-the-pool"]);
    pool.stage.file("root/dev/kfd", "");
    let (_, calls) = pool.calls();
    let kfd = pool.stage.at("root/dev/kfd").display().to_string();
    assert_eq!(calls[1], format!("{expected} [--docker-devices] [{kfd}]"));
}
