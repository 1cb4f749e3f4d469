//! Generates the functions of the table from a line for each operation: plain, batched and strided-batched,
//! each with 32-bit and 64-bit sizes.

use std::fmt::Write as _;

pub(crate) const FUNCTIONS: &str = "functions.txt";

/// An element type of a function's name.
struct Element {
    rust: &'static str,
    variant: &'static str,
    real: &'static str,
    real_variant: &'static str,
}

fn element(letter: &str) -> Option<Element> {
    let (rust, variant, real, real_variant) = match letter {
        "s" => ("f32", "F32", "f32", "F32"),
        "d" => ("f64", "F64", "f64", "F64"),
        "c" => ("rocblas_float_complex", "C32", "f32", "F32"),
        "z" => ("rocblas_double_complex", "C64", "f64", "F64"),
        "h" => ("rocblas_half", "F16", "rocblas_half", "F16"),
        "b" => ("rocblas_bfloat16", "BF16", "rocblas_bfloat16", "BF16"),
        // Types are arguments.
        "-" => ("c_void", "F32", "c_void", "F32"),
        _ => return None,
    };
    Some(Element { rust, variant, real, real_variant })
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Batched,
    Strided,
}

impl Form {
    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Batched => "_batched",
            Self::Strided => "_strided_batched",
        }
    }

    fn variant(self) -> &'static str {
        match self {
            Self::Plain => "Plain",
            Self::Batched => "Batched",
            Self::Strided => "Strided",
        }
    }
}

/// The parameters of a function and the corresponding fields.
#[derive(Default)]
struct Parameters {
    list: Vec<String>,
    fields: Vec<String>,
}

impl Parameters {
    fn push(&mut self, name: &str, kind: &str) {
        self.list.push(format!("{name}: {kind}"));
    }

    fn field(&mut self, name: &str, value: &str) {
        self.fields.push(if name == value { name.to_owned() } else { format!("{name}: {value}") });
    }

    /// A value in host or device memory.
    fn scalar(&mut self, name: &str, which: &str, element: &Element) -> Result<(), String> {
        let (rust, variant) = match which {
            "" => (element.rust, element.variant),
            "r" => (element.real, element.real_variant),
            "s" => ("f32", "F32"),
            "t" | "v" => ("c_void", "F32"),
            other => return Err(format!("a scalar cannot be `{other}`")),
        };
        self.push(name, &format!("*const {rust}"));
        let kind = if which == "t" {
            self.push(&format!("{name}_type"), "rocblas_datatype");
            format!("Type::from({name}_type)")
        } else {
            format!("Some(Type::{variant})")
        };
        self.field(name, &format!("Scalar::new({name}.cast(), {kind})"));
        Ok(())
    }

    /// A vector, matrix or other operand; there is one for each product of the batch. `step` is the name of
    /// the distance between elements or columns.
    fn operand(&mut self, name: &str, step: Option<&str>, kind: &Kind<'_>) {
        let &Kind { form, int, element, written, typed, other } = kind;
        let mutable = if written { "mut" } else { "const" };
        let rust = other.map_or(element.rust, |other| other.0);
        let pointer = match form {
            // Arrays of pointers to untyped memory are untyped, too.
            Form::Batched if !typed && rust != "c_void" => format!("*const *{mutable} {rust}"),
            _ => format!("*{mutable} {rust}"),
        };
        self.push(name, &pointer);
        let kind = if typed {
            self.push(&format!("{name}_type"), "rocblas_datatype");
            format!("Type::from({name}_type)")
        } else {
            format!("Some(Type::{})", other.map_or(element.variant, |other| other.1))
        };
        let step = step.map_or("0".to_owned(), |step| {
            self.push(step, int);
            widened(step, int)
        });
        let stride = if form == Form::Strided {
            self.push(&format!("stride_{name}"), "rocblas_stride");
            format!("stride_{name}")
        } else {
            "0".to_owned()
        };
        self.field(name, &format!("Operand::new({name}.cast(), {step}, {stride}, {kind})"));
    }
}

struct Kind<'a> {
    form: Form,
    int: &'a str,
    element: &'a Element,
    written: bool,
    /// The type is an argument.
    typed: bool,
    /// The type differs from the element type of the name.
    other: Option<(&'static str, &'static str)>,
}

fn widened(name: &str, int: &str) -> String {
    if int == "i64" { name.to_owned() } else { format!("i64::from({name})") }
}

fn parameters(tokens: &[&str], element: &Element, form: Form, int: &str) -> Result<Parameters, String> {
    let mut out = Parameters::default();
    out.push("handle", "rocblas_handle");
    for token in tokens {
        let written = token.contains('!');
        let plain = token.replace('!', "");
        let (name, which) = plain.split_once(':').unwrap_or((&plain, ""));
        let other = match which {
            "s" => Some(("f32", "F32")),
            "h" => Some(("rocblas_half", "F16")),
            "b" => Some(("rocblas_bfloat16", "BF16")),
            "r" => Some((element.real, element.real_variant)),
            _ => None,
        };
        let kind = Kind { form, int, element, written, typed: which == "t", other };
        match name {
            "n" | "m" | "k" | "kl" | "ku" => {
                out.push(name, int);
                out.field(name, &widened(name, int));
            }
            "trans_a" | "trans_b" => {
                out.push(name, "rocblas_operation");
                out.field(name, name);
            }
            "uplo" => {
                out.push(name, "rocblas_fill");
                out.field(name, name);
            }
            "side" => {
                out.push(name, "rocblas_side");
                out.field(name, name);
            }
            "diag" => {
                out.push(name, "rocblas_diagonal");
                out.field(name, name);
            }
            "alpha" | "beta" => out.scalar(name, which, element)?,
            // Both have the type of the second.
            "cs" => {
                out.push("alpha", "*const c_void");
                out.push("beta", "*const c_void");
                out.push("cs_type", "rocblas_datatype");
                out.field("alpha", "Scalar::new(alpha, Type::from(cs_type))");
                out.field("beta", "Scalar::new(beta, Type::from(cs_type))");
            }
            "a" | "b" | "c" | "d" => out.operand(name, Some(&format!("ld{name}")), &kind),
            "x" | "y" => out.operand(name, Some(&format!("inc{name}")), &kind),
            // A packed matrix.
            "ap" => out.operand("a", None, &kind),
            // Numbers of each product of the batch.
            "at_a" | "at_b" | "at_c" | "at_d" | "at_x" | "at_y" => out.operand(&name[3..], None, &kind),
            "result" => {
                let rust = match which {
                    "i" => int.to_owned(),
                    "r" => element.real.to_owned(),
                    "t" => "c_void".to_owned(),
                    _ => element.rust.to_owned(),
                };
                out.push(name, &format!("*mut {rust}"));
                let kind = match which {
                    "t" => {
                        out.push("result_type", "rocblas_datatype");
                        "Type::from(result_type)".to_owned()
                    }
                    "i" => "Some(Type::I32)".to_owned(),
                    "r" => format!("Some(Type::{})", element.real_variant),
                    _ => format!("Some(Type::{})", element.variant),
                };
                out.field(name, &format!("Scalar::new({name}.cast_const().cast(), {kind})"));
                out.field("wide", if int == "i64" { "true" } else { "false" });
            }
            "batch" if form == Form::Plain => {}
            "batch" => {
                out.push("batch", int);
                out.field("batch", &widened("batch", int));
            }
            "compute" => {
                out.push("compute", "rocblas_datatype");
                out.field("compute", "Type::from(compute)");
            }
            "solution" => {
                out.push("algo", "rocblas_gemm_algo");
                out.push("solution", "i32");
                out.push("flags", "u32");
                out.field("solution", "Some((algo, solution))");
                out.field("flags", "flags");
            }
            "composite" => {
                out.push(name, "rocblas_computetype");
                out.field(name, name);
            }
            "distance" => {
                out.push(name, "rocblas_geam_ex_operation");
                out.field(name, name);
            }
            "inverse" => {
                out.push("_inverse", "*const c_void");
                out.push("_inverse_size", int);
                if form == Form::Strided {
                    out.push("_stride_inverse", "rocblas_stride");
                }
            }
            other => return Err(format!("`{other}` is not an argument")),
        }
    }
    Ok(out)
}

/// Generates the functions, the code that passes them to the builder, and their names.
pub(crate) fn write(text: &str) -> Result<String, String> {
    let mut code = String::from("// Generated from functions.txt; changes are lost.\n\n");
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[pattern, types, arguments, body] = fields.as_slice() else {
            return Err(format!("a line needs four columns: {line}"));
        };
        let tokens: Vec<&str> = arguments.split_whitespace().collect();
        let (forms, ints): (&[Form], &[&str]) =
            if let Some(only) = tokens.iter().find(|token| token.starts_with('=')) {
                match *only {
                    "=32" => (&[Form::Plain, Form::Batched, Form::Strided], &["i32"]),
                    "=batches" => (&[Form::Batched, Form::Strided], &["i32", "i64"]),
                    "=one" => (&[Form::Plain], &["i32"]),
                    other => return Err(format!("`{other}` is not a set of forms")),
                }
            } else {
                (&[Form::Plain, Form::Batched, Form::Strided], &["i32", "i64"])
            };
        let tokens: Vec<&str> = tokens.into_iter().filter(|token| !token.starts_with('=')).collect();
        for kind in types.split_whitespace() {
            let (prefix, letter) = kind.split_once(':').unwrap_or((kind, kind));
            let element = element(letter).ok_or_else(|| format!("`{letter}` is not a type"))?;
            for &form in forms {
                for int in ints {
                    let stem = pattern.replace("{}", if prefix == "-" { "" } else { prefix });
                    let stem = if stem.contains('@') {
                        stem.replace('@', form.suffix())
                    } else {
                        stem + form.suffix()
                    };
                    let name = format!("rocblas_{stem}{}", if *int == "i64" { "_64" } else { "" });
                    let parameters = parameters(&tokens, &element, form, int)?;
                    // Writing to a String cannot fail.
                    let _ = writeln!(
                        code,
                        "unsafe extern \"C\" fn {name}({}) -> rocblas_status {{\n    // SAFETY: the caller keeps rocBLAS' contract.\n    \
                         unsafe {{ run(handle, {body}, &Args {{ {}, ..Args::new(Some(Type::{}), Form::{}) }}) }}\n}}\n",
                        parameters.list.join(", "),
                        parameters.fields.join(", "),
                        element.variant,
                        form.variant(),
                    );
                    names.push(name);
                }
            }
        }
    }
    let calls: String = names.iter().map(|name| format!("    builder.{name}({name});\n")).collect();
    let _ = writeln!(code, "pub(crate) fn provide(builder: &mut Builder) {{\n{calls}}}\n");
    let list: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    let _ = writeln!(code, "pub(crate) const NAMES: &[&str] = &[\n{list}];");
    Ok(code)
}
