//! Every function of HIP is called with null, freed, foreign and absurd values in the place of each argument. Whatever it is, the
//! call returns, and nothing panics on the way.

mod support;

use support::DROP_IN;
use support::calls::{Answer, answers, program};

/// `hipErrorUnknown`, which is what a panic becomes.
const PANICKED: &str = "999 ";

/// Functions that return that code on their own account, as AMD's do: of a view for what is no array.
const UNKNOWN: &[&str] = &["hipCreateTextureObject"];

#[test]
fn no_call_ends_the_process_or_panics_whatever_its_arguments() {
    let library = DROP_IN.library();
    let all = answers(&program(&library, &library).variable("FERROCM_LOG", "off"));
    let (mut wrong, mut count) = (String::new(), 0);
    for (name, calls) in &all {
        for ((place, spoiled), answer) in calls {
            count += 1;
            let is_wrong = match answer {
                Answer::Returned(answer) => answer.starts_with(PANICKED) && !UNKNOWN.contains(&name.as_str()),
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
