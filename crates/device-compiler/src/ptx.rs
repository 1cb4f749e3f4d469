//! Turns inline PTX into C++: `asm` statements of CUDA sources, which clang would pass to the assembler for
//! AMD's instructions.
//!
//! [`rewrite`] replaces each statement whose instructions it knows by calls of the functions in
//! `ferrocm_ptx.h`, on the same lines. A PTX instruction without an equivalent becomes an error that the
//! compiler reports at that line, if the code is compiled for the device and not removed as dead code, so
//! guards keep their meaning. Everything else is unchanged, such as `asm` statements for AMD's or the host's
//! instructions.
//!
//! Macros may give the constraints of operands, which the compiler then replaces. Those that give the text of
//! a statement, or its operands, are [replaced here](Definitions), because the text decides about the code. A
//! statement in which the preprocessor chooses (`#if` … `#else` … `#endif`) becomes one for each choice, and
//! so does one that depends on a macro with several definitions.

mod convert;
mod instruction;
mod macros;
mod matrix;
mod memory;
mod statement;
mod table;
mod template;
mod video;

use cpp_lexer::{Kind, Token, tokens};

pub use macros::Definitions;
use macros::text_of;
use statement::{Statement, is_asm};

/// A source or header with its inline PTX as C++, if it has any. Lines keep their numbers. Its macros are its
/// own.
#[must_use]
pub fn rewrite(source: &str) -> Option<String> {
    rewrite_with(source, &Definitions::of([source]))
}

/// The same for one of several files, with the macros of all.
#[must_use]
pub fn rewrite_with(source: &str, definitions: &Definitions) -> Option<String> {
    Rewriter::default().rewrite(source, definitions, DEPTH)
}

/// How deep macros with statements may be nested, and how many of their uses a file may have.
const DEPTH: usize = 16;
const UNFOLDED: usize = 20_000;

#[derive(Default)]
struct Rewriter {
    unfolded: usize,
}

impl Rewriter {
    fn rewrite(&mut self, source: &str, definitions: &Definitions, depth: usize) -> Option<String> {
        if !source.contains("asm") && !definitions.may_unfold(source) {
            return None;
        }
        let tokens = tokens(source.as_bytes());
        let own = macros::names(source, &tokens);
        let mut local = (!own.is_empty()).then(|| definitions.for_file(&own));
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        let mut directive = false;
        while at < tokens.len() {
            match tokens[at].kind {
                Kind::Hash => {
                    directive = true;
                    if let Some(local) = &mut local {
                        local.directive(source, &tokens, at);
                    }
                    if let Some(code) = definitions.selector(source, &tokens, at)
                        && let Some(end) = (at..tokens.len()).find(|end| tokens[*end].kind == Kind::End)
                    {
                        let range = tokens[at].start..tokens[end].start;
                        out.push_str(&source[copied..range.start]);
                        out.push_str(&code);
                        out.push_str(&"\\\n".repeat(source[range.clone()].matches('\n').count()));
                        copied = range.end;
                        at = end;
                        directive = false;
                    }
                }
                Kind::End => directive = false,
                Kind::Word => {
                    let definitions = local.as_ref().unwrap_or(definitions);
                    if let Some((code, end)) = self.word(source, &tokens, at, definitions, directive, depth) {
                        if let Some(code) = code {
                            let range = tokens[at].start..tokens[end].end;
                            out.push_str(&source[copied..range.start]);
                            out.push_str(&code);
                            // The lines that the code does not have itself.
                            let lines = source[range.clone()].matches('\n').count();
                            let lines = lines.saturating_sub(code.matches('\n').count());
                            out.push_str(&if directive { "\\\n" } else { "\n" }.repeat(lines));
                            copied = range.end;
                        }
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

    /// What a word and those after it become, if they do, and the last of them.
    fn word(
        &mut self,
        source: &str,
        tokens: &[Token],
        at: usize,
        definitions: &Definitions,
        directive: bool,
        depth: usize,
    ) -> Option<(Option<String>, usize)> {
        let word = text_of(source, &tokens[at])?;
        if !is_asm(word.as_bytes()) {
            if directive || depth == 0 || !definitions.unfolds(word) || self.unfolded >= UNFOLDED {
                return None;
            }
            self.unfolded += 1;
            if let Some((texts, end)) = definitions.choices(source, tokens, at) {
                let mut code = format!("{word}(this");
                for text in texts {
                    let text = self.rewrite(&text, definitions, depth - 1).unwrap_or(text);
                    code.push_str(&format!(", ({text})"));
                }
                return Some((Some(format!("{code})")), end));
            }
            let (text, end) = definitions.unfolded(source, tokens, at)?;
            return Some((Some(self.rewrite(&text, definitions, depth - 1)?), end));
        }
        match Statement::parse(source, tokens, at) {
            Some((statement, end)) if statement.nested || statement.has_nested(definitions) => {
                Some((None, end))
            }
            Some((statement, end)) if !directive && statement.needs_macros(definitions) => {
                let text = definitions.expanded(&source[tokens[at].start..tokens[end].end])?;
                let list = cpp_lexer::tokens(text.as_bytes());
                let (statement, _) = Statement::parse(&text, &list, 0)?;
                Some((Some(statement.code(definitions)?), end))
            }
            Some((statement, end)) => {
                // What a macro's parameters make of a text is only known where the macro is used.
                let none = Definitions::default();
                Some((Some(statement.code(if directive { &none } else { definitions })?), end))
            }
            None if directive => None,
            None => chosen(source, tokens, at, definitions),
        }
    }
}

/// How many statements one with choices may become.
const BRANCHES: usize = 32;

/// A part of a statement: a text, or branches of the preprocessor behind their directives.
enum Part {
    Text(String),
    Choice(Vec<(String, Vec<Part>)>),
}

/// A statement with choices of the preprocessor inside: one for each branch.
fn chosen(
    source: &str,
    tokens: &[Token],
    at: usize,
    definitions: &Definitions,
) -> Option<(Option<String>, usize)> {
    let mut reader = Parts { source, tokens, start: at, at, depth: 0 };
    let parts = reader.parts(0)?;
    let end = reader.at;
    if !parts.iter().any(|part| matches!(part, Part::Choice(_))) {
        return None;
    }
    let mut code = String::from("\n");
    let mut left = BRANCHES;
    branches(&mut code, String::new(), &parts.iter().collect::<Vec<_>>(), definitions, &mut left)?;
    let lines = source[tokens[at].start..tokens[end].end].matches('\n').count();
    (code.matches('\n').count() <= lines).then_some((Some(code), end))
}

/// Writes a statement for each choice. `text` is what precedes the parts.
fn branches(
    code: &mut String,
    mut text: String,
    parts: &[&Part],
    definitions: &Definitions,
    left: &mut usize,
) -> Option<()> {
    for (i, part) in parts.iter().enumerate() {
        let choice = match part {
            Part::Text(more) => {
                text.push_str(more);
                continue;
            }
            Part::Choice(choice) => choice,
        };
        for (line, branch) in choice {
            code.push_str(&format!("{line}\n"));
            let parts: Vec<&Part> = branch.iter().chain(parts[i + 1..].iter().copied()).collect();
            branches(code, text.clone(), &parts, definitions, left)?;
        }
        code.push_str("#endif\n");
        return Some(());
    }
    *left = left.checked_sub(1)?;
    let list = cpp_lexer::tokens(text.as_bytes());
    let (statement, last) = Statement::parse(&text, &list, 0)?;
    if last + 1 != list.len() || statement.nested {
        return None;
    }
    code.push_str(&format!("{}\n", statement.code(definitions)?));
    Some(())
}

/// Reads the parts of a statement.
struct Parts<'a> {
    source: &'a str,
    tokens: &'a [Token],
    start: usize,
    at: usize,
    /// How many parentheses are open.
    depth: usize,
}

impl Parts<'_> {
    /// The parts up to the end of the statement, its last parenthesis, or of a branch, its next directive.
    fn parts(&mut self, level: usize) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut all = String::new();
        if level > DEPTH {
            return None;
        }
        loop {
            let token = self.tokens.get(self.at)?;
            let text = text_of(self.source, token)?;
            if token.kind == Kind::Hash {
                match self.directive()?.0 {
                    "if" | "ifdef" | "ifndef" => {
                        parts.push(Part::Text(std::mem::take(&mut all)));
                        parts.push(self.choice(level)?);
                        continue;
                    }
                    "elif" | "else" | "endif" if level > 0 => {
                        parts.push(Part::Text(all));
                        return Some(parts);
                    }
                    _ => return None,
                }
            }
            match text {
                "(" => self.depth += 1,
                ")" => self.depth = self.depth.checked_sub(1)?,
                // No choice within a statement goes on behind these.
                ";" | "{" | "}" => return None,
                text if self.at > self.start && is_asm(text.as_bytes()) => return None,
                _ => {}
            }
            all.push_str(if token.is_trivia() { " " } else { text });
            if text == ")" && self.depth == 0 {
                parts.push(Part::Text(all));
                return (level == 0).then_some(parts);
            }
            self.at += 1;
        }
    }

    /// The word of the directive here, its line, and its last token.
    fn directive(&self) -> Option<(&str, &str, usize)> {
        let last = (self.at..self.tokens.len()).find(|at| self.tokens[*at].kind == Kind::End)?;
        let line = self.source.get(self.tokens[self.at].start..self.tokens[last].start)?;
        let word = self.tokens[self.at + 1..last].iter().find(|token| !token.is_trivia())?;
        (!line.contains('\n')).then_some((text_of(self.source, word)?, line, last))
    }

    /// The branches from `#if` to `#endif`.
    fn choice(&mut self, level: usize) -> Option<Part> {
        let depth = self.depth;
        let mut branches = Vec::new();
        let mut otherwise = false;
        loop {
            let (word, line, last) = self.directive()?;
            let (word, line) = (word.to_owned(), line.to_owned());
            self.at = last + 1;
            if word == "endif" {
                break;
            }
            if otherwise || self.depth != depth {
                return None;
            }
            otherwise = word == "else";
            branches.push((line, self.parts(level + 1)?));
        }
        if self.depth != depth {
            return None;
        }
        if !otherwise {
            branches.push(("#else".into(), Vec::new()));
        }
        Some(Part::Choice(branches))
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
    fn operands_need_no_comma_between_them() {
        let with = rewrite("asm(\"add.u32 %0, %1, %2;\" : \"=r\"(a) : \"r\"(b), \"r\"(c));").unwrap();
        let without = rewrite("asm(\"add.u32 %0, %1, %2;\" : \"=r\"(a) : \"r\"(b) \"r\"(c));").unwrap();
        assert_eq!(without, with);
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
            out.contains("error(\"inline PTX: `wgmma.fence.sync.aligned` has no equivalent on AMD GPUs: "),
            "{out}"
        );
    }

    #[test]
    fn other_assembly_stays() {
        for source in [
            "asm volatile(\"v_cvt_f16_f32 %0, %1;\" : \"=v\"(a) : \"v\"(b));",
            "asm(\"\" ::: \"memory\");",
            "asm(\"cpuid\" : \"=a\"(a));",
            "asm(\"\" : \"+v\"(a));",
            "asm(NAME \".x %0;\" : \"=r\"(a));",
            "asm(NAME : \"=r\"(a));",
            "#define F(op) asm(#op \" %0, %0, 1;\" : \"+r\"(a))\n",
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

    #[test]
    fn macros_give_constraints_texts_and_statements() {
        let out = rewrite("asm(\"mov.b64 %0, %1;\" : \"=\" REG(a) : PTR(p));").unwrap();
        assert!(out.contains("register_for<::__cuda_ptx::last(\"\" PTR)> __ptx1"), "{out}");
        assert!(out.contains("is_read(\"\" \"=\" REG)"), "{out}");
        for (source, expected) in [
            (
                "#define OP \"add.u32\"\nasm(OP \" %0, %0, 1;\" : \"+r\"(a));",
                "add<unsigned>(__ptx0, __ptx0, 1)",
            ),
            (
                "#define F(op, x) \\\n asm(#op \".u32 %0, %0, 1;\" \\\n : \"+r\"(x))\nF(sub,\n b);",
                "sub<unsigned>(__ptx0, __ptx0, 1); ::__cuda_ptx::set(b",
            ),
            (
                "#define G(s, x) asm(s : \"+r\"(x))\n#define F(x) G(\"not.b32 %0, %0;\", x)\nF(b[1]);",
                "bnot<unsigned>(__ptx0, __ptx0); ::__cuda_ptx::set(b[1]",
            ),
            ("#define IN(x) \"r\"(x)\nasm(\"mov.u32 %0, %1;\" : \"=r\"(a) : IN(b));", "as<unsigned>(b)"),
            ("asm(\"mov.u32 %0, %[from];\" : \"=r\"(a) : [from] \"r\"(b));", "(__ptx0, __ptx1)"),
        ] {
            let out = rewrite(source).unwrap_or_else(|| panic!("{source}"));
            assert!(out.contains(expected), "{out}");
            assert_eq!(out.lines().count(), source.lines().count(), "{out}");
            assert_eq!(rewrite(&out), None, "{out}");
        }
        let others = Definitions::of(["#define F(op) asm(#op \".u32 %0, %0, 1;\" : \"+r\"(x))\n"]);
        let out = rewrite_with("void f() { F(add); }", &others).unwrap();
        assert!(out.contains("add<unsigned>"), "{out}");
    }

    #[test]
    fn choices_of_the_preprocessor_may_nest_and_follow_each_other() {
        let source = "asm volatile(\"{ .reg .u32 t;\\n\"\n#ifdef A\n \"mov.u32 t, 1;\"\n#if B\n \"not.b32 t, t;\"\n\
            #endif\n#else\n \"mov.u32 t, 2;\"\n#endif\n\n\n\n\n\n\n\n#ifdef A\n \"mov.u32 %0, t; }\"\n#else\n \"neg.s32 %0, t; }\"\n\
            #endif\n\n\n\n\n\n : \"=r\"(a));\nint d;\n";
        let out = rewrite(source).unwrap();
        assert_eq!(out.matches("bnot<unsigned>").count(), 2, "{out}");
        assert_eq!(out.matches("::__cuda_ptx::neg<int>(__ptx0, __r_t)").count(), 3, "{out}");
        assert_eq!(out.matches("do {").count(), 6, "{out}");
        assert_eq!((out.matches("#if").count(), out.matches("#endif").count()), (5, 5), "{out}");
        assert_eq!(
            out.lines().position(|line| line == "int d;"),
            source.lines().position(|line| line == "int d;")
        );
    }

    #[test]
    fn the_compiler_chooses_a_text_of_macros_with_several_definitions() {
        let source = "#if X\n#define HINT(n) \".L2::\" #n \"B\"\n#else\n#define HINT(n)\n#endif\n\
            asm volatile(\"ld.global\" HINT(128) \".u32 %0, [%1];\" : \"=r\"(a) : \"l\"(p));\n";
        let out = rewrite(source).unwrap();
        assert!(
            out.contains(
                "is_text(\"ld.global\" HINT ( 128 ) \".u32 %0, [%1];\", \"ld.global\" \".L2::\" \"128\" \"B\""
            ),
            "{out}"
        );
        assert_eq!(out.matches("::__cuda_ptx::ld<unsigned>(__ptx1, __ptx0)").count(), 2, "{out}");
        assert_eq!(out.lines().count(), source.lines().count(), "{out}");
        assert_eq!(rewrite(&out), None, "{out}");
        // Texts of which one is none.
        let source = source.replace("HINT(n)\n#endif", "HINT(n) n\n#endif");
        assert_eq!(rewrite(&source), None);
    }

    #[test]
    fn a_macro_with_several_definitions_selects_its_text() {
        let source = "#ifdef NEW\n#define F(op, x) asm(\"shfl.sync.\" #op \".b32 %0, %0, 1, 31, -1;\" : \"+r\"(x))\n\
            #else\n#define F(op, x) \\\n asm(\"shfl.\" #op \".b32 %0, %0, 1, 31;\" \\\n : \"+r\"(x))\n#endif\nF(up,\n b);\n";
        let out = rewrite(source).unwrap();
        let selector = |place: u32| {
            format!(
                "#define F(__ptx_use, __ptx_text0, __ptx_text1) __cuda_ptx_select_##__ptx_use __ptx_text{place}"
            )
        };
        assert!(out.contains(&format!("#ifdef NEW\n{}\n#else\n{}\\\n", selector(0), selector(1))), "{out}");
        let used = out.split("F(this, (").nth(1).unwrap();
        let (new, old) = used.split_once("), (").unwrap();
        assert!(
            new.contains("::__cuda_ptx::shfl<0>(__ptx0, __ptx0, 1, 31, -1); ::__cuda_ptx::set(b"),
            "{new}"
        );
        assert!(old.contains("::__cuda_ptx::shfl<0>(__ptx0, __ptx0, 1, 31); ::__cuda_ptx::set(b"), "{old}");
        assert_eq!(out.lines().count(), source.lines().count(), "{out}");
        assert_eq!(rewrite(&out), None, "{out}");

        // The other definitions may have no statement, and be in other files or without parameters.
        let header = "#define F(op) asm(#op \".u32 %0, %0, 1;\" : \"+r\"(x))\n#define G(op) F(op)\n";
        let source = "void f() { G(add); }\n#undef F\n#define F nothing\n#undef F\n";
        let all = Definitions::of([header, source]);
        let out = rewrite_with(source, &all).unwrap();
        assert!(out.contains("F(this, (do {") && out.contains("(nothing (add)))"), "{out}");
        assert!(out.contains("#undef F\n#define F(__ptx_use, "), "{out}");
        assert!(rewrite_with(header, &all).unwrap().starts_with("#define F(__ptx_use, "));

        // A text that is no argument of a macro.
        let source = "#define F(op) asm(#op \".u32 %0, %0, 1;\" : \"+r\"(x))\n#define F(op) f(\nF(add);\n";
        assert!(rewrite(source).is_none_or(|out| out.contains("\nF(add);")));
    }

    #[test]
    fn a_choice_of_the_preprocessor_stays_one() {
        let source = "asm volatile(\"{ .reg .pred p;\\n\"\n \"setp.ne.b32 p, %1, 0;\\n\"\n#if defined(L2)\n                       \"@p ld.global.L2::128B.u32 %0, [%2];\\n\"\n#else\n \"@p ld.global.u32 %0, [%2];\\n\"\n#endif\n                       \"}\" : \"=r\"(a) : \"r\"(b), \"l\"(c));\nint d;\n";
        let out = rewrite(source).unwrap();
        assert_eq!(out.matches("::__cuda_ptx::ld<unsigned>").count(), 2, "{out}");
        assert!(out.contains("\n#if defined(L2)\ndo {") && out.contains("\n#else\ndo {"), "{out}");
        assert_eq!(
            out.lines().position(|line| line == "int d;"),
            source.lines().position(|line| line == "int d;")
        );
    }
}
