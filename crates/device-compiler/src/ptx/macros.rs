//! Macros, as far as inline PTX needs them: an `asm` statement whose text is composed by the preprocessor is
//! composed here, too.
//!
//! A macro counts if all its definitions, in all files of a compilation, are the same, or if the file that
//! uses it has removed one (`#undef`) before the next.
//!
//! Which definition of another macro counts is for the compiler to say, since conditions may ask for
//! `__CUDA_ARCH__`, which differs between the device and the host. If statements depend on such a macro, each
//! of its uses becomes a list with a text for each definition, and each definition selects from that list. If
//! just the text of a statement depends on such a macro, the statement becomes one for each text.

use std::collections::{HashMap, HashSet};

use cpp_lexer::{Kind, Token, tokens};

use super::statement;

/// What the definitions of macros with several begin with, once they select.
const SELECT: &str = "__cuda_ptx_select_##";

/// How deep macros may be nested, how many may be replaced, and how long the text may become.
const DEPTH: usize = 32;
const STEPS: usize = 10_000;
const LENGTH: usize = 1 << 18;
/// How many different definitions a macro may have, and how many texts a statement.
const CHOICES: usize = 16;

/// The names of the macros that are being replaced, and how many have been.
#[derive(Default)]
struct Progress {
    hidden: HashSet<String>,
    steps: usize,
    /// The definitions that count, by their places, of macros with several.
    choices: HashMap<String, usize>,
    /// The first macro with several definitions that has no choice.
    open: Option<String>,
}

/// A macro.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Macro {
    /// `None` if it is not like a function.
    parameters: Option<Vec<String>>,
    variadic: bool,
    body: String,
}

/// The macros of a compilation's files.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// `None` for a name with several meanings.
    macros: HashMap<String, Option<Macro>>,
    /// Those whose statements can only be rewritten where they are used.
    unfolding: HashSet<String>,
    /// Those with several meanings, of which the compiler chooses.
    several: HashMap<String, Vec<Macro>>,
    /// Those that a rewriting has made select.
    selecting: HashSet<String>,
}

/// The definitions in a file, in order. None for one that is not understood.
#[derive(Default)]
struct Found {
    all: Vec<(String, Option<Macro>)>,
    /// The names that have a second definition without the first being removed.
    several: HashSet<String>,
}

impl Found {
    fn of(source: &str, tokens: &[Token]) -> Self {
        let mut found = Self::default();
        let mut known: HashMap<&str, Option<Macro>> = HashMap::new();
        for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Hash) {
            match directive(source, tokens, at) {
                Some(Directive::Undef(name)) => drop(known.remove(name)),
                Some(Directive::Define(name, meaning)) => {
                    if known.get(name).is_some_and(|known| *known != meaning) {
                        found.several.insert(name.to_owned());
                    }
                    known.insert(name, meaning.clone());
                    found.all.push((name.to_owned(), meaning));
                }
                None => {}
            }
        }
        found
    }
}

/// A directive about a macro.
enum Directive<'a> {
    Define(&'a str, Option<Macro>),
    Undef(&'a str),
}

/// The directive at a token.
fn directive<'a>(source: &'a str, tokens: &[Token], hash: usize) -> Option<Directive<'a>> {
    let word = |at: usize| tokens.get(at).and_then(|token| text_of(source, token));
    let skip = |mut at: usize| {
        while tokens.get(at).is_some_and(Token::is_trivia) {
            at += 1;
        }
        at
    };
    let keyword = skip(hash + 1);
    let name = skip(keyword + 1);
    let text = word(name).filter(|_| tokens[name].kind == Kind::Word)?;
    match word(keyword)? {
        "undef" => Some(Directive::Undef(text)),
        "define" => Some(Directive::Define(text, definition(source, tokens, name))),
        _ => None,
    }
}

impl Definitions {
    /// The macros that texts define.
    #[must_use]
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut meanings: HashMap<String, Vec<Option<Macro>>> = HashMap::new();
        let mut several = HashSet::new();
        for text in texts.into_iter().filter(|text| text.contains("define")) {
            let found = Found::of(text, &tokens(text.as_bytes()));
            several.extend(found.several);
            let mut own: HashMap<String, Vec<Option<Macro>>> = HashMap::new();
            for (name, meaning) in found.all {
                let own = own.entry(name).or_default();
                if !own.contains(&meaning) {
                    own.push(meaning);
                }
            }
            for (name, own) in own {
                let known = meanings.entry(name.clone()).or_default();
                if !known.is_empty() && *known != own {
                    several.insert(name);
                }
                for meaning in own {
                    if !known.contains(&meaning) {
                        known.push(meaning);
                    }
                }
            }
        }
        let mut all = Self::default();
        for (name, mut meanings) in meanings {
            if meanings.iter().flatten().any(|meaning| meaning.body.starts_with(SELECT)) {
                all.selecting.insert(name.clone());
            }
            let meaning = if several.contains(&name) {
                let understood: Option<Vec<Macro>> = meanings.into_iter().collect();
                if let Some(understood) = understood.filter(|list| list.len() <= CHOICES) {
                    all.several.insert(name.clone(), understood);
                }
                None
            } else {
                meanings.pop().flatten()
            };
            all.macros.insert(name, meaning);
        }
        all.find_unfolding();
        all
    }

    /// The same, with the macros that options of the command line define. No definition of these can be
    /// changed.
    #[must_use]
    pub fn with_options<'a>(mut self, options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        for (name, body) in options {
            let line = format!("#define {name} {body}\n");
            let list = tokens(line.as_bytes());
            let Some(Directive::Define(name, Some(found))) = directive(&line, &list, 0) else { continue };
            let known = self.macros.get(name).cloned();
            if self.unfolding.contains(name) {
                self.several.remove(name);
                self.unfolding.remove(name);
                self.macros.insert(name.to_owned(), None);
                continue;
            }
            match known {
                Some(Some(known)) if known != found => {
                    self.several.insert(name.to_owned(), vec![known, found]);
                    self.macros.insert(name.to_owned(), None);
                }
                Some(None) => {
                    if let Some(all) = self.several.get_mut(name)
                        && !all.contains(&found)
                    {
                        all.push(found);
                    }
                }
                _ => drop(self.macros.insert(name.to_owned(), Some(found))),
            }
        }
        self
    }

    /// Whether a text may use a macro that must be unfolded.
    pub(super) fn may_unfold(&self, text: &str) -> bool {
        self.unfolding.iter().any(|name| text.contains(name.as_str()))
    }

    /// Whether uses of a macro must be unfolded.
    pub(super) fn unfolds(&self, name: &str) -> bool {
        self.unfolding.contains(name)
    }

    /// Takes the directive at a token of a text into account: a definition or its removal.
    pub(super) fn directive(&mut self, source: &str, tokens: &[Token], hash: usize) {
        match directive(source, tokens, hash) {
            Some(Directive::Undef(name)) if !self.several.contains_key(name) => {
                self.macros.remove(name);
                self.unfolding.remove(name);
            }
            Some(Directive::Define(name, found)) if !self.several.contains_key(name) => {
                let known = self.macros.get(name);
                let found = if known.is_some_and(|known| *known != found) { None } else { found };
                if found.as_ref().is_some_and(|found| self.must_unfold(&found.body)) {
                    self.unfolding.insert(name.to_owned());
                }
                self.macros.insert(name.to_owned(), found);
            }
            _ => {}
        }
    }

    /// The same macros, for a file with its own.
    pub(super) fn for_file(&self, own: &HashSet<String>) -> Self {
        let mut file = self.clone();
        // The file's own definitions are read as it goes.
        let kept = |name: &String| !own.contains(name) || self.several.contains_key(name);
        file.macros.retain(|name, _| kept(name));
        file.unfolding.retain(kept);
        file
    }

    /// What becomes of a definition with others beside it: it selects its own text from those that uses
    /// list.
    pub(super) fn selector(&self, source: &str, tokens: &[Token], hash: usize) -> Option<String> {
        let Some(Directive::Define(name, Some(found))) = directive(source, tokens, hash) else { return None };
        let all = self.several.get(name).filter(|_| self.unfolding.contains(name))?;
        let place = all.iter().position(|one| *one == found)?;
        let list: String = (0..all.len()).map(|i| format!(", __ptx_text{i}")).collect();
        Some(format!("#define {name}(__ptx_use{list}) {SELECT}__ptx_use __ptx_text{place}"))
    }

    /// The texts that a macro with several meanings may have where it is used, and the use's last token. None
    /// if the name is not used as a macro.
    pub(super) fn choices(&self, source: &str, tokens: &[Token], at: usize) -> Option<(Vec<String>, usize)> {
        let name = text_of(source, &tokens[at])?;
        let all = self.several.get(name)?;
        let given = all.iter().any(|one| one.parameters.is_some());
        let given = if given { arguments(source, tokens, at + 1) } else { None };
        if given.is_none() && all.iter().all(|one| one.parameters.is_some()) {
            return None;
        }
        let end = given.as_ref().map_or(at, |(_, end)| *end);
        let mut behind = String::new();
        for token in &tokens[at + 1..=end] {
            behind.push_str(if token.is_trivia() { " " } else { text_of(source, token)? });
        }
        let text = |one: &Macro| match (&one.parameters, &given) {
            (None, _) => Some(format!("{} {behind}", one.body)),
            (Some(parameters), Some((given, _))) => {
                self.substituted(one, parameters, given, &mut Progress::default())
            }
            (Some(_), None) => None,
        };
        // Where a meaning has no text, the compiler reports the name.
        let texts: Vec<String> =
            all.iter().map(|one| text(one).unwrap_or_else(|| format!("{name}{behind}"))).collect();
        texts.iter().all(|text| is_argument(text)).then_some((texts, end))
    }

    /// Whether a macro with a body has a statement whose text needs its arguments, or uses such a macro.
    fn must_unfold(&self, body: &str) -> bool {
        if body.contains("asm") && statement::has_composed(body) {
            return true;
        }
        self.has_unfolding(body)
    }

    /// Whether a text uses a macro that must be unfolded, or was.
    pub(super) fn has_unfolding(&self, text: &str) -> bool {
        let is_one = |word: &str| self.unfolding.contains(word) || self.selecting.contains(word);
        !(self.unfolding.is_empty() && self.selecting.is_empty())
            && tokens(text.as_bytes())
                .iter()
                .filter(|token| token.kind == Kind::Word)
                .any(|token| text_of(text, token).is_some_and(is_one))
    }

    /// Finds the macros that must be unfolded, until there are no more.
    fn find_unfolding(&mut self) {
        loop {
            let single = self.macros.iter().filter_map(|(name, found)| Some((name, found.as_ref()?)));
            let several = self.several.iter().flat_map(|(name, all)| all.iter().map(move |one| (name, one)));
            let more: Vec<String> = single
                .chain(several)
                .filter(|(name, found)| !self.unfolding.contains(*name) && self.must_unfold(&found.body))
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return;
            }
            self.unfolding.extend(more);
        }
    }

    /// Whether a macro is known to stand for something other than string literals.
    pub(super) fn is_no_string(&self, name: &str) -> bool {
        let Some(Some(found)) = self.macros.get(name) else { return false };
        let tokens = tokens(found.body.as_bytes());
        found.parameters.is_some() || tokens.iter().any(|t| !t.is_trivia() && t.kind != Kind::String)
    }

    /// The use of a macro at a token, replaced once: the text, and the use's last token.
    pub(super) fn unfolded(&self, source: &str, tokens: &[Token], at: usize) -> Option<(String, usize)> {
        let found = self.macros.get(text_of(source, &tokens[at])?)?.as_ref()?;
        let (text, end) = match &found.parameters {
            None => (found.body.clone(), at),
            Some(parameters) => {
                let (arguments, end) = arguments(source, tokens, at + 1)?;
                (self.substituted(found, parameters, &arguments, &mut Progress::default())?, end)
            }
        };
        // A macro's text is never a directive.
        (!text.trim_start().starts_with('#')).then_some((text, end))
    }

    /// A text with all known macros replaced.
    pub(super) fn expanded(&self, text: &str) -> Option<String> {
        self.expand(text, &mut Progress::default())
    }

    /// All texts that one may have with its macros replaced, depending on which of their definitions count.
    pub(super) fn all_expanded(&self, text: &str) -> Option<Vec<String>> {
        let mut found = Vec::new();
        let mut waiting = vec![HashMap::new()];
        while let Some(choices) = waiting.pop() {
            let mut progress = Progress { choices, ..Progress::default() };
            match (self.expand(text, &mut progress), progress.open.take()) {
                (Some(text), _) if found.contains(&text) => {}
                (Some(text), _) => found.push(text),
                (None, None) => return None,
                (None, Some(name)) => {
                    for place in (0..self.several.get(&name)?.len()).rev() {
                        let mut choices = progress.choices.clone();
                        choices.insert(name.clone(), place);
                        waiting.push(choices);
                    }
                }
            }
            if found.len() + waiting.len() > CHOICES {
                return None;
            }
        }
        Some(found)
    }

    /// The definition of a macro that counts. None if it is none; an error if it is not known.
    fn meaning(&self, name: &str, progress: &mut Progress) -> Result<Option<&Macro>, ()> {
        match self.macros.get(name) {
            None => Ok(None),
            Some(Some(found)) => Ok(Some(found)),
            Some(None) => match (self.several.get(name), progress.choices.get(name)) {
                (Some(all), Some(place)) => Ok(all.get(*place)),
                (Some(_), None) => {
                    progress.open.get_or_insert_with(|| name.to_owned());
                    Err(())
                }
                (None, _) => Err(()),
            },
        }
    }

    fn expand(&self, text: &str, progress: &mut Progress) -> Option<String> {
        progress.steps += 1;
        if progress.hidden.len() > DEPTH || progress.steps > STEPS {
            return None;
        }
        let list = tokens(text.as_bytes());
        let (mut out, mut at) = (String::new(), 0);
        while at < list.len() {
            let token = text_of(text, &list[at])?;
            let found = if list[at].kind == Kind::Word && !progress.hidden.contains(token) {
                self.meaning(token, progress).ok()?
            } else {
                None
            };
            let mut end = at;
            match found {
                Some(found) => {
                    let body = match &found.parameters {
                        None => Some(found.body.clone()),
                        Some(parameters) => match arguments(text, &list, at + 1) {
                            Some((arguments, last)) => {
                                end = last;
                                Some(self.substituted(found, parameters, &arguments, progress)?)
                            }
                            None => None,
                        },
                    };
                    match body {
                        Some(body) => {
                            progress.hidden.insert(token.to_owned());
                            let body = self.expand(&body, progress)?;
                            progress.hidden.remove(token);
                            out.push_str(&body);
                        }
                        None => out.push_str(token),
                    }
                }
                None => out.push_str(token),
            }
            if out.len() > LENGTH {
                return None;
            }
            at = end + 1;
        }
        Some(out)
    }

    /// A macro's body with its arguments.
    fn substituted(
        &self,
        found: &Macro,
        parameters: &[String],
        given: &[String],
        progress: &mut Progress,
    ) -> Option<String> {
        let none = parameters.is_empty() && given.len() == 1 && given[0].is_empty();
        if !(none || given.len() == parameters.len() || found.variadic && given.len() + 1 >= parameters.len())
        {
            return None;
        }
        let argument = |name: &str| -> Option<String> {
            let place = parameters.iter().position(|parameter| parameter == name)?;
            if found.variadic && place + 1 == parameters.len() {
                return Some(given.get(place..).unwrap_or_default().join(", "));
            }
            given.get(place).cloned()
        };
        let body = &found.body;
        let list: Vec<Token> = tokens(body.as_bytes()).into_iter().filter(|t| t.kind != Kind::End).collect();
        let mut out = String::new();
        let mut at = 0;
        if list.iter().any(|token| text_of(body, token).is_none()) {
            return None;
        }
        let text = |at: usize| list.get(at).and_then(|token| text_of(body, token)).unwrap_or_default();
        let skip = |mut at: usize| {
            while list.get(at).is_some_and(Token::is_trivia) {
                at += 1;
            }
            at
        };
        let mut pasted = false;
        while at < list.len() {
            let token = text(at);
            if token == "#" && text(at + 1) == "#" {
                // The operands of `##` touch.
                out.truncate(out.trim_end().len());
                at = skip(at + 2);
                pasted = true;
                continue;
            }
            if token == "#" {
                // What follows must be a parameter.
                let name = skip(at + 1);
                out.push_str(&quoted(&argument(text(name))?));
                at = name + 1;
                continue;
            }
            match argument(token).filter(|_| list[at].kind == Kind::Word) {
                Some(argument) => {
                    let next = skip(at + 1);
                    if pasted || text(next) == "#" && text(next + 1) == "#" {
                        out.push_str(&argument);
                    } else {
                        out.push_str(&self.expand(&argument, progress)?);
                    }
                }
                None => out.push_str(token),
            }
            pasted = false;
            if out.len() > LENGTH {
                return None;
            }
            at += 1;
        }
        Some(out)
    }
}

/// The names that a text defines.
pub(super) fn names(source: &str, tokens: &[Token]) -> HashSet<String> {
    Found::of(source, tokens).all.into_iter().map(|(name, _)| name).collect()
}

/// Whether a text in parentheses is one argument of a macro.
fn is_argument(text: &str) -> bool {
    let mut depth = 0_usize;
    for token in tokens(text.as_bytes()) {
        match (token.kind, text_of(text, &token)) {
            (Kind::Hash, _) | (_, None) => return false,
            (_, Some("(")) => depth += 1,
            (_, Some(")")) => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

/// The macro whose name is at a token of its definition.
fn definition(source: &str, tokens: &[Token], name: usize) -> Option<Macro> {
    let end = (name..tokens.len()).find(|at| tokens[*at].kind == Kind::End)?;
    let mut at = name + 1;
    let (mut parameters, mut variadic) = (None, false);
    if at < end && source.as_bytes()[tokens[at].start] == b'(' {
        let mut names = Vec::new();
        loop {
            at += 1;
            let token = tokens.get(at).filter(|_| at < end)?;
            match text_of(source, token)? {
                ")" => break,
                "," => {}
                "." => variadic = true,
                word if token.kind == Kind::Word => names.push(word.to_owned()),
                _ if token.is_trivia() => {}
                _ => return None,
            }
        }
        if variadic {
            names.push("__VA_ARGS__".into());
        }
        parameters = Some(names);
        at += 1;
    }
    // Without comments, on one line.
    let mut body = String::new();
    for token in &tokens[at..end] {
        match token.kind {
            _ if token.is_trivia() => body.push(' '),
            _ => body.push_str(text_of(source, token)?),
        }
    }
    Some(Macro { parameters, variadic, body: body.trim().to_owned() })
}

/// The arguments in parentheses after a macro's name, and the closing one.
fn arguments(source: &str, tokens: &[Token], mut at: usize) -> Option<(Vec<String>, usize)> {
    while tokens.get(at)?.is_trivia() {
        at += 1;
    }
    if source.as_bytes()[tokens[at].start] != b'(' {
        return None;
    }
    let (mut depth, mut all, mut last) = (0_usize, Vec::new(), String::new());
    loop {
        let token = tokens.get(at)?;
        let text = text_of(source, token)?;
        match text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        match text {
            ")" if depth == 0 => {
                all.push(last.trim().to_owned());
                return Some((all, at));
            }
            "," if depth == 1 => all.push(std::mem::take(&mut last).trim().to_owned()),
            "(" if depth == 1 => {}
            _ if token.kind == Kind::Hash => return None,
            _ if token.is_trivia() => last.push(' '),
            text => last.push_str(text),
        }
        at += 1;
    }
}

/// A text as a string literal.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    let mut space = false;
    for c in text.trim().chars() {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if std::mem::take(&mut space) {
            out.push(' ');
        }
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// The text of a token; `None` if it is a part of a character.
pub(super) fn text_of<'a>(source: &'a str, token: &Token) -> Option<&'a str> {
    source.get(token.start..token.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_become_their_text() {
        let all = Definitions::of([
            "#define STR(x) #x\n#define XSTR(x) STR(x)\n#define W 32\n#define OP(a, b) \"add.\" a #b\n#define A B A\n",
            "#define W 32\n#define TWICE 1\n",
            "#define TWICE 2\n#define GLUE(a, b) a ## b\n#define MANY(f, ...) f(__VA_ARGS__)\n",
        ]);
        for (text, expected) in [
            ("XSTR(W)", Some("\"32\"")),
            ("STR(W)", Some("\"W\"")),
            ("OP(\"x\", b 1 )", Some("\"add.\" \"x\" \"b 1\"")),
            ("A", Some("B A")),
            ("TWICE", None),
            ("GLUE(W, 1)", Some("W1")),
            ("MANY(STR, a, b)", None),
            ("MANY(GLUE, a, b)", Some("ab")),
            ("UNKNOWN(TWICE)", None),
            ("STR", Some("STR")),
            ("STR(\u{e4})", None),
        ] {
            assert_eq!(all.expanded(text).as_deref(), expected, "{text}");
        }
        let texts = |text: &str| all.all_expanded(text);
        assert_eq!(texts("TWICE + TWICE"), Some(vec!["1 + 1".to_owned(), "2 + 2".to_owned()]));
        assert_eq!(texts("W"), Some(vec!["32".to_owned()]));
        let with = all.clone().with_options([("TWICE", "3"), ("W", "64"), ("F(x)", "x x")]);
        assert_eq!(with.all_expanded("TWICE").map(|all| all.len()), Some(3));
        assert_eq!(with.all_expanded("W"), Some(vec!["32".to_owned(), "64".to_owned()]));
        assert_eq!(with.expanded("F(1)").as_deref(), Some("1 1"));
        let many = "#define A0\n".to_owned()
            + &(1..40).map(|i| format!("#define A{i} A{0} A{0}\n", i - 1)).collect::<String>();
        assert_eq!(Definitions::of([many.as_str()]).expanded("A30"), None, "not for ever");
    }
}
