//! What a model keeps of sequences: keys and values by position, and states that each token changes.

use backend::{DType, KernelBackend, KvCache, KvLayout, Tensor};

use crate::config::{Config, Delta};
use crate::error::Result;

/// All that a model keeps of sequences.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Keys and values of layers with attention.
    pub kv: KvCache,
    /// States of the other layers, in models that have some.
    pub states: Option<States>,
}

impl Cache {
    /// Allocates a cache, with states of so many sequences if the model has states.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(
        backend: &dyn KernelBackend,
        config: &Config,
        dtype: DType,
        layout: KvLayout,
        sequences: usize,
    ) -> Result<Self> {
        let states = config.delta.as_ref().map(|delta| States::new(backend, delta, sequences));
        let kv = KvCache::new(backend, dtype, layout, &config.kv_shapes())?;
        Ok(Self { kv, states: states.transpose()? })
    }
}

/// States of several sequences, in places with numbers.
#[derive(Clone, Debug)]
pub struct States {
    /// The layers without attention.
    pub layers: Vec<State>,
    /// The place whose states are zeros.
    zeros: usize,
}

/// A layer's states.
#[derive(Clone, Debug)]
pub struct State {
    /// f32 `[places, channels, width - 1]`: what the convolution sees of earlier tokens.
    pub conv: Tensor,
    /// f32 `[places, heads, key size, value size]`.
    pub delta: Tensor,
}

impl States {
    /// Allocates states of so many sequences, all zeros.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(backend: &dyn KernelBackend, delta: &Delta, sequences: usize) -> Result<Self> {
        let places = sequences + 1;
        let layers = delta.attention.iter().filter(|has| !**has);
        let layer = |_: &bool| -> Result<State> {
            let matrix = [places, delta.heads, delta.key_size, delta.value_size];
            Ok(State {
                conv: backend.zeros(DType::F32, &[places, delta.channels(), delta.width - 1])?,
                delta: backend.zeros(DType::F32, &matrix)?,
            })
        };
        Ok(Self { layers: layers.map(layer).collect::<Result<_>>()?, zeros: sequences })
    }

    /// Places for sequences.
    #[must_use]
    pub fn places(&self) -> usize {
        self.zeros
    }

    /// A sequence begins in this place.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn clear(&self, backend: &dyn KernelBackend, place: u32) -> Result<()> {
        self.copy(backend, self.zeros as u32, place)
    }

    /// Copies the states of one place to another.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn copy(&self, backend: &dyn KernelBackend, from: u32, to: u32) -> Result<()> {
        for layer in &self.layers {
            for tensor in [&layer.conv, &layer.delta] {
                let at = |place: u32| tensor.select(0, place as usize);
                backend.copy(&at(from)?, &at(to)?)?;
            }
        }
        Ok(())
    }
}
