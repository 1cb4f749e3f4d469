//! What serves a model: prompts of tokens go in, tokens come out.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

/// A model that generates or embeds.
pub trait Engine: Send + Sync {
    /// What the model is.
    fn description(&self) -> &ModelDescription;
    /// Its tokenizer.
    fn tokenizer(&self) -> &dyn Tokenizer;
    /// Its chat template, if it has one.
    fn chat_template(&self) -> Option<&dyn ChatTemplate>;
    /// Queues a request. Dropping the receiver cancels it.
    ///
    /// # Errors
    /// [`Error::Busy`] if the queue is full, [`Error::Unsupported`] and [`Error::Invalid`] for a request that
    /// cannot be served.
    fn submit(&self, request: Request) -> Result<Events>;
    /// One vector for each input. Blocks.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    fn embed(&self, inputs: &[Vec<u32>], pooling: Pooling) -> Result<Vec<Vec<f32>>>;
}

/// What a request yields, in order. [`Event::Finished`] or [`Event::Failed`] is last.
pub type Events = UnboundedReceiver<Event>;

/// A result of an engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an engine refuses or fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The queue is full.
    #[error("{queued} requests are waiting, and no more fit")]
    Busy {
        /// The requests in the queue.
        queued: usize,
    },
    /// The prompt does not fit.
    #[error("the prompt has {tokens} tokens; the context has {context}")]
    PromptTooLong {
        /// Its tokens.
        tokens: usize,
        /// The context of the model as loaded.
        context: usize,
    },
    /// The model cannot do this.
    #[error("{0}")]
    Unsupported(String),
    /// A part of the request is invalid, such as a schema or a template.
    #[error("{0}")]
    Invalid(String),
    /// The model or the device failed.
    #[error("{0}")]
    Failed(String),
}

/// What a model is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelDescription {
    /// Its name.
    pub name: String,
    /// Its architecture, such as `llama`.
    pub architecture: String,
    /// The most tokens in prompt and answer together, as loaded.
    pub context_length: usize,
    /// The number of parameters.
    pub parameters: u64,
    /// The memory of weights and cache, in bytes.
    pub bytes: u64,
    /// The format of most weights, such as `Q4_1`.
    pub format: String,
    /// The device, in words.
    pub device: String,
}

/// A tokenizer.
pub trait Tokenizer: Send + Sync {
    /// The tokens of a text, beginning with the token that begins every prompt if the model has one.
    ///
    /// # Errors
    /// The vocabulary lacks a token for a part of the text.
    fn encode(&self, text: &str, names: SpecialText) -> Result<Vec<u32>>;
    /// The text of tokens. Bytes that are no characters become `U+FFFD`.
    fn decode(&self, tokens: &[u32]) -> String;
    /// A token's bytes: none for a control token.
    fn bytes(&self, token: u32) -> &[u8];
    /// The number of tokens.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a text such as `<|im_end|>` inside of a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialText {
    /// The token of that name.
    Tokens,
    /// Its characters.
    Text,
}

/// A chat template.
pub trait ChatTemplate: Send + Sync {
    /// The template's source.
    fn source(&self) -> &str;
    /// The prompt of a conversation.
    ///
    /// # Errors
    /// [`Error::Invalid`] with what the template says.
    fn render(&self, input: &TemplateInput<'_>) -> Result<String>;
}

/// What a chat template gets.
#[derive(Clone, Copy, Debug)]
pub struct TemplateInput<'a> {
    /// The messages, with `role`, `content`, and what else the template may ask for.
    pub messages: &'a [serde_json::Value],
    /// The tools as OpenAI describes them, with `type` and `function`.
    pub tools: &'a [serde_json::Value],
    /// Whether the prompt ends with the beginning of an answer.
    pub add_generation_prompt: bool,
    /// More variables, such as `enable_thinking`.
    pub variables: &'a serde_json::Map<String, serde_json::Value>,
}

/// What is asked of an engine.
#[derive(Clone, Debug)]
pub struct Request {
    /// The prompt.
    pub prompt: Vec<u32>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// The most tokens to generate.
    pub max_tokens: usize,
    /// Texts that end generation; they are not part of the answer.
    pub stop: Vec<String>,
    /// How many alternatives to report for each token; `Some(0)` only the chosen one's probability.
    pub logprobs: Option<usize>,
    /// What the answer must match.
    pub constraint: Option<Constraint>,
}

/// How tokens are chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// 0 is greedy.
    pub temperature: f32,
    /// Only the k likeliest tokens; 0 is all.
    pub top_k: usize,
    /// Only the likeliest tokens that have this probability together; 1 is all.
    pub top_p: f32,
    /// Only tokens with at least this part of the likeliest one's probability; 0 is all.
    pub min_p: f32,
    /// Only tokens of typical information, with this probability together; 1 is all.
    pub typical_p: f32,
    /// The logits of repeated tokens are divided by this; 1 changes nothing.
    pub repeat_penalty: f32,
    /// How many of the last tokens the penalties see.
    pub repeat_last: usize,
    /// Subtracted from the logit of a token that has occurred.
    pub presence_penalty: f32,
    /// Subtracted from a token's logit for each time that it has occurred.
    pub frequency_penalty: f32,
    /// The DRY penalty of repeated sequences.
    pub dry: Option<Dry>,
    /// The same seed gives the same tokens.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.8,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            typical_p: 1.0,
            repeat_penalty: 1.0,
            repeat_last: 64,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            dry: None,
            seed: 0,
        }
    }
}

/// The DRY penalty of repeated sequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Dry {
    /// The penalty of the shortest sequence.
    pub multiplier: f32,
    /// It grows by this factor with each token.
    pub base: f32,
    /// Sequences of this many tokens have no penalty.
    pub allowed_length: usize,
    /// How many of the last tokens it sees.
    pub last: usize,
    /// Texts that end a sequence.
    pub breakers: Vec<String>,
}

/// What an answer must match.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// A JSON schema.
    JsonSchema(serde_json::Value),
    /// A grammar in the language Lark, as `llguidance` reads it.
    Lark(String),
    /// A regular expression.
    Regex(String),
}

/// What a request yields.
#[derive(Clone, Debug)]
pub enum Event {
    /// A part of the prompt is processed.
    Prompt {
        /// How many tokens are done, reused ones included.
        tokens: usize,
        /// How many were in the cache.
        reused: usize,
        /// The tokens of the prompt.
        of: usize,
    },
    /// A token.
    Token {
        /// Its number.
        id: u32,
        /// The text that it completes; it may be empty.
        text: String,
        /// Its probability, if asked for.
        logprob: Option<TokenLogprob>,
    },
    /// The answer is complete.
    Finished {
        /// Why.
        reason: FinishReason,
        /// What it took.
        usage: Usage,
    },
    /// The request failed.
    Failed(Error),
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it.
    Stop,
    /// A text to stop at came.
    StopSequence(String),
    /// The limit of tokens, or the end of the context.
    Length,
    /// The receiver is gone, or the engine is being unloaded.
    Cancelled,
}

/// What a request took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Those of them that were in the cache.
    pub reused_tokens: usize,
    /// Generated tokens.
    pub generated_tokens: usize,
    /// The time for the prompt.
    pub prompt_time: Duration,
    /// The time for the generated tokens.
    pub generate_time: Duration,
}

/// The probability of a generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprob {
    /// The natural logarithm of the chosen token's probability.
    pub logprob: f32,
    /// The likeliest tokens and theirs, likeliest first.
    pub top: Vec<(u32, f32)>,
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// As the model's file says.
    #[default]
    Model,
    /// The mean.
    Mean,
    /// The first token's.
    First,
    /// The last token's.
    Last,
}
