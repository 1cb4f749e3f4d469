//! The body that executes each operation, one row each.

use std::marker::PhantomData;

use gpu_report::AccessKind;
use vgpu_isa::{Footprint, Op};

use super::atomic::{Atomic, Rmw};
use super::chunks::{GlobalChunks, LdsChunks, LdsPairChunks};
use super::moves::{
    Data, Dwords, I8, I8High, I8Low, I16, Load, Move, Store, U8, U8High, U8Low, U16, U16High, U16Low,
};
use super::to_lds::{FromLds, ToLds};
use super::{block, buffer, lds, scalar, scalar_store, spaces, to_lds, typed};
use crate::level::{Body, handler, scalar_handler, simd_handler};
use crate::{Code, Flow, Handler, Level, Wave};

// NEW-OP: memory operations.
macro_rules! bodies {
    ($($name:ident => $function:path;)*) => {$(
        pub(super) struct $name<M>(PhantomData<M>);

        impl<M: Move> Body for $name<M> {
            #[inline(always)]
            unsafe fn run<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
                // SAFETY: the caller's promise.
                unsafe { $function(wave, code) }
            }
        }
    )*};
}

macro_rules! lane_bodies {
    ($($name:ident => $function:path;)*) => {$(
        struct $name;

        impl Body for $name {
            #[inline(always)]
            unsafe fn run<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
                // SAFETY: the caller's promise.
                unsafe { $function(wave, code) }
            }
        }
    )*};
}

bodies! {
    Global => spaces::global::<M, L>;
    GlobalByLane => spaces::global_by_lane::<M, L>;
    GlobalBlock => block::global::<M, L>;
    ScratchBlock => block::private::<M, L>;
    Flat => spaces::flat::<M, L>;
    Scratch => spaces::scratch_inst::<M, L>;
    Buffer => buffer::access::<M, L>;
    Lds => lds::single::<M, L>;
    LdsPair => lds::double::<M, L>;
    LdsByLane => lds::by_lane::<M, L>;
}

lane_bodies! {
    BackwardPermute => lds::backward_permute::<false, L>;
    BackwardPermuteAll => lds::backward_permute::<true, L>;
    ForwardPermute => lds::forward_permute::<L>;
    Swizzle => lds::swizzle::<L>;
    Count => lds::count::<L>;
    ExchangeIf => lds::exchange_if::<L>;
    ExchangeTwoB32 => lds::exchange_two::<u32, L>;
    ExchangeTwoB64 => lds::exchange_two::<u64, L>;
    LdsDirect => lds::direct_load::<L>;
    Transpose8 => block::transpose::<1, L>;
    Transpose16 => block::transpose::<2, L>;
    LdsTranspose4 => block::transpose_lds::<4, L>;
    LdsTranspose6 => block::transpose_lds::<6, L>;
    LdsTranspose8 => block::transpose_lds::<8, L>;
    LdsTranspose16 => block::transpose_lds::<16, L>;
    TypedLoad => typed::load::<L>;
    TypedStore => typed::store::<L>;
}

/// A handler whose loads go to LDS.
struct Through<B, const BYTES: usize>(PhantomData<B>);

impl<B: Body, const BYTES: usize> Body for Through<B, BYTES> {
    #[inline(always)]
    unsafe fn run<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { to_lds::through::<BYTES, L>(wave, code, AccessKind::Write, scalar_handler::<B>(L)) }
    }
}

/// A handler whose stores come from LDS.
struct OutOf<B>(PhantomData<B>);

impl<B: Body> Body for OutOf<B> {
    #[inline(always)]
    unsafe fn run<const L: usize>(wave: &mut Wave, code: &Code) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { to_lds::through::<4, L>(wave, code, AccessKind::Read, scalar_handler::<B>(L)) }
    }
}

/// Loads, stores, exchanges between lanes, and cache control. If `ecc` protects registers, halves are not
/// loaded separately.
#[rustfmt::skip]
pub(super) fn plain(op: Op, lanes: usize, level: Level, ecc: bool) -> Option<Handler> {
    macro_rules! body {
        ($b:ident: half $d:ident) => {
            if ecc { body!($b: Load<$d<true>>) } else { body!($b: Load<$d<false>>) }
        };
        (Global: $m:ty) => { handler::<Global<$m>>(lanes, level) };
        (Lds: $m:ty) => { handler::<Lds<$m>>(lanes, level) };
        ($b:ident of $m:ty) => { simd_handler::<$b<$m>, $b<$m>>(level) };
        ($b:ident: $m:ty) => { scalar_handler::<$b<$m>>(lanes) };
        ($b:ident) => { handler::<$b>(lanes, level) };
    }
    Some(match op {
        Op::GlobalLoadU8 => body!(Global: Load<U8>),
        Op::GlobalLoadI8 => body!(Global: Load<I8>),
        Op::GlobalLoadU16 => body!(Global: Load<U16>),
        Op::GlobalLoadI16 => body!(Global: Load<I16>),
        Op::GlobalLoadB32 => body!(GlobalChunks of Load<Dwords<1>>),
        Op::GlobalLoadB64 => body!(GlobalChunks of Load<Dwords<2>>),
        Op::GlobalLoadB96 => body!(GlobalChunks of Load<Dwords<3>>),
        Op::GlobalLoadB128 => body!(GlobalChunks of Load<Dwords<4>>),
        Op::GlobalLoadD16U8 => body!(Global: half U8Low),
        Op::GlobalLoadD16HiU8 => body!(Global: half U8High),
        Op::GlobalLoadD16I8 => body!(Global: half I8Low),
        Op::GlobalLoadD16HiI8 => body!(Global: half I8High),
        Op::GlobalLoadD16B16 => body!(Global: half U16Low),
        Op::GlobalLoadD16HiB16 => body!(Global: half U16High),
        Op::GlobalStoreB8 => body!(Global: Store<U8>),
        Op::GlobalStoreB16 => body!(Global: Store<U16>),
        Op::GlobalStoreB32 => body!(GlobalChunks of Store<Dwords<1>>),
        Op::GlobalStoreB64 => body!(GlobalChunks of Store<Dwords<2>>),
        Op::GlobalStoreB96 => body!(GlobalChunks of Store<Dwords<3>>),
        Op::GlobalStoreB128 => body!(GlobalChunks of Store<Dwords<4>>),
        Op::GlobalStoreD16HiB8 => body!(Global: Store<U8High<false>>),
        Op::GlobalStoreD16HiB16 => body!(Global: Store<U16High<false>>),
        Op::FlatLoadU8 => body!(Flat: Load<U8>),
        Op::FlatLoadI8 => body!(Flat: Load<I8>),
        Op::FlatLoadU16 => body!(Flat: Load<U16>),
        Op::FlatLoadI16 => body!(Flat: Load<I16>),
        Op::FlatLoadB32 => body!(Flat: Load<Dwords<1>>),
        Op::FlatLoadB64 => body!(Flat: Load<Dwords<2>>),
        Op::FlatLoadB96 => body!(Flat: Load<Dwords<3>>),
        Op::FlatLoadB128 => body!(Flat: Load<Dwords<4>>),
        Op::FlatLoadD16U8 => body!(Flat: half U8Low),
        Op::FlatLoadD16HiU8 => body!(Flat: half U8High),
        Op::FlatLoadD16I8 => body!(Flat: half I8Low),
        Op::FlatLoadD16HiI8 => body!(Flat: half I8High),
        Op::FlatLoadD16B16 => body!(Flat: half U16Low),
        Op::FlatLoadD16HiB16 => body!(Flat: half U16High),
        Op::FlatStoreB8 => body!(Flat: Store<U8>),
        Op::FlatStoreB16 => body!(Flat: Store<U16>),
        Op::FlatStoreB32 => body!(Flat: Store<Dwords<1>>),
        Op::FlatStoreB64 => body!(Flat: Store<Dwords<2>>),
        Op::FlatStoreB96 => body!(Flat: Store<Dwords<3>>),
        Op::FlatStoreB128 => body!(Flat: Store<Dwords<4>>),
        Op::FlatStoreD16HiB8 => body!(Flat: Store<U8High<false>>),
        Op::FlatStoreD16HiB16 => body!(Flat: Store<U16High<false>>),
        Op::ScratchLoadU8 => body!(Scratch: Load<U8>),
        Op::ScratchLoadI8 => body!(Scratch: Load<I8>),
        Op::ScratchLoadU16 => body!(Scratch: Load<U16>),
        Op::ScratchLoadI16 => body!(Scratch: Load<I16>),
        Op::ScratchLoadB32 => body!(Scratch: Load<Dwords<1>>),
        Op::ScratchLoadB64 => body!(Scratch: Load<Dwords<2>>),
        Op::ScratchLoadB96 => body!(Scratch: Load<Dwords<3>>),
        Op::ScratchLoadB128 => body!(Scratch: Load<Dwords<4>>),
        Op::ScratchLoadD16U8 => body!(Scratch: half U8Low),
        Op::ScratchLoadD16HiU8 => body!(Scratch: half U8High),
        Op::ScratchLoadD16I8 => body!(Scratch: half I8Low),
        Op::ScratchLoadD16HiI8 => body!(Scratch: half I8High),
        Op::ScratchLoadD16B16 => body!(Scratch: half U16Low),
        Op::ScratchLoadD16HiB16 => body!(Scratch: half U16High),
        Op::ScratchStoreB8 => body!(Scratch: Store<U8>),
        Op::ScratchStoreB16 => body!(Scratch: Store<U16>),
        Op::ScratchStoreB32 => body!(Scratch: Store<Dwords<1>>),
        Op::ScratchStoreB64 => body!(Scratch: Store<Dwords<2>>),
        Op::ScratchStoreB96 => body!(Scratch: Store<Dwords<3>>),
        Op::ScratchStoreB128 => body!(Scratch: Store<Dwords<4>>),
        Op::ScratchStoreD16HiB8 => body!(Scratch: Store<U8High<false>>),
        Op::ScratchStoreD16HiB16 => body!(Scratch: Store<U16High<false>>),
        Op::BufferLoadU8 => body!(Buffer: Load<U8>),
        Op::BufferLoadI8 => body!(Buffer: Load<I8>),
        Op::BufferLoadU16 => body!(Buffer: Load<U16>),
        Op::BufferLoadI16 => body!(Buffer: Load<I16>),
        Op::BufferLoadB32 => body!(Buffer: Load<Dwords<1>>),
        Op::BufferLoadB64 => body!(Buffer: Load<Dwords<2>>),
        Op::BufferLoadB96 => body!(Buffer: Load<Dwords<3>>),
        Op::BufferLoadB128 => body!(Buffer: Load<Dwords<4>>),
        Op::BufferLoadD16U8 => body!(Buffer: half U8Low),
        Op::BufferLoadD16HiU8 => body!(Buffer: half U8High),
        Op::BufferLoadD16I8 => body!(Buffer: half I8Low),
        Op::BufferLoadD16HiI8 => body!(Buffer: half I8High),
        Op::BufferLoadD16B16 => body!(Buffer: half U16Low),
        Op::BufferLoadD16HiB16 => body!(Buffer: half U16High),
        Op::BufferStoreB8 => body!(Buffer: Store<U8>),
        Op::BufferStoreB16 => body!(Buffer: Store<U16>),
        Op::BufferStoreB32 => body!(Buffer: Store<Dwords<1>>),
        Op::BufferStoreB64 => body!(Buffer: Store<Dwords<2>>),
        Op::BufferStoreB96 => body!(Buffer: Store<Dwords<3>>),
        Op::BufferStoreB128 => body!(Buffer: Store<Dwords<4>>),
        Op::BufferStoreD16HiB8 => body!(Buffer: Store<U8High<false>>),
        Op::BufferStoreD16HiB16 => body!(Buffer: Store<U16High<false>>),
        Op::DsLoadU8 => body!(Lds: Load<U8>),
        Op::DsLoadI8 => body!(Lds: Load<I8>),
        Op::DsLoadU16 => body!(Lds: Load<U16>),
        Op::DsLoadI16 => body!(Lds: Load<I16>),
        Op::DsLoadB32 => body!(LdsChunks of Load<Dwords<1>>),
        Op::DsLoadB64 => body!(LdsChunks of Load<Dwords<2>>),
        Op::DsLoadB96 => body!(LdsChunks of Load<Dwords<3>>),
        Op::DsLoadB128 => body!(LdsChunks of Load<Dwords<4>>),
        Op::DsLoadU8D16 => body!(Lds: half U8Low),
        Op::DsLoadU8D16Hi => body!(Lds: half U8High),
        Op::DsLoadI8D16 => body!(Lds: half I8Low),
        Op::DsLoadI8D16Hi => body!(Lds: half I8High),
        Op::DsLoadU16D16 => body!(Lds: half U16Low),
        Op::DsLoadU16D16Hi => body!(Lds: half U16High),
        Op::DsStoreB8 => body!(Lds: Store<U8>),
        Op::DsStoreB16 => body!(Lds: Store<U16>),
        Op::DsStoreB32 => body!(LdsChunks of Store<Dwords<1>>),
        Op::DsStoreB64 => body!(LdsChunks of Store<Dwords<2>>),
        Op::DsStoreB96 => body!(LdsChunks of Store<Dwords<3>>),
        Op::DsStoreB128 => body!(LdsChunks of Store<Dwords<4>>),
        Op::DsStoreB8D16Hi => body!(Lds: Store<U8High<false>>),
        Op::DsStoreB16D16Hi => body!(Lds: Store<U16High<false>>),
        Op::DsLoad2addrB32 | Op::DsLoad2addrStride64B32 => body!(LdsPairChunks of Load<Dwords<1>>),
        Op::DsStore2addrB32 | Op::DsStore2addrStride64B32 => body!(LdsPairChunks of Store<Dwords<1>>),
        Op::DsLoad2addrB64 | Op::DsLoad2addrStride64B64 => body!(LdsPairChunks of Load<Dwords<2>>),
        Op::DsStore2addrB64 | Op::DsStore2addrStride64B64 => body!(LdsPairChunks of Store<Dwords<2>>),
        Op::DsLoadAddtidB32 => body!(LdsByLane: Load<Dwords<1>>),
        Op::DsStoreAddtidB32 => body!(LdsByLane: Store<Dwords<1>>),
        Op::GlobalLoadAddtidB32 => body!(GlobalByLane: Load<Dwords<1>>),
        Op::GlobalStoreAddtidB32 => body!(GlobalByLane: Store<Dwords<1>>),
        Op::GlobalLoadBlock => body!(GlobalBlock: Load<Dwords<1>>),
        Op::GlobalStoreBlock => body!(GlobalBlock: Store<Dwords<1>>),
        Op::ScratchLoadBlock => body!(ScratchBlock: Load<Dwords<1>>),
        Op::ScratchStoreBlock => body!(ScratchBlock: Store<Dwords<1>>),
        Op::GlobalLoadTrB64 => scalar_handler::<Transpose8>(lanes),
        Op::GlobalLoadTrB128 => scalar_handler::<Transpose16>(lanes),
        Op::DsLoadB64TrB4 => scalar_handler::<LdsTranspose4>(lanes),
        Op::DsLoadB96TrB6 => scalar_handler::<LdsTranspose6>(lanes),
        Op::DsLoadB64TrB8 => scalar_handler::<LdsTranspose8>(lanes),
        Op::DsLoadB64TrB16 => scalar_handler::<LdsTranspose16>(lanes),
        Op::DsCondxchg32RtnB64 => scalar_handler::<ExchangeIf>(lanes),
        Op::DsStorexchg2addrRtnB32 | Op::DsStorexchg2addrStride64RtnB32 => scalar_handler::<ExchangeTwoB32>(lanes),
        Op::DsStorexchg2addrRtnB64 | Op::DsStorexchg2addrStride64RtnB64 => scalar_handler::<ExchangeTwoB64>(lanes),
        Op::LdsDirectLoad => scalar_handler::<LdsDirect>(lanes),
        Op::DsBpermuteB32 => body!(BackwardPermute),
        Op::DsBpermuteFiB32 => body!(BackwardPermuteAll),
        Op::DsPermuteB32 => body!(ForwardPermute),
        Op::DsSwizzleB32 => body!(Swizzle),
        Op::DsAppend | Op::DsConsume => body!(Count),
        Op::SLoadB32 => scalar::load::<{ scalar::MEMORY }, 1>,
        Op::SLoadB64 => scalar::load::<{ scalar::MEMORY }, 2>,
        Op::SLoadB96 => scalar::load::<{ scalar::MEMORY }, 3>,
        Op::SLoadB128 => scalar::load::<{ scalar::MEMORY }, 4>,
        Op::SLoadB256 => scalar::load::<{ scalar::MEMORY }, 8>,
        Op::SLoadB512 => scalar::load::<{ scalar::MEMORY }, 16>,
        Op::SLoadU8 => scalar::load_part::<{ scalar::MEMORY }, u8>,
        Op::SLoadI8 => scalar::load_part::<{ scalar::MEMORY }, i8>,
        Op::SLoadU16 => scalar::load_part::<{ scalar::MEMORY }, u16>,
        Op::SLoadI16 => scalar::load_part::<{ scalar::MEMORY }, i16>,
        Op::SBufferLoadB32 => scalar::load::<{ scalar::BUFFER }, 1>,
        Op::SBufferLoadB64 => scalar::load::<{ scalar::BUFFER }, 2>,
        Op::SBufferLoadB96 => scalar::load::<{ scalar::BUFFER }, 3>,
        Op::SBufferLoadB128 => scalar::load::<{ scalar::BUFFER }, 4>,
        Op::SBufferLoadB256 => scalar::load::<{ scalar::BUFFER }, 8>,
        Op::SBufferLoadB512 => scalar::load::<{ scalar::BUFFER }, 16>,
        Op::SBufferLoadU8 => scalar::load_part::<{ scalar::BUFFER }, u8>,
        Op::SBufferLoadI8 => scalar::load_part::<{ scalar::BUFFER }, i8>,
        Op::SBufferLoadU16 => scalar::load_part::<{ scalar::BUFFER }, u16>,
        Op::SBufferLoadI16 => scalar::load_part::<{ scalar::BUFFER }, i16>,
        Op::SScratchLoadB32 => scalar::load::<{ scalar::SCRATCH }, 1>,
        Op::SScratchLoadB64 => scalar::load::<{ scalar::SCRATCH }, 2>,
        Op::SScratchLoadB128 => scalar::load::<{ scalar::SCRATCH }, 4>,
        Op::SStoreB32 => scalar_store::store::<{ scalar::MEMORY }, 1>,
        Op::SStoreB64 => scalar_store::store::<{ scalar::MEMORY }, 2>,
        Op::SStoreB128 => scalar_store::store::<{ scalar::MEMORY }, 4>,
        Op::SBufferStoreB32 => scalar_store::store::<{ scalar::BUFFER }, 1>,
        Op::SBufferStoreB64 => scalar_store::store::<{ scalar::BUFFER }, 2>,
        Op::SBufferStoreB128 => scalar_store::store::<{ scalar::BUFFER }, 4>,
        Op::SScratchStoreB32 => scalar_store::store::<{ scalar::SCRATCH }, 1>,
        Op::SScratchStoreB64 => scalar_store::store::<{ scalar::SCRATCH }, 2>,
        Op::SScratchStoreB128 => scalar_store::store::<{ scalar::SCRATCH }, 4>,
        Op::SMemtime => scalar::time::<false>,
        Op::SMemrealtime => scalar::time::<true>,
        Op::BufferGl0Inv
        | Op::BufferGl1Inv
        | Op::BufferInv
        | Op::BufferInvl2
        | Op::BufferWbinvl1
        | Op::BufferWbinvl1Vol
        | Op::BufferWbl2
        | Op::GlobalInv
        | Op::GlobalWb
        | Op::GlobalWbinv
        | Op::SDcacheInv
        | Op::SDcacheInvVol
        | Op::SDcacheWb
        | Op::SDcacheWbVol
        | Op::SGl1Inv => scalar::order,
        Op::SPrefetchData
        | Op::SPrefetchDataPcRel
        | Op::SPrefetchInst
        | Op::SPrefetchInstPcRel
        | Op::SBufferPrefetchData
        | Op::DsNop
        | Op::SDcacheDiscard | Op::SDcacheDiscardX2 | Op::SAtcProbe | Op::SAtcProbeBuffer => scalar::nothing,
        _ => return None,
    })
}

/// Read-modify-write operations.
#[rustfmt::skip]
pub(super) fn atomic(op: Op, lanes: usize) -> Option<(Handler, Rmw)> {
    macro_rules! body {
        ($b:ident: $m:ty) => { scalar_handler::<$b<$m>>(lanes) };
    }
    Some(match op {
        Op::GlobalAtomicSwapB32 => (body!(Global: Atomic<u32>), Rmw::Swap),
        Op::GlobalAtomicCmpswapB32 => (body!(Global: Atomic<u32>), Rmw::CmpSwap),
        Op::GlobalAtomicCmpswapF32 => (body!(Global: Atomic<u32>), Rmw::CmpSwapFloat),
        Op::GlobalAtomicAddU32 => (body!(Global: Atomic<u32>), Rmw::Add),
        Op::GlobalAtomicSubU32 => (body!(Global: Atomic<u32>), Rmw::Sub),
        Op::GlobalAtomicCsubU32 => (body!(Global: Atomic<u32>), Rmw::SubClamp),
        Op::GlobalAtomicCondSubU32 => (body!(Global: Atomic<u32>), Rmw::SubIf),
        Op::GlobalAtomicMinI32 => (body!(Global: Atomic<u32>), Rmw::MinI),
        Op::GlobalAtomicMinU32 => (body!(Global: Atomic<u32>), Rmw::MinU),
        Op::GlobalAtomicMaxI32 => (body!(Global: Atomic<u32>), Rmw::MaxI),
        Op::GlobalAtomicMaxU32 => (body!(Global: Atomic<u32>), Rmw::MaxU),
        Op::GlobalAtomicAndB32 => (body!(Global: Atomic<u32>), Rmw::And),
        Op::GlobalAtomicOrB32 => (body!(Global: Atomic<u32>), Rmw::Or),
        Op::GlobalAtomicXorB32 => (body!(Global: Atomic<u32>), Rmw::Xor),
        Op::GlobalAtomicIncU32 => (body!(Global: Atomic<u32>), Rmw::Inc),
        Op::GlobalAtomicDecU32 => (body!(Global: Atomic<u32>), Rmw::Dec),
        Op::GlobalAtomicAddF32 => (body!(Global: Atomic<u32>), Rmw::AddFloat),
        Op::GlobalAtomicMinF32 => (body!(Global: Atomic<u32>), Rmw::MinFloat),
        Op::GlobalAtomicMaxF32 => (body!(Global: Atomic<u32>), Rmw::MaxFloat),
        Op::GlobalAtomicPkAddF16 => (body!(Global: Atomic<u32>), Rmw::AddHalves),
        Op::GlobalAtomicPkAddBf16 => (body!(Global: Atomic<u32>), Rmw::AddBrainHalves),
        Op::GlobalAtomicSwapB64 => (body!(Global: Atomic<u64>), Rmw::Swap),
        Op::GlobalAtomicCmpswapB64 => (body!(Global: Atomic<u64>), Rmw::CmpSwap),
        Op::GlobalAtomicCmpswapF64 => (body!(Global: Atomic<u64>), Rmw::CmpSwapFloat),
        Op::GlobalAtomicAddU64 => (body!(Global: Atomic<u64>), Rmw::Add),
        Op::GlobalAtomicSubU64 => (body!(Global: Atomic<u64>), Rmw::Sub),
        Op::GlobalAtomicMinI64 => (body!(Global: Atomic<u64>), Rmw::MinI),
        Op::GlobalAtomicMinU64 => (body!(Global: Atomic<u64>), Rmw::MinU),
        Op::GlobalAtomicMaxI64 => (body!(Global: Atomic<u64>), Rmw::MaxI),
        Op::GlobalAtomicMaxU64 => (body!(Global: Atomic<u64>), Rmw::MaxU),
        Op::GlobalAtomicAndB64 => (body!(Global: Atomic<u64>), Rmw::And),
        Op::GlobalAtomicOrB64 => (body!(Global: Atomic<u64>), Rmw::Or),
        Op::GlobalAtomicXorB64 => (body!(Global: Atomic<u64>), Rmw::Xor),
        Op::GlobalAtomicIncU64 => (body!(Global: Atomic<u64>), Rmw::Inc),
        Op::GlobalAtomicDecU64 => (body!(Global: Atomic<u64>), Rmw::Dec),
        Op::GlobalAtomicAddF64 => (body!(Global: Atomic<u64>), Rmw::AddFloat),
        Op::GlobalAtomicMinF64 => (body!(Global: Atomic<u64>), Rmw::MinFloat),
        Op::GlobalAtomicMaxF64 => (body!(Global: Atomic<u64>), Rmw::MaxFloat),
        Op::FlatAtomicSwapB32 => (body!(Flat: Atomic<u32>), Rmw::Swap),
        Op::FlatAtomicCmpswapB32 => (body!(Flat: Atomic<u32>), Rmw::CmpSwap),
        Op::FlatAtomicCmpswapF32 => (body!(Flat: Atomic<u32>), Rmw::CmpSwapFloat),
        Op::FlatAtomicAddU32 => (body!(Flat: Atomic<u32>), Rmw::Add),
        Op::FlatAtomicSubU32 => (body!(Flat: Atomic<u32>), Rmw::Sub),
        Op::FlatAtomicCsubU32 => (body!(Flat: Atomic<u32>), Rmw::SubClamp),
        Op::FlatAtomicCondSubU32 => (body!(Flat: Atomic<u32>), Rmw::SubIf),
        Op::FlatAtomicMinI32 => (body!(Flat: Atomic<u32>), Rmw::MinI),
        Op::FlatAtomicMinU32 => (body!(Flat: Atomic<u32>), Rmw::MinU),
        Op::FlatAtomicMaxI32 => (body!(Flat: Atomic<u32>), Rmw::MaxI),
        Op::FlatAtomicMaxU32 => (body!(Flat: Atomic<u32>), Rmw::MaxU),
        Op::FlatAtomicAndB32 => (body!(Flat: Atomic<u32>), Rmw::And),
        Op::FlatAtomicOrB32 => (body!(Flat: Atomic<u32>), Rmw::Or),
        Op::FlatAtomicXorB32 => (body!(Flat: Atomic<u32>), Rmw::Xor),
        Op::FlatAtomicIncU32 => (body!(Flat: Atomic<u32>), Rmw::Inc),
        Op::FlatAtomicDecU32 => (body!(Flat: Atomic<u32>), Rmw::Dec),
        Op::FlatAtomicAddF32 => (body!(Flat: Atomic<u32>), Rmw::AddFloat),
        Op::FlatAtomicMinF32 => (body!(Flat: Atomic<u32>), Rmw::MinFloat),
        Op::FlatAtomicMaxF32 => (body!(Flat: Atomic<u32>), Rmw::MaxFloat),
        Op::FlatAtomicPkAddF16 => (body!(Flat: Atomic<u32>), Rmw::AddHalves),
        Op::FlatAtomicPkAddBf16 => (body!(Flat: Atomic<u32>), Rmw::AddBrainHalves),
        Op::FlatAtomicSwapB64 => (body!(Flat: Atomic<u64>), Rmw::Swap),
        Op::FlatAtomicCmpswapB64 => (body!(Flat: Atomic<u64>), Rmw::CmpSwap),
        Op::FlatAtomicCmpswapF64 => (body!(Flat: Atomic<u64>), Rmw::CmpSwapFloat),
        Op::FlatAtomicAddU64 => (body!(Flat: Atomic<u64>), Rmw::Add),
        Op::FlatAtomicSubU64 => (body!(Flat: Atomic<u64>), Rmw::Sub),
        Op::FlatAtomicMinI64 => (body!(Flat: Atomic<u64>), Rmw::MinI),
        Op::FlatAtomicMinU64 => (body!(Flat: Atomic<u64>), Rmw::MinU),
        Op::FlatAtomicMaxI64 => (body!(Flat: Atomic<u64>), Rmw::MaxI),
        Op::FlatAtomicMaxU64 => (body!(Flat: Atomic<u64>), Rmw::MaxU),
        Op::FlatAtomicAndB64 => (body!(Flat: Atomic<u64>), Rmw::And),
        Op::FlatAtomicOrB64 => (body!(Flat: Atomic<u64>), Rmw::Or),
        Op::FlatAtomicXorB64 => (body!(Flat: Atomic<u64>), Rmw::Xor),
        Op::FlatAtomicIncU64 => (body!(Flat: Atomic<u64>), Rmw::Inc),
        Op::FlatAtomicDecU64 => (body!(Flat: Atomic<u64>), Rmw::Dec),
        Op::FlatAtomicAddF64 => (body!(Flat: Atomic<u64>), Rmw::AddFloat),
        Op::FlatAtomicMinF64 => (body!(Flat: Atomic<u64>), Rmw::MinFloat),
        Op::FlatAtomicMaxF64 => (body!(Flat: Atomic<u64>), Rmw::MaxFloat),
        Op::BufferAtomicSwapB32 => (body!(Buffer: Atomic<u32>), Rmw::Swap),
        Op::BufferAtomicCmpswapB32 => (body!(Buffer: Atomic<u32>), Rmw::CmpSwap),
        Op::BufferAtomicCmpswapF32 => (body!(Buffer: Atomic<u32>), Rmw::CmpSwapFloat),
        Op::BufferAtomicAddU32 => (body!(Buffer: Atomic<u32>), Rmw::Add),
        Op::BufferAtomicSubU32 => (body!(Buffer: Atomic<u32>), Rmw::Sub),
        Op::BufferAtomicCsubU32 => (body!(Buffer: Atomic<u32>), Rmw::SubClamp),
        Op::BufferAtomicCondSubU32 => (body!(Buffer: Atomic<u32>), Rmw::SubIf),
        Op::BufferAtomicMinI32 => (body!(Buffer: Atomic<u32>), Rmw::MinI),
        Op::BufferAtomicMinU32 => (body!(Buffer: Atomic<u32>), Rmw::MinU),
        Op::BufferAtomicMaxI32 => (body!(Buffer: Atomic<u32>), Rmw::MaxI),
        Op::BufferAtomicMaxU32 => (body!(Buffer: Atomic<u32>), Rmw::MaxU),
        Op::BufferAtomicAndB32 => (body!(Buffer: Atomic<u32>), Rmw::And),
        Op::BufferAtomicOrB32 => (body!(Buffer: Atomic<u32>), Rmw::Or),
        Op::BufferAtomicXorB32 => (body!(Buffer: Atomic<u32>), Rmw::Xor),
        Op::BufferAtomicIncU32 => (body!(Buffer: Atomic<u32>), Rmw::Inc),
        Op::BufferAtomicDecU32 => (body!(Buffer: Atomic<u32>), Rmw::Dec),
        Op::BufferAtomicAddF32 => (body!(Buffer: Atomic<u32>), Rmw::AddFloat),
        Op::BufferAtomicMinF32 => (body!(Buffer: Atomic<u32>), Rmw::MinFloat),
        Op::BufferAtomicMaxF32 => (body!(Buffer: Atomic<u32>), Rmw::MaxFloat),
        Op::BufferAtomicPkAddF16 => (body!(Buffer: Atomic<u32>), Rmw::AddHalves),
        Op::BufferAtomicPkAddBf16 => (body!(Buffer: Atomic<u32>), Rmw::AddBrainHalves),
        Op::BufferAtomicSwapB64 => (body!(Buffer: Atomic<u64>), Rmw::Swap),
        Op::BufferAtomicCmpswapB64 => (body!(Buffer: Atomic<u64>), Rmw::CmpSwap),
        Op::BufferAtomicCmpswapF64 => (body!(Buffer: Atomic<u64>), Rmw::CmpSwapFloat),
        Op::BufferAtomicAddU64 => (body!(Buffer: Atomic<u64>), Rmw::Add),
        Op::BufferAtomicSubU64 => (body!(Buffer: Atomic<u64>), Rmw::Sub),
        Op::BufferAtomicMinI64 => (body!(Buffer: Atomic<u64>), Rmw::MinI),
        Op::BufferAtomicMinU64 => (body!(Buffer: Atomic<u64>), Rmw::MinU),
        Op::BufferAtomicMaxI64 => (body!(Buffer: Atomic<u64>), Rmw::MaxI),
        Op::BufferAtomicMaxU64 => (body!(Buffer: Atomic<u64>), Rmw::MaxU),
        Op::BufferAtomicAndB64 => (body!(Buffer: Atomic<u64>), Rmw::And),
        Op::BufferAtomicOrB64 => (body!(Buffer: Atomic<u64>), Rmw::Or),
        Op::BufferAtomicXorB64 => (body!(Buffer: Atomic<u64>), Rmw::Xor),
        Op::BufferAtomicIncU64 => (body!(Buffer: Atomic<u64>), Rmw::Inc),
        Op::BufferAtomicDecU64 => (body!(Buffer: Atomic<u64>), Rmw::Dec),
        Op::BufferAtomicAddF64 => (body!(Buffer: Atomic<u64>), Rmw::AddFloat),
        Op::BufferAtomicMinF64 => (body!(Buffer: Atomic<u64>), Rmw::MinFloat),
        Op::BufferAtomicMaxF64 => (body!(Buffer: Atomic<u64>), Rmw::MaxFloat),
        Op::DsStorexchgRtnB32 => (body!(Lds: Atomic<u32>), Rmw::Swap),
        Op::DsStorexchgRtnB64 => (body!(Lds: Atomic<u64>), Rmw::Swap),
        Op::DsCmpstB32 | Op::DsCmpstRtnB32 => (body!(Lds: Atomic<u32>), Rmw::CmpSwapSwapped),
        Op::DsCmpstB64 | Op::DsCmpstRtnB64 => (body!(Lds: Atomic<u64>), Rmw::CmpSwapSwapped),
        Op::DsCmpstoreB32 | Op::DsCmpstoreRtnB32 => (body!(Lds: Atomic<u32>), Rmw::CmpSwap),
        Op::DsCmpstoreB64 | Op::DsCmpstoreRtnB64 => (body!(Lds: Atomic<u64>), Rmw::CmpSwap),
        Op::DsCmpstF32 | Op::DsCmpstRtnF32 => (body!(Lds: Atomic<u32>), Rmw::CmpSwapFloatSwapped),
        Op::DsCmpstF64 | Op::DsCmpstRtnF64 => (body!(Lds: Atomic<u64>), Rmw::CmpSwapFloatSwapped),
        Op::DsCmpstoreF32 | Op::DsCmpstoreRtnF32 => (body!(Lds: Atomic<u32>), Rmw::CmpSwapFloat),
        Op::DsCmpstoreF64 | Op::DsCmpstoreRtnF64 => (body!(Lds: Atomic<u64>), Rmw::CmpSwapFloat),
        Op::DsAddU32 | Op::DsAddRtnU32 => (body!(Lds: Atomic<u32>), Rmw::Add),
        Op::DsAddU64 | Op::DsAddRtnU64 => (body!(Lds: Atomic<u64>), Rmw::Add),
        Op::DsSubU32 | Op::DsSubRtnU32 => (body!(Lds: Atomic<u32>), Rmw::Sub),
        Op::DsSubU64 | Op::DsSubRtnU64 => (body!(Lds: Atomic<u64>), Rmw::Sub),
        Op::DsRsubU32 | Op::DsRsubRtnU32 => (body!(Lds: Atomic<u32>), Rmw::Rsub),
        Op::DsRsubU64 | Op::DsRsubRtnU64 => (body!(Lds: Atomic<u64>), Rmw::Rsub),
        Op::DsSubClampU32 | Op::DsSubClampRtnU32 => (body!(Lds: Atomic<u32>), Rmw::SubClamp),
        Op::DsCondSubU32 | Op::DsCondSubRtnU32 => (body!(Lds: Atomic<u32>), Rmw::SubIf),
        Op::DsMinI32 | Op::DsMinRtnI32 => (body!(Lds: Atomic<u32>), Rmw::MinI),
        Op::DsMinI64 | Op::DsMinRtnI64 => (body!(Lds: Atomic<u64>), Rmw::MinI),
        Op::DsMinU32 | Op::DsMinRtnU32 => (body!(Lds: Atomic<u32>), Rmw::MinU),
        Op::DsMinU64 | Op::DsMinRtnU64 => (body!(Lds: Atomic<u64>), Rmw::MinU),
        Op::DsMaxI32 | Op::DsMaxRtnI32 => (body!(Lds: Atomic<u32>), Rmw::MaxI),
        Op::DsMaxI64 | Op::DsMaxRtnI64 => (body!(Lds: Atomic<u64>), Rmw::MaxI),
        Op::DsMaxU32 | Op::DsMaxRtnU32 => (body!(Lds: Atomic<u32>), Rmw::MaxU),
        Op::DsMaxU64 | Op::DsMaxRtnU64 => (body!(Lds: Atomic<u64>), Rmw::MaxU),
        Op::DsAndB32 | Op::DsAndRtnB32 => (body!(Lds: Atomic<u32>), Rmw::And),
        Op::DsAndB64 | Op::DsAndRtnB64 => (body!(Lds: Atomic<u64>), Rmw::And),
        Op::DsOrB32 | Op::DsOrRtnB32 => (body!(Lds: Atomic<u32>), Rmw::Or),
        Op::DsOrB64 | Op::DsOrRtnB64 => (body!(Lds: Atomic<u64>), Rmw::Or),
        Op::DsXorB32 | Op::DsXorRtnB32 => (body!(Lds: Atomic<u32>), Rmw::Xor),
        Op::DsXorB64 | Op::DsXorRtnB64 => (body!(Lds: Atomic<u64>), Rmw::Xor),
        Op::DsIncU32 | Op::DsIncRtnU32 => (body!(Lds: Atomic<u32>), Rmw::Inc),
        Op::DsIncU64 | Op::DsIncRtnU64 => (body!(Lds: Atomic<u64>), Rmw::Inc),
        Op::DsDecU32 | Op::DsDecRtnU32 => (body!(Lds: Atomic<u32>), Rmw::Dec),
        Op::DsDecU64 | Op::DsDecRtnU64 => (body!(Lds: Atomic<u64>), Rmw::Dec),
        Op::DsMskorB32 | Op::DsMskorRtnB32 => (body!(Lds: Atomic<u32>), Rmw::MaskOr),
        Op::DsMskorB64 | Op::DsMskorRtnB64 => (body!(Lds: Atomic<u64>), Rmw::MaskOr),
        Op::DsWrapRtnB32 => (body!(Lds: Atomic<u32>), Rmw::Wrap),
        Op::DsAddF32 | Op::DsAddRtnF32 => (body!(Lds: Atomic<u32>), Rmw::AddFloat),
        Op::DsAddF64 | Op::DsAddRtnF64 => (body!(Lds: Atomic<u64>), Rmw::AddFloat),
        Op::DsMinF32 | Op::DsMinRtnF32 => (body!(Lds: Atomic<u32>), Rmw::MinFloat),
        Op::DsMinF64 | Op::DsMinRtnF64 => (body!(Lds: Atomic<u64>), Rmw::MinFloat),
        Op::DsMaxF32 | Op::DsMaxRtnF32 => (body!(Lds: Atomic<u32>), Rmw::MaxFloat),
        Op::DsMaxF64 | Op::DsMaxRtnF64 => (body!(Lds: Atomic<u64>), Rmw::MaxFloat),
        Op::DsPkAddF16 | Op::DsPkAddRtnF16 => (body!(Lds: Atomic<u32>), Rmw::AddHalves),
        Op::DsPkAddBf16 | Op::DsPkAddRtnBf16 => (body!(Lds: Atomic<u32>), Rmw::AddBrainHalves),
        Op::SAtomicSwapB32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Swap),
        Op::SAtomicSwapB64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Swap),
        Op::SAtomicCmpswapB32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::CmpSwap),
        Op::SAtomicCmpswapB64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::CmpSwap),
        Op::SAtomicAddU32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Add),
        Op::SAtomicAddU64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Add),
        Op::SAtomicSubU32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Sub),
        Op::SAtomicSubU64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Sub),
        Op::SAtomicMinI32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::MinI),
        Op::SAtomicMinI64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::MinI),
        Op::SAtomicMinU32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::MinU),
        Op::SAtomicMinU64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::MinU),
        Op::SAtomicMaxI32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::MaxI),
        Op::SAtomicMaxI64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::MaxI),
        Op::SAtomicMaxU32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::MaxU),
        Op::SAtomicMaxU64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::MaxU),
        Op::SAtomicAndB32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::And),
        Op::SAtomicAndB64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::And),
        Op::SAtomicOrB32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Or),
        Op::SAtomicOrB64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Or),
        Op::SAtomicXorB32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Xor),
        Op::SAtomicXorB64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Xor),
        Op::SAtomicIncU32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Inc),
        Op::SAtomicIncU64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Inc),
        Op::SAtomicDecU32 => (scalar_store::atomic::<{ scalar::MEMORY }, u32>, Rmw::Dec),
        Op::SAtomicDecU64 => (scalar_store::atomic::<{ scalar::MEMORY }, u64>, Rmw::Dec),
        Op::SBufferAtomicSwapB32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Swap),
        Op::SBufferAtomicSwapB64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Swap),
        Op::SBufferAtomicCmpswapB32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::CmpSwap),
        Op::SBufferAtomicCmpswapB64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::CmpSwap),
        Op::SBufferAtomicAddU32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Add),
        Op::SBufferAtomicAddU64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Add),
        Op::SBufferAtomicSubU32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Sub),
        Op::SBufferAtomicSubU64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Sub),
        Op::SBufferAtomicMinI32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::MinI),
        Op::SBufferAtomicMinI64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::MinI),
        Op::SBufferAtomicMinU32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::MinU),
        Op::SBufferAtomicMinU64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::MinU),
        Op::SBufferAtomicMaxI32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::MaxI),
        Op::SBufferAtomicMaxI64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::MaxI),
        Op::SBufferAtomicMaxU32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::MaxU),
        Op::SBufferAtomicMaxU64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::MaxU),
        Op::SBufferAtomicAndB32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::And),
        Op::SBufferAtomicAndB64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::And),
        Op::SBufferAtomicOrB32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Or),
        Op::SBufferAtomicOrB64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Or),
        Op::SBufferAtomicXorB32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Xor),
        Op::SBufferAtomicXorB64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Xor),
        Op::SBufferAtomicIncU32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Inc),
        Op::SBufferAtomicIncU64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Inc),
        Op::SBufferAtomicDecU32 => (scalar_store::atomic::<{ scalar::BUFFER }, u32>, Rmw::Dec),
        Op::SBufferAtomicDecU64 => (scalar_store::atomic::<{ scalar::BUFFER }, u64>, Rmw::Dec),
        _ => return None,
    })
}

/// Loads whose data go to LDS, and the store from LDS.
#[rustfmt::skip]
pub(super) fn to_lds(op: Op, lanes: usize) -> Option<Handler> {
    macro_rules! body {
        ($b:ident: $m:ty) => { scalar_handler::<Through<$b<ToLds<$m>>, { <$m as Data>::BYTES }>>(lanes) };
    }
    Some(match op {
        Op::GlobalLoadU8 | Op::GlobalLoadLdsU8 => body!(Global: U8),
        Op::GlobalLoadI8 | Op::GlobalLoadLdsI8 => body!(Global: I8),
        Op::GlobalLoadU16 | Op::GlobalLoadLdsU16 => body!(Global: U16),
        Op::GlobalLoadI16 | Op::GlobalLoadLdsI16 => body!(Global: I16),
        Op::GlobalLoadB32 | Op::GlobalLoadLdsB32 => body!(Global: Dwords<1>),
        Op::GlobalLoadLdsB96 => body!(Global: Dwords<3>),
        Op::GlobalLoadLdsB128 => body!(Global: Dwords<4>),
        Op::ScratchLoadU8 | Op::ScratchLoadLdsU8 => body!(Scratch: U8),
        Op::ScratchLoadI8 | Op::ScratchLoadLdsI8 => body!(Scratch: I8),
        Op::ScratchLoadU16 | Op::ScratchLoadLdsU16 => body!(Scratch: U16),
        Op::ScratchLoadI16 | Op::ScratchLoadLdsI16 => body!(Scratch: I16),
        Op::ScratchLoadB32 | Op::ScratchLoadLdsB32 => body!(Scratch: Dwords<1>),
        Op::BufferLoadU8 => body!(Buffer: U8),
        Op::BufferLoadI8 => body!(Buffer: I8),
        Op::BufferLoadU16 => body!(Buffer: U16),
        Op::BufferLoadI16 => body!(Buffer: I16),
        Op::BufferLoadB32 => body!(Buffer: Dwords<1>),
        Op::BufferLoadB96 => body!(Buffer: Dwords<3>),
        Op::BufferLoadB128 => body!(Buffer: Dwords<4>),
        Op::BufferStoreLdsB32 => scalar_handler::<OutOf<Buffer<FromLds>>>(lanes),
        _ => return None,
    })
}

/// Loads and stores with format conversion.
pub(super) fn typed(op: Op, lanes: usize) -> Option<Handler> {
    match op.footprint() {
        Footprint::Typed(AccessKind::Read, _) => Some(scalar_handler::<TypedLoad>(lanes)),
        Footprint::Typed(..) => Some(scalar_handler::<TypedStore>(lanes)),
        _ => None,
    }
}
