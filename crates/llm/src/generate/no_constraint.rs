//! What stands for grammars in programs without the feature `constraints`: there are none.

use std::sync::Arc;

use crate::engine::Constraint;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

pub(crate) struct Grammars;

/// There is no value of this type.
#[derive(Debug)]
pub(crate) enum Grammar {}

impl Grammars {
    pub(crate) fn new(_: &Arc<Tokenizer>) -> Result<Self> {
        let problem =
            "cannot be used: this program was built without the feature `constraints` of `llm`".into();
        Err(Error::Constraint { problem })
    }

    pub(crate) fn compile(&self, _: &Constraint) -> Result<Grammar> {
        Err(Error::Constraint { problem: "cannot be used".into() })
    }
}

impl Grammar {
    pub(crate) fn allows(&self, _: u32) -> bool {
        match *self {}
    }

    pub(crate) fn push(&mut self, _: u32) -> Result<bool> {
        match *self {}
    }
}
