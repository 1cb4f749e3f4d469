//! Any text as a chat template.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm::chat::{Chat, ChatTemplate};

fuzz_target!(|source: &str| {
    let Ok(template) = ChatTemplate::new(source, "<s>", "</s>") else { return };
    let _ = template.render(&Chat::of_texts(&[("system", "one"), ("user", "two"), ("assistant", "three")]));
});
