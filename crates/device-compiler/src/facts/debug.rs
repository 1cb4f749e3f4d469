//! The amount of debug information in a code object.

use std::ffi::OsStr;

/// The debug information that the second step writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DebugInfo {
    None,
    /// Source lines, and functions that were inlined.
    Lines,
    Full,
}

impl DebugInfo {
    /// The amount that these options request. As in clang, the last one counts.
    pub(super) fn wanted(options: &[&OsStr]) -> Self {
        let level = |option: &&OsStr| match option.to_str()? {
            "-g0" => Some(Self::None),
            "-g1" | "-gmlt" | "-gline-tables-only" | "-gline-directives-only" => Some(Self::Lines),
            "-g" | "-g2" | "-g3" | "-gfull" => Some(Self::Full),
            other if other.starts_with("-ggdb0") => Some(Self::None),
            other if other.starts_with("-ggdb1") => Some(Self::Lines),
            other if ["-ggdb", "-gdwarf", "-glldb"].iter().any(|start| other.starts_with(start)) => {
                Some(Self::Full)
            }
            _ => None,
        };
        options.iter().filter_map(level).next_back().unwrap_or(Self::None)
    }

    /// A line of IR without unwanted information; `None` if nothing remains.
    pub(super) fn reduce(self, line: &str) -> Option<std::borrow::Cow<'_, str>> {
        let kind = match self {
            Self::Full => return Some(line.into()),
            Self::Lines => "LineTablesOnly",
            Self::None => "NoDebug",
        };
        // Values of variables.
        if line.trim_start().starts_with("#dbg_") {
            return None;
        }
        if line.starts_with('!') && line.contains("!DICompileUnit(") {
            let line = line.replace("emissionKind: FullDebug", &format!("emissionKind: {kind}"));
            return Some(without(line, OF_UNITS).into());
        }
        if line.starts_with('!') && line.contains("!DISubprogram(") && line.contains("DISPFlagDefinition") {
            return Some(bare(line).into());
        }
        Some(line.into())
    }
}

/// Types and variables that source lines do not need.
const OF_UNITS: &[&str] = &["enums", "retainedTypes", "globals", "imports", "macros"];

/// Fields that clang omits from functions if only lines are requested. LLVM crashes on variables there, but
/// needs the type.
const OF_FUNCTIONS: &[&str] =
    &["linkageName", "templateParams", "declaration", "retainedNodes", "thrownTypes"];

/// Moves a function from its class or namespace to its file.
fn bare(line: &str) -> String {
    let line = without(line.to_owned(), OF_FUNCTIONS);
    match (crate::ir::field(&line, "scope"), crate::ir::field(&line, "file")) {
        (Some(scope), Some(file)) if scope != file => {
            line.replacen(&format!("scope: {scope},"), &format!("scope: {file},"), 1)
        }
        _ => line,
    }
}

/// A node without these fields, none of which is its first.
fn without(mut line: String, fields: &[&str]) -> String {
    for field in fields {
        if let Some(value) = crate::ir::field(&line, field) {
            line = line.replacen(&format!(", {field}: {value}"), "", 1);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_option_decides() {
        let wanted = |options: &[&str]| {
            DebugInfo::wanted(&options.iter().map(|option| OsStr::new(*option)).collect::<Vec<_>>())
        };
        assert_eq!(wanted(&[]), DebugInfo::None);
        assert_eq!(wanted(&["-gline-tables-only", "-gz", "-O3"]), DebugInfo::Lines);
        assert_eq!(wanted(&["-gline-tables-only", "-g0"]), DebugInfo::None);
        assert_eq!(wanted(&["-g0", "-ggdb3", "-gno-column-info"]), DebugInfo::Full);
        assert_eq!(wanted(&["-gdwarf-4", "-gmlt"]), DebugInfo::Lines);
    }

    #[test]
    fn what_is_not_wanted_is_dropped() {
        let unit = "!0 = distinct !DICompileUnit(file: !1, producer: \"x, globals: !9\", emissionKind: FullDebug, \
                    retainedTypes: !2, globals: !3, splitDebugInlining: false)";
        let expected = "!0 = distinct !DICompileUnit(file: !1, producer: \"x, globals: !9\", emissionKind: LineTablesOnly, \
                        splitDebugInlining: false)";
        assert_eq!(DebugInfo::Lines.reduce(unit).as_deref(), Some(expected));
        assert!(DebugInfo::None.reduce(unit).unwrap().contains("emissionKind: NoDebug"));
        assert_eq!(DebugInfo::Full.reduce(unit).as_deref(), Some(unit));
        let function = "!3 = distinct !DISubprogram(name: \"f<int>\", linkageName: \"_Z1fIiEvv\", scope: !2, file: !1, line: 3, \
                        type: !4, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !5)";
        let expected = "!3 = distinct !DISubprogram(name: \"f<int>\", scope: !1, file: !1, line: 3, \
                        type: !4, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)";
        assert_eq!(DebugInfo::Lines.reduce(function).as_deref(), Some(expected));
        assert_eq!(DebugInfo::Full.reduce(function).as_deref(), Some(function));
        let value = "    #dbg_value(i32 %0, !5, !DIExpression(), !7)";
        assert_eq!(DebugInfo::Lines.reduce(value), None);
        assert_eq!(DebugInfo::Full.reduce(value).as_deref(), Some(value));
    }
}
