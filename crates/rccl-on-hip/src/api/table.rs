//! The table: which of RCCL's functions this crate implements.

use std::sync::OnceLock;

use rccl_sys::{Builder, Table};

use super::{collective, communicator, general};

macro_rules! functions {
    ($($module:ident: $($name:ident)+;)+) => {
        fn provide(builder: &mut Builder) {
            $($(builder.$name($module::$name);)+)+
        }

        /// The C names of the functions that [`table`](crate::table) implements. All others return
        /// `ncclInternalError`.
        pub const FUNCTIONS: &[&str] = &[$($(stringify!($name),)+)+];
    };
}

functions! {
    collective:
        ncclAllGather ncclAllReduce ncclAllReduceWithBias ncclAllToAll ncclAllToAllv ncclBcast ncclBroadcast ncclGather
        ncclGroupEnd ncclGroupSimulateEnd ncclGroupStart ncclRecv ncclReduce ncclReduceScatter ncclScatter ncclSend;
    communicator:
        ncclCommAbort ncclCommCount ncclCommCuDevice ncclCommDeregister ncclCommDestroy ncclCommFinalize
        ncclCommGetAsyncError ncclCommInitAll ncclCommInitRank ncclCommInitRankConfig ncclCommInitRankMulti
        ncclCommInitRankScalable
        ncclCommRegister ncclCommShrink ncclCommSplit ncclCommUserRank ncclCommWindowDeregister ncclCommWindowRegister
        ncclRedOpCreatePreMulSum ncclRedOpDestroy;
    general:
        ncclGetErrorString ncclGetLastError ncclGetUniqueId ncclGetVersion ncclMemAlloc ncclMemFree
        ncclResetDebugInit;
}

/// The one table.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut builder = Builder::new("rccl-on-hip", env!("CARGO_PKG_VERSION"));
        provide(&mut builder);
        // SAFETY: each function does what RCCL's headers say of its name.
        unsafe { builder.finish() }
    })
}
