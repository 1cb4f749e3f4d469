//! The compiling engine of ferrocm's virtual AMD GPU: lowered code becomes native vector code.
//!
//! This crate is a part of [`vgpu`](https://docs.rs/ferrocm-vgpu); its API changes with it. It compiles what
//! the reference engine has lowered: steps, each of which can also be executed by its handler. Code that it
//! has no native form for calls the handler, so every program can be compiled.
//!
//! | module | holds |
//! |---|---|
//! | `compile` | blocks, calls of handlers, jumps |
//! | `vector` | the table of vector instructions |
//! | `values` | what they compute |
//! | `region` | sequences of vector instructions, as values |
//! | `allocate` | which register of the host holds which value |
//! | `emit` | code for regions |
//! | `matrix` | products of matrices |
//! | `functions` | powers and roots |
//! | `memory` | loads and stores |
//! | `narrow` | loads and stores of bytes and words |
//! | `groups` | those of groups of lanes with patterns of their own |
//! | `shapes` | how the lanes of addresses differ |
//! | `constant` | loads into scalar registers |
//! | `lanes` | moves between lanes |
//! | `scalar` | scalar instructions |
//! | `host` | the vector instructions of the host |
//! | `marks` | marked lanes |
//! | `asm` | x86-64 instructions, labels, literals |
//! | `pages` | executable memory |
//! | `dump` | files with the code |
//!
//! # Invariants
//! - At every border of a block, and whenever a handler runs, all registers of the wave are in its register
//!   file.
//! - A region writes nothing for a group of lanes before it is certain that the native form gives the results
//!   of the handlers. Otherwise (NaNs) the handlers execute it for these lanes.
//! - Code is compiled for one value of MODE and runs only in waves that have it.

mod allocate;
mod asm;
mod compile;
mod constant;
mod dump;
mod emit;
mod functions;
mod groups;
mod host;
mod lanes;
mod marks;
mod matrix;
mod memory;
mod narrow;
mod pages;
mod region;
mod scalar;
mod shapes;
mod values;
mod vector;

use vgpu_exec::Level;
use vgpu_exec::native::{Compile, Exit, Input, Native, Why};

pub use dump::dump_to;
use host::Host;

/// The reason why code cannot be compiled.
#[derive(Debug)]
pub(crate) enum Error {
    /// An instruction of the host cannot be encoded.
    #[allow(dead_code, reason = "for who debugs")]
    Encoding(String),
    /// A jump leads nowhere.
    Label,
    /// An instruction needs more registers of the host than there are.
    Registers,
    /// The code is too large.
    TooLarge,
    /// There is no memory for code.
    #[allow(dead_code, reason = "for who debugs")]
    Memory(std::io::Error),
}

/// A compiler for CPUs with some extensions.
#[derive(Clone, Copy, Debug)]
pub struct Jit {
    host: Host,
}

impl Jit {
    /// The compiler whose code needs what a level of the reference engine needs; none for the lowest.
    pub fn of(level: Level) -> Option<&'static Jit> {
        match level {
            Level::Baseline => None,
            Level::Avx2 => Some(&Jit { host: Host::Avx2 }),
            Level::Avx512 => Some(&Jit { host: Host::Avx512 }),
        }
    }
}

impl Compile for Jit {
    fn compile(&self, input: &Input<'_>) -> Option<Box<dyn Native>> {
        let code = compile::compile(input, self.host);
        // Everything else is a mistake of the compiler. Tests find it, because there is no native code then.
        debug_assert!(
            matches!(code, Ok(_) | Err(Error::Registers | Error::TooLarge | Error::Memory(_))),
            "{code:?}"
        );
        Some(Box::new(code.ok()?))
    }
}

/// Compiled code.
#[derive(Debug)]
pub(crate) struct Code {
    pages: pages::Pages,
    /// The offset of the code of each step at which it can be entered, or 0.
    starts: Vec<u32>,
    /// MODE of waves that may run it.
    mode: u32,
    size: usize,
}

// SAFETY: each native form was compared with its handler, see the tests of `vgpu`.
unsafe impl Native for Code {
    #[inline]
    fn enters(&self, step: usize, mode: u32) -> bool {
        self.mode == mode && self.starts.get(step).is_some_and(|start| *start != 0)
    }

    fn size(&self) -> usize {
        self.size
    }

    unsafe fn run(&self, wave: *mut u8, step: usize) -> Exit {
        type Enter = unsafe extern "sysv64" fn(*mut u8, *const u8) -> u64;
        let start = self.starts.get(step).copied().unwrap_or(0);
        // SAFETY: the prologue is at the start of the pages and has this signature.
        let enter: Enter = unsafe { std::mem::transmute(self.pages.address(0)) };
        // SAFETY: the caller's promise.
        let result = unsafe { enter(wave, self.pages.address(start as usize)) };
        let why = match (result & 0xff) as u8 {
            compile::RESUME => Why::Resume,
            compile::SLICE => Why::Slice,
            flow => Why::Handler(flow),
        };
        Exit { at: (result >> 32) as u32, why }
    }
}
