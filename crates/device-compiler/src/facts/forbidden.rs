//! Finds the source positions of forbidden calls and of inline assembly that is not for the target.
//!
//! A function may declare that no call of it may remain in the code (`__attribute__((error("…")))`, used for
//! [inline PTX](crate::ptx) without an equivalent). Only the second step finds remaining calls, and it knows
//! the IR but not the source.

use std::fmt::Write as _;

use crate::ir::{self, Nodes};

/// The compiler's text about such a call, before the function's own message.
const REPORT: &str = "declared with 'error' attribute";

/// The messages of a failed second step, with source positions for forbidden calls.
pub(super) fn explain(messages: &str, module: &str) -> String {
    let mut found = if messages.contains(REPORT) { calls(module) } else { String::new() };
    if messages.contains(ASSEMBLY) {
        found.push_str(&assembly(messages, module));
    }
    if found.is_empty() {
        return messages.to_owned();
    }
    let is_head = |line: &str| {
        let kind = |kind: &str| line.starts_with(kind) || line.contains(&format!(": {kind}"));
        ["error: ", "warning: ", "note: "].into_iter().any(kind) || line.ends_with(" generated.")
    };
    let mut out = found;
    let mut dropped = false;
    for line in messages.lines() {
        if is_head(line) {
            dropped =
                [REPORT, ASSEMBLY, "cannot compile inline asm"].iter().any(|known| line.contains(known))
                    || line.ends_with(" generated.");
        }
        if !dropped {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The assembler's place of an error in inline assembly.
const ASSEMBLY: &str = "<inline asm>:";

/// The errors of inline assembly: each statement with the word that the assembler shows.
fn assembly(messages: &str, module: &str) -> String {
    let nodes = Nodes::of(module);
    let mut out = String::new();
    let mut lines = messages.lines();
    while let Some(line) = lines.next() {
        let Some((_, message)) = line.split_once(": error: ").filter(|_| line.starts_with(ASSEMBLY)) else {
            continue;
        };
        let Some(word) = lines.next().and_then(|shown| shown.split_whitespace().next()) else { continue };
        let statements = module.lines().filter(|line| line.contains("call ") && line.contains(" asm "));
        for statement in statements.filter(|statement| statement.contains(word)) {
            let what = format!("error: inline assembly: {message}: `{word}`");
            let told = told_at(&nodes, statement, &what);
            if !out.contains(&told) {
                out.push_str(&told);
            }
        }
    }
    out
}

/// The errors for forbidden calls in a module, in a compiler's format.
fn calls(module: &str) -> String {
    let nodes = Nodes::of(module);
    let group = |line: &str| -> Option<(String, String)> {
        let (name, attributes) = line.strip_prefix("attributes ")?.split_once(" = ")?;
        let message = &attributes[attributes.find("\"dontcall-error\"=")? + 17..];
        let end = message[1..].find('"')? + 2;
        Some((name.to_owned(), ir::text(&message[..end])?))
    };
    let groups: Vec<(String, String)> = module.lines().filter_map(group).collect();
    let function = |line: &str| -> Option<(String, String)> {
        if !line.starts_with("declare ") && !line.starts_with("define ") {
            return None;
        }
        let name = &line[line.find('@')?..];
        let name = &name[..=name.find('(')?];
        let of = line.split_whitespace().find_map(|word| groups.iter().find(|(group, _)| group == word))?;
        Some((name.to_owned(), of.1.clone()))
    };
    let functions: Vec<(String, String)> = module.lines().filter_map(function).collect();
    let mut out = String::new();
    for line in module.lines().filter(|line| line.contains("call ")) {
        let Some((_, message)) = functions.iter().find(|(name, _)| line.contains(name.as_str())) else {
            continue;
        };
        let told = told_at(&nodes, line, &format!("error: {message}"));
        // An unrolled loop contains the call many times.
        if !out.contains(&told) {
            out.push_str(&told);
        }
    }
    out
}

/// The messages about a call, at its place and at those of its callers.
fn told_at(nodes: &Nodes<'_>, call: &str, what: &str) -> String {
    let mut out = String::new();
    let Some(at) = call.find("!dbg !") else { return out };
    let number = &call[at + 6..];
    let number = &number[..number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len())];
    let mut location = number.parse().ok();
    let mut what = what;
    // A valid module has no cycles here, but this one has not been verified.
    for _ in 0..64 {
        let Some(node) = location.and_then(|id| nodes.get(id)) else { break };
        let Some(place) = place(nodes, node) else { break };
        let _ = writeln!(out, "{place}: {what}");
        what = "note: called from here";
        location = ir::field(node, "inlinedAt").and_then(ir::reference);
    }
    out
}

/// File, line and column of a `!DILocation(…)`.
fn place(nodes: &Nodes<'_>, location: &str) -> Option<String> {
    let number = |name| ir::field(location, name).unwrap_or("0");
    let mut scope = nodes.get(ir::field(location, "scope").and_then(ir::reference)?)?;
    for _ in 0..64 {
        if let Some(file) = ir::field(scope, "file").and_then(ir::reference) {
            let name = ir::text(ir::field(nodes.get(file)?, "filename")?)?;
            return Some(format!("{name}:{}:{}", number("line"), number("column")));
        }
        scope = nodes.get(ir::field(scope, "scope").and_then(ir::reference)?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
define amdgpu_kernel void @_Z1kPi() #0 !dbg !4 {
  tail call void @_Z5nonev() #2, !dbg !8
  ret void
}
declare void @_Z5nonev() local_unnamed_addr #1
attributes #0 = { nounwind }
attributes #1 = { convergent "dontcall-error"="no `x` here" "no-trapping-math"="true" }
!1 = !DIFile(filename: "./a.cu", directory: ".")
!2 = !DIFile(filename: "./b.cuh", directory: ".")
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 2, unit: !0)
!5 = distinct !DISubprogram(name: "f", scope: !2, file: !2, line: 7, unit: !0)
!6 = distinct !DILexicalBlock(scope: !5, file: !2, line: 8, column: 3)
!8 = !DILocation(line: 9, column: 5, scope: !6, inlinedAt: !9)
!9 = distinct !DILocation(line: 3, column: 4, scope: !4)
"#;

    #[test]
    fn a_call_is_told_by_its_place_and_by_those_of_its_callers() {
        let told = "told.ll:3:125: error: call to 'none()' declared with 'error' attribute: no `x` here\n    3 | target\n      \
                    |    ^\nx: warning: other\n    1 | y\n1 error generated.\n";
        assert_eq!(
            explain(told, MODULE),
            "./b.cuh:9:5: error: no `x` here\n./a.cu:3:4: note: called from here\nx: warning: other\n    1 | y\n"
        );
    }

    #[test]
    fn a_call_of_a_loop_that_was_unrolled_is_told_once() {
        let call = "  tail call void @_Z5nonev() #2, !dbg !8\n";
        let module = MODULE.replace(call, &call.repeat(3));
        assert_eq!(calls(&module), calls(MODULE));
    }

    #[test]
    fn a_message_that_names_no_place_is_replaced_too() {
        let told =
            "error: call to 'none()' declared with 'error' attribute: no `x` here\n1 error generated.\n";
        let expected = "./b.cuh:9:5: error: no `x` here\n./a.cu:3:4: note: called from here\n";
        assert_eq!(explain(told, MODULE), expected);
    }

    #[test]
    fn assembly_of_another_target_is_told_by_its_place() {
        let statement = "  tail call void asm sideeffect \"no.such $0;\", \"v\"(i32 1) #2, !dbg !9\n";
        let module = MODULE.replace("  tail call void @_Z5nonev() #2, !dbg !8\n", statement);
        let told = "<inline asm>:1:2: error: invalid instruction\n\tno.such v0;\n\t^\nerror: cannot compile inline asm\n1 error generated.\n";
        assert_eq!(
            explain(told, &module),
            "./a.cu:3:4: error: inline assembly: invalid instruction: `no.such`\n"
        );
        assert_eq!(explain(told, ""), told);
    }

    #[test]
    fn other_messages_stay() {
        assert_eq!(explain("x: error: y\n", MODULE), "x: error: y\n");
        let told = "told.ll:3:1: error: call to 'none()' declared with 'error' attribute: no\n";
        assert_eq!(explain(told, ""), told);
        assert_eq!(
            explain(
                told,
                "!8 = !DILocation(line: 9\ncall \"dontcall-error\"=\nattributes #1 = \"dontcall-error\"=\"\n"
            ),
            told
        );
    }
}
