//! What a model computes at once.

use backend::{DType, KernelBackend, KvLayout, Tensor};

use crate::error::Result;

/// Tokens of one or more sequences, in the backend's memory. A graph reads them again each time it runs.
#[derive(Clone, Debug)]
pub struct Step {
    /// u32 `[tokens]`: the tokens, group by group, sequence by sequence.
    pub ids: Tensor,
    /// u32 `[tokens]`: each token's position in its sequence.
    pub positions: Tensor,
    /// i64 `[tokens]`: each token's slot in the cache. A negative one stores nothing.
    pub slots: Tensor,
    /// Sequences with the same number of tokens.
    pub groups: Vec<Group>,
    /// u32: the tokens whose logits are needed; all of them if this is absent.
    pub outputs: Option<Tensor>,
}

/// Sequences with the same number of tokens in a step.
#[derive(Clone, Debug)]
pub struct Group {
    /// Sequences.
    pub sequences: usize,
    /// Tokens of each.
    pub queries: usize,
    /// u32 `[sequences]`: the positions of each, with this step's.
    pub lengths: Tensor,
    /// u32 `[sequences, pages]`: the pages of each.
    pub table: Tensor,
    /// u32 `[sequences]`: where the states of each are, in models that have some.
    pub states: Option<Tensor>,
    /// No length is beyond this, also when a graph runs again.
    pub most_keys: usize,
}

/// A step's numbers, on the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    ids: Vec<u32>,
    positions: Vec<u32>,
    slots: Vec<i64>,
    groups: Vec<GroupInputs>,
    outputs: Option<Vec<u32>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct GroupInputs {
    queries: usize,
    lengths: Vec<u32>,
    table: Vec<u32>,
    states: Vec<u32>,
    /// Columns of the table.
    pages: usize,
    most_keys: usize,
}

/// One sequence's part of a step.
#[derive(Clone, Copy, Debug)]
pub struct Part<'s> {
    /// Its tokens in this step.
    pub tokens: &'s [u32],
    /// The position of the first of them.
    pub position: usize,
    /// The sequence's pages, up to the last token's at least.
    pub pages: &'s [u32],
    /// Where its states are, in models that have some: none of its group has the same place.
    pub state: Option<u32>,
}

impl Inputs {
    /// Adds sequences with the same number of tokens. The table has `columns` pages of each sequence, and no
    /// length is beyond `most_keys`.
    pub fn add(&mut self, layout: KvLayout, parts: &[Part<'_>], columns: usize, most_keys: usize) {
        let mut group = GroupInputs { pages: columns, most_keys, ..GroupInputs::default() };
        for part in parts {
            group.queries = part.tokens.len();
            for (at, &id) in part.tokens.iter().enumerate() {
                let position = part.position + at;
                self.ids.push(id);
                self.positions.push(position as u32);
                self.slots.push(layout.slot(part.pages, position).unwrap_or(-1));
            }
            group.lengths.push((part.position + part.tokens.len()) as u32);
            let pages = part.pages.iter().copied().chain(std::iter::repeat(0));
            group.table.extend(pages.take(columns));
            group.states.extend(part.state);
        }
        self.groups.push(group);
    }

    /// Only the logits of these tokens are needed.
    pub fn set_outputs(&mut self, outputs: Vec<u32>) {
        self.outputs = Some(outputs);
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }
}

impl Step {
    /// Copies a step's numbers to new tensors.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(backend: &dyn KernelBackend, inputs: &Inputs) -> Result<Self> {
        let tokens = inputs.ids.len();
        let group = |group: &GroupInputs| -> Result<Group> {
            let sequences = group.lengths.len();
            Ok(Group {
                sequences,
                queries: group.queries,
                lengths: backend.empty(DType::U32, &[sequences])?,
                table: backend.empty(DType::U32, &[sequences, group.pages])?,
                states: match group.states.len() == sequences {
                    true => Some(backend.empty(DType::U32, &[sequences])?),
                    false => None,
                },
                most_keys: group.most_keys,
            })
        };
        let outputs = inputs.outputs.as_ref();
        let step = Self {
            ids: backend.empty(DType::U32, &[tokens])?,
            positions: backend.empty(DType::U32, &[tokens])?,
            slots: backend.empty(DType::I64, &[tokens])?,
            groups: inputs.groups.iter().map(group).collect::<Result<_>>()?,
            outputs: outputs.map(|rows| backend.empty(DType::U32, &[rows.len()])).transpose()?,
        };
        step.update(backend, inputs)?;
        Ok(step)
    }

    /// Copies the numbers of a step of the same shape to the same tensors.
    ///
    /// # Errors
    /// Those of the backend, and for numbers of another shape.
    pub fn update(&self, backend: &dyn KernelBackend, inputs: &Inputs) -> Result<()> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        backend.upload(&words(&inputs.ids), &self.ids)?;
        backend.upload(&words(&inputs.positions), &self.positions)?;
        let slots: Vec<u8> = inputs.slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
        backend.upload(&slots, &self.slots)?;
        for (group, inputs) in self.groups.iter().zip(&inputs.groups) {
            backend.upload(&words(&inputs.lengths), &group.lengths)?;
            backend.upload(&words(&inputs.table), &group.table)?;
            if let Some(states) = &group.states {
                backend.upload(&words(&inputs.states), states)?;
            }
        }
        if let (Some(tensor), Some(rows)) = (&self.outputs, &inputs.outputs) {
            backend.upload(&words(rows), tensor)?;
        }
        Ok(())
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.ids.elements()
    }

    /// Calls `each` with each group, the number of its first token in the step, and that of its tokens.
    pub(super) fn for_groups(&self, mut each: impl FnMut(&Group, usize, usize) -> Result<()>) -> Result<()> {
        let mut first = 0;
        for group in &self.groups {
            let count = group.sequences * group.queries;
            each(group, first, count)?;
            first += count;
        }
        Ok(())
    }
}
