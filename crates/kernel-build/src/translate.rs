//! Translates a CUDA source before clang reads it. Line numbers are kept.

use std::path::Path;

use device_compiler::{Diagnostic, Place, Severity};

/// How CUDA sources become HIP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Translate {
    /// Not at all: [headers with CUDA's names](device_compiler::cuda) supply everything that HIP names
    /// differently.
    #[default]
    None,
    /// The crate `hipify` translates the source, but not its headers; the result is HIP.
    Hipify,
}

/// The result of hipify for a source: the text, with the same line numbers, and the findings. Untranslatable
/// code is only a warning here: the compiler decides whether it matters.
pub(crate) fn hipify(source: &Path, text: &str) -> (String, Vec<Diagnostic>) {
    let mut options = hipify::Options::default();
    // The compiler reads that header first anyway.
    options.runtime_header = false;
    let translation = hipify::translate(text.as_bytes(), &options);
    let findings = translation.findings.iter().map(|finding| diagnostic(source, finding)).collect();
    // Only whole UTF-8 words are replaced, so the text stays valid.
    (String::from_utf8_lossy(&translation.text).into_owned(), findings)
}

fn diagnostic(source: &Path, finding: &hipify::Finding) -> Diagnostic {
    let hipify::Finding { line, column, rule, message, advice, .. } = finding;
    let severity = match finding.severity {
        hipify::Severity::Note => Severity::Remark,
        hipify::Severity::Warning | hipify::Severity::Error => Severity::Warning,
    };
    let place = Place {
        file: source.to_owned(),
        line: u32::try_from(*line).unwrap_or(u32::MAX),
        column: u32::try_from(*column).unwrap_or(u32::MAX),
    };
    let word = if severity == Severity::Remark { "remark" } else { "warning" };
    let message = format!("{message} [hipify: {rule}]");
    let text = format!("{}:{line}:{column}: {word}: {message}\n    {advice}\n", source.display());
    Diagnostic { severity, place: Some(place), message, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_has_the_lines_of_its_source_and_findings_have_places() {
        let text = "// caf\u{e9}\n#include <cuda_fp16.h>\n__global__ void k() {\n  umul24(1, 2);\n}\n";
        let (translated, findings) = hipify(Path::new("a.cu"), text);
        assert_eq!(translated, text.replace("cuda_fp16.h", "hip/hip_fp16.h"));
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.place.as_ref().map(|place| (place.line, place.column)), Some((4, 3)));
        assert!(finding.text.starts_with("a.cu:4:3: warning: HIP has no `umul24`"), "{}", finding.text);
    }
}
