//! How many lanes a GPU has by its name: a cross-check of what a record says, never a source of figures.

/// What one kind of GPU has.
#[derive(Debug)]
pub(super) struct Row {
    /// Words that have to be in the name, in any order, in lower case. `h100 pcie` is asked before `h100`.
    words: &'static [&'static str],
    /// The product, for texts.
    pub(super) product: &'static str,
    /// Possible counts of lanes, and what each of them counts.
    pub(super) cores: &'static [(u64, &'static str)],
}

const fn row(
    words: &'static [&'static str],
    product: &'static str,
    cores: &'static [(u64, &'static str)],
) -> Row {
    Row { words, product, cores }
}

/// Names of more words come before those of fewer, so that the first row that matches is the closest one. Counts are from the vendors' data
/// sheets: compute units × 64 (AMD), multiprocessors × 64 (V100, A100, A30) or × 128 (NVIDIA's others).
const ROWS: &[Row] = &[
    row(
        &["mi250x"],
        "AMD Instinct MI250X",
        &[(7040, "110 compute units of one die"), (14_080, "220 compute units of both dies")],
    ),
    row(
        &["mi250"],
        "AMD Instinct MI250",
        &[(6656, "104 compute units of one die"), (13_312, "208 compute units of both dies")],
    ),
    row(&["mi100"], "AMD Instinct MI100", &[(7680, "120 compute units")]),
    row(&["mi210"], "AMD Instinct MI210", &[(6656, "104 compute units")]),
    row(&["mi300a"], "AMD Instinct MI300A", &[(14_592, "228 compute units")]),
    row(&["mi300x"], "AMD Instinct MI300X", &[(19_456, "304 compute units")]),
    row(&["mi325x"], "AMD Instinct MI325X", &[(19_456, "304 compute units")]),
    row(&["mi350x"], "AMD Instinct MI350X", &[(16_384, "256 compute units")]),
    row(&["mi355x"], "AMD Instinct MI355X", &[(16_384, "256 compute units")]),
    row(&["rx", "7900", "xtx"], "AMD Radeon RX 7900 XTX", &[(6144, "96 compute units")]),
    row(&["h100", "pcie"], "NVIDIA H100 PCIe", &[(14_592, "114 multiprocessors")]),
    row(&["h100", "nvl"], "NVIDIA H100 NVL", &[(16_896, "132 multiprocessors")]),
    row(&["h100", "hbm3"], "NVIDIA H100 SXM", &[(16_896, "132 multiprocessors")]),
    row(&["h100", "sxm5"], "NVIDIA H100 SXM", &[(16_896, "132 multiprocessors")]),
    row(&["h100", "sxm"], "NVIDIA H100 SXM", &[(16_896, "132 multiprocessors")]),
    row(
        &["h100"],
        "NVIDIA H100",
        &[
            (16_896, "132 multiprocessors of the SXM module"),
            (14_592, "114 multiprocessors of the PCIe card"),
        ],
    ),
    row(&["h200"], "NVIDIA H200", &[(16_896, "132 multiprocessors")]),
    row(&["b200"], "NVIDIA B200", &[(18_944, "148 multiprocessors")]),
    row(&["a100"], "NVIDIA A100", &[(6912, "108 multiprocessors")]),
    row(&["a30"], "NVIDIA A30", &[(3584, "56 multiprocessors")]),
    row(&["a40"], "NVIDIA A40", &[(10_752, "84 multiprocessors")]),
    row(&["v100"], "NVIDIA V100", &[(5120, "80 multiprocessors")]),
    row(&["l40s"], "NVIDIA L40S", &[(18_176, "142 multiprocessors")]),
    row(&["l4"], "NVIDIA L4", &[(7424, "58 multiprocessors")]),
    row(&["rtx", "3090", "ti"], "NVIDIA GeForce RTX 3090 Ti", &[(10_752, "84 multiprocessors")]),
    row(&["rtx", "3090"], "NVIDIA GeForce RTX 3090", &[(10_496, "82 multiprocessors")]),
    row(&["rtx", "4090", "d"], "NVIDIA GeForce RTX 4090 D", &[(14_592, "114 multiprocessors")]),
    row(&["rtx", "4090"], "NVIDIA GeForce RTX 4090", &[(16_384, "128 multiprocessors")]),
    row(&["rtx", "5090"], "NVIDIA GeForce RTX 5090", &[(21_760, "170 multiprocessors")]),
];

/// The row of a device's name. Words are compared whole: `A100` is in `NVIDIA A100-SXM4-80GB`, and `A10` is not.
pub(super) fn of_name(name: &str) -> Option<&'static Row> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    ROWS.iter().find(|row| row.words.iter().all(|word| words.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_found() {
        for (name, product, cores) in [
            ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe", Some(14_592)),
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM", Some(16_896)),
            ("H100-SXM5-80GB", "NVIDIA H100 SXM", Some(16_896)),
            ("NVIDIA H100 NVL", "NVIDIA H100 NVL", Some(16_896)),
            ("NVIDIA H100", "NVIDIA H100", None),
            ("AMD Instinct MI300X", "AMD Instinct MI300X", Some(19_456)),
            ("AMD Instinct MI300X OAM", "AMD Instinct MI300X", Some(19_456)),
            ("AMD Instinct MI250X", "AMD Instinct MI250X", None),
            ("AMD Instinct MI250X / MI250", "AMD Instinct MI250X", None),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA A100", Some(6912)),
            ("NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 3090 Ti", Some(10_752)),
        ] {
            let row = of_name(name).unwrap_or_else(|| panic!("no row for {name}"));
            assert_eq!(row.product, product, "{name}");
            let only = if let [(cores, _)] = row.cores { Some(*cores) } else { None };
            assert_eq!(only, cores, "{name}");
        }
        for name in ["NVIDIA A10", "NVIDIA L40", "AMD Radeon", ""] {
            assert!(of_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_closer_row_is_before_a_wider_one_and_counts_are_units_times_lanes() {
        for (place, row) in ROWS.iter().enumerate() {
            let shadow =
                ROWS[..place].iter().find(|before| before.words.iter().all(|word| row.words.contains(word)));
            assert!(shadow.is_none(), "{} is never found: {shadow:?}", row.product);
            for (cores, what) in row.cores {
                let units: u64 = what
                    .split(' ')
                    .next()
                    .and_then(|units| units.parse().ok())
                    .expect("begins with a number");
                assert!(
                    [64, 128].contains(&(cores / units)) && cores % units == 0,
                    "{}: {cores} and {what}",
                    row.product
                );
            }
        }
    }
}
