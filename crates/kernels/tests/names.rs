//! The compiled code has every kernel that candle 0.11 looks up, for every target.

use std::collections::{BTreeMap, BTreeSet};

use code_object::CodeObject;
use kernels::modules;

/// One of each generation.
const TARGETS: [&str; 5] = ["gfx1030", "gfx1100", "gfx90a", "gfx942", "gfx1201"];

fn expected() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut modules: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut module = "";
    for line in
        include_str!("candle-0.11.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => module = name,
            None => assert!(modules.entry(module).or_default().insert(line), "{line} twice"),
        }
    }
    modules
}

#[test]
fn every_kernel_of_candle_is_in_every_code_object() {
    let expected = expected();
    assert_eq!(expected.values().map(BTreeSet::len).sum::<usize>(), 748 + 243);
    let asked = std::env::var("FERROCM_TARGETS").unwrap_or_default();
    let is_asked = |target: &&str| asked.is_empty() || asked.split(',').any(|asked| asked.trim() == *target);
    let targets: Vec<&str> = TARGETS.into_iter().filter(is_asked).collect();
    let mut missing = Vec::new();
    for (name, kernels) in expected {
        let Some(module) = modules::ALL.iter().find(|module| module.name == name) else {
            missing.push(format!("the module {name}"));
            continue;
        };
        for &target in &targets {
            let is_for = |object: &&code_object::embedded::CodeObject| object.target == target;
            let Some(object) = module.code_objects.iter().find(is_for) else {
                missing.push(format!("{name} for {target}"));
                continue;
            };
            let object = CodeObject::parse(object.bytes).unwrap();
            let found: BTreeSet<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
            missing.extend(kernels.difference(&found).map(|kernel| format!("{name}: {kernel} for {target}")));
        }
    }
    assert!(missing.is_empty(), "{} are missing:\n{}", missing.len(), missing.join("\n"));
}
