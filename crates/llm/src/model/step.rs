//! What a model computes at once.

use std::ops::Range;

use backend::{DType, KernelBackend, KvLayout, Tensor};

use crate::error::{Error, Result};

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
    /// The bytes of all of these numbers, and where each tensor is there.
    all: Tensor,
    places: Vec<Range<usize>>,
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

/// Where numbers begin, in bytes: kernels may read several words at once.
const ALIGN: usize = 16;

/// The numbers of a step as bytes, one kind after the other, and where each kind begins and ends.
#[derive(Debug, Default)]
struct Packed {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Packed {
    fn of(inputs: &Inputs) -> Self {
        let mut packed = Self::default();
        packed.add(&inputs.slots, |slot| slot.to_le_bytes());
        packed.add(&inputs.ids, |id| id.to_le_bytes());
        packed.add(&inputs.positions, |position| position.to_le_bytes());
        for group in &inputs.groups {
            packed.add(&group.lengths, |length| length.to_le_bytes());
            packed.add(&group.table, |page| page.to_le_bytes());
            packed.add(&group.states, |state| state.to_le_bytes());
        }
        packed.add(inputs.outputs.as_deref().unwrap_or_default(), |row| row.to_le_bytes());
        packed
    }

    fn add<T: Copy, const N: usize>(&mut self, numbers: &[T], bytes_of: impl Fn(T) -> [u8; N]) {
        let first = self.bytes.len();
        self.bytes.extend(numbers.iter().flat_map(|number| bytes_of(*number)));
        self.places.push(first..self.bytes.len());
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
    }
}

impl Step {
    /// Copies a step's numbers to new tensors.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(backend: &dyn KernelBackend, inputs: &Inputs) -> Result<Self> {
        let packed = Packed::of(inputs);
        let all = backend.empty(DType::I8, &[packed.bytes.len()])?;
        let mut places = packed.places.iter();
        let mut part = |dtype: DType, shape: &[usize]| {
            let at = places.next().map_or(0, |place| place.start);
            all.in_bytes(dtype, at, shape)
        };
        let tokens = inputs.ids.len();
        let slots = part(DType::I64, &[tokens])?;
        let ids = part(DType::U32, &[tokens])?;
        let positions = part(DType::U32, &[tokens])?;
        let mut groups = Vec::with_capacity(inputs.groups.len());
        for group in &inputs.groups {
            let sequences = group.lengths.len();
            let lengths = part(DType::U32, &[sequences])?;
            let table = part(DType::U32, &[sequences, group.pages])?;
            let states = part(DType::U32, &[group.states.len()])?;
            groups.push(Group {
                sequences,
                queries: group.queries,
                lengths,
                table,
                states: (group.states.len() == sequences).then_some(states),
                most_keys: group.most_keys,
            });
        }
        let outputs = match &inputs.outputs {
            Some(rows) => Some(part(DType::U32, &[rows.len()])?),
            None => None,
        };
        backend.upload(&packed.bytes, &all)?;
        Ok(Self { ids, positions, slots, groups, outputs, all, places: packed.places })
    }

    /// Copies the numbers of a step of the same shape to the same tensors, all at once.
    ///
    /// # Errors
    /// Those of the backend, and for numbers of another shape.
    pub fn update(&self, backend: &dyn KernelBackend, inputs: &Inputs) -> Result<()> {
        let packed = Packed::of(inputs);
        if packed.places != self.places {
            return Err(Error::Backend(backend::Error::Value {
                operation: "update",
                parameter: "inputs",
                got: format!("{} tokens in {} groups", inputs.ids.len(), inputs.groups.len()),
                problem: "not of the step's shape",
            }));
        }
        Ok(backend.upload(&packed.bytes, &self.all)?)
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
