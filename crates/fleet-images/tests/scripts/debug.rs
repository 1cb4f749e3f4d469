//! The scripts that examine a machine or a GPU process after a kernel has failed.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use test_skip::{Lack, skip};

use crate::stage::{Stage, project};

const DIAGNOSE: &str = "ci/debug/diagnose.sh";
const ATTACH: &str = "ci/debug/attach.sh";
const PROFILE: &str = "ci/debug/profile.sh";

/// Programs that the scripts themselves need.
const TOOLS: [&str; 17] = [
    "awk", "bash", "cat", "cut", "date", "dirname", "env", "grep", "head", "id", "ls", "mktemp", "paste",
    "rm", "sed", "timeout", "wc",
];

#[test]
fn every_question_may_fail_and_the_text_says_so() {
    let stage = Stage::bare(&[&TOOLS[..], &["sh", "sleep", "sort", "tail", "tee", "uname"]].concat());
    stage.program("lspci", "echo '0002:00:00.0 Processing accelerators [1200]: AMD [1002:74b5]'");
    stage.program("rocminfo", "sleep 60");
    stage.program("modinfo", "echo 'modinfo: ERROR: Module amdgpu not found.' >&2; exit 1");
    stage.program("dpkg-query", "i=0; while [ $i -lt 50 ]; do echo \"rocm-$i 7.2\"; i=$((i + 1)); done");
    stage.file("root/sys/module/amdgpu/version", "6.16.6\n");
    let file = stage.at("text").display().to_string();
    let variables = [
        ("DIAGNOSE_LIMIT", "1"),
        ("DIAGNOSE_LINES", "10"),
        ("HIP_VISIBLE_DEVICES", "0,1"),
        ("POOL_TOKEN", "secret-of-the-pool"),
        ("MY_ROCM_PATH", "secret-of-the-pool"),
        ("ROCM_POOL_TOKEN", "secret-of-the-pool"),
    ];
    let started = Instant::now();
    let ended = stage.script(DIAGNOSE, &[&file], &variables);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), ended.out);
    let text = &ended.out;
    for heading in
        ["Machine", "Devices", "Driver", "Packages", "Processes", "Kernel log", "What was not answered"]
    {
        assert!(text.contains(&format!("\n# {heading}\n")), "{heading} in {text}");
    }
    for expected in [
        "## PCI devices of AMD\n0002:00:00.0 Processing accelerators",
        "## rocminfo\n(not answered within 1 s)\n",
        "## module\nmodinfo: ERROR: Module amdgpu not found.\n(failed: status 1)\n",
        "## amd-smi\n(not answered: there is no amd-smi)\n",
        "sys/module/amdgpu/version:6.16.6\n",
        "rocm-9 7.2\n(… 40 more lines)\n",
        "## ROCm\n(not there)\n",
        "## variables\nHIP_VISIBLE_DEVICES=0,1\n",
        "\nrocminfo: not answered within 1 s\n",
        "\nmodule: status 1\n",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("secret"), "{text}");
    for (name, value) in [("DIAGNOSE_LIMIT", "0"), ("DIAGNOSE_LINES", "many"), ("DIAGNOSE_LIMIT", "")] {
        let wrong = stage.script(DIAGNOSE, &[], &[(name, value)]);
        // An empty value counts as none.
        assert_eq!(wrong.status, if value.is_empty() { 0 } else { 2 }, "{name}={value}: {wrong:?}");
        stage.program("rocminfo", "");
    }
    assert_eq!(stage.script(DIAGNOSE, &["a", "b"], &[]).status, 2);
    assert_eq!(stage.script(DIAGNOSE, &["/no/such/folder/file"], &[]).status, 2);
}

#[test]
fn a_debugger_is_attached_with_its_batch_script() {
    let stage = Stage::bare(&TOOLS);
    let own = std::process::id().to_string();
    let missing = stage.script(ATTACH, &[&own], &[]);
    assert!(
        missing.status == 1 && missing.err.contains("neither rocgdb (package rocm-gdb) nor lldb"),
        "{missing:?}"
    );
    let folder = project().join("ci/debug").canonicalize().unwrap();
    stage.program("lldb", "");
    assert_eq!(stage.script(ATTACH, &[&own], &[]).status, 0);
    let script = folder.join("waves.lldb").display().to_string();
    let begin = format!(
        "lldb [--batch] [--no-lldbinit] [--attach-pid] [{own}] [--source] [{script}] [--one-line] [thread select 1] "
    );
    let calls = stage.calls();
    assert!(
        calls[0].starts_with(&begin) && calls[0].ends_with(" [--one-line] [process detach]"),
        "{calls:?}"
    );
    // ROCm's own debugger is found in its folder and takes precedence.
    stage.program_at("rocm/bin/rocgdb", "");
    assert_eq!(stage.script(ATTACH, &[&own], &[]).status, 0);
    let script = folder.join("waves.gdb").display().to_string();
    assert_eq!(stage.calls(), [format!("rocgdb [--nx] [--batch] [-p] [{own}] [-x] [{script}]")]);
    assert_eq!(stage.script(ATTACH, &["--tool", "lldb", &own], &[]).status, 0);
    assert!(stage.calls()[0].starts_with("lldb "));
    let missing = stage.script(ATTACH, &["--tool", "gdb", &own], &[]);
    assert!(missing.status == 1 && missing.err.contains("there is no gdb, neither in PATH"), "{missing:?}");

    stage.program_at("rocm/bin/rocgdb", "exit 7");
    let failed = stage.script(ATTACH, &[&own], &[]);
    assert!(failed.status == 1 && failed.err.contains("rocgdb failed (status 7)"), "{failed:?}");
    stage.program_at("rocm/bin/rocgdb", "exec /bin/sleep 60");
    let slow = stage.script(ATTACH, &[&own], &[("ATTACH_LIMIT", "1")]);
    assert!(slow.status == 1 && slow.err.contains("rocgdb has not ended within 1 s"), "{slow:?}");
    stage.calls();
    for wrong in [&[][..], &["x1"], &["--tool", "ed", "1"], &["1", "2"], &["--tool"]] {
        assert_eq!(stage.script(ATTACH, wrong, &[]).status, 2, "{wrong:?}");
    }
    let gone = stage.script(ATTACH, &["4194304999"], &[]);
    assert!(gone.status == 1 && gone.err.contains("there is no process 4194304999"), "{gone:?}");
    assert!(stage.calls().is_empty());
}

/// Checked by a debugger: gdb runs the script for rocgdb on a process of this machine.
#[test]
fn gdb_runs_the_batch_script_and_the_process_goes_on() {
    if setup::run::find_program("gdb").is_none() {
        skip(Lack::Judge, "there is no gdb here");
        return;
    }
    let stage = Stage::new();
    let mut sleeping = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
    let ended = stage.script(ATTACH, &["--tool", "gdb", &sleeping.id().to_string()], &[]);
    let lives = sleeping.try_wait().unwrap().is_none();
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
    let all = format!("{}{}", ended.out, ended.err);
    if all.contains("Operation not permitted") || all.contains("could not attach") {
        skip(Lack::Machine, format_args!("processes cannot be attached to here: {all}"));
        return;
    }
    assert!(ended.status == 0 && lives, "{ended:?}");
    for expected in [
        "## what there is\n$ info inferiors\n",
        // Only rocgdb knows this command; an error is just a line.
        "$ info agents\n(Undefined info command: \"agents\".",
        "\n## thread 1: ",
        "$ info registers\nrax ",
        "\n## 1 threads, 0 waves\n",
    ] {
        assert!(ended.out.contains(expected), "{expected} in {all}");
    }
}

/// The same with lldb, if the machine has it.
#[test]
fn lldb_runs_its_batch_script_and_the_process_goes_on() {
    if setup::run::find_program("lldb").is_none() {
        skip(Lack::Judge, "there is no lldb here");
        return;
    }
    let stage = Stage::new();
    let mut sleeping = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
    let inherited: Vec<_> = ["PATH", "LD_LIBRARY_PATH", "LLDB_DEBUGSERVER_PATH"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var(name).ok()?)))
        .collect();
    let variables: Vec<_> = inherited.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ended = stage.script(ATTACH, &["--tool", "lldb", &sleeping.id().to_string()], &variables);
    let lives = sleeping.try_wait().unwrap().is_none();
    sleeping.kill().unwrap();
    sleeping.wait().unwrap();
    let all = format!("{}{}", ended.out, ended.err);
    if all.contains("Operation not permitted") || all.contains("attach failed") {
        skip(Lack::Machine, format_args!("processes cannot be attached to here: {all}"));
        return;
    }
    assert!(ended.status == 0 && lives, "{ended:?}");
    for expected in ["Current targets:", "thread #1", "rax = 0x", "->  0x", "detached"] {
        assert!(all.contains(expected), "{expected} in {all}");
    }
}

#[test]
fn a_program_is_profiled_with_the_counters_of_a_group() {
    let stage = Stage::bare(&TOOLS);
    let run = ["--", "/bin/sh", "-c", "exit 5"];
    let missing = stage.script(PROFILE, &run, &[]);
    assert!(
        missing.status == 1 && missing.err.contains("there is no rocprofv3 (package rocprofiler-sdk)"),
        "{missing:?}"
    );
    stage.program_at("rocm/bin/rocprofv3", "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"");
    let ended = stage.script(PROFILE, &run, &[]);
    assert_eq!(ended.status, 5, "{ended:?}");
    let plain = "rocprofv3 [--kernel-trace] [--stats] [--output-format] [csv] [--output-directory]";
    assert_eq!(stage.calls(), [format!("{plain} [profile-trace] [--] [/bin/sh] [-c] [exit 5]")]);
    let words = ["--group", "work", "--out", "here", "--", "/bin/sh", "-c", ""];
    assert_eq!(stage.script(PROFILE, &words, &[]).status, 0);
    let counters = "[--pmc] [GRBM_COUNT] [GRBM_GUI_ACTIVE] [SQ_WAVES]";
    assert_eq!(stage.calls(), [format!("{plain} [here] {counters} [--] [/bin/sh] [-c] []")]);

    let listed = stage.script(PROFILE, &["--list"], &[]);
    let groups: Vec<_> = listed.out.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(groups, ["trace", "work", "instructions", "memory"]);
    let unknown = stage.script(PROFILE, &["--group", "colour", "--", "true"], &[]);
    assert!(
        unknown.status == 1 && unknown.err.contains("there is no group \"colour\": trace work"),
        "{unknown:?}"
    );
    for wrong in [&[][..], &["--"], &["--group"], &["true"]] {
        assert_eq!(stage.script(PROFILE, wrong, &[]).status, 2, "{wrong:?}");
    }
}
