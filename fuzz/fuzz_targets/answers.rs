//! Text as a model's answer: its parts are the same however it is cut, and nothing is lost that is no marker.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_server::formats::FORMATS;
use llm_server::harmony;
use llm_server::parser::{Parser, Part};

/// The parts of an answer, with neighbours of one kind joined.
fn parts<'t>(pieces: impl Iterator<Item = &'t str>, format: usize) -> Vec<Part> {
    let all = if format > FORMATS.len() {
        let mut parser = harmony::Parser::new(harmony::Begun::Role);
        let mut all: Vec<Part> = pieces.flat_map(|piece| parser.push(piece)).collect();
        all.extend(parser.finish());
        all
    } else {
        let mut parser = Parser::new(FORMATS.get(format), vec!["f".to_owned()], None);
        let mut all: Vec<Part> = pieces.flat_map(|piece| parser.push(piece)).collect();
        all.extend(parser.finish());
        all
    };
    let mut joined: Vec<Part> = Vec::new();
    for part in all {
        match (joined.last_mut(), part) {
            (Some(Part::Content(before)), Part::Content(text)) => before.push_str(&text),
            (Some(Part::Reasoning(before)), Part::Reasoning(text)) => before.push_str(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

fuzz_target!(|input: (u8, u8, &str)| {
    let (format, length, text) = input;
    let format = usize::from(format) % (FORMATS.len() + 2);
    let whole = parts(std::iter::once(text), format);
    let length = usize::from(length).max(1);
    let mut rest = text;
    let pieces = std::iter::from_fn(|| {
        let end = (length..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    });
    assert_eq!(parts(pieces, format), whole);
});
