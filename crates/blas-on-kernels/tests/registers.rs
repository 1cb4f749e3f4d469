//! Every kernel of BLAS has enough registers: on no target does the compiler spill registers or put arrays
//! into scratch memory.

use blas_on_kernels::modules;
use code_object::CodeObject;

#[test]
fn nothing_is_spilled() {
    let mut spilled = Vec::new();
    for module in modules::ALL {
        assert!(!module.code_objects.is_empty(), "{} is compiled for no target", module.name);
        for embedded in module.code_objects {
            let object = CodeObject::parse(embedded.bytes).unwrap();
            assert!(!object.kernels().is_empty(), "{} for {} has no kernel", module.name, embedded.target);
            for kernel in object.kernels() {
                let figures = (kernel.vgpr_spills, kernel.sgpr_spills, kernel.private_segment_size);
                if figures != (0, 0, 0) || kernel.uses_dynamic_stack {
                    let (vgprs, sgprs, scratch) = figures;
                    spilled.push(format!(
                        "{} for {}: {vgprs} vector and {sgprs} scalar registers, {scratch} bytes of scratch",
                        kernel.name, embedded.target
                    ));
                }
            }
        }
    }
    assert!(spilled.is_empty(), "{} kernels spill:\n{}", spilled.len(), spilled.join("\n"));
}
