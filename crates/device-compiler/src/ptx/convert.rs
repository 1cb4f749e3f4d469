//! Comparisons and conversions.

use super::table::{Type, row, type_of};

/// A test's function, the way in which its result is joined with a third operand's, and the types.
struct Test {
    function: &'static str,
    join: Option<&'static str>,
    types: Vec<&'static str>,
}

fn test(parts: &[&str]) -> Option<Test> {
    let (mut function, mut join, mut types) = (None, None, Vec::new());
    for part in parts {
        match *part {
            "ftz" => {}
            "and" | "or" | "xor" => join = Some(*part),
            part => match type_of(part) {
                Some(ty) => types.push(ty.value),
                None if function.is_none() => {
                    function = Some(row(&format!("setp.{part}"))?.strip_suffix("<T>")?);
                }
                None => return None,
            },
        }
    }
    let join = match join {
        Some("and") => Some("join_and"),
        Some("or") => Some("join_or"),
        Some(_) => Some("join_xor"),
        None => None,
    };
    Some(Test { function: function?, join, types })
}

/// Comparisons to predicates: with a second result, the opposite, or with a third operand, combined with the
/// result.
pub(super) fn comparison(parts: &[&str], operands: usize) -> Option<String> {
    let Test { function, join, types } = test(parts)?;
    let [kind] = types[..] else { return None };
    match (join, operands) {
        // For two halves in a word, the second result is that of the upper one.
        (None, 4) if kind.ends_with("f16x2") => {
            Some(format!("setp_pair<{kind}, ::__cuda_ptx::is_{function}>"))
        }
        (None, 4) => Some(format!("setp_both<{kind}, ::__cuda_ptx::is_{function}>")),
        _ if kind.ends_with("f16x2") => None,
        (None, _) => Some(format!("{function}<{kind}>")),
        (Some(join), 4) => {
            Some(format!("setp_joined<{kind}, ::__cuda_ptx::is_{function}, ::__cuda_ptx::{join}>"))
        }
        (Some(join), 5) => {
            Some(format!("setp_both_joined<{kind}, ::__cuda_ptx::is_{function}, ::__cuda_ptx::{join}>"))
        }
        (Some(_), _) => None,
    }
}

/// Comparisons to numbers or masks.
pub(super) fn set(parts: &[&str]) -> Option<String> {
    let Test { function, join, types } = test(parts)?;
    let [to, of] = types[..] else { return None };
    let join = join.map_or("join_none", |join| join);
    Some(format!("set_<{to}, {of}, ::__cuda_ptx::is_{function}, ::__cuda_ptx::{join}>"))
}

fn is_float(ty: &Type) -> bool {
    ty.name.contains('f')
}

fn is_half(ty: &Type) -> bool {
    matches!(ty.name, "f16" | "bf16")
}

/// Conversions: modes, then the type of the result, then that of the operand.
pub(super) fn conversion(parts: &[&str]) -> Option<String> {
    if let ["pack", "sat", kind, "s32"] = parts
        && matches!(*kind, "s16" | "u16")
    {
        return Some(format!("cvt_pack<16, {}>", kind.starts_with('s')));
    }
    if let ["pack", "sat", kind, "s32", "b32"] = parts {
        let bits = kind.strip_prefix(['s', 'u']).filter(|bits| matches!(*bits, "8" | "4" | "2"))?;
        return Some(format!("cvt_pack<{bits}, {}>", kind.starts_with('s')));
    }
    let types: Vec<&Type> = parts.iter().filter_map(|part| type_of(part)).collect();
    let modes: Vec<&str> = parts.iter().copied().filter(|part| type_of(part).is_none()).collect();
    let [to, from] = types[..] else { return None };
    let has = |mode: &str| modes.contains(&mode);
    let (mut rounding, mut whole) = (None, None);
    for mode in &modes {
        match *mode {
            "rn" | "rz" | "rm" | "rp" | "rna" => rounding = Some(*mode),
            "rni" | "rzi" | "rmi" | "rpi" => whole = mode.strip_suffix('i'),
            "ftz" | "sat" | "satfinite" | "relu" => {}
            _ => return None,
        }
    }
    let (relu, finite) = (has("relu"), has("satfinite"));
    let flags = match (relu, finite) {
        (false, false) => String::new(),
        _ => format!(", {relu}, {finite}"),
    };
    let mode = rounding.unwrap_or("rn");
    if to.name == "tf32" {
        return (from.name == "f32" && !finite && matches!(mode, "rna" | "rn" | "rz"))
            .then(|| format!("cvt_tf32<::__cuda_ptx::{mode}{}>", if relu { ", true" } else { "" }));
    }
    if mode == "rna" {
        return None;
    }
    let narrow = |ty: &Type| ty.name.starts_with('e') || ty.name.starts_with("ue");
    if to.name == "ue8m0x2" {
        return (finite && !relu && matches!(mode, "rz" | "rp") && matches!(from.name, "f32" | "bf16x2"))
            .then(|| format!("cvt_to_ue8m0<::__cuda_ptx::{mode}, {}>", from.value));
    }
    if narrow(to) {
        // Too large numbers are always clamped.
        let wanted = finite
            && mode == "rn"
            && (from.name == "f32" || from.name == "f16x2" && matches!(to.name, "e4m3x2" | "e5m2x2"));
        let relu = if relu { ", true" } else { "" };
        return wanted.then(|| format!("cvt_to_narrow<{}, {}{relu}>", to.value, from.value));
    }
    if narrow(from) {
        let wanted = match to.name {
            "f16x2" => from.name != "ue8m0x2",
            "bf16x2" => true,
            _ => false,
        };
        let relu = if relu { ", true" } else { "" };
        return (wanted && !finite).then(|| format!("cvt_from_narrow<{}, {}{relu}>", to.value, from.value));
    }
    if to.name.ends_with("x2") {
        return (is_float(to) && from.name == "f32" && matches!(mode, "rn" | "rz"))
            .then(|| format!("cvt_pair<::__cuda_ptx::{mode}, {}, {}{flags}>", to.value, from.value));
    }
    if relu || finite {
        return (is_half(to) && from.name == "f32" && matches!(mode, "rn" | "rz"))
            .then(|| format!("cvt_half<::__cuda_ptx::{mode}, {}, {}{flags}>", to.value, from.value));
    }
    let sat = if has("sat") { "_sat" } else { "" };
    if is_float(from) && (!is_float(to) || whole.is_some()) {
        if is_float(to) {
            let mode = whole.filter(|_| to.name == from.name)?;
            return Some(format!("cvt_round{sat}<::__cuda_ptx::{mode}, {}, {}>", to.value, from.value));
        }
        // Results are clamped with `sat` and without.
        let mode = whole.or(rounding).unwrap_or("rz");
        return Some(format!("cvt_to_int<::__cuda_ptx::{mode}, {}, {}>", to.value, from.value));
    }
    if is_float(to) && mode != "rn" {
        return sat
            .is_empty()
            .then(|| format!("cvt_directed<::__cuda_ptx::{mode}, {}, {}>", to.value, from.value));
    }
    Some(format!("cvt{sat}<{}, {}>", to.value, from.value))
}
