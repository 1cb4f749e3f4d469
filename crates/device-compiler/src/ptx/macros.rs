//! Macros, as far as inline PTX needs them: an `asm` statement whose text is composed by the preprocessor is
//! composed here, too.
//!
//! A macro counts if all its definitions, in all files of a compilation, are the same, or if the file that
//! uses it has removed one (`#undef`) before the next. Others are left for the compiler, which then reports the
//! statement.

use std::collections::{HashMap, HashSet};

use cpp_lexer::{Kind, Token, tokens};

use super::statement;

/// How deep macros may be nested, how many may be replaced, and how long the text may become.
const DEPTH: usize = 32;
const STEPS: usize = 10_000;
const LENGTH: usize = 1 << 18;

/// The names of the macros that are being replaced, and how many have been.
#[derive(Default)]
struct Progress {
    hidden: HashSet<String>,
    steps: usize,
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
}

impl Definitions {
    /// The macros that texts define.
    #[must_use]
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        let mut files = Vec::new();
        for text in texts.into_iter().filter(|text| text.contains("define")) {
            let mut file = Self::default();
            let tokens = tokens(text.as_bytes());
            for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Hash) {
                file.directive(text, &tokens, at);
            }
            files.push(file);
        }
        for (name, found) in files.into_iter().flat_map(|file| file.macros) {
            all.macros
                .entry(name)
                .and_modify(|known| {
                    if *known != found {
                        *known = None;
                    }
                })
                .or_insert(found);
        }
        all.find_unfolding();
        all
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
        let words = |at: usize| tokens.get(at).and_then(|token| text_of(source, token));
        let skip = |mut at: usize| {
            while tokens.get(at).is_some_and(Token::is_trivia) {
                at += 1;
            }
            at
        };
        let keyword = skip(hash + 1);
        let name = skip(keyword + 1);
        let Some(text) = words(name).filter(|_| tokens[name].kind == Kind::Word) else { return };
        match words(keyword) {
            Some("undef") => {
                self.macros.remove(text);
                self.unfolding.remove(text);
            }
            Some("define") => {
                let found = definition(source, tokens, name);
                let known = self.macros.get(text);
                let found = if known.is_some_and(|known| *known != found) { None } else { found };
                if found.as_ref().is_some_and(|found| self.must_unfold(&found.body)) {
                    self.unfolding.insert(text.to_owned());
                }
                self.macros.insert(text.to_owned(), found);
            }
            _ => {}
        }
    }

    /// The same macros, for a file with its own.
    pub(super) fn for_file(&self, own: &HashSet<String>) -> Self {
        let mut file = self.clone();
        // The file's own definitions are read as it goes.
        file.macros.retain(|name, _| !own.contains(name));
        file.unfolding.retain(|name| !own.contains(name));
        file
    }

    /// Whether a macro with a body has a statement whose text needs its arguments, or uses such a macro.
    fn must_unfold(&self, body: &str) -> bool {
        if body.contains("asm") && statement::has_composed(body) {
            return true;
        }
        self.has_unfolding(body)
    }

    /// Whether a text uses a macro that must be unfolded.
    pub(super) fn has_unfolding(&self, text: &str) -> bool {
        !self.unfolding.is_empty()
            && tokens(text.as_bytes())
                .iter()
                .filter(|token| token.kind == Kind::Word)
                .any(|token| text_of(text, token).is_some_and(|word| self.unfolding.contains(word)))
    }

    /// Finds the macros that must be unfolded, until there are no more.
    fn find_unfolding(&mut self) {
        loop {
            let more: Vec<String> = self
                .macros
                .iter()
                .filter_map(|(name, found)| Some((name, found.as_ref()?)))
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
        let Some(parameters) = &found.parameters else { return Some((found.body.clone(), at)) };
        let (arguments, end) = arguments(source, tokens, at + 1)?;
        Some((self.substituted(found, parameters, &arguments, &mut Progress::default())?, end))
    }

    /// A text with all known macros replaced.
    pub(super) fn expanded(&self, text: &str) -> Option<String> {
        self.expand(text, &mut Progress::default())
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
                self.macros.get(token)
            } else {
                None
            };
            let mut end = at;
            match found {
                Some(None) => return None,
                Some(Some(found)) => {
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
                let name = skip(at + 1);
                if let Some(argument) = argument(text(name)) {
                    out.push_str(&quoted(&argument));
                    at = name + 1;
                    continue;
                }
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
    let mut own = Definitions::default();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Hash) {
        own.directive(source, tokens, at);
    }
    own.macros.into_keys().collect()
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
            ("STR", Some("STR")),
            ("STR(\u{e4})", None),
        ] {
            assert_eq!(all.expanded(text).as_deref(), expected, "{text}");
        }
        let many = "#define A0\n".to_owned()
            + &(1..40).map(|i| format!("#define A{i} A{0} A{0}\n", i - 1)).collect::<String>();
        assert_eq!(Definitions::of([many.as_str()]).expanded("A30"), None, "not for ever");
    }
}
