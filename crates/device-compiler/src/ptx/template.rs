//! The text of an `asm` statement: declarations, blocks and instructions.

use std::fmt::Write as _;

use super::instruction::{self, Operand};

/// A statement's text as C++; `None` if it is not PTX. Operands are `__ptx0`, `__ptx1` and so on.
pub(super) fn translate(text: &str, operands: usize) -> Option<String> {
    let words = words(text)?;
    let mut parser = Parser { words: &words, at: 0, operands, carry: false };
    let mut code = String::new();
    let mut any = false;
    while let Some(word) = parser.peek() {
        match word {
            ";" => parser.at += 1,
            "{" | "}" => {
                parser.at += 1;
                let _ = write!(code, "{word} ");
            }
            ".reg" => {
                parser.at += 1;
                parser.registers(&mut code)?;
            }
            _ => {
                parser.instruction(&mut code)?;
                any = true;
            }
        }
    }
    if parser.carry {
        code.insert_str(0, &format!("bool {} = false; ", instruction::CARRY));
    }
    (any && balanced(&code)).then_some(code)
}

fn balanced(code: &str) -> bool {
    code.matches('{').count() == code.matches('}').count()
}

/// Splits PTX into dotted names, numbers and punctuation.
fn words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let length = if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]).trim_start();
            continue;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.get(comment.find("*/")? + 2..)?.trim_start();
            continue;
        } else if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_.%$".contains(c)) {
            let mut end = 0;
            let bytes = rest.as_bytes();
            while end < bytes.len() {
                match bytes[end] {
                    b if b.is_ascii_alphanumeric() || b"_.%$".contains(&b) => end += 1,
                    // A name contains only double colons; a single one ends a label.
                    b':' if rest[end..].starts_with("::") => end += 2,
                    _ => break,
                }
            }
            end
        } else {
            rest.chars().next()?.len_utf8()
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    Some(words)
}

struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    operands: usize,
    /// A previous instruction has set the carry.
    carry: bool,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    /// After `.reg`: a type and names, each of which may stand for several.
    fn registers(&mut self, code: &mut String) -> Option<()> {
        let kind = instruction::register_type(self.next()?.strip_prefix('.')?)?;
        loop {
            let name = self.next()?;
            if self.take("<") {
                let count: u32 = self.next()?.parse().ok().filter(|count| *count <= 4096)?;
                if !self.take(">") {
                    return None;
                }
                for i in 0..count {
                    let _ = write!(code, "{kind} {} = 0; ", register(&format!("{name}{i}"))?);
                }
            } else {
                let _ = write!(code, "{kind} {} = 0; ", register(name)?);
            }
            if !self.take(",") {
                return self.take(";").then_some(());
            }
        }
    }

    fn instruction(&mut self, code: &mut String) -> Option<()> {
        let mut condition = None;
        if self.take("@") {
            let not = if self.take("!") { "!" } else { "" };
            condition = Some(format!("if ({not}{}) ", self.value()?));
        }
        let name = self.next()?;
        if self.peek() == Some(":") || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            // A label, or not PTX. Jumps and labels have no equivalent.
            return None;
        }
        let mut operands = Vec::new();
        let start = self.at;
        let parsed = self.operands(&mut operands);
        let mut call = parsed.and_then(|()| instruction::call(name, &operands));
        // The carry is local to a statement; that of another statement is unknown here.
        let carry_is_missing = instruction::takes_carry(name) && !self.carry;
        if carry_is_missing {
            call = None;
        }
        self.carry |= instruction::sets_carry(name);
        match call {
            Some(call) => {
                let _ = write!(code, "{}{call}", condition.unwrap_or_default());
            }
            None if instruction::is_ptx(name) => {
                self.at = start;
                while self.peek().is_some_and(|word| word != ";") {
                    self.at += 1;
                }
                let message = if carry_is_missing {
                    format!(
                        "inline PTX: `{name}` without the instruction that sets the carry in the same statement"
                    )
                } else {
                    format!("inline PTX: `{name}` has no equivalent on AMD GPUs")
                };
                // One function for each instruction, because a function has only one message.
                let function: String =
                    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
                let _ = write!(
                    code,
                    "{{ __attribute__((error(\"{message}\"))) __host__ __device__ void __cuda_no_ptx_{function}(); \
                     __cuda_no_ptx_{function}(); }} "
                );
            }
            None => return None,
        }
        // The last one need not have a semicolon.
        (self.take(";") || self.peek().is_none_or(|word| word == "}")).then_some(())
    }

    fn operands(&mut self, operands: &mut Vec<Operand>) -> Option<()> {
        if self.peek().is_none_or(|word| word == ";" || word == "}") {
            return Some(());
        }
        loop {
            let operand = if self.take("[") {
                let mut address = self.value()?;
                while !self.take("]") {
                    // A sum with possibly negative terms.
                    let sign = self.next()?;
                    if sign != "+" && sign != "-" {
                        return None;
                    }
                    let term = self.value()?;
                    address = format!("(::__cuda_ptx::as<unsigned long long>({address}) {sign} ({term}))");
                }
                Operand::Address(address)
            } else if self.take("{") {
                let mut parts = vec![self.value()?];
                while self.take(",") {
                    parts.push(self.value()?);
                }
                if !self.take("}") {
                    return None;
                }
                Operand::Vector(parts)
            } else {
                let not = self.take("!");
                let value = self.value()?;
                Operand::Value(if not { format!("!({value})") } else { value })
            };
            operands.push(operand);
            if !(self.take(",") || self.take("|")) {
                return Some(());
            }
        }
    }

    /// A register, number or special register.
    fn value(&mut self) -> Option<String> {
        let negative = self.take("-");
        let word = self.next()?;
        let value = if let Some(number) = number(word) {
            number
        } else if let Some(index) = word.strip_prefix('%').and_then(|index| index.parse::<usize>().ok()) {
            if index >= self.operands {
                return None;
            }
            format!("__ptx{index}")
        } else if let Some(special) = special(word) {
            special.to_owned()
        } else if word.starts_with("%%") && instruction::is_special(&word[2..]) {
            return None;
        } else {
            register(word)?
        };
        Some(if negative { format!("-{value}") } else { value })
    }
}

/// A number in C++ syntax.
fn number(word: &str) -> Option<String> {
    if let Some(bits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        let bits = u32::from_str_radix(bits, 16).ok().filter(|_| bits.len() == 8)?;
        return Some(format!("__builtin_bit_cast(float, 0x{bits:08x}u)"));
    }
    if let Some(bits) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
        let bits = u64::from_str_radix(bits, 16).ok().filter(|_| bits.len() == 16)?;
        return Some(format!("__builtin_bit_cast(double, 0x{bits:016x}ull)"));
    }
    let digits = word.strip_suffix('U').unwrap_or(word);
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok()?,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            if let Ok(value) = digits.parse::<u64>() {
                value
            } else {
                let value: f64 = digits.parse().ok()?;
                return Some(format!("{value:?}"));
            }
        }
        None => return None,
    };
    Some(match value {
        0..=0x7fff_ffff => value.to_string(),
        0x8000_0000..=0xffff_ffff => format!("{value}u"),
        _ => format!("{value}ull"),
    })
}

/// The C++ expression of a special register. nvcc also accepts its name with one `%`.
fn special(word: &str) -> Option<&'static str> {
    instruction::special(word.strip_prefix('%')?.trim_start_matches('%'))
}

/// The variable of a register.
fn register(name: &str) -> Option<String> {
    if name == "_" {
        return Some("__ptx_none".into());
    }
    let plain = name.trim_start_matches('%');
    let mut out = String::from("__r_");
    for c in plain.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            '$' => out.push_str("_d"),
            _ => return None,
        }
    }
    (!plain.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_value_and_width() {
        for (ptx, cxx) in [
            ("0", Some("0")),
            ("0xffffffff", Some("4294967295u")),
            ("0x1ffffffff", Some("8589934591ull")),
            ("0f3F800000", Some("__builtin_bit_cast(float, 0x3f800000u)")),
            ("0d3FF0000000000000", Some("__builtin_bit_cast(double, 0x3ff0000000000000ull)")),
            ("0f3F80", None),
            ("1.5", Some("1.5")),
            ("12U", Some("12")),
            ("x1", None),
        ] {
            assert_eq!(number(ptx).as_deref(), cxx, "{ptx}");
        }
    }

    #[test]
    fn predicates_blocks_and_vectors() {
        let text = "{ .reg .pred p; setp.ne.b32 p, %0, 0; @!p ld.global.v2.f32 {%1, %2}, [%3+8]; }";
        let code = translate(text, 4).unwrap();
        assert_eq!(
            code,
            "{ bool __r_p = 0; ::__cuda_ptx::setp_ne<unsigned>(__r_p, __ptx0, 0); if (!__r_p) \
             ::__cuda_ptx::ld<float>((::__cuda_ptx::as<unsigned long long>(__ptx3) + (8)), __ptx1, __ptx2); } "
        );
        for name in ["%%laneid", "%laneid"] {
            let code = translate(&format!("mov.u32 %0, {name};"), 1).unwrap();
            assert_eq!(code, "::__cuda_ptx::mov<unsigned>(__ptx0, ::__cuda_ptx::laneid()); ");
        }
        let code = translate("add.cc.u32 %0, %1, %2; addc.u32 %0, %1, 0;", 3).unwrap();
        assert!(code.starts_with("bool __ptx_carry = false; ") && !code.contains("error"), "{code}");
        for (text, reason) in [
            ("addc.u32 %0, %1, 0;", "without the instruction that sets the carry in the same statement"),
            ("mov.u32 %0, %%gridid;", "`mov.u32` has no equivalent"),
        ] {
            assert!(translate(text, 2).unwrap().contains(reason), "{text}");
        }
        let code = translate("ld.global.L2::cache_hint.u32 %0, [%1], %2;", 3).unwrap();
        assert_eq!(code, "::__cuda_ptx::ld<unsigned>(__ptx1, __ptx0); ");
        assert_eq!(translate("{ exit;", 0), None, "a block that does not end");
        assert_eq!(translate("// nothing\n", 0), None);
    }
}
