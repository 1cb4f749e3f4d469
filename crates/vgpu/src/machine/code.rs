//! Code objects in memory: segments mapped, relocations applied, kernels ready to dispatch.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use code_object::{CodeObject, RelocationKind, SymbolKind, TargetId};

use super::kernel::{Kernel, Kernels};
use super::memory::{Mapping, Memory, MemoryError};
use super::source;
use super::{Engine, Target};
use crate::exec::Program;
use gpu_report::MemoryKind;
use gpu_report::SourceLines;

/// Why a code object could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes are not a valid code object.
    #[error(transparent)]
    Object(#[from] code_object::Error),
    /// The code is for another target.
    #[error("code for {code} does not run on {device}")]
    WrongTarget {
        /// The target that the code was built for.
        code: String,
        /// The target of the device.
        device: String,
    },
    /// A symbol that the code needs is not defined anywhere.
    #[error("undefined symbol `{0}`")]
    UndefinedSymbol(String),
    /// A relocation that loaders need not support, or one that is out of range.
    #[error("relocation {kind} at {offset:#x} cannot be applied")]
    Relocation {
        /// Its kind.
        kind: String,
        /// Its position, relative to the load base.
        offset: u64,
    },
    /// The load image is too large for a code object.
    #[error("the code object asks for {0} bytes of memory")]
    TooLarge(u64),
    /// Segments overlap.
    #[error("segment at {0:#x} overlaps another")]
    SegmentOverlap(u64),
    /// There is no memory for the code.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// The maximum size of a load image.
const MAX_IMAGE: u64 = 4 << 30;

/// A code object loaded for a device. Its memory is freed with the last reference.
#[derive(Debug)]
pub struct LoadedCode {
    object: CodeObject,
    target: &'static Target,
    memory: Arc<Memory>,
    /// Unmapped after `drop` has taken the segments away from kernels.
    mapping: Option<Mapping>,
    base: u64,
    registered: Vec<u64>,
    program: OnceLock<Program>,
    kernels: Kernels,
    /// The file, kept only if it has debug information for source lines.
    debug: Option<Box<[u8]>>,
}

impl LoadedCode {
    /// Loads a code object for a device. `resolve` returns the addresses of symbols that the code object does
    /// not define.
    pub(crate) fn load(
        memory: &Arc<Memory>,
        target: &'static Target,
        device: &TargetId,
        bytes: &[u8],
        resolve: &mut dyn FnMut(&str) -> Option<u64>,
    ) -> Result<LoadedCode, LoadError> {
        let object = CodeObject::parse(bytes)?;
        if !object.target().runs_on(device) {
            return Err(LoadError::WrongTarget {
                code: object.target().to_string(),
                device: device.to_string(),
            });
        }
        let size = object.load_size();
        if size > MAX_IMAGE {
            return Err(LoadError::TooLarge(size));
        }
        let debug = object.has_debug_info().then(|| bytes.into());
        let mut code = LoadedCode {
            object,
            target,
            memory: Arc::clone(memory),
            mapping: None,
            base: 0,
            registered: Vec::new(),
            program: OnceLock::new(),
            kernels: Kernels::default(),
            debug,
        };
        if size == 0 {
            return Ok(code);
        }
        // Segments keep their offsets, so the image needs the largest alignment of all segments.
        let align = code
            .object
            .segments()
            .iter()
            .map(|segment| segment.align)
            .max()
            .unwrap_or(1)
            .clamp(4096, 2 << 20);
        let (mapping, base) = Mapping::new(size, align)?;
        code.mapping = Some(mapping);
        code.base = base;
        code.fill(bytes)?;
        code.relocate(resolve)?;
        code.publish()?;
        Ok(code)
    }

    fn fill(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        let size = self.object.load_size();
        for segment in self.object.segments() {
            let data = bytes.get(segment.file_range.clone()).unwrap_or_default();
            let fits = segment.vaddr.checked_add(data.len() as u64).is_some_and(|end| end <= size);
            if !fits {
                return Err(LoadError::TooLarge(segment.end()));
            }
            // SAFETY: the image's `size` bytes are mapped and unshared until they are published, and the copy
            // ends within them.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    data.as_ptr(),
                    (self.base + segment.vaddr) as *mut u8,
                    data.len(),
                );
            }
        }
        Ok(())
    }

    fn relocate(&mut self, resolve: &mut dyn FnMut(&str) -> Option<u64>) -> Result<(), LoadError> {
        for relocation in self.object.relocations() {
            let kind = relocation.kind;
            let bad = || LoadError::Relocation { kind: format!("{kind:?}"), offset: relocation.offset };
            let symbol = match relocation.symbol {
                None => 0,
                Some(index) => {
                    let symbol = self.object.symbols().get(index).ok_or_else(bad)?;
                    if symbol.undefined {
                        match resolve(&symbol.name) {
                            Some(address) => address,
                            None if symbol.binding == code_object::Binding::Weak => 0,
                            None => return Err(LoadError::UndefinedSymbol(symbol.name.clone())),
                        }
                    } else if symbol.absolute {
                        symbol.value
                    } else {
                        self.base.wrapping_add(symbol.value)
                    }
                }
            };
            let place = self.base.wrapping_add(relocation.offset);
            let sum = symbol.wrapping_add_signed(relocation.addend);
            let value = match kind {
                RelocationKind::None => continue,
                RelocationKind::Relative64 => self.base.wrapping_add_signed(relocation.addend),
                RelocationKind::Abs64 | RelocationKind::Abs32 | RelocationKind::Abs32Lo => sum,
                RelocationKind::Abs32Hi => sum >> 32,
                RelocationKind::Rel64 | RelocationKind::Rel32 | RelocationKind::Rel32Lo => {
                    sum.wrapping_sub(place)
                }
                RelocationKind::Rel32Hi => sum.wrapping_sub(place) >> 32,
                _ => return Err(bad()),
            };
            let fits = match kind {
                RelocationKind::Abs32 => u32::try_from(value).is_ok(),
                RelocationKind::Rel32 => i32::try_from(value as i64).is_ok(),
                _ => true,
            };
            let width = kind.width();
            let inside =
                relocation.offset.checked_add(width).is_some_and(|end| end <= self.object.load_size());
            if !fits || !inside {
                return Err(bad());
            }
            let data = value.to_le_bytes();
            // SAFETY: `width` is 4 or 8, and that many bytes at `offset` are in the image, which is mapped
            // and not yet shared.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), place as *mut u8, width as usize) };
        }
        Ok(())
    }

    /// Makes the segments known to kernels.
    fn publish(&mut self) -> Result<(), LoadError> {
        for segment in self.object.segments().iter().filter(|segment| segment.mem_size != 0) {
            let kind = if segment.executable {
                MemoryKind::Code
            } else if segment.writable {
                MemoryKind::Data
            } else {
                MemoryKind::Constant
            };
            let address = self.base + segment.vaddr;
            // SAFETY: the segment lies in the image, which stays mapped until `drop` has unregistered it.
            unsafe { self.memory.register_as(address, segment.mem_size, kind, None) }
                .map_err(|_| LoadError::SegmentOverlap(segment.vaddr))?;
            self.registered.push(address);
            if kind == MemoryKind::Constant {
                self.memory.set_variables(address, self.variables(segment.vaddr..segment.end()));
            }
        }
        Ok(())
    }

    /// The addresses of exported variables within a segment.
    fn variables(&self, segment: Range<u64>) -> Vec<Range<u64>> {
        let symbols = self.object.symbols().iter().filter(|symbol| {
            symbol.kind == SymbolKind::Object
                && !symbol.undefined
                && !symbol.absolute
                && segment.contains(&symbol.value)
                && symbol.size <= segment.end - symbol.value
        });
        let start = |symbol: &code_object::Symbol| self.base + symbol.value;
        symbols.map(|symbol| start(symbol)..start(symbol) + symbol.size).collect()
    }

    /// The lowered instructions, as far as execution has reached them.
    pub(crate) fn program(&self) -> &Program {
        self.program.get_or_init(|| {
            let text = self.object.segments().iter().filter(|segment| segment.executable);
            let text = text.map(|segment| self.base + segment.vaddr..self.base + segment.end()).collect();
            // SAFETY: the image stays mapped as long as `self`, which owns the program; kernels cannot write
            // its code.
            Engine::program(unsafe { Program::in_memory(self.target.isa, text) })
        })
    }

    /// The parsed code object.
    pub fn object(&self) -> &CodeObject {
        &self.object
    }

    /// The target of the device it was loaded for.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// The memory it is loaded into.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The address of the code object's offset 0.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The end of the load image.
    pub fn end(&self) -> u64 {
        self.base + self.object.load_size()
    }

    /// The address of a kernel's descriptor, the "kernel object" of a dispatch packet. Both `name` and
    /// `name.kd` are accepted.
    pub fn kernel_object(&self, name: &str) -> Option<u64> {
        let kernel =
            self.object.kernels().iter().find(|kernel| kernel.name == name || kernel.symbol == name)?;
        Some(self.base + kernel.descriptor_vaddr)
    }

    /// The name of the kernel with this descriptor, as in the code object.
    pub fn kernel_name(&self, kernel_object: u64) -> Option<&str> {
        let offset = kernel_object.checked_sub(self.base)?;
        let kernels = self.object.kernels();
        let kernel = kernels.iter().find(|kernel| kernel.descriptor_vaddr == offset);
        kernel.map(|kernel| kernel.name.as_str()).or_else(|| {
            let symbols = self.object.symbols();
            let symbol = symbols.iter().find(|symbol| symbol.value == offset && !symbol.undefined);
            symbol.map(|symbol| symbol.name.trim_end_matches(".kd"))
        })
    }

    /// The kernel with this descriptor.
    pub(super) fn kernel(&self, kernel_object: u64) -> Option<Arc<Kernel>> {
        self.kernels.find(self, kernel_object)
    }

    /// The address of a variable or function that the code object defines.
    pub fn symbol_address(&self, name: &str) -> Option<u64> {
        let symbol = self.object.symbol(name).filter(|symbol| !symbol.undefined)?;
        Some(if symbol.absolute { symbol.value } else { self.base + symbol.value })
    }

    /// The function that contains an offset: its symbol, and the offset in it. Functions that are not
    /// exported are known only if the code object has debug information.
    pub fn function_at(&self, offset: u64) -> Option<(String, u64)> {
        let exported = self
            .object
            .symbols()
            .iter()
            .filter(|symbol| {
                symbol.kind == SymbolKind::Function && !symbol.undefined && symbol.value <= offset
            })
            .filter(|symbol| symbol.size == 0 || offset - symbol.value < symbol.size)
            .max_by_key(|symbol| symbol.value)
            .map(|symbol| (symbol.name.clone(), offset - symbol.value));
        exported.or_else(|| source::function_at(self.debug.as_deref()?, offset))
    }

    /// The source lines of the instruction at an offset. Each call reads the debug information again.
    pub fn source_at(&self, offset: u64) -> SourceLines {
        match &self.debug {
            Some(file) => {
                let function = self.function_at(offset);
                source::find(file, offset, function.as_ref().map(|(symbol, _)| symbol.as_str()))
            }
            None => SourceLines::NoDebugInfo,
        }
    }

    /// The executable segment that contains `address`, as `[start, end)`.
    pub(crate) fn text_at(&self, address: u64) -> Option<(u64, u64)> {
        let offset = address.checked_sub(self.base)?;
        let segment = self
            .object
            .segments()
            .iter()
            .find(|segment| segment.executable && segment.contains(offset, 1))?;
        Some((self.base + segment.vaddr, self.base + segment.end()))
    }
}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        self.memory.unregister_all(&self.registered);
    }
}
