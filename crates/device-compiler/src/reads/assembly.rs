//! Whether inline assembly may read files.

use crate::ir;

/// Directives that read no files. Macro definitions are not listed, because macros could produce any
/// directive.
const HARMLESS: &[&str] = &[
    "align",
    "ascii",
    "asciz",
    "balign",
    "bss",
    "byte",
    "comm",
    "data",
    "double",
    "else",
    "elseif",
    "end",
    "endif",
    "equ",
    "equiv",
    "fill",
    "float",
    "globl",
    "global",
    "hidden",
    "ident",
    "if",
    "ifdef",
    "ifndef",
    "int",
    "internal",
    "lcomm",
    "loc",
    "local",
    "long",
    "octa",
    "org",
    "p2align",
    "popsection",
    "previous",
    "protected",
    "pushsection",
    "quad",
    "rodata",
    "sec",
    "section",
    "set",
    "short",
    "single",
    "size",
    "skip",
    "sleb128",
    "space",
    "string",
    "subsection",
    "symver",
    "text",
    "type",
    "uleb128",
    "value",
    "weak",
    "word",
    "zero",
];

/// Whether the inline assembly of a module of IR has a directive that may read a file (`.incbin`,
/// `.include`).
///
/// The files themselves stay unknown. An unknown directive counts as one that may read files.
pub(crate) fn may_read_files(module: &str) -> bool {
    let has_assembly = |line: &&str| line.starts_with("module asm ") || line.contains(" asm ");
    module.lines().filter(has_assembly).flat_map(texts).any(|text| has_unknown_directive(&text))
}

/// The quoted texts of a line.
fn texts(line: &str) -> impl Iterator<Item = String> {
    // LLVM escapes a quote inside quotes by its number.
    let quoted = line.split('"').skip(1).step_by(2);
    quoted.map(|text| ir::text(&format!("\"{text}\"")).unwrap_or_else(|| text.to_owned()))
}

fn has_unknown_directive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'.').any(|(at, _)| {
        let is_inside = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || b"_$.)".contains(&bytes[at - 1]));
        let word = &text[at + 1..];
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
        match &word.as_bytes()[..end] {
            _ if is_inside => false,
            // A number, or the current address; a macro argument is neither.
            [] => word.starts_with('\\'),
            [first, ..] if first.is_ascii_digit() => false,
            // A label, or a section's name, which is not a directive.
            [b'L', ..] => false,
            _ => !HARMLESS.contains(&word[..end].to_ascii_lowercase().as_str()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_may_read_files_are_found_in_final_texts() {
        let of = |text: &str| {
            may_read_files(&format!("  %1 = tail call i32 asm sideeffect \"{text}\", \"=v,v\"(i32 %0) #1\n"))
        };
        for harmless in [
            "v_mov_b32 $0, 0.5",
            "v_add_f32 $0, $1, .5",
            ".Lloop${:uid}:\\0As_branch .Lloop${:uid}",
            ".section .rodata\\0A.globl data\\0Adata: .long 1\\0A.previous",
            "s_nop 0 ; see a.b",
        ] {
            assert!(!of(harmless), "{harmless}");
        }
        for reading in [
            ".incbin \\22/x\\22",
            "s_nop 0; .INCBIN \\22x\\22",
            "x: .include \\22x\\22",
            ".macro m a\\0A.inc\\\\a\\0A.endm",
            ".\\\\a",
        ] {
            assert!(of(reading), "{reading}");
        }
        assert!(may_read_files("module asm \"d: .incbin \\22x\\22\"\n"));
        assert!(!may_read_files("@s = constant [9 x i8] c\".incbin x\\00\"\n"));
    }
}
