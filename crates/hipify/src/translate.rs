//! The translation of one source.

mod arguments;
mod check;
mod headers;
mod text;

use std::collections::HashSet;

use crate::cursor::Cursor;
use crate::edit::Edits;
use crate::finding::{Finding, Rule, Severity};
use crate::stats::{Counter, Stats};
use crate::tables::{Row, Tables};
use crate::{conditions, declared, includes, launch, masks, position, symbols};
use cpp_lexer::Kind;
use headers::has_device_code;

/// How to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Translate to rocBLAS, rocRAND, rocSPARSE, rocSOLVER and MIOpen, if they have the name, rather than to
    /// hipBLAS and so on.
    pub roc: bool,
    /// Translate cuDNN to MIOpen, if it has the name, rather than to hipDNN.
    pub miopen: bool,
    /// Also translate to names that are experimental in HIP.
    pub experimental: bool,
    /// Turn launches with `<<<…>>>` into calls of `hipLaunchKernelGGL`; otherwise they stay, since HIP
    /// supports them.
    pub hip_launches: bool,
    /// Also translate names in comments.
    pub comments: bool,
    /// Keep includes that are duplicates after the translation; otherwise their lines become empty.
    pub duplicate_headers: bool,
    /// Include HIP's header in a source with device code, or calls of the runtime, that does not include it:
    /// in an empty line or in front of a comment if there is one early enough, and otherwise in a line of its
    /// own, the first one.
    pub runtime_header: bool,
    /// The program's own names that look like CUDA's.
    pub own_names: Vec<String>,
    /// All headers that the compiler includes with the source, except those of the program itself. `None` if
    /// that is not known: the source's own includes then count.
    pub headers: Option<Vec<String>>,
    /// All macros that the program defines, in its sources or for its compiler. `None` if that is not known:
    /// each macro may then be defined.
    pub macros: Option<Vec<String>>,
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
            headers: None,
            macros: None,
        }
    }
}

/// A translated source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Translation {
    /// The source in HIP, with as many lines as before, or one more at the start for HIP's header.
    pub text: Vec<u8>,
    /// What does not translate, in the order of the source.
    pub findings: Vec<Finding>,
    /// What was translated.
    pub stats: Stats,
}

/// The names that look like CUDA's and that a source declares itself: for [`Options::own_names`] of the
/// sources that include it, or that it includes.
#[must_use]
pub fn declared_names(source: &[u8]) -> Vec<String> {
    let tokens = cpp_lexer::tokens(source);
    let tables = Tables::get();
    let names = declared::names(&Cursor { source, tokens: &tokens });
    let like_cuda = |name: &&[u8]| check::is_like_cuda(name) || tables.number(name).is_some();
    let names = names.iter().map(|token| token.text(source)).filter(like_cuda);
    let mut names: Vec<_> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Translates a source from CUDA to HIP. The source may be any bytes; everything but CUDA is unchanged.
#[must_use]
pub fn translate(source: &[u8], options: &Options) -> Translation {
    let mut translation = pass(source, options);
    // A launch that hindered the parsing of another one is now a call. Each pass has fewer launches than the
    // one before.
    while options.hip_launches && translation.stats.launches > 0 && has_launch(&translation.findings) {
        let next = pass(&translation.text, options);
        // The first pass may have added a line.
        let added = position::lines(&translation.text).saturating_sub(translation.stats.lines);
        translation.text = next.text;
        let before = translation.findings.len();
        translation.findings.retain(|finding| {
            let stays = |other: &Finding| other.rule == Rule::Launch && other.line == finding.line + added;
            finding.rule != Rule::Launch || next.findings.iter().any(stays)
        });
        translation.stats.errors -= before - translation.findings.len();
        translation.stats.launches += next.stats.launches;
        if next.stats.launches == 0 {
            break;
        }
    }
    translation
}

/// Whether a launch could not be parsed.
fn has_launch(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.rule == Rule::Launch)
}

/// Translates everything that can be parsed in one pass.
fn pass(source: &[u8], options: &Options) -> Translation {
    let apart = launch::join(source);
    let source = apart.source.as_deref().unwrap_or(source);
    let tokens = cpp_lexer::tokens(source);
    let mut translator = Translator {
        options,
        tables: Tables::get(),
        source,
        edits: Edits::default(),
        found: Vec::new(),
        counter: Counter::default(),
        launches: 0,
        namespaces: 0,
        settled: HashSet::new(),
        declared: HashSet::new(),
        unread: Vec::new(),
        storage: false,
        sparse: false,
        helper: false,
        fftw: false,
    };
    for (start, end) in apart.spaces {
        translator.edits.delete(start, end);
    }
    let cursor = Cursor { source, tokens: &tokens };
    let directives = includes::read(&cursor);
    translator.fftw = directives.includes.iter().any(|include| include.name == b"cufftw.h");
    let uses = |library: &[u8]| directives.includes.iter().any(|include| include.name.starts_with(library));
    translator.helper = uses(b"helper_math.h");
    translator.storage = has_device_code(&cursor);
    translator.sparse = options.roc && uses(b"cusparse") && !uses(b"cublas");
    translator.declarations(&cursor);
    translator.includes(&cursor, &directives);
    translator.implicit(&cursor, &directives);
    translator.code(&cursor, false);
    translator.finish()
}

/// A finding with its place in the source.
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
    /// Where arguments begin whose words need nothing more.
    settled: HashSet<usize>,
    /// Names that the source declares itself.
    declared: HashSet<&'a [u8]>,
    /// Parts of the source that AMD's compiler does not read.
    unread: Vec<(usize, usize)>,
    /// Whether `register` goes: clang's C++17 lacks it, and nvcc's does not.
    storage: bool,
    /// Whether types of data are rocSPARSE's in the whole source, since it does not use cuBLAS.
    sparse: bool,
    /// Whether the source includes helper_math.h, which becomes another header.
    helper: bool,
    /// Whether the source includes cuFFT's header with FFTW's names.
    fftw: bool,
}

impl<'a> Translator<'a> {
    /// The translation of a row with these options.
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
        if self.unread.iter().any(|&(first, last)| (first..last).contains(&start)) {
            return;
        }
        self.found.push(Found { start, end, rule, severity, message, advice: advice.to_owned() });
    }

    /// Translates all tokens. A raw string may hold a source for the run-time compiler, so it is treated as
    /// code, too.
    fn code(&mut self, cursor: &Cursor<'_>, in_string: bool) {
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
                // An apostrophe in non-code text also opens a character literal.
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

    /// Records what the source declares, and what of it is not read.
    fn declarations(&mut self, cursor: &Cursor<'_>) {
        let source = self.source;
        self.declared.extend(declared::names(cursor).iter().map(|token| token.text(source)));
        self.unread.extend(conditions::unread(cursor, self.options.macros.as_deref()));
    }

    /// Whether a name is the program's own.
    fn is_own(&self, name: &[u8]) -> bool {
        self.declared.contains(name)
            || self.tables.is_own_name(name)
            || self.options.own_names.iter().any(|own| own.as_bytes() == name)
            || !self.fftw && name.starts_with(b"fftw")
    }

    fn word(&mut self, cursor: &Cursor<'_>, index: usize, before: Option<usize>) {
        let token = cursor.tokens[index];
        let word = token.text(cursor.source);
        if self.settled.contains(&token.start) {
            return;
        }
        masks::widen(cursor, index, &mut self.edits);
        masks::count(cursor, index, &mut self.edits);
        symbols::assign(cursor, index, &mut self.edits);
        self.atomic(cursor, index, before);
        self.operator(cursor, index);
        self.helper(cursor, index, before);
        let done = self.form(cursor, index);
        self.data_types(cursor, index);
        if done {
            return;
        }
        if let Some(number) = self.tables.number(word) {
            let row = self.row(number);
            let to = self.chosen(&row);
            if let Some(to) = to {
                let sparse = to.strip_prefix("rocblas_datatype").filter(|_| self.sparse);
                if let Some(rest) = sparse {
                    self.edits.replace(token.start, token.end, format!("rocsparse_datatype{rest}"));
                } else if to != row.name {
                    self.edits.replace(token.start, token.end, to);
                    symbols::rewrite(cursor, index, to, &mut self.edits);
                }
                self.counter.add(number, to);
            }
            self.report_row(cursor, index, before, &row, to);
            return;
        }
        match word {
            b"cub" | b"thrust" => self.namespace(cursor, index, before),
            b"register" if self.storage => self.storage_class(cursor, index),
            b"asm" | b"__asm__" | b"__asm" => self.assembly(cursor, index),
            b"__CUDA_ARCH__" => self.report_advice(cursor, index, word),
            _ => self.unknown(cursor, index, word),
        }
    }

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

    /// `register` in front of a type.
    fn storage_class(&mut self, cursor: &Cursor<'_>, index: usize) {
        if let Some(next) = cursor.after(index).filter(|&next| cursor.kind(next) == Some(Kind::Word)) {
            let end = if cursor.is_plain_between(index, next) {
                cursor.tokens[next].start
            } else {
                cursor.tokens[index].end
            };
            self.edits.delete(cursor.tokens[index].start, end);
        }
    }

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
                    format!("the launch is unchanged: {reason}"),
                    "HIP's compiler accepts `<<<…>>>` as well; or write `hipLaunchKernelGGL` by hand",
                );
            }
            Err(_) => {}
        }
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
        stats.names = self.counter.into_counts(self.tables);
        Translation { text: self.edits.apply(self.source), findings, stats }
    }
}
