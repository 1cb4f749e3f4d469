//! Any bytes as a GGUF file: its header, and the configuration, tokenizer and chat template in it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use llm::chat::{Chat, ChatTemplate};
use llm::config::Config;
use llm::gguf::Gguf;
use llm::tokenizer::{SpecialText, Tokenizer};

fuzz_target!(|bytes: &[u8]| {
    let Ok(gguf) = Gguf::read(bytes, bytes.len() as u64) else { return };
    for tensor in &gguf.tensors {
        assert!(tensor.offset + tensor.bytes.unwrap_or(0) as u64 <= bytes.len() as u64);
    }
    let path = Path::new("model.gguf");
    if let Ok(config) = Config::of_metadata(&gguf.metadata, 1000, path) {
        assert!(config.heads % config.kv_heads == 0 && config.layers > 0);
    }
    let Ok(tokenizer) = Tokenizer::from_metadata(&gguf.metadata, path) else { return };
    for names in [SpecialText::Tokens, SpecialText::Text] {
        if let Ok(tokens) = tokenizer.encode("one <|two|> \u{e9}\n", names) {
            assert!(tokens.iter().all(|&token| (token as usize) < tokenizer.len()));
            let _ = tokenizer.decode(&tokens);
        }
    }
    if let Ok(Some(template)) = ChatTemplate::of_metadata(&gguf.metadata, &tokenizer) {
        let _ = template.render(&Chat::of_texts(&[("user", "one")]));
    }
});
