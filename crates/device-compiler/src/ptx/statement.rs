//! `asm` statements.

use std::fmt::Write as _;

use cpp_lexer::{Kind, Token, tokens};

use super::macros::{Definitions, text_of};
use super::template;

/// Whether a word begins an `asm` statement.
pub(super) fn is_asm(word: &[u8]) -> bool {
    matches!(word, b"asm" | b"__asm__" | b"__asm")
}

/// Whether a text has an `asm` statement whose own text is not just literals.
pub(super) fn has_composed(source: &str) -> bool {
    let tokens = tokens(source.as_bytes());
    let keywords = tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word);
    keywords.filter(|(_, token)| text_of(source, token).is_some_and(|word| is_asm(word.as_bytes()))).any(
        |(at, _)| {
            Statement::parse(source, &tokens, at)
                .is_some_and(|(statement, _)| matches!(statement.template, Template::Composed(_)))
        },
    )
}

/// The text of a statement.
enum Template {
    Plain(String),
    /// What the preprocessor makes a text of.
    Composed(String),
}

/// The constraint of an operand: its characters, or the literals and macros that make them.
enum Constraint {
    Plain(String),
    Composed(String),
}

/// An operand of an `asm` statement.
struct Operand {
    name: Option<String>,
    constraint: Constraint,
    expression: String,
}

/// An `asm` statement.
pub(super) struct Statement {
    template: Template,
    /// It must not be reordered with others.
    ordered: bool,
    /// There are `asm` statements among the operands. The whole statement is unchanged, because the inner
    /// ones could be rewritten twice.
    pub(super) nested: bool,
    outputs: Vec<Operand>,
    inputs: Vec<Operand>,
}

/// Iterates over tokens, skipping space.
struct Reader<'a> {
    source: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// An operand contains an `asm` keyword.
    nested: bool,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) -> Option<&'a Token> {
        while self.tokens.get(self.at)?.is_trivia() {
            self.at += 1;
        }
        self.tokens.get(self.at)
    }

    fn peek(&mut self) -> Option<&'a str> {
        let token = self.skip()?;
        text_of(self.source, token)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek() == Some(text);
        self.at += usize::from(found);
        found
    }

    /// Adjacent string literals, joined. `None` if one is not plain.
    fn strings(&mut self) -> Option<String> {
        let mut all = String::new();
        let mut any = false;
        while let Some(token) = self.skip() {
            let text = text_of(self.source, token)?;
            match token.kind {
                Kind::String => all.push_str(&unescaped(text.strip_prefix('"')?.strip_suffix('"')?)?),
                Kind::RawString => {
                    let body = text.strip_prefix(['R', 'u', 'U', 'L', '8'])?;
                    let body = body.strip_prefix('"')?;
                    let open = body.find('(')?;
                    all.push_str(body.get(open + 1..body.len().checked_sub(open + 2)?)?);
                }
                _ => break,
            }
            any = true;
            self.at += 1;
        }
        any.then_some(all)
    }

    /// Literals, or what the preprocessor makes of other words in front of the operands.
    fn template(&mut self) -> Option<Template> {
        let start = self.at;
        if let Some(plain) = self.strings()
            && matches!(self.peek(), Some(":" | "::" | ")"))
        {
            return Some(Template::Plain(plain));
        }
        self.at = start;
        let (mut depth, mut text) = (0_usize, String::new());
        loop {
            let token = self.skip()?;
            let word = text_of(self.source, token)?;
            // `#parameter` in a macro is none of these directives.
            if token.kind == Kind::Hash || word.contains('\n') {
                return None;
            }
            match word {
                ":" | "::" | ")" if depth == 0 => break,
                "(" => depth += 1,
                ")" => depth -= 1,
                // No text consists of these.
                ";" | "{" | "}" => return None,
                word if is_asm(word.as_bytes()) => return None,
                _ => {}
            }
            text.push_str(word);
            text.push(' ');
            self.at += 1;
        }
        // Literals that are not plain are no composed text.
        (!text.is_empty() && !text.starts_with('"') || text.contains(|c: char| c.is_ascii_alphabetic()))
            .then_some(Template::Composed(text))
    }

    /// The text in parentheses, on one line and without comments. `None` if it contains a directive or a
    /// multi-line string.
    fn parenthesised(&mut self) -> Option<String> {
        if !self.take("(") {
            return None;
        }
        let (mut depth, mut text) = (1, String::new());
        loop {
            let token = self.skip()?;
            let word = text_of(self.source, token)?;
            if token.kind == Kind::Hash || word.contains('\n') {
                return None;
            }
            self.nested |= token.kind == Kind::Word && is_asm(word.as_bytes());
            self.at += 1;
            match word {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(text);
            }
            if !text.is_empty() && self.tokens[self.at - 2].is_trivia() {
                text.push(' ');
            }
            text.push_str(word);
        }
    }

    /// The constraint in front of an operand's parentheses.
    fn constraint(&mut self) -> Option<Constraint> {
        let start = self.at;
        if self.skip()?.kind == Kind::String {
            let plain = self.strings()?;
            if self.peek() == Some("(") {
                return Some(Constraint::Plain(plain));
            }
        }
        self.at = start;
        let mut text = String::new();
        loop {
            let token = self.skip()?;
            match token.kind {
                Kind::String | Kind::Word => {
                    text.push_str(text_of(self.source, token)?);
                    text.push(' ');
                }
                // A macro's parameter as a literal.
                Kind::Punct if self.peek() == Some("#") => text.push('#'),
                _ if self.peek() == Some("(") && !text.is_empty() => return Some(Constraint::Composed(text)),
                _ => return None,
            }
            self.at += 1;
        }
    }

    fn operands(&mut self) -> Option<Vec<Operand>> {
        let mut operands = Vec::new();
        loop {
            let name = if self.take("[") {
                let name = self.peek()?.to_owned();
                self.at += 1;
                if !self.take("]") {
                    return None;
                }
                Some(name)
            } else if matches!(self.skip()?.kind, Kind::String | Kind::Word) || self.peek() == Some("#") {
                None
            } else {
                break;
            };
            let constraint = self.constraint()?;
            let expression = self.parenthesised()?;
            operands.push(Operand { name, constraint, expression });
            // For nvcc, there need not be a comma in front of a constraint.
            if !self.take(",") && self.skip()?.kind != Kind::String {
                break;
            }
        }
        Some(operands)
    }
}

/// The characters of a string literal.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'n' | 'r' | 'v' | 'f' => out.push('\n'),
            // A line continuation in the middle of a literal.
            '\n' => {}
            't' => out.push(' '),
            c @ ('"' | '\'' | '\\' | '%') => out.push(c),
            _ => return None,
        }
    }
    Some(out)
}

impl Statement {
    /// The statement whose keyword is at a token, and its last token, the closing parenthesis.
    pub(super) fn parse(source: &str, tokens: &[Token], keyword: usize) -> Option<(Self, usize)> {
        let mut reader = Reader { source, tokens, at: keyword + 1, nested: false };
        let mut ordered = false;
        while reader.take("volatile") || reader.take("__volatile__") || reader.take("__volatile") {
            ordered = true;
        }
        if !reader.take("(") {
            return None;
        }
        let template = reader.template()?;
        let mut lists = [Vec::new(), Vec::new()];
        // `::` is one token, and an empty list.
        let mut list = 0;
        loop {
            let colons = if reader.take("::") {
                2
            } else if reader.take(":") {
                1
            } else {
                break;
            };
            list += colons;
            match list {
                1 | 2 => lists[list - 1] = reader.operands()?,
                3 => {
                    while let Some(token) = reader.skip() {
                        if token.kind != Kind::String {
                            break;
                        }
                        ordered |= reader.strings()? == "memory";
                        reader.take(",");
                    }
                }
                _ => return None,
            }
        }
        reader.skip()?;
        let end = reader.at;
        let [outputs, inputs] = lists;
        let nested = reader.nested;
        reader.take(")").then_some((Self { template, ordered, nested, outputs, inputs }, end))
    }

    /// A statement without text, which keeps the compiler from knowing the values of its operands.
    fn kept(&self) -> Option<String> {
        let mut operands = self.outputs.iter().chain(&self.inputs).peekable();
        operands.peek()?;
        let mut code = String::from("do { ");
        if self.ordered {
            code.push_str("__asm__ volatile(\"\" ::: \"memory\"); ");
        }
        for operand in operands {
            if !is_register(&operand.constraint) {
                return None;
            }
            let _ = write!(code, "::__cuda_ptx::keep({}); ", operand.expression);
        }
        code.push_str("} while (0)");
        Some(code)
    }

    /// Whether macros among the operands' expressions have statements.
    pub(super) fn has_nested(&self, definitions: &Definitions) -> bool {
        self.outputs.iter().chain(&self.inputs).any(|operand| definitions.has_unfolding(&operand.expression))
    }

    /// Whether macros among the operands stand for more than constraints.
    pub(super) fn needs_macros(&self, definitions: &Definitions) -> bool {
        self.outputs.iter().chain(&self.inputs).any(|operand| match &operand.constraint {
            Constraint::Plain(_) => false,
            Constraint::Composed(text) => text.split(' ').any(|word| definitions.is_no_string(word)),
        })
    }

    /// The statement in C++; `None` if it is not PTX or has operands of a kind that PTX lacks.
    pub(super) fn code(&self, definitions: &Definitions) -> Option<String> {
        let source = match &self.template {
            Template::Plain(text) => return self.code_of(text.clone()),
            Template::Composed(source) => source,
        };
        let texts = definitions.all_expanded(source)?;
        let mut all = Vec::new();
        for text in texts {
            let tokens = tokens(text.as_bytes());
            let mut reader = Reader { source: &text, tokens: &tokens, at: 0, nested: false };
            let joined = reader.strings()?;
            if reader.skip().is_some() {
                return None;
            }
            all.push((self.code_of(joined)?, text));
        }
        if let [(code, _)] = &all[..] {
            return Some(code.clone());
        }
        // The compiler, which has the macros, chooses the text.
        let mut code = String::from("do { ");
        for (one, text) in &all {
            let _ = write!(
                code,
                "if constexpr (::__cuda_ptx::is_text({}, {})) {one}; else ",
                source.trim_end(),
                text.trim_end()
            );
        }
        // Code that is not taken may have no failed assertion, but such a call.
        code.push_str(
            "{ __attribute__((error(\"inline PTX: a text of macros that is not known\"))) __host__ __device__ \
             void __cuda_no_ptx_text(); __cuda_no_ptx_text(); } } while (0)",
        );
        Some(code)
    }

    /// The statement with a text.
    fn code_of(&self, mut text: String) -> Option<String> {
        let operands = || self.outputs.iter().chain(&self.inputs);
        for (i, operand) in operands().enumerate() {
            if let Some(name) = &operand.name {
                text = text.replace(&format!("%[{name}]"), &format!("%{i}"));
            }
        }
        if text.trim().is_empty() {
            return self.kept();
        }
        let body = template::translate(&text, operands().count())?;
        let mut code = String::from("do { ");
        // Writing to a String cannot fail.
        if self.ordered {
            code.push_str("__asm__ volatile(\"\" ::: \"memory\"); ");
        }
        for (i, operand) in operands().enumerate() {
            let is_output = i < self.outputs.len();
            declare(&mut code, i, operand, is_output)?;
        }
        if body.contains("__ptx_none") {
            code.push_str("::__cuda_ptx::sink __ptx_none; ");
        }
        // Labels come first in a block.
        let _ =
            if body.starts_with("__label__") { write!(code, "{{ {body}}} ") } else { write!(code, "{body}") };
        for (i, operand) in self.outputs.iter().enumerate() {
            let _ = write!(code, "::__cuda_ptx::set({}, __ptx{i}); ", operand.expression);
        }
        code.push_str("} while (0)");
        Some(code)
    }
}

/// Whether a constraint is for one of PTX's registers.
fn is_register(constraint: &Constraint) -> bool {
    match constraint {
        Constraint::Plain(text) => {
            matches!(text.trim_start_matches(['=', '+', '&']), "r" | "l" | "h" | "f" | "d" | "q")
        }
        Constraint::Composed(_) => false,
    }
}

/// Declares the variable of an operand.
fn declare(code: &mut String, i: usize, operand: &Operand, is_output: bool) -> Option<()> {
    let expression = &operand.expression;
    match &operand.constraint {
        Constraint::Plain(constraint) => {
            let letter = constraint.trim_start_matches(['=', '+', '&', '%']);
            let read = !is_output || constraint.starts_with('+');
            let kind = match letter {
                "r" => "unsigned",
                "l" => "unsigned long long",
                "h" => "unsigned short",
                "f" => "float",
                "d" => "double",
                "q" => "unsigned __int128",
                "n" if read => {
                    let _ = write!(code, "const auto __ptx{i} = ({expression}); ");
                    return Some(());
                }
                _ => return None,
            };
            let _ = if read {
                write!(code, "{kind} __ptx{i} = ::__cuda_ptx::as<{kind}>({expression}); ")
            } else {
                write!(code, "{kind} __ptx{i} = 0; ")
            };
        }
        // The compiler, which has the macros, chooses the register.
        Constraint::Composed(text) => {
            let text = text.trim_end();
            let kind = format!("::__cuda_ptx::register_for<::__cuda_ptx::last(\"\" {text})>");
            let _ = if is_output {
                write!(
                    code,
                    "{kind} __ptx{i} = 0; if constexpr (::__cuda_ptx::is_read(\"\" {text})) \
                     __ptx{i} = ::__cuda_ptx::as<{kind}>({expression}); "
                )
            } else {
                write!(code, "{kind} __ptx{i} = ::__cuda_ptx::as<{kind}>({expression}); ")
            };
        }
    }
    Some(())
}
