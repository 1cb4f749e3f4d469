//! Findings about names, headers and assembly that do not translate.

use super::Translator;
use crate::cursor::{Argument, Cursor};
use crate::finding::{Rule, Severity};
use crate::implicit::{self, Functions};
use crate::includes::{Directives, header_name, is_cuda_header};
use crate::tables::{Lacking, Row};
use cpp_lexer::Kind;

/// Prefixes of the names of CUDA's libraries; a capital follows.
const LIKE_CUDA: [&[u8]; 9] =
    [b"cuda", b"cublas", b"cudnn", b"cufft", b"curand", b"cusolver", b"cusparse", b"cutensor", b"nvrtc"];

/// Whether a name begins like those of CUDA's libraries.
pub(super) fn is_like_cuda(name: &[u8]) -> bool {
    LIKE_CUDA.iter().any(|beginning| {
        name.strip_prefix(*beginning).is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_uppercase))
    })
}

impl Translator<'_> {
    /// A word that looks like CUDA's but is in no table.
    pub(super) fn unknown(&mut self, cursor: &Cursor<'_>, index: usize, word: &[u8]) {
        if !word.starts_with(b"cu") && !word.starts_with(b"nv") {
            return;
        }
        if is_like_cuda(word) && !self.is_own(word) {
            let name = String::from_utf8_lossy(word);
            let token = cursor.tokens[index];
            // If all headers are known, nothing else can declare it.
            let known =
                |header: &String| implicit::is_known(header) || self.header(header.as_bytes()).is_some();
            let sure = self.options.headers.as_ref().is_some_and(|headers| headers.iter().all(known));
            let severity = if sure { Severity::Error } else { Severity::Warning };
            self.report(
                token.start,
                token.end,
                Rule::Unknown,
                severity,
                format!("`{name}` looks like a CUDA name but is unknown"),
                "if it is the program's own, list it with --whitelist; otherwise, no equivalent in HIP is known",
            );
        }
    }

    /// A word for which only advice is known.
    pub(super) fn report_advice(&mut self, cursor: &Cursor<'_>, index: usize, word: &[u8]) {
        if let Some(advice) = self.tables.advice(word) {
            let token = cursor.tokens[index];
            let message = format!("`{}` is not defined for AMD", String::from_utf8_lossy(word));
            self.report(token.start, token.end, Rule::Unsupported, Severity::Warning, message, advice);
        }
    }

    /// The findings about a name with a row.
    pub(super) fn report_row(
        &mut self,
        cursor: &Cursor<'_>,
        index: usize,
        before: Option<usize>,
        row: &Row,
        to: Option<&'static str>,
    ) {
        let name = row.name;
        let half = name.starts_with("cublasHgemm");
        if row.lacking.is_empty()
            && row.deprecated.is_none()
            && row.removed.is_none()
            && to.is_some()
            && !half
        {
            return;
        }
        if self.is_own(name.as_bytes()) {
            return;
        }
        if matches!(name, "cublasHgemm" | "cublasHgemmBatched" | "cublasHgemmStridedBatched")
            && let Some(to) = to
            && !self.declared.contains(&b"HIPBLAS_USE_HIP_HALF"[..])
        {
            let token = cursor.tokens[index];
            let (half, advice) = if to.starts_with("rocblas") {
                ("rocblas_half", "cast the pointers to halves")
            } else {
                ("hipblasHalf", "define HIPBLAS_USE_HIP_HALF before the include of <hipblas/hipblas.h>")
            };
            let message = format!("`{to}` takes pointers to `{half}`, which is not `__half`");
            self.report(token.start, token.end, Rule::Arguments, Severity::Error, message, advice);
        }
        let lacks = |who| row.lacking.contains(who);
        let options = self.options;
        let mut push = |rule, severity, message, advice: &str| {
            let token = cursor.tokens[index];
            let advice = self.tables.advice(name.as_bytes()).unwrap_or(advice);
            self.report(token.start, token.end, rule, severity, message, advice);
        };
        if lacks(Lacking::FUNCTION) {
            if is_call(cursor, index, before) {
                push(
                    Rule::UnsupportedDeviceFunction,
                    Severity::Error,
                    format!("HIP has no `{name}` in device code"),
                    "write it for AMD, as a `__device__` function of the same name",
                );
            }
            return;
        }
        if lacks(Lacking::TYPE) {
            push(
                Rule::UnsupportedDeviceType,
                Severity::Error,
                format!("HIP has no type `{name}`"),
                "use a type that HIP has",
            );
            return;
        }
        let library = if options.roc && lacks(Lacking::ROC) {
            Some("the ROC libraries have")
        } else if (options.roc || options.miopen) && lacks(Lacking::MIOPEN) {
            Some("MIOpen has")
        } else if lacks(Lacking::HIP) && (!options.roc || to.is_none()) {
            Some("HIP has")
        } else if !options.roc && !options.miopen && lacks(Lacking::HIPDNN) {
            Some("hipDNN has")
        } else {
            None
        };
        if let Some(library) = library {
            let (severity, rest) = match to {
                Some(to) => (Severity::Warning, format!("; it becomes `{to}`")),
                None => (Severity::Error, String::new()),
            };
            push(
                Rule::Unsupported,
                severity,
                format!("{library} no equivalent of `{name}`{rest}"),
                "keep it for NVIDIA only, behind `#ifdef __HIP_PLATFORM_NVIDIA__`, and do without it on AMD",
            );
        } else if to.is_none() {
            match row.experimental {
                Some(experimental) => push(
                    Rule::Experimental,
                    Severity::Error,
                    format!("`{name}` has only an experimental equivalent, `{experimental}`"),
                    "translate with --experimental",
                ),
                None => push(
                    Rule::Unsupported,
                    Severity::Error,
                    format!("no equivalent of `{name}` is known"),
                    "keep it for NVIDIA only, behind `#ifdef __HIP_PLATFORM_NVIDIA__`, and do without it on AMD",
                ),
            }
        }
        let cuda = if row.family.name() == "cudnn" { "cuDNN" } else { "CUDA" };
        if let Some(version) = row.removed {
            push(
                Rule::Removed,
                Severity::Warning,
                format!("{cuda} {version} has removed `{name}`"),
                "use what has replaced it, before or after the translation",
            );
        } else if let Some(version) = row.deprecated {
            push(
                Rule::Deprecated,
                Severity::Note,
                format!("{cuda} {version} has deprecated `{name}`"),
                "use what has replaced it",
            );
        }
    }

    /// A definition of an operator of vectors outside a class: HIP has it, too.
    pub(super) fn operator(&mut self, cursor: &Cursor<'_>, index: usize) {
        // helper_math.h itself is replaced by HIP's header.
        if !cursor.is(index, b"operator") || self.declared.contains(&b"HELPER_MATH_H"[..]) {
            return;
        }
        let Some(sign) = cursor.after(index).filter(|&sign| matches!(cursor.text(sign), b"*" | b"/")) else {
            return;
        };
        let Some(open) = cursor.after(sign).filter(|&open| cursor.is(open, b"(")) else { return };
        let Some(arguments) = cursor.arguments(open) else { return };
        let defined = cursor.after(arguments.close).is_some_and(|next| cursor.is(next, b"{"));
        let words = |argument: &Argument| {
            let all = argument.first..=argument.last;
            all.filter(|&at| cursor.kind(at) == Some(Kind::Word))
                .map(|at| cursor.text(at))
                .collect::<Vec<_>>()
        };
        let types: Vec<_> = arguments.list.iter().map(words).collect();
        // HIP's other operators are templates, and an own function is preferred to them.
        let vectors: Vec<_> = types.iter().flatten().filter(|word| is_vector(word)).collect();
        if defined
            && types.len() == 2
            && vectors.len() == 2
            && vectors[0] == vectors[1]
            && is_of_both(cursor, index)
        {
            let token = cursor.tokens[index];
            let name = String::from_utf8_lossy(vectors[0]).into_owned();
            self.report(
                token.start,
                token.end,
                Rule::VectorOperator,
                Severity::Error,
                format!("HIP has this operator of `{name}`, so that calls of both are ambiguous"),
                "leave it out for AMD, behind `#ifndef __HIP_PLATFORM_AMD__`",
            );
        }
    }

    /// In a source that includes helper_math.h, which HIP's header of vectors replaces: what only the former
    /// has.
    pub(super) fn helper(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        const FUNCTIONS: [&[u8]; 10] = [
            b"clamp",
            b"cross",
            b"dot",
            b"fracf",
            b"length",
            b"lerp",
            b"normalize",
            b"reflect",
            b"smoothstep",
            b"step",
        ];
        let word = cursor.text(index);
        if !self.helper || self.declared.contains(word) || !is_call(cursor, index, before) {
            return;
        }
        let arguments = || cursor.after(index).and_then(|open| cursor.arguments(open));
        let vector = word.strip_prefix(b"make_").filter(|rest| is_vector(rest)).and_then(<[u8]>::last);
        let lacks = match vector {
            Some(last) => {
                arguments().is_some_and(|arguments| arguments.list.len() != usize::from(last - b'0'))
            }
            None => FUNCTIONS.contains(&word),
        };
        if lacks {
            let token = cursor.tokens[index];
            let message =
                format!("HIP has no `{}` like that of helper_math.h", String::from_utf8_lossy(word));
            self.report(
                token.start,
                token.end,
                Rule::UnsupportedDeviceFunction,
                Severity::Error,
                message,
                "take the function over from helper_math.h",
            );
        }
    }

    /// `atomicAdd` of halves, which HIP has under another name only.
    pub(super) fn atomic(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        const HALVES: [&[u8]; 8] = [
            b"__half",
            b"__half2",
            b"__nv_bfloat16",
            b"__nv_bfloat162",
            b"half",
            b"half2",
            b"nv_bfloat16",
            b"nv_bfloat162",
        ];
        let name = b"atomicAdd";
        if !cursor.is(index, name) || !is_call(cursor, index, before) || self.is_own(name) {
            return;
        }
        let arguments = cursor.after(index).and_then(|open| cursor.arguments(open));
        let Some(&address) = arguments.as_ref().and_then(|arguments| arguments.list.first()) else { return };
        let words = || (address.first..=address.last).filter(|&at| cursor.kind(at) == Some(Kind::Word));
        let casts = words().any(|at| HALVES.contains(&cursor.text(at)));
        let Some(variable) = words().next().map(|at| cursor.text(at)) else { return };
        // The type in the nearest declaration in front.
        let declared = (0..index).rev().filter(|&at| cursor.is(at, variable)).find_map(|at| {
            let mut before = cursor.before(at)?;
            while matches!(cursor.text(before), b"*" | b"&" | b"__restrict__") {
                before = cursor.before(before)?;
            }
            let declares =
                cursor.kind(before) == Some(Kind::Word) && !matches!(cursor.text(before), b"return");
            declares.then(|| cursor.text(before))
        });
        if casts || declared.is_some_and(|declared| HALVES.contains(&declared)) {
            let token = cursor.tokens[index];
            self.report(
                token.start,
                token.end,
                Rule::UnsupportedDeviceFunction,
                Severity::Error,
                "HIP has no `atomicAdd` of 16-bit floating-point numbers".to_owned(),
                "write `unsafeAtomicAdd`, which is for memory of the GPU only, or a loop of `atomicCAS`",
            );
        }
    }

    /// Functions that host code has from a header that only nvcc includes by itself.
    pub(super) fn implicit(&mut self, cursor: &Cursor<'_>, directives: &Directives<'_>) {
        let lack = match &self.options.headers {
            Some(headers) => implicit::lack(headers.iter().map(String::as_str)),
            None => implicit::lack(directives.includes.iter().map(|include| {
                let quoted = cursor.text(include.token).starts_with(b"\"");
                let known = !quoted || self.header(include.name).is_some();
                std::str::from_utf8(include.name).ok().filter(|_| known).unwrap_or_default()
            })),
        };
        // A source without CUDA is no source for AMD's compiler.
        if !is_cuda(cursor) {
            return;
        }
        for call in implicit::calls(cursor, Functions::Mathematics) {
            let name = cursor.text(call);
            if !self.is_own(name) {
                let message = format!("HIP has `{}` in device code only", String::from_utf8_lossy(name));
                let token = cursor.tokens[call];
                let advice = "write it for the host, in terms of the functions of <cmath>";
                self.report(token.start, token.end, Rule::HostFunction, Severity::Error, message, advice);
            }
        }
        if !lack {
            return;
        }
        for call in implicit::calls(cursor, Functions::Strings) {
            let name = cursor.text(call);
            if self.declared.contains(name) {
                continue;
            }
            let message =
                format!("HIP's headers do not declare `{}` for the host", String::from_utf8_lossy(name));
            let token = cursor.tokens[call];
            let advice = "include <cstring>, which nvcc includes by itself";
            self.report(token.start, token.end, Rule::ImplicitHeader, Severity::Error, message, advice);
        }
    }

    pub(super) fn report_header(&mut self, cursor: &Cursor<'_>, token: usize) {
        let Some(name) = header_name(cursor.text(token)) else { return };
        // A quoted name with a folder is the program's own header.
        let own = cursor.kind(token) == Some(Kind::String) && name.contains(&b'/');
        if own || !is_cuda_header(name) {
            return;
        }
        let advice = self.tables.advice(name).unwrap_or(
            "include it for NVIDIA only, behind `#ifdef __HIP_PLATFORM_NVIDIA__`, and look for what AMD has instead",
        );
        let message = format!("`{}` has no known equivalent", String::from_utf8_lossy(name));
        let token = cursor.tokens[token];
        self.report(token.start, token.end, Rule::Header, Severity::Error, message, advice);
    }

    /// `asm` with a string that looks like PTX.
    pub(super) fn assembly(&mut self, cursor: &Cursor<'_>, index: usize) {
        let mut next = cursor.after(index);
        while next.is_some_and(|at| matches!(cursor.text(at), b"volatile" | b"__volatile__" | b"(" | b"goto"))
        {
            next = next.and_then(|at| cursor.after(at));
        }
        let Some(string) = next.filter(|&at| cursor.kind(at) == Some(Kind::String)) else { return };
        if !is_ptx(cursor.text(string)) {
            return;
        }
        let token = cursor.tokens[index];
        self.report(
            token.start,
            token.end,
            Rule::InlineAssembly,
            Severity::Error,
            "inline PTX is NVIDIA's assembly".to_owned(),
            "use a built-in function or plain C++; keep the PTX behind `#ifdef __HIP_PLATFORM_NVIDIA__`",
        );
    }
}

/// Whether a function, whose name is token `name`, is for host and device, as HIP's operators are: one for the
/// device only is preferred to them there.
fn is_of_both(cursor: &Cursor<'_>, name: usize) -> bool {
    let head = cursor.tokens[..name].iter().rev().map(|token| token.text(cursor.source));
    let head: Vec<_> = head.take_while(|text| !matches!(*text, b";" | b"}" | b"{" | b")")).collect();
    let is = |word: &[u8]| head.contains(&word);
    // A macro, such as HOST_DEVICE.
    let contains = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|window| window == part);
    is(b"__host__") && is(b"__device__")
        || head.iter().any(|text| contains(text, b"HOST") && contains(text, b"DEVICE"))
}

/// Whether a name is that of a type of vectors with two to four components.
fn is_vector(name: &[u8]) -> bool {
    const TYPES: [&[u8]; 12] = [
        b"char",
        b"double",
        b"float",
        b"int",
        b"long",
        b"longlong",
        b"short",
        b"uchar",
        b"uint",
        b"ulong",
        b"ulonglong",
        b"ushort",
    ];
    matches!(name, [kind @ .., b'2'..=b'4'] if TYPES.contains(&kind))
}

/// Whether a source has device code, launches or calls of CUDA's runtime.
fn is_cuda(cursor: &Cursor<'_>) -> bool {
    cursor.tokens.iter().any(|token| match token.kind {
        Kind::Word => {
            let word = token.text(cursor.source);
            is_like_cuda(word) || matches!(word, b"__global__" | b"__device__" | b"threadIdx")
        }
        Kind::Punct => token.text(cursor.source) == b"<<<",
        _ => false,
    })
}

/// Whether a name is called as a free function.
fn is_call(cursor: &Cursor<'_>, index: usize, before: Option<usize>) -> bool {
    if !cursor.after(index).is_some_and(|next| cursor.is(next, b"(")) {
        return false;
    }
    let Some(before) = before else { return true };
    match cursor.text(before) {
        b"." | b"->" | b"define" => false,
        b"::" => !cursor.before(before).is_some_and(|name| cursor.kind(name) == Some(Kind::Word)),
        _ => true,
    }
}

/// Whether a string contains something like `.u32` or `%laneid`, as in PTX.
fn is_ptx(text: &[u8]) -> bool {
    const TYPES: [&[u8]; 22] = [
        b".u8", b".u16", b".u32", b".u64", b".s8", b".s16", b".s32", b".s64", b".b8", b".b16", b".b32",
        b".b64", b".f16", b".bf16", b".f32", b".f64", b".pred", b".sync", b".global", b".shared", b".param",
        b".gpu",
    ];
    let contains = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    TYPES.iter().any(|part| contains(part))
        || contains(b"membar")
        || contains(b"trap;")
        || contains(b"%laneid")
}
