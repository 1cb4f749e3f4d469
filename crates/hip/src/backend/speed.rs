//! Warns once per process if the virtual GPU was compiled without optimisation. This is needed because
//! programs do not inherit this workspace's profiles.

use std::sync::Once;

use crate::error::Result;

/// What a program's `Cargo.toml` needs. With checks inside vector loads and stores, the executor has two
/// fifths more code and takes a third longer to compile. Its debug information would be most of a program's
/// size.
const PROFILE: &str = "\
[profile.dev.package.ferrocm-vgpu]
opt-level = 3
[profile.dev.package.ferrocm-vgpu-exec]
opt-level = 3
debug-assertions = false
overflow-checks = false
debug = false
";

/// Prints the warning if it applies, to standard error and through `tracing`.
///
/// # Errors
/// The variable that silences the warning has an invalid value.
pub(super) fn tell_if_slow(level: &str) -> Result<()> {
    static TOLD: Once = Once::new();
    let is_silent = variables::VGPU_SLOW.word()?.is_some();
    if let Some(message) = message(level, is_silent) {
        TOLD.call_once(|| {
            tracing::warn!(opt_level = level, "the virtual GPU was compiled without optimisation");
            eprint!("{message}");
        });
    }
    Ok(())
}

fn message(level: &str, is_silent: bool) -> Option<String> {
    if matches!(level, "2" | "3") || is_silent {
        return None;
    }
    let variable = variables::VGPU_SLOW.name;
    Some(format!(
        "warning: the virtual GPU was compiled with opt-level {level}, which makes it up to a hundred times slower. To make it fast, add \
         to Cargo.toml\n\n{PROFILE}\nor build with --release. {variable}=ok silences this.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slow_engine_says_so() {
        for level in ["2", "3"] {
            assert_eq!(message(level, false), None);
        }
        for level in ["0", "1", "s", "z"] {
            let text = message(level, false).unwrap();
            assert!(text.contains(&format!("opt-level {level},")) && text.contains(PROFILE), "{text}");
            assert_eq!(message(level, true), None);
        }
    }

    #[test]
    fn the_engine_of_this_workspace_is_optimised() {
        assert_eq!(message(vgpu::OPT_LEVEL, false), None);
    }

    #[test]
    fn the_template_has_the_lines() {
        let template = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own-crate/Cargo.toml");
        // A published crate does not contain the template.
        if let Ok(text) = std::fs::read_to_string(template) {
            assert!(text.contains(PROFILE), "{text}");
        }
    }
}
