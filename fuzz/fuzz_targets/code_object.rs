//! Any bytes: the reader returns an error or a code object whose guarantees hold.
#![no_main]

use code_object::bundle::{Extent, extent};
use code_object::{CodeObject, TargetId};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/code-object/tests/support/mod.rs"]
mod synthetic;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(target) = text.parse::<TargetId>()
    {
        assert_eq!(target.to_string().parse::<TargetId>().as_ref(), Ok(&target));
    }
    let _ = code_object::cuda::parameters(bytes, "f");
    let Ok(object) = CodeObject::parse(bytes) else { return };
    assert!(matches!(extent(bytes), Ok(Extent::Bytes(length)) if length <= bytes.len()));
    assert!(synthetic::counted_as_amd_does(bytes).is_some_and(|length| length <= bytes.len()));
    let _ = code_object::metrics::Table::of(&object, bytes);
    for segment in object.segments() {
        assert!(bytes[segment.file_range.clone()].len() as u64 <= segment.mem_size);
        assert!(segment.end() <= object.load_size());
    }
    for relocation in object.relocations() {
        assert!(relocation.symbol.is_none_or(|symbol| symbol < object.symbols().len()));
        assert!(object.segments().iter().any(|s| s.contains(relocation.offset, relocation.kind.width())));
    }
    for kernel in object.kernels() {
        assert!(kernel.args.iter().all(|arg| arg.offset + arg.size <= kernel.kernarg_size));
        assert!(object.file_range(kernel.descriptor_vaddr, 64).is_some());
        assert!(object.file_range(kernel.entry_vaddr, 4).is_some());
    }
});
