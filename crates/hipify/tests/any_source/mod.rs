//! Properties of every source of any bytes. The fuzz target runs these, too.

use hipify::{Options, translate};

/// The options with which each source is translated in turn.
fn options() -> [Options; 4] {
    let mut roc = Options::default();
    roc.roc = true;
    roc.hip_launches = true;
    let mut hip_launches = Options::default();
    hip_launches.hip_launches = true;
    hip_launches.experimental = true;
    let mut plain = Options::default();
    plain.miopen = true;
    plain.comments = false;
    plain.duplicate_headers = true;
    plain.runtime_header = false;
    [Options::default(), roc, hip_launches, plain]
}

/// Translates a source in several ways and checks the properties.
///
/// # Panics
/// If a line other than an include at the start is added or lost, a finding is outside the source, or a
/// second translation changes the first.
pub(crate) fn run(source: &[u8]) {
    let ends = |text: &[u8]| text.iter().filter(|&&byte| byte == b'\n').count();
    for options in options() {
        let once = translate(source, &options);
        let added = once.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&once.text);
        let added =
            added.starts_with(b"#include <hip/hip_runtime.h>") && ends(&once.text) == ends(source) + 1;
        assert!(added || ends(&once.text) == ends(source), "lines of {}", source.escape_ascii());
        for finding in &once.findings {
            assert!((1..=ends(source) + 1).contains(&finding.line), "{finding:?}");
            assert!(finding.column >= 1 && finding.end_column >= finding.column, "{finding:?}");
        }
        let twice = translate(&once.text, &options);
        assert_eq!(
            twice.text.escape_ascii().to_string(),
            once.text.escape_ascii().to_string(),
            "a second time, with {options:?}, of {}",
            source.escape_ascii()
        );
    }
}
