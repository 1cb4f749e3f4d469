//! Engines of encoders, which make vectors of texts. Each call runs on its caller's thread.

use std::sync::{Arc, Mutex, PoisonError};

use backend::{DType, KernelBackend};

use super::device::within;
use super::pooling::{Pooled, normalised};
use crate::chat::ChatTemplate;
use crate::engine::{Engine, EngineLoad, Events, ModelDescription, Pooling, Request};
use crate::error::{Error, Result};
use crate::model::Bert;
use crate::tokenizer::Tokenizer;

pub(super) struct Encoder {
    pub(super) description: ModelDescription,
    pub(super) tokenizer: Tokenizer,
    pub(super) backend: Arc<dyn KernelBackend>,
    pub(super) model: Bert,
    pub(super) activations: DType,
    /// One call at a time, so that memory is bounded.
    pub(super) turn: Mutex<()>,
}

impl Encoder {
    fn embedding(&self, tokens: &[u32], pooling: Pooling) -> Result<Vec<f32>> {
        let backend = &*self.backend;
        let hidden = within(backend, || {
            let ids = backend.tensor_u32(&[tokens.len()], tokens)?;
            Ok(backend.to_f32(&self.model.hidden(backend, &ids)?)?)
        })?;
        let mut pooled = Pooled::new(pooling, self.description.width);
        pooled.add(&hidden);
        normalised(pooled.finish()).ok_or_else(|| Error::NotFinite {
            model: self.description.name.clone(),
            activations: self.activations,
        })
    }
}

impl Engine for Encoder {
    fn description(&self) -> &ModelDescription {
        &self.description
    }

    fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    fn chat_template(&self) -> Option<&ChatTemplate> {
        None
    }

    fn load(&self) -> EngineLoad {
        let is_running = self.turn.try_lock().is_err();
        EngineLoad { running: usize::from(is_running), places: 1, ..EngineLoad::default() }
    }

    fn submit(&self, _: Request) -> Result<Events> {
        let problem = "is an encoder, which generates no text".into();
        Err(Error::Unable { model: self.description.name.clone(), problem })
    }

    fn embed(&self, inputs: &[Vec<u32>], pooling: Pooling) -> Result<Vec<Vec<f32>>> {
        let (context, vocabulary) = (self.description.context, self.description.vocabulary);
        for (at, tokens) in inputs.iter().enumerate() {
            let problem = if tokens.is_empty() {
                format!("{at} is empty")
            } else if tokens.len() > context {
                format!("{at} has {} tokens, and the context has room for {context}", tokens.len())
            } else if let Some(token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
                format!("{at} has the token {token}, and the model has {vocabulary} tokens")
            } else {
                continue;
            };
            return Err(Error::Prompt { problem });
        }
        let pooling = match (pooling, self.model.config().pooling) {
            (Pooling::Model, Some(known)) => known,
            (Pooling::Model, None) => Pooling::Mean,
            (asked, _) => asked,
        };
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        inputs.iter().map(|tokens| self.embedding(tokens, pooling)).collect()
    }
}

/// The type of activations of encoders.
pub(super) const DTYPE: DType = DType::F32;
