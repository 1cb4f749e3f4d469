//! What serves a model: the crate `llm`'s engines, and what belongs to them.

pub use llm::chat::{Chat, ChatTemplate, Value as TemplateValue, ValueKind};
pub use llm::engine::{
    Constraint, Dry, Engine, EngineLoad, Event, EventSender, Events, FinishReason, ModelDescription, Pooling,
    Request, Sampling, TokenLogprob, Usage,
};
pub use llm::tokenizer::{SpecialText, Tokenizer};
pub use llm::{Error, Result};
