//! What safe code must not be able to do, as documentation tests. Each test is paired with the same code
//! inside `unsafe`, which compiles: so the missing `unsafe` is the only reason that the safe version fails.
#![allow(dead_code, reason = "they are there for their documentation")]

/// The HSA table accepts any pointer.
///
/// ```compile_fail,E0133
/// (vgpu::hsa::table().hsa_init)();
/// ```
/// ```no_run
/// unsafe { (vgpu::hsa::table().hsa_init)() };
/// ```
///
/// ```compile_fail,E0133
/// (vgpu::hsa::table().hsa_memory_free)(std::ptr::null_mut());
/// ```
/// ```no_run
/// unsafe { (vgpu::hsa::table().hsa_memory_free)(std::ptr::null_mut()) };
/// ```
struct HsaFunctions;

/// A kernel can write any memory that the machine knows, even if another part of the program holds a
/// reference to it.
///
/// ```compile_fail,E0133
/// # use vgpu::machine::{Dispatch, Machine};
/// let device = Machine::global().device(0).unwrap();
/// device.dispatch(&Dispatch::default()).unwrap();
/// ```
/// ```no_run
/// # use vgpu::machine::{Dispatch, Machine};
/// let device = Machine::global().device(0).unwrap();
/// unsafe { device.dispatch(&Dispatch::default()) }.unwrap();
/// ```
struct Kernels;

/// Freeing memory that someone else uses would leave a dangling address.
///
/// ```compile_fail,E0133
/// vgpu::machine::Machine::global().memory().free(0x1000).unwrap();
/// ```
/// ```no_run
/// unsafe { vgpu::machine::Machine::global().memory().free(0x1000) }.unwrap();
/// ```
struct MemoryOfOthers;

/// Kernels write registered memory while the program holds references to it.
///
/// ```compile_fail,E0133
/// vgpu::machine::Machine::global().memory().register(0x1000, 64).unwrap();
/// ```
/// ```no_run
/// unsafe { vgpu::machine::Machine::global().memory().register(0x1000, 64) }.unwrap();
/// ```
struct RegisteredMemory;

/// The executor's parts are public for its own tests: a wave follows any pointer that it is given.
///
/// ```compile_fail,E0133
/// # use std::sync::Arc;
/// # use vgpu::{exec::Wave, machine::{Access, Memory}};
/// let wave = Wave::new(Access::new(Arc::new(Memory::new())));
/// ```
/// ```no_run
/// # use std::sync::Arc;
/// # use vgpu::{exec::Wave, machine::{Access, Memory}};
/// let wave = unsafe { Wave::new(Access::new(Arc::new(Memory::new()))) };
/// ```
///
/// ```compile_fail,E0133
/// # use vgpu::exec::{Flow, Program, Unwatched, Wave};
/// fn run(wave: &mut Wave, program: &Program) -> Flow {
///     vgpu::exec::run(wave, program, &mut Unwatched)
/// }
/// ```
/// ```no_run
/// # use vgpu::exec::{Flow, Program, Unwatched, Wave};
/// fn run(wave: &mut Wave, program: &Program) -> Flow {
///     unsafe { vgpu::exec::run(wave, program, &mut Unwatched) }
/// }
/// ```
///
/// ```compile_fail,E0133
/// let program = vgpu::exec::Program::in_memory(vgpu::isa::Isa::Gfx1100, vec![0..64]);
/// ```
/// ```no_run
/// let program = unsafe { vgpu::exec::Program::in_memory(vgpu::isa::Isa::Gfx1100, vec![0..64]) };
/// ```
///
/// ```compile_fail,E0133
/// # use vgpu::{isa::{Inst, Isa}, machine::check::{depend, twin::Twin}};
/// fn learn(inst: &Inst) {
///     depend::learn(inst, 0, &mut Twin::new(Isa::Gfx1100));
/// }
/// ```
/// ```no_run
/// # use vgpu::{isa::{Inst, Isa}, machine::check::{depend, twin::Twin}};
/// fn learn(inst: &Inst) {
///     unsafe { depend::learn(inst, 0, &mut Twin::new(Isa::Gfx1100)) };
/// }
/// ```
///
/// ```compile_fail,E0133
/// # use vgpu::exec::{Accesses, Unit, Wave};
/// fn find(unit: &Unit, wave: &Wave) {
///     Accesses::default().find(unit, 0, wave);
/// }
/// ```
/// ```no_run
/// # use vgpu::exec::{Accesses, Unit, Wave};
/// fn find(unit: &Unit, wave: &Wave) {
///     unsafe { Accesses::default().find(unit, 0, wave) };
/// }
/// ```
///
/// ```compile_fail,E0133
/// fn vector(wave: &vgpu::exec::Wave) {
///     wave.vector(0);
/// }
/// ```
/// ```no_run
/// fn vector(wave: &vgpu::exec::Wave) {
///     unsafe { wave.vector(0) };
/// }
/// ```
struct Engine;
