//! The text of an `asm` statement: declarations, blocks and instructions.

use std::fmt::Write as _;

use super::instruction::{self, Operand};
use super::table;

/// A statement's text as C++; `None` if it is not PTX. Operands are `__ptx0`, `__ptx1` and so on.
pub(super) fn translate(text: &str, operands: usize) -> Option<String> {
    let words = words(text)?;
    let mut parser =
        Parser { words: &words, at: 0, operands, carry: false, any: false, labels: Vec::new(), depth: 0 };
    let mut code = parser.block()?;
    if parser.at < words.len() || !parser.any {
        return None;
    }
    if parser.carry {
        code.insert_str(0, &format!("bool {} = false; ", instruction::CARRY));
    }
    Some(code)
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
        } else if rest.starts_with("%=") {
            // A number of the statement's own, which a label of a C++ block does not need.
            2
        } else if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_.%$".contains(c)) {
            let mut end = 0;
            let bytes = rest.as_bytes();
            while end < bytes.len() {
                match bytes[end] {
                    b if b.is_ascii_alphanumeric() || b"_.%$".contains(&b) => end += 1,
                    // A name contains only double colons; a single one ends a label.
                    b':' if rest[end..].starts_with("::") => end += 2,
                    b'=' if end > 0 && bytes[end - 1] == b'%' => end += 1,
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
    /// There is an instruction.
    any: bool,
    /// The labels of the blocks that are open.
    labels: Vec<&'a str>,
    /// How many blocks are open.
    depth: usize,
}

/// How deep blocks may be nested.
const DEPTH: usize = 64;

impl<'a> Parser<'a> {
    /// The contents of a block: its labels and registers, then its instructions.
    fn block(&mut self) -> Option<String> {
        let outer = self.labels.len();
        let mut code = String::new();
        for label in self.labels_here() {
            let _ = write!(code, "__label__ {}; ", jump_target(label)?);
            self.labels.push(label);
        }
        let (mut registers, mut body) = (String::new(), String::new());
        while let Some(word) = self.peek() {
            match word {
                ";" => self.at += 1,
                "}" => break,
                "{" => {
                    self.at += 1;
                    self.depth += 1;
                    if self.depth > DEPTH {
                        return None;
                    }
                    let inner = self.block()?;
                    self.depth -= 1;
                    if !self.take("}") {
                        return None;
                    }
                    let _ = write!(body, "{{ {inner}}} ");
                }
                ".reg" => {
                    self.at += 1;
                    self.registers(&mut registers)?;
                }
                // Hints for the assembler.
                ".pragma" => while self.next()? != ";" {},
                _ if self.words.get(self.at + 1) == Some(&":") => {
                    self.at += 2;
                    let _ = write!(body, "{}: __attribute__((unused)); ", jump_target(word)?);
                }
                _ => {
                    self.instruction(&mut body)?;
                    self.any = true;
                }
            }
        }
        self.labels.truncate(outer);
        code.push_str(&registers);
        code.push_str(&body);
        Some(code)
    }

    /// The labels of the block that begins here, without those of inner blocks.
    fn labels_here(&self) -> Vec<&'a str> {
        let mut depth = 0_usize;
        let mut found = Vec::new();
        let mut fresh = true;
        for (i, word) in self.words.iter().enumerate().skip(self.at) {
            match *word {
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                ":" => {}
                word if depth == 0 && fresh && self.words.get(i + 1) == Some(&":") => found.push(word),
                _ => {}
            }
            fresh = matches!(*word, ";" | "{" | "}" | ":");
        }
        found
    }

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
        let parts: &[&str] = if self.take(".v2") {
            &[".x", ".y"]
        } else if self.take(".v4") {
            &[".x", ".y", ".z", ".w"]
        } else {
            &[]
        };
        let kind = table::register_type(self.next()?.strip_prefix('.')?)?;
        loop {
            let name = self.next()?;
            for part in parts {
                let _ = write!(code, "{kind} {} = 0; ", register(&format!("{name}{part}"))?);
            }
            if !parts.is_empty() {
                if self.take(",") {
                    continue;
                }
                return self.take(";").then_some(());
            }
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
        let mut name = self.next()?.to_owned();
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return None;
        }
        // There may be space within a name.
        while let Some(part) = self.peek().filter(|part| part.starts_with('.')) {
            name.push_str(part);
            self.at += 1;
        }
        let name = name.as_str();
        if matches!(name, "bra" | "bra.uni")
            && let Some(label) = self.peek().filter(|label| self.labels.contains(label))
        {
            self.at += 1;
            let _ = write!(code, "{}goto {}; ", condition.unwrap_or_default(), jump_target(label)?);
            return (self.take(";") || self.peek().is_none_or(|word| word == "}")).then_some(());
        }
        let mut operands = Vec::new();
        let start = self.at;
        let parsed = self.operands(&mut operands);
        let mut call = match parsed {
            Some(()) => instruction::call(name, &operands),
            None => Err(table::refusal(name)),
        };
        // The carry is local to a statement; that of another statement is unknown here.
        let carry_is_missing = instruction::takes_carry(name) && !self.carry;
        if carry_is_missing {
            call = Err("");
        }
        self.carry |= instruction::sets_carry(name);
        match call {
            Ok(call) => {
                let _ = write!(code, "{}{call}", condition.unwrap_or_default());
            }
            Err(reason) if table::is_ptx(name) => {
                self.at = start;
                while self.peek().is_some_and(|word| word != ";") {
                    self.at += 1;
                }
                let message = if carry_is_missing {
                    format!(
                        "inline PTX: `{name}` without the instruction that sets the carry in the same statement"
                    )
                } else if name.starts_with("bra") {
                    format!("inline PTX: `{name}` to a label outside of the statement")
                } else {
                    format!("inline PTX: `{name}` has no equivalent on AMD GPUs: {reason}")
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
            Err(_) => return None,
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
            } else if let Some(parts) = self.peek().and_then(special_parts) {
                self.at += 1;
                Operand::Special(parts)
            } else {
                let not = self.take("!");
                let part = self.peek().and_then(part_of);
                let value = self.value()?;
                match part {
                    Some((_, part)) if !not => Operand::Part(value, part),
                    Some(_) => return None,
                    None if not => Operand::Value(format!("!({value})")),
                    None => Operand::Value(value),
                }
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
        let word = part_of(word).map_or(word, |(register, _)| register);
        let value = if let Some(number) = number(word) {
            number
        } else if let Some(index) = word.strip_prefix('%').and_then(|index| index.parse::<usize>().ok()) {
            if index >= self.operands {
                return None;
            }
            format!("__ptx{index}")
        } else if let Some(special) = special(word) {
            special.to_owned()
        } else if instruction::is_lacking(word) {
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
    if word == "WARP_SZ" {
        return table::special(word);
    }
    table::special(word.strip_prefix('%')?.trim_start_matches('%'))
}

/// The C++ expressions of a special register that is a vector of three numbers and a zero.
fn special_parts(word: &str) -> Option<Vec<String>> {
    let part = |part: &str| special(&format!("{word}.{part}")).map(str::to_owned);
    Some(vec![part("x")?, part("y")?, part("z")?, "0u".to_owned()])
}

/// A register and its part: `r.b1`, `%0.h0`.
fn part_of(word: &str) -> Option<(&str, &'static str)> {
    let (register, part) = word.rsplit_once('.')?;
    let part = ["b0", "b1", "b2", "b3", "h0", "h1"].into_iter().find(|known| *known == part)?;
    (!register.is_empty() && special(word).is_none()).then_some((register, part))
}

/// The label of a C++ block.
fn jump_target(label: &str) -> Option<String> {
    Some(register(&label.replace("%=", "_"))?.replacen("__r_", "__l_", 1))
}

/// The variable of a register.
fn register(name: &str) -> Option<String> {
    if name == "_" {
        return Some("__ptx_none".into());
    }
    let plain = name.trim_start_matches('%');
    // A part of a vector.
    let (plain, part) = match plain.rsplit_once('.') {
        Some((vector, part @ ("x" | "y" | "z" | "w"))) => (vector, part),
        _ => (plain, ""),
    };
    let mut out = String::from(if part.is_empty() { "__r_" } else { "__v_" });
    for c in plain.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            '$' => out.push_str("_d"),
            _ => return None,
        }
    }
    if !part.is_empty() {
        out = format!("{out}_{part}");
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
        let code = translate("mov.v4.u32 {%0, %1, %2, _}, %%nclusterid;", 3).unwrap();
        assert!(
            code.contains("mov<unsigned>(__ptx2, gridDim.z); ::__cuda_ptx::mov<unsigned>(__ptx_none, 0u); }"),
            "{code}"
        );
        assert!(translate("mov.u32 %0, %%nclusterid;", 3).unwrap().contains("has no equivalent"));
        let code = translate("add.cc.u32 %0, %1, %2; addc.u32 %0, %1, 0;", 3).unwrap();
        assert!(code.starts_with("bool __ptx_carry = false; ") && !code.contains("error"), "{code}");
        for (text, reason) in [
            ("addc.u32 %0, %1, 0;", "without the instruction that sets the carry in the same statement"),
            ("mov.u32 %0, %%gridid;", "`mov.u32` has no equivalent"),
            ("@p bra ELSEWHERE;", "`bra` to a label outside of the statement"),
        ] {
            assert!(translate(text, 2).unwrap().contains(reason), "{text}");
        }
        let code = translate("ld.global.L2::cache_hint.u32 %0, [%1], %2;", 3).unwrap();
        assert_eq!(code, "::__cuda_ptx::ld<unsigned>(__ptx1, __ptx0); ");
        assert_eq!(translate("{ exit;", 0), None, "a block that does not end");
        assert_eq!(translate("exit; }", 0), None, "one that does not begin");
        assert_eq!(translate("// nothing\n", 0), None);
    }

    #[test]
    fn labels_are_those_of_a_block() {
        let text = "{ .reg .pred p; L%=: setp.lt.u32 p, %0, 9; @p bra L%=; { bra.uni END; } END: }";
        let code = translate(text, 1).unwrap();
        assert_eq!(
            code,
            "{ __label__ __l_L_; __label__ __l_END; bool __r_p = 0; __l_L_: __attribute__((unused)); \
             ::__cuda_ptx::setp_lt<unsigned>(__r_p, __ptx0, 9); if (__r_p) goto __l_L_; { goto __l_END; } \
             __l_END: __attribute__((unused)); } "
        );
    }

    #[test]
    fn vectors_of_registers_and_names_with_space() {
        let code = translate("{ .reg .v2 .f32 m; max .f32 m.x, %1, %2; mov.f32 %0, m.x; }", 3).unwrap();
        assert_eq!(
            code,
            "{ float __v_m_x = 0; float __v_m_y = 0; ::__cuda_ptx::max_<float>(__v_m_x, __ptx1, __ptx2); \
             ::__cuda_ptx::mov<float>(__ptx0, __v_m_x); } "
        );
    }

    #[test]
    fn parts_of_registers_and_refusals_with_their_reason() {
        let code = translate("vadd.s32.u32.s32.sat %0, %1.b2, %2.h1;", 3).unwrap();
        assert!(code.contains("video_part<false, ::__cuda_ptx::part_b2>(__ptx1)"), "{code}");
        let code = translate("cp.async.bulk.commit_group;", 0).unwrap();
        assert!(code.contains("has no equivalent on AMD GPUs: the tensor memory accelerator"), "{code}");
    }
}
