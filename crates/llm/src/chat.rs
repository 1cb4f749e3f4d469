//! Chat templates: messages to the text of a prompt.
//!
//! A model's file contains its template, in the language Jinja as Hugging Face's `transformers` runs it:
//! blocks are trimmed, strings and lists have Python's methods, and there are `raise_exception`,
//! `strftime_now` and a `tojson` that writes as Python's `json.dumps` does.

mod json;
mod time;

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, ErrorKind};

use crate::error::{Error, Result};
use crate::gguf::Metadata;
use crate::tokenizer::Tokenizer;

/// A value for a template. Unlike `serde_json`'s, objects keep their order, which is that of the prompt.
pub use minijinja::Value;
/// What kind of value one is.
pub use minijinja::value::ValueKind;

/// Steps that a template may take. A chat of a thousand messages takes some tens of thousands.
const FUEL: u64 = 5_000_000;
const NAME: &str = "chat template";

/// A model's chat template.
pub struct ChatTemplate {
    source: String,
    environment: Environment<'static>,
    bos: String,
    eos: String,
}

/// What a prompt is made from.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    /// A list of objects with `role` and `content`, and what else the model knows.
    pub messages: Value,
    /// A list of tools, as OpenAI's API describes them.
    pub tools: Option<Value>,
    /// Whether the prompt ends with the beginning of the model's answer.
    pub add_generation_prompt: bool,
    /// Other variables, such as `enable_thinking`.
    pub variables: Vec<(String, Value)>,
}

impl Chat {
    /// A chat of texts: roles and contents.
    #[must_use]
    pub fn of_texts(messages: &[(&str, &str)]) -> Self {
        let messages = messages.iter().map(|&(role, content)| {
            Value::from_pairs([
                ("role".to_owned(), Value::from(role)),
                ("content".to_owned(), Value::from(content)),
            ])
        });
        Self { messages: messages.collect(), add_generation_prompt: true, ..Self::default() }
    }
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate").field("source", &self.source).finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Compiles a template. `bos` and `eos` are the texts of the tokens that begin and end a text.
    ///
    /// # Errors
    /// [`Error::Template`] with the line and the reason.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(failed)?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", json::filter);
        environment.add_function("raise_exception", |text: String| -> Result<Value, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, text))
        });
        environment.add_function("strftime_now", |format: &str| time::format(format, SystemTime::now()));
        environment.add_function("dict", |values: Kwargs| -> Result<Value, minijinja::Error> {
            let names: Vec<String> = values.args().map(str::to_owned).collect();
            let pairs = names.into_iter().map(|name| Ok((name.clone(), values.get::<Value>(&name)?)));
            Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, minijinja::Error>>()?))
        });
        environment.add_template_owned(NAME, without_generation(source)).map_err(failed)?;
        Ok(Self { source: source.to_owned(), environment, bos: bos.to_owned(), eos: eos.to_owned() })
    }

    /// The template of a GGUF file, if it has one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_metadata(metadata: &Metadata, tokenizer: &Tokenizer) -> Result<Option<Self>> {
        let source = metadata.str("tokenizer.chat_template");
        let source = source.map_err(|error| Error::Template { problem: error.to_string() })?;
        source.map(|source| Self::of_tokenizer(source, tokenizer)).transpose()
    }

    /// The template of a folder: `chat_template.jinja`, or that in `tokenizer_config.json`, of which the one
    /// with the name `default` counts if there are several.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Io`].
    pub fn of_folder(folder: &Path, tokenizer: &Tokenizer) -> Result<Option<Self>> {
        let read = |name: &str| match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &folder.join(name), error)),
        };
        if let Some(source) = read("chat_template.jinja")? {
            return Self::of_tokenizer(&source, tokenizer).map(Some);
        }
        let Some(text) = read("tokenizer_config.json")? else { return Ok(None) };
        let values: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| Error::Template { problem: error.to_string() })?;
        let template = values.get("chat_template");
        let named = template.and_then(serde_json::Value::as_array).and_then(|list| {
            let is_default = |one: &&serde_json::Value| one.get("name").is_some_and(|name| name == "default");
            list.iter().find(is_default)?.get("template")
        });
        let source = named.or(template).and_then(serde_json::Value::as_str);
        source.map(|source| Self::of_tokenizer(source, tokenizer)).transpose()
    }

    /// Compiles a template for a model's tokenizer.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_tokenizer(source: &str, tokenizer: &Tokenizer) -> Result<Self> {
        let name = |token: Option<u32>| token.map(|token| tokenizer.name(token)).unwrap_or_default();
        let special = tokenizer.special();
        Self::new(source, &name(special.bos), &name(special.eos))
    }

    /// The template's text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The prompt for a chat. Encode it with [`SpecialText::Tokens`](crate::tokenizer::SpecialText::Tokens).
    ///
    /// # Errors
    /// [`Error::Template`] with the line and the reason, which may be the template's own, such as that roles
    /// must alternate.
    pub fn render(&self, chat: &Chat) -> Result<String> {
        let mut variables = vec![
            ("messages".to_owned(), chat.messages.clone()),
            ("add_generation_prompt".to_owned(), chat.add_generation_prompt.into()),
            ("bos_token".to_owned(), self.bos.as_str().into()),
            ("eos_token".to_owned(), self.eos.as_str().into()),
            // Templates ask whether it is none.
            ("tools".to_owned(), chat.tools.clone().unwrap_or_else(|| Value::from(()))),
        ];
        variables.extend(chat.variables.iter().cloned());
        let template = self.environment.get_template(NAME).map_err(failed)?;
        template.render(Value::from_pairs(variables)).map_err(failed)
    }
}

fn failed(error: minijinja::Error) -> Error {
    let place = error.line().map(|line| format!("line {line}: ")).unwrap_or_default();
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    Error::Template { problem: format!("{place}{detail}") }
}

/// Some templates mark what the model writes with a block `generation`, which only training needs.
fn without_generation(source: &str) -> String {
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (text, tag) = rest.split_at(at);
        result.push_str(text);
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, after) = tag.split_at(end);
        match tag.trim_matches(['{', '%', '}', '-', '+', ' ', '\n']) {
            "generation" => result.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => result.push_str(&tag.replace("endgeneration", "endif")),
            _ => result.push_str(tag),
        }
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, chat: &Chat) -> Result<String> {
        ChatTemplate::new(source, "<s>", "</s>")?.render(chat)
    }

    #[test]
    fn a_template_has_what_transformers_gives_it() {
        let chat = Chat::of_texts(&[("user", " Hi <you> ")]);
        let source = "{{ bos_token }}{% for m in messages %}\n  {%- if m.role == 'user' %}\n  {{ m['content'].strip().upper() }}|\
                      {{ m | tojson }}{% endif %}\n{% endfor %}{% if add_generation_prompt %}>{% endif %}";
        let text = render(source, &chat).expect("text");
        assert_eq!(text, "<s>  HI <YOU>|{\"role\": \"user\", \"content\": \" Hi <you> \"}>");
        let source = "{% if tools is none %}no{% endif %} {% if tools %}some{% endif %}{{ x is defined }}";
        assert_eq!(render(source, &Chat::default()).expect("text"), "no False");
    }

    #[test]
    fn what_a_template_refuses_is_an_error_with_its_words() {
        let error = render("{{ raise_exception('roles must alternate') }}", &Chat::default());
        assert_eq!(error.expect_err("raised").to_string(), "the chat template, line 1: roles must alternate");
        let error = ChatTemplate::new("a\n{% if %}", "", "").expect_err("a wrong template").to_string();
        assert!(error.starts_with("the chat template, line 2: "), "{error}");
    }

    #[test]
    fn a_template_without_an_end_is_stopped() {
        let source = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
        let error = render(source, &Chat::default()).expect_err("stopped").to_string();
        assert!(error.contains("fuel"), "{error}");
    }

    #[test]
    fn marks_of_generated_text_do_nothing() {
        let source = "a {%- generation -%} {{ 'generation' }} {%- endgeneration %} b{% if x %}{% endif %}";
        assert_eq!(render(source, &Chat::default()).expect("text"), "ageneration b");
    }
}
