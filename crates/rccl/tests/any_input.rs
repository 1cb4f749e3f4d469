//! Any input from outside either fails or means what it says.

use proptest::prelude::*;

#[path = "any_input/mod.rs"]
mod bodies;

/// Valid values, almost valid ones, and garbage.
fn value() -> impl Strategy<Value = String> {
    let number =
        prop_oneof![Just(0_u64), 0..5_u64, Just(65_535), Just(65_536), Just(i32::MAX as u64), any::<u64>()];
    let host = prop_oneof![
        Just("node[003-005,9],other"),
        Just("[::1]:29500"),
        Just("node1:29500"),
        Just("["),
        Just(":1"),
        Just("True"),
        Just(" "),
    ];
    prop_oneof![4 => number.prop_map(|number| number.to_string()), 1 => host.prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #[test]
    fn any_variables_are_an_error_or_say_which_rank_it_is(
        variables in prop::collection::vec((0..bodies::NAMES.len(), value()), 0..20),
    ) {
        let lines: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        bodies::variables(&lines.join("\n"));
    }
}
