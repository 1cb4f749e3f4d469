//! The translation of one source.

use std::collections::HashSet;

use crate::cursor::Cursor;
use crate::edit::Edits;
use crate::finding::{Finding, Rule, Severity};
use crate::includes::{self, Directives, Included, RUNTIME_HEADER, header_name, is_cuda_header};
use crate::lexer::{self, Kind, is_word_byte};
use crate::stats::{Counter, Stats};
use crate::tables::{Lacking, Row, RowNumber, Tables};
use crate::{launch, position, symbols};

/// How to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// To rocBLAS, rocRAND, rocSPARSE, rocSOLVER and MIOpen, where they have the name, rather than to hipBLAS and so on.
    pub roc: bool,
    /// cuDNN to MIOpen, where it has the name, rather than to hipDNN.
    pub miopen: bool,
    /// To names that are experimental in HIP, too.
    pub experimental: bool,
    /// Launches with `<<<…>>>` as calls of `hipLaunchKernelGGL`; otherwise they stay, since HIP knows them.
    pub hip_launches: bool,
    /// Names in comments, too.
    pub comments: bool,
    /// Keep a header that is included twice after the translation; otherwise the second line is left empty.
    pub duplicate_headers: bool,
    /// Include HIP's header, in an empty line, in a source with device code that does not.
    pub runtime_header: bool,
    /// Names that begin like CUDA's and are the program's own.
    pub own_names: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            roc: false,
            miopen: false,
            experimental: false,
            hip_launches: false,
            comments: true,
            duplicate_headers: false,
            runtime_header: true,
            own_names: Vec::new(),
        }
    }
}

/// A translated source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Translation {
    /// The source in HIP, with as many lines as before.
    pub text: Vec<u8>,
    /// What does not translate, in the order of the source.
    pub findings: Vec<Finding>,
    /// What was translated.
    pub stats: Stats,
}

/// Translates a source from CUDA to HIP. The source may be any bytes; those that are no CUDA stay.
#[must_use]
pub fn translate(source: &[u8], options: &Options) -> Translation {
    let tokens = lexer::tokens(source);
    let mut translator = Translator {
        options,
        tables: Tables::get(),
        source,
        edits: Edits::default(),
        found: Vec::new(),
        counter: Counter::default(),
        launches: 0,
        namespaces: 0,
        declared: HashSet::new(),
    };
    let cursor = Cursor { source, tokens: &tokens };
    translator.includes(&cursor, &includes::read(&cursor));
    translator.code(&cursor, false);
    translator.finish()
}

/// Something found, with its place in the source.
struct Found {
    start: usize,
    end: usize,
    rule: Rule,
    severity: Severity,
    message: String,
    advice: String,
}

struct Translator<'a> {
    options: &'a Options,
    tables: &'static Tables,
    source: &'a [u8],
    edits: Edits,
    found: Vec<Found>,
    counter: Counter,
    launches: usize,
    namespaces: usize,
    /// Functions that the source declares itself.
    declared: HashSet<&'a [u8]>,
}

/// How the names of CUDA's libraries begin; a capital follows.
const LIKE_CUDA: [&[u8]; 9] =
    [b"cuda", b"cublas", b"cudnn", b"cufft", b"curand", b"cusolver", b"cusparse", b"cutensor", b"nvrtc"];

/// Words in front of an expression, where a type would be in front of a declared name.
const BEFORE_CALLS: [&[u8]; 12] = [
    b"return",
    b"else",
    b"do",
    b"case",
    b"goto",
    b"throw",
    b"co_return",
    b"co_yield",
    b"co_await",
    b"and",
    b"or",
    b"not",
];

impl<'a> Translator<'a> {
    /// What a row becomes.
    fn chosen(&self, row: &Row) -> Option<&'static str> {
        let options = self.options;
        None.or(row.roc.filter(|_| options.roc))
            .or(row.miopen.filter(|_| options.roc || options.miopen))
            .or(row.experimental.filter(|_| options.experimental))
            .or(row.hip)
    }

    fn report(
        &mut self,
        start: usize,
        end: usize,
        rule: Rule,
        severity: Severity,
        message: String,
        advice: &str,
    ) {
        self.found.push(Found { start, end, rule, severity, message, advice: advice.to_owned() });
    }

    // ---- headers ----

    /// Translates includes, leaves those out that are there twice, and adds HIP's own.
    fn includes(&mut self, cursor: &Cursor<'_>, directives: &Directives<'a>) {
        let mut included = Included::default();
        let mut empty_lines = directives.empty_lines.clone();
        let mut dropped = Vec::new();
        for include in &directives.includes {
            let Some(number) = self.header(include.name) else {
                included.again(include.name, include.always);
                self.report_header(cursor, include.token);
                continue;
            };
            let row = self.row(number);
            let Some(to) = self.chosen(row) else { continue };
            self.counter.add(number, to);
            let token = cursor.tokens[include.token];
            let again = to.is_empty() || included.again(to.as_bytes(), include.always);
            let hash = cursor.tokens[include.hash].start;
            let before_code = directives.code.is_none_or(|code| include.hash < code);
            if !ends_line(cursor, include.token) {
                // Something odd follows: a header that HIP lacks stays.
                if !to.is_empty() {
                    self.edits.replace(token.start + 1, token.end - 1, to);
                }
            } else if again && before_code && (to.is_empty() || !self.options.duplicate_headers) {
                if include.always {
                    empty_lines.push(hash);
                }
                dropped.push((hash, token.end));
            } else if to.is_empty() {
                // Amid code, a directive that does nothing keeps apart what it was between.
                self.drop_directive(hash + 1, token.end);
            } else {
                self.edits.replace(token.start + 1, token.end - 1, to);
            }
        }
        let needs_header = self.options.runtime_header
            && has_device_code(cursor)
            && !included.contains(RUNTIME_HEADER.as_bytes());
        let place = empty_lines.into_iter().min().filter(|_| needs_header);
        let include = || format!("#include \"{RUNTIME_HEADER}\"");
        for (start, end) in dropped {
            if place == Some(start) {
                self.edits.replace(start, end, include());
            } else {
                self.drop_directive(start, end);
            }
        }
        match place {
            Some(start) if cursor.source.get(start) != Some(&b'#') => {
                self.edits.insert(start, include());
            }
            None if needs_header => {
                self.report(
                    0,
                    0,
                    Rule::RuntimeHeader,
                    Severity::Warning,
                    format!("the file has device code and does not include <{RUNTIME_HEADER}>"),
                    "include it; there is no empty line before the code to put it in",
                );
            }
            _ => {}
        }
    }

    /// Leaves out a directive, but not the lines that it has.
    fn drop_directive(&mut self, start: usize, end: usize) {
        let lines = self.source[start..end].iter().filter(|&&byte| byte == b'\n').count();
        self.edits.replace(start, end, "\n".repeat(lines));
    }

    /// The row of a header. hipCUB's one header has all that CUB's many have.
    fn header(&self, name: &[u8]) -> Option<RowNumber> {
        let name = if name.starts_with(b"cub/") && name.ends_with(b".cuh") { b"cub/cub.cuh" } else { name };
        self.tables.number(name).filter(|&number| self.row(number).kind.is_header())
    }

    fn row(&self, number: RowNumber) -> &'static Row {
        &self.tables.rows()[usize::from(number)]
    }

    fn report_header(&mut self, cursor: &Cursor<'_>, token: usize) {
        let Some(name) = header_name(cursor.text(token)) else { return };
        // In quotes, a folder is the program's own.
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

    // ---- code ----

    /// Translates all tokens. A raw string may hold a source for the run-time compiler, and is code, too.
    fn code(&mut self, cursor: &Cursor<'_>, in_string: bool) {
        self.declarations(cursor);
        let mut before = None;
        for (index, token) in cursor.tokens.iter().enumerate() {
            match token.kind {
                Kind::Space => continue,
                Kind::LineComment | Kind::BlockComment => {
                    if self.options.comments {
                        self.words_in_text(token.start, token.end, false);
                    }
                    continue;
                }
                Kind::Word => self.word(cursor, index, before),
                Kind::String => self.string(cursor, index, before),
                // An apostrophe in a text that is no code opens one, too.
                Kind::Char => self.words_in_text(token.start, token.end, true),
                Kind::RawString if in_string => self.words_in_text(token.start, token.end, false),
                Kind::RawString => self.raw_string(cursor, index),
                Kind::Header => self.header_outside_include(cursor, index, in_string),
                Kind::Punct if cursor.is(index, b"<<<") => self.launch(cursor, index),
                Kind::Punct if cursor.is(index, b"<") => self.header_in_macro(token.end),
                _ => {}
            }
            before = Some(index);
        }
    }

    /// Notes the names that are declared here as functions: a type stands in front, and arguments behind.
    fn declarations(&mut self, cursor: &Cursor<'_>) {
        let mut before: Option<usize> = None;
        for (index, token) in cursor.tokens.iter().enumerate() {
            if token.is_trivia() {
                continue;
            }
            if token.kind == Kind::Word
                && let Some(before) = before
                && cursor.kind(before) == Some(Kind::Word)
                && cursor.source.get(token.end).is_some_and(|&byte| matches!(byte, b'(' | b' '))
                && !BEFORE_CALLS.contains(&cursor.text(before))
                && let Some(number) = self.tables.number(token.text(self.source))
                && self.row(number).lacking.contains(Lacking::FUNCTION)
            {
                self.declared.insert(token.text(self.source));
            }
            before = Some(index);
        }
    }

    fn word(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        let token = cursor.tokens[index];
        let word = token.text(cursor.source);
        if let Some(number) = self.tables.number(word) {
            let row = self.row(number);
            let to = self.chosen(row);
            if let Some(to) = to {
                if to != row.name {
                    self.edits.replace(token.start, token.end, to);
                    symbols::rewrite(cursor, index, to, &mut self.edits);
                }
                self.counter.add(number, to);
            }
            self.report_row(cursor, index, before, row, to);
            return;
        }
        match word {
            b"cub" | b"thrust" => self.namespace(cursor, index, before),
            b"asm" | b"__asm__" | b"__asm" => self.assembly(cursor, index),
            b"__CUDA_ARCH__" => self.report_advice(cursor, index, word),
            _ => self.unknown(cursor, index, word),
        }
    }

    /// A word that begins like CUDA's and is in no table.
    fn unknown(&mut self, cursor: &Cursor<'_>, index: usize, word: &[u8]) {
        if !word.starts_with(b"cu") && !word.starts_with(b"nv") {
            return;
        }
        let like_cuda = LIKE_CUDA.iter().any(|beginning| {
            word.strip_prefix(*beginning).is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_uppercase))
        });
        if like_cuda && !self.is_own(word) {
            let name = String::from_utf8_lossy(word);
            let token = cursor.tokens[index];
            self.report(
                token.start,
                token.end,
                Rule::Unknown,
                Severity::Warning,
                format!("`{name}` begins like a name of CUDA's and is not known"),
                "if it is the program's own, list it with --whitelist; otherwise HIP has no equivalent that is known here",
            );
        }
    }

    fn is_own(&self, word: &[u8]) -> bool {
        self.tables.is_own_name(word) || self.options.own_names.iter().any(|own| own.as_bytes() == word)
    }

    /// A word whose advice is all that is known of it.
    fn report_advice(&mut self, cursor: &Cursor<'_>, index: usize, word: &[u8]) {
        if let Some(advice) = self.tables.advice(word) {
            let token = cursor.tokens[index];
            let message = format!("`{}` is not defined for AMD", String::from_utf8_lossy(word));
            self.report(token.start, token.end, Rule::Unsupported, Severity::Warning, message, advice);
        }
    }

    /// What is to be said of a name that has a row.
    fn report_row(
        &mut self,
        cursor: &Cursor<'_>,
        index: usize,
        before: Option<usize>,
        row: &'static Row,
        to: Option<&'static str>,
    ) {
        if row.lacking.is_empty() && row.deprecated.is_none() && row.removed.is_none() && to.is_some() {
            return;
        }
        let name = row.name;
        if self.options.own_names.iter().any(|own| own == name) {
            return;
        }
        let lacks = |who| row.lacking.contains(who);
        let options = self.options;
        let own = self.declared.contains(name.as_bytes());
        let mut push = |rule, severity, message, advice: &str| {
            let token = cursor.tokens[index];
            let advice = self.tables.advice(name.as_bytes()).unwrap_or(advice);
            self.report(token.start, token.end, rule, severity, message, advice);
        };
        if lacks(Lacking::FUNCTION) {
            if !own && is_call(cursor, index, before) {
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

    // ---- namespaces ----

    /// `cub::`, `using namespace cub`, `namespace c = cub`; `thrust::cuda`, `thrust::system::cuda`.
    fn namespace(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        let token = cursor.tokens[index];
        let next = cursor.after(index);
        if cursor.is(index, b"cub") {
            let using = before.is_some_and(|before| {
                cursor.is(before, b"namespace")
                    && cursor.before(before).is_some_and(|using| cursor.is(using, b"using"))
            });
            // `namespace c = cub;`
            let renamed = before.filter(|&before| cursor.is(before, b"=")).and_then(|at| cursor.before(at));
            let renamed =
                renamed.and_then(|name| cursor.before(name)).is_some_and(|at| cursor.is(at, b"namespace"));
            let qualifies = next.is_some_and(|next| cursor.is(next, b"::"))
                && !before.is_some_and(|before| matches!(cursor.text(before), b"." | b"->"));
            if using || renamed || qualifies {
                self.namespaces += 1;
                self.edits.replace(token.start, token.end, "hipcub");
            }
            return;
        }
        let step = |at: Option<usize>| at.filter(|&at| cursor.is(at, b"::")).and_then(|at| cursor.after(at));
        let mut name = step(next);
        if name.is_some_and(|name| cursor.is(name, b"system")) {
            name = name.and_then(|name| step(cursor.after(name)));
        }
        if let Some(name) = name.filter(|&name| cursor.is(name, b"cuda")) {
            let token = cursor.tokens[name];
            self.namespaces += 1;
            self.edits.replace(token.start, token.end, "hip");
        }
    }

    // ---- strings and comments ----

    /// A string that is a header's name becomes that of HIP's; in any other, names are translated.
    fn string(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        let token = cursor.tokens[index];
        let included = before
            .is_some_and(|before| matches!(cursor.text(before), b"include" | b"import" | b"include_next"));
        if included {
            return;
        }
        let text = token.text(cursor.source);
        if let Some(to) =
            header_name(text).and_then(|name| self.header(name)).and_then(|n| self.chosen(self.row(n)))
        {
            if !to.is_empty() {
                self.edits.replace(token.start + 1, token.end - 1, to);
            }
            return;
        }
        self.words_in_text(token.start, token.end, true);
    }

    fn raw_string(&mut self, cursor: &Cursor<'_>, index: usize) {
        let token = cursor.tokens[index];
        let text = token.text(cursor.source);
        let (Some(quote), Some(open)) =
            (text.iter().position(|&byte| byte == b'"'), text.iter().position(|&byte| byte == b'('))
        else {
            return;
        };
        // What closes it is as long as what opens it: `)`, the delimiter, a quote. It is missing at the end of a file.
        let close = [b")", &text[quote + 1..open], b"\""].concat();
        let end = if text.len() > open && text[open + 1..].ends_with(&close) {
            text.len() - close.len()
        } else {
            text.len()
        };
        let base = token.start + open + 1;
        let mut tokens = lexer::tokens(&text[open + 1..end]);
        for inner in &mut tokens {
            inner.start += base;
            inner.end += base;
        }
        self.code(&Cursor { source: cursor.source, tokens: &tokens }, true);
    }

    /// `<…>` in a raw string's `#include`, or in `__has_include`.
    fn header_outside_include(&mut self, cursor: &Cursor<'_>, index: usize, in_string: bool) {
        let token = cursor.tokens[index];
        let before = cursor.before(index);
        let include = before.is_some_and(|before| !cursor.is(before, b"("));
        if include && !in_string {
            return;
        }
        let Some(name) = header_name(token.text(cursor.source)) else { return };
        if let Some(number) = self.header(name)
            && let Some(to) = self.chosen(self.row(number)).filter(|to| !to.is_empty())
        {
            self.counter.add(number, to);
            self.edits.replace(token.start + 1, token.end - 1, to);
        }
    }

    /// `#define HEADER <…>`: what ends at the next `>`, if that is a header's name.
    fn header_in_macro(&mut self, start: usize) {
        let rest = &self.source[start..self.source.len().min(start + 64)];
        if let Some(length) = rest.iter().position(|byte| b"> \n".contains(byte))
            && rest[length] == b'>'
            && let Some(number) = self.header(&rest[..length])
            && let Some(to) = self.chosen(self.row(number)).filter(|to| !to.is_empty())
        {
            self.counter.add(number, to);
            self.edits.replace(start, start + length, to);
        }
    }

    /// Translates names in a comment or string, and headers behind `<` or `"`.
    fn words_in_text(&mut self, start: usize, end: usize, escapes: bool) {
        let source = self.source;
        let mut at = start;
        while at < end {
            let byte = source[at];
            if escapes && byte == b'\\' {
                at += 2;
                continue;
            }
            if !is_word_byte(byte) {
                at += 1;
                continue;
            }
            let mut stop = at + 1;
            while stop < end && is_word_byte(source[stop]) {
                stop += 1;
            }
            let opens = at > start && matches!(source[at - 1], b'<' | b'"');
            if opens
                && source[stop..end].first().is_some_and(|&byte| matches!(byte, b'.' | b'/'))
                && let Some(length) =
                    source[at..end].iter().position(|&b| matches!(b, b'>' | b'"' | b'\\' | b'\n'))
                && let Some(number) = self.header(&source[at..at + length])
            {
                if let Some(to) = self.chosen(self.row(number)).filter(|to| !to.is_empty()) {
                    self.edits.replace(at, at + length, to);
                }
                at += length;
                continue;
            }
            let word = &source[at..stop];
            if let Some(number) = self.tables.number(word) {
                let row = self.row(number);
                if let Some(to) = self.chosen(row).filter(|&to| to != row.name) {
                    // `void*` in front of a slash would end a comment.
                    if !(to.ends_with('*') && source.get(stop) == Some(&b'/')) {
                        self.edits.replace(at, stop, to);
                    }
                }
            } else if word == b"cub" && source[stop..end].starts_with(b"::") {
                self.edits.replace(at, stop, "hipcub");
            }
            at = stop;
        }
    }

    // ---- the rest ----

    fn launch(&mut self, cursor: &Cursor<'_>, index: usize) {
        match launch::read(cursor, index) {
            Ok(launch) => {
                self.launches += 1;
                if self.options.hip_launches {
                    launch::rewrite(cursor, &launch, &mut self.edits);
                }
            }
            Err(reason) if self.options.hip_launches => {
                let token = cursor.tokens[index];
                self.report(
                    token.start,
                    token.end,
                    Rule::Launch,
                    Severity::Error,
                    format!("the launch stays as it is: {reason}"),
                    "HIP's compiler accepts `<<<…>>>` as well; or write `hipLaunchKernelGGL` by hand",
                );
            }
            Err(_) => {}
        }
    }

    /// `asm` with a string that looks like PTX.
    fn assembly(&mut self, cursor: &Cursor<'_>, index: usize) {
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

    fn finish(self) -> Translation {
        let mut stats =
            Stats { files: 1, launches: self.launches, namespaces: self.namespaces, ..Stats::default() };
        let mut found = self.found;
        found.sort_by_key(|found| found.start);
        let mut places = position::Places::new(self.source);
        let mut findings = Vec::with_capacity(found.len());
        for Found { start, end, rule, severity, message, advice } in found {
            match severity {
                Severity::Error => stats.errors += 1,
                Severity::Warning => stats.warnings += 1,
                Severity::Note => stats.notes += 1,
            }
            let (line, column) = places.place(start);
            let name = String::from_utf8_lossy(&self.source[start..end]).into_owned();
            let end_column = column + name.chars().count();
            findings.push(Finding { line, column, end_column, rule, severity, name, message, advice });
        }
        stats.lines = position::lines(self.source);
        stats.names = self.counter.into_counts(self.tables.rows());
        Translation { text: self.edits.apply(self.source), findings, stats }
    }
}

/// Whether a name is called as a function of no namespace or class.
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

/// Whether nothing but a comment follows on a token's line.
fn ends_line(cursor: &Cursor<'_>, index: usize) -> bool {
    let rest = cursor.tokens[index + 1..].iter();
    for token in rest {
        match token.kind {
            Kind::Space if token.text(cursor.source).contains(&b'\n') => return true,
            Kind::Space | Kind::LineComment | Kind::BlockComment | Kind::End => {}
            _ => return false,
        }
    }
    true
}

/// Words that only device code has, or sources that start it.
fn has_device_code(cursor: &Cursor<'_>) -> bool {
    const WORDS: [&[u8]; 4] = [b"__global__", b"__device__", b"__shared__", b"__constant__"];
    cursor.tokens.iter().any(|token| {
        token.kind == Kind::Word && WORDS.contains(&token.text(cursor.source))
            || token.kind == Kind::Punct && token.text(cursor.source) == b"<<<"
    })
}

/// Whether a string has something like `.u32` or `%laneid`, as PTX does.
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
