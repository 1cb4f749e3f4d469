use std::path::Path;

use super::*;
use crate::gguf::{Array, Metadata, Value};

fn strings(values: &[&str]) -> Value {
    Value::Array(Array::String(values.iter().map(|&value| value.to_owned()).collect()))
}

fn metadata(values: Vec<(&str, Value)>) -> Metadata {
    let mut metadata = Metadata::default();
    for (name, value) in values {
        metadata.insert(format!("tokenizer.ggml.{name}"), value);
    }
    metadata
}

fn tokenizer(values: Vec<(&str, Value)>) -> Result<Tokenizer> {
    Tokenizer::from_metadata(&metadata(values), Path::new("model.gguf"))
}

/// Bytes, some merges, and two control tokens.
fn gpt2() -> Vec<(&'static str, Value)> {
    let mut tokens: Vec<String> = (0..=255_u8)
        .map(|byte| {
            let found =
                ('\0'..'\u{200}').rev().find(|c| bytes::Pieces::ByteLevel.bytes(&c.to_string()) == [byte]);
            found.expect("a character for each byte").to_string()
        })
        .collect();
    tokens.extend(
        ["he", "ll", "hell", "hello", "Ġw", "<|im_start|>", "<|im_end|>", "<tool>"].map(String::from),
    );
    let mut kinds = vec![1; tokens.len()];
    kinds[261] = 3;
    kinds[262] = 3;
    kinds[263] = 4;
    vec![
        ("model", Value::String("gpt2".into())),
        ("pre", Value::String("smollm".into())),
        ("tokens", Value::Array(Array::String(tokens))),
        ("token_type", Value::Array(Array::I32(kinds))),
        ("merges", strings(&["h e", "l l", "he ll", "hell o", "Ġ w"])),
        ("eos_token_id", Value::U32(262)),
    ]
}

#[test]
fn bytes_are_merged_in_the_order_of_the_list() {
    let tokenizer = tokenizer(gpt2()).expect("a tokenizer");
    let encode = |text: &str| tokenizer.encode(text, SpecialText::Tokens).expect("encodable");
    assert_eq!(encode("hello"), [259]);
    assert_eq!(encode("hello w"), [259, 260]);
    assert_eq!(encode("12").len(), 2, "digits are single");
    assert_eq!(tokenizer.decode(&encode("hé, 中\n")), "hé, 中\n");
    assert!(tokenizer.is_stop(262) && !tokenizer.is_stop(261));
}

#[test]
fn an_end_of_a_message_is_no_end_of_an_answer_of_several() {
    let stops = |names: [&str; 4]| {
        let mut values = gpt2();
        for (name, value) in &mut values {
            match value {
                Value::Array(Array::String(tokens)) if *name == "tokens" => {
                    tokens.extend(names.map(String::from));
                }
                Value::Array(Array::I32(kinds)) => kinds.extend([3; 4]),
                _ => {}
            }
        }
        let tokenizer = tokenizer(values).expect("a tokenizer");
        names.map(|name| tokenizer.is_stop(tokenizer.token(name).expect("a token")))
    };
    assert_eq!(stops(["<|end|>", "<|return|>", "<|call|>", "<|channel|>"]), [false, true, true, false]);
    assert_eq!(stops(["<|end|>", "<|return|>", "<|call|>", "<|other|>"]), [true, true, true, false]);
}

#[test]
fn a_users_text_contains_no_control_token() {
    let tokenizer = tokenizer(gpt2()).expect("a tokenizer");
    let text = "<|im_end|>hello<tool>";
    let trusted = tokenizer.encode(text, SpecialText::Tokens).expect("encodable");
    assert_eq!(trusted, [262, 259, 263]);
    let untrusted = tokenizer.encode(text, SpecialText::Text).expect("encodable");
    assert!(!untrusted.contains(&262) && untrusted.ends_with(&[259, 263]), "{untrusted:?}");
    assert_eq!(tokenizer.decode(&untrusted), text);
    assert_eq!(tokenizer.decode(&trusted), "hello<tool>", "a control token is not text");
    assert_eq!(tokenizer.name(262), "<|im_end|>");
}

#[test]
fn a_character_in_two_tokens_appears_with_the_last() {
    let tokenizer = tokenizer(gpt2()).expect("a tokenizer");
    let tokens = tokenizer.encode("a中", SpecialText::Text).expect("encodable");
    let mut stream = tokenizer.stream();
    let texts: Vec<String> = tokens.iter().map(|&token| stream.push(token)).collect();
    assert_eq!(texts, ["a", "", "", "中"]);
    assert_eq!(stream.finish(), "");
    let mut stream = tokenizer.stream();
    assert_eq!(stream.push(tokens[1]) + &stream.push(tokens[0]), "\u{fffd}a");
    assert_eq!(stream.push(tokens[1]), "");
    assert_eq!(stream.finish(), "\u{fffd}");
}

/// A vocabulary with scores, in which merging the best pair first matters.
fn llama(prefix: bool) -> Vec<(&'static str, Value)> {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(String::from).to_vec();
    tokens.extend((0..=255_u8).map(|byte| format!("<0x{byte:02X}>")));
    let pieces = [
        ("▁", -20.0),
        ("a", -20.0),
        ("b", -20.0),
        ("c", -20.0),
        ("ab", -3.0),
        ("bc", -1.0),
        ("▁a", -2.0),
        ("▁abc", -9.0),
    ];
    let mut kinds = vec![2, 3, 3];
    kinds.resize(tokens.len(), 6);
    let mut scores = vec![0.0; tokens.len()];
    for (piece, score) in pieces {
        tokens.push(piece.to_owned());
        scores.push(score);
        kinds.push(1);
    }
    vec![
        ("model", Value::String("llama".into())),
        ("tokens", Value::Array(Array::String(tokens))),
        ("scores", Value::Array(Array::F32(scores))),
        ("token_type", Value::Array(Array::I32(kinds))),
        ("bos_token_id", Value::U32(1)),
        ("eos_token_id", Value::U32(2)),
        ("unknown_token_id", Value::U32(0)),
        ("add_space_prefix", Value::Bool(prefix)),
    ]
}

#[test]
fn the_pair_with_the_best_score_is_merged_first() {
    let tokenizer = tokenizer(llama(true)).expect("a tokenizer");
    let names = |text: &str| -> Vec<String> {
        let tokens = tokenizer.encode_part(text, SpecialText::Text).expect("encodable");
        tokens.into_iter().map(|token| tokenizer.name(token)).collect()
    };
    // `bc` comes before `▁a`, and then `▁abc` is made of both.
    assert_eq!(names("abc"), [" abc"]);
    assert_eq!(names("ab"), [" a", "b"]);
    assert_eq!(names("ab ab"), [" a", "b", " a", "b"]);
    let tokens = tokenizer.encode("ab", SpecialText::Text).expect("encodable");
    assert_eq!((tokens[0], tokenizer.decode(&tokens).as_str()), (1, "ab"));
    // Bytes of characters that the vocabulary lacks.
    let tokens = tokenizer.encode_part("é", SpecialText::Text).expect("encodable");
    assert_eq!(tokens[1..], [3 + 0xc3, 3 + 0xa9]);
    assert_eq!(tokenizer.decode(&tokens), "é");
}

#[test]
fn a_space_before_text_is_the_files_choice() {
    let tokenizer = tokenizer(llama(false)).expect("a tokenizer");
    let tokens = tokenizer.encode_part("ab", SpecialText::Text).expect("encodable");
    assert_eq!(tokenizer.decode(&tokens), "ab");
    assert_eq!(tokens.len(), 1);
    let spaced = tokenizer.encode_part(" ab", SpecialText::Text).expect("encodable");
    assert_eq!(tokenizer.decode(&spaced), " ab");
}

#[test]
fn words_are_made_of_berts_pieces() {
    let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁play", "ing", "▁,"];
    let tokenizer = tokenizer(vec![
        ("model", Value::String("bert".into())),
        ("tokens", strings(&tokens)),
        ("token_type", Value::Array(Array::I32(vec![3, 3, 3, 3, 1, 1, 1]))),
        ("cls_token_id", Value::U32(2)),
        ("seperator_token_id", Value::U32(3)),
        ("unknown_token_id", Value::U32(1)),
    ]);
    let tokenizer = tokenizer.expect("a tokenizer");
    let tokens = tokenizer.encode("Playing, xyz", SpecialText::Text).expect("encodable");
    assert_eq!(tokens, [2, 4, 5, 6, 1, 3]);
}

#[test]
fn a_bad_vocabulary_is_refused_with_the_reason() {
    let changed = |name: &str, value: Value| {
        let mut values = gpt2();
        values.retain(|(known, _)| *known != name);
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        values.push((name, value));
        tokenizer(values).expect_err("refused").to_string()
    };
    for (name, value, expected) in [
        ("model", Value::String("rwkv".into()), "is of the kind `rwkv`"),
        ("pre", Value::String("new".into()), "splits text as `new`"),
        ("merges", strings(&["he"]), "which is not two parts"),
        ("merges", strings(&["q q"]), "no token of both"),
        ("merges", strings(&["中 q"]), "no token `中`"),
        ("token_type", Value::Array(Array::I32(vec![1])), "264 tokens and 1 types"),
        ("eos_token_id", Value::U32(900), "eos_token_id is 900"),
        ("tokens", strings(&[]), "has 0 tokens"),
        ("tokens", Value::U8(1), "is an unsigned integer, not an array of strings"),
    ] {
        let error = changed(name, value);
        assert!(error.contains(expected), "{name}: {error}");
    }
    let nothing = tokenizer(Vec::new()).expect_err("refused").to_string();
    assert_eq!(nothing, "model.gguf: the file has no value `tokenizer.ggml.model`");
}
