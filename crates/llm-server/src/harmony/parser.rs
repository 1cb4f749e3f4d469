//! Reads answers in Harmony's format while they arrive.

use serde_json::Value;

use super::{CALL, CHANNEL, END, MESSAGE, START};
use crate::parser::{Call, Part};

/// What the prompt already has of an answer's first message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Begun {
    /// The role.
    #[default]
    Role,
    /// All that comes before the name of a function.
    Recipient,
    /// All that comes before a text for the user.
    Final,
    /// All that comes before the arguments of a call of this function.
    Call(String),
}

/// Splits one answer. The parts do not depend on how the text is cut into pieces.
#[derive(Debug)]
pub struct Parser {
    state: State,
    /// Text that is not a part yet.
    held: String,
    /// Whether a text for the user came in an earlier message.
    has_content: bool,
}

#[derive(Debug)]
enum State {
    /// From the role to `<|message|>`.
    Header,
    Text(Target),
    /// Between messages.
    Between,
}

/// Whom a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    User { is_new: bool },
    Reasoning,
    Function(String),
}

/// What stands before the name of a function.
pub(super) const RECIPIENT: &str = " to=functions.";

/// What ends a message's text.
const ENDS: [&str; 4] = [END, CALL, "<|return|>", START];

impl Parser {
    /// A parser for one answer.
    #[must_use]
    pub fn new(begun: Begun) -> Self {
        let (state, held) = match begun {
            Begun::Role => (State::Header, ""),
            Begun::Recipient => (State::Header, RECIPIENT),
            Begun::Final => (State::Text(Target::User { is_new: false }), ""),
            Begun::Call(name) => (State::Text(Target::Function(name)), ""),
        };
        Self { state, held: held.to_owned(), has_content: false }
    }

    /// The parts that this text completes.
    pub fn push(&mut self, text: &str) -> Vec<Part> {
        self.held.push_str(text);
        let mut parts = Vec::new();
        while self.step(&mut parts) {}
        parts
    }

    /// The remaining parts. A message without an end is one.
    pub fn finish(mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let rest = std::mem::take(&mut self.held);
        match &mut self.state {
            // A model that writes no header at all answers.
            State::Header if !rest.contains("<|") && !rest.starts_with(" to=") => {
                self.text(&mut parts, Target::User { is_new: true }, rest.trim());
            }
            State::Header | State::Between => {}
            State::Text(target) => {
                let target = target.clone();
                self.text(&mut parts, target.clone(), &rest);
                self.end(&mut parts, target, rest);
            }
        }
        parts
    }

    /// Whether there is something to look at again.
    fn step(&mut self, parts: &mut Vec<Part>) -> bool {
        match &mut self.state {
            State::Header => {
                let Some(at) = self.held.find(MESSAGE) else { return false };
                let rest = self.held.split_off(at + MESSAGE.len());
                self.held.truncate(at);
                let header = std::mem::replace(&mut self.held, rest);
                self.state = State::Text(target(&header));
                true
            }
            State::Between => {
                let Some(at) = self.held.find(START) else { return false };
                self.held = self.held.split_off(at + START.len());
                self.state = State::Header;
                true
            }
            State::Text(target) => {
                let target = target.clone();
                let first = ENDS.iter().filter_map(|end| Some((self.held.find(end)?, *end))).min();
                match first {
                    Some((at, end)) => {
                        // The next message may begin without an end of this one.
                        let used = if end == START { at } else { at + end.len() };
                        let rest = self.held.split_off(used);
                        self.held.truncate(at);
                        let text = std::mem::replace(&mut self.held, rest);
                        self.text(parts, target.clone(), &text);
                        self.end(parts, target, text);
                        self.state = State::Between;
                        true
                    }
                    None => {
                        // Arguments are kept until they are complete.
                        if !matches!(target, Target::Function(_)) {
                            let upto = self.held.len() - beginning_of_end(&self.held);
                            let rest = self.held.split_off(upto);
                            let text = std::mem::replace(&mut self.held, rest);
                            self.text(parts, target, &text);
                        }
                        false
                    }
                }
            }
        }
    }

    fn text(&mut self, parts: &mut Vec<Part>, target: Target, text: &str) {
        if text.is_empty() {
            return;
        }
        match target {
            Target::Function(_) => {}
            Target::Reasoning => parts.push(Part::Reasoning(text.to_owned())),
            Target::User { is_new } => {
                // What a model says before a call and its answer are paragraphs.
                let gap = if is_new && self.has_content { "\n\n" } else { "" };
                parts.push(Part::Content(format!("{gap}{text}")));
                self.has_content = true;
                if let State::Text(Target::User { is_new }) = &mut self.state {
                    *is_new = false;
                }
            }
        }
    }

    /// A message ends: calls are known now.
    fn end(&mut self, parts: &mut Vec<Part>, target: Target, text: String) {
        let Target::Function(name) = target else { return };
        let arguments = text.trim();
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        match serde_json::from_str::<Value>(arguments) {
            Ok(_) => parts.push(Part::Call(Call { name, arguments: arguments.to_owned() })),
            // What is no call is text.
            Err(_) => self.text(parts, Target::User { is_new: true }, arguments),
        }
    }
}

/// Whom a header names: it has a channel, and a recipient before or after it.
fn target(header: &str) -> Target {
    let (before, after) = header.split_once(CHANNEL).unwrap_or((header, ""));
    let channel: &str = after.split(|c: char| c.is_whitespace() || c == '<').next().unwrap_or_default();
    let recipient = [before, after].into_iter().find_map(|part| {
        let (_, to) = part.split_once("to=")?;
        to.split(|c: char| c.is_whitespace() || c == '<').next()
    });
    match recipient.and_then(|recipient| recipient.strip_prefix("functions.")) {
        Some(name) if !name.is_empty() => Target::Function(name.to_owned()),
        // Tools of OpenAI's own, which nobody has here, are a part of the reasoning.
        _ if recipient.is_some_and(|recipient| recipient != "all" && recipient != "user") => {
            Target::Reasoning
        }
        _ if channel == "analysis" => Target::Reasoning,
        _ => Target::User { is_new: true },
    }
}

/// The length of the longest beginning of an end at a text's end.
fn beginning_of_end(text: &str) -> usize {
    let of = |end: &&str| {
        let longest = (end.len() - 1).min(text.len());
        (1..=longest).rev().find(|length| text.as_bytes().ends_with(&end.as_bytes()[..*length])).unwrap_or(0)
    };
    ENDS.iter().map(of).max().unwrap_or(0)
}
