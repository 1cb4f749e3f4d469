//! What happens to a CUDA source before clang sees it. Line numbers are kept.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::toolchain::Search;

/// How CUDA sources become HIP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Translate {
    /// Not at all: [headers with CUDA's names](crate::cuda) supply what HIP names otherwise.
    #[default]
    None,
    /// The source, but not the headers that it includes, goes through hipify-perl, and then is HIP's.
    HipifyPerl,
}

/// What hipify-perl makes of a source: the text, with the source's lines, and what it had to say.
pub(crate) fn hipify(hipify: Option<&Path>, source: &Path, text: &str) -> Result<(String, String), Error> {
    let error = |reason: String| Error::Translate { source_file: source.to_owned(), reason };
    let hipify = hipify.ok_or_else(|| error(format!("no hipify-perl; {}", Search::from_env().remedy())))?;
    let output = Command::new("perl")
        .arg(hipify)
        .arg("--")
        .arg(source)
        .env("LC_ALL", "C")
        .output()
        .map_err(|e| Error::Program { program: PathBuf::from("perl"), reason: e.to_string() })?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(error(format!("hipify-perl fails ({}): {}", output.status, said.trim())));
    }
    let translated =
        String::from_utf8(output.stdout).map_err(|_| error("hipify-perl wrote no UTF-8".to_owned()))?;
    keep_lines(&translated, text).map(|translated| (translated.to_owned(), said)).ok_or_else(|| {
        error("hipify-perl changed the number of lines, so messages would name wrong ones".into())
    })
}

/// Drops the one line that hipify-perl puts in front; the runtime header is included anyway.
fn keep_lines<'a>(translated: &'a str, original: &str) -> Option<&'a str> {
    let lines = |text: &str| text.bytes().filter(|&b| b == b'\n').count();
    if lines(translated) == lines(original) {
        return Some(translated);
    }
    let (first, rest) = translated.split_once('\n')?;
    (first.trim_end() == "#include \"hip/hip_runtime.h\"" && lines(rest) == lines(original)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_hipify_adds_is_dropped() {
        let added = "#include \"hip/hip_runtime.h\"\na\nb\n";
        assert_eq!(keep_lines(added, "x\ny\n"), Some("a\nb\n"));
        assert_eq!(keep_lines("a\nb\n", "x\ny\n"), Some("a\nb\n"));
        assert_eq!(keep_lines("a\n", "x\ny\n"), None);
        assert_eq!(keep_lines("#include <x>\na\nb\n", "x\ny\n"), None);
    }
}
