//! The shaders. Both compute 3 times the contents of a buffer plus 1, one by compute and one by drawing.

use crate::spirv::{Id, Module, Op, number};

/// Work-items of a workgroup.
pub(crate) const GROUP: u32 = 64;

/// Types that all shaders use.
struct Types {
    uint: Id,
    /// Pointers to an element of a storage buffer, and to the buffer.
    element: Id,
    block: Id,
}

fn types(module: &mut Module) -> Types {
    let uint = module.declare(Op::TypeInt, &[], &[32, 0]);
    let element = module.pointer(number::STORAGE_BUFFER, uint);
    let block = module.array_block(uint, 4);
    let block = module.pointer(number::STORAGE_BUFFER, block);
    Types { uint, element, block }
}

/// `3 * value + 1`.
fn affine(module: &mut Module, uint: Id, value: Id, [three, one]: [Id; 2]) -> Id {
    let product = module.value(Op::IMul, uint, &[value, three]);
    module.value(Op::IAdd, uint, &[product, one])
}

/// Writes `3 * from[i] + 1` to `to[i]`, for as many elements as both buffers have.
pub(crate) fn compute() -> Vec<u32> {
    let mut module = Module::default();
    let Types { uint, element, block } = types(&mut module);
    let boolean = module.declare(Op::TypeBool, &[], &[]);
    let triple = module.vector(uint, 3);
    let place = module.pointer(number::INPUT, triple);
    let item = module.variable(place, number::INPUT);
    module.decorate(item, &[number::BUILT_IN, number::GLOBAL_INVOCATION_ID]);
    let (from, to) = (module.buffer(block, 0), module.buffer(block, 1));
    module.decorate(from, &[number::NON_WRITABLE]);
    let [zero, one, three] = [0, 1, 3].map(|bits| module.constant(uint, bits));
    let mode = [number::LOCAL_SIZE, GROUP, 1, 1];
    module.finish(number::COMPUTE, &mode, &[item], |module| {
        let items = module.value(Op::Load, triple, &[item]);
        let index = module.extract(uint, items, 0);
        let lengths = [from, to].map(|buffer| module.length(uint, buffer));
        let inside = lengths.map(|length| module.value(Op::ULessThan, boolean, &[index, length]));
        module.when(inside[0], |module| {
            module.when(inside[1], |module| {
                let read = module.value(Op::AccessChain, element, &[from, zero, index]);
                let value = module.value(Op::Load, uint, &[read]);
                let result = affine(module, uint, value, [three, one]);
                let written = module.value(Op::AccessChain, element, &[to, zero, index]);
                module.step(Op::Store, &[written, result]);
            });
        });
    })
}

/// Turns three vertices into a triangle that covers everything.
pub(crate) fn vertex() -> Vec<u32> {
    let mut module = Module::default();
    let uint = module.declare(Op::TypeInt, &[], &[32, 0]);
    let float = module.declare(Op::TypeFloat, &[], &[32]);
    let four = module.vector(float, 4);
    let (number_in, place_out) = (module.pointer(number::INPUT, uint), module.pointer(number::OUTPUT, four));
    let index = module.variable(number_in, number::INPUT);
    let position = module.variable(place_out, number::OUTPUT);
    module.decorate(index, &[number::BUILT_IN, number::VERTEX_INDEX]);
    module.decorate(position, &[number::BUILT_IN, number::POSITION]);
    let [one, two] = [1, 2].map(|bits| module.constant(uint, bits));
    let [zero, unit, double, minus] =
        [0.0_f32, 1.0, 2.0, -1.0].map(|value| module.constant(float, value.to_bits()));
    module.finish(number::VERTEX, &[], &[index, position], |module| {
        let vertex = module.value(Op::Load, uint, &[index]);
        let shifted = module.value(Op::ShiftLeftLogical, uint, &[vertex, one]);
        // (-1, -1), (3, -1), (-1, 3).
        let [x, y] = [shifted, vertex].map(|bits| {
            let bit = module.value(Op::BitwiseAnd, uint, &[bits, two]);
            let bit = module.value(Op::ConvertUToF, float, &[bit]);
            let scaled = module.value(Op::FMul, float, &[bit, double]);
            module.value(Op::FAdd, float, &[scaled, minus])
        });
        let place = module.value(Op::CompositeConstruct, four, &[x, y, zero, unit]);
        module.step(Op::Store, &[position, place]);
    })
}

/// Gives the pixel at (x, y) the colour `3 * from[y * width + x] + 1`.
pub(crate) fn fragment(width: u32) -> Vec<u32> {
    let mut module = Module::default();
    let Types { uint, element, block } = types(&mut module);
    let float = module.declare(Op::TypeFloat, &[], &[32]);
    let four = module.vector(float, 4);
    let (place_in, colour_out) = (module.pointer(number::INPUT, four), module.pointer(number::OUTPUT, uint));
    let place = module.variable(place_in, number::INPUT);
    let colour = module.variable(colour_out, number::OUTPUT);
    module.decorate(place, &[number::BUILT_IN, number::FRAG_COORD]);
    module.decorate(colour, &[number::LOCATION, 0]);
    let from = module.buffer(block, 0);
    module.decorate(from, &[number::NON_WRITABLE]);
    let [zero, one, three, row] = [0, 1, 3, width].map(|bits| module.constant(uint, bits));
    module.finish(number::FRAGMENT, &[number::ORIGIN_UPPER_LEFT], &[place, colour], |module| {
        let pixel = module.value(Op::Load, four, &[place]);
        let [x, y] = [0, 1].map(|axis| {
            let middle = module.extract(float, pixel, axis);
            module.value(Op::ConvertFToU, uint, &[middle])
        });
        let above = module.value(Op::IMul, uint, &[y, row]);
        let index = module.value(Op::IAdd, uint, &[above, x]);
        let read = module.value(Op::AccessChain, element, &[from, zero, index]);
        let value = module.value(Op::Load, uint, &[read]);
        let result = affine(module, uint, value, [three, one]);
        module.step(Op::Store, &[colour, result]);
    })
}

#[cfg(test)]
mod tests {
    use test_skip::{Lack, skip};

    use super::*;

    /// Following the lengths of instructions leads from the header to the end, and each identifier is defined
    /// once.
    #[test]
    fn modules_are_whole() {
        for words in [compute(), vertex(), fragment(64)] {
            assert_eq!(words[..3], [0x0723_0203, 0x0001_0300, 0]);
            let mut at = 5;
            while at < words.len() {
                let length = (words[at] >> 16) as usize;
                assert!(length > 0, "at word {at}");
                at += length;
            }
            assert_eq!(at, words.len());
        }
    }

    /// Validates the shaders with Khronos's validator, if the machine has it (Debian's `spirv-tools`).
    #[test]
    fn modules_are_valid() {
        for (name, words) in [("compute", compute()), ("vertex", vertex()), ("fragment", fragment(64))] {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let file = std::env::temp_dir().join(format!("ferrocm-{}-{name}.spv", std::process::id()));
            std::fs::write(&file, bytes).unwrap();
            let validator = std::env::var_os("FERROCM_TEST_SPIRV_VAL").unwrap_or_else(|| "spirv-val".into());
            let checked =
                std::process::Command::new(validator).args(["--target-env", "vulkan1.2"]).arg(&file).output();
            std::fs::remove_file(&file).unwrap();
            let output = match checked {
                Ok(output) => output,
                Err(error) => {
                    skip(Lack::Tool, format_args!("spirv-val is not available: {error}"));
                    return;
                }
            };
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
