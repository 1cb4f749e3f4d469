//! The one set of operations that all generations map to.

use gpu_report::{AccessKind, Class};

use super::facts::{Fact, Footprint};
use super::types::{Elem, Signature, Type};

/// What an operation accesses, in the notation of the table.
macro_rules! footprint {
    () => {
        Footprint::None
    };
    (Load $bytes:literal) => {
        Footprint::One(AccessKind::Read, $bytes)
    };
    (Store $bytes:literal) => {
        Footprint::One(AccessKind::Write, $bytes)
    };
    (Atomic $bytes:literal) => {
        Footprint::One(AccessKind::Atomic, $bytes)
    };
    (LoadTwo $bytes:literal $unit:literal) => {
        Footprint::Two(AccessKind::Read, $bytes, $unit)
    };
    (StoreTwo $bytes:literal $unit:literal) => {
        Footprint::Two(AccessKind::Write, $bytes, $unit)
    };
    (AtomicTwo $bytes:literal $unit:literal) => {
        Footprint::Two(AccessKind::Atomic, $bytes, $unit)
    };
    (LoadTyped $channels:literal) => {
        Footprint::Typed(AccessKind::Read, $channels)
    };
    (StoreTyped $channels:literal) => {
        Footprint::Typed(AccessKind::Write, $channels)
    };
    (LoadByLane) => {
        Footprint::ByLane(AccessKind::Read)
    };
    (StoreByLane) => {
        Footprint::ByLane(AccessKind::Write)
    };
    (LoadBlock) => {
        Footprint::Block(AccessKind::Read)
    };
    (StoreBlock) => {
        Footprint::Block(AccessKind::Write)
    };
    (LoadTile $bits:literal) => {
        Footprint::Tile($bits)
    };
    (Counter) => {
        Footprint::Counter
    };
    (Direct) => {
        Footprint::Direct
    };
    (Unknown) => {
        Footprint::Unknown
    };
}

/// The columns of an operation's row after its name.
struct Row {
    signature: Signature,
    class: Class,
    footprint: Footprint,
    facts: u64,
}

/// Declares [`Op`] with the columns of each operation.
macro_rules! ops {
    ($(
        $variant:ident $name:literal
        ($($dst:ident $(* $dst_count:literal)?),*; $($src:ident $(* $src_count:literal)?),*)
        $class:ident $(@ $access:ident $(($($size:literal),*))?)? $({$($fact:ident)*})?
    )*) => {
        /// What an instruction does, independent of the generation and of the encoding it came in.
        ///
        /// An operation is named after its gfx11 mnemonic without encoding suffix. An operation that gfx11
        /// lacks is named after its gfx12 mnemonic,
        /// else after its gfx9 or gfx10 mnemonic with today's spelling of sizes (`b64`, not `dwordx2`).
        /// Generations that spell the same operation differently share one `Op`; operations that share a
        /// spelling but differ in meaning have different ones (`ds_cmpst_b32` of gfx9 and gfx10 takes its two
        /// data operands in the other order than `ds_cmpstore_b32`; the operands of `v_wmma_*` are laid out
        /// differently in gfx12).
        ///
        /// One difference between generations is not in the operation: up to gfx9, 16-bit results clear the
        /// upper half of their register, from gfx10 on they keep it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Op {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Op {
            /// Every operation, in the order of their numbers.
            pub const ALL: &[Op] = &[$(Op::$variant),*];

            /// The canonical mnemonic. What a generation prints may differ.
            pub const fn name(self) -> &'static str {
                const NAMES: &[&str] = &[$($name),*];
                NAMES[self as usize]
            }

            const ROWS: &[Row] = &[$(
                Row {
                    signature: Signature::new(
                        &[$(Type::new(Elem::$dst, 1 $(* $dst_count)?)),*],
                        &[$(Type::new(Elem::$src, 1 $(* $src_count)?)),*],
                    ),
                    class: Class::$class,
                    footprint: footprint!($($access $($($size)*)?)?),
                    facts: 0 $($(| Fact::$fact.0)*)?,
                }
            ),*];
        }
    };
}

impl Op {
    fn row(self) -> &'static Row {
        static ROWS: &[Row] = Op::ROWS;
        &ROWS[self as usize]
    }

    /// The types of the operands, in the order that [`Inst`](super::Inst) documents.
    pub fn signature(self) -> &'static Signature {
        &self.row().signature
    }

    /// Which part of a compute unit executes it.
    pub fn class(self) -> Class {
        self.row().class
    }

    /// What it accesses in memory.
    pub fn footprint(self) -> Footprint {
        self.row().footprint
    }

    /// Whether a fact holds for it.
    pub fn has(self, fact: Fact) -> bool {
        self.row().facts & fact.0 != 0
    }
}

// NEW-OP: a line.
// Each line: variant, canonical name, (destination, scalar destination; sources), class. `B32 * 4` is four
// 32-bit elements; `None` is the place of an operand that the operation lacks. After `@` what it accesses in
// memory, `Load(4)` for four bytes ([`Footprint`]); in braces what else holds for it ([`Fact`]).
ops! {
    BufferAtomicAddF32 "buffer_atomic_add_f32" (F32; B32, F32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicAddF64 "buffer_atomic_add_f64" (F64; B32, F64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicAddU32 "buffer_atomic_add_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicAddU64 "buffer_atomic_add_u64" (U64; B32, U64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicAndB32 "buffer_atomic_and_b32" (B32; B32, B32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicAndB64 "buffer_atomic_and_b64" (B64; B32, B64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicCmpswapB32 "buffer_atomic_cmpswap_b32" (B32; B32, B32 * 2, B128, B32) VmemAtomic @ Atomic(4) {BUFFER SWAPS}
    BufferAtomicCmpswapB64 "buffer_atomic_cmpswap_b64" (B64; B32, B64 * 2, B128, B32) VmemAtomic @ Atomic(8) {BUFFER SWAPS}
    BufferAtomicCmpswapF32 "buffer_atomic_cmpswap_f32" (F32; B32, F32 * 2, B128, B32) VmemAtomic @ Atomic(4) {BUFFER SWAPS}
    BufferAtomicCmpswapF64 "buffer_atomic_cmpswap_f64" (F64; B32, F64 * 2, B128, B32) VmemAtomic @ Atomic(8) {BUFFER SWAPS}
    BufferAtomicCondSubU32 "buffer_atomic_cond_sub_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicCsubU32 "buffer_atomic_csub_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicDecU32 "buffer_atomic_dec_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicDecU64 "buffer_atomic_dec_u64" (U64; B32, U64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicIncU32 "buffer_atomic_inc_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicIncU64 "buffer_atomic_inc_u64" (U64; B32, U64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicMaxF32 "buffer_atomic_max_f32" (F32; B32, F32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicMaxF64 "buffer_atomic_max_f64" (F64; B32, F64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicMaxI32 "buffer_atomic_max_i32" (I32; B32, I32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicMaxI64 "buffer_atomic_max_i64" (I64; B32, I64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicMaxU32 "buffer_atomic_max_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicMaxU64 "buffer_atomic_max_u64" (U64; B32, U64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicMinF32 "buffer_atomic_min_f32" (F32; B32, F32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicMinF64 "buffer_atomic_min_f64" (F64; B32, F64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicMinI32 "buffer_atomic_min_i32" (I32; B32, I32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicMinI64 "buffer_atomic_min_i64" (I64; B32, I64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicMinU32 "buffer_atomic_min_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicMinU64 "buffer_atomic_min_u64" (U64; B32, U64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicOrB32 "buffer_atomic_or_b32" (B32; B32, B32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicOrB64 "buffer_atomic_or_b64" (B64; B32, B64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicPkAddBf16 "buffer_atomic_pk_add_bf16" (Bf16 * 2; B32, Bf16 * 2, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicPkAddF16 "buffer_atomic_pk_add_f16" (F16 * 2; B32, F16 * 2, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicSubU32 "buffer_atomic_sub_u32" (U32; B32, U32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicSubU64 "buffer_atomic_sub_u64" (U64; B32, U64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferAtomicSwapB32 "buffer_atomic_swap_b32" (B32; B32, B32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER SWAPS}
    BufferAtomicSwapB64 "buffer_atomic_swap_b64" (B64; B32, B64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER SWAPS}
    BufferAtomicXorB32 "buffer_atomic_xor_b32" (B32; B32, B32, B128, B32) VmemAtomic @ Atomic(4) {BUFFER}
    BufferAtomicXorB64 "buffer_atomic_xor_b64" (B64; B32, B64, B128, B32) VmemAtomic @ Atomic(8) {BUFFER}
    BufferGl0Inv "buffer_gl0_inv" (;) Hint {BUFFER}
    BufferGl1Inv "buffer_gl1_inv" (;) Hint {BUFFER}
    BufferInv "buffer_inv" (;) Hint {BUFFER}
    BufferInvl2 "buffer_invl2" (;) Hint {BUFFER}
    BufferLoadB128 "buffer_load_b128" (B32 * 4; B32, None, B128, B32) VmemLoad @ Load(16) {BUFFER}
    BufferLoadB32 "buffer_load_b32" (B32; B32, None, B128, B32) VmemLoad @ Load(4) {BUFFER}
    BufferLoadB64 "buffer_load_b64" (B64; B32, None, B128, B32) VmemLoad @ Load(8) {BUFFER}
    BufferLoadB96 "buffer_load_b96" (B32 * 3; B32, None, B128, B32) VmemLoad @ Load(12) {BUFFER}
    BufferLoadD16B16 "buffer_load_d16_b16" (B32; B32, None, B128, B32) VmemLoad @ Load(2) {BUFFER D16}
    BufferLoadD16FormatX "buffer_load_d16_format_x" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(1) {BUFFER D16}
    BufferLoadD16FormatXy "buffer_load_d16_format_xy" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(2) {BUFFER D16}
    BufferLoadD16FormatXyz "buffer_load_d16_format_xyz" (B64; B32, None, B128, B32) VmemLoad @ LoadTyped(3) {BUFFER D16}
    BufferLoadD16FormatXyzw "buffer_load_d16_format_xyzw" (B64; B32, None, B128, B32) VmemLoad @ LoadTyped(4) {BUFFER D16}
    BufferLoadD16HiB16 "buffer_load_d16_hi_b16" (B32; B32, None, B128, B32) VmemLoad @ Load(2) {BUFFER D16 HIGH}
    BufferLoadD16HiFormatX "buffer_load_d16_hi_format_x" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(1) {BUFFER D16 HIGH}
    BufferLoadD16HiI8 "buffer_load_d16_hi_i8" (B32; B32, None, B128, B32) VmemLoad @ Load(1) {BUFFER D16 HIGH SIGNED}
    BufferLoadD16HiU8 "buffer_load_d16_hi_u8" (B32; B32, None, B128, B32) VmemLoad @ Load(1) {BUFFER D16 HIGH}
    BufferLoadD16I8 "buffer_load_d16_i8" (B32; B32, None, B128, B32) VmemLoad @ Load(1) {BUFFER D16 SIGNED}
    BufferLoadD16U8 "buffer_load_d16_u8" (B32; B32, None, B128, B32) VmemLoad @ Load(1) {BUFFER D16}
    BufferLoadFormatX "buffer_load_format_x" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(1) {BUFFER}
    BufferLoadFormatXy "buffer_load_format_xy" (B64; B32, None, B128, B32) VmemLoad @ LoadTyped(2) {BUFFER}
    BufferLoadFormatXyz "buffer_load_format_xyz" (B32 * 3; B32, None, B128, B32) VmemLoad @ LoadTyped(3) {BUFFER}
    BufferLoadFormatXyzw "buffer_load_format_xyzw" (B32 * 4; B32, None, B128, B32) VmemLoad @ LoadTyped(4) {BUFFER}
    BufferLoadI16 "buffer_load_i16" (B32; B32, None, B128, B32) VmemLoad @ Load(2) {BUFFER SIGNED}
    BufferLoadI8 "buffer_load_i8" (B32; B32, None, B128, B32) VmemLoad @ Load(1) {BUFFER SIGNED}
    BufferLoadU16 "buffer_load_u16" (B32; B32, None, B128, B32) VmemLoad @ Load(2) {BUFFER}
    BufferLoadU8 "buffer_load_u8" (B32; B32, None, B128, B32) VmemLoad @ Load(1) {BUFFER}
    BufferStoreB128 "buffer_store_b128" (; B32, B32 * 4, B128, B32) VmemStore @ Store(16) {BUFFER}
    BufferStoreB16 "buffer_store_b16" (; B32, B32, B128, B32) VmemStore @ Store(2) {BUFFER}
    BufferStoreB32 "buffer_store_b32" (; B32, B32, B128, B32) VmemStore @ Store(4) {BUFFER}
    BufferStoreB64 "buffer_store_b64" (; B32, B64, B128, B32) VmemStore @ Store(8) {BUFFER}
    BufferStoreB8 "buffer_store_b8" (; B32, B32, B128, B32) VmemStore @ Store(1) {BUFFER}
    BufferStoreB96 "buffer_store_b96" (; B32, B32 * 3, B128, B32) VmemStore @ Store(12) {BUFFER}
    BufferStoreD16FormatX "buffer_store_d16_format_x" (; B32, B32, B128, B32) VmemStore @ StoreTyped(1) {BUFFER D16}
    BufferStoreD16FormatXy "buffer_store_d16_format_xy" (; B32, B32, B128, B32) VmemStore @ StoreTyped(2) {BUFFER D16}
    BufferStoreD16FormatXyz "buffer_store_d16_format_xyz" (; B32, B64, B128, B32) VmemStore @ StoreTyped(3) {BUFFER D16}
    BufferStoreD16FormatXyzw "buffer_store_d16_format_xyzw" (; B32, B64, B128, B32) VmemStore @ StoreTyped(4) {BUFFER D16}
    BufferStoreD16HiB16 "buffer_store_d16_hi_b16" (; B32, B32, B128, B32) VmemStore @ Store(2) {BUFFER D16 HIGH}
    BufferStoreD16HiB8 "buffer_store_d16_hi_b8" (; B32, B32, B128, B32) VmemStore @ Store(1) {BUFFER D16 HIGH}
    BufferStoreD16HiFormatX "buffer_store_d16_hi_format_x" (; B32, B32, B128, B32) VmemStore @ StoreTyped(1) {BUFFER D16 HIGH}
    BufferStoreFormatX "buffer_store_format_x" (; B32, B32, B128, B32) VmemStore @ StoreTyped(1) {BUFFER}
    BufferStoreFormatXy "buffer_store_format_xy" (; B32, B64, B128, B32) VmemStore @ StoreTyped(2) {BUFFER}
    BufferStoreFormatXyz "buffer_store_format_xyz" (; B32, B32 * 3, B128, B32) VmemStore @ StoreTyped(3) {BUFFER}
    BufferStoreFormatXyzw "buffer_store_format_xyzw" (; B32, B32 * 4, B128, B32) VmemStore @ StoreTyped(4) {BUFFER}
    BufferStoreLdsB32 "buffer_store_lds_b32" (; None, None, B128, B32) VmemStore @ Store(4) {BUFFER}
    BufferWbinvl1 "buffer_wbinvl1" (;) Hint {BUFFER}
    BufferWbinvl1Vol "buffer_wbinvl1_vol" (;) Hint {BUFFER}
    BufferWbl2 "buffer_wbl2" (;) Hint {BUFFER}
    DsAddF32 "ds_add_f32" (; B32, F32) Lds @ Atomic(4)
    DsAddF64 "ds_add_f64" (; B32, F64) Lds @ Atomic(8)
    DsAddGsRegRtn "ds_add_gs_reg_rtn" (B64; None, B32) Lds @ Unknown
    DsAddRtnF32 "ds_add_rtn_f32" (F32; B32, F32) Lds @ Atomic(4)
    DsAddRtnF64 "ds_add_rtn_f64" (F64; B32, F64) Lds @ Atomic(8)
    DsAddRtnU32 "ds_add_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsAddRtnU64 "ds_add_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsAddU32 "ds_add_u32" (; B32, U32) Lds @ Atomic(4)
    DsAddU64 "ds_add_u64" (; B32, U64) Lds @ Atomic(8)
    DsAndB32 "ds_and_b32" (; B32, B32) Lds @ Atomic(4)
    DsAndB64 "ds_and_b64" (; B32, B64) Lds @ Atomic(8)
    DsAndRtnB32 "ds_and_rtn_b32" (B32; B32, B32) Lds @ Atomic(4)
    DsAndRtnB64 "ds_and_rtn_b64" (B64; B32, B64) Lds @ Atomic(8)
    DsAppend "ds_append" (B32;) Lds @ Counter {READS_M0}
    DsBpermuteB32 "ds_bpermute_b32" (B32; B32, B32) Lds
    DsBpermuteFiB32 "ds_bpermute_fi_b32" (B32; B32, B32) Lds
    DsBvhStackPush4Pop1RtnB32 "ds_bvh_stack_push4_pop1_rtn_b32" (B32; B32, B32, None, B32 * 4) Lds @ Unknown {BVH_STACK}
    DsBvhStackPush8Pop1RtnB32 "ds_bvh_stack_push8_pop1_rtn_b32" (B32; B32, B32, None, B32 * 8) Lds @ Unknown {BVH_STACK}
    DsBvhStackPush8Pop2RtnB64 "ds_bvh_stack_push8_pop2_rtn_b64" (B64; B32, B32, None, B32 * 8) Lds @ Unknown {BVH_STACK}
    DsBvhStackRtnB32 "ds_bvh_stack_rtn_b32" (B32; B32, B32, None, B32 * 4) Lds @ Unknown {BVH_STACK}
    DsCmpstB32 "ds_cmpst_b32" (; B32, B32, None, B32) Lds @ Atomic(4) {SWAPS}
    DsCmpstB64 "ds_cmpst_b64" (; B32, B64, None, B64) Lds @ Atomic(8) {SWAPS}
    DsCmpstF32 "ds_cmpst_f32" (; B32, F32, None, F32) Lds @ Atomic(4) {SWAPS}
    DsCmpstF64 "ds_cmpst_f64" (; B32, F64, None, F64) Lds @ Atomic(8) {SWAPS}
    DsCmpstRtnB32 "ds_cmpst_rtn_b32" (B32; B32, B32, None, B32) Lds @ Atomic(4) {SWAPS}
    DsCmpstRtnB64 "ds_cmpst_rtn_b64" (B64; B32, B64, None, B64) Lds @ Atomic(8) {SWAPS}
    DsCmpstRtnF32 "ds_cmpst_rtn_f32" (F32; B32, F32, None, F32) Lds @ Atomic(4) {SWAPS}
    DsCmpstRtnF64 "ds_cmpst_rtn_f64" (F64; B32, F64, None, F64) Lds @ Atomic(8) {SWAPS}
    DsCmpstoreB32 "ds_cmpstore_b32" (; B32, B32, None, B32) Lds @ Atomic(4) {SWAPS}
    DsCmpstoreB64 "ds_cmpstore_b64" (; B32, B64, None, B64) Lds @ Atomic(8) {SWAPS}
    DsCmpstoreF32 "ds_cmpstore_f32" (; B32, F32, None, F32) Lds @ Atomic(4) {SWAPS}
    DsCmpstoreF64 "ds_cmpstore_f64" (; B32, F64, None, F64) Lds @ Atomic(8) {SWAPS}
    DsCmpstoreRtnB32 "ds_cmpstore_rtn_b32" (B32; B32, B32, None, B32) Lds @ Atomic(4) {SWAPS}
    DsCmpstoreRtnB64 "ds_cmpstore_rtn_b64" (B64; B32, B64, None, B64) Lds @ Atomic(8) {SWAPS}
    DsCmpstoreRtnF32 "ds_cmpstore_rtn_f32" (F32; B32, F32, None, F32) Lds @ Atomic(4) {SWAPS}
    DsCmpstoreRtnF64 "ds_cmpstore_rtn_f64" (F64; B32, F64, None, F64) Lds @ Atomic(8) {SWAPS}
    DsCondSubRtnU32 "ds_cond_sub_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsCondSubU32 "ds_cond_sub_u32" (; B32, U32) Lds @ Atomic(4)
    DsCondxchg32RtnB64 "ds_condxchg32_rtn_b64" (B64; B32, B64) Lds @ Atomic(8) {SWAPS}
    DsConsume "ds_consume" (B32;) Lds @ Counter {READS_M0}
    DsDecRtnU32 "ds_dec_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsDecRtnU64 "ds_dec_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsDecU32 "ds_dec_u32" (; B32, U32) Lds @ Atomic(4)
    DsDecU64 "ds_dec_u64" (; B32, U64) Lds @ Atomic(8)
    DsGwsBarrier "ds_gws_barrier" (; None, B32) Barrier {READS_M0 GWS}
    DsGwsInit "ds_gws_init" (; None, B32) Barrier {READS_M0 GWS}
    DsGwsSemaBr "ds_gws_sema_br" (; None, B32) Barrier {GWS}
    DsGwsSemaP "ds_gws_sema_p" (;) Barrier {GWS}
    DsGwsSemaReleaseAll "ds_gws_sema_release_all" (;) Barrier {GWS}
    DsGwsSemaV "ds_gws_sema_v" (;) Barrier {GWS}
    DsIncRtnU32 "ds_inc_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsIncRtnU64 "ds_inc_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsIncU32 "ds_inc_u32" (; B32, U32) Lds @ Atomic(4)
    DsIncU64 "ds_inc_u64" (; B32, U64) Lds @ Atomic(8)
    DsLoad2addrB32 "ds_load_2addr_b32" (B32 * 2; B32) Lds @ LoadTwo(4, 4)
    DsLoad2addrB64 "ds_load_2addr_b64" (B64 * 2; B32) Lds @ LoadTwo(8, 8)
    DsLoad2addrStride64B32 "ds_load_2addr_stride64_b32" (B32 * 2; B32) Lds @ LoadTwo(4, 256)
    DsLoad2addrStride64B64 "ds_load_2addr_stride64_b64" (B64 * 2; B32) Lds @ LoadTwo(8, 512)
    DsLoadAddtidB32 "ds_load_addtid_b32" (B32;) Lds @ LoadByLane {READS_M0}
    DsLoadB128 "ds_load_b128" (B32 * 4; B32) Lds @ Load(16)
    DsLoadB32 "ds_load_b32" (B32; B32) Lds @ Load(4)
    DsLoadB64 "ds_load_b64" (B64; B32) Lds @ Load(8)
    DsLoadB64TrB16 "ds_load_b64_tr_b16" (B64; B32) Lds @ LoadTile(16)
    DsLoadB64TrB4 "ds_load_b64_tr_b4" (B64; B32) Lds @ LoadTile(4)
    DsLoadB64TrB8 "ds_load_b64_tr_b8" (B64; B32) Lds @ LoadTile(8)
    DsLoadB96 "ds_load_b96" (B32 * 3; B32) Lds @ Load(12)
    DsLoadB96TrB6 "ds_load_b96_tr_b6" (B32 * 3; B32) Lds @ LoadTile(6)
    DsLoadI16 "ds_load_i16" (B32; B32) Lds @ Load(2) {SIGNED}
    DsLoadI8 "ds_load_i8" (B32; B32) Lds @ Load(1) {SIGNED}
    DsLoadI8D16 "ds_load_i8_d16" (B32; B32) Lds @ Load(1) {D16 SIGNED}
    DsLoadI8D16Hi "ds_load_i8_d16_hi" (B32; B32) Lds @ Load(1) {D16 HIGH SIGNED}
    DsLoadU16 "ds_load_u16" (B32; B32) Lds @ Load(2)
    DsLoadU16D16 "ds_load_u16_d16" (B32; B32) Lds @ Load(2) {D16}
    DsLoadU16D16Hi "ds_load_u16_d16_hi" (B32; B32) Lds @ Load(2) {D16 HIGH}
    DsLoadU8 "ds_load_u8" (B32; B32) Lds @ Load(1)
    DsLoadU8D16 "ds_load_u8_d16" (B32; B32) Lds @ Load(1) {D16}
    DsLoadU8D16Hi "ds_load_u8_d16_hi" (B32; B32) Lds @ Load(1) {D16 HIGH}
    DsMaxF32 "ds_max_f32" (; B32, F32) Lds @ Atomic(4)
    DsMaxF64 "ds_max_f64" (; B32, F64) Lds @ Atomic(8)
    DsMaxI32 "ds_max_i32" (; B32, I32) Lds @ Atomic(4)
    DsMaxI64 "ds_max_i64" (; B32, I64) Lds @ Atomic(8)
    DsMaxRtnF32 "ds_max_rtn_f32" (F32; B32, F32) Lds @ Atomic(4)
    DsMaxRtnF64 "ds_max_rtn_f64" (F64; B32, F64) Lds @ Atomic(8)
    DsMaxRtnI32 "ds_max_rtn_i32" (I32; B32, I32) Lds @ Atomic(4)
    DsMaxRtnI64 "ds_max_rtn_i64" (I64; B32, I64) Lds @ Atomic(8)
    DsMaxRtnU32 "ds_max_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsMaxRtnU64 "ds_max_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsMaxU32 "ds_max_u32" (; B32, U32) Lds @ Atomic(4)
    DsMaxU64 "ds_max_u64" (; B32, U64) Lds @ Atomic(8)
    DsMinF32 "ds_min_f32" (; B32, F32) Lds @ Atomic(4)
    DsMinF64 "ds_min_f64" (; B32, F64) Lds @ Atomic(8)
    DsMinI32 "ds_min_i32" (; B32, I32) Lds @ Atomic(4)
    DsMinI64 "ds_min_i64" (; B32, I64) Lds @ Atomic(8)
    DsMinRtnF32 "ds_min_rtn_f32" (F32; B32, F32) Lds @ Atomic(4)
    DsMinRtnF64 "ds_min_rtn_f64" (F64; B32, F64) Lds @ Atomic(8)
    DsMinRtnI32 "ds_min_rtn_i32" (I32; B32, I32) Lds @ Atomic(4)
    DsMinRtnI64 "ds_min_rtn_i64" (I64; B32, I64) Lds @ Atomic(8)
    DsMinRtnU32 "ds_min_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsMinRtnU64 "ds_min_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsMinU32 "ds_min_u32" (; B32, U32) Lds @ Atomic(4)
    DsMinU64 "ds_min_u64" (; B32, U64) Lds @ Atomic(8)
    DsMskorB32 "ds_mskor_b32" (; B32, B32, None, B32) Lds @ Atomic(4)
    DsMskorB64 "ds_mskor_b64" (; B32, B64, None, B64) Lds @ Atomic(8)
    DsMskorRtnB32 "ds_mskor_rtn_b32" (B32; B32, B32, None, B32) Lds @ Atomic(4)
    DsMskorRtnB64 "ds_mskor_rtn_b64" (B64; B32, B64, None, B64) Lds @ Atomic(8)
    DsNop "ds_nop" (;) Hint
    DsOrB32 "ds_or_b32" (; B32, B32) Lds @ Atomic(4)
    DsOrB64 "ds_or_b64" (; B32, B64) Lds @ Atomic(8)
    DsOrRtnB32 "ds_or_rtn_b32" (B32; B32, B32) Lds @ Atomic(4)
    DsOrRtnB64 "ds_or_rtn_b64" (B64; B32, B64) Lds @ Atomic(8)
    DsOrderedCount "ds_ordered_count" (B32; B32) Lds @ Unknown
    DsPermuteB32 "ds_permute_b32" (B32; B32, B32) Lds
    DsPkAddBf16 "ds_pk_add_bf16" (; B32, Bf16 * 2) Lds @ Atomic(4)
    DsPkAddF16 "ds_pk_add_f16" (; B32, F16 * 2) Lds @ Atomic(4)
    DsPkAddRtnBf16 "ds_pk_add_rtn_bf16" (Bf16 * 2; B32, Bf16 * 2) Lds @ Atomic(4)
    DsPkAddRtnF16 "ds_pk_add_rtn_f16" (F16 * 2; B32, F16 * 2) Lds @ Atomic(4)
    DsRsubRtnU32 "ds_rsub_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsRsubRtnU64 "ds_rsub_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsRsubU32 "ds_rsub_u32" (; B32, U32) Lds @ Atomic(4)
    DsRsubU64 "ds_rsub_u64" (; B32, U64) Lds @ Atomic(8)
    DsStore2addrB32 "ds_store_2addr_b32" (; B32, B32, None, B32) Lds @ StoreTwo(4, 4)
    DsStore2addrB64 "ds_store_2addr_b64" (; B32, B64, None, B64) Lds @ StoreTwo(8, 8)
    DsStore2addrStride64B32 "ds_store_2addr_stride64_b32" (; B32, B32, None, B32) Lds @ StoreTwo(4, 256)
    DsStore2addrStride64B64 "ds_store_2addr_stride64_b64" (; B32, B64, None, B64) Lds @ StoreTwo(8, 512)
    DsStoreAddtidB32 "ds_store_addtid_b32" (; None, B32) Lds @ StoreByLane {READS_M0}
    DsStoreB128 "ds_store_b128" (; B32, B32 * 4) Lds @ Store(16)
    DsStoreB16 "ds_store_b16" (; B32, B32) Lds @ Store(2)
    DsStoreB16D16Hi "ds_store_b16_d16_hi" (; B32, B32) Lds @ Store(2) {D16 HIGH}
    DsStoreB32 "ds_store_b32" (; B32, B32) Lds @ Store(4)
    DsStoreB64 "ds_store_b64" (; B32, B64) Lds @ Store(8)
    DsStoreB8 "ds_store_b8" (; B32, B32) Lds @ Store(1)
    DsStoreB8D16Hi "ds_store_b8_d16_hi" (; B32, B32) Lds @ Store(1) {D16 HIGH}
    DsStoreB96 "ds_store_b96" (; B32, B32 * 3) Lds @ Store(12)
    DsStorexchg2addrRtnB32 "ds_storexchg_2addr_rtn_b32" (B32 * 2; B32, B32, None, B32) Lds @ AtomicTwo(4, 4) {SWAPS}
    DsStorexchg2addrRtnB64 "ds_storexchg_2addr_rtn_b64" (B64 * 2; B32, B64, None, B64) Lds @ AtomicTwo(8, 8) {SWAPS}
    DsStorexchg2addrStride64RtnB32 "ds_storexchg_2addr_stride64_rtn_b32" (B32 * 2; B32, B32, None, B32) Lds @ AtomicTwo(4, 256) {SWAPS}
    DsStorexchg2addrStride64RtnB64 "ds_storexchg_2addr_stride64_rtn_b64" (B64 * 2; B32, B64, None, B64) Lds @ AtomicTwo(8, 512) {SWAPS}
    DsStorexchgRtnB32 "ds_storexchg_rtn_b32" (B32; B32, B32) Lds @ Atomic(4) {SWAPS}
    DsStorexchgRtnB64 "ds_storexchg_rtn_b64" (B64; B32, B64) Lds @ Atomic(8) {SWAPS}
    DsSubClampRtnU32 "ds_sub_clamp_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsSubClampU32 "ds_sub_clamp_u32" (; B32, U32) Lds @ Atomic(4)
    DsSubGsRegRtn "ds_sub_gs_reg_rtn" (B64; None, B32) Lds @ Unknown
    DsSubRtnU32 "ds_sub_rtn_u32" (U32; B32, U32) Lds @ Atomic(4)
    DsSubRtnU64 "ds_sub_rtn_u64" (U64; B32, U64) Lds @ Atomic(8)
    DsSubU32 "ds_sub_u32" (; B32, U32) Lds @ Atomic(4)
    DsSubU64 "ds_sub_u64" (; B32, U64) Lds @ Atomic(8)
    DsSwizzleB32 "ds_swizzle_b32" (B32; B32) Lds
    DsWrapRtnB32 "ds_wrap_rtn_b32" (B32; B32, B32, None, B32) Lds @ Atomic(4)
    DsXorB32 "ds_xor_b32" (; B32, B32) Lds @ Atomic(4)
    DsXorB64 "ds_xor_b64" (; B32, B64) Lds @ Atomic(8)
    DsXorRtnB32 "ds_xor_rtn_b32" (B32; B32, B32) Lds @ Atomic(4)
    DsXorRtnB64 "ds_xor_rtn_b64" (B64; B32, B64) Lds @ Atomic(8)
    Export "export" (;) Graphics
    FlatAtomicAddF32 "flat_atomic_add_f32" (F32; B64, F32) Flat @ Atomic(4)
    FlatAtomicAddF64 "flat_atomic_add_f64" (F64; B64, F64) Flat @ Atomic(8)
    FlatAtomicAddU32 "flat_atomic_add_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicAddU64 "flat_atomic_add_u64" (U64; B64, U64) Flat @ Atomic(8)
    FlatAtomicAndB32 "flat_atomic_and_b32" (B32; B64, B32) Flat @ Atomic(4)
    FlatAtomicAndB64 "flat_atomic_and_b64" (B64; B64, B64) Flat @ Atomic(8)
    FlatAtomicCmpswapB32 "flat_atomic_cmpswap_b32" (B32; B64, B32 * 2) Flat @ Atomic(4) {SWAPS}
    FlatAtomicCmpswapB64 "flat_atomic_cmpswap_b64" (B64; B64, B64 * 2) Flat @ Atomic(8) {SWAPS}
    FlatAtomicCmpswapF32 "flat_atomic_cmpswap_f32" (F32; B64, F32 * 2) Flat @ Atomic(4) {SWAPS}
    FlatAtomicCmpswapF64 "flat_atomic_cmpswap_f64" (F64; B64, F64 * 2) Flat @ Atomic(8) {SWAPS}
    FlatAtomicCondSubU32 "flat_atomic_cond_sub_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicCsubU32 "flat_atomic_csub_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicDecU32 "flat_atomic_dec_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicDecU64 "flat_atomic_dec_u64" (U64; B64, U64) Flat @ Atomic(8)
    FlatAtomicIncU32 "flat_atomic_inc_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicIncU64 "flat_atomic_inc_u64" (U64; B64, U64) Flat @ Atomic(8)
    FlatAtomicMaxF32 "flat_atomic_max_f32" (F32; B64, F32) Flat @ Atomic(4)
    FlatAtomicMaxF64 "flat_atomic_max_f64" (F64; B64, F64) Flat @ Atomic(8)
    FlatAtomicMaxI32 "flat_atomic_max_i32" (I32; B64, I32) Flat @ Atomic(4)
    FlatAtomicMaxI64 "flat_atomic_max_i64" (I64; B64, I64) Flat @ Atomic(8)
    FlatAtomicMaxU32 "flat_atomic_max_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicMaxU64 "flat_atomic_max_u64" (U64; B64, U64) Flat @ Atomic(8)
    FlatAtomicMinF32 "flat_atomic_min_f32" (F32; B64, F32) Flat @ Atomic(4)
    FlatAtomicMinF64 "flat_atomic_min_f64" (F64; B64, F64) Flat @ Atomic(8)
    FlatAtomicMinI32 "flat_atomic_min_i32" (I32; B64, I32) Flat @ Atomic(4)
    FlatAtomicMinI64 "flat_atomic_min_i64" (I64; B64, I64) Flat @ Atomic(8)
    FlatAtomicMinU32 "flat_atomic_min_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicMinU64 "flat_atomic_min_u64" (U64; B64, U64) Flat @ Atomic(8)
    FlatAtomicOrB32 "flat_atomic_or_b32" (B32; B64, B32) Flat @ Atomic(4)
    FlatAtomicOrB64 "flat_atomic_or_b64" (B64; B64, B64) Flat @ Atomic(8)
    FlatAtomicPkAddBf16 "flat_atomic_pk_add_bf16" (Bf16 * 2; B64, Bf16 * 2) Flat @ Atomic(4)
    FlatAtomicPkAddF16 "flat_atomic_pk_add_f16" (F16 * 2; B64, F16 * 2) Flat @ Atomic(4)
    FlatAtomicSubU32 "flat_atomic_sub_u32" (U32; B64, U32) Flat @ Atomic(4)
    FlatAtomicSubU64 "flat_atomic_sub_u64" (U64; B64, U64) Flat @ Atomic(8)
    FlatAtomicSwapB32 "flat_atomic_swap_b32" (B32; B64, B32) Flat @ Atomic(4) {SWAPS}
    FlatAtomicSwapB64 "flat_atomic_swap_b64" (B64; B64, B64) Flat @ Atomic(8) {SWAPS}
    FlatAtomicXorB32 "flat_atomic_xor_b32" (B32; B64, B32) Flat @ Atomic(4)
    FlatAtomicXorB64 "flat_atomic_xor_b64" (B64; B64, B64) Flat @ Atomic(8)
    FlatLoadB128 "flat_load_b128" (B32 * 4; B64) Flat @ Load(16)
    FlatLoadB32 "flat_load_b32" (B32; B64) Flat @ Load(4)
    FlatLoadB64 "flat_load_b64" (B64; B64) Flat @ Load(8)
    FlatLoadB96 "flat_load_b96" (B32 * 3; B64) Flat @ Load(12)
    FlatLoadD16B16 "flat_load_d16_b16" (B32; B64) Flat @ Load(2) {D16}
    FlatLoadD16HiB16 "flat_load_d16_hi_b16" (B32; B64) Flat @ Load(2) {D16 HIGH}
    FlatLoadD16HiI8 "flat_load_d16_hi_i8" (B32; B64) Flat @ Load(1) {D16 HIGH SIGNED}
    FlatLoadD16HiU8 "flat_load_d16_hi_u8" (B32; B64) Flat @ Load(1) {D16 HIGH}
    FlatLoadD16I8 "flat_load_d16_i8" (B32; B64) Flat @ Load(1) {D16 SIGNED}
    FlatLoadD16U8 "flat_load_d16_u8" (B32; B64) Flat @ Load(1) {D16}
    FlatLoadI16 "flat_load_i16" (B32; B64) Flat @ Load(2) {SIGNED}
    FlatLoadI8 "flat_load_i8" (B32; B64) Flat @ Load(1) {SIGNED}
    FlatLoadU16 "flat_load_u16" (B32; B64) Flat @ Load(2)
    FlatLoadU8 "flat_load_u8" (B32; B64) Flat @ Load(1)
    FlatStoreB128 "flat_store_b128" (; B64, B32 * 4) Flat @ Store(16)
    FlatStoreB16 "flat_store_b16" (; B64, B32) Flat @ Store(2)
    FlatStoreB32 "flat_store_b32" (; B64, B32) Flat @ Store(4)
    FlatStoreB64 "flat_store_b64" (; B64, B64) Flat @ Store(8)
    FlatStoreB8 "flat_store_b8" (; B64, B32) Flat @ Store(1)
    FlatStoreB96 "flat_store_b96" (; B64, B32 * 3) Flat @ Store(12)
    FlatStoreD16HiB16 "flat_store_d16_hi_b16" (; B64, B32) Flat @ Store(2) {D16 HIGH}
    FlatStoreD16HiB8 "flat_store_d16_hi_b8" (; B64, B32) Flat @ Store(1) {D16 HIGH}
    GlobalAtomicAddF32 "global_atomic_add_f32" (F32; B64, F32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicAddF64 "global_atomic_add_f64" (F64; B64, F64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicAddU32 "global_atomic_add_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicAddU64 "global_atomic_add_u64" (U64; B64, U64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicAndB32 "global_atomic_and_b32" (B32; B64, B32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicAndB64 "global_atomic_and_b64" (B64; B64, B64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicCmpswapB32 "global_atomic_cmpswap_b32" (B32; B64, B32 * 2, B64) VmemAtomic @ Atomic(4) {SWAPS}
    GlobalAtomicCmpswapB64 "global_atomic_cmpswap_b64" (B64; B64, B64 * 2, B64) VmemAtomic @ Atomic(8) {SWAPS}
    GlobalAtomicCmpswapF32 "global_atomic_cmpswap_f32" (F32; B64, F32 * 2, B64) VmemAtomic @ Atomic(4) {SWAPS}
    GlobalAtomicCmpswapF64 "global_atomic_cmpswap_f64" (F64; B64, F64 * 2, B64) VmemAtomic @ Atomic(8) {SWAPS}
    GlobalAtomicCondSubU32 "global_atomic_cond_sub_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicCsubU32 "global_atomic_csub_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicDecU32 "global_atomic_dec_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicDecU64 "global_atomic_dec_u64" (U64; B64, U64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicIncU32 "global_atomic_inc_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicIncU64 "global_atomic_inc_u64" (U64; B64, U64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicMaxF32 "global_atomic_max_f32" (F32; B64, F32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicMaxF64 "global_atomic_max_f64" (F64; B64, F64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicMaxI32 "global_atomic_max_i32" (I32; B64, I32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicMaxI64 "global_atomic_max_i64" (I64; B64, I64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicMaxU32 "global_atomic_max_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicMaxU64 "global_atomic_max_u64" (U64; B64, U64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicMinF32 "global_atomic_min_f32" (F32; B64, F32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicMinF64 "global_atomic_min_f64" (F64; B64, F64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicMinI32 "global_atomic_min_i32" (I32; B64, I32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicMinI64 "global_atomic_min_i64" (I64; B64, I64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicMinU32 "global_atomic_min_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicMinU64 "global_atomic_min_u64" (U64; B64, U64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicOrB32 "global_atomic_or_b32" (B32; B64, B32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicOrB64 "global_atomic_or_b64" (B64; B64, B64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicOrderedAddB64 "global_atomic_ordered_add_b64" (B64; B64, B64, B64) VmemAtomic @ Unknown
    GlobalAtomicPkAddBf16 "global_atomic_pk_add_bf16" (Bf16 * 2; B64, Bf16 * 2, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicPkAddF16 "global_atomic_pk_add_f16" (F16 * 2; B64, F16 * 2, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicSubU32 "global_atomic_sub_u32" (U32; B64, U32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicSubU64 "global_atomic_sub_u64" (U64; B64, U64, B64) VmemAtomic @ Atomic(8)
    GlobalAtomicSwapB32 "global_atomic_swap_b32" (B32; B64, B32, B64) VmemAtomic @ Atomic(4) {SWAPS}
    GlobalAtomicSwapB64 "global_atomic_swap_b64" (B64; B64, B64, B64) VmemAtomic @ Atomic(8) {SWAPS}
    GlobalAtomicXorB32 "global_atomic_xor_b32" (B32; B64, B32, B64) VmemAtomic @ Atomic(4)
    GlobalAtomicXorB64 "global_atomic_xor_b64" (B64; B64, B64, B64) VmemAtomic @ Atomic(8)
    GlobalInv "global_inv" (;) Hint
    GlobalLoadAddtidB32 "global_load_addtid_b32" (B32; None, None, B64) VmemLoad @ LoadByLane
    GlobalLoadB128 "global_load_b128" (B32 * 4; B64, None, B64) VmemLoad @ Load(16)
    GlobalLoadB32 "global_load_b32" (B32; B64, None, B64) VmemLoad @ Load(4)
    GlobalLoadB64 "global_load_b64" (B64; B64, None, B64) VmemLoad @ Load(8)
    GlobalLoadB96 "global_load_b96" (B32 * 3; B64, None, B64) VmemLoad @ Load(12)
    GlobalLoadBlock "global_load_block" (B32 * 32; B64, None, B64) VmemLoad @ LoadBlock {READS_M0}
    GlobalLoadD16B16 "global_load_d16_b16" (B32; B64, None, B64) VmemLoad @ Load(2) {D16}
    GlobalLoadD16HiB16 "global_load_d16_hi_b16" (B32; B64, None, B64) VmemLoad @ Load(2) {D16 HIGH}
    GlobalLoadD16HiI8 "global_load_d16_hi_i8" (B32; B64, None, B64) VmemLoad @ Load(1) {D16 HIGH SIGNED}
    GlobalLoadD16HiU8 "global_load_d16_hi_u8" (B32; B64, None, B64) VmemLoad @ Load(1) {D16 HIGH}
    GlobalLoadD16I8 "global_load_d16_i8" (B32; B64, None, B64) VmemLoad @ Load(1) {D16 SIGNED}
    GlobalLoadD16U8 "global_load_d16_u8" (B32; B64, None, B64) VmemLoad @ Load(1) {D16}
    GlobalLoadI16 "global_load_i16" (B32; B64, None, B64) VmemLoad @ Load(2) {SIGNED}
    GlobalLoadI8 "global_load_i8" (B32; B64, None, B64) VmemLoad @ Load(1) {SIGNED}
    GlobalLoadLdsB128 "global_load_lds_b128" (; B64, None, B64) VmemLoad @ Load(16) {READS_M0 TO_LDS}
    GlobalLoadLdsB32 "global_load_lds_b32" (; B64, None, B64) VmemLoad @ Load(4) {READS_M0 TO_LDS}
    GlobalLoadLdsB96 "global_load_lds_b96" (; B64, None, B64) VmemLoad @ Load(12) {READS_M0 TO_LDS}
    GlobalLoadLdsI16 "global_load_lds_i16" (; B64, None, B64) VmemLoad @ Load(2) {READS_M0 TO_LDS SIGNED}
    GlobalLoadLdsI8 "global_load_lds_i8" (; B64, None, B64) VmemLoad @ Load(1) {READS_M0 TO_LDS SIGNED}
    GlobalLoadLdsU16 "global_load_lds_u16" (; B64, None, B64) VmemLoad @ Load(2) {READS_M0 TO_LDS}
    GlobalLoadLdsU8 "global_load_lds_u8" (; B64, None, B64) VmemLoad @ Load(1) {READS_M0 TO_LDS}
    GlobalLoadTrB128 "global_load_tr_b128" (B32 * 4; B64, None, B64) VmemLoad @ LoadTile(16)
    GlobalLoadTrB64 "global_load_tr_b64" (B64; B64, None, B64) VmemLoad @ LoadTile(8)
    GlobalLoadU16 "global_load_u16" (B32; B64, None, B64) VmemLoad @ Load(2)
    GlobalLoadU8 "global_load_u8" (B32; B64, None, B64) VmemLoad @ Load(1)
    GlobalStoreAddtidB32 "global_store_addtid_b32" (; None, B32, B64) VmemStore @ StoreByLane
    GlobalStoreB128 "global_store_b128" (; B64, B32 * 4, B64) VmemStore @ Store(16)
    GlobalStoreB16 "global_store_b16" (; B64, B32, B64) VmemStore @ Store(2)
    GlobalStoreB32 "global_store_b32" (; B64, B32, B64) VmemStore @ Store(4)
    GlobalStoreB64 "global_store_b64" (; B64, B64, B64) VmemStore @ Store(8)
    GlobalStoreB8 "global_store_b8" (; B64, B32, B64) VmemStore @ Store(1)
    GlobalStoreB96 "global_store_b96" (; B64, B32 * 3, B64) VmemStore @ Store(12)
    GlobalStoreBlock "global_store_block" (; B64, B32 * 32, B64) VmemStore @ StoreBlock {READS_M0}
    GlobalStoreD16HiB16 "global_store_d16_hi_b16" (; B64, B32, B64) VmemStore @ Store(2) {D16 HIGH}
    GlobalStoreD16HiB8 "global_store_d16_hi_b8" (; B64, B32, B64) VmemStore @ Store(1) {D16 HIGH}
    GlobalWb "global_wb" (;) Hint
    GlobalWbinv "global_wbinv" (;) Hint
    Image "image" (;) Graphics
    Interpolate "interpolate" (;) Graphics
    LdsDirectLoad "lds_direct_load" (B32;) Graphics @ Direct {READS_M0}
    LdsParamLoad "lds_param_load" (B32;) Graphics @ Unknown
    SAbsI32 "s_abs_i32" (I32; I32) Salu {WRITES_SCC}
    SAbsdiffI32 "s_absdiff_i32" (I32; I32, I32) Salu {WRITES_SCC}
    SAddF16 "s_add_f16" (F16; F16, F16) Salu
    SAddF32 "s_add_f32" (F32; F32, F32) Salu
    SAddI32 "s_add_i32" (I32; I32, I32) Salu {WRITES_SCC}
    SAddNcU64 "s_add_nc_u64" (U64; U64, U64) Salu
    SAddU32 "s_add_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SAddcU32 "s_addc_u32" (U32; U32, U32) Salu {READS_SCC WRITES_SCC}
    SAddkI32 "s_addk_i32" (I32; I32, I32) Salu {WRITES_SCC}
    SAllocVgpr "s_alloc_vgpr" (; B32) Salu
    SAndB32 "s_and_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SAndB64 "s_and_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SAndNot0SaveexecB32 "s_and_not0_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SAndNot0SaveexecB64 "s_and_not0_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SAndNot0WrexecB32 "s_and_not0_wrexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC RETURNS_EXEC}
    SAndNot0WrexecB64 "s_and_not0_wrexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC RETURNS_EXEC}
    SAndNot1B32 "s_and_not1_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SAndNot1B64 "s_and_not1_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SAndNot1SaveexecB32 "s_and_not1_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SAndNot1SaveexecB64 "s_and_not1_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SAndNot1WrexecB32 "s_and_not1_wrexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC RETURNS_EXEC}
    SAndNot1WrexecB64 "s_and_not1_wrexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC RETURNS_EXEC}
    SAndSaveexecB32 "s_and_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SAndSaveexecB64 "s_and_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SAshrI32 "s_ashr_i32" (I32; I32, U32) Salu {WRITES_SCC}
    SAshrI64 "s_ashr_i64" (I64; I64, U32) Salu {WRITES_SCC}
    SAtcProbe "s_atc_probe" (; None, None, B64, B32) Hint
    SAtcProbeBuffer "s_atc_probe_buffer" (; None, None, B128, B32) Hint
    SAtomicAddU32 "s_atomic_add_u32" (U32; None, U32, B64, B32) Smem @ Atomic(4)
    SAtomicAddU64 "s_atomic_add_u64" (U64; None, U64, B64, B32) Smem @ Atomic(8)
    SAtomicAndB32 "s_atomic_and_b32" (B32; None, B32, B64, B32) Smem @ Atomic(4)
    SAtomicAndB64 "s_atomic_and_b64" (B64; None, B64, B64, B32) Smem @ Atomic(8)
    SAtomicCmpswapB32 "s_atomic_cmpswap_b32" (B32; None, B32 * 2, B64, B32) Smem @ Atomic(4) {SWAPS}
    SAtomicCmpswapB64 "s_atomic_cmpswap_b64" (B64; None, B64 * 2, B64, B32) Smem @ Atomic(8) {SWAPS}
    SAtomicDecU32 "s_atomic_dec_u32" (U32; None, U32, B64, B32) Smem @ Atomic(4)
    SAtomicDecU64 "s_atomic_dec_u64" (U64; None, U64, B64, B32) Smem @ Atomic(8)
    SAtomicIncU32 "s_atomic_inc_u32" (U32; None, U32, B64, B32) Smem @ Atomic(4)
    SAtomicIncU64 "s_atomic_inc_u64" (U64; None, U64, B64, B32) Smem @ Atomic(8)
    SAtomicMaxI32 "s_atomic_max_i32" (I32; None, I32, B64, B32) Smem @ Atomic(4)
    SAtomicMaxI64 "s_atomic_max_i64" (I64; None, I64, B64, B32) Smem @ Atomic(8)
    SAtomicMaxU32 "s_atomic_max_u32" (U32; None, U32, B64, B32) Smem @ Atomic(4)
    SAtomicMaxU64 "s_atomic_max_u64" (U64; None, U64, B64, B32) Smem @ Atomic(8)
    SAtomicMinI32 "s_atomic_min_i32" (I32; None, I32, B64, B32) Smem @ Atomic(4)
    SAtomicMinI64 "s_atomic_min_i64" (I64; None, I64, B64, B32) Smem @ Atomic(8)
    SAtomicMinU32 "s_atomic_min_u32" (U32; None, U32, B64, B32) Smem @ Atomic(4)
    SAtomicMinU64 "s_atomic_min_u64" (U64; None, U64, B64, B32) Smem @ Atomic(8)
    SAtomicOrB32 "s_atomic_or_b32" (B32; None, B32, B64, B32) Smem @ Atomic(4)
    SAtomicOrB64 "s_atomic_or_b64" (B64; None, B64, B64, B32) Smem @ Atomic(8)
    SAtomicSubU32 "s_atomic_sub_u32" (U32; None, U32, B64, B32) Smem @ Atomic(4)
    SAtomicSubU64 "s_atomic_sub_u64" (U64; None, U64, B64, B32) Smem @ Atomic(8)
    SAtomicSwapB32 "s_atomic_swap_b32" (B32; None, B32, B64, B32) Smem @ Atomic(4) {SWAPS}
    SAtomicSwapB64 "s_atomic_swap_b64" (B64; None, B64, B64, B32) Smem @ Atomic(8) {SWAPS}
    SAtomicXorB32 "s_atomic_xor_b32" (B32; None, B32, B64, B32) Smem @ Atomic(4)
    SAtomicXorB64 "s_atomic_xor_b64" (B64; None, B64, B64, B32) Smem @ Atomic(8)
    SBarrier "s_barrier" (;) Barrier
    SBarrierInit "s_barrier_init" (; B32) Barrier
    SBarrierJoin "s_barrier_join" (; B32) Barrier
    SBarrierLeave "s_barrier_leave" (;) Barrier {WRITES_SCC}
    SBarrierSignal "s_barrier_signal" (; B32) Barrier
    SBarrierSignalIsfirst "s_barrier_signal_isfirst" (; B32) Barrier {WRITES_SCC}
    SBarrierWait "s_barrier_wait" (; I32) Barrier
    SBcnt0I32B32 "s_bcnt0_i32_b32" (I32; U32) Salu {WRITES_SCC}
    SBcnt0I32B64 "s_bcnt0_i32_b64" (I32; U64) Salu {WRITES_SCC}
    SBcnt1I32B32 "s_bcnt1_i32_b32" (I32; U32) Salu {WRITES_SCC}
    SBcnt1I32B64 "s_bcnt1_i32_b64" (I32; U64) Salu {WRITES_SCC}
    SBfeI32 "s_bfe_i32" (I32; I32, U32) Salu {WRITES_SCC}
    SBfeI64 "s_bfe_i64" (I64; I64, U32) Salu {WRITES_SCC}
    SBfeU32 "s_bfe_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SBfeU64 "s_bfe_u64" (U64; U64, U32) Salu {WRITES_SCC}
    SBfmB32 "s_bfm_b32" (U32; U32, U32) Salu
    SBfmB64 "s_bfm_b64" (U64; U32, U32) Salu
    SBitcmp0B32 "s_bitcmp0_b32" (; U32, U32) Salu {WRITES_SCC}
    SBitcmp0B64 "s_bitcmp0_b64" (; U64, U32) Salu {WRITES_SCC}
    SBitcmp1B32 "s_bitcmp1_b32" (; U32, U32) Salu {WRITES_SCC}
    SBitcmp1B64 "s_bitcmp1_b64" (; U64, U32) Salu {WRITES_SCC}
    SBitreplicateB64B32 "s_bitreplicate_b64_b32" (U64; U32) Salu
    SBitset0B32 "s_bitset0_b32" (B32; U32) Salu {READS_RESULT}
    SBitset0B64 "s_bitset0_b64" (B64; U32) Salu {READS_RESULT}
    SBitset1B32 "s_bitset1_b32" (B32; U32) Salu {READS_RESULT}
    SBitset1B64 "s_bitset1_b64" (B64; U32) Salu {READS_RESULT}
    SBranch "s_branch" (; I32) Branch {BRANCH}
    SBrevB32 "s_brev_b32" (U32; U32) Salu
    SBrevB64 "s_brev_b64" (U64; U64) Salu
    SBufferAtomicAddU32 "s_buffer_atomic_add_u32" (U32; None, U32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicAddU64 "s_buffer_atomic_add_u64" (U64; None, U64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicAndB32 "s_buffer_atomic_and_b32" (B32; None, B32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicAndB64 "s_buffer_atomic_and_b64" (B64; None, B64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicCmpswapB32 "s_buffer_atomic_cmpswap_b32" (B32; None, B32 * 2, B128, B32) Smem @ Atomic(4) {BUFFER SWAPS}
    SBufferAtomicCmpswapB64 "s_buffer_atomic_cmpswap_b64" (B64; None, B64 * 2, B128, B32) Smem @ Atomic(8) {BUFFER SWAPS}
    SBufferAtomicDecU32 "s_buffer_atomic_dec_u32" (U32; None, U32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicDecU64 "s_buffer_atomic_dec_u64" (U64; None, U64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicIncU32 "s_buffer_atomic_inc_u32" (U32; None, U32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicIncU64 "s_buffer_atomic_inc_u64" (U64; None, U64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicMaxI32 "s_buffer_atomic_max_i32" (I32; None, I32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicMaxI64 "s_buffer_atomic_max_i64" (I64; None, I64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicMaxU32 "s_buffer_atomic_max_u32" (U32; None, U32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicMaxU64 "s_buffer_atomic_max_u64" (U64; None, U64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicMinI32 "s_buffer_atomic_min_i32" (I32; None, I32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicMinI64 "s_buffer_atomic_min_i64" (I64; None, I64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicMinU32 "s_buffer_atomic_min_u32" (U32; None, U32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicMinU64 "s_buffer_atomic_min_u64" (U64; None, U64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicOrB32 "s_buffer_atomic_or_b32" (B32; None, B32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicOrB64 "s_buffer_atomic_or_b64" (B64; None, B64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicSubU32 "s_buffer_atomic_sub_u32" (U32; None, U32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicSubU64 "s_buffer_atomic_sub_u64" (U64; None, U64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferAtomicSwapB32 "s_buffer_atomic_swap_b32" (B32; None, B32, B128, B32) Smem @ Atomic(4) {BUFFER SWAPS}
    SBufferAtomicSwapB64 "s_buffer_atomic_swap_b64" (B64; None, B64, B128, B32) Smem @ Atomic(8) {BUFFER SWAPS}
    SBufferAtomicXorB32 "s_buffer_atomic_xor_b32" (B32; None, B32, B128, B32) Smem @ Atomic(4) {BUFFER}
    SBufferAtomicXorB64 "s_buffer_atomic_xor_b64" (B64; None, B64, B128, B32) Smem @ Atomic(8) {BUFFER}
    SBufferLoadB128 "s_buffer_load_b128" (B32 * 4; None, None, B128, B32) Smem @ Load(16) {BUFFER}
    SBufferLoadB256 "s_buffer_load_b256" (B32 * 8; None, None, B128, B32) Smem @ Load(32) {BUFFER}
    SBufferLoadB32 "s_buffer_load_b32" (B32; None, None, B128, B32) Smem @ Load(4) {BUFFER}
    SBufferLoadB512 "s_buffer_load_b512" (B32 * 16; None, None, B128, B32) Smem @ Load(64) {BUFFER}
    SBufferLoadB64 "s_buffer_load_b64" (B64; None, None, B128, B32) Smem @ Load(8) {BUFFER}
    SBufferLoadB96 "s_buffer_load_b96" (B32 * 3; None, None, B128, B32) Smem @ Load(12) {BUFFER}
    SBufferLoadI16 "s_buffer_load_i16" (B32; None, None, B128, B32) Smem @ Load(2) {BUFFER SIGNED}
    SBufferLoadI8 "s_buffer_load_i8" (B32; None, None, B128, B32) Smem @ Load(1) {BUFFER SIGNED}
    SBufferLoadU16 "s_buffer_load_u16" (B32; None, None, B128, B32) Smem @ Load(2) {BUFFER}
    SBufferLoadU8 "s_buffer_load_u8" (B32; None, None, B128, B32) Smem @ Load(1) {BUFFER}
    SBufferPrefetchData "s_buffer_prefetch_data" (; None, None, B128, B32) Hint {BUFFER PREFETCH}
    SBufferStoreB128 "s_buffer_store_b128" (; None, B32 * 4, B128, B32) Smem @ Store(16) {BUFFER}
    SBufferStoreB32 "s_buffer_store_b32" (; None, B32, B128, B32) Smem @ Store(4) {BUFFER}
    SBufferStoreB64 "s_buffer_store_b64" (; None, B64, B128, B32) Smem @ Store(8) {BUFFER}
    SCallB64 "s_call_b64" (B64; I32) Branch {JUMP}
    SCbranchCdbgsys "s_cbranch_cdbgsys" (; I32) Branch {BRANCH}
    SCbranchCdbgsysAndUser "s_cbranch_cdbgsys_and_user" (; I32) Branch {BRANCH}
    SCbranchCdbgsysOrUser "s_cbranch_cdbgsys_or_user" (; I32) Branch {BRANCH}
    SCbranchCdbguser "s_cbranch_cdbguser" (; I32) Branch {BRANCH}
    SCbranchExecnz "s_cbranch_execnz" (; I32) Branch {BRANCH READS_EXEC}
    SCbranchExecz "s_cbranch_execz" (; I32) Branch {BRANCH READS_EXEC}
    SCbranchGFork "s_cbranch_g_fork" (; B64, B64) Branch {JUMP READS_EXEC WRITES_EXEC RELATIVE}
    SCbranchIFork "s_cbranch_i_fork" (; B64, I32) Branch {JUMP READS_EXEC WRITES_EXEC RELATIVE}
    SCbranchJoin "s_cbranch_join" (; B32) Branch {JUMP READS_EXEC WRITES_EXEC RELATIVE}
    SCbranchScc0 "s_cbranch_scc0" (; I32) Branch {BRANCH READS_SCC}
    SCbranchScc1 "s_cbranch_scc1" (; I32) Branch {BRANCH READS_SCC}
    SCbranchVccnz "s_cbranch_vccnz" (; I32) Branch {BRANCH READS_VCC}
    SCbranchVccz "s_cbranch_vccz" (; I32) Branch {BRANCH READS_VCC}
    SCeilF16 "s_ceil_f16" (F16; F16) Salu
    SCeilF32 "s_ceil_f32" (F32; F32) Salu
    SClause "s_clause" (; I32) Hint
    SClsI32 "s_cls_i32" (I32; I32) Salu
    SClsI32I64 "s_cls_i32_i64" (I32; I64) Salu
    SClzI32U32 "s_clz_i32_u32" (I32; U32) Salu
    SClzI32U64 "s_clz_i32_u64" (I32; U64) Salu
    SCmovB32 "s_cmov_b32" (B32; B32) Salu {READS_SCC READS_RESULT}
    SCmovB64 "s_cmov_b64" (B64; B64) Salu {READS_SCC READS_RESULT}
    SCmovkI32 "s_cmovk_i32" (I32; I32) Salu {READS_SCC READS_RESULT}
    SCmpEqF16 "s_cmp_eq_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpEqF32 "s_cmp_eq_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpEqI32 "s_cmp_eq_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpEqU32 "s_cmp_eq_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpEqU64 "s_cmp_eq_u64" (; U64, U64) Salu {WRITES_SCC}
    SCmpGeF16 "s_cmp_ge_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpGeF32 "s_cmp_ge_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpGeI32 "s_cmp_ge_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpGeU32 "s_cmp_ge_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpGtF16 "s_cmp_gt_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpGtF32 "s_cmp_gt_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpGtI32 "s_cmp_gt_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpGtU32 "s_cmp_gt_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpLeF16 "s_cmp_le_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpLeF32 "s_cmp_le_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpLeI32 "s_cmp_le_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpLeU32 "s_cmp_le_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpLgF16 "s_cmp_lg_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpLgF32 "s_cmp_lg_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpLgI32 "s_cmp_lg_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpLgU32 "s_cmp_lg_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpLgU64 "s_cmp_lg_u64" (; U64, U64) Salu {WRITES_SCC}
    SCmpLtF16 "s_cmp_lt_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpLtF32 "s_cmp_lt_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpLtI32 "s_cmp_lt_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpLtU32 "s_cmp_lt_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpNeqF16 "s_cmp_neq_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpNeqF32 "s_cmp_neq_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpNgeF16 "s_cmp_nge_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpNgeF32 "s_cmp_nge_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpNgtF16 "s_cmp_ngt_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpNgtF32 "s_cmp_ngt_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpNleF16 "s_cmp_nle_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpNleF32 "s_cmp_nle_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpNlgF16 "s_cmp_nlg_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpNlgF32 "s_cmp_nlg_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpNltF16 "s_cmp_nlt_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpNltF32 "s_cmp_nlt_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpOF16 "s_cmp_o_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpOF32 "s_cmp_o_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpUF16 "s_cmp_u_f16" (; F16, F16) Salu {WRITES_SCC}
    SCmpUF32 "s_cmp_u_f32" (; F32, F32) Salu {WRITES_SCC}
    SCmpkEqI32 "s_cmpk_eq_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpkEqU32 "s_cmpk_eq_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpkGeI32 "s_cmpk_ge_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpkGeU32 "s_cmpk_ge_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpkGtI32 "s_cmpk_gt_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpkGtU32 "s_cmpk_gt_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpkLeI32 "s_cmpk_le_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpkLeU32 "s_cmpk_le_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpkLgI32 "s_cmpk_lg_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpkLgU32 "s_cmpk_lg_u32" (; U32, U32) Salu {WRITES_SCC}
    SCmpkLtI32 "s_cmpk_lt_i32" (; I32, I32) Salu {WRITES_SCC}
    SCmpkLtU32 "s_cmpk_lt_u32" (; U32, U32) Salu {WRITES_SCC}
    SCodeEnd "s_code_end" (;) Hint
    SCselectB32 "s_cselect_b32" (B32; B32, B32) Salu {READS_SCC}
    SCselectB64 "s_cselect_b64" (B64; B64, B64) Salu {READS_SCC}
    SCtzI32B32 "s_ctz_i32_b32" (I32; U32) Salu
    SCtzI32B64 "s_ctz_i32_b64" (I32; U64) Salu
    SCvtF16F32 "s_cvt_f16_f32" (F16; F32) Salu
    SCvtF32F16 "s_cvt_f32_f16" (F32; F16) Salu
    SCvtF32I32 "s_cvt_f32_i32" (F32; I32) Salu
    SCvtF32U32 "s_cvt_f32_u32" (F32; U32) Salu
    SCvtHiF32F16 "s_cvt_hi_f32_f16" (F32; F16) Salu
    SCvtI32F32 "s_cvt_i32_f32" (I32; F32) Salu
    SCvtPkRtzF16F32 "s_cvt_pk_rtz_f16_f32" (F16 * 2; F32, F32) Salu
    SCvtU32F32 "s_cvt_u32_f32" (U32; F32) Salu
    SDcacheDiscard "s_dcache_discard" (; None, None, B64, B32) Hint
    SDcacheDiscardX2 "s_dcache_discard_x2" (; None, None, B64, B32) Hint
    SDcacheInv "s_dcache_inv" (;) Hint
    SDcacheInvVol "s_dcache_inv_vol" (;) Hint
    SDcacheWb "s_dcache_wb" (;) Hint
    SDcacheWbVol "s_dcache_wb_vol" (;) Hint
    SDecperflevel "s_decperflevel" (; I32) Hint
    SDelayAlu "s_delay_alu" (; I32) Hint
    SDenormMode "s_denorm_mode" (; I32) Salu
    SEndpgm "s_endpgm" (; I32) Branch
    SEndpgmOrderedPsDone "s_endpgm_ordered_ps_done" (;) Branch
    SEndpgmSaved "s_endpgm_saved" (;) Branch
    SFf0I32B32 "s_ff0_i32_b32" (I32; U32) Salu
    SFf0I32B64 "s_ff0_i32_b64" (I32; U64) Salu
    SFloorF16 "s_floor_f16" (F16; F16) Salu
    SFloorF32 "s_floor_f32" (F32; F32) Salu
    SFmaakF32 "s_fmaak_f32" (F32; F32, F32, F32) Salu
    SFmacF16 "s_fmac_f16" (F16; F16, F16, F16) Salu {ACCUMULATES}
    SFmacF32 "s_fmac_f32" (F32; F32, F32, F32) Salu {ACCUMULATES}
    SFmamkF32 "s_fmamk_f32" (F32; F32, F32, F32) Salu
    SGetBarrierState "s_get_barrier_state" (B32; B32) Barrier
    SGetpcB64 "s_getpc_b64" (B64;) Salu
    SGetregB32 "s_getreg_b32" (B32; I32) Salu
    SGl1Inv "s_gl1_inv" (;) Hint
    SIcacheInv "s_icache_inv" (;) Hint
    SIncperflevel "s_incperflevel" (; I32) Hint
    SLoadB128 "s_load_b128" (B32 * 4; None, None, B64, B32) Smem @ Load(16)
    SLoadB256 "s_load_b256" (B32 * 8; None, None, B64, B32) Smem @ Load(32)
    SLoadB32 "s_load_b32" (B32; None, None, B64, B32) Smem @ Load(4)
    SLoadB512 "s_load_b512" (B32 * 16; None, None, B64, B32) Smem @ Load(64)
    SLoadB64 "s_load_b64" (B64; None, None, B64, B32) Smem @ Load(8)
    SLoadB96 "s_load_b96" (B32 * 3; None, None, B64, B32) Smem @ Load(12)
    SLoadI16 "s_load_i16" (B32; None, None, B64, B32) Smem @ Load(2) {SIGNED}
    SLoadI8 "s_load_i8" (B32; None, None, B64, B32) Smem @ Load(1) {SIGNED}
    SLoadU16 "s_load_u16" (B32; None, None, B64, B32) Smem @ Load(2)
    SLoadU8 "s_load_u8" (B32; None, None, B64, B32) Smem @ Load(1)
    SLshl1AddU32 "s_lshl1_add_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SLshl2AddU32 "s_lshl2_add_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SLshl3AddU32 "s_lshl3_add_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SLshl4AddU32 "s_lshl4_add_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SLshlB32 "s_lshl_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SLshlB64 "s_lshl_b64" (U64; U64, U32) Salu {WRITES_SCC}
    SLshrB32 "s_lshr_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SLshrB64 "s_lshr_b64" (U64; U64, U32) Salu {WRITES_SCC}
    SMaxI32 "s_max_i32" (I32; I32, I32) Salu {WRITES_SCC}
    SMaxNumF16 "s_max_num_f16" (F16; F16, F16) Salu
    SMaxNumF32 "s_max_num_f32" (F32; F32, F32) Salu
    SMaxU32 "s_max_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SMaximumF16 "s_maximum_f16" (F16; F16, F16) Salu
    SMaximumF32 "s_maximum_f32" (F32; F32, F32) Salu
    SMemrealtime "s_memrealtime" (B64;) Smem
    SMemtime "s_memtime" (B64;) Smem
    SMinI32 "s_min_i32" (I32; I32, I32) Salu {WRITES_SCC}
    SMinNumF16 "s_min_num_f16" (F16; F16, F16) Salu
    SMinNumF32 "s_min_num_f32" (F32; F32, F32) Salu
    SMinU32 "s_min_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SMinimumF16 "s_minimum_f16" (F16; F16, F16) Salu
    SMinimumF32 "s_minimum_f32" (F32; F32, F32) Salu
    SMovB32 "s_mov_b32" (B32; B32) Salu
    SMovB64 "s_mov_b64" (B64; B64) Salu
    SMovkI32 "s_movk_i32" (I32; I32) Salu
    SMovreldB32 "s_movreld_b32" (B32; B32) Salu {READS_M0 RELATIVE}
    SMovreldB64 "s_movreld_b64" (B64; B64) Salu {READS_M0 RELATIVE}
    SMovrelsB32 "s_movrels_b32" (B32; B32) Salu {READS_M0 RELATIVE}
    SMovrelsB64 "s_movrels_b64" (B64; B64) Salu {READS_M0 RELATIVE}
    SMovrelsd2B32 "s_movrelsd_2_b32" (B32; B32) Salu {READS_M0 RELATIVE}
    SMulF16 "s_mul_f16" (F16; F16, F16) Salu
    SMulF32 "s_mul_f32" (F32; F32, F32) Salu
    SMulHiI32 "s_mul_hi_i32" (I32; I32, I32) Salu
    SMulHiU32 "s_mul_hi_u32" (U32; U32, U32) Salu
    SMulI32 "s_mul_i32" (I32; I32, I32) Salu
    SMulU64 "s_mul_u64" (U64; U64, U64) Salu
    SMulkI32 "s_mulk_i32" (I32; I32, I32) Salu
    SNandB32 "s_nand_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SNandB64 "s_nand_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SNandSaveexecB32 "s_nand_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SNandSaveexecB64 "s_nand_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SNop "s_nop" (; I32) Hint
    SNorB32 "s_nor_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SNorB64 "s_nor_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SNorSaveexecB32 "s_nor_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SNorSaveexecB64 "s_nor_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SNotB32 "s_not_b32" (U32; U32) Salu {WRITES_SCC}
    SNotB64 "s_not_b64" (U64; U64) Salu {WRITES_SCC}
    SOrB32 "s_or_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SOrB64 "s_or_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SOrNot0SaveexecB32 "s_or_not0_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SOrNot0SaveexecB64 "s_or_not0_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SOrNot1B32 "s_or_not1_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SOrNot1B64 "s_or_not1_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SOrNot1SaveexecB32 "s_or_not1_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SOrNot1SaveexecB64 "s_or_not1_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SOrSaveexecB32 "s_or_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SOrSaveexecB64 "s_or_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SPackHhB32B16 "s_pack_hh_b32_b16" (B32; B32, B32) Salu
    SPackHlB32B16 "s_pack_hl_b32_b16" (B32; B32, B32) Salu
    SPackLhB32B16 "s_pack_lh_b32_b16" (B32; B32, B32) Salu
    SPackLlB32B16 "s_pack_ll_b32_b16" (B32; B32, B32) Salu
    SPrefetchData "s_prefetch_data" (; None, None, B64, B32) Hint {PREFETCH}
    SPrefetchDataPcRel "s_prefetch_data_pc_rel" (; None, None, None, B32) Hint {PREFETCH}
    SPrefetchInst "s_prefetch_inst" (; None, None, B64, B32) Hint {PREFETCH}
    SPrefetchInstPcRel "s_prefetch_inst_pc_rel" (; None, None, None, B32) Hint {PREFETCH}
    SQuadmaskB32 "s_quadmask_b32" (U32; U32) Salu {WRITES_SCC}
    SQuadmaskB64 "s_quadmask_b64" (U64; U64) Salu {WRITES_SCC}
    SRfeB64 "s_rfe_b64" (; B64) Branch {JUMP}
    SRfeRestoreB64 "s_rfe_restore_b64" (; B64, B32) Branch
    SRndneF16 "s_rndne_f16" (F16; F16) Salu
    SRndneF32 "s_rndne_f32" (F32; F32) Salu
    SRoundMode "s_round_mode" (; I32) Salu
    SScratchLoadB128 "s_scratch_load_b128" (B32 * 4; None, None, B64, B32) Smem @ Load(16) {SCRATCH}
    SScratchLoadB32 "s_scratch_load_b32" (B32; None, None, B64, B32) Smem @ Load(4) {SCRATCH}
    SScratchLoadB64 "s_scratch_load_b64" (B64; None, None, B64, B32) Smem @ Load(8) {SCRATCH}
    SScratchStoreB128 "s_scratch_store_b128" (; None, B32 * 4, B64, B32) Smem @ Store(16) {SCRATCH}
    SScratchStoreB32 "s_scratch_store_b32" (; None, B32, B64, B32) Smem @ Store(4) {SCRATCH}
    SScratchStoreB64 "s_scratch_store_b64" (; None, B64, B64, B32) Smem @ Store(8) {SCRATCH}
    SSendmsg "s_sendmsg" (; I32) Message {READS_M0}
    SSendmsgRtnB32 "s_sendmsg_rtn_b32" (B32; B32) Message {READS_M0}
    SSendmsgRtnB64 "s_sendmsg_rtn_b64" (B64; B32) Message {READS_M0}
    SSendmsghalt "s_sendmsghalt" (; I32) Message {READS_M0}
    SSetGprIdxIdx "s_set_gpr_idx_idx" (; B32) Salu {READS_M0 WRITES_M0}
    SSetGprIdxMode "s_set_gpr_idx_mode" (; I32) Salu {READS_M0 WRITES_M0}
    SSetGprIdxOff "s_set_gpr_idx_off" (;) Salu
    SSetGprIdxOn "s_set_gpr_idx_on" (; B32, B32) Salu {READS_M0 WRITES_M0}
    SSetInstPrefetchDistance "s_set_inst_prefetch_distance" (; I32) Hint
    SSethalt "s_sethalt" (; I32) Hint
    SSetkill "s_setkill" (; I32) Hint
    SSetpcB64 "s_setpc_b64" (; B64) Branch {JUMP}
    SSetprio "s_setprio" (; I32) Hint
    SSetregB32 "s_setreg_b32" (; B32, I32) Salu
    SSetregImm32B32 "s_setreg_imm32_b32" (; B32, I32) Salu
    SSetvskip "s_setvskip" (; U32, U32) Salu
    SSextI32I16 "s_sext_i32_i16" (I32; B32) Salu
    SSextI32I8 "s_sext_i32_i8" (I32; B32) Salu
    SSleep "s_sleep" (; I32) Hint
    SSleepVar "s_sleep_var" (; B32) Hint
    SStoreB128 "s_store_b128" (; None, B32 * 4, B64, B32) Smem @ Store(16)
    SStoreB32 "s_store_b32" (; None, B32, B64, B32) Smem @ Store(4)
    SStoreB64 "s_store_b64" (; None, B64, B64, B32) Smem @ Store(8)
    SSubF16 "s_sub_f16" (F16; F16, F16) Salu
    SSubF32 "s_sub_f32" (F32; F32, F32) Salu
    SSubI32 "s_sub_i32" (I32; I32, I32) Salu {WRITES_SCC}
    SSubNcU64 "s_sub_nc_u64" (U64; U64, U64) Salu
    SSubU32 "s_sub_u32" (U32; U32, U32) Salu {WRITES_SCC}
    SSubbU32 "s_subb_u32" (U32; U32, U32) Salu {READS_SCC WRITES_SCC}
    SSubvectorLoopBegin "s_subvector_loop_begin" (B32; B32, I32) Branch {READS_EXEC WRITES_EXEC READS_RESULT}
    SSubvectorLoopEnd "s_subvector_loop_end" (B32; B32, I32) Branch {READS_EXEC WRITES_EXEC READS_RESULT}
    SSwappcB64 "s_swappc_b64" (B64; B64) Branch {JUMP}
    STrap "s_trap" (; I32) Branch
    STruncF16 "s_trunc_f16" (F16; F16) Salu
    STruncF32 "s_trunc_f32" (F32; F32) Salu
    STtracedata "s_ttracedata" (;) Hint
    STtracedataImm "s_ttracedata_imm" (; I32) Hint
    SVersion "s_version" (; I32) Hint
    SWaitAlu "s_wait_alu" (; I32) Hint
    SWaitBvhcnt "s_wait_bvhcnt" (; I32) Hint
    SWaitDscnt "s_wait_dscnt" (; I32) Hint
    SWaitEvent "s_wait_event" (; I32) Hint
    SWaitExpcnt "s_wait_expcnt" (; I32) Hint
    SWaitIdle "s_wait_idle" (;) Hint
    SWaitKmcnt "s_wait_kmcnt" (; I32) Hint
    SWaitLoadcnt "s_wait_loadcnt" (; I32) Hint
    SWaitLoadcntDscnt "s_wait_loadcnt_dscnt" (; I32) Hint
    SWaitSamplecnt "s_wait_samplecnt" (; I32) Hint
    SWaitStorecnt "s_wait_storecnt" (; I32) Hint
    SWaitStorecntDscnt "s_wait_storecnt_dscnt" (; I32) Hint
    SWaitcnt "s_waitcnt" (; I32) Hint
    SWaitcntDepctr "s_waitcnt_depctr" (; I32) Hint
    SWaitcntExpcnt "s_waitcnt_expcnt" (; B32, I32) Hint
    SWaitcntLgkmcnt "s_waitcnt_lgkmcnt" (; B32, I32) Hint
    SWaitcntVmcnt "s_waitcnt_vmcnt" (; B32, I32) Hint
    SWaitcntVscnt "s_waitcnt_vscnt" (; B32, I32) Hint
    SWakeup "s_wakeup" (;) Hint
    SWqmB32 "s_wqm_b32" (U32; U32) Salu {WRITES_SCC}
    SWqmB64 "s_wqm_b64" (U64; U64) Salu {WRITES_SCC}
    SXnorB32 "s_xnor_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SXnorB64 "s_xnor_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SXnorSaveexecB32 "s_xnor_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SXnorSaveexecB64 "s_xnor_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    SXorB32 "s_xor_b32" (U32; U32, U32) Salu {WRITES_SCC}
    SXorB64 "s_xor_b64" (U64; U64, U64) Salu {WRITES_SCC}
    SXorSaveexecB32 "s_xor_saveexec_b32" (U32; U32) Salu {WRITES_SCC MASKS_EXEC}
    SXorSaveexecB64 "s_xor_saveexec_b64" (U64; U64) Salu {WRITES_SCC MASKS_EXEC}
    ScratchLoadB128 "scratch_load_b128" (B32 * 4; B32, None, B32) Scratch @ Load(16)
    ScratchLoadB32 "scratch_load_b32" (B32; B32, None, B32) Scratch @ Load(4)
    ScratchLoadB64 "scratch_load_b64" (B64; B32, None, B32) Scratch @ Load(8)
    ScratchLoadB96 "scratch_load_b96" (B32 * 3; B32, None, B32) Scratch @ Load(12)
    ScratchLoadBlock "scratch_load_block" (B32 * 32; B32, None, B32) Scratch @ LoadBlock {READS_M0}
    ScratchLoadD16B16 "scratch_load_d16_b16" (B32; B32, None, B32) Scratch @ Load(2) {D16}
    ScratchLoadD16HiB16 "scratch_load_d16_hi_b16" (B32; B32, None, B32) Scratch @ Load(2) {D16 HIGH}
    ScratchLoadD16HiI8 "scratch_load_d16_hi_i8" (B32; B32, None, B32) Scratch @ Load(1) {D16 HIGH SIGNED}
    ScratchLoadD16HiU8 "scratch_load_d16_hi_u8" (B32; B32, None, B32) Scratch @ Load(1) {D16 HIGH}
    ScratchLoadD16I8 "scratch_load_d16_i8" (B32; B32, None, B32) Scratch @ Load(1) {D16 SIGNED}
    ScratchLoadD16U8 "scratch_load_d16_u8" (B32; B32, None, B32) Scratch @ Load(1) {D16}
    ScratchLoadI16 "scratch_load_i16" (B32; B32, None, B32) Scratch @ Load(2) {SIGNED}
    ScratchLoadI8 "scratch_load_i8" (B32; B32, None, B32) Scratch @ Load(1) {SIGNED}
    ScratchLoadLdsB32 "scratch_load_lds_b32" (; B32, None, B32) Scratch @ Load(4) {READS_M0 TO_LDS}
    ScratchLoadLdsI16 "scratch_load_lds_i16" (; B32, None, B32) Scratch @ Load(2) {READS_M0 TO_LDS SIGNED}
    ScratchLoadLdsI8 "scratch_load_lds_i8" (; B32, None, B32) Scratch @ Load(1) {READS_M0 TO_LDS SIGNED}
    ScratchLoadLdsU16 "scratch_load_lds_u16" (; B32, None, B32) Scratch @ Load(2) {READS_M0 TO_LDS}
    ScratchLoadLdsU8 "scratch_load_lds_u8" (; B32, None, B32) Scratch @ Load(1) {READS_M0 TO_LDS}
    ScratchLoadU16 "scratch_load_u16" (B32; B32, None, B32) Scratch @ Load(2)
    ScratchLoadU8 "scratch_load_u8" (B32; B32, None, B32) Scratch @ Load(1)
    ScratchStoreB128 "scratch_store_b128" (; B32, B32 * 4, B32) Scratch @ Store(16)
    ScratchStoreB16 "scratch_store_b16" (; B32, B32, B32) Scratch @ Store(2)
    ScratchStoreB32 "scratch_store_b32" (; B32, B32, B32) Scratch @ Store(4)
    ScratchStoreB64 "scratch_store_b64" (; B32, B64, B32) Scratch @ Store(8)
    ScratchStoreB8 "scratch_store_b8" (; B32, B32, B32) Scratch @ Store(1)
    ScratchStoreB96 "scratch_store_b96" (; B32, B32 * 3, B32) Scratch @ Store(12)
    ScratchStoreBlock "scratch_store_block" (; B32, B32 * 32, B32) Scratch @ StoreBlock {READS_M0}
    ScratchStoreD16HiB16 "scratch_store_d16_hi_b16" (; B32, B32, B32) Scratch @ Store(2) {D16 HIGH}
    ScratchStoreD16HiB8 "scratch_store_d16_hi_b8" (; B32, B32, B32) Scratch @ Store(1) {D16 HIGH}
    TbufferLoadD16FormatX "tbuffer_load_d16_format_x" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(1) {BUFFER D16}
    TbufferLoadD16FormatXy "tbuffer_load_d16_format_xy" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(2) {BUFFER D16}
    TbufferLoadD16FormatXyz "tbuffer_load_d16_format_xyz" (B64; B32, None, B128, B32) VmemLoad @ LoadTyped(3) {BUFFER D16}
    TbufferLoadD16FormatXyzw "tbuffer_load_d16_format_xyzw" (B64; B32, None, B128, B32) VmemLoad @ LoadTyped(4) {BUFFER D16}
    TbufferLoadFormatX "tbuffer_load_format_x" (B32; B32, None, B128, B32) VmemLoad @ LoadTyped(1) {BUFFER}
    TbufferLoadFormatXy "tbuffer_load_format_xy" (B64; B32, None, B128, B32) VmemLoad @ LoadTyped(2) {BUFFER}
    TbufferLoadFormatXyz "tbuffer_load_format_xyz" (B32 * 3; B32, None, B128, B32) VmemLoad @ LoadTyped(3) {BUFFER}
    TbufferLoadFormatXyzw "tbuffer_load_format_xyzw" (B32 * 4; B32, None, B128, B32) VmemLoad @ LoadTyped(4) {BUFFER}
    TbufferStoreD16FormatX "tbuffer_store_d16_format_x" (; B32, B32, B128, B32) VmemStore @ StoreTyped(1) {BUFFER D16}
    TbufferStoreD16FormatXy "tbuffer_store_d16_format_xy" (; B32, B32, B128, B32) VmemStore @ StoreTyped(2) {BUFFER D16}
    TbufferStoreD16FormatXyz "tbuffer_store_d16_format_xyz" (; B32, B64, B128, B32) VmemStore @ StoreTyped(3) {BUFFER D16}
    TbufferStoreD16FormatXyzw "tbuffer_store_d16_format_xyzw" (; B32, B64, B128, B32) VmemStore @ StoreTyped(4) {BUFFER D16}
    TbufferStoreFormatX "tbuffer_store_format_x" (; B32, B32, B128, B32) VmemStore @ StoreTyped(1) {BUFFER}
    TbufferStoreFormatXy "tbuffer_store_format_xy" (; B32, B64, B128, B32) VmemStore @ StoreTyped(2) {BUFFER}
    TbufferStoreFormatXyz "tbuffer_store_format_xyz" (; B32, B32 * 3, B128, B32) VmemStore @ StoreTyped(3) {BUFFER}
    TbufferStoreFormatXyzw "tbuffer_store_format_xyzw" (; B32, B32 * 4, B128, B32) VmemStore @ StoreTyped(4) {BUFFER}
    VAccvgprMovB32 "v_accvgpr_mov_b32" (B32; B32) Valu
    VAccvgprReadB32 "v_accvgpr_read_b32" (B32; B32) Valu
    VAccvgprWriteB32 "v_accvgpr_write_b32" (B32; B32) Valu
    VAdd3U32 "v_add3_u32" (U32; U32, U32, U32) Valu
    VAddCoCiU32 "v_add_co_ci_u32" (U32, Mask; U32, U32, Mask) Valu
    VAddCoU32 "v_add_co_u32" (U32, Mask; U32, U32) Valu
    VAddF16 "v_add_f16" (F16; F16, F16) Valu
    VAddF32 "v_add_f32" (F32; F32, F32) Valu
    VAddF64 "v_add_f64" (F64; F64, F64) Valu
    VAddLshlU32 "v_add_lshl_u32" (U32; U32, U32, U32) Valu
    VAddNcI16 "v_add_nc_i16" (I16; I16, I16) Valu
    VAddNcI32 "v_add_nc_i32" (I32; I32, I32) Valu
    VAddNcU16 "v_add_nc_u16" (U16; U16, U16) Valu
    VAddNcU32 "v_add_nc_u32" (U32; U32, U32) Valu
    VAlignbitB32 "v_alignbit_b32" (U32; U32, U32, U16) Valu
    VAlignbyteB32 "v_alignbyte_b32" (U32; U32, U32, U16) Valu
    VAndB16 "v_and_b16" (U16; U16, U16) Valu
    VAndB32 "v_and_b32" (U32; U32, U32) Valu
    VAndOrB32 "v_and_or_b32" (U32; U32, U32, U32) Valu
    VAshrPkI8I32 "v_ashr_pk_i8_i32" (B32; I32, I32, U32) Valu
    VAshrPkU8I32 "v_ashr_pk_u8_i32" (B32; I32, I32, U32) Valu
    VAshrrevI16 "v_ashrrev_i16" (I16; U16, I16) Valu
    VAshrrevI32 "v_ashrrev_i32" (I32; U32, I32) Valu
    VAshrrevI64 "v_ashrrev_i64" (I64; U32, I64) Valu
    VBcntU32B32 "v_bcnt_u32_b32" (U32; U32, U32) Valu
    VBfeI32 "v_bfe_i32" (I32; I32, U32, U32) Valu
    VBfeU32 "v_bfe_u32" (U32; U32, U32, U32) Valu
    VBfiB32 "v_bfi_b32" (U32; U32, U32, U32) Valu
    VBfmB32 "v_bfm_b32" (U32; U32, U32) Valu
    VBfrevB32 "v_bfrev_b32" (B32; B32) Valu
    VBitop3B16 "v_bitop3_b16" (B16; B16, B16, B16) Valu {TRUTH_TABLE}
    VBitop3B32 "v_bitop3_b32" (B32; B32, B32, B32) Valu {TRUTH_TABLE}
    VCeilF16 "v_ceil_f16" (F16; F16) Valu
    VCeilF32 "v_ceil_f32" (F32; F32) Valu
    VCeilF64 "v_ceil_f64" (F64; F64) Valu
    VClrexcp "v_clrexcp" (;) Valu
    VClsI32 "v_cls_i32" (I32; I32) Valu
    VClzI32U32 "v_clz_i32_u32" (I32; U32) Valu
    VCmpClassF16 "v_cmp_class_f16" (Mask; F16, U16) Valu {COMPARE}
    VCmpClassF32 "v_cmp_class_f32" (Mask; F32, U32) Valu {COMPARE}
    VCmpClassF64 "v_cmp_class_f64" (Mask; F64, U32) Valu {COMPARE}
    VCmpEqF16 "v_cmp_eq_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpEqF32 "v_cmp_eq_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpEqF64 "v_cmp_eq_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpEqI16 "v_cmp_eq_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpEqI32 "v_cmp_eq_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpEqI64 "v_cmp_eq_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpEqU16 "v_cmp_eq_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpEqU32 "v_cmp_eq_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpEqU64 "v_cmp_eq_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpFF16 "v_cmp_f_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpFF32 "v_cmp_f_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpFF64 "v_cmp_f_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpFI16 "v_cmp_f_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpFI32 "v_cmp_f_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpFI64 "v_cmp_f_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpFU16 "v_cmp_f_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpFU32 "v_cmp_f_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpFU64 "v_cmp_f_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpGeF16 "v_cmp_ge_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpGeF32 "v_cmp_ge_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpGeF64 "v_cmp_ge_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpGeI16 "v_cmp_ge_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpGeI32 "v_cmp_ge_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpGeI64 "v_cmp_ge_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpGeU16 "v_cmp_ge_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpGeU32 "v_cmp_ge_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpGeU64 "v_cmp_ge_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpGtF16 "v_cmp_gt_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpGtF32 "v_cmp_gt_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpGtF64 "v_cmp_gt_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpGtI16 "v_cmp_gt_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpGtI32 "v_cmp_gt_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpGtI64 "v_cmp_gt_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpGtU16 "v_cmp_gt_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpGtU32 "v_cmp_gt_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpGtU64 "v_cmp_gt_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpLeF16 "v_cmp_le_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpLeF32 "v_cmp_le_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpLeF64 "v_cmp_le_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpLeI16 "v_cmp_le_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpLeI32 "v_cmp_le_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpLeI64 "v_cmp_le_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpLeU16 "v_cmp_le_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpLeU32 "v_cmp_le_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpLeU64 "v_cmp_le_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpLgF16 "v_cmp_lg_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpLgF32 "v_cmp_lg_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpLgF64 "v_cmp_lg_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpLtF16 "v_cmp_lt_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpLtF32 "v_cmp_lt_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpLtF64 "v_cmp_lt_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpLtI16 "v_cmp_lt_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpLtI32 "v_cmp_lt_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpLtI64 "v_cmp_lt_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpLtU16 "v_cmp_lt_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpLtU32 "v_cmp_lt_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpLtU64 "v_cmp_lt_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpNeI16 "v_cmp_ne_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpNeI32 "v_cmp_ne_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpNeI64 "v_cmp_ne_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpNeU16 "v_cmp_ne_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpNeU32 "v_cmp_ne_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpNeU64 "v_cmp_ne_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpNeqF16 "v_cmp_neq_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpNeqF32 "v_cmp_neq_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpNeqF64 "v_cmp_neq_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpNgeF16 "v_cmp_nge_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpNgeF32 "v_cmp_nge_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpNgeF64 "v_cmp_nge_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpNgtF16 "v_cmp_ngt_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpNgtF32 "v_cmp_ngt_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpNgtF64 "v_cmp_ngt_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpNleF16 "v_cmp_nle_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpNleF32 "v_cmp_nle_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpNleF64 "v_cmp_nle_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpNlgF16 "v_cmp_nlg_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpNlgF32 "v_cmp_nlg_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpNlgF64 "v_cmp_nlg_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpNltF16 "v_cmp_nlt_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpNltF32 "v_cmp_nlt_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpNltF64 "v_cmp_nlt_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpOF16 "v_cmp_o_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpOF32 "v_cmp_o_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpOF64 "v_cmp_o_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpTF16 "v_cmp_t_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpTF32 "v_cmp_t_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpTF64 "v_cmp_t_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpTI16 "v_cmp_t_i16" (Mask; I16, I16) Valu {COMPARE}
    VCmpTI32 "v_cmp_t_i32" (Mask; I32, I32) Valu {COMPARE}
    VCmpTI64 "v_cmp_t_i64" (Mask; I64, I64) Valu {COMPARE}
    VCmpTU16 "v_cmp_t_u16" (Mask; U16, U16) Valu {COMPARE}
    VCmpTU32 "v_cmp_t_u32" (Mask; U32, U32) Valu {COMPARE}
    VCmpTU64 "v_cmp_t_u64" (Mask; U64, U64) Valu {COMPARE}
    VCmpUF16 "v_cmp_u_f16" (Mask; F16, F16) Valu {COMPARE}
    VCmpUF32 "v_cmp_u_f32" (Mask; F32, F32) Valu {COMPARE}
    VCmpUF64 "v_cmp_u_f64" (Mask; F64, F64) Valu {COMPARE}
    VCmpxClassF16 "v_cmpx_class_f16" (Mask; F16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxClassF32 "v_cmpx_class_f32" (Mask; F32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxClassF64 "v_cmpx_class_f64" (Mask; F64, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxEqF16 "v_cmpx_eq_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxEqF32 "v_cmpx_eq_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxEqF64 "v_cmpx_eq_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxEqI16 "v_cmpx_eq_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxEqI32 "v_cmpx_eq_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxEqI64 "v_cmpx_eq_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxEqU16 "v_cmpx_eq_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxEqU32 "v_cmpx_eq_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxEqU64 "v_cmpx_eq_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxFF16 "v_cmpx_f_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxFF32 "v_cmpx_f_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxFF64 "v_cmpx_f_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxFI16 "v_cmpx_f_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxFI32 "v_cmpx_f_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxFI64 "v_cmpx_f_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxFU16 "v_cmpx_f_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxFU32 "v_cmpx_f_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxFU64 "v_cmpx_f_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxGeF16 "v_cmpx_ge_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxGeF32 "v_cmpx_ge_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxGeF64 "v_cmpx_ge_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxGeI16 "v_cmpx_ge_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxGeI32 "v_cmpx_ge_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxGeI64 "v_cmpx_ge_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxGeU16 "v_cmpx_ge_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxGeU32 "v_cmpx_ge_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxGeU64 "v_cmpx_ge_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxGtF16 "v_cmpx_gt_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxGtF32 "v_cmpx_gt_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxGtF64 "v_cmpx_gt_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxGtI16 "v_cmpx_gt_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxGtI32 "v_cmpx_gt_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxGtI64 "v_cmpx_gt_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxGtU16 "v_cmpx_gt_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxGtU32 "v_cmpx_gt_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxGtU64 "v_cmpx_gt_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxLeF16 "v_cmpx_le_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxLeF32 "v_cmpx_le_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxLeF64 "v_cmpx_le_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxLeI16 "v_cmpx_le_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxLeI32 "v_cmpx_le_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxLeI64 "v_cmpx_le_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxLeU16 "v_cmpx_le_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxLeU32 "v_cmpx_le_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxLeU64 "v_cmpx_le_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxLgF16 "v_cmpx_lg_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxLgF32 "v_cmpx_lg_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxLgF64 "v_cmpx_lg_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxLtF16 "v_cmpx_lt_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxLtF32 "v_cmpx_lt_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxLtF64 "v_cmpx_lt_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxLtI16 "v_cmpx_lt_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxLtI32 "v_cmpx_lt_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxLtI64 "v_cmpx_lt_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxLtU16 "v_cmpx_lt_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxLtU32 "v_cmpx_lt_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxLtU64 "v_cmpx_lt_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxNeI16 "v_cmpx_ne_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxNeI32 "v_cmpx_ne_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxNeI64 "v_cmpx_ne_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxNeU16 "v_cmpx_ne_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxNeU32 "v_cmpx_ne_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxNeU64 "v_cmpx_ne_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxNeqF16 "v_cmpx_neq_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxNeqF32 "v_cmpx_neq_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxNeqF64 "v_cmpx_neq_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxNgeF16 "v_cmpx_nge_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxNgeF32 "v_cmpx_nge_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxNgeF64 "v_cmpx_nge_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxNgtF16 "v_cmpx_ngt_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxNgtF32 "v_cmpx_ngt_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxNgtF64 "v_cmpx_ngt_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxNleF16 "v_cmpx_nle_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxNleF32 "v_cmpx_nle_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxNleF64 "v_cmpx_nle_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxNlgF16 "v_cmpx_nlg_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxNlgF32 "v_cmpx_nlg_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxNlgF64 "v_cmpx_nlg_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxNltF16 "v_cmpx_nlt_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxNltF32 "v_cmpx_nlt_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxNltF64 "v_cmpx_nlt_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxOF16 "v_cmpx_o_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxOF32 "v_cmpx_o_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxOF64 "v_cmpx_o_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxTF16 "v_cmpx_t_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxTF32 "v_cmpx_t_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxTF64 "v_cmpx_t_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCmpxTI16 "v_cmpx_t_i16" (Mask; I16, I16) Valu {WRITES_EXEC COMPARE}
    VCmpxTI32 "v_cmpx_t_i32" (Mask; I32, I32) Valu {WRITES_EXEC COMPARE}
    VCmpxTI64 "v_cmpx_t_i64" (Mask; I64, I64) Valu {WRITES_EXEC COMPARE}
    VCmpxTU16 "v_cmpx_t_u16" (Mask; U16, U16) Valu {WRITES_EXEC COMPARE}
    VCmpxTU32 "v_cmpx_t_u32" (Mask; U32, U32) Valu {WRITES_EXEC COMPARE}
    VCmpxTU64 "v_cmpx_t_u64" (Mask; U64, U64) Valu {WRITES_EXEC COMPARE}
    VCmpxUF16 "v_cmpx_u_f16" (Mask; F16, F16) Valu {WRITES_EXEC COMPARE}
    VCmpxUF32 "v_cmpx_u_f32" (Mask; F32, F32) Valu {WRITES_EXEC COMPARE}
    VCmpxUF64 "v_cmpx_u_f64" (Mask; F64, F64) Valu {WRITES_EXEC COMPARE}
    VCndmaskB16 "v_cndmask_b16" (B16; B16, B16, Mask) Valu
    VCndmaskB32 "v_cndmask_b32" (B32; B32, B32, Mask) Valu
    VCosF16 "v_cos_f16" (F16; F16) Transcendental
    VCosF32 "v_cos_f32" (F32; F32) Transcendental
    VCtzI32B32 "v_ctz_i32_b32" (I32; U32) Valu
    VCubeidF32 "v_cubeid_f32" (F32; F32, F32, F32) Valu
    VCubemaF32 "v_cubema_f32" (F32; F32, F32, F32) Valu
    VCubescF32 "v_cubesc_f32" (F32; F32, F32, F32) Valu
    VCubetcF32 "v_cubetc_f32" (F32; F32, F32, F32) Valu
    VCvtF16F32 "v_cvt_f16_f32" (F16; F32) Valu
    VCvtF16I16 "v_cvt_f16_i16" (F16; I16) Valu
    VCvtF16U16 "v_cvt_f16_u16" (F16; U16) Valu
    VCvtF32Bf16 "v_cvt_f32_bf16" (F32; Bf16) Valu
    VCvtF32Bf8 "v_cvt_f32_bf8" (F32; B32) Valu
    VCvtF32Bf8Gfx950 "v_cvt_f32_bf8_gfx950" (F32; B32) Valu
    VCvtF32F16 "v_cvt_f32_f16" (F32; F16) Valu
    VCvtF32F64 "v_cvt_f32_f64" (F32; F64) Valu
    VCvtF32Fp8 "v_cvt_f32_fp8" (F32; B32) Valu
    VCvtF32Fp8Gfx950 "v_cvt_f32_fp8_gfx950" (F32; B32) Valu
    VCvtF32I32 "v_cvt_f32_i32" (F32; I32) Valu
    VCvtF32U32 "v_cvt_f32_u32" (F32; U32) Valu
    VCvtF32Ubyte0 "v_cvt_f32_ubyte0" (F32; U32) Valu
    VCvtF32Ubyte1 "v_cvt_f32_ubyte1" (F32; U32) Valu
    VCvtF32Ubyte2 "v_cvt_f32_ubyte2" (F32; U32) Valu
    VCvtF32Ubyte3 "v_cvt_f32_ubyte3" (F32; U32) Valu
    VCvtF64F32 "v_cvt_f64_f32" (F64; F32) Valu
    VCvtF64I32 "v_cvt_f64_i32" (F64; I32) Valu
    VCvtF64U32 "v_cvt_f64_u32" (F64; U32) Valu
    VCvtFloorI32F32 "v_cvt_floor_i32_f32" (I32; F32) Valu
    VCvtI16F16 "v_cvt_i16_f16" (I16; F16) Valu
    VCvtI32F32 "v_cvt_i32_f32" (I32; F32) Valu
    VCvtI32F64 "v_cvt_i32_f64" (I32; F64) Valu
    VCvtI32I16 "v_cvt_i32_i16" (I32; I16) Valu
    VCvtNearestI32F32 "v_cvt_nearest_i32_f32" (I32; F32) Valu
    VCvtNormI16F16 "v_cvt_norm_i16_f16" (I16; F16) Valu
    VCvtNormU16F16 "v_cvt_norm_u16_f16" (U16; F16) Valu
    VCvtOffF32I4 "v_cvt_off_f32_i4" (F32; I32) Valu
    VCvtPkBf16F32 "v_cvt_pk_bf16_f32" (Bf16 * 2; F32, F32) Valu
    VCvtPkBf8F32 "v_cvt_pk_bf8_f32" (B32; F32, F32) Valu
    VCvtPkBf8F32Gfx950 "v_cvt_pk_bf8_f32_gfx950" (B32; F32, F32) Valu
    VCvtPkF16F32 "v_cvt_pk_f16_f32" (F16 * 2; F32, F32) Valu
    VCvtPkF32Bf8 "v_cvt_pk_f32_bf8" (F32 * 2; B32) Valu
    VCvtPkF32Bf8Gfx950 "v_cvt_pk_f32_bf8_gfx950" (F32 * 2; B32) Valu
    VCvtPkF32Fp8 "v_cvt_pk_f32_fp8" (F32 * 2; B32) Valu
    VCvtPkF32Fp8Gfx950 "v_cvt_pk_f32_fp8_gfx950" (F32 * 2; B32) Valu
    VCvtPkFp8F32 "v_cvt_pk_fp8_f32" (B32; F32, F32) Valu
    VCvtPkFp8F32Gfx950 "v_cvt_pk_fp8_f32_gfx950" (B32; F32, F32) Valu
    VCvtPkI16F32 "v_cvt_pk_i16_f32" (I16 * 2; F32, F32) Valu
    VCvtPkI16I32 "v_cvt_pk_i16_i32" (I16 * 2; I32, I32) Valu
    VCvtPkNormI16F16 "v_cvt_pk_norm_i16_f16" (I16 * 2; F16, F16) Valu
    VCvtPkNormI16F32 "v_cvt_pk_norm_i16_f32" (I16 * 2; F32, F32) Valu
    VCvtPkNormU16F16 "v_cvt_pk_norm_u16_f16" (U16 * 2; F16, F16) Valu
    VCvtPkNormU16F32 "v_cvt_pk_norm_u16_f32" (U16 * 2; F32, F32) Valu
    VCvtPkRtzF16F32 "v_cvt_pk_rtz_f16_f32" (F16 * 2; F32, F32) Valu
    VCvtPkU16F32 "v_cvt_pk_u16_f32" (U16 * 2; F32, F32) Valu
    VCvtPkU16U32 "v_cvt_pk_u16_u32" (U16 * 2; U32, U32) Valu
    VCvtPkU8F32 "v_cvt_pk_u8_f32" (B32; F32, U32, U32) Valu
    VCvtPkaccumU8F32 "v_cvt_pkaccum_u8_f32" (B32; F32, U32) Valu
    VCvtScalef32_2xpk16Bf6F32 "v_cvt_scalef32_2xpk16_bf6_f32" (B32 * 6; F32 * 16, F32 * 16, F32) Valu
    VCvtScalef32_2xpk16Fp6F32 "v_cvt_scalef32_2xpk16_fp6_f32" (B32 * 6; F32 * 16, F32 * 16, F32) Valu
    VCvtScalef32F16Bf8 "v_cvt_scalef32_f16_bf8" (F16; U32, F32) Valu {READS_RESULT}
    VCvtScalef32F16Fp8 "v_cvt_scalef32_f16_fp8" (F16; U32, F32) Valu {READS_RESULT}
    VCvtScalef32F32Bf8 "v_cvt_scalef32_f32_bf8" (F32; U32, F32) Valu
    VCvtScalef32F32Fp8 "v_cvt_scalef32_f32_fp8" (F32; U32, F32) Valu
    VCvtScalef32Pk32Bf16Bf6 "v_cvt_scalef32_pk32_bf16_bf6" (Bf16 * 32; B32 * 6, F32) Valu
    VCvtScalef32Pk32Bf16Fp6 "v_cvt_scalef32_pk32_bf16_fp6" (Bf16 * 32; B32 * 6, F32) Valu
    VCvtScalef32Pk32Bf6Bf16 "v_cvt_scalef32_pk32_bf6_bf16" (B32 * 6; Bf16 * 32, F32) Valu
    VCvtScalef32Pk32Bf6F16 "v_cvt_scalef32_pk32_bf6_f16" (B32 * 6; F16 * 32, F32) Valu
    VCvtScalef32Pk32F16Bf6 "v_cvt_scalef32_pk32_f16_bf6" (F16 * 32; B32 * 6, F32) Valu
    VCvtScalef32Pk32F16Fp6 "v_cvt_scalef32_pk32_f16_fp6" (F16 * 32; B32 * 6, F32) Valu
    VCvtScalef32Pk32F32Bf6 "v_cvt_scalef32_pk32_f32_bf6" (F32 * 32; B32 * 6, F32) Valu
    VCvtScalef32Pk32F32Fp6 "v_cvt_scalef32_pk32_f32_fp6" (F32 * 32; B32 * 6, F32) Valu
    VCvtScalef32Pk32Fp6Bf16 "v_cvt_scalef32_pk32_fp6_bf16" (B32 * 6; Bf16 * 32, F32) Valu
    VCvtScalef32Pk32Fp6F16 "v_cvt_scalef32_pk32_fp6_f16" (B32 * 6; F16 * 32, F32) Valu
    VCvtScalef32PkBf16Bf8 "v_cvt_scalef32_pk_bf16_bf8" (Bf16 * 2; U32, F32) Valu
    VCvtScalef32PkBf16Fp4 "v_cvt_scalef32_pk_bf16_fp4" (Bf16 * 2; U32, F32) Valu
    VCvtScalef32PkBf16Fp8 "v_cvt_scalef32_pk_bf16_fp8" (Bf16 * 2; U32, F32) Valu
    VCvtScalef32PkBf8Bf16 "v_cvt_scalef32_pk_bf8_bf16" (B32; Bf16 * 2, F32) Valu {READS_RESULT}
    VCvtScalef32PkBf8F16 "v_cvt_scalef32_pk_bf8_f16" (B32; F16 * 2, F32) Valu {READS_RESULT}
    VCvtScalef32PkBf8F32 "v_cvt_scalef32_pk_bf8_f32" (B32; F32, F32, F32) Valu {READS_RESULT}
    VCvtScalef32PkF16Bf8 "v_cvt_scalef32_pk_f16_bf8" (F16 * 2; U32, F32) Valu
    VCvtScalef32PkF16Fp4 "v_cvt_scalef32_pk_f16_fp4" (F16 * 2; U32, F32) Valu
    VCvtScalef32PkF16Fp8 "v_cvt_scalef32_pk_f16_fp8" (F16 * 2; U32, F32) Valu
    VCvtScalef32PkF32Bf8 "v_cvt_scalef32_pk_f32_bf8" (F32 * 2; U32, F32) Valu
    VCvtScalef32PkF32Fp4 "v_cvt_scalef32_pk_f32_fp4" (F32 * 2; U32, F32) Valu
    VCvtScalef32PkF32Fp8 "v_cvt_scalef32_pk_f32_fp8" (F32 * 2; U32, F32) Valu
    VCvtScalef32PkFp4Bf16 "v_cvt_scalef32_pk_fp4_bf16" (B32; Bf16 * 2, F32) Valu {READS_RESULT}
    VCvtScalef32PkFp4F16 "v_cvt_scalef32_pk_fp4_f16" (B32; F16 * 2, F32) Valu {READS_RESULT}
    VCvtScalef32PkFp4F32 "v_cvt_scalef32_pk_fp4_f32" (B32; F32, F32, F32) Valu {READS_RESULT}
    VCvtScalef32PkFp8Bf16 "v_cvt_scalef32_pk_fp8_bf16" (B32; Bf16 * 2, F32) Valu {READS_RESULT}
    VCvtScalef32PkFp8F16 "v_cvt_scalef32_pk_fp8_f16" (B32; F16 * 2, F32) Valu {READS_RESULT}
    VCvtScalef32PkFp8F32 "v_cvt_scalef32_pk_fp8_f32" (B32; F32, F32, F32) Valu {READS_RESULT}
    VCvtScalef32SrBf8Bf16 "v_cvt_scalef32_sr_bf8_bf16" (B32; Bf16, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrBf8F16 "v_cvt_scalef32_sr_bf8_f16" (B32; F16, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrBf8F32 "v_cvt_scalef32_sr_bf8_f32" (B32; F32, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrFp8Bf16 "v_cvt_scalef32_sr_fp8_bf16" (B32; Bf16, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrFp8F16 "v_cvt_scalef32_sr_fp8_f16" (B32; F16, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrFp8F32 "v_cvt_scalef32_sr_fp8_f32" (B32; F32, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrPk32Bf6Bf16 "v_cvt_scalef32_sr_pk32_bf6_bf16" (B32 * 6; Bf16 * 32, U32, F32) Valu
    VCvtScalef32SrPk32Bf6F16 "v_cvt_scalef32_sr_pk32_bf6_f16" (B32 * 6; F16 * 32, U32, F32) Valu
    VCvtScalef32SrPk32Bf6F32 "v_cvt_scalef32_sr_pk32_bf6_f32" (B32 * 6; F32 * 32, U32, F32) Valu
    VCvtScalef32SrPk32Fp6Bf16 "v_cvt_scalef32_sr_pk32_fp6_bf16" (B32 * 6; Bf16 * 32, U32, F32) Valu
    VCvtScalef32SrPk32Fp6F16 "v_cvt_scalef32_sr_pk32_fp6_f16" (B32 * 6; F16 * 32, U32, F32) Valu
    VCvtScalef32SrPk32Fp6F32 "v_cvt_scalef32_sr_pk32_fp6_f32" (B32 * 6; F32 * 32, U32, F32) Valu
    VCvtScalef32SrPkFp4Bf16 "v_cvt_scalef32_sr_pk_fp4_bf16" (B32; Bf16 * 2, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrPkFp4F16 "v_cvt_scalef32_sr_pk_fp4_f16" (B32; F16 * 2, U32, F32) Valu {READS_RESULT}
    VCvtScalef32SrPkFp4F32 "v_cvt_scalef32_sr_pk_fp4_f32" (B32; F32 * 2, U32, F32) Valu {READS_RESULT}
    VCvtSrBf16F32 "v_cvt_sr_bf16_f32" (Bf16; F32, U32) Valu {READS_RESULT}
    VCvtSrBf8F32 "v_cvt_sr_bf8_f32" (B32; F32, U32) Valu
    VCvtSrBf8F32Gfx950 "v_cvt_sr_bf8_f32_gfx950" (B32; F32, U32) Valu
    VCvtSrF16F32 "v_cvt_sr_f16_f32" (F16; F32, U32) Valu {READS_RESULT}
    VCvtSrFp8F32 "v_cvt_sr_fp8_f32" (B32; F32, U32) Valu
    VCvtSrFp8F32Gfx950 "v_cvt_sr_fp8_f32_gfx950" (B32; F32, U32) Valu
    VCvtU16F16 "v_cvt_u16_f16" (U16; F16) Valu
    VCvtU32F32 "v_cvt_u32_f32" (U32; F32) Valu
    VCvtU32F64 "v_cvt_u32_f64" (U32; F64) Valu
    VCvtU32U16 "v_cvt_u32_u16" (U32; U16) Valu
    VDivFixupF16 "v_div_fixup_f16" (F16; F16, F16, F16) Valu
    VDivFixupF32 "v_div_fixup_f32" (F32; F32, F32, F32) Valu
    VDivFixupF64 "v_div_fixup_f64" (F64; F64, F64, F64) Valu
    VDivFixupLegacyF16 "v_div_fixup_legacy_f16" (F16; F16, F16, F16) Valu
    VDivFmasF32 "v_div_fmas_f32" (F32; F32, F32, F32, Mask) Valu
    VDivFmasF64 "v_div_fmas_f64" (F64; F64, F64, F64, Mask) Valu
    VDivScaleF32 "v_div_scale_f32" (F32, Mask; F32, F32, F32) Valu
    VDivScaleF64 "v_div_scale_f64" (F64, Mask; F64, F64, F64) Valu
    VDot2Bf16Bf16 "v_dot2_bf16_bf16" (Bf16; Bf16 * 2, Bf16 * 2, Bf16) Valu
    VDot2F16F16 "v_dot2_f16_f16" (F16; F16 * 2, F16 * 2, F16) Valu
    VDot2F32Bf16 "v_dot2_f32_bf16" (F32; Bf16 * 2, Bf16 * 2, F32) Valu
    VDot2F32F16 "v_dot2_f32_f16" (F32; F16 * 2, F16 * 2, F32) Valu
    VDot2I32I16 "v_dot2_i32_i16" (I32; I16 * 2, I16 * 2, I32) Valu
    VDot2U32U16 "v_dot2_u32_u16" (U32; U16 * 2, U16 * 2, U32) Valu
    VDot2accF32Bf16 "v_dot2acc_f32_bf16" (F32; Bf16 * 2, Bf16 * 2, F32) Valu {ACCUMULATES}
    VDot2accF32F16 "v_dot2acc_f32_f16" (F32; F16 * 2, F16 * 2, F32) Valu {ACCUMULATES}
    VDot2cI32I16 "v_dot2c_i32_i16" (I32; I16 * 2, I16 * 2, I32) Valu {ACCUMULATES}
    VDot4F32Bf8Bf8 "v_dot4_f32_bf8_bf8" (F32; B32, B32, F32) Valu {BYTES FLOAT8}
    VDot4F32Bf8Fp8 "v_dot4_f32_bf8_fp8" (F32; B32, B32, F32) Valu {BYTES FLOAT8}
    VDot4F32Fp8Bf8 "v_dot4_f32_fp8_bf8" (F32; B32, B32, F32) Valu {BYTES FLOAT8}
    VDot4F32Fp8Fp8 "v_dot4_f32_fp8_fp8" (F32; B32, B32, F32) Valu {BYTES FLOAT8}
    VDot4I32I8 "v_dot4_i32_i8" (I32; B32, B32, I32) Valu {BYTES}
    VDot4I32Iu8 "v_dot4_i32_iu8" (I32; B32, B32, I32) Valu {BYTES}
    VDot4U32U8 "v_dot4_u32_u8" (U32; B32, B32, U32) Valu {BYTES}
    VDot4cI32I8 "v_dot4c_i32_i8" (I32; B32, B32, I32) Valu {ACCUMULATES}
    VDot8I32I4 "v_dot8_i32_i4" (I32; B32, B32, I32) Valu {BYTES}
    VDot8I32Iu4 "v_dot8_i32_iu4" (I32; B32, B32, I32) Valu {BYTES}
    VDot8U32U4 "v_dot8_u32_u4" (U32; B32, B32, U32) Valu {BYTES}
    VDot8cI32I4 "v_dot8c_i32_i4" (I32; B32, B32, I32) Valu {ACCUMULATES}
    VExpF16 "v_exp_f16" (F16; F16) Transcendental
    VExpF32 "v_exp_f32" (F32; F32) Transcendental
    VExpLegacyF32 "v_exp_legacy_f32" (F32; F32) Transcendental
    VFloorF16 "v_floor_f16" (F16; F16) Valu
    VFloorF32 "v_floor_f32" (F32; F32) Valu
    VFloorF64 "v_floor_f64" (F64; F64) Valu
    VFmaDx9ZeroF32 "v_fma_dx9_zero_f32" (F32; F32, F32, F32) Valu
    VFmaF16 "v_fma_f16" (F16; F16, F16, F16) Valu
    VFmaF32 "v_fma_f32" (F32; F32, F32, F32) Valu
    VFmaF64 "v_fma_f64" (F64; F64, F64, F64) Valu
    VFmaLegacyF16 "v_fma_legacy_f16" (F16; F16, F16, F16) Valu
    VFmaMixF32 "v_fma_mix_f32" (F32; B32, B32, B32) Valu
    VFmaMixhiF16 "v_fma_mixhi_f16" (F16; B32, B32, B32) Valu
    VFmaMixloF16 "v_fma_mixlo_f16" (F16; B32, B32, B32) Valu
    VFmaakF16 "v_fmaak_f16" (F16; F16, F16, F16) Valu
    VFmaakF32 "v_fmaak_f32" (F32; F32, F32, F32) Valu
    VFmacDx9ZeroF32 "v_fmac_dx9_zero_f32" (F32; F32, F32, F32) Valu {ACCUMULATES}
    VFmacF16 "v_fmac_f16" (F16; F16, F16, F16) Valu {ACCUMULATES}
    VFmacF32 "v_fmac_f32" (F32; F32, F32, F32) Valu {ACCUMULATES}
    VFmacF64 "v_fmac_f64" (F64; F64, F64, F64) Valu {ACCUMULATES}
    VFmamkF16 "v_fmamk_f16" (F16; F16, F16, F16) Valu
    VFmamkF32 "v_fmamk_f32" (F32; F32, F32, F32) Valu
    VFractF16 "v_fract_f16" (F16; F16) Valu
    VFractF32 "v_fract_f32" (F32; F32) Valu
    VFractF64 "v_fract_f64" (F64; F64) Valu
    VFrexpExpI16F16 "v_frexp_exp_i16_f16" (I16; F16) Valu
    VFrexpExpI32F32 "v_frexp_exp_i32_f32" (I32; F32) Valu
    VFrexpExpI32F64 "v_frexp_exp_i32_f64" (I32; F64) Valu
    VFrexpMantF16 "v_frexp_mant_f16" (F16; F16) Valu
    VFrexpMantF32 "v_frexp_mant_f32" (F32; F32) Valu
    VFrexpMantF64 "v_frexp_mant_f64" (F64; F64) Valu
    VIllegal "v_illegal" (;) Valu
    VLdexpF16 "v_ldexp_f16" (F16; F16, I16) Valu
    VLdexpF32 "v_ldexp_f32" (F32; F32, I32) Valu
    VLdexpF64 "v_ldexp_f64" (F64; F64, I32) Valu
    VLerpU8 "v_lerp_u8" (U32; B32, B32, B32) Valu
    VLogF16 "v_log_f16" (F16; F16) Transcendental
    VLogF32 "v_log_f32" (F32; F32) Transcendental
    VLogLegacyF32 "v_log_legacy_f32" (F32; F32) Transcendental
    VLshlAddU32 "v_lshl_add_u32" (U32; U32, U32, U32) Valu
    VLshlAddU64 "v_lshl_add_u64" (U64; U64, U32, U64) Valu
    VLshlOrB32 "v_lshl_or_b32" (U32; U32, U32, U32) Valu
    VLshlrevB16 "v_lshlrev_b16" (U16; U16, U16) Valu
    VLshlrevB32 "v_lshlrev_b32" (U32; U32, U32) Valu
    VLshlrevB64 "v_lshlrev_b64" (U64; U32, U64) Valu
    VLshrrevB16 "v_lshrrev_b16" (U16; U16, U16) Valu
    VLshrrevB32 "v_lshrrev_b32" (U32; U32, U32) Valu
    VLshrrevB64 "v_lshrrev_b64" (U64; U32, U64) Valu
    VMacF16 "v_mac_f16" (F16; F16, F16, F16) Valu {ACCUMULATES}
    VMacF32 "v_mac_f32" (F32; F32, F32, F32) Valu {ACCUMULATES}
    VMadF16 "v_mad_f16" (F16; F16, F16, F16) Valu
    VMadF32 "v_mad_f32" (F32; F32, F32, F32) Valu
    VMadI16 "v_mad_i16" (I16; I16, I16, I16) Valu
    VMadI32I16 "v_mad_i32_i16" (I32; I16, I16, I32) Valu
    VMadI32I24 "v_mad_i32_i24" (I32; I32, I32, I32) Valu
    VMadI64I32 "v_mad_i64_i32" (I64, Mask; I32, I32, I64) Valu
    VMadLegacyF16 "v_mad_legacy_f16" (F16; F16, F16, F16) Valu
    VMadLegacyF32 "v_mad_legacy_f32" (F32; F32, F32, F32) Valu
    VMadLegacyI16 "v_mad_legacy_i16" (I16; I16, I16, I16) Valu
    VMadLegacyU16 "v_mad_legacy_u16" (U16; U16, U16, U16) Valu
    VMadU16 "v_mad_u16" (U16; U16, U16, U16) Valu
    VMadU32U16 "v_mad_u32_u16" (U32; U16, U16, U32) Valu
    VMadU32U24 "v_mad_u32_u24" (U32; U32, U32, U32) Valu
    VMadU64U32 "v_mad_u64_u32" (U64, Mask; U32, U32, U64) Valu
    VMadakF16 "v_madak_f16" (F16; F16, F16, F16) Valu
    VMadakF32 "v_madak_f32" (F32; F32, F32, F32) Valu
    VMadmkF16 "v_madmk_f16" (F16; F16, F16, F16) Valu
    VMadmkF32 "v_madmk_f32" (F32; F32, F32, F32) Valu
    VMax3F16 "v_max3_f16" (F16; F16, F16, F16) Valu
    VMax3F32 "v_max3_f32" (F32; F32, F32, F32) Valu
    VMax3I16 "v_max3_i16" (I16; I16, I16, I16) Valu
    VMax3I32 "v_max3_i32" (I32; I32, I32, I32) Valu
    VMax3U16 "v_max3_u16" (U16; U16, U16, U16) Valu
    VMax3U32 "v_max3_u32" (U32; U32, U32, U32) Valu
    VMaxF16 "v_max_f16" (F16; F16, F16) Valu
    VMaxF32 "v_max_f32" (F32; F32, F32) Valu
    VMaxF64 "v_max_f64" (F64; F64, F64) Valu
    VMaxI16 "v_max_i16" (I16; I16, I16) Valu
    VMaxI32 "v_max_i32" (I32; I32, I32) Valu
    VMaxU16 "v_max_u16" (U16; U16, U16) Valu
    VMaxU32 "v_max_u32" (U32; U32, U32) Valu
    VMaximum3F16 "v_maximum3_f16" (F16; F16, F16, F16) Valu
    VMaximum3F32 "v_maximum3_f32" (F32; F32, F32, F32) Valu
    VMaximumF16 "v_maximum_f16" (F16; F16, F16) Valu
    VMaximumF32 "v_maximum_f32" (F32; F32, F32) Valu
    VMaximumF64 "v_maximum_f64" (F64; F64, F64) Valu
    VMaximumminimumF16 "v_maximumminimum_f16" (F16; F16, F16, F16) Valu
    VMaximumminimumF32 "v_maximumminimum_f32" (F32; F32, F32, F32) Valu
    VMaxminF16 "v_maxmin_f16" (F16; F16, F16, F16) Valu
    VMaxminF32 "v_maxmin_f32" (F32; F32, F32, F32) Valu
    VMaxminI32 "v_maxmin_i32" (I32; I32, I32, I32) Valu
    VMaxminU32 "v_maxmin_u32" (U32; U32, U32, U32) Valu
    VMbcntHiU32B32 "v_mbcnt_hi_u32_b32" (U32; U32, U32) Valu
    VMbcntLoU32B32 "v_mbcnt_lo_u32_b32" (U32; U32, U32) Valu
    VMed3F16 "v_med3_f16" (F16; F16, F16, F16) Valu
    VMed3F32 "v_med3_f32" (F32; F32, F32, F32) Valu
    VMed3I16 "v_med3_i16" (I16; I16, I16, I16) Valu
    VMed3I32 "v_med3_i32" (I32; I32, I32, I32) Valu
    VMed3U16 "v_med3_u16" (U16; U16, U16, U16) Valu
    VMed3U32 "v_med3_u32" (U32; U32, U32, U32) Valu
    VMfmaF32_16x16x128F8f6f4 "v_mfma_f32_16x16x128_f8f6f4" (F32 * 4; B32 * 8, B32 * 8, F32 * 4) Matrix {MFMA FORMATS}
    VMfmaF32_16x16x16Bf16 "v_mfma_f32_16x16x16_bf16" (F32 * 4; Bf16 * 4, Bf16 * 4, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x16F16 "v_mfma_f32_16x16x16_f16" (F32 * 4; F16 * 4, F16 * 4, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x1_4bF32 "v_mfma_f32_16x16x1_4b_f32" (F32 * 16; F32, F32, F32 * 16) Matrix {MFMA}
    VMfmaF32_16x16x2bf16 "v_mfma_f32_16x16x2bf16" (F32 * 16; Bf16 * 2, Bf16 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_16x16x32Bf16 "v_mfma_f32_16x16x32_bf16" (F32 * 4; Bf16 * 8, Bf16 * 8, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Bf8Bf8 "v_mfma_f32_16x16x32_bf8_bf8" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Bf8Bf8Gfx950 "v_mfma_f32_16x16x32_bf8_bf8_gfx950" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Bf8Fp8 "v_mfma_f32_16x16x32_bf8_fp8" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Bf8Fp8Gfx950 "v_mfma_f32_16x16x32_bf8_fp8_gfx950" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32F16 "v_mfma_f32_16x16x32_f16" (F32 * 4; F16 * 8, F16 * 8, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Fp8Bf8 "v_mfma_f32_16x16x32_fp8_bf8" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Fp8Bf8Gfx950 "v_mfma_f32_16x16x32_fp8_bf8_gfx950" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Fp8Fp8 "v_mfma_f32_16x16x32_fp8_fp8" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x32Fp8Fp8Gfx950 "v_mfma_f32_16x16x32_fp8_fp8_gfx950" (F32 * 4; B32 * 2, B32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x4_4bBf16 "v_mfma_f32_16x16x4_4b_bf16" (F32 * 16; Bf16 * 4, Bf16 * 4, F32 * 16) Matrix {MFMA}
    VMfmaF32_16x16x4_4bF16 "v_mfma_f32_16x16x4_4b_f16" (F32 * 16; F16 * 4, F16 * 4, F32 * 16) Matrix {MFMA}
    VMfmaF32_16x16x4F32 "v_mfma_f32_16x16x4_f32" (F32 * 4; F32, F32, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x8Xf32 "v_mfma_f32_16x16x8_xf32" (F32 * 4; F32 * 2, F32 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_16x16x8bf16 "v_mfma_f32_16x16x8bf16" (F32 * 4; Bf16 * 2, Bf16 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_32x32x16Bf16 "v_mfma_f32_32x32x16_bf16" (F32 * 16; Bf16 * 8, Bf16 * 8, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Bf8Bf8 "v_mfma_f32_32x32x16_bf8_bf8" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Bf8Bf8Gfx950 "v_mfma_f32_32x32x16_bf8_bf8_gfx950" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Bf8Fp8 "v_mfma_f32_32x32x16_bf8_fp8" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Bf8Fp8Gfx950 "v_mfma_f32_32x32x16_bf8_fp8_gfx950" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16F16 "v_mfma_f32_32x32x16_f16" (F32 * 16; F16 * 8, F16 * 8, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Fp8Bf8 "v_mfma_f32_32x32x16_fp8_bf8" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Fp8Bf8Gfx950 "v_mfma_f32_32x32x16_fp8_bf8_gfx950" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Fp8Fp8 "v_mfma_f32_32x32x16_fp8_fp8" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x16Fp8Fp8Gfx950 "v_mfma_f32_32x32x16_fp8_fp8_gfx950" (F32 * 16; B32 * 2, B32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x1_2bF32 "v_mfma_f32_32x32x1_2b_f32" (F32 * 32; F32, F32, F32 * 32) Matrix {MFMA}
    VMfmaF32_32x32x2F32 "v_mfma_f32_32x32x2_f32" (F32 * 16; F32, F32, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x2bf16 "v_mfma_f32_32x32x2bf16" (F32 * 32; Bf16 * 2, Bf16 * 2, F32 * 32) Matrix {MFMA}
    VMfmaF32_32x32x4_2bBf16 "v_mfma_f32_32x32x4_2b_bf16" (F32 * 32; Bf16 * 4, Bf16 * 4, F32 * 32) Matrix {MFMA}
    VMfmaF32_32x32x4_2bF16 "v_mfma_f32_32x32x4_2b_f16" (F32 * 32; F16 * 4, F16 * 4, F32 * 32) Matrix {MFMA}
    VMfmaF32_32x32x4Xf32 "v_mfma_f32_32x32x4_xf32" (F32 * 16; F32 * 2, F32 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x4bf16 "v_mfma_f32_32x32x4bf16" (F32 * 16; Bf16 * 2, Bf16 * 2, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x64F8f6f4 "v_mfma_f32_32x32x64_f8f6f4" (F32 * 16; B32 * 8, B32 * 8, F32 * 16) Matrix {MFMA FORMATS}
    VMfmaF32_32x32x8Bf16 "v_mfma_f32_32x32x8_bf16" (F32 * 16; Bf16 * 4, Bf16 * 4, F32 * 16) Matrix {MFMA}
    VMfmaF32_32x32x8F16 "v_mfma_f32_32x32x8_f16" (F32 * 16; F16 * 4, F16 * 4, F32 * 16) Matrix {MFMA}
    VMfmaF32_4x4x1_16bF32 "v_mfma_f32_4x4x1_16b_f32" (F32 * 4; F32, F32, F32 * 4) Matrix {MFMA}
    VMfmaF32_4x4x2bf16 "v_mfma_f32_4x4x2bf16" (F32 * 4; Bf16 * 2, Bf16 * 2, F32 * 4) Matrix {MFMA}
    VMfmaF32_4x4x4_16bBf16 "v_mfma_f32_4x4x4_16b_bf16" (F32 * 4; Bf16 * 4, Bf16 * 4, F32 * 4) Matrix {MFMA}
    VMfmaF32_4x4x4_16bF16 "v_mfma_f32_4x4x4_16b_f16" (F32 * 4; F16 * 4, F16 * 4, F32 * 4) Matrix {MFMA}
    VMfmaF64_16x16x4F64 "v_mfma_f64_16x16x4_f64" (F64 * 4; F64, F64, F64 * 4) Matrix {MFMA}
    VMfmaF64_4x4x4_4bF64 "v_mfma_f64_4x4x4_4b_f64" (F64; F64, F64, F64) Matrix {MFMA}
    VMfmaI32_16x16x16i8 "v_mfma_i32_16x16x16i8" (I32 * 4; B32, B32, I32 * 4) Matrix {MFMA}
    VMfmaI32_16x16x32I8 "v_mfma_i32_16x16x32_i8" (I32 * 4; B32 * 2, B32 * 2, I32 * 4) Matrix {MFMA}
    VMfmaI32_16x16x4_4bI8 "v_mfma_i32_16x16x4_4b_i8" (I32 * 16; B32, B32, I32 * 16) Matrix {MFMA}
    VMfmaI32_16x16x64I8 "v_mfma_i32_16x16x64_i8" (I32 * 4; B32 * 4, B32 * 4, I32 * 4) Matrix {MFMA}
    VMfmaI32_32x32x16I8 "v_mfma_i32_32x32x16_i8" (I32 * 16; B32 * 2, B32 * 2, I32 * 16) Matrix {MFMA}
    VMfmaI32_32x32x32I8 "v_mfma_i32_32x32x32_i8" (I32 * 16; B32 * 4, B32 * 4, I32 * 16) Matrix {MFMA}
    VMfmaI32_32x32x4_2bI8 "v_mfma_i32_32x32x4_2b_i8" (I32 * 32; B32, B32, I32 * 32) Matrix {MFMA}
    VMfmaI32_32x32x8i8 "v_mfma_i32_32x32x8i8" (I32 * 16; B32, B32, I32 * 16) Matrix {MFMA}
    VMfmaI32_4x4x4_16bI8 "v_mfma_i32_4x4x4_16b_i8" (I32 * 4; B32, B32, I32 * 4) Matrix {MFMA}
    VMfmaLdScaleB32 "v_mfma_ld_scale_b32" (; B32, B32) Matrix
    VMfmaScaleF32_16x16x128F8f6f4 "v_mfma_scale_f32_16x16x128_f8f6f4" (F32 * 4; B32 * 8, B32 * 8, F32 * 4) Matrix {MFMA FORMATS}
    VMfmaScaleF32_32x32x64F8f6f4 "v_mfma_scale_f32_32x32x64_f8f6f4" (F32 * 16; B32 * 8, B32 * 8, F32 * 16) Matrix {MFMA FORMATS}
    VMin3F16 "v_min3_f16" (F16; F16, F16, F16) Valu
    VMin3F32 "v_min3_f32" (F32; F32, F32, F32) Valu
    VMin3I16 "v_min3_i16" (I16; I16, I16, I16) Valu
    VMin3I32 "v_min3_i32" (I32; I32, I32, I32) Valu
    VMin3U16 "v_min3_u16" (U16; U16, U16, U16) Valu
    VMin3U32 "v_min3_u32" (U32; U32, U32, U32) Valu
    VMinF16 "v_min_f16" (F16; F16, F16) Valu
    VMinF32 "v_min_f32" (F32; F32, F32) Valu
    VMinF64 "v_min_f64" (F64; F64, F64) Valu
    VMinI16 "v_min_i16" (I16; I16, I16) Valu
    VMinI32 "v_min_i32" (I32; I32, I32) Valu
    VMinU16 "v_min_u16" (U16; U16, U16) Valu
    VMinU32 "v_min_u32" (U32; U32, U32) Valu
    VMinimum3F16 "v_minimum3_f16" (F16; F16, F16, F16) Valu
    VMinimum3F32 "v_minimum3_f32" (F32; F32, F32, F32) Valu
    VMinimumF16 "v_minimum_f16" (F16; F16, F16) Valu
    VMinimumF32 "v_minimum_f32" (F32; F32, F32) Valu
    VMinimumF64 "v_minimum_f64" (F64; F64, F64) Valu
    VMinimummaximumF16 "v_minimummaximum_f16" (F16; F16, F16, F16) Valu
    VMinimummaximumF32 "v_minimummaximum_f32" (F32; F32, F32, F32) Valu
    VMinmaxF16 "v_minmax_f16" (F16; F16, F16, F16) Valu
    VMinmaxF32 "v_minmax_f32" (F32; F32, F32, F32) Valu
    VMinmaxI32 "v_minmax_i32" (I32; I32, I32, I32) Valu
    VMinmaxU32 "v_minmax_u32" (U32; U32, U32, U32) Valu
    VMovB16 "v_mov_b16" (B16; B16) Valu
    VMovB32 "v_mov_b32" (B32; B32) Valu
    VMovB64 "v_mov_b64" (U64; U64) Valu
    VMovreldB32 "v_movreld_b32" (B32; B32) Valu {READS_M0 RELATIVE}
    VMovrelsB32 "v_movrels_b32" (B32; B32) Valu {READS_M0 RELATIVE}
    VMovrelsd2B32 "v_movrelsd_2_b32" (B32; B32) Valu {READS_M0 RELATIVE}
    VMovrelsdB32 "v_movrelsd_b32" (B32; B32) Valu {READS_M0 RELATIVE}
    VMqsadPkU16U8 "v_mqsad_pk_u16_u8" (B64; B64, B32, B64) Valu
    VMqsadU32U8 "v_mqsad_u32_u8" (U32 * 4; B64, B32, B32 * 4) Valu
    VMsadU8 "v_msad_u8" (U32; B32, B32, B32) Valu
    VMulDx9ZeroF32 "v_mul_dx9_zero_f32" (F32; F32, F32) Valu
    VMulF16 "v_mul_f16" (F16; F16, F16) Valu
    VMulF32 "v_mul_f32" (F32; F32, F32) Valu
    VMulF64 "v_mul_f64" (F64; F64, F64) Valu
    VMulHiI32 "v_mul_hi_i32" (I32; I32, I32) Valu
    VMulHiI32I24 "v_mul_hi_i32_i24" (I32; I32, I32) Valu
    VMulHiU32 "v_mul_hi_u32" (U32; U32, U32) Valu
    VMulHiU32U24 "v_mul_hi_u32_u24" (U32; U32, U32) Valu
    VMulI32I24 "v_mul_i32_i24" (I32; I32, I32) Valu
    VMulLoU16 "v_mul_lo_u16" (U16; U16, U16) Valu
    VMulLoU32 "v_mul_lo_u32" (U32; U32, U32) Valu
    VMulU32U24 "v_mul_u32_u24" (U32; U32, U32) Valu
    VMullitF32 "v_mullit_f32" (F32; F32, F32, F32) Valu
    VNop "v_nop" (;) Hint
    VNotB16 "v_not_b16" (U16; U16) Valu
    VNotB32 "v_not_b32" (U32; U32) Valu
    VOr3B32 "v_or3_b32" (U32; U32, U32, U32) Valu
    VOrB16 "v_or_b16" (U16; U16, U16) Valu
    VOrB32 "v_or_b32" (U32; U32, U32) Valu
    VPackB32F16 "v_pack_b32_f16" (B32; F16, F16) Valu
    VPermB32 "v_perm_b32" (B32; B32, B32, B32) Valu
    VPermlane16B32 "v_permlane16_b32" (B32; B32, B32, B32) Valu {PERMUTES}
    VPermlane16SwapB32 "v_permlane16_swap_b32" (B32; B32) Valu {EXCHANGES PERMUTES}
    VPermlane16VarB32 "v_permlane16_var_b32" (B32; B32, B32) Valu {PERMUTES}
    VPermlane32SwapB32 "v_permlane32_swap_b32" (B32; B32) Valu {EXCHANGES PERMUTES}
    VPermlane64B32 "v_permlane64_b32" (B32; B32) Valu {PERMUTES}
    VPermlanex16B32 "v_permlanex16_b32" (B32; B32, B32, B32) Valu {PERMUTES}
    VPermlanex16VarB32 "v_permlanex16_var_b32" (B32; B32, B32) Valu {PERMUTES}
    VPipeflush "v_pipeflush" (;) Valu
    VPkAddF16 "v_pk_add_f16" (F16 * 2; F16 * 2, F16 * 2) Valu
    VPkAddF32 "v_pk_add_f32" (F32 * 2; F32 * 2, F32 * 2) Valu
    VPkAddI16 "v_pk_add_i16" (I16 * 2; I16 * 2, I16 * 2) Valu
    VPkAddU16 "v_pk_add_u16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPkAshrrevI16 "v_pk_ashrrev_i16" (I16 * 2; U16 * 2, I16 * 2) Valu
    VPkFmaF16 "v_pk_fma_f16" (F16 * 2; F16 * 2, F16 * 2, F16 * 2) Valu
    VPkFmaF32 "v_pk_fma_f32" (F32 * 2; F32 * 2, F32 * 2, F32 * 2) Valu
    VPkFmacF16 "v_pk_fmac_f16" (F16 * 2; F16 * 2, F16 * 2, F16 * 2) Valu {ACCUMULATES}
    VPkLshlrevB16 "v_pk_lshlrev_b16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPkLshrrevB16 "v_pk_lshrrev_b16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPkMadI16 "v_pk_mad_i16" (I16 * 2; I16 * 2, I16 * 2, I16 * 2) Valu
    VPkMadU16 "v_pk_mad_u16" (U16 * 2; U16 * 2, U16 * 2, U16 * 2) Valu
    VPkMaxF16 "v_pk_max_f16" (F16 * 2; F16 * 2, F16 * 2) Valu
    VPkMaxI16 "v_pk_max_i16" (I16 * 2; I16 * 2, I16 * 2) Valu
    VPkMaxU16 "v_pk_max_u16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPkMaximum3F16 "v_pk_maximum3_f16" (F16 * 2; F16 * 2, F16 * 2, F16 * 2) Valu
    VPkMaximumF16 "v_pk_maximum_f16" (F16 * 2; F16 * 2, F16 * 2) Valu
    VPkMinF16 "v_pk_min_f16" (F16 * 2; F16 * 2, F16 * 2) Valu
    VPkMinI16 "v_pk_min_i16" (I16 * 2; I16 * 2, I16 * 2) Valu
    VPkMinU16 "v_pk_min_u16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPkMinimum3F16 "v_pk_minimum3_f16" (F16 * 2; F16 * 2, F16 * 2, F16 * 2) Valu
    VPkMinimumF16 "v_pk_minimum_f16" (F16 * 2; F16 * 2, F16 * 2) Valu
    VPkMovB32 "v_pk_mov_b32" (B32 * 2; B32 * 2, B32 * 2) Valu
    VPkMulF16 "v_pk_mul_f16" (F16 * 2; F16 * 2, F16 * 2) Valu
    VPkMulF32 "v_pk_mul_f32" (F32 * 2; F32 * 2, F32 * 2) Valu
    VPkMulLoU16 "v_pk_mul_lo_u16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPkSubI16 "v_pk_sub_i16" (I16 * 2; I16 * 2, I16 * 2) Valu
    VPkSubU16 "v_pk_sub_u16" (U16 * 2; U16 * 2, U16 * 2) Valu
    VPrngB32 "v_prng_b32" (B32; B32) Valu
    VQsadPkU16U8 "v_qsad_pk_u16_u8" (B64; B64, B32, B64) Valu
    VRcpF16 "v_rcp_f16" (F16; F16) Transcendental
    VRcpF32 "v_rcp_f32" (F32; F32) Transcendental
    VRcpF64 "v_rcp_f64" (F64; F64) Transcendental
    VRcpIflagF32 "v_rcp_iflag_f32" (F32; F32) Transcendental
    VReadfirstlaneB32 "v_readfirstlane_b32" (B32; B32) Valu {SCALAR_RESULT}
    VReadlaneB32 "v_readlane_b32" (B32; B32, B32) Valu {SCALAR_RESULT}
    VRndneF16 "v_rndne_f16" (F16; F16) Valu
    VRndneF32 "v_rndne_f32" (F32; F32) Valu
    VRndneF64 "v_rndne_f64" (F64; F64) Valu
    VRsqF16 "v_rsq_f16" (F16; F16) Transcendental
    VRsqF32 "v_rsq_f32" (F32; F32) Transcendental
    VRsqF64 "v_rsq_f64" (F64; F64) Transcendental
    VSExpF16 "v_s_exp_f16" (F16; F16) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSExpF32 "v_s_exp_f32" (F32; F32) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSLogF16 "v_s_log_f16" (F16; F16) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSLogF32 "v_s_log_f32" (F32; F32) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSRcpF16 "v_s_rcp_f16" (F16; F16) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSRcpF32 "v_s_rcp_f32" (F32; F32) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSRsqF16 "v_s_rsq_f16" (F16; F16) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSRsqF32 "v_s_rsq_f32" (F32; F32) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSSqrtF16 "v_s_sqrt_f16" (F16; F16) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSSqrtF32 "v_s_sqrt_f32" (F32; F32) Transcendental {PSEUDO_SCALAR SCALAR_RESULT}
    VSadHiU8 "v_sad_hi_u8" (U32; B32, B32, U32) Valu
    VSadU16 "v_sad_u16" (U32; U16 * 2, U16 * 2, U32) Valu
    VSadU32 "v_sad_u32" (U32; U32, U32, U32) Valu
    VSadU8 "v_sad_u8" (U32; B32, B32, U32) Valu
    VSatPkU8I16 "v_sat_pk_u8_i16" (B16; I16 * 2) Valu
    VScreenPartition4seB32 "v_screen_partition_4se_b32" (B32; B32) Valu
    VSinF16 "v_sin_f16" (F16; F16) Transcendental
    VSinF32 "v_sin_f32" (F32; F32) Transcendental
    VSmfmacF32_16x16x128Bf8Bf8 "v_smfmac_f32_16x16x128_bf8_bf8" (F32 * 4; B32 * 4, B32 * 8, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x128Bf8Fp8 "v_smfmac_f32_16x16x128_bf8_fp8" (F32 * 4; B32 * 4, B32 * 8, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x128Fp8Bf8 "v_smfmac_f32_16x16x128_fp8_bf8" (F32 * 4; B32 * 4, B32 * 8, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x128Fp8Fp8 "v_smfmac_f32_16x16x128_fp8_fp8" (F32 * 4; B32 * 4, B32 * 8, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x32Bf16 "v_smfmac_f32_16x16x32_bf16" (F32 * 4; Bf16 * 4, Bf16 * 8, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x32F16 "v_smfmac_f32_16x16x32_f16" (F32 * 4; F16 * 4, F16 * 8, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Bf16 "v_smfmac_f32_16x16x64_bf16" (F32 * 4; Bf16 * 8, Bf16 * 16, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Bf8Bf8 "v_smfmac_f32_16x16x64_bf8_bf8" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Bf8Bf8Gfx950 "v_smfmac_f32_16x16x64_bf8_bf8_gfx950" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Bf8Fp8 "v_smfmac_f32_16x16x64_bf8_fp8" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Bf8Fp8Gfx950 "v_smfmac_f32_16x16x64_bf8_fp8_gfx950" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64F16 "v_smfmac_f32_16x16x64_f16" (F32 * 4; F16 * 8, F16 * 16, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Fp8Bf8 "v_smfmac_f32_16x16x64_fp8_bf8" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Fp8Bf8Gfx950 "v_smfmac_f32_16x16x64_fp8_bf8_gfx950" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Fp8Fp8 "v_smfmac_f32_16x16x64_fp8_fp8" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_16x16x64Fp8Fp8Gfx950 "v_smfmac_f32_16x16x64_fp8_fp8_gfx950" (F32 * 4; B32 * 2, B32 * 4, B32, F32 * 4) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x16Bf16 "v_smfmac_f32_32x32x16_bf16" (F32 * 16; Bf16 * 4, Bf16 * 8, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x16F16 "v_smfmac_f32_32x32x16_f16" (F32 * 16; F16 * 4, F16 * 8, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Bf16 "v_smfmac_f32_32x32x32_bf16" (F32 * 16; Bf16 * 8, Bf16 * 16, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Bf8Bf8 "v_smfmac_f32_32x32x32_bf8_bf8" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Bf8Bf8Gfx950 "v_smfmac_f32_32x32x32_bf8_bf8_gfx950" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Bf8Fp8 "v_smfmac_f32_32x32x32_bf8_fp8" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Bf8Fp8Gfx950 "v_smfmac_f32_32x32x32_bf8_fp8_gfx950" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32F16 "v_smfmac_f32_32x32x32_f16" (F32 * 16; F16 * 8, F16 * 16, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Fp8Bf8 "v_smfmac_f32_32x32x32_fp8_bf8" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Fp8Bf8Gfx950 "v_smfmac_f32_32x32x32_fp8_bf8_gfx950" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Fp8Fp8 "v_smfmac_f32_32x32x32_fp8_fp8" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x32Fp8Fp8Gfx950 "v_smfmac_f32_32x32x32_fp8_fp8_gfx950" (F32 * 16; B32 * 2, B32 * 4, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x64Bf8Bf8 "v_smfmac_f32_32x32x64_bf8_bf8" (F32 * 16; B32 * 4, B32 * 8, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x64Bf8Fp8 "v_smfmac_f32_32x32x64_bf8_fp8" (F32 * 16; B32 * 4, B32 * 8, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x64Fp8Bf8 "v_smfmac_f32_32x32x64_fp8_bf8" (F32 * 16; B32 * 4, B32 * 8, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacF32_32x32x64Fp8Fp8 "v_smfmac_f32_32x32x64_fp8_fp8" (F32 * 16; B32 * 4, B32 * 8, B32, F32 * 16) Matrix {MFMA SPARSE}
    VSmfmacI32_16x16x128I8 "v_smfmac_i32_16x16x128_i8" (I32 * 4; B32 * 4, B32 * 8, B32, I32 * 4) Matrix {MFMA SPARSE}
    VSmfmacI32_16x16x64I8 "v_smfmac_i32_16x16x64_i8" (I32 * 4; B32 * 2, B32 * 4, B32, I32 * 4) Matrix {MFMA SPARSE}
    VSmfmacI32_32x32x32I8 "v_smfmac_i32_32x32x32_i8" (I32 * 16; B32 * 2, B32 * 4, B32, I32 * 16) Matrix {MFMA SPARSE}
    VSmfmacI32_32x32x64I8 "v_smfmac_i32_32x32x64_i8" (I32 * 16; B32 * 4, B32 * 8, B32, I32 * 16) Matrix {MFMA SPARSE}
    VSqrtF16 "v_sqrt_f16" (F16; F16) Transcendental
    VSqrtF32 "v_sqrt_f32" (F32; F32) Transcendental
    VSqrtF64 "v_sqrt_f64" (F64; F64) Transcendental
    VSubCoCiU32 "v_sub_co_ci_u32" (U32, Mask; U32, U32, Mask) Valu
    VSubCoU32 "v_sub_co_u32" (U32, Mask; U32, U32) Valu
    VSubF16 "v_sub_f16" (F16; F16, F16) Valu
    VSubF32 "v_sub_f32" (F32; F32, F32) Valu
    VSubNcI16 "v_sub_nc_i16" (I16; I16, I16) Valu
    VSubNcI32 "v_sub_nc_i32" (I32; I32, I32) Valu
    VSubNcU16 "v_sub_nc_u16" (U16; U16, U16) Valu
    VSubNcU32 "v_sub_nc_u32" (U32; U32, U32) Valu
    VSubrevCoCiU32 "v_subrev_co_ci_u32" (U32, Mask; U32, U32, Mask) Valu
    VSubrevCoU32 "v_subrev_co_u32" (U32, Mask; U32, U32) Valu
    VSubrevF16 "v_subrev_f16" (F16; F16, F16) Valu
    VSubrevF32 "v_subrev_f32" (F32; F32, F32) Valu
    VSubrevNcU16 "v_subrev_nc_u16" (U16; U16, U16) Valu
    VSubrevNcU32 "v_subrev_nc_u32" (U32; U32, U32) Valu
    VSwapB16 "v_swap_b16" (B16; B16) Valu {EXCHANGES}
    VSwapB32 "v_swap_b32" (B32; B32) Valu {EXCHANGES}
    VSwaprelB32 "v_swaprel_b32" (B32; B32) Valu {READS_M0 RELATIVE}
    VSwmmacBf16_16x16x32Bf16 "v_swmmac_bf16_16x16x32_bf16" (Bf16 * 8; Bf16 * 8, Bf16 * 16, B32, Bf16 * 8) Matrix {WMMA SPARSE}
    VSwmmacF16_16x16x32F16 "v_swmmac_f16_16x16x32_f16" (F16 * 8; F16 * 8, F16 * 16, B32, F16 * 8) Matrix {WMMA SPARSE}
    VSwmmacF32_16x16x32Bf16 "v_swmmac_f32_16x16x32_bf16" (F32 * 8; Bf16 * 8, Bf16 * 16, B32, F32 * 8) Matrix {WMMA SPARSE}
    VSwmmacF32_16x16x32Bf8Bf8 "v_swmmac_f32_16x16x32_bf8_bf8" (F32 * 8; B32 * 2, B32 * 4, B32, F32 * 8) Matrix {WMMA SPARSE}
    VSwmmacF32_16x16x32Bf8Fp8 "v_swmmac_f32_16x16x32_bf8_fp8" (F32 * 8; B32 * 2, B32 * 4, B32, F32 * 8) Matrix {WMMA SPARSE}
    VSwmmacF32_16x16x32F16 "v_swmmac_f32_16x16x32_f16" (F32 * 8; F16 * 8, F16 * 16, B32, F32 * 8) Matrix {WMMA SPARSE}
    VSwmmacF32_16x16x32Fp8Bf8 "v_swmmac_f32_16x16x32_fp8_bf8" (F32 * 8; B32 * 2, B32 * 4, B32, F32 * 8) Matrix {WMMA SPARSE}
    VSwmmacF32_16x16x32Fp8Fp8 "v_swmmac_f32_16x16x32_fp8_fp8" (F32 * 8; B32 * 2, B32 * 4, B32, F32 * 8) Matrix {WMMA SPARSE}
    VSwmmacI32_16x16x32Iu4 "v_swmmac_i32_16x16x32_iu4" (I32 * 8; B32, B32 * 2, B32, I32 * 8) Matrix {WMMA SPARSE}
    VSwmmacI32_16x16x32Iu8 "v_swmmac_i32_16x16x32_iu8" (I32 * 8; B32 * 2, B32 * 4, B32, I32 * 8) Matrix {WMMA SPARSE}
    VSwmmacI32_16x16x64Iu4 "v_swmmac_i32_16x16x64_iu4" (I32 * 8; B32 * 2, B32 * 4, B32, I32 * 8) Matrix {WMMA SPARSE}
    VTrigPreopF64 "v_trig_preop_f64" (F64; F64, U32) Valu
    VTruncF16 "v_trunc_f16" (F16; F16) Valu
    VTruncF32 "v_trunc_f32" (F32; F32) Valu
    VTruncF64 "v_trunc_f64" (F64; F64) Valu
    VWmmaBf16_16x16x16Bf16 "v_wmma_bf16_16x16x16_bf16" (Bf16 * 16; Bf16 * 16, Bf16 * 16, Bf16 * 16) Matrix {WMMA GFX11_LAYOUT}
    VWmmaBf16_16x16x16Bf16Gfx12 "v_wmma_bf16_16x16x16_bf16_gfx12" (Bf16 * 8; Bf16 * 8, Bf16 * 8, Bf16 * 8) Matrix {WMMA}
    VWmmaF16_16x16x16F16 "v_wmma_f16_16x16x16_f16" (F16 * 16; F16 * 16, F16 * 16, F16 * 16) Matrix {WMMA GFX11_LAYOUT}
    VWmmaF16_16x16x16F16Gfx12 "v_wmma_f16_16x16x16_f16_gfx12" (F16 * 8; F16 * 8, F16 * 8, F16 * 8) Matrix {WMMA}
    VWmmaF32_16x16x16Bf16 "v_wmma_f32_16x16x16_bf16" (F32 * 8; Bf16 * 16, Bf16 * 16, F32 * 8) Matrix {WMMA GFX11_LAYOUT}
    VWmmaF32_16x16x16Bf16Gfx12 "v_wmma_f32_16x16x16_bf16_gfx12" (F32 * 8; Bf16 * 8, Bf16 * 8, F32 * 8) Matrix {WMMA}
    VWmmaF32_16x16x16Bf8Bf8 "v_wmma_f32_16x16x16_bf8_bf8" (F32 * 8; B32 * 2, B32 * 2, F32 * 8) Matrix {WMMA}
    VWmmaF32_16x16x16Bf8Fp8 "v_wmma_f32_16x16x16_bf8_fp8" (F32 * 8; B32 * 2, B32 * 2, F32 * 8) Matrix {WMMA}
    VWmmaF32_16x16x16F16 "v_wmma_f32_16x16x16_f16" (F32 * 8; F16 * 16, F16 * 16, F32 * 8) Matrix {WMMA GFX11_LAYOUT}
    VWmmaF32_16x16x16F16Gfx12 "v_wmma_f32_16x16x16_f16_gfx12" (F32 * 8; F16 * 8, F16 * 8, F32 * 8) Matrix {WMMA}
    VWmmaF32_16x16x16Fp8Bf8 "v_wmma_f32_16x16x16_fp8_bf8" (F32 * 8; B32 * 2, B32 * 2, F32 * 8) Matrix {WMMA}
    VWmmaF32_16x16x16Fp8Fp8 "v_wmma_f32_16x16x16_fp8_fp8" (F32 * 8; B32 * 2, B32 * 2, F32 * 8) Matrix {WMMA}
    VWmmaI32_16x16x16Iu4 "v_wmma_i32_16x16x16_iu4" (I32 * 8; B32 * 2, B32 * 2, I32 * 8) Matrix {WMMA GFX11_LAYOUT}
    VWmmaI32_16x16x16Iu4Gfx12 "v_wmma_i32_16x16x16_iu4_gfx12" (I32 * 8; B32, B32, I32 * 8) Matrix {WMMA}
    VWmmaI32_16x16x16Iu8 "v_wmma_i32_16x16x16_iu8" (I32 * 8; B32 * 4, B32 * 4, I32 * 8) Matrix {WMMA GFX11_LAYOUT}
    VWmmaI32_16x16x16Iu8Gfx12 "v_wmma_i32_16x16x16_iu8_gfx12" (I32 * 8; B32 * 2, B32 * 2, I32 * 8) Matrix {WMMA}
    VWmmaI32_16x16x32Iu4 "v_wmma_i32_16x16x32_iu4" (I32 * 8; B32 * 2, B32 * 2, I32 * 8) Matrix {WMMA}
    VWritelaneB32 "v_writelane_b32" (B32; B32, B32) Valu
    VXadU32 "v_xad_u32" (U32; U32, U32, U32) Valu
    VXnorB32 "v_xnor_b32" (U32; U32, U32) Valu
    VXor3B32 "v_xor3_b32" (U32; U32, U32, U32) Valu
    VXorB16 "v_xor_b16" (U16; U16, U16) Valu
    VXorB32 "v_xor_b32" (U32; U32, U32) Valu
}
