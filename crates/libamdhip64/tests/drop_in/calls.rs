//! Calls every function of HIP with null, freed, foreign and absurd values for each argument. The call must
//! return, and nothing may panic.

use crate::support::DROP_IN;
use crate::support::calls::{Answer, answers, program};

/// `hipErrorUnknown`, which is what a panic becomes.
const PANICKED: &str = "999 ";

/// Functions that return this code for another reason, as AMD's do: a view of something that is not an array.
const UNKNOWN: &[&str] = &["hipCreateTextureObject"];

fn has_panicked(name: &str, answer: &str) -> bool {
    answer.starts_with(PANICKED) && !UNKNOWN.contains(&name)
}

#[test]
fn no_call_ends_the_process_or_panics_whatever_its_arguments() {
    let library = DROP_IN.library();
    let all = answers(&program(&library, &library).variable("FERROCM_LOG", "off"));
    let (mut wrong, mut count) = (String::new(), 0);
    for (name, calls) in &all {
        for ((place, spoiled), answer) in calls {
            count += 1;
            let is_wrong = match answer {
                Answer::Returned(answer) => has_panicked(name, answer),
                Answer::Died(_) => true,
            };
            if is_wrong {
                wrong.push_str(&format!("\n{name}, argument {place}, {spoiled}: {answer:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "of {count} calls:{wrong}");
    assert!(count > 25_000, "{count} calls");
}

/// Random sequences of calls, half of them with spoiled arguments, on the state left by earlier calls.
#[test]
fn no_order_of_calls_ends_the_process_or_panics() {
    const CALLS: &str = "4000";
    let library = DROP_IN.library();
    let program = program(&library, &library).variable("FERROCM_LOG", "off");
    let mut wrong = String::new();
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let run = program.arguments(["mixed", seed, CALLS]).run("vgpu:gfx1100");
        let mut lines = run.output.lines();
        let last = lines.next_back().unwrap_or_default();
        if last != "end" {
            let error = run.error.lines().next().unwrap_or_default();
            wrong.push_str(&format!("\nseed {seed}: {last:?} ended with {:?} {error}", run.code));
        }
        for line in lines {
            let (name, answer) = line.split_once('\t').unwrap_or_default();
            if has_panicked(name, answer.rsplit('\t').next().unwrap_or_default()) {
                wrong.push_str(&format!("\nseed {seed}: {line:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
