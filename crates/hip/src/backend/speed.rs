//! A virtual GPU that was compiled without optimisation says so, once in a process: profiles of this workspace do not reach the programs
//! that depend on it.

use std::sync::Once;

/// The variable that silences the message.
const SLOW_VARIABLE: &str = "FERROCM_VGPU_SLOW";

/// What a program's `Cargo.toml` needs. With checks inside vector loads and stores, the engine has two fifths more code and takes a third
/// longer to compile; its debug information would be most of a program's size.
const PROFILE: &str = "\
[profile.dev.package.ferrocm-vgpu]
opt-level = 3
[profile.dev.package.ferrocm-vgpu-exec]
opt-level = 3
debug-assertions = false
overflow-checks = false
debug = false
";

/// Prints the message where it is due, to standard error and as a `tracing` warning.
pub(super) fn tell_if_slow(level: &str) {
    static TOLD: Once = Once::new();
    let Some(message) = message(level, std::env::var(SLOW_VARIABLE).ok().as_deref()) else { return };
    TOLD.call_once(|| {
        tracing::warn!(opt_level = level, "the virtual GPU was compiled without optimisation");
        eprint!("{message}");
    });
}

fn message(level: &str, variable: Option<&str>) -> Option<String> {
    if matches!(level, "2" | "3") || variable.is_some_and(|value| value.trim() == "ok") {
        return None;
    }
    Some(format!(
        "warning: the virtual GPU was compiled with opt-level {level}, which makes it up to a hundred times slower. For a quick one, add \
         to Cargo.toml\n\n{PROFILE}\nor build with --release. {SLOW_VARIABLE}=ok silences this.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slow_engine_says_so() {
        for level in ["2", "3"] {
            assert_eq!(message(level, None), None);
        }
        for level in ["0", "1", "s", "z"] {
            let text = message(level, None).unwrap();
            assert!(text.contains(&format!("opt-level {level},")) && text.contains(PROFILE), "{text}");
            assert!(message(level, Some("")).is_some());
            assert_eq!(message(level, Some("ok")), None);
        }
    }

    #[test]
    fn the_engine_of_this_workspace_is_optimised() {
        assert_eq!(message(vgpu::OPT_LEVEL, None), None);
    }

    #[test]
    fn the_template_has_the_lines() {
        let template = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own-crate/Cargo.toml");
        // A published crate has no template beside it.
        if let Ok(text) = std::fs::read_to_string(template) {
            assert!(text.contains(PROFILE), "{text}");
        }
    }
}
