//! The tables that show a build.

use std::collections::BTreeSet;

use kernel_build::report::{Changes, Excess, Figure, KernelName};
use kernel_build::{Build, KernelUse};
use setup::table::{Align, Table, bytes, thousands};

/// One row per module: its number of kernels, its targets, and hidden causes of slowness.
pub(super) fn module_table(uses: &[KernelUse]) -> String {
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("kernels", Align::Right),
        ("targets", Align::Right),
        ("code", Align::Right),
        ("most VGPRs", Align::Right),
        ("spills", Align::Left),
    ]);
    let mut modules: Vec<&str> = uses.iter().map(|used| used.module.as_str()).collect();
    modules.dedup();
    for module in modules {
        let uses: Vec<&KernelUse> = uses.iter().filter(|used| used.module == module).collect();
        let distinct =
            |of: fn(&KernelUse) -> &str| uses.iter().map(|used| of(used)).collect::<BTreeSet<_>>().len();
        let spilled = uses.iter().filter(|used| spills(used)).count();
        table.row([
            module.to_owned(),
            distinct(|used| &used.kernel).to_string(),
            distinct(|used| &used.target).to_string(),
            bytes(uses.iter().map(|used| used.code_bytes).sum()),
            uses.iter().map(|used| used.vgprs).max().unwrap_or(0).to_string(),
            if spilled == 0 { "none".to_owned() } else { format!("in {spilled} of {}", uses.len()) },
        ]);
    }
    table.render()
}

/// The figures of every code object and of every kernel.
pub(super) fn figures_of(build: &Build, uses: &[KernelUse]) -> String {
    let bundles = bundles_of(build).map_or_else(String::new, |table| format!("{table}\n"));
    format!("{}\n{bundles}{}", object_table(build), kernel_table(uses))
}

/// The sizes of a module's code objects, plain and compressed.
struct Sizes {
    module: String,
    targets: usize,
    plain: usize,
    compressed: usize,
}

/// One row per module, if they are compressed.
pub(super) fn bundles_of(build: &Build) -> Option<String> {
    let sizes = build.modules.iter().filter_map(|module| {
        Some(Sizes {
            module: module.name.clone(),
            targets: module.objects.len(),
            plain: module.objects.iter().map(|object| object.bytes.len()).sum(),
            compressed: module.bundle.as_ref()?.bytes.len(),
        })
    });
    let sizes: Vec<Sizes> = sizes.collect();
    (!sizes.is_empty()).then(|| bundle_table(&sizes))
}

fn bundle_table(sizes: &[Sizes]) -> String {
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("targets", Align::Right),
        ("code objects", Align::Right),
        ("compressed", Align::Right),
        ("of that", Align::Right),
    ]);
    for Sizes { module, targets, plain, compressed } in sizes {
        table.row([
            module.clone(),
            targets.to_string(),
            thousands(*plain as u64),
            thousands(*compressed as u64),
            format!("{} %", (compressed * 100).div_ceil((*plain).max(1))),
        ]);
    }
    table.render()
}

/// One row per code object.
fn object_table(build: &Build) -> String {
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("target", Align::Left),
        ("kernels", Align::Right),
        ("bytes", Align::Right),
        ("wave", Align::Right),
        ("from", Align::Left),
    ]);
    for (module, object) in build.objects() {
        let kernels = object.code_object.kernels();
        let waves: BTreeSet<u32> = kernels.iter().map(|kernel| kernel.wavefront_size).collect();
        let waves: Vec<String> = waves.iter().map(u32::to_string).collect();
        table.row([
            module.name.clone(),
            object.target.to_string(),
            kernels.len().to_string(),
            thousands(object.bytes.len() as u64),
            waves.join("/"),
            if object.cached {
                "cache".to_owned()
            } else {
                format!("clang, {:.1} s", object.duration.as_secs_f64())
            },
        ]);
    }
    table.render()
}

/// One row per kernel and target.
fn kernel_table(uses: &[KernelUse]) -> String {
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("kernel", Align::Left),
        ("target", Align::Left),
        ("code", Align::Right),
        ("VGPRs", Align::Right),
        ("AGPRs", Align::Right),
        ("SGPRs", Align::Right),
        ("LDS", Align::Right),
        ("scratch", Align::Right),
        ("spilled", Align::Right),
        ("wave", Align::Right),
        ("occupancy", Align::Right),
    ]);
    for used in uses {
        table.row([
            used.module.clone(),
            used.kernel.clone(),
            used.target.clone(),
            used.code_bytes.to_string(),
            used.vgprs.to_string(),
            used.agprs.to_string(),
            used.sgprs.to_string(),
            used.lds.to_string(),
            used.scratch.to_string(),
            if spills(used) {
                format!("{}v+{}s", used.vgpr_spills, used.sgpr_spills)
            } else {
                "0".to_owned()
            },
            used.wave.to_string(),
            used.occupancy.map_or_else(|| "-".to_owned(), |waves| waves.to_string()),
        ]);
    }
    table.render()
}

fn spills(used: &KernelUse) -> bool {
    used.vgpr_spills > 0 || used.sgpr_spills > 0
}

/// Figures that got worse, added and removed kernels, and a line with the counts. `earlier` names the report
/// compared with.
pub(super) fn changes(changes: &Changes, earlier: &str) -> String {
    let mut text = String::new();
    if !changes.worse.is_empty() {
        let mut table = Table::new(&[
            ("module", Align::Left),
            ("kernel", Align::Left),
            ("target", Align::Left),
            ("figure", Align::Left),
            ("before", Align::Right),
            ("after", Align::Right),
        ]);
        for change in &changes.worse {
            table.row([
                change.module.clone(),
                change.kernel.clone(),
                change.target.clone(),
                change.figure.to_string(),
                change.before.to_string(),
                change.after.to_string(),
            ]);
        }
        text.push_str(&table.render());
        text.push('\n');
    }
    let mut names = |title: &str, kernels: &[KernelName]| {
        for kernel in kernels {
            text.push_str(&format!("{title}: {kernel}\n"));
        }
    };
    names("new", &changes.new);
    names("gone", &changes.gone);
    if let Some((before, after)) = &changes.toolchains {
        text.push_str(&format!("The toolchain was {before}; it is {after}.\n"));
    }
    let (figures, are) = if changes.worse.len() == 1 { ("figure", "is") } else { ("figures", "are") };
    text.push_str(&format!(
        "{} {figures} {are} worse than in {earlier}, {} better; {} new, {} gone.\n",
        changes.worse.len(),
        changes.better,
        kernels(changes.new.len()),
        kernels(changes.gone.len()),
    ));
    text
}

fn kernels(count: usize) -> String {
    if count == 1 { "1 kernel".to_owned() } else { format!("{count} kernels") }
}

/// Figures that exceed their limits, and a line with the count.
pub(super) fn excesses(excesses: &[Excess]) -> String {
    if excesses.is_empty() {
        return "All kernels are within the limits.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("module", Align::Left),
        ("kernel", Align::Left),
        ("target", Align::Left),
        ("figure", Align::Left),
        ("limit", Align::Right),
        ("is", Align::Right),
    ]);
    for excess in excesses {
        let least = if excess.figure == Figure::Occupancy { "at least " } else { "" };
        table.row([
            excess.module.clone(),
            excess.kernel.clone(),
            excess.target.clone(),
            excess.figure.to_string(),
            format!("{least}{}", excess.limit),
            excess.found.to_string(),
        ]);
    }
    let (figures, are) = if excesses.len() == 1 { ("figure", "is") } else { ("figures", "are") };
    format!("{}\n{} {figures} {are} beyond the limits.\n", table.render(), excesses.len())
}

#[cfg(test)]
mod tests {
    use kernel_build::report::Change;

    use super::*;

    fn used(target: &str, kernel: &str, wave: u32) -> KernelUse {
        KernelUse {
            module: "fill".to_owned(),
            target: target.to_owned(),
            kernel: kernel.to_owned(),
            vgprs: 5,
            agprs: 1,
            sgprs: 16,
            lds: 0,
            scratch: 8,
            wave,
            vgpr_spills: 0,
            sgpr_spills: 0,
            code_bytes: 100,
            occupancy: Some(12),
        }
    }

    fn rows(text: &str) -> Vec<Vec<&str>> {
        text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn modules_have_one_row_that_tells_of_spills() {
        let mut spilled = used("gfx90a", "b", 64);
        (spilled.sgpr_spills, spilled.vgprs) = (1, 70);
        let uses = [used("gfx1100", "a", 32), used("gfx90a", "a", 64), used("gfx1100", "b", 32), spilled];
        let text = module_table(&uses);
        assert_eq!(rows(&text), [["fill", "2", "2", "400", "B", "70", "in", "1", "of", "4"]], "{text}");
        assert!(module_table(&uses[..2]).lines().last().expect("a row").ends_with("none"));
    }

    #[test]
    fn kernels_have_a_row_for_each_target() {
        let mut spilled = used("gfx1250", "b", 64);
        (spilled.vgpr_spills, spilled.occupancy) = (3, None);
        let text = kernel_table(&[used("gfx1100", "a", 32), spilled]);
        let expected = [
            ["fill", "a", "gfx1100", "100", "5", "1", "16", "0", "8", "0", "32", "12"],
            ["fill", "b", "gfx1250", "100", "5", "1", "16", "0", "8", "3v+0s", "64", "-"],
        ];
        assert_eq!(rows(&text), expected, "{text}");
    }

    #[test]
    fn compressed_modules_show_what_is_saved() {
        let sizes = |module: &str, plain, compressed| Sizes {
            module: module.to_owned(),
            targets: 8,
            plain,
            compressed,
        };
        let text = bundle_table(&[sizes("fill", 123_456, 12_346), sizes("none", 0, 90)]);
        let expected = [["fill", "8", "123,456", "12,346", "11", "%"], ["none", "8", "0", "90", "9000", "%"]];
        assert_eq!(rows(&text), expected, "{text}");
    }

    #[test]
    fn changes_have_a_row_for_what_is_worse() {
        let none = changes(&Changes::default(), "a.json");
        assert_eq!(none, "0 figures are worse than in a.json, 0 better; 0 kernels new, 0 kernels gone.\n");
        let change = Change {
            module: "fill".to_owned(),
            kernel: "a".to_owned(),
            target: "gfx1100".to_owned(),
            figure: Figure::Code,
            before: 100,
            after: 300,
        };
        let name =
            KernelName { module: "m".to_owned(), kernel: "k".to_owned(), targets: vec!["gfx90a".to_owned()] };
        let some = Changes {
            worse: vec![change],
            better: 2,
            new: vec![name],
            toolchains: Some(("clang 1".to_owned(), "clang 2".to_owned())),
            ..Changes::default()
        };
        let text = changes(&some, "a.json");
        assert_eq!(rows(&text)[0], ["fill", "a", "gfx1100", "code", "bytes", "100", "300"], "{text}");
        let end = "new: k of m for gfx90a\nThe toolchain was clang 1; it is clang 2.\n1 figure is worse than in a.json, 2 better; \
                   1 kernel new, 0 kernels gone.\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn the_limit_of_occupancy_is_the_least() {
        assert_eq!(excesses(&[]), "All kernels are within the limits.\n");
        let excess = |figure, limit, found| Excess {
            module: "fill".to_owned(),
            kernel: "a".to_owned(),
            target: "gfx1100".to_owned(),
            figure,
            limit,
            found,
        };
        let text = excesses(&[excess(Figure::Vgprs, 64, 70), excess(Figure::Occupancy, 8, 4)]);
        let rows = rows(&text);
        assert_eq!(rows[0], ["fill", "a", "gfx1100", "VGPRs", "64", "70"], "{text}");
        assert_eq!(rows[1], ["fill", "a", "gfx1100", "occupancy", "at", "least", "8", "4"], "{text}");
        assert!(text.ends_with("\n2 figures are beyond the limits.\n"), "{text}");
    }
}
