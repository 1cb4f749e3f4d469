//! Generates programs: C++ that means the same on the CPU and on every device, for any input.
//!
//! A program is a sequence of phases, with a barrier after each. Within a phase, work-items write only their
//! own data, or use operations that commute (atomics). So the order in which they run does not matter, and
//! the CPU runs them one after another.

use std::fmt::Write as _;

use super::super::common::Random;

/// Words of input for every program.
pub(super) const INPUT_WORDS: usize = 1024;
/// Bytes of output per work-item.
pub(super) const ITEM_BYTES: usize = 256;
/// 64-bit atomic variables in global memory: one row for each operation.
pub(super) const SHARED_WORDS: usize = OPERATIONS.len() * COLUMNS;
/// Bytes of LDS that each work-item may write.
const LDS_BYTES: usize = 16;
/// Atomic variables for each operation.
const COLUMNS: usize = 4;
/// Variables of each type.
const VARIABLES: u64 = 2;

/// What a program mostly consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Integers,
    Floats,
    Branches,
    Lds,
    Atomics,
    Calls,
}

impl Kind {
    pub(super) const ALL: [Kind; 6] =
        [Kind::Integers, Kind::Floats, Kind::Branches, Kind::Lds, Kind::Atomics, Kind::Calls];
}

/// A program and how it is launched.
pub(super) struct Program {
    pub(super) name: String,
    pub(super) groups: u32,
    pub(super) group_size: u32,
    pub(super) source: String,
}

/// A type of C.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Type {
    name: &'static str,
    bits: u32,
    class: Class,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Unsigned,
    Signed,
    Float,
}

const fn ty(name: &'static str, bits: u32, class: Class) -> Type {
    Type { name, bits, class }
}

const U32: Type = ty("u32", 32, Class::Unsigned);
const U64: Type = ty("u64", 64, Class::Unsigned);
const I32: Type = ty("i32", 32, Class::Signed);

const TYPES: [Type; 11] = [
    U32,
    I32,
    U64,
    ty("i64", 64, Class::Signed),
    ty("u16", 16, Class::Unsigned),
    ty("i16", 16, Class::Signed),
    ty("u8", 8, Class::Unsigned),
    ty("i8", 8, Class::Signed),
    ty("f32", 32, Class::Float),
    ty("f64", 64, Class::Float),
    ty("f16", 16, Class::Float),
];

/// Operations on atomic variables that commute with themselves.
const OPERATIONS: [&str; 7] =
    ["atomic_add", "atomic_sub", "atomic_and", "atomic_or", "atomic_xor", "atomic_min", "atomic_max"];

/// What expressions may read at some point of the program.
#[derive(Clone, Copy)]
struct Scope {
    /// Loop variables `i0`, `i1`, …
    loops: u32,
    /// The work-item's state, input and ids. Called functions cannot read these, only their parameters.
    item: bool,
    /// LDS, which is not written in this phase.
    lds: bool,
    /// The number of called functions so far.
    functions: u32,
}

struct Generator {
    random: Random,
    kind: Kind,
    text: String,
    name: String,
    /// Called functions so far; their type is `u32 (u32, u32, f32)`.
    functions: u32,
}

/// The program of a seed.
pub(super) fn program(kind: Kind, seed: u64) -> Program {
    let name = format!("{}_{seed}", format!("{kind:?}").to_lowercase());
    let mut random = Random(seed.wrapping_mul(6) + kind as u64);
    for _ in 0..4 {
        random.next();
    }
    let group_size = [32, 64, 96, 100, 128, 200, 256, 37][(random.next() % 8) as usize];
    let groups = 1 + (random.next() % 3) as u32;
    let mut generator = Generator { random, kind, text: String::new(), name: name.clone(), functions: 0 };
    generator.write();
    Program { name, groups, group_size, source: generator.text }
}

impl Generator {
    fn below(&mut self, limit: u64) -> u64 {
        (self.random.next() >> 20) % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 4 * depth);
    }

    fn write(&mut self) {
        let name = self.name.clone();
        let functions = if self.kind == Kind::Calls { 4 } else { self.below(2) as u32 };
        for _ in 0..functions {
            self.function();
        }
        if functions > 0 {
            // Called through a pointer that differs between lanes.
            self.line(0, &format!("typedef u32 (*{name}_pointer)(u32, u32, f32);"));
            self.line(0, &format!("INLINE {name}_pointer {name}_any(u32 which) {{"));
            for i in 1..functions {
                self.line(1, &format!("if (which % {functions} == {i})"));
                self.line(2, &format!("return {name}_f{i};"));
            }
            self.line(1, &format!("return {name}_f0;"));
            self.line(0, "}");
        }
        self.line(0, &format!("struct {name}_item {{"));
        for of in TYPES {
            for i in 0..VARIABLES {
                self.line(1, &format!("{} {}_{i};", of.name, of.name));
            }
        }
        self.line(1, "u32 array[8];");
        self.line(0, "};");

        let phases = match self.kind {
            Kind::Lds | Kind::Atomics => 6,
            _ => 3,
        };
        for phase in 0..phases {
            self.line(
                0,
                &format!(
                    "INLINE void {name}_{phase}({name}_item &s, u32 item, u32 local, u32 size, const u32 *in, u8 *out, \
                     u64 *shared, u8 *lds, u64 *counters) {{"
                ),
            );
            self.phase(phase);
            self.line(0, "}");
        }
        self.entry(phases);
    }

    /// The kernel for devices, and the function that does the same for one workgroup on the CPU.
    fn entry(&mut self, phases: u32) {
        let name = self.name.clone();
        let lds = 256 * LDS_BYTES;
        let counters = OPERATIONS.len() * COLUMNS;
        let call = |phase: u32, state: &str, item: &str, local: &str, size: &str| {
            format!("{name}_{phase}({state}, {item}, {local}, {size}, in, out, shared, lds, counters);")
        };
        self.line(0, "#ifdef __HIP__");
        self.line(0, &format!("extern \"C\" __global__ void {name}(const u32 *in, u8 *out, u64 *shared) {{"));
        self.line(1, &format!("__shared__ __attribute__((aligned(16))) u8 lds[{lds}];"));
        self.line(1, &format!("__shared__ u64 counters[{counters}];"));
        self.line(1, &format!("for (u32 i = threadIdx.x; i < {counters}; i += blockDim.x)"));
        self.line(2, "counters[i] = in[i] * 0x100000001ull;");
        self.line(1, &format!("{name}_item s = {{}};"));
        self.line(1, "u32 item = blockIdx.x * blockDim.x + threadIdx.x;");
        for phase in 0..phases {
            self.line(1, "__syncthreads();");
            self.line(1, &call(phase, "s", "item", "threadIdx.x", "blockDim.x"));
        }
        self.line(0, "}");
        self.line(0, "#else");
        self.line(
            0,
            &format!("extern \"C\" void {name}(const u32 *in, u8 *out, u64 *shared, u32 group, u32 size) {{"),
        );
        self.line(1, &format!("static __attribute__((aligned(16))) u8 lds[{lds}];"));
        self.line(1, &format!("static u64 counters[{counters}];"));
        self.line(1, &format!("static {name}_item items[256];"));
        self.line(1, &format!("for (u32 i = 0; i < {counters}; i++)"));
        self.line(2, "counters[i] = in[i] * 0x100000001ull;");
        self.line(1, "for (u32 i = 0; i < size; i++)");
        self.line(2, &format!("items[i] = {name}_item{{}};"));
        for phase in 0..phases {
            self.line(1, "for (u32 i = 0; i < size; i++)");
            self.line(2, &call(phase, "items[i]", "group * size + i", "i", "size"));
        }
        self.line(0, "}");
        self.line(0, "#endif");
    }

    fn phase(&mut self, phase: u32) {
        let last = if matches!(self.kind, Kind::Lds | Kind::Atomics) { 5 } else { 2 };
        let scope = Scope { loops: 0, item: true, lds: false, functions: self.functions };
        if phase == 0 {
            for of in TYPES {
                for i in 0..VARIABLES {
                    let value = self.leaf(of, scope);
                    self.line(1, &format!("s.{}_{i} = {value};", of.name));
                }
            }
            for i in 0..8 {
                let value = self.leaf(U32, scope);
                self.line(1, &format!("s.array[{i}] = {value};"));
            }
            self.own_lds(U64, scope);
            return;
        }
        if phase == last {
            for (i, of) in TYPES.into_iter().enumerate() {
                for j in 0..VARIABLES as usize {
                    let at = 8 * (i * VARIABLES as usize + j);
                    self.line(
                        1,
                        &format!("*(u64 *)(out + item * {ITEM_BYTES} + {at}) = bits_of(s.{}_{j});", of.name),
                    );
                }
            }
            let at = 8 * TYPES.len() * VARIABLES as usize;
            let array: Vec<_> =
                (0..8).map(|i| format!("s.array[{i}] * {}u", 2 * i * 77_773_u64 + 1)).collect();
            self.line(1, &format!("*(u32 *)(out + item * {ITEM_BYTES} + {at}) = {};", array.join(" + ")));
            self.line(
                1,
                &format!(
                    "if (local < {0}) *(u64 *)(out + item * {ITEM_BYTES} + {1}) = counters[local];",
                    OPERATIONS.len() * COLUMNS,
                    at + 8
                ),
            );
            return;
        }
        match (self.kind, phase % 2) {
            // The data of others is read in odd phases and written in even ones.
            (Kind::Lds, 0) => {
                self.statements(1, 3, scope);
                let of = self.pick(&TYPES);
                self.own_lds(of, scope);
            }
            (Kind::Atomics, 0) => {
                for _ in 0..8 {
                    self.atomic(scope);
                }
            }
            (Kind::Lds | Kind::Atomics, _) => self.statements(1, 8, Scope { lds: true, ..scope }),
            _ => self.statements(1, 14, Scope { lds: true, ..scope }),
        }
        self.own_output(scope);
    }

    /// Writes the work-item's part of LDS, as elements of a type: all of it with the widest elements.
    fn own_lds(&mut self, of: Type, scope: Scope) {
        let count = (LDS_BYTES as u32 * 8 / of.bits).min(4);
        for i in 0..count {
            let value = self.expression(of, 2, scope);
            self.line(
                1,
                &format!("(({} *)(lds + local * {LDS_BYTES}))[{i}] = {};", of.name, stored(of, &value)),
            );
        }
    }

    /// Writes some of the work-item's output bytes that the end of the program does not write, and reads them
    /// back.
    fn own_output(&mut self, scope: Scope) {
        let of = self.pick(&TYPES);
        let at = 208 + 8 * self.below(5);
        let value = self.expression(of, 2, scope);
        let place = format!("*({} *)(out + item * {ITEM_BYTES} + {at})", of.name);
        self.line(1, &format!("{place} = {};", stored(of, &value)));
        let variable = self.below(VARIABLES);
        self.line(1, &format!("s.{0}_{variable} = {place};", of.name));
    }

    fn atomic(&mut self, scope: Scope) {
        let which = self.below(OPERATIONS.len() as u64) as usize;
        let of = self.pick(&[U32, I32, U64, TYPES[3]]);
        let value = self.expression(of, 2, scope);
        let base = self.pick(&["shared", "counters"]);
        // 32-bit variables are the low or high halves of the first two columns, 64-bit ones are the other
        // columns.
        let index = self.expression(U32, 1, scope);
        let (column, half) = (if of.bits == 64 { 2 } else { 0 }, if of.bits == 64 { 2 } else { 4 });
        // Signed and unsigned minima of the same variable do not commute.
        let of = match OPERATIONS[which] {
            "atomic_min" => {
                if of.bits == 64 {
                    TYPES[3]
                } else {
                    I32
                }
            }
            "atomic_max" => {
                if of.bits == 64 {
                    U64
                } else {
                    U32
                }
            }
            _ => of,
        };
        let call = format!(
            "{}(({} *)({base} + {}) + ({index}) % {half}, ({})({value}));",
            OPERATIONS[which],
            of.name,
            which * COLUMNS + column,
            of.name
        );
        if self.one_in(3) {
            let condition = self.condition(1, scope);
            self.line(1, &format!("if ({condition})"));
            self.line(2, &call);
        } else {
            self.line(1, &call);
        }
        if self.one_in(3) {
            // The returned value is known if no other work-item uses the variable.
            let (old, new) = (self.expression(U32, 1, scope), self.expression(U32, 1, scope));
            let place = format!("(u32 *)(out + item * {ITEM_BYTES} + {})", 192 + 4 * self.below(4));
            self.line(1, &format!("s.u32_0 += atomic_swap({place}, {new});"));
            self.line(1, &format!("s.u32_1 ^= atomic_swap_if({place}, {old}, {new});"));
            self.line(1, &format!("s.i32_1 -= atomic_add((i32 *){place}, s.i32_0);"));
        }
    }

    fn function(&mut self) {
        let (name, i) = (self.name.clone(), self.functions);
        self.line(0, &format!("CALLED u32 {name}_f{i}(u32 a, u32 b, f32 c) {{"));
        let scope = Scope { loops: 0, item: false, lds: false, functions: i };
        if self.one_in(2) {
            self.line(1, "if (a % 5 != 0) {");
            self.line(2, &format!("u32 less = a % 5 - 1, x = {name}_f{i}(less, b * 3, c);"));
            self.line(2, &format!("return b % 2 ? x : x + {name}_f{i}(less / 2, b + x, c + 1.0f);"));
            self.line(1, "}");
        }
        if self.one_in(2) {
            self.line(1, "u32 kept[16];");
            self.line(1, "for (u32 i = 0; i < 16; i++)");
            let value = self.expression(U32, 2, Scope { loops: 0, ..scope });
            self.line(2, &format!("kept[(i * 7 + 3) % 16] = i * ({value});"));
            self.line(1, "b += kept[a % 16] ^ kept[b % 16];");
        }
        let value = self.expression(U32, 3, scope);
        let condition = self.condition(2, scope);
        self.line(1, &format!("if ({condition})"));
        self.line(2, &format!("return {value};"));
        let float = self.expression(TYPES[8], 3, scope);
        self.line(1, &format!("return bits_of({float}) + b;"));
        self.line(0, "}");
        self.functions += 1;
    }

    fn statements(&mut self, depth: usize, count: u32, scope: Scope) {
        for _ in 0..count {
            self.statement(depth, scope);
        }
    }

    fn statement(&mut self, depth: usize, scope: Scope) {
        let nested = depth < 4;
        let chance = if self.kind == Kind::Branches { 2 } else { 5 };
        if nested && self.one_in(chance) {
            return self.branch(depth, scope);
        }
        if self.one_in(8) {
            let (index, value) = (self.expression(U32, 2, scope), self.expression(U32, 3, scope));
            return self.line(depth, &format!("s.array[({index}) % 8] = {value};"));
        }
        let of = self.wanted();
        let (variable, value) = (self.below(VARIABLES), self.expression(of, 4, scope));
        self.line(depth, &format!("s.{}_{variable} = {value};", of.name));
    }

    fn branch(&mut self, depth: usize, scope: Scope) {
        let condition = self.condition(2, scope);
        match self.below(4) {
            0 => {
                self.line(depth, &format!("if ({condition}) {{"));
                self.statements(depth + 1, 2, scope);
                self.line(depth, "} else {");
                self.statements(depth + 1, 2, scope);
                self.line(depth, "}");
            }
            1 => {
                let i = scope.loops;
                let (limit, count) = (self.pick(&[3, 7, 12]), self.expression(U32, 2, scope));
                let head = format!("for (u32 i{i} = 0, n{i} = ({count}) % {limit}; i{i} < n{i}; i{i}++) {{");
                self.line(depth, &head);
                let inner = Scope { loops: i + 1, ..scope };
                self.statements(depth + 1, 2, inner);
                if self.one_in(2) {
                    let condition = self.condition(2, inner);
                    let leave = self.pick(&["break", "continue"]);
                    self.line(depth + 1, &format!("if ({condition}) {leave};"));
                    self.statement(depth + 1, inner);
                }
                self.line(depth, "}");
            }
            2 => {
                let value = self.expression(U32, 2, scope);
                self.line(depth, &format!("switch (({value}) % 5) {{"));
                for case in 0..4 {
                    self.line(depth, &format!("case {case}:"));
                    self.statement(depth + 1, scope);
                    if !self.one_in(3) {
                        self.line(depth + 1, "break;");
                    }
                }
                self.line(depth, "default:;");
                self.line(depth, "}");
            }
            _ => {
                let i = scope.loops;
                self.line(depth, "{");
                self.line(depth + 1, &format!("u32 i{i} = 0;"));
                self.line(depth + 1, "do {");
                let inner = Scope { loops: i + 1, ..scope };
                self.statements(depth + 2, 2, inner);
                self.line(depth + 1, &format!("}} while (++i{i} < 5 && ({condition}));"));
                self.statement(depth + 1, inner);
                self.line(depth, "}");
            }
        }
    }

    /// The type of the next assignment.
    fn wanted(&mut self) -> Type {
        let simple = self.one_in(2);
        let range = match self.kind {
            Kind::Integers => 0..8,
            Kind::Floats => 8..11,
            _ if simple => 0..2,
            _ => 0..11,
        };
        TYPES[range.start + self.below(range.len() as u64) as usize]
    }

    fn condition(&mut self, depth: u32, scope: Scope) -> String {
        let of = self.wanted();
        let (a, b) = (self.expression(of, depth, scope), self.expression(of, depth, scope));
        let comparison = self.pick(&["<", "<=", "==", "!=", ">", ">="]);
        match self.below(4) {
            0 => format!("!({a} {comparison} {b})"),
            1 if depth > 0 => {
                let other = self.condition(depth - 1, scope);
                let join = self.pick(&["&&", "||"]);
                format!("({a} {comparison} {b} {join} {other})")
            }
            _ => format!("({a} {comparison} {b})"),
        }
    }

    /// A constant, or something that can be read.
    fn leaf(&mut self, of: Type, scope: Scope) -> String {
        if self.one_in(4) || (!scope.item && of != U32 && of.name != "f32") {
            return self.constant(of);
        }
        if !scope.item {
            return match of.class {
                Class::Float => "c".to_owned(),
                _ => self.pick(&["a", "b"]).to_owned(),
            };
        }
        let word = |generator: &mut Self| {
            let (a, b) = (generator.below(1024), generator.pick(&[1, 3, 17]));
            format!("in[(item * {b} + {a}) % {INPUT_WORDS}]")
        };
        let read = match self.below(6) {
            0 => match of.bits {
                64 => format!("((u64){} << 32 | {})", word(self), word(self)),
                _ => word(self),
            },
            1 if scope.lds => {
                let index = self.below(256);
                let index = match self.below(3) {
                    0 => format!("((local + {index}) % size)"),
                    1 => "(s.u32_0 % size)".to_owned(),
                    _ => format!("({index} % size)"),
                };
                let element = self.below(u64::from(LDS_BYTES as u32 * 8 / of.bits));
                return format!("(({} *)(lds + {index} * {LDS_BYTES}))[{element}]", of.name);
            }
            2 if of == U32 => {
                let index = self.below(VARIABLES);
                return format!("s.array[s.u32_{index} % 8]");
            }
            3 if scope.loops > 0 && of.class != Class::Float => {
                return format!("({})i{}", of.name, self.below(u64::from(scope.loops)));
            }
            4 if of.class != Class::Float => {
                return format!("({}){}", of.name, self.pick(&["item", "local", "size"]));
            }
            _ => return format!("s.{}_{}", of.name, self.below(VARIABLES)),
        };
        match (of.class, of.bits) {
            (Class::Float, 16) => format!("bits<f16>((u16){read})"),
            (Class::Float, _) if self.one_in(2) => {
                // Numbers of ordinary size; random bits are mostly very large or very small numbers.
                format!("(({})(i32)({read}) / ({})65536)", of.name, of.name)
            }
            (Class::Float, _) => format!("bits<{}>({read})", of.name),
            _ => format!("({})({read})", of.name),
        }
    }

    fn constant(&mut self, of: Type) -> String {
        if of.class == Class::Float {
            let value = self
                .pick(&["0.0", "-0.0", "1.0", "-1.0", "0.5", "3.0", "-7.25", "1000.5", "65504.0", "6.0e-8"]);
            return format!("({}){value}", of.name);
        }
        let mask = u64::MAX >> (64 - of.bits);
        let random = self.random.next();
        let value = match self.below(4) {
            0 => self.below(65),
            1 => self.pick(&[0, 1, u64::MAX, 1 << (of.bits - 1), mask >> 1, 0x8000_0000, 0xffff]),
            2 => random >> self.below(64),
            _ => random,
        };
        format!("({})0x{:x}ull", of.name, value & mask)
    }

    fn expression(&mut self, of: Type, depth: u32, scope: Scope) -> String {
        if depth == 0 || self.one_in(8) {
            return self.leaf(of, scope);
        }
        let d = depth - 1;
        let e = |generator: &mut Self, of: Type| generator.expression(of, d, scope);
        match self.below(10) {
            0 => {
                let from = self.pick(&TYPES);
                let value = e(self, from);
                convert(from, of, &value)
            }
            1 => {
                let (condition, a, b) = (self.condition(d.min(1), scope), e(self, of), e(self, of));
                format!("({condition} ? {a} : {b})")
            }
            2 if of == U32 && scope.functions > 0 && scope.item => {
                let (a, b, c) = (e(self, U32), e(self, U32), e(self, TYPES[8]));
                let name = self.name.clone();
                if self.one_in(2) {
                    format!("{name}_any(s.u32_1)({a}, {b}, {c})")
                } else {
                    format!("{name}_f{}({a}, {b}, {c})", self.below(u64::from(scope.functions)))
                }
            }
            _ if of.class == Class::Float => self.float(of, d, scope),
            _ => self.integer(of, d, scope),
        }
    }

    fn float(&mut self, of: Type, depth: u32, scope: Scope) -> String {
        let e = |generator: &mut Self| generator.expression(of, depth, scope);
        let name = of.name;
        let (a, b) = (e(self), e(self));
        match self.below(12) {
            0..=5 => format!("({name})({a} {} {b})", self.pick(&["+", "-", "*", "/", "+", "*"])),
            // The CPU has no exact version for f16.
            6 | 7 if of.bits > 16 => {
                let c = e(self);
                format!("fused<{name}>({a}, {b}, {c})")
            }
            8 => format!("{}<{name}>({a}, {b})", self.pick(&["min_of", "max_of", "with_sign"])),
            9 => format!("root<{name}>({a})"),
            10 => {
                let c = e(self);
                format!("median_of<{name}>({a}, {b}, {c})")
            }
            _ => {
                let function = self.pick(&["down", "up", "toward_zero", "nearest", "size_of", "plain"]);
                format!("{function}<{name}>({a})")
            }
        }
    }

    fn integer(&mut self, of: Type, depth: u32, scope: Scope) -> String {
        let e = |generator: &mut Self| generator.expression(of, depth, scope);
        let name = of.name;
        let (a, b) = (e(self), e(self));
        match self.below(20) {
            0..=6 => format!("({name})({a} {} {b})", self.pick(&["+", "-", "*", "&", "|", "^", "+"])),
            7 => format!("({name}){}<{name}>({a}, {b})", self.pick(&["div_of", "rem_of"])),
            8 | 9 => format!("({name}){}<{name}>({a}, {b})", self.pick(&["shl_of", "shr_of"])),
            10 => {
                let function = self.pick(&["min_of", "max_of", "add_sat", "sub_sat", "distance"]);
                format!("({name}){function}<{name}>({a}, {b})")
            }
            11 => {
                let c = e(self);
                let function = self.pick(&["median_of", "choose_bits", "extract"]);
                format!("({name}){function}<{name}>({a}, {b}, {c})")
            }
            12 if of.bits >= 32 => format!("multiply_high(({name}){a}, ({name}){b})"),
            13 if of.bits >= 32 && of.class == Class::Unsigned => {
                let function =
                    self.pick(&["zeros_above", "zeros_below", "count_ones", "reverse_bits", "reverse_bytes"]);
                format!("{function}(({name}){a})")
            }
            14 if of.bits >= 32 && of.class == Class::Unsigned => format!("rotate(({name}){a}, ({name}){b})"),
            15 | 16 if of == U32 => {
                let function = self.pick(&[
                    "packed_add",
                    "packed_sub",
                    "packed_mul",
                    "packed_mad",
                    "packed_shl",
                    "packed_shr",
                    "packed_sar",
                    "packed_min",
                    "packed_max",
                    "packed_add_sat",
                ]);
                format!("{function}({a}, {b})")
            }
            17 if of == U32 => {
                let c = e(self);
                let function = self.pick(&["funnel", "bytes_of", "dot_unsigned"]);
                format!("{function}({a}, {b}, {c})")
            }
            17 if of == I32 => {
                let c = e(self);
                format!("dot_signed({a}, {b}, {c})")
            }
            18 if of == U32 => format!("packed_half({a}, {b}, {})", self.below(3)),
            18 => format!("({name})(~{a})"),
            _ => format!("({name})({a} + {b})"),
        }
    }
}

/// The stored form of a value: all NaNs become one NaN.
fn stored(of: Type, value: &str) -> String {
    match of.class {
        Class::Float => format!("bits<{}>(bits_of(({})({value})))", of.name, of.name),
        _ => value.to_owned(),
    }
}

/// A value as another type. f16 is converted only from f32, because others would sometimes be rounded twice.
fn convert(from: Type, to: Type, value: &str) -> String {
    match (from.class, to.class) {
        (Class::Float, Class::Float) if to.bits == 16 => format!("(f16)(f32)({value})"),
        (Class::Float, Class::Float) => format!("({})({value})", to.name),
        (Class::Float, _) => format!("whole<{}, {}>({value})", to.name, from.name),
        (_, Class::Float) if to.bits == 16 => format!("(f16)(f32)({value})"),
        _ => format!("({})({value})", to.name),
    }
}
