//! Video instructions: arithmetic on parts of registers, and on the two or four numbers in each.

use super::instruction::Operand;

/// What a name says, beside its operation.
struct Form {
    /// The signs of the result and the operands, in their order.
    signed: Vec<bool>,
    saturated: bool,
    /// What happens with the third operand.
    second: &'static str,
    /// The kind of comparison or shift.
    mode: &'static str,
}

impl Form {
    fn of(parts: &[&str]) -> Option<Self> {
        let mut form = Self { signed: Vec::new(), saturated: false, second: "", mode: "" };
        for part in parts {
            match *part {
                "u32" => form.signed.push(false),
                "s32" => form.signed.push(true),
                "sat" => form.saturated = true,
                "add" => form.second = "add",
                "min" => form.second = "min",
                "max" => form.second = "max",
                "clamp" => form.mode = "clamp",
                "wrap" => form.mode = "wrap",
                "po" => form.mode = "po",
                "shr7" => form.mode = "shr7",
                "shr15" => form.mode = "shr15",
                "eq" => form.mode = "eq",
                "ne" => form.mode = "ne",
                "lt" => form.mode = "lt",
                "le" => form.mode = "le",
                "gt" => form.mode = "gt",
                "ge" => form.mode = "ge",
                _ => return None,
            }
        }
        Some(form)
    }
}

/// The call for a video instruction.
pub(super) fn call(first: &str, parts: &[&str], operands: &[Operand]) -> Option<String> {
    let form = Form::of(parts)?;
    let (operation, lanes) = match first.strip_suffix('2') {
        Some(operation) => (operation, 2),
        None => first.strip_suffix('4').map_or((first, 1), |operation| (operation, 4)),
    };
    // Comparisons have no type of the result, which is 0 or 1.
    let is_set = operation == "vset";
    let types = match (is_set, &form.signed[..]) {
        (false, &[d, a, b]) => [d, a, b],
        (true, &[a, b]) => [false, a, b],
        _ => return None,
    };
    let mode_fits = match operation {
        "vset" => matches!(form.mode, "eq" | "ne" | "lt" | "le" | "gt" | "ge") && !form.saturated,
        "vshl" | "vshr" => matches!(form.mode, "clamp" | "wrap") && lanes == 1 && !types[2],
        "vmad" => matches!(form.mode, "" | "po" | "shr7" | "shr15") && lanes == 1 && form.second.is_empty(),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" => form.mode.is_empty(),
        "vavrg" => form.mode.is_empty() && lanes > 1,
        _ => return None,
    };
    if !mode_fits || lanes > 1 && !matches!(form.second, "" | "add") {
        return None;
    }
    if lanes > 1 {
        return in_lanes(operation, lanes, types, &form, operands);
    }
    let function = match operation {
        "vset" | "vshl" | "vshr" => format!("{operation}_{}", form.mode),
        "vmad" => return multiply(types, &form, operands),
        operation => operation.to_owned(),
    };
    let [d, rest @ ..] = operands else {
        return operands.is_empty().then(String::new);
    };
    let (result, merged) = match d {
        Operand::Value(result) => (result, None),
        Operand::Part(result, part) => (result, Some(*part)),
        _ => return None,
    };
    let [a, b, others @ ..] = rest else { return None };
    let (a, b) = (part(a, types[1])?, part(b, types[2])?);
    let saturated = form.saturated;
    let d = types[0];
    let place = merged.unwrap_or("all");
    let value = format!(
        "::__cuda_ptx::video_result<{d}, {saturated}, ::__cuda_ptx::part_{place}>(::__cuda_ptx::{function}({a}, {b}))"
    );
    let last = match (form.second, merged, others) {
        ("", None, []) => format!("::__cuda_ptx::set({result}, static_cast<unsigned>({value})); "),
        ("", Some(place), [Operand::Value(c)]) => {
            format!("::__cuda_ptx::video_merge<::__cuda_ptx::part_{place}>({result}, {value}, {c}); ")
        }
        (second @ ("add" | "min" | "max"), None, [Operand::Value(c)]) => {
            format!("::__cuda_ptx::video_{second}<{d}>({result}, {value}, {c}); ")
        }
        _ => return None,
    };
    Some(last)
}

/// The two or four numbers of each register, without choosing among them.
fn in_lanes(
    operation: &str,
    lanes: u32,
    types: [bool; 3],
    form: &Form,
    operands: &[Operand],
) -> Option<String> {
    let [d, a, b] = types;
    let function = if operation == "vset" { format!("vset_{}", form.mode) } else { operation.to_owned() };
    let mut values = Vec::new();
    for operand in operands {
        let Operand::Value(value) = operand else { return None };
        values.push(value.as_str());
    }
    if !values.is_empty() && values.len() != 4 {
        return None;
    }
    Some(format!(
        "::__cuda_ptx::video_lanes<{lanes}, {d}, {a}, {b}, {}, {}, ::__cuda_ptx::is_{function}>({}); ",
        form.saturated,
        form.second == "add",
        values.join(", ")
    ))
}

/// A product and a sum.
fn multiply(types: [bool; 3], form: &Form, operands: &[Operand]) -> Option<String> {
    let [d, a, b, c] = operands else {
        return operands.is_empty().then(String::new);
    };
    let (Operand::Value(d), Operand::Value(c)) = (d, c) else { return None };
    // One operand may be negative.
    let signed = |operand: &Operand, sign: bool| match operand {
        Operand::Value(value) => match value.strip_prefix('-') {
            Some(value) => Some((part(&Operand::Value(value.to_owned()), sign)?, true)),
            None => Some((part(operand, sign)?, false)),
        },
        _ => Some((part(operand, sign)?, false)),
    };
    let ((a, a_minus), (b, b_minus)) = (signed(a, types[1])?, signed(b, types[2])?);
    let (c, c_minus) = c.strip_prefix('-').map_or((c.as_str(), false), |c| (c, true));
    let shift = match form.mode {
        "shr7" => 7,
        "shr15" => 15,
        _ => 0,
    };
    let one = form.mode == "po";
    let minus = a_minus != b_minus;
    // The product's sign decides about that of the third operand and the clamping.
    let signed = types[1] || types[2] || minus || c_minus;
    let _ = types[0];
    Some(format!(
        "::__cuda_ptx::vmad<{signed}, {}, {shift}, {one}, {minus}, {c_minus}>({d}, {a}, {b}, {c}); ",
        form.saturated
    ))
}

/// The value of a part of a register, with its sign.
fn part(operand: &Operand, signed: bool) -> Option<String> {
    let (value, part) = match operand {
        Operand::Value(value) => (value, "all"),
        Operand::Part(value, part) => (value, *part),
        _ => return None,
    };
    Some(format!("::__cuda_ptx::video_part<{signed}, ::__cuda_ptx::part_{part}>({value})"))
}
