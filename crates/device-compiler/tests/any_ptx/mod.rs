//! Properties of the rewriting of inline PTX, for sources of any bytes. The fuzz target runs these, too.

use device_compiler::ptx::rewrite;

/// Rewrites a source and checks the properties.
///
/// # Panics
/// If a line is added or lost, or a second rewriting changes the first.
pub(crate) fn run(source: &[u8]) {
    let source = String::from_utf8_lossy(source);
    let Some(once) = rewrite(&source) else { return };
    let ends = |text: &str| text.matches('\n').count();
    assert_eq!(ends(&once), ends(&source), "lines of {source:?}");
    assert_eq!(rewrite(&once), None, "a second time, of {source:?}");
}

/// The same with the bytes as the text of an `asm` statement with operands of all kinds.
///
/// # Panics
/// As [`run`].
pub(crate) fn run_as_template(template: &[u8]) {
    let template = String::from_utf8_lossy(template);
    let text: String = template.chars().flat_map(char::escape_default).collect();
    let operands = "\"=r\"(a), \"+l\"(b) : \"f\"(c), \"d\"(d), \"h\"(e), \"n\"(1) : \"memory\"";
    run(format!("__device__ void f() {{\n  asm volatile(\"{text}\"\n    : {operands});\n}}\n").as_bytes());
}
