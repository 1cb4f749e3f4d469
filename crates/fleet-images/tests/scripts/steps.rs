//! The steps that set up a machine.

use std::fs;

use crate::stage::{Stage, project};

#[test]
fn azure_s_agent_starts_behind_the_set_up() {
    const UNIT: &str = "\
[Unit]
Description=Cloud-init: Final Stage
After=network-online.target time-sync.target cloud-config.service
After=multi-user.target
Before=apt-daily.service

[Service]
Type=oneshot
";
    let script = "ci/images/steps/agent-after-setup.sh";
    let stage = Stage::new();
    stage.program("systemctl", "");
    let refused = stage.script(script, &[], &[]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("cloud-final.service") && stage.calls().is_empty(), "{refused:?}");
    stage.file("root/lib/systemd/system/cloud-final.service", UNIT);
    // It runs at each start.
    for _ in 0..2 {
        let ended = stage.script(script, &[], &[]);
        assert_eq!((ended.status, ended.err.as_str()), (0, ""));
        let read = |path: &str| fs::read_to_string(stage.at("root/etc/systemd/system").join(path)).unwrap();
        assert_eq!(read("walinuxagent.service.d/10-after-setup.conf"), "[Unit]\nAfter=cloud-final.service\n");
        assert_eq!(read("cloud-final.service"), UNIT.replace("After=multi-user.target", ""));
        assert_eq!(stage.calls(), ["systemctl [daemon-reload]"]);
    }
}

#[test]
fn a_machine_says_what_it_lacks() {
    let script = "ci/images/steps/machine-ready.sh";
    let stage = Stage::new();
    stage.program("docker", "");
    stage.program("ldconfig", "echo 'libnuma.so.1 (libc6,x86-64) => /lib/libnuma.so.1'");
    stage.program("id", "echo runner docker render video");
    let ended = stage.script(script, &["runner"], &[]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(ended.out.ends_with("ok: runner is in the group video\nnone: an AMD GPU\n"), "{}", ended.out);
    assert!(stage.calls().contains(&"docker [info]".to_owned()));

    // A GPU without its driver, an unresponsive Docker, a user in only one group.
    stage.file("root/sys/bus/pci/devices/0000:00:02.0/vendor", "0x1414\n");
    stage.file("root/sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
    stage.file("root/sys/bus/pci/devices/0002:00:00.0/vendor", "0x1002\n");
    stage.file("root/sys/bus/pci/devices/0002:00:00.0/class", "0x120000\n");
    stage.program("docker", "exit 1");
    stage.program("ldconfig", "");
    stage.program("id", "echo runner videos docker");
    let ended = stage.script(script, &["runner"], &[]);
    assert_eq!((ended.status, ended.err.as_str()), (1, "6 missing\n"), "{ended:?}");
    let missing: Vec<_> = ended.out.lines().filter_map(|line| line.strip_prefix("MISSING: ")).collect();
    assert_eq!(missing[..3], ["Docker answers", "libnuma", "runner is in the group render"]);
    assert!(ended.out.contains("MISSING: the driver offers compute (/dev/kfd)"), "{}", ended.out);
    stage.file("root/dev/kfd", "");
    stage.file("root/dev/dri/renderD128", "");
    assert_eq!(stage.script(script, &["runner"], &[]).err, "4 missing\n");
    assert_eq!(stage.script(script, &[], &[]).status, 2);
}

/// The steps that are written in the user data itself.
#[test]
fn the_user_data_s_own_steps_do_what_its_scripts_do() {
    let data = fs::read_to_string(project().join(fleet_images::USER_DATA)).unwrap();
    // The first is a script's text.
    let script = fs::read_to_string(project().join("ci/images/steps/agent-after-setup.sh")).unwrap();
    let block: String = script
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") })
        .collect();
    assert!(data.contains(&format!("bootcmd:\n  - |\n{block}\n")));
    // The other records what the machine lacks, and continues.
    let line = data.lines().find_map(|line| line.strip_prefix("  - [sh, -c, \"")).unwrap();
    let stage = Stage::new();
    for program in ["docker", "ldconfig", "id"] {
        stage.program(program, "exit 1");
    }
    let steps = project().join("ci/images/steps").display().to_string();
    let log = stage.at("machine.log");
    let step = line.strip_suffix("\"]").unwrap();
    assert!(step.contains("/opt/ferrocm/") && step.contains("/var/log/ferrocm-machine.log"), "{step}");
    let step = step.replace("/opt/ferrocm", &steps);
    let step = step.replace("/var/log/ferrocm-machine.log", &log.display().to_string());
    let ended = stage.run("/bin/sh".as_ref(), &["-c", &step], &[]);
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(fs::read_to_string(log).unwrap().contains("MISSING: Docker answers"));
}
