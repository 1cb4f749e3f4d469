//! Turns inline PTX into C++: `asm` statements of CUDA sources, which clang would pass to the assembler for
//! AMD's instructions.
//!
//! [`rewrite`] replaces each statement whose instructions it knows by calls of the functions in
//! `ferrocm_ptx.h`, on the same lines. A PTX instruction without an equivalent becomes an error that the
//! compiler reports at that line, if the code is compiled for the device and not removed as dead code, so
//! guards keep their meaning. Everything else is unchanged: `asm` statements for AMD's or the host's
//! instructions, and those whose text comes from a macro.

mod instruction;
mod template;

use std::fmt::Write as _;

use cpp_lexer::{Kind, Token, tokens};

/// A source or header with its inline PTX as C++, if it has any. Lines keep their numbers.
#[must_use]
pub fn rewrite(source: &str) -> Option<String> {
    if !source.contains("asm") {
        return None;
    }
    let bytes = source.as_bytes();
    let tokens = tokens(bytes);
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    let mut directive = false;
    while at < tokens.len() {
        match tokens[at].kind {
            Kind::Hash => directive = true,
            Kind::End => directive = false,
            Kind::Word if is_asm(tokens[at].text(bytes)) => {
                let Some((statement, end)) = Statement::parse(source, &tokens, at) else {
                    at += 1;
                    continue;
                };
                if statement.nested {
                    at = end;
                } else if let Some(code) = statement.code() {
                    let range = tokens[at].start..tokens[end].end;
                    out.push_str(&source[copied..range.start]);
                    out.push_str(&code);
                    let lines = source[range.clone()].matches('\n').count();
                    out.push_str(&if directive { "\\\n" } else { "\n" }.repeat(lines));
                    copied = range.end;
                    at = end;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&source[copied..]);
    Some(out)
}

/// Whether a word begins an `asm` statement.
fn is_asm(word: &[u8]) -> bool {
    matches!(word, b"asm" | b"__asm__" | b"__asm")
}

/// An operand of an `asm` statement.
struct Operand {
    constraint: String,
    expression: String,
}

/// An `asm` statement.
struct Statement {
    template: String,
    /// It must not be reordered with others.
    ordered: bool,
    /// There are `asm` statements among the operands. The whole statement is unchanged, because the inner
    /// ones could be rewritten twice.
    nested: bool,
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
        self.source.get(token.start..token.end)
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
            let text = self.source.get(token.start..token.end)?;
            match token.kind {
                Kind::String => all.push_str(&unescaped(text.strip_prefix('"')?.strip_suffix('"')?)?),
                Kind::RawString => {
                    let body = text.strip_prefix("R\"")?;
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

    /// The text in parentheses, on one line and without comments. `None` if it contains a directive or a
    /// multi-line string.
    fn parenthesised(&mut self) -> Option<String> {
        if !self.take("(") {
            return None;
        }
        let (mut depth, mut text) = (1, String::new());
        loop {
            let token = self.skip()?;
            let word = self.source.get(token.start..token.end)?;
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

    fn operands(&mut self) -> Option<Vec<Operand>> {
        let mut operands = Vec::new();
        while self.skip()?.kind == Kind::String {
            let constraint = self.strings()?;
            let expression = self.parenthesised()?;
            operands.push(Operand { constraint, expression });
            if !self.take(",") {
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
            'n' | 'r' | '\n' => out.push('\n'),
            't' => out.push(' '),
            c @ ('"' | '\'' | '\\' | '%') => out.push(c),
            _ => return None,
        }
    }
    Some(out)
}

impl Statement {
    /// The statement whose keyword is at a token, and its last token, the closing parenthesis.
    fn parse(source: &str, tokens: &[Token], keyword: usize) -> Option<(Self, usize)> {
        let mut reader = Reader { source, tokens, at: keyword + 1, nested: false };
        let mut ordered = false;
        while reader.take("volatile") || reader.take("__volatile__") || reader.take("__volatile") {
            ordered = true;
        }
        if !reader.take("(") {
            return None;
        }
        let template = reader.strings()?;
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

    /// The statement in C++; `None` if it is not PTX or has operands of a kind that PTX lacks.
    fn code(&self) -> Option<String> {
        let body = template::translate(&self.template, self.outputs.len() + self.inputs.len())?;
        let mut code = String::from("do { ");
        // Writing to a String cannot fail.
        if self.ordered {
            code.push_str("__asm__ volatile(\"\" ::: \"memory\"); ");
        }
        for (i, operand) in self.outputs.iter().chain(&self.inputs).enumerate() {
            let letter = operand.constraint.trim_start_matches(['=', '+', '&', '%']);
            let read = i >= self.outputs.len() || operand.constraint.starts_with('+');
            let kind = match letter {
                "r" => "unsigned",
                "l" => "unsigned long long",
                "h" => "unsigned short",
                "f" => "float",
                "d" => "double",
                "n" if read => {
                    let _ = write!(code, "const auto __ptx{i} = ({}); ", operand.expression);
                    continue;
                }
                _ => return None,
            };
            if read {
                let _ = write!(code, "{kind} __ptx{i} = ::__cuda_ptx::as<{kind}>({}); ", operand.expression);
            } else {
                let _ = write!(code, "{kind} __ptx{i} = 0; ");
            }
        }
        if body.contains("__ptx_none") {
            code.push_str("::__cuda_ptx::sink __ptx_none; ");
        }
        code.push_str(&body);
        for (i, operand) in self.outputs.iter().enumerate() {
            let _ = write!(code, "::__cuda_ptx::set({}, __ptx{i}); ", operand.expression);
        }
        code.push_str("} while (0)");
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_becomes_calls_on_its_lines() {
        let source = "int f(int a) {\n  int b; // asm(\"no\")\n  asm volatile(\"{ .reg .u32 t;\\n\"\n    \" add.u32 t, %1, 1;\"\n    \" mov.b32 %0, t; }\" : \"=r\"(b) : \"r\"(a /* x */));\n  return b;\n}\n";
        let out = rewrite(source).unwrap();
        assert_eq!(out.lines().count(), source.lines().count());
        assert!(out.contains("::__cuda_ptx::add<unsigned>(__r_t, __ptx1, 1); "), "{out}");
        assert!(out.contains("unsigned __ptx1 = ::__cuda_ptx::as<unsigned>(a); "), "{out}");
        assert!(out.contains("::__cuda_ptx::set(b, __ptx0); } while (0)\n\n;\n  return b;"), "{out}");
        assert_eq!(rewrite(&out), None, "what was rewritten stays");
    }

    #[test]
    fn lines_of_a_macro_stay_one_directive() {
        let source = "#define F(x) \\\n  asm(\"mov.b32 %0, %%laneid;\" \\\n : \"=r\"(x))\nint a;\n";
        let out = rewrite(source).unwrap();
        assert!(out.ends_with("::__cuda_ptx::set(x, __ptx0); } while (0)\\\n\nint a;\n"), "{out}");
    }

    #[test]
    fn an_instruction_without_equivalent_is_an_error_where_it_is() {
        let out = rewrite("\nasm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");").unwrap();
        assert!(
            out.contains("error(\"inline PTX: `wgmma.fence.sync.aligned` has no equivalent on AMD GPUs\")"),
            "{out}"
        );
    }

    #[test]
    fn other_assembly_stays() {
        for source in [
            "asm volatile(\"v_cvt_f16_f32 %0, %1;\" : \"=v\"(a) : \"v\"(b));",
            "asm(\"\" ::: \"memory\");",
            "asm(\"cpuid\" : \"=a\"(a));",
            "asm(NAME \".x %0;\" : \"=r\"(a));",
            "asm(\"add.u32 %0, %1\" : \"=x\"(a) : \"r\"(b));",
            "asm(\"add.u32 %0, %0, 1;\" : \"+r\"([&] { asm(\"exit;\"); return a; }()));",
            "asm(\"add.u32 %0, %0, 1;\" : \"+r\"(a[R\"(\n)\"[0]]));",
            "asm(\"add.u32 %0, %0, 1;\" : \"+r\"(a\n#ifdef B\n+ b\n#endif\n));",
            "int asm_count; // asm(\"exit;\");",
            "asm",
            "asm(",
            "asm(\"exit;\"",
        ] {
            assert_eq!(rewrite(source), None, "{source}");
        }
    }
}
