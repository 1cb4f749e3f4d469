//! Adds the facts about arguments to each kernel of a module.

use std::collections::HashMap;
use std::fmt::Write;

use super::debug::DebugInfo;
use super::types::{Type, Types};
use crate::ir::{Head, Nodes, elements, field, quoted, reference, text};

/// The facts about an argument. Unknown ones are empty texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Argument {
    name: String,
    type_name: String,
    qualifiers: String,
    access: &'static str,
}

/// A column of facts, under the name that LLVM expects.
type Column = (&'static str, fn(&Argument) -> &str);

const COLUMNS: &[Column] = &[
    ("kernel_arg_access_qual", |argument| argument.access),
    ("kernel_arg_type", |argument| &argument.type_name),
    ("kernel_arg_type_qual", |argument| &argument.qualifiers),
    ("kernel_arg_name", |argument| &argument.name),
];

/// The module with the facts, reduced to the wanted debug information.
pub(super) fn tell(module: &str, debug: DebugInfo) -> String {
    let nodes = Nodes::of(module);
    let names = names(&nodes);
    let mut free = nodes.free();
    let mut out = String::with_capacity(module.len());
    let mut added = String::new();
    for line in module.lines().filter(|line| !is_unreadable(line)) {
        let arguments = arguments(line, &nodes, &names).unwrap_or_default();
        if let Some(start) =
            line.strip_suffix('{').filter(|_| arguments.iter().any(|one| *one != Argument::default()))
        {
            out.push_str(start);
            for (name, column) in COLUMNS {
                let column: Vec<_> = arguments.iter().map(|argument| quoted(column(argument))).collect();
                // Writing to a text cannot fail.
                let _ = write!(out, "!{name} !{free} ");
                let _ = writeln!(added, "!{free} = !{{{}}}", column.join(", "));
                free += 1;
            }
            out.push_str("{\n");
        } else if let Some(line) = debug.reduce(line) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out + &added
}

/// Whether LLVM writes this line but cannot always read it: the order of uses of inline assembly that occurs
/// several times, or of a constant expression, which the functions of a module share.
fn is_unreadable(line: &str) -> bool {
    let Some(order) = line.trim_start().strip_prefix("uselistorder ") else { return false };
    let value = order.rsplit_once(", {").map_or(order, |(value, _)| value);
    value.starts_with("ptr asm ") || value.ends_with(')')
}

/// The arguments of the kernel whose definition begins in this line; `None` if there is no kernel, or if it
/// already has facts.
fn arguments(line: &str, nodes: &Nodes<'_>, names: &Names) -> Option<Vec<Argument>> {
    if !line.starts_with("define ") || line.contains("!kernel_arg_") {
        return None;
    }
    let head = Head::of(line)?;
    if !head.before.split(' ').any(|word| word == "amdgpu_kernel") {
        return None;
    }
    let declared = head.subprogram.and_then(|id| declared(id, nodes, names));
    // If the compiler passes other arguments than the source declares, they cannot be matched.
    let declared = declared.filter(|declared| declared.len() == head.parameters.len());
    let argument = |(index, parameter): (usize, &crate::ir::Parameter<'_>)| {
        let (name, ty) = declared.as_ref().map(|declared| declared[index].clone()).unwrap_or_default();
        let access = if !parameter.is_pointer() {
            ""
        } else if parameter.has("readonly") || parameter.has("readnone") {
            "read_only"
        } else if parameter.has("writeonly") {
            "write_only"
        } else if ty.pointee.is_some_and(|pointee| !pointee.constant) {
            "read_write"
        } else {
            ""
        };
        let pointee = ty.pointee.unwrap_or_default();
        let qualifiers =
            [("const", pointee.constant), ("restrict", ty.restrict), ("volatile", pointee.volatile)];
        let qualifiers: Vec<_> =
            qualifiers.into_iter().filter(|(_, has)| *has).map(|(word, _)| word).collect();
        Argument {
            name,
            type_name: ty.name.unwrap_or_default(),
            qualifiers: if parameter.is_pointer() { qualifiers.join(" ") } else { String::new() },
            access,
        }
    };
    Some(head.parameters.iter().enumerate().map(argument).collect())
}

/// The names of parameters, by their function's node and their position, counted from 1.
type Names = HashMap<(u32, usize), String>;

fn names(nodes: &Nodes<'_>) -> Names {
    let name = |variable: &str| {
        let place = field(variable, "arg")?.parse().ok()?;
        Some(((reference(field(variable, "scope")?)?, place), text(field(variable, "name")?)?))
    };
    nodes.of_kind("DILocalVariable").filter_map(name).collect()
}

/// Names and types of a function's parameters in the source. A parameter without a name has an empty one.
fn declared(subprogram: u32, nodes: &Nodes<'_>, names: &Names) -> Option<Vec<(String, Type)>> {
    let follow = |node: &str, name: &str| nodes.get(reference(field(node, name)?)?);
    let listed = elements(follow(follow(nodes.get(subprogram)?, "type")?, "types")?)?;
    let (result, listed) = listed.split_first()?;
    // A kernel returns nothing; three dots after its parameters would also be `null`.
    if *result != "null" || listed.contains(&"null") {
        return None;
    }
    let types = Types(nodes);
    let name = |index: usize| names.get(&(subprogram, index + 1)).cloned().unwrap_or_default();
    Some(listed.iter().enumerate().map(|(index, value)| (name(index), types.of(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"define protected amdgpu_kernel void @k(i32 noundef %0, ptr addrspace(1) noundef readonly captures(none) %1, ptr addrspace(1) noundef %2) #0 !dbg !3 {
    #dbg_value(i32 %0, !9, !DIExpression(), !3)
  ret void
}
define void @helper(ptr %0) !dbg !3 {
}
!0 = distinct !DICompileUnit(file: !1, emissionKind: FullDebug, globals: !2)
!3 = distinct !DISubprogram(name: "k", type: !4, unit: !0, retainedNodes: !8)
!4 = !DISubroutineType(types: !5)
!5 = !{null, !6, !7, !11}
!6 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!7 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !12, size: 64)
!8 = !{!9, !10}
!9 = !DILocalVariable(name: "n", arg: 1, scope: !3, type: !6)
!10 = !DILocalVariable(name: "y", arg: 3, scope: !3, type: !11)
!11 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !6, size: 64)
!12 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !6)
"#;

    #[test]
    fn facts_are_attached_and_debug_information_is_reduced() {
        let told = tell(MODULE, DebugInfo::None);
        let head = "#0 !dbg !3 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_type_qual !15 !kernel_arg_name !16 {";
        assert!(told.lines().next().unwrap().ends_with(head), "{told}");
        assert!(!told.contains("#dbg_value") && told.contains("emissionKind: NoDebug)"), "{told}");
        assert!(told.contains("define void @helper(ptr %0) !dbg !3 {\n"), "{told}");
        let added = r#"!13 = !{!"", !"read_only", !"read_write"}
!14 = !{!"int", !"int*", !"int*"}
!15 = !{!"", !"const", !""}
!16 = !{!"n", !"", !"y"}
"#;
        assert!(told.ends_with(added), "{told}");
        assert_eq!(tell(&told, DebugInfo::None), told, "what was told is not told again");
        let order = "uselistorder ptr asm sideeffect \"\", \"~{memory}\", { 1, 0, 2 }\n";
        assert_eq!(tell(&format!("{MODULE}{order}"), DebugInfo::None), told);
        // Written by clang 22 for a kernel of rocPRIM, and refused: "wrong number of indexes, expected 2".
        let expression = "uselistorder ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @storage, i32 4096), { 1, 2, 0 }";
        assert!(is_unreadable(expression));
        for readable in
            ["uselistorder ptr @\"f(int)\", { 1, 0 }", "  uselistorder { i32, i1 } %x, { 1, 0 }", "ret void"]
        {
            assert!(!is_unreadable(readable), "{readable}");
        }
    }

    #[test]
    fn where_declaration_and_code_differ_only_the_code_is_believed() {
        let other = MODULE.replace("!{null, !6, !7, !11}", "!{null, !6, !7}");
        let told = tell(&other, DebugInfo::Full);
        assert!(told.contains(r#"!{!"", !"read_only", !""}"#), "{told}");
        assert!(told.contains(r#"!{!"", !"", !""}"#) && !told.contains(r#"!"int*""#), "{told}");
        // Without debug information, there are no facts to write.
        let bare = "define amdgpu_kernel void @k(i32 %0, ptr %1) {\n}\n";
        assert_eq!(tell(bare, DebugInfo::None), bare);
    }

    #[test]
    fn no_text_is_too_strange() {
        for end in 0..MODULE.len() {
            tell(&MODULE[..end], DebugInfo::Lines);
            tell(&MODULE[end..], DebugInfo::Lines);
        }
        for (id, other) in
            [("!12", "!11"), ("!6 =", "!7 ="), ("baseType: !6", "baseType: !11"), ("arg: 3", "arg: 0")]
        {
            tell(&MODULE.replace(id, other), DebugInfo::Lines);
        }
    }
}
