//! Finds fault reports of virtual GPUs in a program's output: kernel, line, lane.

use std::collections::HashSet;

/// A report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub what: String,
    /// The kernel.
    pub kernel: String,
    /// The target.
    pub target: String,
    /// The file, line and column, and the function, if the code object says.
    pub source: Option<String>,
    /// The workgroup, wave and lane.
    pub place: String,
    /// The report as written.
    pub text: String,
}

/// The lines of a report after the one with its kernel. `docs/use/faults.md` shows one.
const PARTS: [&str; 5] = ["source ", "inlined at ", "pc ", "instruction ", "workgroup "];

/// All reports in a text, each once.
#[must_use]
pub fn find(text: &str) -> Vec<Fault> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut texts) = (Vec::new(), HashSet::new());
    for (index, line) in lines.iter().enumerate() {
        let Some((kernel, target)) = kernel(line) else { continue };
        let start = first(&lines, index);
        let mut end = index + 1;
        while lines.get(end).is_some_and(|line| PARTS.iter().any(|part| line.trim_start().starts_with(part)))
        {
            end += 1;
        }
        let value = |part: &str| {
            let line = lines[index..end].iter().find_map(|line| line.trim_start().strip_prefix(part));
            line.map(|value| value.trim().to_owned())
        };
        // A report without a place is something else that looks like one.
        let Some(place) = value("workgroup ") else { continue };
        let fault = Fault {
            // A library prints its name first.
            what: lines[start].rsplit("error: ").next().unwrap_or_default().trim().to_owned(),
            kernel,
            target,
            source: value("source "),
            place,
            text: lines[start..end].join("\n"),
        };
        if texts.insert(fault.text.clone()) {
            found.push(fault);
        }
    }
    found
}

/// The kernel and target in the line that names them.
fn kernel(line: &str) -> Option<(String, String)> {
    let value = line.trim_start().strip_prefix("kernel ")?.trim();
    let (kernel, target) = value.strip_suffix(')')?.rsplit_once(" (")?;
    target.starts_with("gfx").then(|| (kernel.to_owned(), target.to_owned()))
}

/// The first line of a report, given its line with the kernel: a line above may describe the address.
fn first(lines: &[&str], kernel: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(lines[kernel]);
    let mut start = kernel.saturating_sub(1);
    while start > 0 && kernel - start < 4 && indent(lines[start]) >= depth {
        start -= 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
write of 4 bytes at 0x7f038dc833e8 is outside every allocation
  0 bytes after the end of 1000 bytes of device memory at 0x7f038dc83000..0x7f038dc833e8
  kernel      inlined (gfx1100)
  source      reports.cu:80:19 in store
              inlined at reports.cu:85:21 in through
  pc          0x5440 <inlined+0x40>
  instruction global_store_b32 v0, v1, s[0:1]
  workgroup   2,0,0 wave 1 lane 5 (work-item 37,0,0)";

    #[test]
    fn reports_are_found_among_other_output() {
        let text = format!(
            "libamdhip64: error: a stream has failed\nbefore\nlibamdhip64: error: {REPORT}\nafter\n  kernel      x (gfx1)\nlibamdhip64: error: {REPORT}\n"
        );
        let faults = find(&text);
        assert_eq!(faults.len(), 1, "{faults:?}");
        let Fault { what, kernel, target, source, place, text } = &faults[0];
        assert_eq!(what, "write of 4 bytes at 0x7f038dc833e8 is outside every allocation");
        assert_eq!((kernel.as_str(), target.as_str()), ("inlined", "gfx1100"));
        assert_eq!(source.as_deref(), Some("reports.cu:80:19 in store"));
        assert_eq!(place, "2,0,0 wave 1 lane 5 (work-item 37,0,0)");
        assert_eq!(*text, format!("libamdhip64: error: {REPORT}"));
    }

    proptest::proptest! {
        #[test]
        fn a_report_is_found_behind_any_lines(before in "(?s).{0,200}", after in "(?s).{0,200}") {
            let found = find(&format!("{before}\n{REPORT}\n\n{after}"));
            proptest::prop_assert!(found.iter().any(|fault| fault.kernel == "inlined" && fault.place.contains("lane 5")));
        }
    }

    #[test]
    fn a_report_has_one_kernel() {
        let faults = find("a\n  kernel      x (gfx1)\n  kernel      y (gfx2)\n  workgroup   0,0,0\n");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].kernel, "y");
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        assert_eq!(find("kernel panic (gfx)\nkernel 6.1 (amd64)\n"), []);
        assert_eq!(find(""), []);
    }
}
