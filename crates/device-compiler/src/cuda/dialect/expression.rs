//! Conditions of `#if`.

use std::collections::HashSet;

use super::{Macro, Macros};

/// How many pieces an expansion may have, and how many macros it may replace.
const MOST_PIECES: usize = 20_000;
/// How deep operators and parentheses nest.
const DEEPEST: usize = 200;

/// A piece of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Name(String),
    Number(i64),
    /// With its quotes.
    Text(String),
    Sign(&'static str),
    /// A byte that no condition has.
    Other(char),
}

impl Piece {
    /// As in a source.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Name(text) | Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Sign(sign) => (*sign).to_owned(),
            Self::Other(other) => other.to_string(),
        }
    }
}

/// The signs of conditions, longer ones first.
const SIGNS: [&str; 28] = [
    "...", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "##", "+", "-", "*", "/", "%", "<", ">", "!", "~",
    "&", "|", "^", "?", ":", "(", ")", ",", ".",
];

/// Splits the text of a directive.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(is_word(c) || c == '\'' || c == '.')).unwrap_or(rest.len());
            found.push(number(&rest[..end]).map_or(Piece::Other('0'), Piece::Number));
            end
        } else if is_word(first) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            found.push(Piece::Name(rest[..end].to_owned()));
            end
        } else if first == '"' || first == '\'' {
            let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
            let mut inner = rest[1..end].chars();
            found.push(match (first, inner.next(), inner.next()) {
                ('\'', Some(letter), Some('\'')) => Piece::Number(i64::from(u32::from(letter))),
                _ => Piece::Text(rest[..end].to_owned()),
            });
            end
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push(Piece::Sign(sign));
            sign.len()
        } else {
            found.push(Piece::Other(first));
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// The value of an integer with its prefix and suffix.
fn number(text: &str) -> Option<i64> {
    let text = text.replace('\'', "").to_ascii_lowercase();
    let digits = text.trim_end_matches(['u', 'l', 'z']);
    let parsed = match digits.as_bytes() {
        [b'0', b'x', ..] => u64::from_str_radix(&digits[2..], 16),
        [b'0', b'b', ..] => u64::from_str_radix(&digits[2..], 2),
        [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    parsed.ok().map(u64::cast_signed)
}

/// The pieces with macros replaced. `None` if that does not end within limits.
pub(super) fn expanded(pieces: &[Piece], macros: &Macros) -> Option<Vec<Piece>> {
    let mut left = MOST_PIECES;
    expand(pieces, macros, &mut HashSet::new(), &mut left)
}

/// Whether a function-like macro's call stands at an index: its arguments, and the index behind it.
fn arguments(pieces: &[Piece], at: usize) -> Option<(Vec<&[Piece]>, usize)> {
    if pieces.get(at) != Some(&Piece::Sign("(")) {
        return None;
    }
    let (mut depth, mut begin, mut all) = (1, at + 1, Vec::new());
    for (i, piece) in pieces.iter().enumerate().skip(at + 1) {
        match piece {
            Piece::Sign("(") => depth += 1,
            Piece::Sign(",") if depth == 1 => {
                all.push(&pieces[begin..i]);
                begin = i + 1;
            }
            Piece::Sign(")") => {
                depth -= 1;
                if depth == 0 {
                    all.push(&pieces[begin..i]);
                    return Some((all, i + 1));
                }
            }
            _ => {}
        }
    }
    None
}

fn expand(
    pieces: &[Piece],
    macros: &Macros,
    hidden: &mut HashSet<String>,
    left: &mut usize,
) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    let mut i = 0;
    while let Some(piece) = pieces.get(i) {
        *left = left.checked_sub(1)?;
        i += 1;
        let Piece::Name(name) = piece else {
            found.push(piece.clone());
            continue;
        };
        // The operand of these is a name.
        if name == "defined" || name.starts_with("__has_") {
            found.push(piece.clone());
            let end = match pieces.get(i) {
                Some(Piece::Sign("(")) => arguments(pieces, i).map_or(pieces.len(), |(_, end)| end),
                _ => (i + usize::from(name == "defined")).min(pieces.len()),
            };
            found.extend_from_slice(&pieces[i..end]);
            i = end;
            continue;
        }
        let known = macros.get(name).filter(|_| !hidden.contains(name) && hidden.len() < DEEPEST);
        let body = match known {
            Some(Macro { parameters: None, body }) => body.clone(),
            Some(Macro { parameters: Some(parameters), body }) => {
                let Some((given, end)) = arguments(pieces, i) else {
                    found.push(piece.clone());
                    continue;
                };
                i = end;
                let mut given = given
                    .into_iter()
                    .map(|one| expand(one, macros, hidden, left))
                    .collect::<Option<Vec<_>>>()?;
                given.resize(parameters.len().max(given.len()), Vec::new());
                let mut filled = Vec::new();
                for piece in body {
                    let parameter = match piece {
                        Piece::Name(name) if name == "__VA_ARGS__" => {
                            parameters.iter().position(|parameter| parameter == "...")
                        }
                        Piece::Name(name) => parameters.iter().position(|parameter| parameter == name),
                        _ => None,
                    };
                    match parameter {
                        Some(parameter) => filled.extend_from_slice(&given[parameter]),
                        None => filled.push(piece.clone()),
                    }
                    if filled.len() > *left {
                        return None;
                    }
                }
                filled
            }
            None => {
                found.push(piece.clone());
                continue;
            }
        };
        hidden.insert(name.clone());
        let inner = expand(&joined(&body), macros, hidden, left);
        hidden.remove(name);
        found.extend(inner?);
        if found.len() > MOST_PIECES {
            return None;
        }
    }
    Some(found)
}

/// The pieces with those on both sides of a `##` as one name.
fn joined(body: &[Piece]) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let mut rest = body.iter();
    while let Some(piece) = rest.next() {
        match (piece, found.last()) {
            (Piece::Sign("##"), Some(left)) => {
                let Some(right) = rest.next() else { break };
                let text = left.text() + &right.text();
                found.pop();
                found.extend(pieces(&text));
            }
            _ => found.push(piece.clone()),
        }
    }
    found
}

/// Whether a condition holds; `None` if it is none. `has` answers `__has_include`.
pub(super) fn holds(line: &str, macros: &Macros, has: &mut dyn FnMut(&str) -> bool) -> Option<bool> {
    let pieces = expanded(&pieces(line), macros)?;
    let mut parser = Parser { pieces: &pieces, at: 0, macros, has, depth: 0 };
    let value = parser.choice()?;
    (parser.at == pieces.len()).then_some(value != 0)
}

struct Parser<'a> {
    pieces: &'a [Piece],
    at: usize,
    macros: &'a Macros,
    has: &'a mut dyn FnMut(&str) -> bool,
    depth: usize,
}

/// The binary operators: weakest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.pieces.get(self.at), Some(Piece::Sign(next)) if *next == sign);
        self.at += usize::from(found);
        found
    }

    fn choice(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let condition = self.binary(0)?;
        let value = if self.take("?") {
            let yes = self.choice()?;
            let no = self.take(":").then(|| self.choice())??;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Some(value)
    }

    fn binary(&mut self, level: usize) -> Option<i64> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = signs.iter().find(|sign| self.take(sign)) {
            let right = self.binary(level + 1);
            // What is not evaluated may be wrong.
            let short = (*sign == "||" && left != 0) || (*sign == "&&" && left == 0);
            let right = if short { right.or(Some(0))? } else { right? };
            let shift = u32::try_from(right).unwrap_or(64);
            left = match *sign {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "<<" => left.checked_shl(shift).unwrap_or(0),
                ">>" => left.checked_shr(shift).unwrap_or(0),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let piece = self.pieces.get(self.at)?;
        self.at += 1;
        let value = match piece {
            Piece::Number(number) => *number,
            Piece::Sign("!") => i64::from(self.unary()? == 0),
            Piece::Sign("~") => !self.unary()?,
            Piece::Sign("-") => self.unary()?.wrapping_neg(),
            Piece::Sign("+") => self.unary()?,
            Piece::Sign("(") => {
                let value = self.choice()?;
                self.take(")").then_some(value)?
            }
            Piece::Name(name) if name == "defined" => {
                let open = self.take("(");
                let Some(Piece::Name(asked)) = self.pieces.get(self.at) else { return None };
                self.at += 1;
                if open && !self.take(")") {
                    return None;
                }
                i64::from(self.macros.contains_key(asked) || asked.starts_with("__has_"))
            }
            Piece::Name(name) if name.starts_with("__has_") => {
                let (_, end) = arguments(self.pieces, self.at)?;
                let inner: String = self.pieces[self.at + 1..end - 1].iter().map(Piece::text).collect();
                self.at = end;
                let file = inner.trim_matches(['"', '<', '>']);
                i64::from(name.starts_with("__has_include") && (self.has)(file))
            }
            Piece::Name(name) => i64::from(name == "true"),
            Piece::Text(_) | Piece::Sign(_) | Piece::Other(_) => return None,
        };
        self.depth -= 1;
        Some(value)
    }
}
