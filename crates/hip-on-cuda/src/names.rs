//! Names of kernels and variables: clang compiles host code and nvcc the device code, and they mangle what
//! other files do not see in different ways.
//!
//! | | clang | nvcc |
//! |---|---|---|
//! | `static` function `f` | `_ZL1fv` | `_Z1fv` |
//! | in a namespace without a name | `_ZN12_GLOBAL__N_11fEv` | `_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go1fEv` |
//! | `static` function as an argument of a template | `…XadL_ZL1fvE…` | `…XadL_ZN42_INTERNAL_50e2957b_11_moe_gguf_cu_2c4098ac1fEvE…` |
//! | `bf16` | `__hip_bfloat16` | `__nv_bfloat16` |
//! | `static` variable `v` | `_ZL1v`, or with `.static.` and a hash behind it | `_ZL1v` or `v` |

use std::ffi::{CStr, CString};

/// What both call a namespace without a name; nvcc adds the file.
const UNNAMED: &str = "_GLOBAL__N_";
/// What nvcc calls a file whose functions are arguments of templates.
const OF_FILE: &str = "_INTERNAL_";

/// The name that nvcc gives a `static` kernel of this name: without the mark.
pub(crate) fn of_nvcc(name: &CStr) -> Option<CString> {
    let rest = name.to_str().ok()?.strip_prefix("_ZL")?;
    identifier(rest)?;
    CString::new(format!("_Z{rest}")).ok()
}

/// A name in a form that is the same for both compilers: without marks, without what nvcc adds to names that
/// other files do not see, and without the numbers of repeated parts, which count that. Different kernels may
/// have the same form.
pub(crate) fn comparable(name: &CStr) -> String {
    let text = name.to_string_lossy();
    let Some(mut rest) = text.strip_prefix("_Z") else { return text.into_owned() };
    let mut neutral = String::from("_Z");
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            'S' => repeated(rest, &mut neutral),
            'T' => parameter(rest, &mut neutral),
            'L' => literal(rest, &mut neutral),
            'N' => of_file(rest, &mut neutral),
            '0'..='9' => identifier(rest).map(|(name, length)| {
                neutral.push_str(&neutral_identifier(name));
                length
            }),
            _ => None,
        };
        let taken = taken.unwrap_or_else(|| {
            neutral.push(first);
            first.len_utf8()
        });
        rest = &rest[taken..];
    }
    neutral
}

/// The identifier that a text begins with, and how long it is with its length.
fn identifier(text: &str) -> Option<(&str, usize)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|&digits| digits > 0)?;
    let length: usize = text[..digits].parse().ok()?;
    let name = text[digits..].get(..length)?;
    Some((name, digits + length))
}

/// An identifier under one name: AMD's and NVIDIA's headers name types of 16 and 8 bits after themselves.
fn neutral_identifier(name: &str) -> String {
    if name.starts_with(UNNAMED) {
        return format!("<{UNNAMED}>");
    }
    let name = name.strip_prefix("__hip_").map_or(name.to_owned(), |rest| format!("__nv_{rest}"));
    format!("{}{name}", name.len())
}

/// `S3_`, a part that has been written before.
fn repeated(text: &str, neutral: &mut String) -> Option<usize> {
    let end = text[1..].find(|c: char| !c.is_ascii_digit() && !c.is_ascii_uppercase())? + 1;
    text[end..].starts_with('_').then(|| {
        neutral.push_str("S_");
        end + 1
    })
}

/// `T0_`, a parameter of a template.
fn parameter(text: &str, neutral: &mut String) -> Option<usize> {
    let end = text[1..].find(|c: char| !c.is_ascii_digit())? + 1;
    text[end..].starts_with('_').then(|| {
        neutral.push_str(&text[..=end]);
        end + 1
    })
}

/// `Li32E` or `L9ggml_type2E`, a value; the mark of a name is left out.
fn literal(text: &str, neutral: &mut String) -> Option<usize> {
    let rest = &text[1..];
    let (is_name, kind) = match identifier(rest) {
        Some((_, length)) => (true, length),
        None => (false, usize::from(rest.starts_with(|c: char| c.is_ascii_lowercase()))),
    };
    let value = rest[kind..].strip_prefix('n').unwrap_or(&rest[kind..]);
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    if kind > 0 && digits > 0 && value[digits..].starts_with('E') {
        let length = text.len() - value.len() + digits + 1;
        neutral.push_str(&text[..length]);
        return Some(length);
    }
    is_name.then_some(1)
}

/// `N42_INTERNAL_…17nameE`: a name in what nvcc makes of the file.
fn of_file(text: &str, neutral: &mut String) -> Option<usize> {
    let (_, file) = identifier(&text[1..]).filter(|(name, _)| name.starts_with(OF_FILE))?;
    let rest = &text[1 + file..];
    if let Some((name, length)) = identifier(rest).filter(|(_, length)| rest[*length..].starts_with('E')) {
        neutral.push_str(&neutral_identifier(name));
        return Some(1 + file + length + 1);
    }
    neutral.push('N');
    Some(1 + file)
}

/// The names to look a variable up by, the likeliest first.
pub(crate) fn of_variable(name: &CStr) -> Vec<CString> {
    let text = name.to_string_lossy();
    let (text, _) = text.split_once(".static.").unwrap_or((&text, ""));
    let mut names = vec![text];
    if let Some(rest) = text.strip_prefix("_ZL") {
        names.push(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    names.into_iter().filter_map(|name| CString::new(name).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    /// Kernels of a test file, by clang 22 and by nvcc 13.0.
    const BOTH: [(&str, &str); 9] = [
        ("_ZL4statPfm", "_Z4statPfm"),
        ("_ZL4tmplIL2ty0ELi3EEvPKfx", "_Z4tmplIL2ty0ELi3EEvPKfx"),
        ("_Z3pubIfEvPT_PKS0_", "_Z3pubIfEvPT_PKS0_"),
        ("_ZN12_GLOBAL__N_14anonEPf", "_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go4anonEPf"),
        ("_ZN12_GLOBAL__N_15anontILi2EEEvPf", "_ZN30_GLOBAL__N__9ffd1b26_4_a_cu_go5anontILi2EEEvPf"),
        // Of candle.
        (
            "_ZN7vllm_rs20moe_gemm_gguf_kernelILi32ELi8E10block_q8_0Li2EXadL_ZL17vec_dot_q8_0_q8_1PKvPK10block_q8_1RKiEEEEvS3_S3_PS7_S9_PKfPfiiiiii",
            "_ZN7vllm_rs20moe_gemm_gguf_kernelILi32ELi8E10block_q8_0Li2EXadL_ZN42_INTERNAL_50e2957b_11_moe_gguf_cu_2c4098ac17vec_dot_q8_0_q8_1EPKvPK10block_q8_1RKiEEEEvS4_S4_PS8_SA_PKfPfiiiiii",
        ),
        (
            "_ZN7vllm_rs23moe_gemm_grouped_kernelI14__hip_bfloat16Li16ELi16ELi2EEEvPKT_S4_PKiS6_PKfPS2_iiiii",
            "_ZN7vllm_rs23moe_gemm_grouped_kernelI13__nv_bfloat16Li16ELi16ELi2EEEvPKT_S4_PKiS6_PKfPS2_iiiii",
        ),
        (
            "_ZN7vllm_rs23moe_gemm_grouped_kernelI14__hip_bfloat16Li8ELi32ELi1EEEvPKT_S4_PKiS6_PKfPS2_iiiii",
            "_ZN7vllm_rs23moe_gemm_grouped_kernelI13__nv_bfloat16Li8ELi32ELi1EEEvPKT_S4_PKiS6_PKfPS2_iiiii",
        ),
        (
            "_ZL9mul_mat_qIL9ggml_type2ELi128ELb1EEvPKcPKiS4_S4_PfS5_iiiiiiiiiiiiiiiii",
            "_Z9mul_mat_qIL9ggml_type2ELi128ELb1EEvPKcPKiS4_S4_PfS5_iiiiiiiiiiiiiiiii",
        ),
    ];

    #[test]
    fn both_compilers_mean_the_same_kernel() {
        for (at, (clang, nvcc)) in BOTH.into_iter().enumerate() {
            assert_eq!(comparable(&c(clang)), comparable(&c(nvcc)));
            for (_, other) in BOTH.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, both)| both)
            {
                assert_ne!(comparable(&c(clang)), comparable(&c(other)));
            }
        }
        assert_eq!(of_nvcc(&c("_ZL4statPfm")), Some(c("_Z4statPfm")));
        assert_eq!(comparable(&c("_ZN2nsL4statEPfm")), comparable(&c("_ZN2ns4statEPfm")));
        for same in ["saxpy", "_Z3pubIfEvPT_PKS0_", "_Z", "_Z99f", "_ZN", "", "Lé", "_ZL", "_ZN2nsL4statEPfm"]
        {
            assert_eq!(of_nvcc(&c(same)), None, "{same}");
        }
    }

    #[test]
    fn any_text_has_a_form() {
        for text in [
            "",
            "_Z",
            "_ZL",
            "_ZN",
            "_ZS",
            "_ZT9",
            "_Z9",
            "_ZLi3",
            "_ZLé",
            "_Z99999999999999999999a",
            "_ZN3aé",
        ] {
            assert!(!comparable(&c(text)).contains('<'), "{text}");
        }
    }

    #[test]
    fn a_variable_has_several_names() {
        assert_eq!(of_variable(&c("table")), [c("table")]);
        assert_eq!(of_variable(&c("_ZL5table.static.00ff")), [c("_ZL5table"), c("table")]);
    }
}
