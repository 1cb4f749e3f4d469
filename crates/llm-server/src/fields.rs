//! Fields that several requests have.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::engine::{Constraint, Dry, Sampling};
use crate::error::{ApiError, ApiResult};

/// A text or several.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub(crate) enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Texts to stop at: at most 16, none empty.
pub(crate) fn stops(name: &str, stops: Option<Texts>) -> ApiResult<Vec<String>> {
    let stops = stops.map(Texts::into_vec).unwrap_or_default();
    if stops.len() > 16 {
        return Err(ApiError::field(name, "more than 16 texts"));
    }
    if stops.iter().any(String::is_empty) {
        return Err(ApiError::field(name, "an empty text"));
    }
    Ok(stops)
}

/// A prompt or several, as text or tokens.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a string, a list of strings, a list of tokens, or a list of these lists"
)]
pub(crate) enum Prompts {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<u32>),
    Many(Vec<Vec<u32>>),
}

/// One of these prompts.
#[derive(Clone, Debug)]
pub(crate) enum Prompt {
    Text(String),
    Tokens(Vec<u32>),
}

impl Prompts {
    pub(crate) fn into_vec(self) -> Vec<Prompt> {
        match self {
            Self::Text(text) => vec![Prompt::Text(text)],
            Self::Texts(texts) => texts.into_iter().map(Prompt::Text).collect(),
            Self::Tokens(tokens) => vec![Prompt::Tokens(tokens)],
            Self::Many(all) => all.into_iter().map(Prompt::Tokens).collect(),
        }
    }
}

/// A message's content: a text, or parts of which only texts are understood.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or a list of parts")]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// A part of a message's content.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub(crate) struct ContentPart {
    /// `text`, or a name of OpenAI's for it
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The text
    pub(crate) text: Option<String>,
    /// The text of a refusal
    pub(crate) refusal: Option<String>,
}

impl Content {
    /// The text of all parts.
    pub(crate) fn text(&self, field: &str) -> ApiResult<String> {
        let parts = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::Parts(parts) => parts,
        };
        let mut text = String::new();
        for part in parts {
            let of_part = match part.kind.as_str() {
                "text" | "input_text" | "output_text" => &part.text,
                "refusal" => &part.refusal,
                other => {
                    return Err(ApiError::field(
                        field,
                        format!("a part of type `{other}`: only text is understood"),
                    ));
                }
            };
            let of_part = of_part.as_ref();
            text.push_str(of_part.ok_or_else(|| ApiError::field(field, "a part without `text`"))?);
        }
        Ok(text)
    }
}

/// What to add to a stream.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Whether the last event has the number of tokens
    pub(crate) include_usage: Option<bool>,
}

/// How tokens are chosen; the server's settings are the defaults.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub(crate) struct SamplingFields {
    /// 0 is greedy
    #[schema(minimum = 0)]
    temperature: Option<f32>,
    /// Only the likeliest tokens that have this probability together
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f32>,
    /// Only this many of the likeliest tokens; 0 is all
    top_k: Option<usize>,
    /// Only tokens with at least this part of the likeliest one's probability
    #[schema(minimum = 0, maximum = 1)]
    min_p: Option<f32>,
    /// Only tokens of typical information, with this probability together
    #[schema(minimum = 0, maximum = 1)]
    typical_p: Option<f32>,
    /// Divides the logits of repeated tokens
    #[serde(alias = "repetition_penalty")]
    #[schema(exclusive_minimum = 0)]
    repeat_penalty: Option<f32>,
    /// How many of the last tokens the penalties see; 0 is all
    repeat_last_n: Option<usize>,
    /// Subtracted from the logits of tokens that occurred
    presence_penalty: Option<f32>,
    /// Subtracted from the logits of tokens as often as they occurred
    frequency_penalty: Option<f32>,
    /// The penalty of a repeated sequence (DRY); 0 is none
    dry_multiplier: Option<f32>,
    /// Its growth with each token
    dry_base: Option<f32>,
    /// The length of sequences that may repeat
    dry_allowed_length: Option<usize>,
    /// How many of the last tokens it sees; 0 is all
    dry_penalty_last_n: Option<usize>,
    /// Texts that end a sequence
    dry_sequence_breakers: Option<Vec<String>>,
    /// The same seed gives the same answer
    seed: Option<i64>,
    /// Not supported: only an empty object is taken
    #[schema(value_type = Option<Object>)]
    logit_bias: Option<Map<String, Value>>,
}

impl SamplingFields {
    /// The settings, with these defaults.
    pub(crate) fn over(self, defaults: &Sampling) -> ApiResult<Sampling> {
        if self.logit_bias.is_some_and(|biases| !biases.is_empty()) {
            return Err(ApiError::field("logit_bias", "it is not supported"));
        }
        let dry = match (self.dry_multiplier, &defaults.dry) {
            (Some(0.0), _) | (None, None) => None,
            (multiplier, of_defaults) => {
                let mut dry = of_defaults.clone().unwrap_or_default();
                set(&mut dry.multiplier, multiplier);
                set(&mut dry.base, self.dry_base);
                set(&mut dry.allowed, self.dry_allowed_length);
                set(&mut dry.last, self.dry_penalty_last_n);
                set(&mut dry.breakers, self.dry_sequence_breakers);
                Some::<Dry>(dry)
            }
        };
        let mut sampling = Sampling { dry, ..defaults.clone() };
        set(&mut sampling.temperature, self.temperature);
        set(&mut sampling.top_p, self.top_p);
        set(&mut sampling.top_k, self.top_k);
        set(&mut sampling.min_p, self.min_p);
        set(&mut sampling.typical_p, self.typical_p);
        set(&mut sampling.repeat_penalty, self.repeat_penalty);
        set(&mut sampling.repeat_last, self.repeat_last_n);
        set(&mut sampling.presence_penalty, self.presence_penalty);
        set(&mut sampling.frequency_penalty, self.frequency_penalty);
        // A negative seed asks for a random one, as the lack of one does.
        sampling.seed = match self.seed {
            Some(seed) if seed >= 0 => seed.unsigned_abs(),
            _ => crate::ids::random(),
        };
        sampling.check()?;
        Ok(sampling)
    }
}

fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

/// What the answer must match, beside [`response_format`].
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub(crate) struct ConstraintFields {
    /// A grammar in the language Lark
    grammar: Option<String>,
    /// A regular expression for the whole answer
    regex: Option<String>,
    /// `{"type": "text"}`, `{"type": "json_object"}`, or `{"type": "json_schema", "json_schema": {"schema":
    /// …}}`
    #[schema(value_type = Option<Object>)]
    response_format: Option<Map<String, Value>>,
}

impl ConstraintFields {
    pub(crate) fn constraint(self) -> ApiResult<Option<Constraint>> {
        let format =
            self.response_format.map(|format| response_format(&format, "response_format")).transpose()?;
        let given = [format.flatten(), self.grammar.map(Constraint::Lark), self.regex.map(Constraint::Regex)];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(_), Some(_)) => {
                Err(ApiError::field("response_format", "only one of it, `grammar` and `regex` can be met"))
            }
            (first, _) => Ok(first),
        }
    }
}

/// OpenAI's description of the answer's format.
pub(crate) fn response_format(format: &Map<String, Value>, field: &str) -> ApiResult<Option<Constraint>> {
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(None),
        Some("json_object") => {
            let schema =
                format.get("schema").cloned().unwrap_or_else(|| serde_json::json!({ "type": "object" }));
            Ok(Some(Constraint::JsonSchema(schema)))
        }
        Some("json_schema") => {
            let inner = format.get("json_schema").unwrap_or(&Value::Null);
            let schema = inner.get("schema").or_else(|| format.get("schema"));
            match schema {
                Some(schema @ (Value::Object(_) | Value::Bool(_))) => {
                    Ok(Some(Constraint::JsonSchema(schema.clone())))
                }
                _ => Err(ApiError::field(field, "there is no `schema`")),
            }
        }
        Some(other) => {
            Err(ApiError::field(field, format!("the type `{other}` is not text, json_object or json_schema")))
        }
        None => Err(ApiError::field(field, "there is no `type`")),
    }
}
