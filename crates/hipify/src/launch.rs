//! Launches: `kernel<<<grid, block, shared, stream>>>(arguments)` as `hipLaunchKernelGGL(kernel, …)`.
//!
//! Only the brackets and commas change, so every piece stays on its line.

use crate::cursor::{Argument, Cursor};
use crate::edit::Edits;
use cpp_lexer::Kind;

/// A launch, as numbers of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The first token of the launched kernel.
    kernel: usize,
    /// Whether the kernel has template arguments.
    template: bool,
    /// The `<<<`.
    open: usize,
    /// Two to four arguments.
    config: Vec<Argument>,
    /// The `>>>`.
    close: usize,
    /// The `(` of the kernel's arguments.
    call: usize,
}

/// Reads the launch whose `<<<` is token `open`, or says why it cannot be parsed.
pub(crate) fn read(cursor: &Cursor<'_>, open: usize) -> Result<Launch, &'static str> {
    let (kernel, template) = kernel(cursor, open).ok_or("there is no kernel before `<<<`")?;
    let arguments = cursor.arguments(open).ok_or("there is no matching `>>>`")?;
    if !(2..=4).contains(&arguments.list.len()) {
        return Err("`<<<…>>>` does not have two to four arguments");
    }
    let call = cursor.after(arguments.close).filter(|&call| cursor.is(call, b"("));
    let call = call.ok_or("no arguments follow `>>>`")?;
    Ok(Launch { kernel, template, open, config: arguments.list, close: arguments.close, call })
}

/// Words after which an expression begins.
const BEFORE_EXPRESSIONS: [&[u8]; 6] = [b"return", b"else", b"do", b"case", b"co_return", b"co_yield"];

/// The start of the expression before `open`, and whether its name has template arguments.
fn kernel(cursor: &Cursor<'_>, open: usize) -> Option<(usize, bool)> {
    let mut template = false;
    let mut at = cursor.before(open)?;
    loop {
        match cursor.text(at) {
            b">" | b">>>" => {
                at = cursor.before(cursor.template_opening(at)?)?;
                template = true;
                if cursor.kind(at)? != Kind::Word {
                    return None;
                }
                continue;
            }
            b")" | b"]" => {
                let bracket = cursor.opening(at)?;
                match cursor.before(bracket) {
                    Some(before) if is_operand(cursor, before) => {
                        at = before;
                        continue;
                    }
                    _ => return Some((bracket, template)),
                }
            }
            word if cursor.kind(at)? == Kind::Word && !BEFORE_EXPRESSIONS.contains(&word) => {}
            _ => return None,
        }
        let mut before = cursor.before(at);
        if let Some(word) = before.filter(|&word| cursor.is(word, b"template")) {
            before = cursor.before(word);
        }
        let Some(before) = before else { return Some((at, template)) };
        match cursor.text(before) {
            b"::" => match cursor.before(before) {
                Some(name) if is_operand(cursor, name) => at = name,
                _ => return Some((before, template)),
            },
            // Names pasted by a macro.
            b"#" if before > 0 && cursor.kind(before) == Some(Kind::Punct) && cursor.is(before - 1, b"#") => {
                at = cursor.before(before - 1).filter(|&name| cursor.kind(name) == Some(Kind::Word))?;
            }
            b"." | b"->" => at = cursor.before(before).filter(|&name| is_operand(cursor, name))?,
            _ => return Some((at, template)),
        }
    }
}

/// Whether a token can end an operand: a name, brackets, template arguments.
fn is_operand(cursor: &Cursor<'_>, index: usize) -> bool {
    let text = cursor.text(index);
    match cursor.kind(index) {
        Some(Kind::Word) => !BEFORE_EXPRESSIONS.contains(&text),
        Some(Kind::Punct) => matches!(text, b")" | b"]" | b">"),
        _ => false,
    }
}

/// Whether an argument is `dim3(…)` already, or `dim3{…}`.
fn is_dim3(cursor: &Cursor<'_>, argument: Argument) -> bool {
    cursor.is(argument.first, b"dim3")
        && cursor.after(argument.first).is_some_and(|open| {
            matches!(cursor.text(open), b"(" | b"{") && cursor.closing(open) == Some(argument.last)
        })
}

/// Whether a macro would split an argument: it has a comma outside brackets.
fn has_comma(cursor: &Cursor<'_>, argument: Argument) -> bool {
    let mut index = argument.first;
    while index <= argument.last {
        match cursor.text(index) {
            b"," => return true,
            b"(" => index = cursor.closing(index).unwrap_or(index),
            _ => {}
        }
        index += 1;
    }
    false
}

/// Brackets of a launch that are written apart, `k << <…>> >(…)`: clang does not know such a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Apart {
    /// The source with each bracket in one piece and the spaces beside it, so that offsets stay. `None` if
    /// all brackets are in one piece.
    pub(crate) source: Option<Vec<u8>>,
    /// These spaces.
    pub(crate) spaces: Vec<(usize, usize)>,
}

/// Joins the brackets of launches that are written apart.
pub(crate) fn join(source: &[u8]) -> Apart {
    let mut apart = Apart::default();
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t');
    let candidate = |three: &[u8]| match *three {
        [b'<', b'<', other] | [b'<', other, b'<'] | [b'>', b'>', other] | [b'>', other, b'>'] => {
            is_space(other)
        }
        [first @ (b'<' | b'>'), a, b] => is_space(a) && (is_space(b) || b == first),
        _ => false,
    };
    if !source.windows(3).any(candidate) {
        return apart;
    }
    let tokens = cpp_lexer::tokens(source);
    let cursor = Cursor { source, tokens: &tokens };
    let mut text = None;
    let mut index = 0;
    while index < tokens.len() {
        let Some((open, close)) = brackets(&cursor, index) else {
            index += 1;
            continue;
        };
        let text = text.get_or_insert_with(|| source.to_vec());
        // The spaces go before `<<<` and behind `>>>`.
        for ((first, last), bracket, behind) in [(open, b'<', false), (close, b'>', true)] {
            let (start, end) = (tokens[first].start, tokens[last].end);
            let middle = if behind { start + 3 } else { end - 3 };
            let spaces = if behind { (middle, end) } else { (start, middle) };
            text[start..end].fill(bracket);
            text[spaces.0..spaces.1].fill(b' ');
            if spaces.0 < spaces.1 {
                apart.spaces.push(spaces);
            }
        }
        index = open.1 + 1;
    }
    apart.source = text;
    apart
}

/// The first and last tokens of a bracket.
type Bracket = (usize, usize);

/// The brackets of a launch whose first `<` is token `index`, if the brackets are not both in one piece.
fn brackets(cursor: &Cursor<'_>, index: usize) -> Option<(Bracket, Bracket)> {
    let open = bracket(cursor, index, b"<<<", b"<")?;
    let before = cursor.before(index)?;
    if !is_operand(cursor, before) {
        return None;
    }
    let mut at = open.1 + 1;
    let end = cursor.tokens.len().min(at + 400);
    while at < end {
        match cursor.text(at) {
            b"(" | b"[" | b"{" => at = cursor.closing(at)?,
            b")" | b"]" | b"}" | b";" => return None,
            // A shift.
            b"<" if cursor.is(at + 1, b"<") => at += 1,
            b"<" => at = cursor.template_closing(at).unwrap_or(at),
            b">" | b">>>" => {
                if let Some(close) = bracket(cursor, at, b">>>", b">") {
                    let call = cursor.after(close.1)?;
                    let apart = open.0 != open.1 || close.0 != close.1;
                    return (apart && cursor.is(call, b"(")).then_some((open, close));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// A bracket of three characters that begins at a token, with spaces in between or not.
fn bracket(cursor: &Cursor<'_>, index: usize, whole: &[u8], part: &[u8]) -> Option<Bracket> {
    if cursor.is(index, whole) {
        return Some((index, index));
    }
    if !cursor.is(index, part) || cursor.kind(index)? != Kind::Punct {
        return None;
    }
    let (second, third) = (cursor.after(index)?, cursor.after(cursor.after(index)?)?);
    let together = cursor.tokens[third].end - cursor.tokens[index].start == 3;
    let joined = [(index, second), (second, third)]
        .iter()
        .all(|&(first, next)| cursor.is(next, part) && cursor.is_plain_between(first, next));
    (joined && !together).then_some((index, third))
}

/// Turns a launch into a call of `hipLaunchKernelGGL`.
pub(crate) fn rewrite(cursor: &Cursor<'_>, launch: &Launch, edits: &mut Edits) {
    let token = |index: usize| cursor.tokens[index];
    // Spaces between two tokens are removed, unless there are line breaks or comments.
    let close_up = |edits: &mut Edits, first: usize, second: usize| {
        let plain = cursor.is_plain_between(first, second);
        if plain {
            edits.delete(token(first).end, token(second).start);
        }
        plain
    };

    let name = if launch.template { "hipLaunchKernelGGL(HIP_KERNEL_NAME(" } else { "hipLaunchKernelGGL(" };
    edits.insert(token(launch.kernel).start, name);
    if let Some(last) = cursor.before(launch.open) {
        edits.insert(token(last).end, if launch.template { ")," } else { "," });
        let before = close_up(edits, last, launch.open);
        let behind = close_up(edits, launch.open, launch.config[0].first);
        let open = token(launch.open);
        edits.replace(open.start, open.end, if before && behind { " " } else { "" });
    }
    for (number, &argument) in launch.config.iter().enumerate() {
        if let Some(comma) = cursor.before(argument.first).filter(|_| number > 0)
            && close_up(edits, comma, argument.first)
        {
            edits.insert(token(comma).end, " ");
        }
        let wrap = match number {
            0 | 1 => (!is_dim3(cursor, argument)).then_some("dim3("),
            _ => has_comma(cursor, argument).then_some("("),
        };
        if let Some(wrap) = wrap {
            edits.insert(token(argument.first).start, wrap);
            edits.insert(token(argument.last).end, ")");
        }
        if let Some(next) = cursor.after(argument.last) {
            close_up(edits, argument.last, next);
        }
    }
    let (close, call) = (token(launch.close), token(launch.call));
    let before = close_up(edits, launch.close, launch.call);
    let Some(next) = cursor.after(launch.call) else { return };
    let behind = close_up(edits, launch.call, next);
    // The comma stays at the end of its line.
    let (comma, space) = if cursor.is(next, b")") { ("", "") } else { (",", " ") };
    let defaults = [", 0, 0", ", 0", ""][launch.config.len() - 2];
    edits.replace(close.start, close.end, format!("{defaults}{comma}"));
    edits.replace(call.start, call.end, if before && behind { space } else { "" });
}
