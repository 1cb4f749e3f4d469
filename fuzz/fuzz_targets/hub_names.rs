//! Names of models on Hugging Face's hub and lists of files: a name is written as it was read, and what it
//! selects is one of the files, and below the model's folder.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use llm::hub::{HubName, select};

fuzz_target!(|input: (&str, Vec<String>)| {
    let (text, files) = input;
    let Ok(name) = text.parse::<HubName>() else { return };
    let again: HubName = name.to_string().parse().expect("its own text");
    assert_eq!(again, name);
    for file in select(&name, &files).unwrap_or_default() {
        assert!(files.contains(&file), "{file}");
        assert!(Path::new(&file).components().all(|part| matches!(part, Component::Normal(_))), "{file}");
    }
});
