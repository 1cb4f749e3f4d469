//! Properties of parsing external input of any bytes. The fuzz targets and the property tests run these.
#![allow(dead_code, reason = "each fuzz target calls one of them")]

use std::collections::BTreeSet;
use std::path::Component;

use fleet::junit::{Outcome, Suite};
use fleet::rows::Rows;
use fleet::stages::Each;
use fleet::{Description, Settings, faults, findings, write};

/// A JUnit report is refused, or rewritten with the same tests.
pub(crate) fn junit(text: &str) {
    let Ok(mut suite) = Suite::parse(text) else { return };
    let counts = suite.counts();
    assert!(counts.failed + counts.skipped <= counts.tests);
    for case in &suite.cases {
        assert!(case.time.is_finite() && case.time >= 0.0, "{}", case.time);
    }
    let again = Suite::parse(&suite.to_xml()).expect("what was written");
    assert_eq!(again.counts(), counts);
    for (case, again) in suite.cases.iter().zip(&again.cases) {
        assert_eq!((&case.class, &case.name), (&again.class, &again.name));
        assert_eq!((&case.output, &case.error), (&again.output, &again.error));
    }
    let row = format!("[[expected-failure]]\ntest = \"*\"\nreason = \"{}\"\n", counts.failed);
    let settings = Settings::parse(&row).expect("a row");
    suite.judge(&settings.expected_failure, "gfx942", "vgpu:gfx942");
    assert!(suite.cases.iter().all(|case| case.outcome != Outcome::Passed), "each had to fail");
}

/// Fault reports found in a text are parts of it, and each is found in itself.
pub(crate) fn fault_reports(text: &str) {
    let lines: BTreeSet<&str> = text.lines().collect();
    let found = faults::find(text);
    let written: usize = found.iter().map(|fault| fault.text.len()).sum();
    // The lines above a report's kernel may be parts of the previous report.
    assert!(written <= 6 * text.len(), "{written} bytes of {}", text.len());
    for fault in found {
        assert!(fault.target.starts_with("gfx"));
        assert!(fault.text.lines().all(|line| lines.contains(line)));
        let again = faults::find(&fault.text);
        assert!(
            again.iter().any(|other| other.kernel == fault.kernel && other.place == fault.place),
            "{fault:?}"
        );
    }
}

/// SARIF is refused, or each of its findings is a line for each system that reads lines.
pub(crate) fn sarif(text: &str) {
    let Ok(found) = findings::parse(text) else { return };
    for (system, start) in [("github", "::"), ("azure", "##vso[task.logissue ")] {
        let told = findings::annotations(&found, system).expect("a system");
        assert_eq!(told.lines().count(), found.len(), "{told}");
        assert!(told.lines().all(|line| line.starts_with(start)), "{told}");
    }
    for system in ["gitlab", "local"] {
        findings::annotations(&found, system).expect("a system");
    }
    let quality: serde_json::Value = serde_json::from_str(&findings::code_quality(&found)).expect("JSON");
    assert_eq!(quality.as_array().map(Vec::len), Some(found.len()));
    // The comment's marker is the only markup.
    let comment = findings::comment(&found, "reduce", "");
    assert_eq!(comment.matches('<').count(), 1, "{comment}");
}

/// A description is refused, or generates plain text files, each at a different path in the repository.
pub(crate) fn description(text: &str) {
    let Ok(description) = Description::parse(text) else { return };
    assert_eq!(description.in_order().len(), description.component.len());
    let mut paths = BTreeSet::new();
    for file in write::files(&description) {
        assert!(file.path.components().all(|part| matches!(part, Component::Normal(_))), "{:?}", file.path);
        let is_plain = |c: char| c == '\n' || !c.is_control();
        assert!(file.text.chars().all(is_plain), "{}:\n{}", file.path.display(), file.text);
        assert!(paths.insert(file.path.clone()), "{:?} is there twice", file.path);
    }
    for component in &description.component {
        let rows = Rows::of(&description, component);
        for each in [Each::Build, Each::Test, Each::Pool] {
            let names: BTreeSet<&str> = rows.each(each).iter().map(|row| row.id.as_str()).collect();
            assert_eq!(names.len(), rows.each(each).len(), "{names:?}");
        }
        let _ = Settings::default().variables(&description, component);
    }
}

/// A component's settings are refused, or their test rows handle any name.
pub(crate) fn settings(text: &str) {
    let Ok(settings) = Settings::parse(text) else { return };
    for row in settings.disabled.iter().chain(&settings.expected_failure) {
        let name: String = row.test.chars().filter(|c| *c != '*').collect();
        let everywhere = row.targets.is_empty() && row.devices.is_empty();
        assert!(!everywhere || row.holds(&name, "gfx942", "vgpu:gfx942"), "{row:?}");
        let _ = row.holds(&row.test.repeat(3), "gfx1100", "amdgpu");
    }
}
