//! Splits a model's answer into reasoning, text and tool calls while it arrives.
//!
//! The parts do not depend on how the text is cut into pieces. The beginning of a marker is held back until
//! it is clear whether the marker comes.

use serde_json::Value;

use crate::formats::{Format, Layout, REASONING};

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text for the user.
    Content(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call of a tool.
    Call(Call),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's name.
    pub name: String,
    /// Its arguments as JSON.
    pub arguments: String,
}

/// Splits one answer.
#[derive(Debug)]
pub struct Parser {
    /// The format of calls; `None` if there are no tools.
    format: Option<&'static Format>,
    /// The names of the tools.
    tools: Vec<String>,
    state: State,
    /// Text that has not become a part yet.
    held: String,
    /// Whether anything but blanks has come.
    begun: bool,
    /// Blanks of reasoning or content that are only written if more follows.
    blanks: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but blanks so far.
    Start,
    Content,
    /// Until the end marker of this row.
    Reasoning(usize),
    /// Until the end of the call.
    Call,
    /// After a call: blanks and separators are skipped.
    Between,
}

/// What a look at the held text found.
enum Step {
    /// More text is needed.
    Wait,
    /// Something was consumed: look again.
    Again,
}

impl Parser {
    /// A parser for one answer. With `format`, calls of the tools with these names are looked for;
    /// `reasoning` is the row of [`REASONING`] whose begin marker already ends the prompt.
    #[must_use]
    pub fn new(format: Option<&'static Format>, tools: Vec<String>, reasoning: Option<usize>) -> Self {
        let state = reasoning.map_or(State::Start, State::Reasoning);
        Self { format, tools, state, held: String::new(), begun: false, blanks: String::new() }
    }

    /// The parts that this text completes.
    pub fn push(&mut self, text: &str) -> Vec<Part> {
        self.held.push_str(text);
        let mut parts = Vec::new();
        while !self.held.is_empty() && matches!(self.step(&mut parts, false), Step::Again) {}
        parts
    }

    /// The remaining parts: whatever is incomplete is text.
    pub fn finish(mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        while !self.held.is_empty() && matches!(self.step(&mut parts, true), Step::Again) {}
        let rest = std::mem::take(&mut self.held);
        match self.state {
            State::Reasoning(_) => self.emit(&mut parts, &rest, Part::Reasoning),
            State::Start if rest.trim().is_empty() => {}
            State::Between if rest.trim_matches([' ', '\n', '\t', '\r', ';']).is_empty() => {}
            // An incomplete call has its marker again.
            State::Call => {
                let marker = self.marker();
                self.emit(&mut parts, &format!("{marker}{rest}"), Part::Content);
            }
            _ => self.emit(&mut parts, &rest, Part::Content),
        }
        parts
    }

    fn step(&mut self, parts: &mut Vec<Part>, is_end: bool) -> Step {
        match self.state {
            State::Start => self.start(is_end),
            State::Content => self.content(parts, is_end),
            State::Reasoning(row) => self.reasoning(parts, row, is_end),
            State::Call => self.call(parts),
            State::Between => self.between(is_end),
        }
    }

    /// Decides what the first characters are.
    fn start(&mut self, is_end: bool) -> Step {
        let text = self.held.trim_start();
        if text.is_empty() {
            return Step::Wait;
        }
        for (row, reasoning) in REASONING.iter().enumerate() {
            if let Some(rest) = text.strip_prefix(reasoning.begin) {
                self.held = rest.to_owned();
                self.state = State::Reasoning(row);
                self.begun = false;
                return Step::Again;
            }
        }
        let could_be = REASONING.iter().any(|reasoning| reasoning.begin.starts_with(text));
        if could_be && !is_end {
            return Step::Wait;
        }
        if let Some(format) = self.format.filter(|format| format.layout == Layout::Bare) {
            if text.starts_with('{') {
                self.held = text.to_owned();
                self.state = State::Call;
                return Step::Again;
            }
            if format.begin.starts_with(text) && !is_end {
                return Step::Wait;
            }
        }
        self.state = State::Content;
        Step::Again
    }

    /// Text until a marker.
    fn content(&mut self, parts: &mut Vec<Part>, is_end: bool) -> Step {
        let Some(format) = self.format else {
            let text = std::mem::take(&mut self.held);
            self.emit(parts, &text, Part::Content);
            return Step::Wait;
        };
        match find(&self.held, format.begin, is_end) {
            Found::At(at) => {
                let rest = self.held.split_off(at + format.begin.len());
                self.held.truncate(at);
                let text = std::mem::replace(&mut self.held, rest);
                self.emit(parts, text.trim_end(), Part::Content);
                self.blanks.clear();
                self.state = State::Call;
                Step::Again
            }
            Found::Until(at) => {
                let rest = self.held.split_off(at);
                let text = std::mem::replace(&mut self.held, rest);
                self.emit(parts, &text, Part::Content);
                Step::Wait
            }
        }
    }

    fn reasoning(&mut self, parts: &mut Vec<Part>, row: usize, is_end: bool) -> Step {
        let end = REASONING[row].end;
        match find(&self.held, end, is_end) {
            Found::At(at) => {
                let rest = self.held.split_off(at + end.len());
                self.held.truncate(at);
                let text = std::mem::replace(&mut self.held, rest);
                self.emit(parts, &text, Part::Reasoning);
                self.begun = false;
                self.blanks.clear();
                self.state = State::Start;
                Step::Again
            }
            Found::Until(at) => {
                let rest = self.held.split_off(at);
                let text = std::mem::replace(&mut self.held, rest);
                self.emit(parts, &text, Part::Reasoning);
                Step::Wait
            }
        }
    }

    /// A call, once it is complete. What turns out to be none is text.
    fn call(&mut self, parts: &mut Vec<Part>) -> Step {
        let Some(format) = self.format else { return self.text() };
        let body_at = self.held.len() - self.held.trim_start().len();
        let body = &self.held[body_at..];
        if body.is_empty() {
            return Step::Wait;
        }
        let (calls, used) = match format.layout {
            Layout::Enclosed => {
                let Some(end) = body.find(format.end) else { return Step::Wait };
                let call =
                    serde_json::from_str(body[..end].trim()).ok().and_then(|value| call(&value, format));
                (call.map(|call| vec![call]), end + format.end.len())
            }
            Layout::Bare if !body.starts_with('{') => return self.text(),
            Layout::Bare => {
                let Some(end) = value_end(body) else { return Step::Wait };
                let call = serde_json::from_str(&body[..end]).ok().and_then(|value| call(&value, format));
                // Without a marker, only the name tells a call from other JSON.
                (call.filter(|call| self.tools.contains(&call.name)).map(|call| vec![call]), end)
            }
            Layout::ArrayOrNamed if body.starts_with(['[', '{']) => {
                let Some(end) = value_end(body) else { return Step::Wait };
                let calls = serde_json::from_str::<Value>(&body[..end]).ok().and_then(|value| match value {
                    Value::Array(all) => all.iter().map(|value| call(value, format)).collect(),
                    value => call(&value, format).map(|call| vec![call]),
                });
                (calls, end)
            }
            Layout::ArrayOrNamed => {
                let Some(brace) = body.find('{') else { return Step::Wait };
                let Some(end) = value_end(&body[brace..]) else { return Step::Wait };
                let name = body[..brace].trim();
                let name = name.strip_suffix(format.separator).unwrap_or(name).trim();
                let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
                let arguments = &body[brace..brace + end];
                let is_call = is_name && serde_json::from_str::<Value>(arguments).is_ok();
                let call = || vec![Call { name: name.to_owned(), arguments: arguments.to_owned() }];
                (is_call.then(call), brace + end)
            }
        };
        let used = body_at + used;
        match calls {
            Some(calls) => {
                parts.extend(calls.into_iter().map(Part::Call));
                self.held = self.held.split_off(used);
                self.state = State::Between;
                Step::Again
            }
            None => {
                let text = format!("{}{}", self.marker(), &self.held[..used]);
                self.held = self.held.split_off(used);
                self.state = State::Content;
                self.emit(parts, &text, Part::Content);
                Step::Again
            }
        }
    }

    /// What stood before the held text of a call. Bare calls may have had none.
    fn marker(&self) -> &'static str {
        self.format.filter(|format| format.layout != Layout::Bare).map_or("", |format| format.begin)
    }

    /// What is held is text.
    fn text(&mut self) -> Step {
        self.state = State::Content;
        Step::Again
    }

    /// Blanks and separators between calls are skipped; other text is content.
    fn between(&mut self, is_end: bool) -> Step {
        let Some(format) = self.format else { return self.text() };
        let text = self.held.trim_start_matches([' ', '\n', '\t', '\r', ';']);
        if text.is_empty() {
            return Step::Wait;
        }
        if let Some(rest) = text.strip_prefix(format.begin) {
            self.held = rest.to_owned();
            self.state = State::Call;
            return Step::Again;
        }
        if format.begin.starts_with(text) && !is_end {
            return Step::Wait;
        }
        if format.layout == Layout::Bare && text.starts_with('{') {
            self.held = text.to_owned();
            self.state = State::Call;
            return Step::Again;
        }
        self.held = text.to_owned();
        self.begun = false;
        self.state = State::Content;
        Step::Again
    }

    /// Adds text to the parts, without blanks at its beginning and, once more of its kind follows, with those
    /// between.
    fn emit(&mut self, parts: &mut Vec<Part>, text: &str, part: fn(String) -> Part) {
        let text = if self.begun { text } else { text.trim_start() };
        let solid = text.trim_end();
        if solid.is_empty() {
            self.blanks.push_str(text);
            return;
        }
        self.begun = true;
        let mut whole = std::mem::take(&mut self.blanks);
        whole.push_str(solid);
        self.blanks.push_str(&text[solid.len()..]);
        parts.push(part(whole));
    }
}

/// Where a marker is in a text.
enum Found {
    /// It begins here.
    At(usize),
    /// It is not in the text up to here; the rest may be its beginning.
    Until(usize),
}

fn find(text: &str, marker: &str, is_end: bool) -> Found {
    if let Some(at) = text.find(marker) {
        return Found::At(at);
    }
    if is_end {
        return Found::Until(text.len());
    }
    let longest = marker.len().saturating_sub(1).min(text.len());
    let begins = |length: &usize| text.as_bytes().ends_with(&marker.as_bytes()[..*length]);
    let held = (1..=longest).rev().find(begins).unwrap_or(0);
    Found::Until(text.len() - held)
}

/// The length of the JSON object or array at the beginning of a text. `None` if it is incomplete.
fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The call that a JSON object describes.
fn call(value: &Value, format: &Format) -> Option<Call> {
    let name = value.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let other = if format.arguments == "arguments" { "parameters" } else { "arguments" };
    let arguments = match value.get(format.arguments).or_else(|| value.get(other)) {
        // Some models write the object as a string.
        Some(Value::String(text)) => serde_json::from_str::<Value>(text).ok()?.to_string(),
        Some(value) => value.to_string(),
        None => "{}".to_owned(),
    };
    Some(Call { name: name.to_owned(), arguments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;

    /// The parts of an answer, with neighbours of one kind joined.
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

    fn parse(pieces: &[&str], format: Option<&'static Format>, reasoning: Option<usize>) -> Vec<Part> {
        let mut parser = Parser::new(format, vec!["f".to_owned(), "g".to_owned()], reasoning);
        let mut parts: Vec<Part> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
        parts.extend(parser.finish());
        joined(parts)
    }

    fn format(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }

    fn content(text: &str) -> Part {
        Part::Content(text.to_owned())
    }

    fn reasoning(text: &str) -> Part {
        Part::Reasoning(text.to_owned())
    }

    fn called(name: &str, arguments: &str) -> Part {
        Part::Call(Call { name: name.to_owned(), arguments: arguments.to_owned() })
    }

    /// Checks an answer whole, cut in two at every position, and one character at a time.
    fn check(text: &str, format: Option<&'static Format>, begun: Option<usize>, expected: &[Part]) {
        assert_eq!(parse(&[text], format, begun), expected, "{text}");
        for at in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
            assert_eq!(parse(&[&text[..at], &text[at..]], format, begun), expected, "{text} cut at {at}");
        }
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(parse(&characters, format, begun), expected, "{text} in characters");
    }

    #[test]
    fn text_without_tools_passes_unchanged() {
        check("a <tool_call> is text, 1 < 2 ✓", None, None, &[content("a <tool_call> is text, 1 < 2 ✓")]);
        check("{\"name\": \"f\"}", None, None, &[content("{\"name\": \"f\"}")]);
        check("one\n\ntwo  three", None, None, &[content("one\n\ntwo  three")]);
        check("<thinking", None, None, &[content("<thinking")]);
        check("<th", None, None, &[content("<th")]);
    }

    #[test]
    fn reasoning_is_split_from_the_answer() {
        for row in REASONING {
            let text = format!("{}\nfirst\n\nsecond\n{}\n\nanswer < 3", row.begin, row.end);
            check(&text, None, None, &[reasoning("first\n\nsecond"), content("answer < 3")]);
        }
        check("so\n</think>\n\nanswer", None, Some(0), &[reasoning("so"), content("answer")]);
        check("<think>\n\n</think>\n\nanswer", None, None, &[content("answer")]);
        check("<think>endless </thi", None, None, &[reasoning("endless </thi")]);
        check("answer <think> is text", None, None, &[content("answer <think> is text")]);
    }

    #[test]
    fn hermes_calls_are_found() {
        let hermes = format("hermes");
        check(
            "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"</x> é\"}}\n</tool_call>",
            hermes,
            None,
            &[content("Let me see."), called("f", "{\"a\":\"</x> é\"}")],
        );
        check(
            "<think>hm</think>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call>",
            hermes,
            None,
            &[reasoning("hm"), called("f", "{}"), called("g", "{}")],
        );
        check(
            "<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call> and then",
            hermes,
            None,
            &[called("f", "{\"a\":1}"), content("and then")],
        );
    }

    #[test]
    fn what_is_no_call_after_all_is_text() {
        let hermes = format("hermes");
        for text in ["<tool_call>nonsense</tool_call>", "<tool_call>{\"name\": \"f\", \"argu", "a <tool_ca"] {
            check(text, hermes, None, &[content(text)]);
        }
        check("{\"answer\": 42}", format("llama3"), None, &[content("{\"answer\": 42}")]);
        check("{\"answer\": ", format("llama3"), None, &[content("{\"answer\":")]);
        check("{\"name\": \"Bob\"}", format("llama3"), None, &[content("{\"name\": \"Bob\"}")]);
        check("<|python_tag|>print(1)", format("llama3"), None, &[content("print(1)")]);
        check("[TOOL_CALLS] none", format("mistral"), None, &[content("[TOOL_CALLS] none")]);
    }

    #[test]
    fn llama_3_calls_are_found() {
        let llama = format("llama3");
        check(
            "{\"name\": \"f\", \"parameters\": {\"a\": [1, {}]}}",
            llama,
            None,
            &[called("f", "{\"a\":[1,{}]}")],
        );
        check(
            "<|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": {\"s\": \"}\\\"\"}}",
            llama,
            None,
            &[called("f", "{}"), called("g", "{\"s\":\"}\\\"\"}")],
        );
        check("Hello {\"name\": \"f\"}", llama, None, &[content("Hello {\"name\": \"f\"}")]);
    }

    #[test]
    fn mistral_calls_are_found() {
        let mistral = format("mistral");
        check(
            "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": \"]\"}}, {\"name\": \"g\", \"arguments\": {}}]",
            mistral,
            None,
            &[called("f", "{\"a\":\"]\"}"), called("g", "{}")],
        );
        check(
            "Sure.[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g{}",
            mistral,
            None,
            &[content("Sure."), called("f", "{\"a\": 1}"), called("g", "{}")],
        );
    }

    proptest::proptest! {
        #[test]
        fn parts_do_not_depend_on_the_cuts(
            words in proptest::collection::vec(proptest::sample::select(vec![
                "<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>",
                "{\"name\":\"f\",\"arguments\":{}}", "{", "}", "[", "]", "\"", ";", " ", "\n", "é", "<", "f",
            ]), 0..12),
            cuts in proptest::collection::vec(0_usize..80, 0..4),
            row in 0_usize..4,
        ) {
            let text: String = words.concat();
            let format = FORMATS.get(row);
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
            cuts.extend([0, text.len()]);
            cuts.retain(|at| *at <= text.len());
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            proptest::prop_assert_eq!(parse(&pieces, format, None), parse(&[&text], format, None));
        }
    }
}
