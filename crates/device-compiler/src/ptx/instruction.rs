//! The C++ functions for PTX instructions, and the C++ types for PTX types.

/// An operand of an instruction.
pub(super) enum Operand {
    /// A register or number.
    Value(String),
    /// The text in brackets.
    Address(String),
    /// The texts in braces.
    Vector(Vec<String>),
}

/// PTX's types. Those of registers are `bits`, those of instructions `value`.
struct Type {
    name: &'static str,
    bits: &'static str,
    value: &'static str,
}

const fn ty(name: &'static str, bits: &'static str, value: &'static str) -> Type {
    Type { name, bits, value }
}

#[rustfmt::skip]
const TYPES: &[Type] = &[
    ty("pred", "bool", "bool"),
    ty("b8", "unsigned char", "unsigned char"), ty("u8", "unsigned char", "unsigned char"), ty("s8", "unsigned char", "signed char"),
    ty("b16", "unsigned short", "unsigned short"), ty("u16", "unsigned short", "unsigned short"), ty("s16", "unsigned short", "short"),
    ty("b32", "unsigned", "unsigned"), ty("u32", "unsigned", "unsigned"), ty("s32", "unsigned", "int"),
    ty("b64", "unsigned long long", "unsigned long long"), ty("u64", "unsigned long long", "unsigned long long"),
    ty("s64", "unsigned long long", "long long"),
    ty("f16", "unsigned short", "::__cuda_ptx::f16"), ty("bf16", "unsigned short", "::__cuda_ptx::bf16"),
    ty("s16x2", "unsigned", "::__cuda_ptx::s16x2"), ty("u16x2", "unsigned", "::__cuda_ptx::u16x2"),
    ty("e4m3", "unsigned char", "::__cuda_ptx::e4m3"), ty("e5m2", "unsigned char", "::__cuda_ptx::e5m2"),
    ty("e4m3x2", "unsigned short", "::__cuda_ptx::e4m3"), ty("e5m2x2", "unsigned short", "::__cuda_ptx::e5m2"),
    ty("s4", "unsigned", "::__cuda_ptx::s4"), ty("u4", "unsigned", "::__cuda_ptx::u4"),
    ty("f16x2", "unsigned", "::__cuda_ptx::f16x2"), ty("bf16x2", "unsigned", "::__cuda_ptx::bf16x2"),
    ty("f32", "float", "float"), ty("tf32", "unsigned", "float"), ty("f64", "double", "double"),
];

fn type_of(part: &str) -> Option<&'static Type> {
    TYPES.iter().find(|ty| ty.name == part)
}

/// The type of a register's variable.
pub(super) fn register_type(name: &str) -> Option<&'static str> {
    type_of(name).map(|ty| ty.bits)
}

/// Special registers, without their `%`.
pub(super) fn special(name: &str) -> Option<&'static str> {
    Some(match name {
        "tid.x" => "threadIdx.x",
        "tid.y" => "threadIdx.y",
        "tid.z" => "threadIdx.z",
        "ntid.x" => "blockDim.x",
        "ntid.y" => "blockDim.y",
        "ntid.z" => "blockDim.z",
        "ctaid.x" => "blockIdx.x",
        "ctaid.y" => "blockIdx.y",
        "ctaid.z" => "blockIdx.z",
        "nctaid.x" => "gridDim.x",
        "nctaid.y" => "gridDim.y",
        "nctaid.z" => "gridDim.z",
        "laneid" => "::__cuda_ptx::laneid()",
        "lanemask_eq" => "::__cuda_ptx::lanemask_eq()",
        "lanemask_lt" => "::__cuda_ptx::lanemask_lt()",
        "lanemask_le" => "::__cuda_ptx::lanemask_le()",
        "lanemask_gt" => "::__cuda_ptx::lanemask_gt()",
        "lanemask_ge" => "::__cuda_ptx::lanemask_ge()",
        "warpid" => "::__cuda_ptx::warpid()",
        "nwarpid" => "::__cuda_ptx::nwarpid()",
        "smid" => "__smid()",
        "clock" | "clock_lo" => "static_cast<unsigned>(clock64())",
        "clock64" => "static_cast<unsigned long long>(clock64())",
        "globaltimer_lo" => "static_cast<unsigned>(wall_clock64())",
        "globaltimer_hi" => "static_cast<unsigned>(wall_clock64() >> 32)",
        // Every block is a separate cluster.
        "cluster_ctarank" | "cluster_ctaid.x" | "cluster_ctaid.y" | "cluster_ctaid.z" => "0u",
        "cluster_nctarank" | "cluster_nctaid.x" | "cluster_nctaid.y" | "cluster_nctaid.z" => "1u",
        "globaltimer" => "static_cast<unsigned long long>(wall_clock64())",
        _ => return None,
    })
}

/// PTX's special registers without an equivalent on AMD GPUs.
pub(super) fn is_special(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    matches!(
        first,
        "gridid"
            | "nsmid"
            | "dynamic_smem_size"
            | "total_smem_size"
            | "aggr_smem_size"
            | "clusterid"
            | "nclusterid"
            | "is_explicit_cluster"
            | "current_graph_exec"
            | "clock_hi"
    ) || ["envreg", "pm", "reserved_smem"].iter().any(|start| first.starts_with(start))
}

/// Parts of a name without effect here: rounding to nearest, approximations, cache hints, and that all
/// threads of a warp arrive.
const HINTS: &[&str] = &[
    "rn",
    "rna",
    "rni",
    "ftz",
    "approx",
    "full",
    "aligned",
    "sync",
    "weak",
    "nc",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "global",
    "const",
    "noftz",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::cache_hint",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_first",
    "L2::evict_last",
    "L2::evict_normal",
    "generic",
];

/// An instruction: its name, with types or `_` for any type, and the function, in which `T` stands for the
/// types.
#[rustfmt::skip]
const ROWS: &[(&str, &str)] = &[
    ("mov", "mov<T>"),
    ("add", "add<T>"), ("add.sat", "add_sat<T>"), ("sub", "sub<T>"), ("sub.sat", "sub_sat<T>"),
    ("mul", "mul<T>"), ("mul.sat", "mul_sat<T>"), ("mul.lo", "mul<T>"), ("mul.hi", "mul_hi<T>"), ("mul.wide", "mul_wide<T>"), ("mul24.lo", "mul24<T>"),
    ("mad", "fma<T>"), ("mad.lo", "mad<T>"), ("mad.hi", "mad_hi<T>"), ("mad.wide", "mad_wide<T>"),
    ("fma", "fma<T>"), ("fma.sat", "fma_sat<T>"), ("fma.relu", "fma_relu<T>"),
    ("div", "div<T>"), ("rem", "rem<T>"), ("neg", "neg<T>"), ("abs", "abs_<T>"), ("sad", "sad<T>"),
    ("min", "min_<T>"), ("max", "max_<T>"), ("min.NaN", "min_nan<T>"), ("max.NaN", "max_nan<T>"),
    ("ex2", "ex2<T>"), ("lg2", "lg2<T>"), ("rcp", "rcp<T>"), ("sqrt", "sqrt_<T>"), ("rsqrt", "rsqrt_<T>"),
    ("sin", "sin_<T>"), ("cos", "cos_<T>"), ("tanh", "tanh_<T>"),
    ("and", "band<T>"), ("or", "bor<T>"), ("xor", "bxor<T>"), ("not", "bnot<T>"),
    ("shl", "shl<T>"), ("shr", "shr<T>"),
    ("shf.l.wrap.b32", "shf_l_wrap"), ("shf.r.wrap.b32", "shf_r_wrap"), ("shf.l.clamp.b32", "shf_l_clamp"), ("shf.r.clamp.b32", "shf_r_clamp"),
    ("lop3.b32", "lop3"), ("prmt.b32", "prmt"), ("bfe", "bfe<T>"), ("bfi", "bfi<T>"), ("bfind", "bfind<T>"), ("brev", "brev<T>"),
    ("popc", "popc<T>"), ("clz", "clz<T>"), ("dp4a", "dp4a<T>"), ("selp", "selp<T>"),
    ("setp.eq", "setp_eq<T>"), ("setp.ne", "setp_ne<T>"), ("setp.lt", "setp_lt<T>"), ("setp.le", "setp_le<T>"),
    ("setp.gt", "setp_gt<T>"), ("setp.ge", "setp_ge<T>"), ("setp.lo", "setp_lt<T>"), ("setp.ls", "setp_le<T>"),
    ("setp.hi", "setp_gt<T>"), ("setp.hs", "setp_ge<T>"), ("setp.neu", "setp_neu<T>"), ("setp.num", "setp_num<T>"), ("setp.nan", "setp_nan<T>"),
    ("cvta", "mov<T>"), ("cvta.to", "mov<T>"),
    ("membar.cta", "fence<__HIP_MEMORY_SCOPE_WORKGROUP>"), ("membar.gl", "fence<__HIP_MEMORY_SCOPE_AGENT>"), ("membar.sys", "fence<__HIP_MEMORY_SCOPE_SYSTEM>"),
    ("fence.sc.cta", "fence<__HIP_MEMORY_SCOPE_WORKGROUP>"), ("fence.sc.gpu", "fence<__HIP_MEMORY_SCOPE_AGENT>"), ("fence.sc.sys", "fence<__HIP_MEMORY_SCOPE_SYSTEM>"),
    ("fence.acq_rel.cta", "fence<__HIP_MEMORY_SCOPE_WORKGROUP>"), ("fence.acq_rel.gpu", "fence<__HIP_MEMORY_SCOPE_AGENT>"), ("fence.acq_rel.sys", "fence<__HIP_MEMORY_SCOPE_SYSTEM>"),
    ("bar.warp", "bar_warp_sync"), ("activemask.b32", "activemask"),
    ("nanosleep.u32", "nanosleep"), ("trap", "trap"), ("brkpt", "trap"), ("exit", "exit_"),
    ("add.cc", "add_cc<T>"), ("addc", "addc<T>"), ("addc.cc", "addc_cc<T>"), ("sub.cc", "sub_cc<T>"), ("subc", "subc<T>"), ("subc.cc", "subc_cc<T>"),
    ("mad.lo.cc", "mad_lo_cc<T>"), ("mad.hi.cc", "mad_hi_cc<T>"), ("madc.lo", "madc_lo<T>"), ("madc.hi", "madc_hi<T>"),
    ("madc.lo.cc", "madc_lo_cc<T>"), ("madc.hi.cc", "madc_hi_cc<T>"),
    ("add.rz", "add_rz<T>"), ("add.rm", "add_rm<T>"), ("add.rp", "add_rp<T>"), ("sub.rz", "sub_rz<T>"), ("sub.rm", "sub_rm<T>"), ("sub.rp", "sub_rp<T>"),
    ("mul.rz", "mul_rz<T>"), ("mul.rm", "mul_rm<T>"), ("mul.rp", "mul_rp<T>"), ("div.rz", "div_rz<T>"), ("div.rm", "div_rm<T>"), ("div.rp", "div_rp<T>"),
    ("fma.rz", "fma_rz<T>"), ("fma.rm", "fma_rm<T>"), ("fma.rp", "fma_rp<T>"), ("mad.rz", "fma_rz<T>"), ("mad.rm", "fma_rm<T>"), ("mad.rp", "fma_rp<T>"),
    ("rcp.rz", "rcp_rz<T>"), ("rcp.rm", "rcp_rm<T>"), ("rcp.rp", "rcp_rp<T>"), ("sqrt.rz", "sqrt_rz<T>"), ("sqrt.rm", "sqrt_rm<T>"), ("sqrt.rp", "sqrt_rp<T>"),
    ("copysign", "copysign_<T>"), ("slct", "slct<T>"), ("fns.b32", "fns"),
    ("testp.finite", "testp_finite<T>"), ("testp.infinite", "testp_infinite<T>"), ("testp.number", "testp_number<T>"), ("testp.notanumber", "testp_notanumber<T>"),
    ("set.eq", "set_eq<T>"), ("set.ne", "set_ne<T>"), ("set.lt", "set_lt<T>"), ("set.le", "set_le<T>"), ("set.gt", "set_gt<T>"), ("set.ge", "set_ge<T>"),
    ("createpolicy.fractional.b64", "policy"), ("createpolicy.fractional", "policy"), ("createpolicy.cvt", "policy"),
    ("fence.proxy.async", "nothing"), ("fence.proxy.async.shared", "nothing"), ("fence.proxy.alias", "nothing"),
    ("prefetch", "nothing"), ("applypriority", "nothing"),
    ("discard.L2", "nothing"), ("elect", "elect"), ("match.all", "match_all<T>"),
    ("isspacep.shared", "is_shared"), ("isspacep.local", "is_local"),
    // For global memory; elsewhere, this is a hint.
    ("isspacep", "is_global"),
    ("prefetch.L1", "nothing"), ("prefetch.L2", "nothing"), ("prefetchu.L1", "nothing"),
    ("griddepcontrol.launch_dependents", "nothing"), ("griddepcontrol.wait", "nothing"),
    ("cp.async.shared", "cp_async"),
    ("cp.async.commit_group", "nothing"), ("cp.async.wait_group", "nothing"), ("cp.async.wait_all", "nothing"),
    ("shfl.up.b32", "shfl<0>"), ("shfl.down.b32", "shfl<1>"), ("shfl.bfly.b32", "shfl<2>"), ("shfl.idx.b32", "shfl<3>"),
    ("vote.ballot.b32", "ballot"), ("vote.any.pred", "any"), ("vote.all.pred", "all"), ("match.any", "match_any<T>"),
    ("redux.add", "redux_add<T>"), ("redux.min", "redux_min<T>"), ("redux.max", "redux_max<T>"),
    ("redux.and", "redux_and<T>"), ("redux.or", "redux_or<T>"), ("redux.xor", "redux_xor<T>"),
    ("ldmatrix.m8n8.x1.shared.b16", "ldmatrix<false>"), ("ldmatrix.m8n8.x2.shared.b16", "ldmatrix<false>"), ("ldmatrix.m8n8.x4.shared.b16", "ldmatrix<false>"),
    ("ldmatrix.m8n8.x1.b16", "ldmatrix<false>"), ("ldmatrix.m8n8.x2.b16", "ldmatrix<false>"), ("ldmatrix.m8n8.x4.b16", "ldmatrix<false>"),
    ("ldmatrix.m8n8.x1.trans.shared.b16", "ldmatrix<true>"), ("ldmatrix.m8n8.x2.trans.shared.b16", "ldmatrix<true>"), ("ldmatrix.m8n8.x4.trans.shared.b16", "ldmatrix<true>"),
    ("ldmatrix.m8n8.x1.trans.b16", "ldmatrix<true>"), ("ldmatrix.m8n8.x2.trans.b16", "ldmatrix<true>"), ("ldmatrix.m8n8.x4.trans.b16", "ldmatrix<true>"),
    ("stmatrix.m8n8.x1.shared.b16", "stmatrix<false>"), ("stmatrix.m8n8.x2.shared.b16", "stmatrix<false>"), ("stmatrix.m8n8.x4.shared.b16", "stmatrix<false>"),
    ("stmatrix.m8n8.x1.trans.shared.b16", "stmatrix<true>"), ("stmatrix.m8n8.x2.trans.shared.b16", "stmatrix<true>"), ("stmatrix.m8n8.x4.trans.shared.b16", "stmatrix<true>"),
    ("movmatrix.m8n8.trans.b16", "movmatrix"),
    ("mma.m16n8k8.row.col.f32.f16.f16.f32", "mma_16_1<::__cuda_ptx::f16, float>"), ("mma.m16n8k16.row.col.f32.f16.f16.f32", "mma_16_2<::__cuda_ptx::f16, float>"),
    ("mma.m16n8k8.row.col.f32.bf16.bf16.f32", "mma_16_1<::__cuda_ptx::bf16, float>"), ("mma.m16n8k16.row.col.f32.bf16.bf16.f32", "mma_16_2<::__cuda_ptx::bf16, float>"),
    ("mma.m16n8k8.row.col.f16.f16.f16.f16", "mma_16_1_f16<::__cuda_ptx::f16>"), ("mma.m16n8k16.row.col.f16.f16.f16.f16", "mma_16_2_f16<::__cuda_ptx::f16>"),
    ("mma.m16n8k4.row.col.f32.tf32.tf32.f32", "mma_16_1<float, float>"), ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "mma_16_2<float, float>"),
];

/// The first parts of PTX instructions that this module lacks, to tell them from other assembly.
const OTHER_PTX: &[&str] = &[
    "addc",
    "alloca",
    "applypriority",
    "barrier",
    "bmsk",
    "bra",
    "brx",
    "call",
    "clusterlaunchcontrol",
    "copysign",
    "cp",
    "createpolicy",
    "discard",
    "dp2a",
    "elect",
    "fns",
    "getctarank",
    "isspacep",
    "istypep",
    "lg2",
    "mapa",
    "mbarrier",
    "multimem",
    "pmevent",
    "ret",
    "setmaxnreg",
    "set",
    "slct",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "subc",
    "suld",
    "suq",
    "sured",
    "sust",
    "szext",
    "tcgen05",
    "tensormap",
    "testp",
    "tex",
    "tld4",
    "txq",
    "vabsdiff",
    "vadd",
    "vadd2",
    "vadd4",
    "vmad",
    "vmax",
    "vmin",
    "vset",
    "vshl",
    "vshr",
    "vsub",
    "wgmma",
    "wmma",
    "ld",
    "atom",
    "red",
    "cvt",
    "fence",
    "bar",
    "madc",
];

/// Whether a name is a PTX instruction, supported here or not.
pub(super) fn is_ptx(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    let known = || ROWS.iter().any(|(row, _)| row.split('.').next() == Some(first));
    // Other assembly languages have `add`, `bra` and the like, but without dots.
    (OTHER_PTX.contains(&first) || known())
        && (name.contains('.') || matches!(first, "bra" | "ret" | "exit" | "trap"))
}

/// The call for an instruction, followed by a semicolon and a space.
pub(super) fn call(name: &str, operands: &[Operand]) -> Option<String> {
    // The cache policy is the last operand.
    let hinted = name.split('.').any(|part| part == "L2::cache_hint");
    let operands = if hinted { operands.split_last()?.1 } else { operands };
    let function = function(name, operands)?;
    // Addresses come first, because vectors may have any length.
    let mut arguments: Vec<String> = Vec::new();
    for operand in operands {
        if let Operand::Address(address) = operand {
            arguments.push(address.clone());
        }
    }
    for operand in operands {
        match operand {
            Operand::Value(value) => arguments.push(value.clone()),
            Operand::Vector(parts) => arguments.extend(parts.iter().cloned()),
            Operand::Address(_) => {}
        }
    }
    if has_carry(name) {
        arguments.push(CARRY.into());
    }
    Some(format!("::__cuda_ptx::{function}({}); ", arguments.join(", ")))
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

fn function(name: &str, operands: &[Operand]) -> Option<String> {
    let mut parts = name.split('.');
    let first = parts.next()?;
    // The block's own part of a cluster's memory.
    let parts: Vec<&str> = parts.map(|part| if part == "shared::cta" { "shared" } else { part }).collect();
    match (first, operands) {
        ("mov", [Operand::Vector(_), _]) => return Some("unpack".into()),
        ("mov", [_, Operand::Vector(_)]) => return Some("pack".into()),
        ("ld" | "ldu" | "st", _) => return memory(first, &parts),
        ("atom" | "red", _) => return atomic(first, &parts),
        ("cvt", _) => return conversion(&parts),
        ("setp", _) => return comparison(&parts, operands.len()),
        ("mma", _) if parts.contains(&"row") => {
            if let Some(product) = product(&parts) {
                return Some(product);
            }
        }
        ("bar" | "barrier", _) if parts.iter().all(|part| matches!(*part, "sync" | "cta" | "aligned")) => {
            // Other barriers, or fewer threads than the block has, are not supported.
            return match operands {
                [] => Some("bar_sync".into()),
                [Operand::Value(barrier)] if barrier == "0" => Some("bar_sync".into()),
                _ => None,
            };
        }
        _ => {}
    }
    // The full name, or the name without hints and types, whichever has a row.
    let significant: Vec<&str> = parts.iter().copied().filter(|part| !HINTS.contains(part)).collect();
    let (types, rest): (Vec<&str>, Vec<&str>) = significant.iter().partition(|part| type_of(part).is_some());
    let join =
        |parts: &[&str]| std::iter::once(first).chain(parts.iter().copied()).collect::<Vec<_>>().join(".");
    let row = |name: &str| ROWS.iter().find(|(row, _)| *row == name).map(|(_, function)| *function);
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
    let types: Vec<&str> = types.iter().filter_map(|part| type_of(part)).map(|ty| ty.value).collect();
    Some(function.replace("<T>", &format!("<{}>", types.join(", "))))
}

const SCOPES: &[(&str, &str)] = &[
    ("cta", "__HIP_MEMORY_SCOPE_WORKGROUP"),
    ("cluster", "__HIP_MEMORY_SCOPE_AGENT"),
    ("gpu", "__HIP_MEMORY_SCOPE_AGENT"),
    ("sys", "__HIP_MEMORY_SCOPE_SYSTEM"),
];
const ORDERS: &[(&str, &str)] = &[
    ("relaxed", "__ATOMIC_RELAXED"),
    ("acquire", "__ATOMIC_ACQUIRE"),
    ("release", "__ATOMIC_RELEASE"),
    ("acq_rel", "__ATOMIC_ACQ_REL"),
];

fn look_up(table: &'static [(&str, &str)], part: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == part).map(|(_, value)| *value)
}

/// Loads and stores.
fn memory(first: &str, parts: &[&str]) -> Option<String> {
    let base = if first == "st" { "st" } else { "ld" };
    let (mut shared, mut volatile, mut order, mut scope, mut kind) = (false, false, None, None, None);
    for part in parts {
        match *part {
            "shared" => shared = true,
            "volatile" => volatile = true,
            "v2" | "v4" => {}
            part if HINTS.contains(&part) => {}
            part => {
                if let Some(found) = look_up(ORDERS, part) {
                    order = Some(found);
                } else if let Some(found) = look_up(SCOPES, part) {
                    scope = Some(found);
                } else {
                    kind = Some(type_of(part)?.value);
                }
            }
        }
    }
    let kind = kind?;
    Some(match (order, scope) {
        (Some(order), Some(scope)) if !shared => format!("{base}_ordered<{order}, {scope}, {kind}>"),
        (None, None) => {
            let (volatile, shared) =
                (if volatile { "_volatile" } else { "" }, if shared { "_shared" } else { "" });
            format!("{base}{volatile}{shared}<{kind}>")
        }
        _ => return None,
    })
}

/// Atomic operations, with a result or without.
fn atomic(first: &str, parts: &[&str]) -> Option<String> {
    let (mut order, mut scope, mut operation, mut kind) =
        ("__ATOMIC_RELAXED", "__HIP_MEMORY_SCOPE_AGENT", None, None);
    let mut space = "global";
    let mut vector = false;
    for part in parts {
        match *part {
            "global" | "noftz" | "L2::cache_hint" => {}
            "shared" => space = "shared",
            "v2" | "v4" => vector = true,
            "add" | "min" | "max" | "and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec" => {
                operation = Some(*part)
            }
            part => {
                if let Some(found) = look_up(ORDERS, part) {
                    order = found;
                } else if let Some(found) = look_up(SCOPES, part) {
                    scope = found;
                } else {
                    kind = Some(type_of(part)?);
                }
            }
        }
    }
    let (operation, kind) = (operation?, kind?);
    // Only `atom` has a result, which comes first; `red` has separate functions.
    let red = if first == "red" { "red_" } else { "atom_" };
    let pair = if kind.name.ends_with("x2") { "_pair" } else { "" };
    if (!pair.is_empty() || vector) && operation != "add" {
        return None;
    }
    if vector {
        return (first == "red" && pair.is_empty())
            .then(|| format!("red_add_vector<{order}, {scope}, {}>", kind.value));
    }
    let space = if space == "shared" { ", true" } else { "" };
    Some(format!("{red}{operation}{pair}<{order}, {scope}, {}{space}>", kind.value))
}

/// Matrix products with elements narrower than halves: the types of both operands matter.
fn product(parts: &[&str]) -> Option<String> {
    let shape = parts.iter().copied().find(|part| part.starts_with('m') && part.contains('n'))?;
    let types: Vec<&str> = parts.iter().copied().filter(|part| type_of(part).is_some()).collect();
    let [d, a, b, c] = types[..] else { return None };
    let kind = |name| match name {
        "s8" | "u8" => Some((1, "int", "s32")),
        "s4" | "u4" => Some((0, "int", "s32")),
        "e4m3" | "e5m2" => Some((2, "float", "f32")),
        _ => None,
    };
    let (of_a, of_b) = (kind(a)?, kind(b)?);
    if of_a != of_b || d != of_a.2 || c != of_a.2 {
        return None;
    }
    let function = match (shape, of_a.0) {
        ("m8n8k16", 1) | ("m8n8k32", 0) => "mma_8_1",
        ("m16n8k16", 1 | 2) | ("m16n8k32", 0) => "mma_16_1",
        ("m16n8k32", 1 | 2) | ("m16n8k64", 0) => "mma_16_2",
        _ => return None,
    };
    // `satfinite` clamps sums that do not fit. So few products of narrow numbers always fit, so it is
    // ignored.
    let (a, b) = (type_of(a)?.value, type_of(b)?.value);
    Some(format!("{function}<::__cuda_ptx::both<{a}, {b}>, {}>", of_a.1))
}

/// Comparisons to predicates: with a second result, the opposite, or with a third operand, combined with the
/// result.
fn comparison(parts: &[&str], operands: usize) -> Option<String> {
    let (mut test, mut join, mut kind) = (None, None, None);
    for part in parts {
        match *part {
            "ftz" => {}
            "and" | "or" | "xor" => join = Some(*part),
            part => match type_of(part) {
                Some(ty) => kind = Some(ty.value),
                None if test.is_none() => test = Some(part),
                None => return None,
            },
        }
    }
    let row = |test: &str| ROWS.iter().find(|(row, _)| row.strip_prefix("setp.") == Some(test));
    let function = row(test?)?.1.strip_suffix("<T>")?;
    let kind = kind?;
    match (join, operands) {
        (None, 4) => Some(format!("setp_both<{kind}, ::__cuda_ptx::is_{function}>")),
        (None, _) => Some(format!("{function}<{kind}>")),
        (Some(join), 4) => {
            Some(format!("setp_joined<{kind}, ::__cuda_ptx::is_{function}, ::__cuda_ptx::join_{join}>"))
        }
        (Some(_), _) => None,
    }
}

/// Conversions: modes, then the type of the result, then that of the operand.
fn conversion(parts: &[&str]) -> Option<String> {
    let types: Vec<&Type> = parts.iter().filter_map(|part| type_of(part)).collect();
    let modes: Vec<&str> = parts.iter().copied().filter(|part| type_of(part).is_none()).collect();
    let [to, from] = types[..] else { return None };
    let has = |mode: &str| modes.contains(&mode);
    if modes.iter().any(|mode| {
        !matches!(
            *mode,
            "rn" | "rz"
                | "rm"
                | "rp"
                | "rna"
                | "rni"
                | "rzi"
                | "rmi"
                | "rpi"
                | "ftz"
                | "sat"
                | "satfinite"
                | "relu"
        )
    }) {
        return None;
    }
    let is_float = |ty: &Type| ty.name.contains('f');
    if to.name == "tf32" {
        return Some("cvt_tf32".into());
    }
    let narrow = |ty: &Type| ty.name.starts_with('e');
    if narrow(to) {
        // Too large numbers are always clamped.
        let wanted = has("satfinite") && !has("relu") && matches!(from.name, "f32" | "f16x2");
        return wanted.then(|| format!("cvt_to_fp8<{}, {}>", to.value, from.value));
    }
    if narrow(from) {
        return (to.name == "f16x2" && !has("relu")).then(|| format!("cvt_from_fp8<{}>", from.value));
    }
    if to.name.ends_with("x2") {
        return (!has("satfinite") && !has("rz")).then(|| {
            format!("cvt_pair{}<{}, {}>", if has("relu") { "_relu" } else { "" }, to.value, from.value)
        });
    }
    if has("relu") || has("satfinite") {
        return None;
    }
    let whole = modes.iter().find_map(|mode| mode.strip_suffix('i'));
    if is_float(from) && (!is_float(to) || whole.is_some()) {
        let mode = whole.unwrap_or("rz");
        let function = if is_float(to) { "cvt_round" } else { "cvt_to_int" };
        if is_float(to) && to.name != from.name {
            return None;
        }
        return Some(format!("{function}<::__cuda_ptx::{mode}, {}, {}>", to.value, from.value));
    }
    // Floating-point results are only rounded to nearest.
    if is_float(to) && (has("rz") || has("rm") || has("rp")) {
        return None;
    }
    Some(format!("cvt{}<{}, {}>", if has("sat") { "_sat" } else { "" }, to.value, from.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<String> {
        function(name, &[])
    }

    #[test]
    fn names_lead_to_functions_with_their_types() {
        for (name, expected) in [
            ("add.s32", Some("add<int>")),
            ("add.rn.ftz.f32", Some("add<float>")),
            ("mul.wide.s32", Some("mul_wide<int>")),
            ("dp4a.s32.u32", Some("dp4a<int, unsigned>")),
            ("cvt.rn.f16.f32", Some("cvt<::__cuda_ptx::f16, float>")),
            ("cvt.rzi.s32.f32", Some("cvt_to_int<::__cuda_ptx::rz, int, float>")),
            ("cvt.rn.bf16x2.f32", Some("cvt_pair<::__cuda_ptx::bf16x2, float>")),
            ("cvt.rz.f16.f32", None),
            ("cvta.to.shared.u64", Some("mov<unsigned long long>")),
            ("ld.global.nc.L1::no_allocate.v4.f32", Some("ld<float>")),
            (
                "ld.acquire.gpu.global.u32",
                Some("ld_ordered<__ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT, unsigned>"),
            ),
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
            ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", None),
            ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", Some("ldmatrix<true>")),
            ("shfl.sync.bfly.b32", Some("shfl<2>")),
            ("wgmma.fence.sync.aligned", None),
            (
                "atom.shared.add.u32",
                Some("atom_add<__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT, unsigned, true>"),
            ),
            ("cvt.rn.satfinite.e4m3x2.f32", Some("cvt_to_fp8<::__cuda_ptx::e4m3, float>")),
            ("cvt.rn.e4m3x2.f32", None),
            ("cvt.rz.bf16x2.f32", None),
            ("setp.lt.u32", Some("setp_lt<unsigned>")),
            ("bar.arrive", None),
            ("mbarrier.init.shared::cta.b64", None),
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
    fn other_assembly_is_no_ptx() {
        assert!(is_ptx("wgmma.fence.sync.aligned") && is_ptx("bra") && is_ptx("bra.uni"));
        assert!(!is_ptx("v_add_f32") && !is_ptx("s_waitcnt") && !is_ptx("mov") && !is_ptx("cpuid"));
    }

    #[test]
    fn no_instruction_has_two_rows() {
        for (i, (name, _)) in ROWS.iter().enumerate() {
            assert!(ROWS[..i].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
