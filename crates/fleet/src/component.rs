//! `.ferrocm/fleet.toml` in a component's folder: its maintainers' settings for sources and tests.

use std::path::Path;

use serde::Deserialize;

use crate::Error;
use crate::description::{Component, Description};
use crate::error::read;

/// Where the file is in a component's folder.
pub const FILE: &str = ".ferrocm/fleet.toml";

/// The settings. Unknown keys are refused; a component without the file has the defaults.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Settings {
    /// The folder of CUDA sources.
    pub sources: String,
    /// Folders of headers.
    pub include: Vec<String>,
    /// The folder of test programs: each source in it has a `main`, and is linked with all sources.
    pub tests: String,
    /// Limits of kernels, in the format of `build-kernels --limit`.
    pub limits: Vec<String>,
    /// A report of `build-kernels --json`; no kernel may be worse than in it.
    pub baseline: Option<String>,
    /// Options for the compiler.
    pub flags: Vec<String>,
    /// bash commands that make further packages, in the folder that FLEET_PACKAGES names.
    pub package: Vec<String>,
    /// The time limit of a test program, in seconds.
    pub test_timeout: u64,
    /// Checks of virtual GPUs, as FERROCM_VGPU_CHECK names them.
    pub checks: String,
    /// Options of hipify.
    pub hipify: Hipify,
    /// Tests that do not run.
    pub disabled: Vec<Exception>,
    /// Tests that run and must fail.
    pub expected_failure: Vec<Exception>,
}

/// Options of hipify.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Hipify {
    /// Warnings fail the stage, too.
    pub strict: bool,
    /// Further options.
    pub options: Vec<String>,
}

/// A disabled test, or a known failure, and why.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exception {
    /// The test's name in JUnit; `*` matches anything.
    pub test: String,
    /// On which targets; none means all.
    #[serde(default)]
    pub targets: Vec<String>,
    /// On which devices: `vgpu`, `gpu`; none means both.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Why, in words.
    pub reason: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sources: "src".into(),
            include: Vec::new(),
            tests: "tests".into(),
            limits: Vec::new(),
            baseline: None,
            flags: Vec::new(),
            package: Vec::new(),
            test_timeout: 300,
            checks: String::new(),
            hipify: Hipify::default(),
            disabled: Vec::new(),
            expected_failure: Vec::new(),
        }
    }
}

impl Exception {
    /// Whether it applies to a device of a target.
    #[must_use]
    pub fn about(&self, target: &str, device: &str) -> bool {
        let kind = device_kind(device);
        (self.targets.is_empty() || self.targets.iter().any(|known| known == target))
            && (self.devices.is_empty() || self.devices.iter().any(|known| known == kind))
    }

    /// Whether it applies to a test on a device (`vgpu:gfx942`, `amdgpu`) of a target.
    #[must_use]
    pub fn holds(&self, test: &str, target: &str, device: &str) -> bool {
        matches(&self.test, test) && self.about(target, device)
    }
}

/// `vgpu` or `gpu`.
fn device_kind(device: &str) -> &'static str {
    if device.starts_with("vgpu") { "vgpu" } else { "gpu" }
}

/// A text as one bash word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Whether a name matches a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(name) = name.strip_prefix(first).and_then(|name| name.strip_suffix(last)) else { return false };
    // The first match leaves the most text for the rest.
    let mut parts = between.split('*');
    parts.try_fold(name, |name, part| name.split_once(part).map(|(_, behind)| behind)).is_some()
}

impl Settings {
    /// Reads the settings of the component in a folder.
    ///
    /// # Errors
    /// The file cannot be read, or a value is invalid; the error names the key and what is expected.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        Self::parse(&read(&path)?).map_err(|reason| Error::Settings { path, reason })
    }

    /// The settings, and the component's entry in the description, as bash assignments. A store named in the
    /// environment takes precedence.
    #[must_use]
    pub fn variables(&self, description: &Description, component: &Component) -> String {
        let mut text = String::new();
        let mut one = |name: &str, value: &str| text.push_str(&format!("{name}={}\n", quoted(value)));
        one("FLEET_KIND", component.kind.name());
        one("FLEET_FOLDER", &component.folder);
        one("FLEET_SOURCES", &self.sources);
        one("FLEET_TESTS", &self.tests);
        one("FLEET_BASELINE", self.baseline.as_deref().unwrap_or_default());
        one("FLEET_STRICT", if self.hipify.strict { "true" } else { "false" });
        one("FLEET_CHECKS", &self.checks);
        one("FLEET_TEST_TIMEOUT", &self.test_timeout.to_string());
        let target = std::env::var("FLEET_TARGET").unwrap_or_default();
        let device = std::env::var("FLEET_DEVICE").unwrap_or_default();
        let about_this = |row: &&Exception| row.about(&target, &device);
        let disabled: Vec<String> =
            self.disabled.iter().filter(about_this).map(|row| row.test.clone()).collect();
        let dependents = description
            .dependents(&component.name)
            .map(|other| format!("{}@{}", other.repository, other.branch));
        let dependents: Vec<String> = dependents.collect();
        for (name, values) in [
            ("FLEET_INCLUDE", &self.include),
            ("FLEET_LIMITS", &self.limits),
            ("FLEET_FLAGS", &self.flags),
            ("FLEET_COMMANDS", &self.package),
            ("FLEET_HIPIFY", &self.hipify.options),
            ("FLEET_DISABLED", &disabled),
            ("FLEET_DEPENDS", &component.depends),
            ("FLEET_DEPENDENTS", &dependents),
        ] {
            let values: Vec<_> = values.iter().map(|value| quoted(value)).collect();
            text.push_str(&format!("{name}=({})\n", values.join(" ")));
        }
        let store = quoted(&description.fleet.store);
        text.push_str(&format!("[[ -n ${{FLEET_STORE:-}} ]] || FLEET_STORE={store}\n"));
        text
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// The key, what is wrong with it, and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for (key, folder) in [("sources", &settings.sources), ("tests", &settings.tests)] {
            relative(key, folder)?;
        }
        for folder in settings.include.iter().chain(&settings.baseline) {
            relative("include, baseline", folder)?;
        }
        if !settings.checks.bytes().all(|byte| byte.is_ascii_alphanumeric() || b",-_".contains(&byte)) {
            return Err(format!(
                "checks: `{}` names no checks; write some such as `bounds,races`, or `all`",
                settings.checks
            ));
        }
        if settings.test_timeout == 0 {
            return Err("test-timeout: 0 would stop each test at once; write seconds".into());
        }
        for (key, rows) in
            [("disabled", &settings.disabled), ("expected-failure", &settings.expected_failure)]
        {
            for row in rows {
                if row.reason.trim().is_empty() {
                    return Err(format!(
                        "{key}: `{}` has no reason; say why, and where it is tracked",
                        row.test
                    ));
                }
                if let Some(other) =
                    row.devices.iter().find(|device| !matches!(device.as_str(), "vgpu" | "gpu"))
                {
                    return Err(format!("{key}: devices: there is no `{other}`; write `vgpu` or `gpu`"));
                }
                if let Some(other) = row.targets.iter().find(|target| !target.starts_with("gfx")) {
                    return Err(format!(
                        "{key}: targets: `{other}` is not a target; write one such as `gfx942`"
                    ));
                }
            }
        }
        Ok(settings)
    }
}

fn relative(key: &str, path: &str) -> Result<(), String> {
    let outside = Path::new(path)
        .components()
        .any(|part| !matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if outside || path.is_empty() {
        return Err(format!("{key}: `{path}` must be a path in the component's folder"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_hold_for_their_tests_targets_and_devices() {
        let text = "[[expected-failure]]\ntest = \"sum_*\"\ntargets = [\"gfx942\"]\ndevices = [\"vgpu\"]\nreason = \"#17\"\n";
        let settings = Settings::parse(text).expect("settings");
        let row = &settings.expected_failure[0];
        assert!(row.holds("sum_f16", "gfx942", "vgpu:gfx942"));
        assert!(!row.holds("sum_f16", "gfx90a", "vgpu:gfx90a"));
        assert!(!row.holds("sum_f16", "gfx942", "amdgpu"));
        assert!(!row.holds("max_f16", "gfx942", "vgpu:gfx942"));
        assert!(
            matches("a*c*", "abbcd") && matches("*", "") && !matches("a*c", "ab") && matches("*é*", "caféx")
        );
        assert!(matches("a*b*c*d", "axbbcxd") && !matches("a*b*c*d", "axcbd") && matches("a**c", "ac"));
        assert!(!matches("ab*ba", "aba"), "one letter is not both");
        // Many stars take no longer.
        assert!(!matches(&"*a".repeat(40), &"a".repeat(39)) && matches(&"*a".repeat(40), &"a".repeat(40)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_key() {
        for (text, part) in [
            ("source = \"src\"", "unknown field `source`"),
            ("sources = \"/etc\"", "sources: `/etc`"),
            ("tests = \"../x\"", "tests: `../x`"),
            ("test-timeout = 0", "test-timeout: 0"),
            ("[[disabled]]\ntest = \"a\"\nreason = \" \"", "disabled: `a` has no reason"),
            ("[[disabled]]\ntest = \"a\"", "missing field `reason`"),
            ("[[disabled]]\ntest = \"a\"\nreason = \"x\"\ndevices = [\"cuda\"]", "write `vgpu` or `gpu`"),
            ("[[expected-failure]]\ntest = \"a\"\nreason = \"x\"\ntargets = [\"mi300\"]", "such as `gfx942`"),
        ] {
            let told = Settings::parse(text).expect_err(text);
            assert!(told.contains(part), "`{part}` is not in: {told}");
        }
    }

    #[test]
    fn bash_reads_what_is_written_for_it() {
        let description = Description::parse(crate::description::tests::EXAMPLE).expect("the example");
        let component = description.component("engine").expect("a component");
        let text = "flags = [\"-DA='b c'\", \"$(id)\"]\nlimits = [\"vgprs=64\"]\nbaseline = \"a b.json\"";
        let variables = Settings::parse(text).expect("settings").variables(&description, component);
        let script = format!(
            "set -eu; {variables} printf '%s|' \"${{#FLEET_FLAGS[@]}}\" \"${{FLEET_FLAGS[@]}}\" \"$FLEET_BASELINE\" \"${{FLEET_DEPENDS[@]}}\" \"$FLEET_STORE\""
        );
        let output =
            std::process::Command::new("bash").arg("-c").arg(script).env_remove("FLEET_STORE").output();
        let output = output.expect("bash");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "2|-DA='b c'|$(id)|a b.json|reduce|https://artifacts.example/fleet|"
        );
    }

    #[test]
    fn a_component_without_the_file_has_defaults() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Settings::read(folder.path()).expect("defaults"), Settings::default());
    }
}
