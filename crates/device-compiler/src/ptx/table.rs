//! The tables: PTX's types, special registers, hints, the functions of its instructions, and the reasons of
//! those that are refused.

/// PTX's types. Those of registers are `bits`, those of instructions `value`.
pub(super) struct Type {
    pub(super) name: &'static str,
    pub(super) bits: &'static str,
    pub(super) value: &'static str,
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
    ty("s64", "unsigned long long", "long long"), ty("b128", "unsigned __int128", "unsigned __int128"),
    ty("f16", "unsigned short", "::__cuda_ptx::f16"), ty("bf16", "unsigned short", "::__cuda_ptx::bf16"),
    ty("s16x2", "unsigned", "::__cuda_ptx::s16x2"), ty("u16x2", "unsigned", "::__cuda_ptx::u16x2"),
    ty("s8x4", "unsigned", "::__cuda_ptx::s8x4"), ty("u8x4", "unsigned", "::__cuda_ptx::u8x4"),
    ty("e4m3", "unsigned char", "::__cuda_ptx::e4m3"), ty("e5m2", "unsigned char", "::__cuda_ptx::e5m2"),
    ty("e2m1", "unsigned char", "::__cuda_ptx::e2m1"), ty("e2m3", "unsigned char", "::__cuda_ptx::e2m3"),
    ty("e3m2", "unsigned char", "::__cuda_ptx::e3m2"),
    ty("e4m3x2", "unsigned short", "::__cuda_ptx::e4m3"), ty("e5m2x2", "unsigned short", "::__cuda_ptx::e5m2"),
    ty("e2m1x2", "unsigned char", "::__cuda_ptx::e2m1"), ty("e2m3x2", "unsigned short", "::__cuda_ptx::e2m3"),
    ty("e3m2x2", "unsigned short", "::__cuda_ptx::e3m2"), ty("ue8m0x2", "unsigned short", "::__cuda_ptx::ue8m0"),
    ty("s4", "unsigned", "::__cuda_ptx::s4"), ty("u4", "unsigned", "::__cuda_ptx::u4"), ty("b1", "unsigned", "::__cuda_ptx::b1"),
    ty("f16x2", "unsigned", "::__cuda_ptx::f16x2"), ty("bf16x2", "unsigned", "::__cuda_ptx::bf16x2"),
    ty("f32", "float", "float"), ty("tf32", "unsigned", "float"), ty("f64", "double", "double"),
    ty("f32x2", "unsigned long long", "::__cuda_ptx::f32x2"),
];

pub(super) fn type_of(part: &str) -> Option<&'static Type> {
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
        "clock_hi" => "static_cast<unsigned>(clock64() >> 32)",
        "clock64" => "static_cast<unsigned long long>(clock64())",
        "globaltimer_lo" => "static_cast<unsigned>(wall_clock64())",
        "globaltimer_hi" => "static_cast<unsigned>(wall_clock64() >> 32)",
        // Every block is a separate cluster.
        "cluster_ctarank" | "cluster_ctaid.x" | "cluster_ctaid.y" | "cluster_ctaid.z" => "0u",
        "cluster_nctarank" | "cluster_nctaid.x" | "cluster_nctaid.y" | "cluster_nctaid.z" => "1u",
        "clusterid.x" => "blockIdx.x",
        "clusterid.y" => "blockIdx.y",
        "clusterid.z" => "blockIdx.z",
        "nclusterid.x" => "gridDim.x",
        "nclusterid.y" => "gridDim.y",
        "nclusterid.z" => "gridDim.z",
        "total_smem_size" => "::__cuda_ptx::shared_size()",
        "dynamic_smem_size" => "(::__cuda_ptx::shared_size() - __builtin_amdgcn_groupstaticsize())",
        "is_explicit_cluster" => "false",
        "globaltimer" => "static_cast<unsigned long long>(wall_clock64())",
        "WARP_SZ" => "32u",
        _ => return None,
    })
}

/// PTX's special registers without an equivalent on AMD GPUs.
pub(super) fn is_special(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    matches!(first, "gridid" | "nsmid" | "aggr_smem_size" | "clusterid" | "nclusterid" | "current_graph_exec")
        || ["envreg", "pm", "reserved_smem"].iter().any(|start| first.starts_with(start))
}

/// Parts of a name without effect here: rounding to nearest, approximations, cache hints, and that all
/// threads of a warp arrive.
#[rustfmt::skip]
pub(super) const HINTS: &[&str] = &[
    "rn", "rna", "rni", "ftz", "approx", "full", "aligned", "sync", "weak", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "global",
    "const", "noftz", "generic", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
    "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::evict_unchanged",
];

/// An instruction: its name without hints, with types or for any type, and the function, in which `T` stands
/// for the types.
#[rustfmt::skip]
const ROWS: &[(&str, &str)] = &[
    ("mov", "mov<T>"),
    ("add", "add<T>"), ("add.sat", "add_sat<T>"), ("sub", "sub<T>"), ("sub.sat", "sub_sat<T>"),
    ("mul", "mul<T>"), ("mul.sat", "mul_sat<T>"), ("mul.lo", "mul<T>"), ("mul.hi", "mul_hi<T>"), ("mul.wide", "mul_wide<T>"),
    ("mul24.lo", "mul24_lo<T>"), ("mul24.hi", "mul24_hi<T>"),
    ("mad24.lo", "mad24_lo<T>"), ("mad24.hi", "mad24_hi<T>"), ("mad24.hi.sat.s32", "mad24_hi_sat<int>"),
    ("mad", "fma<T>"), ("mad.sat", "fma_sat<T>"), ("mad.lo", "mad<T>"), ("mad.hi", "mad_hi<T>"), ("mad.hi.sat.s32", "mad_hi_sat<int>"), ("mad.wide", "mad_wide<T>"),
    ("fma", "fma<T>"), ("fma.sat", "fma_sat<T>"), ("fma.relu", "fma_relu<T>"),
    ("div", "div<T>"), ("rem", "rem<T>"), ("neg", "neg<T>"), ("abs", "abs_<T>"), ("sad", "sad<T>"),
    ("min", "min_<T>"), ("max", "max_<T>"), ("min.NaN", "min_nan<T>"), ("max.NaN", "max_nan<T>"),
    ("min.relu", "min_relu<T>"), ("max.relu", "max_relu<T>"),
    ("min.xorsign.abs", "min_xorsign_abs<T>"), ("max.xorsign.abs", "max_xorsign_abs<T>"),
    ("min.NaN.xorsign.abs", "min_nan_xorsign_abs<T>"), ("max.NaN.xorsign.abs", "max_nan_xorsign_abs<T>"),
    ("ex2", "ex2<T>"), ("lg2", "lg2<T>"), ("rcp", "rcp<T>"), ("sqrt", "sqrt_<T>"), ("rsqrt", "rsqrt_<T>"),
    ("sin", "sin_<T>"), ("cos", "cos_<T>"), ("tanh", "tanh_<T>"),
    ("and", "band<T>"), ("or", "bor<T>"), ("xor", "bxor<T>"), ("not", "bnot<T>"), ("cnot", "cnot<T>"),
    ("shl", "shl<T>"), ("shr", "shr<T>"),
    ("shf.l.wrap.b32", "shf_l_wrap"), ("shf.r.wrap.b32", "shf_r_wrap"), ("shf.l.clamp.b32", "shf_l_clamp"), ("shf.r.clamp.b32", "shf_r_clamp"),
    ("lop3.b32", "lop3"), ("lop3.or.b32", "lop3_joined<::__cuda_ptx::join_or>"), ("lop3.and.b32", "lop3_joined<::__cuda_ptx::join_and>"),
    ("prmt.b32", "prmt"), ("prmt.b32.f4e", "prmt_f4e"), ("prmt.b32.b4e", "prmt_b4e"), ("prmt.b32.rc8", "prmt_rc8"),
    ("prmt.b32.ecl", "prmt_ecl"), ("prmt.b32.ecr", "prmt_ecr"), ("prmt.b32.rc16", "prmt_rc16"),
    ("bfe", "bfe<T>"), ("bfi", "bfi<T>"), ("bfind", "bfind<T>"), ("bfind.shiftamt", "bfind_shiftamt<T>"), ("brev", "brev<T>"),
    ("bmsk.clamp.b32", "bmsk_clamp"), ("bmsk.wrap.b32", "bmsk_wrap"), ("szext.clamp", "szext_clamp<T>"), ("szext.wrap", "szext_wrap<T>"),
    ("popc", "popc<T>"), ("clz", "clz<T>"), ("dp4a", "dp4a<T>"), ("dp2a.lo", "dp2a_lo<T>"), ("dp2a.hi", "dp2a_hi<T>"), ("selp", "selp<T>"),
    ("setp.eq", "setp_eq<T>"), ("setp.ne", "setp_ne<T>"), ("setp.lt", "setp_lt<T>"), ("setp.le", "setp_le<T>"),
    ("setp.gt", "setp_gt<T>"), ("setp.ge", "setp_ge<T>"), ("setp.lo", "setp_lt<T>"), ("setp.ls", "setp_le<T>"),
    ("setp.hi", "setp_gt<T>"), ("setp.hs", "setp_ge<T>"), ("setp.equ", "setp_equ<T>"), ("setp.neu", "setp_neu<T>"), ("setp.ltu", "setp_ltu<T>"),
    ("setp.leu", "setp_leu<T>"), ("setp.gtu", "setp_gtu<T>"), ("setp.geu", "setp_geu<T>"), ("setp.num", "setp_num<T>"), ("setp.nan", "setp_nan<T>"),
    ("cvta", "mov<T>"), ("cvta.to", "mov<T>"),
    ("membar.cta", "fence<__HIP_MEMORY_SCOPE_WORKGROUP>"), ("membar.gl", "fence<__HIP_MEMORY_SCOPE_AGENT>"), ("membar.sys", "fence<__HIP_MEMORY_SCOPE_SYSTEM>"),
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
    ("testp.normal", "testp_normal<T>"), ("testp.subnormal", "testp_subnormal<T>"),
    ("createpolicy.fractional.b64", "policy"), ("createpolicy.fractional", "policy"), ("createpolicy.range.b64", "policy"), ("createpolicy.range", "policy"), ("createpolicy.cvt", "policy"),
    ("fence.proxy.async", "nothing"), ("fence.proxy.async.shared", "nothing"), ("fence.proxy.alias", "nothing"), ("fence.mbarrier_init.release.cluster", "fence<__HIP_MEMORY_SCOPE_AGENT>"),
    ("prefetch", "nothing"), ("prefetch.local.L1", "nothing"), ("prefetch.local.L2", "nothing"), ("applypriority", "nothing"), ("setmaxnreg.inc.u32", "nothing"), ("setmaxnreg.dec.u32", "nothing"),
    ("discard.L2", "nothing"), ("elect", "elect"), ("match.all", "match_all<T>"),
    ("isspacep.shared", "is_shared"), ("isspacep.local", "is_local"),
    // For global memory; elsewhere, this is a hint.
    ("isspacep", "is_global"),
    // Each block is a cluster by itself.
    ("mapa.shared.u32", "mapa"), ("mapa.u64", "mapa"), ("mapa.u32", "mapa"), ("getctarank.shared.u32", "getctarank"), ("getctarank.u32", "getctarank"), ("getctarank.u64", "getctarank"),
    ("barrier.cluster.arrive", "nothing"), ("barrier.cluster.arrive.release", "nothing"), ("barrier.cluster.arrive.relaxed", "nothing"),
    ("barrier.cluster.wait", "bar_sync"), ("barrier.cluster.wait.acquire", "bar_sync"),
    ("prefetch.L1", "nothing"), ("prefetch.L2", "nothing"), ("prefetchu.L1", "nothing"),
    ("griddepcontrol.launch_dependents", "nothing"), ("griddepcontrol.wait", "nothing"),
    ("cp.async.shared", "cp_async"),
    ("cp.async.commit_group", "nothing"), ("cp.async.wait_group", "nothing"), ("cp.async.wait_all", "nothing"),
    // The copies are complete, so the count goes up and down again, or just down.
    ("cp.async.mbarrier.arrive.b64", "nothing"), ("cp.async.mbarrier.arrive.shared.b64", "nothing"),
    ("cp.async.mbarrier.arrive.noinc.b64", "mbarrier_arrive<false>"), ("cp.async.mbarrier.arrive.noinc.shared.b64", "mbarrier_arrive<true>"),
    ("shfl.up.b32", "shfl<0>"), ("shfl.down.b32", "shfl<1>"), ("shfl.bfly.b32", "shfl<2>"), ("shfl.idx.b32", "shfl<3>"),
    ("vote.ballot.b32", "ballot"), ("vote.any.pred", "any"), ("vote.all.pred", "all"), ("vote.uni.pred", "uni"), ("match.any", "match_any<T>"),
    ("redux.add", "redux_add<T>"), ("redux.min", "redux_min<T>"), ("redux.max", "redux_max<T>"),
    ("redux.and", "redux_and<T>"), ("redux.or", "redux_or<T>"), ("redux.xor", "redux_xor<T>"),
    ("movmatrix.m8n8.trans.b16", "movmatrix"), ("movmatrix.trans.m8n8.b16", "movmatrix"),
];

/// The function of an instruction's name.
pub(super) fn row(name: &str) -> Option<&'static str> {
    ROWS.iter().find(|(row, _)| *row == name).map(|(_, function)| *function)
}

const NO_TMA: &str = "the tensor memory accelerator";
const NO_CLUSTER: &str = "another block's shared memory";
const NO_TEXTURE: &str = "textures and surfaces by handle";
const NO_CALL: &str = "calls and jumps through a table";
const NO_STACK: &str = "the stack of a thread";
const NO_ROW: &str = "there is no such form, or it is of a GPU after CUDA's 8.9";

/// The beginnings of names of PTX instructions that are refused, and what AMD GPUs or this translation lack.
/// The first that fits counts.
#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("wgmma", "products of a warp group from descriptors of shared memory"),
    ("tcgen05", "tensor memory"),
    ("cp.async.bulk", NO_TMA), ("cp.reduce.async.bulk", NO_TMA), ("tensormap", NO_TMA), ("prefetch.tensormap", NO_TMA),
    ("prefetch.const.tensormap", NO_TMA), ("prefetch.param.tensormap", NO_TMA),
    ("fence.proxy.tensormap", NO_TMA),
    ("st.async", NO_CLUSTER), ("red.async", NO_CLUSTER), ("st.bulk", "bulk stores to shared memory"),
    ("multimem", "multicast memory of a switch"),
    ("clusterlaunchcontrol", "cancelling the launch of another block"),
    ("tex", NO_TEXTURE), ("tld4", NO_TEXTURE), ("txq", NO_TEXTURE), ("suld", NO_TEXTURE), ("sust", NO_TEXTURE), ("sured", NO_TEXTURE),
    ("suq", NO_TEXTURE), ("istypep", NO_TEXTURE),
    ("call", NO_CALL), ("brx", NO_CALL), ("ret", NO_CALL), ("alloca", NO_STACK), ("stackrestore", NO_STACK), ("stacksave", NO_STACK),
    ("pmevent", "performance monitor events"),
    ("wmma", "opaque fragments: `mma.h` has them"),
    ("mma.sp", "sparse products"),
    ("_mma", "instructions of the compiler's own"),
];

/// Why an instruction is refused.
pub(super) fn refusal(name: &str) -> &'static str {
    let fits = |start: &str| {
        name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
    };
    if name.starts_with("mma.") && name.split('.').any(|part| part == "sp" || part.starts_with("sp::")) {
        return "sparse products";
    }
    if name.split('.').any(|part| part == "b128") && name.starts_with(['l', 's', 'a']) {
        return "atomic accesses of 16 bytes";
    }
    REFUSED.iter().find(|(start, _)| fits(start)).map_or(NO_ROW, |(_, reason)| reason)
}

/// The first parts of instructions whose functions are composed from the parts of their names, so that they
/// have no row.
#[rustfmt::skip]
pub(super) const COMPOSED: &[&str] = &[
    "ld", "ldu", "st", "atom", "red", "cvt", "setp", "set", "mma", "bar", "barrier", "fence", "ldmatrix", "stmatrix", "mbarrier", "bra",
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset",
    "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
];

/// Whether a name is a PTX instruction, supported here or not.
pub(super) fn is_ptx(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    let starts = |name: &str| name.split('.').next() == Some(first);
    // Other assembly languages have `add`, `bra` and the like, but without dots.
    (COMPOSED.contains(&first)
        || REFUSED.iter().any(|(name, _)| starts(name))
        || ROWS.iter().any(|(name, _)| starts(name)))
        && (name.contains('.') || matches!(first, "bra" | "ret" | "exit" | "trap"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_assembly_is_no_ptx() {
        assert!(is_ptx("wgmma.fence.sync.aligned") && is_ptx("bra") && is_ptx("bra.uni"));
        assert!(!is_ptx("v_add_f32") && !is_ptx("s_waitcnt") && !is_ptx("mov") && !is_ptx("cpuid"));
    }

    #[test]
    fn no_instruction_has_two_rows() {
        for (i, (name, _)) in ROWS.iter().enumerate() {
            assert!(ROWS[..i].iter().all(|(other, _)| other != name), "{name}");
            assert!(name.split('.').all(|part| !HINTS.contains(&part)), "a hint is never looked up: {name}");
        }
    }
}
