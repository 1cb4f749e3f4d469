//! SPIR-V, word by word: the parts that the shaders of these tests need.

/// An identifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Id(u32);

/// Opcodes, with the specification's numbers.
#[derive(Clone, Copy)]
#[repr(u16)]
pub(crate) enum Op {
    MemoryModel = 14,
    EntryPoint = 15,
    ExecutionMode = 16,
    Capability = 17,
    TypeVoid = 19,
    TypeBool = 20,
    TypeInt = 21,
    TypeFloat = 22,
    TypeVector = 23,
    TypeRuntimeArray = 29,
    TypeStruct = 30,
    TypePointer = 32,
    TypeFunction = 33,
    Constant = 43,
    Function = 54,
    FunctionEnd = 56,
    Variable = 59,
    Load = 61,
    Store = 62,
    AccessChain = 65,
    ArrayLength = 68,
    Decorate = 71,
    MemberDecorate = 72,
    CompositeConstruct = 80,
    CompositeExtract = 81,
    ConvertFToU = 109,
    ConvertUToF = 112,
    IAdd = 128,
    FAdd = 129,
    IMul = 132,
    FMul = 133,
    ULessThan = 176,
    ShiftLeftLogical = 196,
    BitwiseAnd = 199,
    SelectionMerge = 247,
    Label = 248,
    Branch = 249,
    BranchConditional = 250,
    Return = 253,
}

/// Other numbers of the specification.
pub(crate) mod number {
    pub(crate) const VERTEX: u32 = 0;
    pub(crate) const FRAGMENT: u32 = 4;
    pub(crate) const COMPUTE: u32 = 5;
    pub(crate) const INPUT: u32 = 1;
    pub(crate) const OUTPUT: u32 = 3;
    pub(crate) const STORAGE_BUFFER: u32 = 12;
    pub(crate) const BLOCK: u32 = 2;
    pub(crate) const ARRAY_STRIDE: u32 = 6;
    pub(crate) const BUILT_IN: u32 = 11;
    pub(crate) const NON_WRITABLE: u32 = 24;
    pub(crate) const LOCATION: u32 = 30;
    pub(crate) const BINDING: u32 = 33;
    pub(crate) const DESCRIPTOR_SET: u32 = 34;
    pub(crate) const OFFSET: u32 = 35;
    pub(crate) const POSITION: u32 = 0;
    pub(crate) const FRAG_COORD: u32 = 15;
    pub(crate) const GLOBAL_INVOCATION_ID: u32 = 28;
    pub(crate) const VERTEX_INDEX: u32 = 42;
    pub(crate) const ORIGIN_UPPER_LEFT: u32 = 7;
    pub(crate) const LOCAL_SIZE: u32 = 17;
}

/// A module with one function, in the section order that the specification requires.
#[derive(Default)]
pub(crate) struct Module {
    head: Vec<u32>,
    decorations: Vec<u32>,
    types: Vec<u32>,
    code: Vec<u32>,
    ids: u32,
}

fn put(section: &mut Vec<u32>, op: Op, operands: &[u32]) {
    section.push((operands.len() as u32 + 1) << 16 | op as u32);
    section.extend_from_slice(operands);
}

impl Module {
    pub(crate) fn id(&mut self) -> Id {
        self.ids += 1;
        Id(self.ids)
    }

    /// A type, constant or variable. The operands are those before and after its own identifier.
    pub(crate) fn declare(&mut self, op: Op, before: &[Id], operands: &[u32]) -> Id {
        let id = self.id();
        let mut words: Vec<u32> = before.iter().map(|id| id.0).collect();
        words.push(id.0);
        words.extend_from_slice(operands);
        put(&mut self.types, op, &words);
        id
    }

    pub(crate) fn pointer(&mut self, class: u32, to: Id) -> Id {
        self.declare(Op::TypePointer, &[], &[class, to.0])
    }

    pub(crate) fn vector(&mut self, of: Id, count: u32) -> Id {
        self.declare(Op::TypeVector, &[], &[of.0, count])
    }

    pub(crate) fn constant(&mut self, of: Id, bits: u32) -> Id {
        self.declare(Op::Constant, &[of], &[bits])
    }

    /// A variable of a storage class, by its pointer type.
    pub(crate) fn variable(&mut self, pointer: Id, class: u32) -> Id {
        self.declare(Op::Variable, &[pointer], &[class])
    }

    pub(crate) fn decorate(&mut self, target: Id, numbers: &[u32]) {
        let words = [&[target.0], numbers].concat();
        put(&mut self.decorations, Op::Decorate, &words);
    }

    /// A structure type whose only member is an array of unknown length.
    pub(crate) fn array_block(&mut self, element: Id, stride: u32) -> Id {
        let array = self.declare(Op::TypeRuntimeArray, &[], &[element.0]);
        let block = self.declare(Op::TypeStruct, &[], &[array.0]);
        self.decorate(array, &[number::ARRAY_STRIDE, stride]);
        self.decorate(block, &[number::BLOCK]);
        put(&mut self.decorations, Op::MemberDecorate, &[block.0, 0, number::OFFSET, 0]);
        block
    }

    /// A storage buffer of the first descriptor set.
    pub(crate) fn buffer(&mut self, pointer: Id, binding: u32) -> Id {
        let variable = self.variable(pointer, number::STORAGE_BUFFER);
        self.decorate(variable, &[number::DESCRIPTOR_SET, 0]);
        self.decorate(variable, &[number::BINDING, binding]);
        variable
    }

    /// An instruction with a result.
    pub(crate) fn value(&mut self, op: Op, result: Id, operands: &[Id]) -> Id {
        let operands: Vec<u32> = operands.iter().map(|id| id.0).collect();
        self.value_of(op, result, &operands)
    }

    /// An instruction with a result, whose operands are not all identifiers.
    fn value_of(&mut self, op: Op, result: Id, operands: &[u32]) -> Id {
        let id = self.id();
        let words = [&[result.0, id.0], operands].concat();
        put(&mut self.code, op, &words);
        id
    }

    pub(crate) fn extract(&mut self, result: Id, composite: Id, index: u32) -> Id {
        self.value_of(Op::CompositeExtract, result, &[composite.0, index])
    }

    /// The length of the array that is a buffer's first member.
    pub(crate) fn length(&mut self, result: Id, buffer: Id) -> Id {
        self.value_of(Op::ArrayLength, result, &[buffer.0, 0])
    }

    /// An instruction without a result.
    pub(crate) fn step(&mut self, op: Op, operands: &[Id]) {
        let operands: Vec<u32> = operands.iter().map(|id| id.0).collect();
        put(&mut self.code, op, &operands);
    }

    /// Emits a branch that runs what `then` emits if the condition holds.
    pub(crate) fn when(&mut self, condition: Id, then: impl FnOnce(&mut Self)) {
        let (yes, end) = (self.id(), self.id());
        put(&mut self.code, Op::SelectionMerge, &[end.0, 0]);
        self.step(Op::BranchConditional, &[condition, yes, end]);
        self.step(Op::Label, &[yes]);
        then(self);
        self.step(Op::Branch, &[end]);
        self.step(Op::Label, &[end]);
    }

    /// The words of the module. Its function `main` has an execution model, optionally a mode, and the
    /// variables that it accesses.
    pub(crate) fn finish(
        mut self,
        model: u32,
        mode: &[u32],
        interface: &[Id],
        body: impl FnOnce(&mut Self),
    ) -> Vec<u32> {
        let void = self.declare(Op::TypeVoid, &[], &[]);
        let signature = self.declare(Op::TypeFunction, &[], &[void.0]);
        let (main, label) = (self.id(), self.id());
        put(&mut self.code, Op::Function, &[void.0, main.0, 0, signature.0]);
        self.step(Op::Label, &[label]);
        body(&mut self);
        self.step(Op::Return, &[]);
        self.step(Op::FunctionEnd, &[]);

        // A module of shaders, with logical addressing and GLSL's memory model.
        put(&mut self.head, Op::Capability, &[1]);
        put(&mut self.head, Op::MemoryModel, &[0, 1]);
        let mut entry = vec![model, main.0, u32::from_le_bytes(*b"main"), 0];
        entry.extend(interface.iter().map(|id| id.0));
        put(&mut self.head, Op::EntryPoint, &entry);
        if !mode.is_empty() {
            put(&mut self.head, Op::ExecutionMode, &[&[main.0], mode].concat());
        }
        // Version 1.3, which Vulkan 1.1 accepts; no generator; the bound on identifiers.
        let mut words = vec![0x0723_0203, 0x0001_0300, 0, self.ids + 1, 0];
        for section in [self.head, self.decorations, self.types, self.code] {
            words.extend(section);
        }
        words
    }
}
