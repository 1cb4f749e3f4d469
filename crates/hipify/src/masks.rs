//! Masks of warps: CUDA's have 32 bits, and HIP asserts that its own have 64.

use crate::cursor::{Argument, Cursor};
use crate::edit::Edits;
use cpp_lexer::Kind;

/// Functions whose first argument is a mask.
const FUNCTIONS: [&[u8]; 16] = [
    b"__all_sync",
    b"__any_sync",
    b"__ballot_sync",
    b"__match_all_sync",
    b"__match_any_sync",
    b"__reduce_add_sync",
    b"__reduce_and_sync",
    b"__reduce_max_sync",
    b"__reduce_min_sync",
    b"__reduce_or_sync",
    b"__reduce_xor_sync",
    b"__shfl_down_sync",
    b"__shfl_sync",
    b"__shfl_up_sync",
    b"__shfl_xor_sync",
    b"__syncwarp",
];

/// HIP's functions whose results are masks, with 64 bits.
const RESULTS: [&[u8]; 5] =
    [b"__activemask", b"__ballot", b"__ballot_sync", b"__match_all_sync", b"__match_any_sync"];

/// Types of 64 bits.
const WIDE_TYPES: [&[u8]; 6] =
    [b"long", b"uint64_t", b"int64_t", b"uint_fast64_t", b"size_t", b"__hip_uint64_t"];

/// Words in front of a name that do not declare it.
const STATEMENTS: [&[u8]; 6] = [b"return", b"case", b"else", b"do", b"throw", b"sizeof"];

/// All lanes of a warp, whether that has 32 or 64: HIP ignores what a warp lacks.
const ALL: &str = "0xffffffffffffffffull";

/// Widens the mask of a call whose name is token `name`.
pub(crate) fn widen(cursor: &Cursor<'_>, name: usize, edits: &mut Edits) {
    if FUNCTIONS.binary_search(&cursor.text(name)).is_err() {
        return;
    }
    if cursor.before(name).is_some_and(|before| matches!(cursor.text(before), b"define" | b"." | b"->")) {
        return;
    }
    let Some(open) = cursor.after(name).filter(|&open| cursor.is(open, b"(")) else { return };
    let Some(arguments) = cursor.arguments(open) else { return };
    let Some(&mask) = arguments.list.first() else { return };
    let (first, last) = (cursor.tokens[mask.first], cursor.tokens[mask.last]);
    if is_declared(cursor, mask) || is_wide(cursor, mask) {
        return;
    }
    if is_all(cursor, mask) {
        edits.replace(first.start, last.end, ALL);
    } else if mask.first == mask.last && first.kind == Kind::Number {
        let digits = without_suffix(first.text(cursor.source));
        edits.replace(first.start + digits.len(), first.end, "ull");
    } else {
        edits.insert(first.start, "static_cast<unsigned long long>(");
        edits.insert(last.end, ")");
    }
}

/// Translates `__ffs` and `__popc` of a mask: those of HIP have 64 bits.
pub(crate) fn count(cursor: &Cursor<'_>, name: usize, edits: &mut Edits) {
    let to = match cursor.text(name) {
        b"__ffs" => "__ffsll",
        b"__popc" => "__popcll",
        _ => return,
    };
    let Some(open) = cursor.after(name).filter(|&open| cursor.is(open, b"(")) else { return };
    let Some(arguments) = cursor.arguments(open) else { return };
    let &[mask] = &arguments.list[..] else { return };
    let is_result = |index: usize| RESULTS.contains(&cursor.text(index));
    // The last declaration before the use, `auto mask = __ballot_sync(…)`.
    let is_declared = |index: usize| {
        let value = cursor.after(index).filter(|&sign| cursor.is(sign, b"="));
        value.and_then(|sign| cursor.after(sign)).is_some_and(is_result)
    };
    let variable = mask.first == mask.last && cursor.kind(mask.first) == Some(Kind::Word);
    let declaration = || {
        (0..mask.first).rev().filter(|&index| cursor.is(index, cursor.text(mask.first))).find_map(|index| {
            let before = cursor.before(index).filter(|&before| cursor.kind(before) == Some(Kind::Word))?;
            (!STATEMENTS.contains(&cursor.text(before))).then_some((before, index))
        })
    };
    let has_result =
        || declaration().is_some_and(|(before, index)| cursor.is(before, b"auto") && is_declared(index));
    if is_result(mask.first) || variable && has_result() {
        let token = cursor.tokens[name];
        edits.replace(token.start, token.end, to);
    }
}

/// Whether this is a parameter of a declaration, `unsigned mask`, rather than a value.
fn is_declared(cursor: &Cursor<'_>, mask: Argument) -> bool {
    let mut words = 0;
    for index in mask.first..=mask.last {
        match cursor.kind(index) {
            Some(Kind::Word) => words += 1,
            Some(Kind::Space | Kind::LineComment | Kind::BlockComment) => {}
            _ => return false,
        }
    }
    words > 1
}

fn without_suffix(number: &[u8]) -> &[u8] {
    let end = number.iter().rposition(|byte| !matches!(byte, b'u' | b'U' | b'l' | b'L'));
    &number[..end.map_or(0, |end| end + 1)]
}

/// Whether a number has 64 bits.
fn is_wide_number(number: &[u8]) -> bool {
    let digits = without_suffix(number);
    let hexadecimal = digits.strip_prefix(b"0x").or_else(|| digits.strip_prefix(b"0X"));
    number[digits.len()..].iter().any(|byte| matches!(byte, b'l' | b'L'))
        || hexadecimal.is_some_and(|digits| digits.iter().filter(|&&byte| byte != b'\'').count() > 8)
}

/// Whether the mask has 64 bits already.
fn is_wide(cursor: &Cursor<'_>, mask: Argument) -> bool {
    let mut index = mask.first;
    let mut inside = 0_usize;
    while index <= mask.last {
        let text = cursor.text(index);
        match cursor.kind(index) {
            Some(Kind::Number) if is_wide_number(text) => return true,
            Some(Kind::Word) if inside == 0 && WIDE_TYPES.contains(&text) => return true,
            Some(Kind::Word) if index == mask.first && RESULTS.contains(&text) => {
                return cursor.after(index).and_then(|open| cursor.closing(open)) == Some(mask.last);
            }
            // A cast in front counts, and the arguments of a call do not.
            Some(Kind::Punct) if matches!(text, b"(" | b"[") && index != mask.first => inside += 1,
            Some(Kind::Punct) if matches!(text, b")" | b"]") => inside = inside.saturating_sub(1),
            _ => {}
        }
        index += 1;
    }
    false
}

/// Whether the mask is that of all 32 lanes: `0xffffffff`, `~0`, `-1`.
fn is_all(cursor: &Cursor<'_>, mask: Argument) -> bool {
    let mut tokens = (mask.first..=mask.last).filter(|&index| !cursor.tokens[index].is_trivia());
    let (first, second, third) = (tokens.next(), tokens.next(), tokens.next());
    let number = |index: Option<usize>| {
        let index = index.filter(|&index| cursor.kind(index) == Some(Kind::Number))?;
        let text = without_suffix(cursor.text(index)).to_ascii_lowercase();
        let text = String::from_utf8(text).ok()?.replace('\'', "");
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    match (first, second, third) {
        (only, None, None) => number(only) == Some(0xffff_ffff),
        (Some(sign), value, None) if cursor.is(sign, b"-") => number(value) == Some(1),
        (Some(sign), value, None) if cursor.is(sign, b"~") => number(value) == Some(0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted() {
        assert!(FUNCTIONS.is_sorted());
    }
}
