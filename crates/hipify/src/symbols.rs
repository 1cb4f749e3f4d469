//! Calls whose arguments have different types in HIP: symbols, and kernels passed as pointers.

use crate::cursor::Cursor;
use crate::edit::Edits;

/// How an argument changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// `HIP_SYMBOL(…)`.
    Symbol,
    /// A cast to `const void*`.
    Pointer,
    /// HIP's function lacks it.
    Drop,
}

/// HIP's functions, by name, with the number of the changing argument.
const FUNCTIONS: &[(&str, usize, Change)] = &[
    ("hipFuncGetAttributes", 1, Change::Pointer),
    ("hipFuncSetAttribute", 0, Change::Pointer),
    ("hipFuncSetCacheConfig", 0, Change::Pointer),
    ("hipFuncSetSharedMemConfig", 0, Change::Pointer),
    ("hipGetSymbolAddress", 1, Change::Symbol),
    ("hipGetSymbolSize", 1, Change::Symbol),
    ("hipGetTextureReference", 1, Change::Symbol),
    ("hipGraphAddMemcpyNodeFromSymbol", 5, Change::Symbol),
    ("hipGraphAddMemcpyNodeToSymbol", 4, Change::Symbol),
    ("hipGraphExecMemcpyNodeSetParamsFromSymbol", 3, Change::Symbol),
    ("hipGraphExecMemcpyNodeSetParamsToSymbol", 2, Change::Symbol),
    ("hipGraphMemcpyNodeSetParamsFromSymbol", 2, Change::Symbol),
    ("hipGraphMemcpyNodeSetParamsToSymbol", 1, Change::Symbol),
    ("hipLaunchCooperativeKernel", 0, Change::Pointer),
    ("hipLaunchKernel", 0, Change::Pointer),
    ("hipMemcpyFromSymbol", 1, Change::Symbol),
    ("hipMemcpyFromSymbolAsync", 1, Change::Symbol),
    ("hipMemcpyToSymbol", 0, Change::Symbol),
    ("hipMemcpyToSymbolAsync", 0, Change::Symbol),
    ("hipModuleOccupancyMaxPotentialBlockSize", 3, Change::Drop),
    ("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", 3, Change::Drop),
];

/// Changes the arguments of a call of `hip`, whose name in the source is token `name`.
pub(crate) fn rewrite(cursor: &Cursor<'_>, name: usize, hip: &str, edits: &mut Edits) {
    let Ok(row) = FUNCTIONS.binary_search_by(|row| row.0.cmp(hip)) else { return };
    let (_, number, change) = FUNCTIONS[row];
    // A macro definition of the same name is not a call, and a member is something else.
    if cursor.before(name).is_some_and(|before| matches!(cursor.text(before), b"define" | b"." | b"->")) {
        return;
    }
    let Some(open) = cursor.after(name).filter(|&open| cursor.is(open, b"(")) else { return };
    let Some(arguments) = cursor.arguments(open) else { return };
    let Some(argument) = arguments.list.get(number) else { return };
    // A call with only the first argument is not one of these functions.
    if number == 0 && arguments.list.len() == 1 {
        return;
    }
    let (first, last) = (cursor.tokens[argument.first], cursor.tokens[argument.last]);
    let wrap = match change {
        Change::Symbol => "HIP_SYMBOL(",
        Change::Pointer => "reinterpret_cast<const void*>(",
        Change::Drop => {
            let Some(comma) = cursor.before(argument.first) else { return };
            let start = cursor.tokens[comma].start;
            let lines = cursor.source[start..last.end].iter().filter(|&&byte| byte == b'\n').count();
            edits.replace(start, last.end, "\n".repeat(lines));
            return;
        }
    };
    if matches!(cursor.text(argument.first), b"HIP_SYMBOL" | b"reinterpret_cast") {
        return;
    }
    if change == Change::Pointer && is_cast(cursor, argument.first) {
        return;
    }
    edits.insert(first.start, wrap);
    edits.insert(last.end, ")");
}

/// Whether `(void*)` or `(const void*)` begins at a token.
fn is_cast(cursor: &Cursor<'_>, open: usize) -> bool {
    let mut at = Some(open);
    for part in [&b"("[..], b"const", b"void", b"*", b")"] {
        match at {
            Some(here) if cursor.is(here, part) => at = cursor.after(here),
            Some(_) if part == b"const" => {}
            _ => return false,
        }
    }
    true
}

/// Translates `grid = make_uint3(…)`, where `grid` is a `dim3`: HIP's does not become one by an assignment.
pub(crate) fn assign(cursor: &Cursor<'_>, name: usize, edits: &mut Edits) {
    if !cursor.is(name, b"make_uint3") {
        return;
    }
    let assigned =
        cursor.before(name).filter(|&sign| cursor.is(sign, b"=")).and_then(|sign| cursor.before(sign));
    let Some(assigned) = assigned.map(|assigned| cursor.text(assigned)) else { return };
    let mut types = (0..cursor.tokens.len()).filter(|&index| cursor.is(index, b"dim3"));
    if types.any(|index| cursor.after(index).is_some_and(|variable| cursor.is(variable, assigned))) {
        let token = cursor.tokens[name];
        edits.replace(token.start, token.end, "dim3");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
