//! What a model computes at once.

use std::ops::Range;

use backend::{DType, KernelBackend, KvLayout, Sampling, Tensor, sampling_words};

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
    /// How tokens are drawn from the logits, if they are.
    pub draws: Option<Draws>,
    /// The bytes of all of these numbers.
    all: Tensor,
    /// Those of them that the host knows before it knows the tokens.
    but_ids: Tensor,
    /// Where each kind of numbers is.
    places: Vec<Range<usize>>,
    /// The last numbers that were copied.
    packed: Packed,
}

/// What draws a token from each row of a step's logits.
#[derive(Clone, Debug)]
pub struct Draws {
    /// u32 `[rows, 4]`, as [`KernelBackend::sample`] has them.
    pub settings: Tensor,
    /// f32 `[rows]`.
    pub numbers: Tensor,
    /// u32 `[rows]`: the tokens. In a step of one token of each sequence, they take the place of its
    /// [ids](Step::ids), so that the next step finds them there.
    pub tokens: Tensor,
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
    /// The words of the settings with which tokens are drawn, and a number for each row.
    settings: Vec<u32>,
    numbers: Vec<f32>,
}

/// How a row's token is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The settings.
    pub settings: Sampling,
    /// The number in [0, 1) that decides.
    pub number: f32,
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

    /// Tokens are drawn from the logits, a row by each of these.
    pub fn set_draws(&mut self, draws: &[Draw]) {
        let settings: Vec<Sampling> = draws.iter().map(|draw| draw.settings).collect();
        self.settings = sampling_words(&settings);
        self.numbers = draws.iter().map(|draw| draw.number).collect();
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Whether each row of logits is that of a sequence's only token.
    fn has_one_token_each(&self) -> bool {
        self.outputs.is_none() && self.groups.iter().all(|group| group.queries == 1)
    }
}

/// Where numbers begin, in bytes: kernels may read several words at once.
const ALIGN: usize = 16;

/// The numbers of a step as bytes, one kind after the other, and where each kind begins and ends.
#[derive(Clone, Debug, Default)]
struct Packed {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Packed {
    /// Replaces all numbers. The tokens are the last ones.
    fn fill(&mut self, inputs: &Inputs) {
        self.bytes.clear();
        self.places.clear();
        self.add(&inputs.slots, |slot| slot.to_le_bytes());
        self.add(&inputs.positions, |position| position.to_le_bytes());
        for group in &inputs.groups {
            self.add(&group.lengths, |length| length.to_le_bytes());
            self.add(&group.table, |page| page.to_le_bytes());
            self.add(&group.states, |state| state.to_le_bytes());
        }
        self.add(inputs.outputs.as_deref().unwrap_or_default(), |row| row.to_le_bytes());
        self.add(&inputs.settings, |word| word.to_le_bytes());
        self.add(&inputs.numbers, |number| number.to_le_bytes());
        self.add(&inputs.ids, |id| id.to_le_bytes());
    }

    fn add<T: Copy, const N: usize>(&mut self, numbers: &[T], bytes_of: impl Fn(T) -> [u8; N]) {
        let first = self.bytes.len();
        self.bytes.extend(numbers.iter().flat_map(|number| bytes_of(*number)));
        self.places.push(first..self.bytes.len());
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
    }

    /// The bytes before the tokens.
    fn before_ids(&self) -> usize {
        self.places.last().map_or(0, |place| place.start)
    }
}

impl Step {
    /// Copies a step's numbers to new tensors.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(backend: &dyn KernelBackend, inputs: &Inputs) -> Result<Self> {
        let mut packed = Packed::default();
        packed.fill(inputs);
        let all = backend.empty(DType::I8, &[packed.bytes.len()])?;
        let mut places = packed.places.iter();
        let mut part = |dtype: DType, shape: &[usize]| {
            let at = places.next().map_or(0, |place| place.start);
            all.in_bytes(dtype, at, shape)
        };
        let tokens = inputs.ids.len();
        let slots = part(DType::I64, &[tokens])?;
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
        let rows = inputs.outputs.as_ref().map_or(0, Vec::len);
        let outputs = part(DType::U32, &[rows])?;
        let outputs = inputs.outputs.is_some().then_some(outputs);
        let drawn = inputs.numbers.len();
        let settings = part(DType::U32, &[drawn, 4])?;
        let numbers = part(DType::F32, &[drawn])?;
        let ids = part(DType::U32, &[tokens])?;
        let draws = match drawn {
            0 => None,
            _ => {
                let is_next = inputs.has_one_token_each();
                let tokens = if is_next { ids.clone() } else { backend.empty(DType::U32, &[drawn])? };
                Some(Draws { settings, numbers, tokens })
            }
        };
        let but_ids = all.narrow(0, 0, packed.before_ids())?;
        backend.upload(&packed.bytes, &all)?;
        let places = packed.places.clone();
        Ok(Self { ids, positions, slots, groups, outputs, draws, all, but_ids, places, packed })
    }

    /// Copies the numbers of a step of the same shape to the same tensors, all at once.
    ///
    /// # Errors
    /// Those of the backend, and for numbers of another shape.
    pub fn update(&mut self, backend: &dyn KernelBackend, inputs: &Inputs) -> Result<()> {
        self.repack(inputs)?;
        Ok(backend.upload(&self.packed.bytes, &self.all)?)
    }

    /// The same without the tokens, which are on the device already.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_but_ids(&mut self, backend: &dyn KernelBackend, inputs: &Inputs) -> Result<()> {
        self.repack(inputs)?;
        Ok(backend.upload(&self.packed.bytes[..self.packed.before_ids()], &self.but_ids)?)
    }

    fn repack(&mut self, inputs: &Inputs) -> Result<()> {
        self.packed.fill(inputs);
        if self.packed.places == self.places {
            return Ok(());
        }
        Err(Error::Backend(backend::Error::Value {
            operation: "update",
            parameter: "inputs",
            got: format!("{} tokens in {} groups", inputs.ids.len(), inputs.groups.len()),
            problem: "not of the step's shape",
        }))
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
