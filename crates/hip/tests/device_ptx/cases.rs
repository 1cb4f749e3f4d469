//! What each form computes, by PTX's manual: a kernel that executes it for each thread, and a model.

mod convert;
mod float;
mod integer;
mod matrix;
mod memory;
mod video;
mod warp;

use crate::number::{self, Format};

/// How a word of the result is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compare {
    Bits,
    /// Numbers of a format, one or two in a word: any NaN for a NaN.
    Format(Format, u32),
    /// f64, any NaN for a NaN.
    F64,
    /// Numbers of a format, so many in a word, that may differ by a part of their magnitude, or by a bound.
    Near(Format, u32, f64, f64),
}

/// The results of a block's threads from their operands, 64 threads at a time.
type Model = Box<dyn Fn(&[Vec<u64>]) -> Vec<Vec<u64>>>;

/// A form's kernel and model.
pub(crate) struct Case {
    /// The C++ of a thread: operands are `a[0]`, `a[1]` and so on, results `o[0]`, `o[1]`, both of 64 bits.
    pub(crate) body: String,
    /// The values that each operand may have.
    pub(crate) operands: Vec<Values>,
    pub(crate) results: Vec<Compare>,
    pub(crate) model: Model,
}

/// The values of an operand.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// All bits of a width, with the edges of whole numbers.
    Whole(u32),
    /// Numbers of a format, so many in a word.
    Numbers(Format, u32),
    F64,
    /// From a list.
    Of(Vec<u64>),
}

/// A type of PTX.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ty {
    pub(crate) bits: u32,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Unsigned,
    Signed,
    /// So many numbers of a format.
    Float(Format, u32),
    F64,
    /// Several whole numbers, of so many bits.
    Parts(bool, u32),
}

impl Ty {
    pub(crate) fn of(name: &str) -> Option<Self> {
        use Kind::{F64, Float, Parts, Signed, Unsigned};
        let (bits, kind) = match name {
            "b8" | "u8" => (8, Unsigned),
            "s8" => (8, Signed),
            "b16" | "u16" => (16, Unsigned),
            "s16" => (16, Signed),
            "b32" | "u32" => (32, Unsigned),
            "s32" => (32, Signed),
            "b64" | "u64" => (64, Unsigned),
            "s64" => (64, Signed),
            "f16" => (16, Float(number::F16, 1)),
            "bf16" => (16, Float(number::BF16, 1)),
            "f16x2" => (32, Float(number::F16, 2)),
            "bf16x2" => (32, Float(number::BF16, 2)),
            "f32" => (32, Float(number::F32, 1)),
            "f32x2" => (64, Float(number::F32, 2)),
            "f64" => (64, F64),
            "s16x2" => (32, Parts(true, 16)),
            "u16x2" => (32, Parts(false, 16)),
            "s8x4" => (32, Parts(true, 8)),
            "u8x4" => (32, Parts(false, 8)),
            _ => return None,
        };
        Some(Self { bits, kind })
    }

    pub(crate) fn is_whole(self) -> bool {
        matches!(self.kind, Kind::Signed | Kind::Unsigned)
    }

    pub(crate) fn signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// The letter of a constraint.
    pub(crate) fn letter(self) -> char {
        match (self.kind, self.bits) {
            (Kind::F64, _) => 'd',
            (Kind::Float(_, 1), 32) => 'f',
            (_, 8 | 16) => 'h',
            (_, 64) => 'l',
            _ => 'r',
        }
    }

    pub(crate) fn values(self) -> Values {
        match self.kind {
            Kind::Float(format, count) => Values::Numbers(format, count),
            Kind::F64 => Values::F64,
            Kind::Parts(..) => Values::Whole(32),
            _ => Values::Whole(self.bits),
        }
    }

    pub(crate) fn compare(self) -> Compare {
        match self.kind {
            Kind::Float(format, count) => Compare::Format(format, count),
            Kind::F64 => Compare::F64,
            _ => Compare::Bits,
        }
    }

    pub(crate) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// A register's bits as a number of the type.
    pub(crate) fn read(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        if self.signed() && bits >> (self.bits - 1) & 1 == 1 {
            i128::from(bits) - (1_i128 << self.bits)
        } else {
            i128::from(bits)
        }
    }

    /// A number's lower bits.
    pub(crate) fn write(self, number: i128) -> u64 {
        number as u64 & self.mask()
    }

    /// A number clamped to the type.
    pub(crate) fn clamp(self, number: i128) -> i128 {
        let (least, most) = self.range();
        number.clamp(least, most)
    }

    pub(crate) fn range(self) -> (i128, i128) {
        if self.signed() {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }
}

/// A form's name in parts.
pub(crate) struct Form<'a> {
    pub(crate) name: &'a str,
    pub(crate) first: &'a str,
    pub(crate) parts: Vec<&'a str>,
}

impl<'a> Form<'a> {
    fn of(name: &'a str) -> Self {
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or_default();
        Self { name, first, parts: parts.collect() }
    }

    pub(crate) fn has(&self, part: &str) -> bool {
        self.parts.contains(&part)
    }

    pub(crate) fn types(&self) -> Vec<Ty> {
        self.parts.iter().filter_map(|part| Ty::of(part)).collect()
    }

    pub(crate) fn rounding(&self) -> number::Rounding {
        self.parts.iter().find_map(|part| number::Rounding::of(part)).unwrap_or(number::Rounding::Nearest)
    }
}

/// A part of the forms, by what they do.
type Family = (&'static str, fn(&Form<'_>) -> Option<Case>);

const FAMILIES: [Family; 7] = [
    ("memory", memory::case),
    ("warp", warp::case),
    ("matrix", matrix::case),
    ("video", video::case),
    ("convert", convert::case),
    ("integer", integer::case),
    ("float", float::case),
];

/// The case of a form.
pub(crate) fn case(name: &str) -> Option<Case> {
    family(name).map(|(_, case)| case)
}

/// The case of a form, and its family's name.
pub(crate) fn family(name: &str) -> Option<(&'static str, Case)> {
    let form = Form::of(name);
    FAMILIES.iter().find_map(|(name, case)| Some((*name, case(&form)?)))
}

/// An operand of an `asm` statement, as a letter: `h`, `r`, `l`, `f`, `d`.
pub(crate) fn argument(letter: char, index: usize) -> String {
    match letter {
        'h' => format!("\"h\"((unsigned short)a[{index}])"),
        'r' => format!("\"r\"((unsigned)a[{index}])"),
        'l' => format!("\"l\"(a[{index}])"),
        'f' => format!("\"f\"(__builtin_bit_cast(float, (unsigned)a[{index}]))"),
        _ => format!("\"d\"(__builtin_bit_cast(double, a[{index}]))"),
    }
}

/// The C++ of one statement with results and operands of these letters.
pub(crate) fn statement(text: &str, results: &[char], operands: &[char]) -> String {
    let mut code = String::new();
    for (i, letter) in results.iter().enumerate() {
        let kind = match letter {
            'h' => "unsigned short",
            'r' => "unsigned",
            'l' => "unsigned long long",
            'f' => "float",
            _ => "double",
        };
        code += &format!("{kind} r{i} = 0; ");
    }
    let outputs: Vec<String> =
        results.iter().enumerate().map(|(i, letter)| format!("\"={letter}\"(r{i})")).collect();
    let inputs: Vec<String> = operands.iter().enumerate().map(|(i, letter)| argument(*letter, i)).collect();
    code +=
        &format!("asm volatile(\"{text}\" : {} : {} : \"memory\"); ", outputs.join(", "), inputs.join(", "));
    for (i, letter) in results.iter().enumerate() {
        code += &match letter {
            'f' => format!("o[{i}] = __builtin_bit_cast(unsigned, r{i}); "),
            'd' => format!("o[{i}] = __builtin_bit_cast(unsigned long long, r{i}); "),
            _ => format!("o[{i}] = r{i}; "),
        };
    }
    code
}

/// A model of each thread by itself.
pub(crate) fn each(model: impl Fn(&[u64]) -> Vec<u64> + 'static) -> Model {
    Box::new(move |threads| threads.iter().map(|operands| model(operands)).collect())
}

/// A model of each warp by itself.
pub(crate) fn warps(model: impl Fn(&[Vec<u64>]) -> Vec<Vec<u64>> + 'static) -> Model {
    Box::new(move |threads| threads.chunks(32).flat_map(&model).collect())
}

/// An instruction with one result of a type, and operands of types.
pub(crate) fn simple(
    form: &Form<'_>,
    result: Ty,
    operands: &[Ty],
    model: impl Fn(&[u64]) -> u64 + 'static,
) -> Case {
    let names: Vec<String> = (0..=operands.len()).map(|i| format!("%{i}")).collect();
    let letters: Vec<char> = operands.iter().map(|ty| ty.letter()).collect();
    Case {
        body: statement(&format!("{} {};", form.name, names.join(", ")), &[result.letter()], &letters),
        operands: operands.iter().map(|ty| ty.values()).collect(),
        results: vec![result.compare()],
        model: each(move |operands| vec![model(operands)]),
    }
}

/// An instruction whose result is a predicate.
pub(crate) fn predicate(form: &Form<'_>, operands: &[Ty], model: impl Fn(&[u64]) -> bool + 'static) -> Case {
    let names: Vec<String> = (1..=operands.len()).map(|i| format!("%{i}")).collect();
    let letters: Vec<char> = operands.iter().map(|ty| ty.letter()).collect();
    let text = format!("{{ .reg .pred p; {} p, {}; selp.u32 %0, 1, 0, p; }}", form.name, names.join(", "));
    Case {
        body: statement(&text, &['r'], &letters),
        operands: operands.iter().map(|ty| ty.values()).collect(),
        results: vec![Compare::Bits],
        model: each(move |operands| vec![u64::from(model(operands))]),
    }
}
