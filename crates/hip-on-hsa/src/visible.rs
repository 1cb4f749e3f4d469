//! Which GPU agents are devices, and in what order: `HIP_VISIBLE_DEVICES` and its relatives.

use hsa_sys::{Table, hsa_agent_t};

/// Which of HSA's GPUs a program sees as devices, and in what order. The default is all of them, in HSA's order.
///
/// It is a number of lists, each of which selects from what the one before leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visible(Vec<List>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct List {
    names: Vec<Name>,
    /// A name that is given twice ends the list; otherwise it counts once.
    ends_at_repetition: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Ordinal(usize),
    /// What follows `GPU-`.
    Uuid(String),
    /// Names nothing; what follows it in a list does not count.
    Nothing,
}

impl List {
    fn of(text: &str, ends_at_repetition: bool) -> Self {
        let names = text.split(',').map(str::trim).map(|name| match name.strip_prefix("GPU-") {
            Some(id) => Name::Uuid(id.to_ascii_lowercase()),
            None => name.parse().map_or(Name::Nothing, Name::Ordinal),
        });
        Self { names: names.collect(), ends_at_repetition }
    }

    fn select<T: Clone>(&self, all: &[T], uuid: &impl Fn(&T) -> String) -> Vec<T> {
        let mut chosen: Vec<usize> = Vec::new();
        for name in &self.names {
            let index = match name {
                Name::Ordinal(index) => Some(*index).filter(|&index| index < all.len()),
                Name::Uuid(id) => all.iter().position(|one| uuid(one).eq_ignore_ascii_case(id)),
                Name::Nothing => None,
            };
            match index {
                Some(index) if !chosen.contains(&index) => chosen.push(index),
                Some(_) if !self.ends_at_repetition => {}
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

    /// What the environment says of the GPUs of an HSA implementation: first `ROCR_VISIBLE_DEVICES`, unless the implementation is
    /// a library, which reads it itself; then `HIP_VISIBLE_DEVICES`, or `CUDA_VISIBLE_DEVICES` where that is missing or
    /// empty.
    ///
    /// A list has ordinals and UUIDs (`GPU-…`) with commas between them. What names no GPU ends it.
    pub fn from_env(hsa: &Table) -> Self {
        let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let rocr = variable("ROCR_VISIBLE_DEVICES").filter(|_| hsa.implementation().is_some());
        let hip = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"].into_iter().filter_map(variable);
        Self::of(
            rocr.as_deref(),
            hip.map(|list| list.trim().to_owned()).find(|list| !list.is_empty()).as_deref(),
        )
    }

    fn of(rocr: Option<&str>, hip: Option<&str>) -> Self {
        let rocr = rocr.map(|list| List::of(list, true));
        Self(rocr.into_iter().chain(hip.map(|list| List::of(list, false))).collect())
    }

    /// Of these GPUs, the ones that a list names.
    pub fn and_of_these(mut self, list: &str) -> Self {
        self.0.push(List::of(list, false));
        self
    }

    /// The GPUs that are seen. More GPUs behind these would only add to the end of the answer.
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
        assert_eq!(seen(None, Some("GPU-00000000000000a1, 0"), 3), [1, 0]);
        assert_eq!(seen(None, Some("GPU-00000000000000A2"), 3), [2]);
    }

    #[test]
    fn what_names_no_gpu_ends_a_list() {
        assert_eq!(seen(None, Some("1,7,0"), 3), [1]);
        assert!(seen(None, Some("-1"), 3).is_empty());
        assert_eq!(seen(None, Some("1,x,2"), 3), [1]);
        assert_eq!(seen(None, Some("0,GPU-1"), 3), [0]);
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
