//! Against OpenAI's own renderer and parser: `tests/references/harmony.py` wrote what they made.

use serde::Deserialize;
use serde_json::Value;

use super::render::{Effort, Opening, Today, render};
use super::{Begun, Parser, Piece};
use crate::engine::TemplateValue;
use crate::formats::Tool;
use crate::parser::{Call, Part};

#[derive(Deserialize)]
struct References {
    date: String,
    conversations: Vec<Conversation>,
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Conversation {
    name: String,
    effort: Option<String>,
    messages: Vec<Value>,
    #[serde(default)]
    tools: Vec<Described>,
    segments: Vec<Segment>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    description: Option<String>,
    parameters: TemplateValue,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Segment {
    Text(String),
    Control([String; 1]),
}

#[derive(Deserialize)]
struct Answer {
    text: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    channel: Option<String>,
    recipient: Option<String>,
    content: String,
}

fn references() -> References {
    serde_json::from_str(include_str!("../../tests/references/harmony.json")).expect("references")
}

/// Pieces, with neighbouring texts joined.
fn segments(pieces: Vec<Piece>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for piece in pieces {
        match (all.last_mut(), piece) {
            (Some(Segment::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, Piece::Text(text)) => all.push(Segment::Text(text)),
            (_, Piece::Control(name)) => all.push(Segment::Control([name.to_owned()])),
        }
    }
    all
}

#[test]
fn prompts_are_what_openai_renders() {
    let References { date, conversations, .. } = references();
    for conversation in conversations {
        let Conversation { name, effort, messages, tools, segments: expected } = conversation;
        let tools: Vec<Tool> = tools
            .into_iter()
            .map(|tool| Tool { name: tool.name, description: tool.description, parameters: tool.parameters })
            .collect();
        let effort = match effort.as_deref() {
            Some("low") => Effort::Low,
            Some("high") => Effort::High,
            _ => Effort::Medium,
        };
        let pieces = render(&messages, &tools, effort, &Today(date.clone()), &Opening::Free);
        let made = segments(pieces.expect("a prompt"));
        for (made, expected) in made.iter().zip(&expected) {
            assert_eq!(made, expected, "{name}");
        }
        assert_eq!(made.len(), expected.len(), "{name}");
    }
}

fn joined(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for part in parts {
        match (all.last_mut(), part) {
            (Some(Part::Content(before)), Part::Content(text)) => before.push_str(&text),
            (Some(Part::Reasoning(before)), Part::Reasoning(text)) => before.push_str(&text),
            (_, part) => all.push(part),
        }
    }
    all
}

fn parse(pieces: &[&str], begun: Begun) -> Vec<Part> {
    let mut parser = Parser::new(begun);
    let mut parts: Vec<Part> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
    parts.extend(parser.finish());
    joined(parts)
}

/// Checks an answer whole, cut in two at every position, and one character at a time.
fn check(text: &str, begun: &Begun, expected: &[Part]) {
    assert_eq!(parse(&[text], begun.clone()), expected, "{text}");
    for at in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
        assert_eq!(parse(&[&text[..at], &text[at..]], begun.clone()), expected, "{text} cut at {at}");
    }
    let characters: Vec<String> = text.chars().map(String::from).collect();
    let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
    assert_eq!(parse(&characters, begun.clone()), expected, "{text} in characters");
}

#[test]
fn answers_are_what_openai_parses() {
    for answer in references().answers {
        let part = |message: Message| match (message.recipient, message.channel.as_deref()) {
            (Some(recipient), _) if recipient.starts_with("functions.") => {
                let name = recipient["functions.".len()..].to_owned();
                Part::Call(Call { name, arguments: message.content })
            }
            (Some(_), _) | (None, Some("analysis")) => Part::Reasoning(message.content),
            _ => Part::Content(message.content),
        };
        let expected: Vec<Part> = answer.messages.into_iter().map(part).collect();
        check(&answer.text, &Begun::Role, &joined(expected));
    }
}

#[test]
fn what_the_prompt_began_is_continued() {
    let call = |name: &str, arguments: &str| {
        Part::Call(Call { name: name.to_owned(), arguments: arguments.to_owned() })
    };
    check("{\"a\": 1}", &Begun::Call("f".to_owned()), &[call("f", "{\"a\": 1}")]);
    check("f<|channel|>commentary <|constrain|>json<|message|>{}", &Begun::Recipient, &[call("f", "{}")]);
    check("4 <", &Begun::Final, &[Part::Content("4 <".to_owned())]);
}

#[test]
fn malformed_answers_lose_no_text_for_the_user() {
    let content = |text: &str| Part::Content(text.to_owned());
    check("No header at all", &Begun::Role, &[content("No header at all")]);
    check(
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Done",
        &Begun::Role,
        &[content("I look.\n\nDone")],
    );
    check(" to=functions.f<|channel|>commentary<|message|>{\"x\": ", &Begun::Role, &[content("{\"x\":")]);
    check(
        "<|channel|>final<|message|>a<|start|>assistant<|channel|>analysis<|message|>b",
        &Begun::Role,
        &[content("a"), Part::Reasoning("b".to_owned())],
    );
    check("<|channel|>analysis", &Begun::Role, &[]);
    check("", &Begun::Role, &[]);
}
