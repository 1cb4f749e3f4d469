//! Kernels that live on registers have enough of them: no target's compiler spills any or puts arrays into scratch memory.

use code_object::CodeObject;
use kernels::modules;

/// Modules of which no kernel may spill.
const MODULES: [&str; 2] = ["attention", "quant"];

#[test]
fn nothing_is_spilled() {
    let mut spilled = Vec::new();
    for name in MODULES {
        let module = modules::ALL.iter().find(|module| module.name == name).unwrap();
        assert!(!module.code_objects.is_empty(), "{name} is compiled for no target");
        for embedded in module.code_objects {
            let object = CodeObject::parse(embedded.bytes).unwrap();
            assert!(!object.kernels().is_empty(), "{name} for {} has no kernel", embedded.target);
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
