//! Finds names similar to a given one.

/// The `names` most similar to `wanted`, the nearest first, for "did you mean".
pub(crate) fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const SHOWN: usize = 3;
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let distance = edit_distance(wanted, name);
            let close = distance <= wanted.len().max(name.len()) / 3;
            let contained = !wanted.is_empty() && (name.contains(wanted) || wanted.contains(name));
            (close || contained).then_some((distance, name))
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

/// Levenshtein distance over bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_nearest_first() {
        let names = ["fill_f32", "fill_f16", "softmax_f32", "saxpy"];
        assert_eq!(near_names("fill_f3", names), ["fill_f32", "fill_f16"]);
        assert_eq!(near_names("saxpi", names), ["saxpy"]);
        assert_eq!(near_names("softmax", names), ["softmax_f32"]);
        assert!(near_names("gemm", names).is_empty());
        assert!(near_names("", names).is_empty());
    }

    #[test]
    fn edit_distance_counts_edits() {
        for (a, b, distance) in [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3)] {
            assert_eq!(edit_distance(a, b), distance);
        }
    }
}
