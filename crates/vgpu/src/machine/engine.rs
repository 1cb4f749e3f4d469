//! What executes instructions.

use std::sync::OnceLock;

use vgpu_exec::{Level, Program};
use vgpu_jit::Jit;

use crate::ConfigError;

/// How often waves enter code before it is compiled.
const WARM: u32 = 16;

/// What executes the instructions of a dispatch that nobody observes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Engine {
    /// A handler for each instruction.
    Reference,
    /// Native code for what waves enter often, and the reference engine for everything else. It needs AVX2
    /// or AVX-512.
    Compiled,
}

impl Engine {
    /// The engine that `FERROCM_VGPU_ENGINE` selects.
    ///
    /// # Errors
    /// If the variable has another value, or the CPU lacks what the engine needs.
    pub(super) fn of_environment() -> Result<Engine, ConfigError> {
        let variable = variables::VGPU_ENGINE;
        match variable.word()? {
            Some("compiled") if Jit::of(Level::detect()).is_none() => {
                Err(variable.error("compiled", "it needs a CPU with AVX2 or AVX-512").into())
            }
            Some("reference") => Ok(Engine::Reference),
            // Without AVX2, programs stay as they are.
            _ => Ok(Engine::Compiled),
        }
    }

    /// The engine of this process. No device starts if the variable's value is invalid.
    fn selected() -> Engine {
        static ENGINE: OnceLock<Engine> = OnceLock::new();
        *ENGINE.get_or_init(|| {
            if let Some(folder) = variables::VGPU_DUMP.path() {
                vgpu_jit::dump_to(folder);
            }
            Engine::of_environment().unwrap_or(Engine::Compiled)
        })
    }

    /// A program on the engine of this process.
    pub(super) fn program(program: Program) -> Program {
        match (Engine::selected(), Jit::of(Level::detect())) {
            (Engine::Compiled, Some(jit)) => program.compiled_by(jit, WARM),
            _ => program,
        }
    }
}
