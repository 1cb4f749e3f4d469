//! The C++ call for an instruction, from its name and operands.

use super::table::{HINTS, is_special, refusal, row, type_of};
use super::{convert, matrix, memory, video};

/// An operand of an instruction.
pub(super) enum Operand {
    /// A register or number.
    Value(String),
    /// A part of a register: its value, and `b0` to `b3`, `h0` or `h1`.
    Part(String, &'static str),
    /// The text in brackets.
    Address(String),
    /// The texts in braces.
    Vector(Vec<String>),
    /// The parts of a special register that is a vector.
    Special(Vec<String>),
}

/// The call for an instruction, followed by a semicolon and a space; else the reason that there is none.
pub(super) fn call(name: &str, operands: &[Operand]) -> Result<String, &'static str> {
    compose(name, operands).ok_or_else(|| refusal(name))
}

fn compose(name: &str, operands: &[Operand]) -> Option<String> {
    let mut parts = name.split('.');
    let first = parts.next()?;
    // The block's own part of a cluster's memory: each block is a cluster by itself.
    let parts: Vec<&str> = parts
        .map(|part| if matches!(part, "shared::cta" | "shared::cluster") { "shared" } else { part })
        .collect();
    if first.starts_with('v') && first != "vote" {
        return video::call(first, &parts, operands);
    }
    if let (["v4", kind], [Operand::Vector(to), Operand::Special(from)]) = (&parts[..], operands)
        && first == "mov"
        && to.len() == from.len()
    {
        let kind = type_of(kind)?.value;
        let moved =
            to.iter().zip(from).map(|(to, from)| format!("::__cuda_ptx::mov<{kind}>({to}, {from}); "));
        return Some(format!("{{ {}}} ", moved.collect::<String>()));
    }
    // The cache policy is the last operand.
    let hinted = parts.contains(&"L2::cache_hint");
    let operands = if hinted && !operands.is_empty() { operands.split_last()?.1 } else { operands };
    let function = function(first, &parts, operands)?;
    // Addresses come first, because vectors may have any length.
    let mut arguments: Vec<String> = Vec::new();
    for operand in operands {
        if let Operand::Address(address) = operand {
            arguments.push(address.clone());
        }
    }
    let addresses = arguments.len();
    for operand in operands {
        match operand {
            Operand::Value(value) => arguments.push(value.clone()),
            Operand::Vector(parts) => arguments.extend(parts.iter().cloned()),
            Operand::Address(_) => {}
            Operand::Part(..) | Operand::Special(_) => return None,
        }
    }
    if has_carry(name) {
        arguments.push(CARRY.into());
    }
    let mut code = format!("::__cuda_ptx::{function}({}); ", arguments.join(", "));
    if let (Some(flush), 0) = (Flush::of(first, &parts), addresses) {
        let results = if first == "setp" && function.starts_with("setp_both") { 2 } else { 1 };
        for argument in arguments.iter_mut().skip(results) {
            if let Some(kind) = flush.operands {
                *argument = format!("::__cuda_ptx::flushed<{kind}>({argument})");
            }
        }
        code = format!("::__cuda_ptx::{function}({}); ", arguments.join(", "));
        if let (Some(kind), Some(result)) = (flush.result, arguments.first()) {
            code =
                format!("{{ {code}::__cuda_ptx::set({result}, ::__cuda_ptx::flushed<{kind}>({result})); }} ");
        }
    }
    Some(code)
}

/// The types as which an instruction with `.ftz` makes subnormal operands and results zero.
struct Flush {
    operands: Option<&'static str>,
    result: Option<&'static str>,
}

impl Flush {
    fn of(first: &str, parts: &[&str]) -> Option<Self> {
        if !parts.contains(&"ftz") {
            return None;
        }
        let types: Vec<&str> = parts.iter().filter_map(|part| type_of(part)).map(|ty| ty.name).collect();
        let flushed = |name: &&str| match *name {
            "f32" | "f16" | "f16x2" | "f32x2" => type_of(name).map(|ty| ty.value),
            _ => None,
        };
        let single = |name: Option<&&str>| name.filter(|name| **name == "f32").and_then(flushed);
        match first {
            // The hardware's instruction has no subnormal results, and small operands make no difference.
            "ex2" | "tanh" | "sin" | "cos" => None,
            "setp" => Some(Self { operands: types.last().and_then(flushed), result: None }),
            "set" => Some(Self { operands: types.last().and_then(flushed), result: None }),
            "slct" => None,
            "cvt" => Some(Self { operands: single(types.last()), result: single(types.first()) }),
            _ => {
                let kind = types.first().and_then(flushed);
                Some(Self { operands: kind, result: kind })
            }
        }
    }
}

/// The variable of the carry.
pub(super) const CARRY: &str = "__ptx_carry";

/// Whether an instruction sets the carry.
pub(super) fn sets_carry(name: &str) -> bool {
    name.split('.').any(|part| part == "cc")
}

/// Whether an instruction adds or subtracts the carry of the one before.
pub(super) fn takes_carry(name: &str) -> bool {
    matches!(name.split('.').next(), Some("addc" | "subc" | "madc"))
}

fn has_carry(name: &str) -> bool {
    sets_carry(name) || takes_carry(name)
}

fn function(first: &str, parts: &[&str], operands: &[Operand]) -> Option<String> {
    match (first, operands) {
        ("mov", [Operand::Vector(_), _]) => return Some("unpack".into()),
        ("mov", [_, Operand::Vector(_)]) => return Some("pack".into()),
        ("ld" | "ldu" | "st", _) if !parts.contains(&"async") => return memory::access(first, parts),
        ("atom" | "red", _) if !parts.contains(&"async") => return memory::atomic(first, parts),
        ("fence", _) => return memory::fence(parts),
        ("mbarrier", _) => return memory::mbarrier(parts, operands),
        ("bar" | "barrier", _) if !matches!(parts.first(), Some(&"warp" | &"cluster")) => {
            return memory::barrier(parts, operands);
        }
        ("cvt", _) => return convert::conversion(parts),
        ("setp", _) => return convert::comparison(parts, operands.len()),
        ("set", _) => return convert::set(parts),
        ("mma", _) => return matrix::product(parts),
        ("ldmatrix" | "stmatrix", _) => return matrix::memory(first, parts),
        ("isspacep", _) if !matches!(parts, ["global" | "shared" | "local"]) => return None,
        _ => {}
    }
    // The full name, or the name without hints and types, whichever has a row.
    let significant: Vec<&str> = parts.iter().copied().filter(|part| !HINTS.contains(part)).collect();
    let (types, rest): (Vec<&str>, Vec<&str>) = significant.iter().partition(|part| type_of(part).is_some());
    let join =
        |parts: &[&str]| std::iter::once(first).chain(parts.iter().copied()).collect::<Vec<_>>().join(".");
    let whole = row(&join(&significant)).filter(|function| !function.contains("<T>"));
    // `shared` names a space in address conversions; elsewhere, it is a hint.
    let rest: Vec<&str> = if first == "cvta" {
        rest.into_iter().filter(|part| !part.starts_with("shared")).collect()
    } else {
        rest
    };
    let function = match whole {
        Some(function) => function,
        None => row(&join(&rest))?,
    };
    if !function.contains("<T>") {
        return Some(function.to_owned());
    }
    if types.is_empty() {
        return None;
    }
    // Other rounding is for f32 alone.
    if ["_rz<T>", "_rm<T>", "_rp<T>"].iter().any(|end| function.ends_with(end)) && types != ["f32"] {
        return None;
    }
    let types: Vec<&str> = types.iter().filter_map(|part| type_of(part)).map(|ty| ty.value).collect();
    // Without `ftz`, small results of an approximation are kept.
    let mark = if matches!(first, "ex2" | "lg2") && parts.contains(&"ftz") { "_ftz" } else { "" };
    Some(function.replace("<T>", &format!("{mark}<{}>", types.join(", "))))
}

/// Whether a word is a special register without an equivalent.
pub(super) fn is_lacking(word: &str) -> bool {
    word.strip_prefix("%%").is_some_and(is_special)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<String> {
        let code = compose(name, &[])?;
        Some(code.strip_prefix("::__cuda_ptx::")?.strip_suffix("(); ")?.to_owned())
    }

    #[test]
    fn names_lead_to_functions_with_their_types() {
        for (name, expected) in [
            ("add.s32", Some("add<int>")),
            ("add.rn.f32", Some("add<float>")),
            ("mul.wide.s32", Some("mul_wide<int>")),
            ("dp4a.s32.u32", Some("dp4a<int, unsigned>")),
            ("cvt.rn.f16.f32", Some("cvt<::__cuda_ptx::f16, float>")),
            ("cvt.rzi.s32.f32", Some("cvt_to_int<::__cuda_ptx::rz, int, float>")),
            ("cvt.rn.bf16x2.f32", Some("cvt_pair<::__cuda_ptx::rn, ::__cuda_ptx::bf16x2, float>")),
            ("cvta.to.shared.u64", Some("mov<unsigned long long>")),
            ("ld.global.nc.L1::no_allocate.v4.f32", Some("ld<float>")),
            (
                "ld.acquire.gpu.global.u32",
                Some("ld_ordered<__ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT, unsigned>"),
            ),
            (
                "ld.acquire.global.sys.v4.b32",
                Some("ld_ordered<__ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM, unsigned>"),
            ),
            ("ld.acquire.gpu.b128", None),
            ("st.volatile.shared.u32", Some("st_volatile_shared<unsigned>")),
            (
                "red.relaxed.gpu.global.add.s32",
                Some("red_add<__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT, int>"),
            ),
            ("cp.async.cg.shared.global.L2::128B", Some("cp_async")),
            (
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                Some("mma_16_2<::__cuda_ptx::bf16, float>"),
            ),
            ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", Some("mma_quads_f32<true, false>")),
            ("mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", Some("mma_quads_f16<false, true>")),
            ("mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f32", None),
            ("mma.sync.aligned.m8n8k4.row.f16.f16.f16.f16", None),
            ("mma.sync.aligned.m16n8k16.col.row.f16.f16.f16.f16", None),
            ("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64.rn", Some("mma_16_1<double, double>")),
            ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32.rn", None),
            (
                "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e4m3.f16",
                Some("mma_16_2_f16<::__cuda_ptx::both<::__cuda_ptx::e5m2, ::__cuda_ptx::e4m3>, float>"),
            ),
            ("mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e4m3.f32", None),
            ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", Some("ldmatrix<true>")),
            ("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16", Some("ldmatrix<true>")),
            ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", None),
            ("shfl.sync.bfly.b32", Some("shfl<2>")),
            ("wgmma.fence.sync.aligned", None),
            (
                "atom.shared.add.u32",
                Some("atom_add<__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT, unsigned, true>"),
            ),
            ("cvt.rn.satfinite.e4m3x2.f32", Some("cvt_to_narrow<::__cuda_ptx::e4m3, float>")),
            ("cvt.rn.e4m3x2.f32", None),
            ("setp.lt.u32", Some("setp_lt<unsigned>")),
            ("isspacep.const", None),
            ("tex.2d.v4.f32.f32", None),
            ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", None),
            (
                "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32",
                Some("mma_16_2<::__cuda_ptx::both<::__cuda_ptx::e5m2, ::__cuda_ptx::e4m3>, float>"),
            ),
            ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32", None),
            ("add", None),
        ] {
            assert_eq!(of(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn subnormal_numbers_become_zero_where_the_instruction_says_so() {
        let operands = || ["d", "a", "b"].map(|name| Operand::Value(name.into()));
        assert_eq!(
            call("add.rn.ftz.f32", &operands()).unwrap(),
            "{ ::__cuda_ptx::add<float>(d, ::__cuda_ptx::flushed<float>(a), ::__cuda_ptx::flushed<float>(b)); \
             ::__cuda_ptx::set(d, ::__cuda_ptx::flushed<float>(d)); } "
        );
        assert_eq!(
            call("setp.lt.ftz.f32", &operands()).unwrap(),
            "::__cuda_ptx::setp_lt<float>(d, ::__cuda_ptx::flushed<float>(a), ::__cuda_ptx::flushed<float>(b)); "
        );
    }
}
