//! Sizes of types in textual LLVM IR, according to AMDGPU's data layout.

use std::collections::HashMap;

/// The depth limit for following types: deeper than any program.
const DEEPEST: usize = 64;

/// The named structures of a module.
#[derive(Debug, Default)]
pub(super) struct Types<'a>(HashMap<&'a str, &'a str>);

/// The size of a type in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    bits: u64,
    align: u64,
}

impl Layout {
    fn scalar(bits: u64) -> Self {
        Self { bits, align: bits.div_ceil(8).next_power_of_two() }
    }

    /// Bytes accessed by a load or store of it.
    fn stored(self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// Bytes from one element of an array to the next.
    fn stride(self) -> u64 {
        self.stored().next_multiple_of(self.align)
    }
}

impl<'a> Types<'a> {
    pub(super) fn of(module: &'a str) -> Self {
        let named = |line: &'a str| {
            let (name, definition) = line.split_once(" = type ")?;
            name.starts_with('%').then_some((name, definition))
        };
        Self(module.lines().filter_map(named).collect())
    }

    /// Bytes accessed by a load or store of the type at the start of the text, and the rest of the text.
    pub(super) fn first<'t>(&self, text: &'t str) -> Option<(u64, &'t str)> {
        let (layout, rest) = self.layout(text, 0)?;
        Some((layout.stored(), rest))
    }

    fn layout<'t>(&self, text: &'t str, depth: usize) -> Option<(Layout, &'t str)> {
        if depth > DEEPEST {
            return None;
        }
        let text = text.trim_start();
        match text.chars().next()? {
            '<' if text.starts_with("<{") => {
                let (fields, rest) = self.fields(&text[2..], depth)?;
                let bits = fields.iter().map(|field| field.stride() * 8).sum();
                Some((Layout { bits, align: 1 }, rest.strip_prefix('>')?))
            }
            '<' => {
                let (count, element, rest) = self.repeated(&text[1..], depth)?;
                let bits = element.bits.checked_mul(count)?;
                Some((Layout::scalar(bits), rest.strip_prefix('>')?))
            }
            '[' => {
                let (count, element, rest) = self.repeated(&text[1..], depth)?;
                let bits = element.stride().checked_mul(count)?.checked_mul(8)?;
                Some((Layout { bits, align: element.align }, rest.strip_prefix(']')?))
            }
            '{' => {
                let (fields, rest) = self.fields(&text[1..], depth)?;
                let (mut end, mut align) = (0_u64, 1);
                for field in fields {
                    end = end.next_multiple_of(field.align) + field.stride();
                    align = align.max(field.align);
                }
                Some((Layout { bits: end.next_multiple_of(align) * 8, align }, rest))
            }
            '%' => {
                let end = match text[1..].strip_prefix('"') {
                    Some(quoted) => quoted.find('"')? + 3,
                    None => text.find([' ', ',', '>', ']', '}']).unwrap_or(text.len()),
                };
                let (name, rest) = text.split_at(end);
                Some((self.layout(self.0.get(name)?, depth + 1)?.0, rest))
            }
            _ => {
                let end = text.find([' ', ',', '>', ']', '}']).unwrap_or(text.len());
                let (word, rest) = text.split_at(end);
                let layout = match word {
                    "half" | "bfloat" => Layout::scalar(16),
                    "float" => Layout::scalar(32),
                    "double" => Layout::scalar(64),
                    "ptr" => {
                        let space = rest.strip_prefix(" addrspace(").and_then(|rest| rest.split_once(')'));
                        let (space, rest) = space.map_or(("0", rest), |(space, rest)| (space, rest));
                        return Some((Layout::scalar(pointer_bits(space)), rest));
                    }
                    _ => Layout::scalar(word.strip_prefix('i')?.parse().ok().filter(|bits| *bits > 0)?),
                };
                Some((layout, rest))
            }
        }
    }

    /// Parses `4 x float` of a vector or array; returns the rest of the text, too.
    fn repeated<'t>(&self, text: &'t str, depth: usize) -> Option<(u64, Layout, &'t str)> {
        let (count, element) = text.split_once(" x ")?;
        let (layout, rest) = self.layout(element, depth + 1)?;
        Some((count.trim().parse().ok()?, layout, rest))
    }

    /// Parses the fields of a structure after its opening brace; returns the rest after the closing one, too.
    fn fields<'t>(&self, text: &'t str, depth: usize) -> Option<(Vec<Layout>, &'t str)> {
        let (mut fields, mut rest) = (Vec::new(), text.trim_start());
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((fields, rest));
        }
        loop {
            let (field, after) = self.layout(rest, depth + 1)?;
            fields.push(field);
            let after = after.trim_start();
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => return Some((fields, after.strip_prefix('}')?)),
            }
        }
    }
}

/// The width of a pointer to an address space.
fn pointer_bits(space: &str) -> u64 {
    match space {
        "2" | "3" | "5" | "6" => 32,
        "7" => 160,
        "8" => 128,
        "9" => 192,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_data_layout() {
        let types =
            Types::of("%a = type { i8, i32, %\"b c\" }\n%\"b c\" = type { [3 x half], i8 }\n@x = type\n");
        for (text, bytes, rest) in [
            ("i1, ptr", 1, ", ptr"),
            ("i24 %3", 3, " %3"),
            ("float 1.0", 4, " 1.0"),
            ("<3 x float>, x", 12, ", x"),
            ("<4 x i1>", 1, ""),
            ("<2 x bfloat> %v", 4, " %v"),
            ("[3 x <2 x half>] y", 12, " y"),
            ("ptr addrspace(3) %p", 4, " %p"),
            ("ptr %p", 8, " %p"),
            ("ptr addrspace(1), z", 8, ", z"),
            ("{ i8, i32 } w", 8, " w"),
            ("<{ i8, i32 }> w", 5, " w"),
            ("{}", 0, ""),
            ("%\"b c\" u", 8, " u"),
            ("%a", 16, ""),
        ] {
            assert_eq!(types.first(text), Some((bytes, rest)), "{text}");
        }
        for bad in ["", "i0", "x86", "%c", "<4 x", "[4 x i8", "{ i8", "label %x"] {
            assert_eq!(types.first(bad), None, "{bad}");
        }
    }
}
