//! Which GPU agents are devices, and in what order: `HIP_VISIBLE_DEVICES` and its relatives.

use hsa_sys::{Table, hsa_agent_t};

/// Which of HSA's GPUs a program sees as devices, and in what order. The default is all of them, in HSA's
/// order.
///
/// It consists of lists, each of which selects from the result of the previous one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visible(Vec<List>);

/// Whose rules a list follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// AMD's HSA runtime: blanks, case and the notation of numbers do not matter; a UUID prefix that several
    /// GPUs share matches none; a GPU that is named twice ends the list.
    Hsa,
    /// AMD's HIP: names must be as the runtime prints them; a UUID prefix matches the first GPU that has it;
    /// a GPU that is named twice counts once.
    Hip,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct List {
    names: Vec<Name>,
    reader: Reader,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Ordinal(usize),
    /// A UUID prefix, in upper case if case does not matter.
    Uuid(String),
    /// Matches nothing; the rest of the list is ignored.
    Nothing,
}

/// A number as C's `strtol` reads it: decimal, hexadecimal after `0x`, octal after `0`.
fn number(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let found = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => usize::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => usize::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    found.ok().filter(|_| !digits.contains(['+', '-']))
}

impl Name {
    fn of(text: &str, reader: Reader) -> Self {
        match reader {
            Reader::Hsa => {
                let text = text.trim().to_ascii_uppercase();
                match number(&text) {
                    Some(index) => Self::Ordinal(index),
                    None if text.starts_with("GPU-") && (5..=20).contains(&text.len()) => Self::Uuid(text),
                    None => Self::Nothing,
                }
            }
            Reader::Hip if text.starts_with("GPU-") => Self::Uuid(text.to_owned()),
            Reader::Hip => match text.parse::<usize>() {
                Ok(index) if index.to_string() == text => Self::Ordinal(index),
                _ => Self::Nothing,
            },
        }
    }
}

impl List {
    fn of(text: &str, reader: Reader) -> Self {
        Self { names: text.split(',').map(|name| Name::of(name, reader)).collect(), reader }
    }

    /// The index of a GPU by its UUID prefix.
    fn by_uuid<T>(&self, begin: &str, all: &[T], uuid: &impl Fn(&T) -> String) -> Option<usize> {
        let mut found = all.iter().enumerate().filter(|(_, one)| {
            let whole = format!("GPU-{}", uuid(one));
            match self.reader {
                Reader::Hsa => whole.to_ascii_uppercase().starts_with(begin),
                Reader::Hip => whole.starts_with(begin),
            }
        });
        let first = found.next()?.0;
        (self.reader == Reader::Hip || found.next().is_none()).then_some(first)
    }

    fn select<T: Clone>(&self, all: &[T], uuid: &impl Fn(&T) -> String) -> Vec<T> {
        let mut chosen: Vec<usize> = Vec::new();
        for name in &self.names {
            let index = match name {
                Name::Ordinal(index) => Some(*index).filter(|&index| index < all.len()),
                Name::Uuid(begin) => self.by_uuid(begin, all, uuid),
                Name::Nothing => None,
            };
            match index {
                Some(index) if !chosen.contains(&index) => chosen.push(index),
                Some(_) if self.reader == Reader::Hip => {}
                _ => break,
            }
        }
        chosen.into_iter().map(|index| all[index].clone()).collect()
    }
}

impl Visible {
    /// All GPUs.
    pub fn all() -> Self {
        Self::default()
    }

    /// The environment's selection of an HSA implementation's GPUs: first `ROCR_VISIBLE_DEVICES`, unless the
    /// implementation is a library, which reads it itself; then `HIP_VISIBLE_DEVICES`, or
    /// `CUDA_VISIBLE_DEVICES` if that is missing or empty.
    ///
    /// A list contains ordinals and UUIDs (`GPU-…`, or a prefix of one), separated by commas. The list ends
    /// at the first entry that matches no GPU. The first variable is read as AMD's HSA runtime reads it, the
    /// others as AMD's HIP does, which treats blanks as part of the name.
    pub fn from_env(hsa: &Table) -> Self {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let rocr = variable("ROCR_VISIBLE_DEVICES").filter(|_| hsa.implementation().is_some());
        let hip = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"].into_iter().filter_map(variable);
        Self::of(rocr.as_deref(), hip.into_iter().find(|list| !list.is_empty()).as_deref())
    }

    fn of(rocr: Option<&str>, hip: Option<&str>) -> Self {
        let rocr = rocr.map(|list| List::of(list, Reader::Hsa));
        Self(rocr.into_iter().chain(hip.map(|list| List::of(list, Reader::Hip))).collect())
    }

    /// The GPUs among these that a list names.
    pub fn and_of_these(mut self, list: &str) -> Self {
        self.0.push(List::of(list, Reader::Hip));
        self
    }

    /// The visible GPUs. Further GPUs after these would only extend the end of the answer.
    pub(crate) fn select(
        &self,
        gpus: Vec<hsa_agent_t>,
        uuid: impl Fn(&hsa_agent_t) -> String,
    ) -> Vec<hsa_agent_t> {
        self.0.iter().fold(gpus, |gpus, list| list.select(&gpus, &uuid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(rocr: Option<&str>, hip: Option<&str>, count: u64) -> Vec<u64> {
        let gpus = (0..count).map(|handle| hsa_agent_t { handle }).collect();
        let uuid = |agent: &hsa_agent_t| format!("{:016x}", 0xa0 + agent.handle);
        Visible::of(rocr, hip).select(gpus, uuid).into_iter().map(|agent| agent.handle).collect()
    }

    #[test]
    fn without_a_list_all_gpus_are_seen() {
        assert_eq!(seen(None, None, 3), [0, 1, 2]);
    }

    #[test]
    fn lists_select_and_order_by_ordinal_and_by_uuid() {
        assert_eq!(seen(None, Some("2,0"), 3), [2, 0]);
        assert_eq!(seen(None, Some("GPU-00000000000000a1,0"), 3), [1, 0]);
        assert_eq!(seen(Some("GPU-00000000000000A2, gpu-00000000000000a0"), None, 3), [2, 0]);
    }

    #[test]
    fn each_layer_reads_its_list_in_its_own_way() {
        // Blanks, case, and the notation of numbers.
        assert_eq!(seen(Some(" 1 ,0x2,00"), None, 3), [1, 2, 0]);
        assert_eq!(seen(None, Some("1, 0"), 3), [1]);
        assert!(seen(None, Some("01"), 3).is_empty());
        assert!(seen(None, Some("+1"), 3).is_empty());
        assert!(seen(None, Some("GPU-00000000000000A2"), 3).is_empty());
        // UUID prefixes: all have the first one, and only the last of 17 has the second.
        assert_eq!(seen(None, Some("GPU-00000"), 3), [0]);
        assert!(seen(Some("GPU-00000"), None, 3).is_empty());
        assert_eq!(seen(Some("GPU-00000000000000b"), None, 17), [16]);
        assert_eq!(seen(None, Some("GPU-00000000000000b"), 17), [16]);
        for wrong in ["GPU-", "0x", "--1", "+-1", "09"] {
            assert!(seen(Some(wrong), None, 1).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn what_names_no_gpu_ends_a_list() {
        assert_eq!(seen(None, Some("1,7,0"), 3), [1]);
        assert!(seen(None, Some("-1"), 3).is_empty());
        assert_eq!(seen(None, Some("1,x,2"), 3), [1]);
        assert_eq!(seen(None, Some("0,GPU-1"), 3), [0]);
        assert_eq!(seen(Some("0,GPU-1"), None, 3), [0]);
        assert!(seen(Some(""), None, 3).is_empty());
    }

    #[test]
    fn a_repeated_name_counts_once_and_ends_the_list_of_the_lower_layer() {
        assert_eq!(seen(None, Some("1,1,2"), 3), [1, 2]);
        assert_eq!(seen(Some("1,1,2"), None, 3), [1]);
    }

    #[test]
    fn the_upper_list_selects_from_what_the_lower_one_leaves() {
        assert_eq!(seen(Some("2,1"), Some("1"), 3), [1]);
        assert_eq!(seen(Some("2"), Some("0,1"), 3), [2]);
    }

    #[test]
    fn gpus_that_appear_later_are_added_at_the_end() {
        for list in ["1,0", "0,2,1", "GPU-00000000000000a2,0", "3"] {
            for count in 0..4 {
                let (fewer, more) = (seen(None, Some(list), count), seen(None, Some(list), count + 1));
                assert!(more.starts_with(&fewer), "{list} with {count}: {fewer:?}, {more:?}");
            }
        }
    }
}
