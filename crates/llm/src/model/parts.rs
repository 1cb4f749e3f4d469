//! What models are made of.

use std::ops::Range;

use backend::{
    Activation, Attention, DType, Factor, Gate, GateScores, KernelBackend, Keys, KvLayer, MoeGate, Rope,
    RopeAppend, RopeFrequencies, RopeStyle, Shard, Tensor, rope_frequencies,
};

use super::step::Step;
use crate::config::{Config, Experts, Family, FeedForward as Kind, NormOf};
use crate::error::Result;
use crate::weights::{Cut, Lora, MatrixRows, Weights, count, joined};

/// A product with a matrix, and a bias.
#[derive(Debug)]
pub(super) struct Linear {
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
    loras: Vec<Lora>,
}

impl Linear {
    /// The tensors `name.weight` and, if there is one, `name.bias`.
    pub(super) fn load(weights: &mut Weights<'_>, name: &str, rows: usize, columns: usize) -> Result<Self> {
        let weight = weights.matrix(&format!("{name}.weight"), &[rows, columns])?;
        let bias = weights.optional_vector(&format!("{name}.bias"), &[rows])?;
        let loras = weights.loras(name, [rows, columns], &Cut::default())?;
        Ok(Self { weight, bias, loras })
    }

    /// This rank's rows of a matrix: so many.
    pub(super) fn load_split(
        weights: &mut Weights<'_>,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Self> {
        let part = MatrixRows::of_rank(weights.shard(), name.to_owned(), rows, columns);
        Self::load_rows(weights, part)
    }

    /// This rank's columns of a matrix: so many. The sum of the products of all ranks is the whole product,
    /// and the first rank's has the bias.
    pub(super) fn load_joined(
        weights: &mut Weights<'_>,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Self> {
        let Shard { rank, size } = weights.shard();
        let own = std::iter::once(rank * columns..(rank + 1) * columns).collect();
        Self::load_columns(weights, name, [rows, columns * size], own)
    }

    /// The same with these columns of a matrix of the shape `of`.
    pub(super) fn load_columns(
        weights: &mut Weights<'_>,
        name: &str,
        of: [usize; 2],
        columns: Vec<Range<usize>>,
    ) -> Result<Self> {
        let rows = of[0];
        let shape = [rows, count(&columns)];
        let cut = Cut::of_columns(columns, of[1]);
        let weight = weights.matrix_part(&format!("{name}.weight"), &of, &cut, &shape)?;
        let bias = match weights.shard().rank {
            0 => weights.optional_vector(&format!("{name}.bias"), &[rows])?,
            _ => None,
        };
        let loras = weights.loras(name, of, &cut)?;
        Ok(Self { weight, bias, loras })
    }

    /// A matrix that cannot be adapted.
    fn fixed(weight: Tensor) -> Self {
        Self { weight, bias: None, loras: Vec::new() }
    }

    /// Some rows of a matrix, and of its bias.
    pub(super) fn load_rows(weights: &mut Weights<'_>, part: MatrixRows) -> Result<Self> {
        let bias = bias_of(weights, &part)?;
        let bias =
            bias.map(|bias| weights.backend().tensor(weights.dtype(), &[bias.len()], &bias)).transpose()?;
        let (count, MatrixRows { name, of, rows }) = (part.count(), part);
        let cut = Cut::of_rows(joined(rows));
        let weight = weights.matrix_part(&format!("{name}.weight"), &of, &cut, &[count, of[1]])?;
        let loras = weights.loras(&name, of, &cut)?;
        Ok(Self { weight, bias, loras })
    }

    pub(super) fn is_quantised(&self) -> bool {
        self.weight.dtype().is_quantised()
    }

    pub(super) fn forward(&self, backend: &dyn KernelBackend, x: &Tensor) -> Result<Tensor> {
        let [out] = linears(backend, &Factor::of(x.clone()), [self])?;
        Ok(out)
    }

    /// Adds to a product what adapters add.
    fn adapt(&self, backend: &dyn KernelBackend, x: &Tensor, out: &Tensor) -> Result<()> {
        for Lora { a, b } in &self.loras {
            let low = backend.empty(x.dtype(), &[x.rows(), a.size(0)])?;
            backend.matmul(x, a, &low)?;
            let summand = backend.empty(x.dtype(), out.shape())?;
            backend.matmul(&low, b, &summand)?;
            backend.add(out, &summand, out)?;
        }
        Ok(())
    }
}

/// The numbers of some rows of a matrix's bias, if it has one.
fn bias_of(weights: &mut Weights<'_>, part: &MatrixRows) -> Result<Option<Vec<f32>>> {
    let name = format!("{}.bias", part.name);
    if !weights.has(&name) {
        return Ok(None);
    }
    let all = weights.numbers(&name, &part.of[..1])?;
    Ok(Some(part.rows.iter().flat_map(|range| &all[range.clone()]).copied().collect()))
}

/// Products of the same vectors with several matrices, each a launch of its own.
pub(super) fn linears<const N: usize>(
    backend: &dyn KernelBackend,
    x: &Factor,
    linears: [&Linear; N],
) -> Result<[Tensor; N]> {
    let outs = all_products(backend, x, &linears)?;
    // As many as there are matrices.
    Ok(outs.try_into().unwrap_or_else(|_| unreachable!()))
}

fn all_products(backend: &dyn KernelBackend, x: &Factor, linears: &[&Linear]) -> Result<Vec<Tensor>> {
    let numbers = x.numbers();
    let mut outs = Vec::with_capacity(linears.len());
    for linear in linears {
        outs.push(backend.empty(numbers.dtype(), &[numbers.rows(), linear.weight.size(0)])?);
    }
    let products: Vec<_> = linears.iter().zip(&outs).map(|(linear, out)| (&linear.weight, out)).collect();
    backend.matmul_factor(x, &products)?;
    for (linear, out) in linears.iter().zip(&outs) {
        if let Some(bias) = &linear.bias {
            backend.add(out, bias, out)?;
        }
        linear.adapt(backend, numbers, out)?;
    }
    Ok(outs)
}

/// Matrices that are multiplied with the same vectors. Neighbours of one type are one matrix, of whose
/// product the results are parts. One that an adapter changes stays alone.
#[derive(Debug)]
pub(super) struct Joined<const N: usize> {
    linears: Vec<Linear>,
    /// Of each matrix: which of these it is in, and its rows there.
    places: [(usize, Range<usize>); N],
}

impl<const N: usize> Joined<N> {
    pub(super) fn load(weights: &mut Weights<'_>, parts: [MatrixRows; N]) -> Result<Self> {
        let kinds = parts.iter().map(|part| weights.joins_by(part)).collect::<Result<Vec<_>>>()?;
        let (mut linears, mut places) = (Vec::new(), Vec::with_capacity(N));
        let alike = |a: &usize, b: &usize| kinds[*a].is_some() && kinds[*a] == kinds[*b];
        let order: Vec<usize> = (0..N).collect();
        for run in order.chunk_by(alike) {
            let parts = &parts[run[0]..run[0] + run.len()];
            let mut first = 0;
            for part in parts {
                places.push((linears.len(), first..first + part.count()));
                first += part.count();
            }
            linears.push(match (parts, kinds[run[0]]) {
                ([_, _, ..], Some(kind)) => {
                    let weight = weights.joined_rows(parts, kind)?;
                    let bias = joined_bias(weights, parts)?;
                    Linear { weight, bias, loras: Vec::new() }
                }
                _ => Linear::load_rows(weights, parts[0].clone())?,
            });
        }
        // As many as there are parts.
        Ok(Self { linears, places: places.try_into().unwrap_or_else(|_| unreachable!()) })
    }

    pub(super) fn is_quantised(&self) -> bool {
        self.linears.iter().any(Linear::is_quantised)
    }

    /// `[tokens, rows]` of each matrix. There may be gaps between their rows.
    pub(super) fn forward(&self, backend: &dyn KernelBackend, x: &Factor) -> Result<[Tensor; N]> {
        let outs = all_products(backend, x, &self.linears.iter().collect::<Vec<_>>())?;
        let part = |(at, rows): &(usize, Range<usize>)| match &outs[*at] {
            whole if whole.columns() == rows.len() => Ok(whole.clone()),
            joined => joined.narrow(1, rows.start, rows.len()),
        };
        let parts = self.places.iter().map(part).collect::<backend::Result<Vec<_>>>()?;
        // As many as there are matrices.
        Ok(parts.try_into().unwrap_or_else(|_| unreachable!()))
    }
}

/// The biases of such parts, with zeros where there is none; `None` if none has one.
fn joined_bias(weights: &mut Weights<'_>, parts: &[MatrixRows]) -> Result<Option<Tensor>> {
    let biases = parts.iter().map(|part| bias_of(weights, part)).collect::<Result<Vec<_>>>()?;
    if biases.iter().all(Option::is_none) {
        return Ok(None);
    }
    let numbers =
        |(bias, part): (Option<Vec<f32>>, &MatrixRows)| bias.unwrap_or_else(|| vec![0.0; part.count()]);
    let all: Vec<f32> = biases.into_iter().zip(parts).flat_map(numbers).collect();
    Ok(Some(weights.backend().tensor(weights.dtype(), &[all.len()], &all)?))
}

/// The token table: `[vocabulary, width]`.
#[derive(Debug)]
pub(super) struct Embedding {
    pub(super) table: Tensor,
    dtype: DType,
}

impl Embedding {
    pub(super) fn load(weights: &mut Weights<'_>, config: &Config) -> Result<Self> {
        let table = weights.matrix("token_embd.weight", &[config.vocabulary, config.width])?;
        Ok(Self { table, dtype: weights.dtype() })
    }

    pub(super) fn forward(&self, backend: &dyn KernelBackend, ids: &Tensor) -> Result<Tensor> {
        let out = backend.empty(self.dtype, &[ids.elements(), self.table.columns()])?;
        backend.embedding(&self.table, ids, &out)?;
        Ok(out)
    }
}

/// The last norm, and the matrix that makes logits of vectors: that of the tokens, if the model has none of
/// its own.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) norm: Tensor,
    /// Of all tokens, or of this rank's part of them.
    matrix: Linear,
    is_shared: bool,
}

impl Output {
    pub(super) fn load(weights: &mut Weights<'_>, config: &Config, embedding: &Embedding) -> Result<Self> {
        let norm = weights.vector("output_norm.weight", &[config.width])?;
        let (Shard { rank, size }, width) = (weights.shard(), config.width);
        // Ranks that cannot share the tokens equally have all of them.
        let is_shared = config.vocabulary.is_multiple_of(size);
        let tokens = if is_shared { config.vocabulary / size } else { config.vocabulary };
        let matrix = match weights.has("output.weight") {
            true if is_shared => Linear::load_split(weights, "output", tokens, width)?,
            true => Linear::load(weights, "output", tokens, width)?,
            false if is_shared => Linear::fixed(embedding.table.narrow(0, rank * tokens, tokens)?),
            false => Linear::fixed(embedding.table.clone()),
        };
        Ok(Self { norm, matrix, is_shared })
    }

    pub(super) fn logits(&self, backend: &dyn KernelBackend, hidden: &Tensor) -> Result<Tensor> {
        let (part, size) = (self.matrix.forward(backend, hidden)?, backend.shard().size);
        let (rows, tokens) = (part.rows(), part.columns());
        if size == 1 || !self.is_shared {
            return Ok(part);
        }
        let all = backend.empty(part.dtype(), &[size, rows, tokens])?;
        backend.all_gather(&part, &all)?;
        let by_row = backend.empty(part.dtype(), &[rows, size, tokens])?;
        for rank in 0..size {
            // Rows of one length at equal distances, which a graph can copy.
            backend.copy(&all.select(0, rank)?, &by_row.select(1, rank)?)?;
        }
        Ok(by_row.reshape(&[rows, size * tokens])?)
    }
}

/// The residual stream of layers that norm what they read.
pub(super) struct Residual<'b> {
    backend: &'b dyn KernelBackend,
    eps: f32,
    sum: Tensor,
    /// The result of the last norm.
    pub(super) normed: Factor,
}

impl<'b> Residual<'b> {
    /// `quantised` says whether some of the matrices are that are multiplied with results of norms.
    pub(super) fn new(
        backend: &'b dyn KernelBackend,
        embedded: Tensor,
        eps: f32,
        quantised: bool,
    ) -> Result<Self> {
        let normed = backend.factor(embedded.dtype(), embedded.shape(), quantised)?;
        Ok(Self { backend, eps, sum: embedded, normed })
    }

    /// Adds the branch before the norm, if there is one, and norms the sum, in one operation.
    pub(super) fn norm(&self, branch: Option<&Tensor>, weight: &Tensor) -> Result<()> {
        let Self { backend, eps, sum, normed } = self;
        Ok(backend.norm_factor(branch, sum, Some(weight), *eps, normed)?)
    }

    /// The result of the last norm.
    pub(super) fn hidden(self) -> Tensor {
        self.normed.numbers().clone()
    }
}

/// A rotation of queries and keys by their positions.
#[derive(Debug)]
pub(super) struct Rotation {
    frequencies: RopeFrequencies,
    style: RopeStyle,
}

/// Cosines and sines of a step's positions.
#[derive(Debug)]
pub(super) struct Turns {
    cos: Tensor,
    sin: Tensor,
    style: RopeStyle,
}

impl Rotation {
    /// With the factors of the tensor `rope_freqs.weight`, if there is one.
    pub(super) fn load(weights: &mut Weights<'_>, config: &Config, rope: &Rope) -> Result<Self> {
        const FACTORS: &str = "rope_freqs.weight";
        let factors = match weights.has(FACTORS) {
            true => Some(weights.numbers(FACTORS, &[rope.rotary / 2])?),
            false => None,
        };
        let frequencies = rope_frequencies(rope, factors.as_deref())?;
        let frequencies = weights.backend().rope_frequencies(&frequencies, rope.attention_factor() as f32)?;
        Ok(Self { frequencies, style: config.rope_style })
    }

    pub(super) fn turns(&self, backend: &dyn KernelBackend, positions: &Tensor) -> Result<Turns> {
        let shape = [positions.elements(), self.frequencies.half()];
        let (cos, sin) = (backend.empty(DType::F32, &shape)?, backend.empty(DType::F32, &shape)?);
        backend.rope_table(&self.frequencies, positions, &cos, &sin)?;
        Ok(Turns { cos, sin, style: self.style })
    }
}

/// Attention of a layer to the cache.
#[derive(Debug)]
pub(super) struct SelfAttention {
    qkv: Joined<3>,
    /// A gate of the result before the last matrix.
    gate: Option<Linear>,
    out: Linear,
    /// Norms of each head of queries and keys.
    norms: Option<(Tensor, Tensor)>,
    /// A score of each head that has no value.
    sinks: Option<Tensor>,
    window: Option<usize>,
}

impl SelfAttention {
    /// The tensors `blk.N.attn_*`.
    pub(super) fn load(weights: &mut Weights<'_>, config: &Config, layer: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (width, queries, keys) = (config.width, config.query_width(), config.key_width());
        let norms = match config.architecture.norm_of {
            NormOf::Nothing => None,
            NormOf::QueriesAndKeys => Some((
                weights.vector(&name("attn_q_norm.weight"), &[config.head_size])?,
                weights.vector(&name("attn_k_norm.weight"), &[config.head_size])?,
            )),
        };
        let sinks = match weights.has(&name("attn_sinks.weight")) {
            true => {
                let Shard { rank, size } = weights.shard();
                let all = weights.numbers(&name("attn_sinks.weight"), &[config.heads * size])?;
                let part = &all[rank * config.heads..][..config.heads];
                Some(weights.backend().tensor(DType::F32, &[config.heads], part)?)
            }
            false => None,
        };
        let shard = weights.shard();
        let (q, gate) = match config.architecture.family {
            Family::Qwen35 => {
                // Each head has its queries and then its gate.
                let rows = |second: usize| {
                    let head = |head: usize| (2 * head + second) * config.head_size;
                    let own = shard.rank * config.heads..(shard.rank + 1) * config.heads;
                    own.map(head).map(|row| row..row + config.head_size).collect()
                };
                let part = |second| MatrixRows {
                    name: name("attn_q"),
                    of: [2 * queries * shard.size, width],
                    rows: joined(rows(second)),
                };
                (part(0), Some(Linear::load_rows(weights, part(1))?))
            }
            _ => (MatrixRows::of_rank(shard, name("attn_q"), queries, width), None),
        };
        let of_rank = |part| MatrixRows::of_rank(shard, name(part), keys, width);
        Ok(Self {
            qkv: Joined::load(weights, [q, of_rank("attn_k"), of_rank("attn_v")])?,
            gate,
            out: Linear::load_joined(weights, &name("attn_output"), width, queries)?,
            norms,
            sinks,
            window: config.window_of(layer),
        })
    }

    /// Whether matrices that are multiplied with `x` are quantised.
    pub(super) fn is_quantised(&self) -> bool {
        self.qkv.is_quantised() || self.gate.as_ref().is_some_and(Linear::is_quantised)
    }

    /// `x` and the result are `[tokens, width]`.
    pub(super) fn forward(
        &self,
        backend: &dyn KernelBackend,
        config: &Config,
        turns: &Turns,
        step: &Step,
        cache: &KvLayer,
        x: &Factor,
    ) -> Result<Tensor> {
        let [q, k, v] = self.qkv.forward(backend, x)?;
        let gate = match &self.gate {
            None => None,
            Some(gate) => {
                let [gate] = linears(backend, x, [gate])?;
                Some(gate)
            }
        };
        let heads = |x: &Tensor| x.split(1, config.head_size);
        let (q, k, v) = (heads(&q)?, heads(&k)?, heads(&v)?);
        let by = RopeAppend {
            q: &q,
            k: &k,
            v: &v,
            norms: self.norms.as_ref().map(|(q, k)| (q, k)),
            eps: config.norm_eps,
            style: turns.style,
            tables: (&turns.cos, &turns.sin),
            slots: &step.slots,
        };
        backend.rope_append(&by, cache)?;
        let mixed = backend.empty(q.dtype(), &[q.size(0), config.heads, config.head_size])?;
        step.for_groups(|group, first, count| {
            let part = |x: &Tensor| x.narrow(0, first, count)?.split(0, group.queries);
            let (q, mixed) = (part(&q)?, part(&mixed)?);
            let keys = Keys::Cache { layer: cache, table: Some(&group.table) };
            let attention = Attention {
                scale: config.attention_scale,
                window: self.window,
                soft_cap: config.attention_cap,
                sinks: self.sinks.as_ref(),
                ..Attention::causal(&q, keys, Some(&group.lengths), group.most_keys)
            };
            Ok(backend.attention(&attention, &mixed)?)
        })?;
        let mixed = mixed.reshape(&[q.size(0), config.query_width()])?;
        if let Some(gate) = gate {
            backend.activate(Activation::Sigmoid, &gate, &gate)?;
            backend.mul(&mixed, &gate, &mixed)?;
        }
        let out = self.out.forward(backend, &mixed)?;
        backend.all_reduce(&out)?;
        Ok(out)
    }
}

/// A feed-forward layer with a gate, or several with a router.
#[derive(Debug)]
pub(super) enum FeedForward {
    Dense(Box<DenseLayer>),
    Experts(Box<ExpertLayer>),
}

impl FeedForward {
    /// The tensors `blk.N.ffn_*`.
    pub(super) fn load(weights: &mut Weights<'_>, config: &Config, layer: usize) -> Result<Self> {
        if let Some(experts) = config.experts {
            return Ok(Self::Experts(Box::new(ExpertLayer::load(weights, config, experts, layer)?)));
        }
        let dense = DenseLayer::load(weights, config.width, config.feed_forward, |part| {
            format!("blk.{layer}.{part}")
        })?;
        Ok(Self::Dense(Box::new(dense)))
    }

    /// Whether matrices that are multiplied with `x` are quantised. Experts' products quantise it themselves.
    pub(super) fn is_quantised(&self) -> bool {
        match self {
            Self::Experts(experts) => {
                experts.shared.as_ref().is_some_and(|(shared, _)| shared.gate_up.is_quantised())
            }
            Self::Dense(dense) => dense.gate_up.is_quantised(),
        }
    }

    /// `x` and the result are `[tokens, width]`.
    pub(super) fn forward(&self, backend: &dyn KernelBackend, gate: Gate, x: &Factor) -> Result<Tensor> {
        let out = match self {
            Self::Experts(experts) => experts.forward(backend, gate, x)?,
            Self::Dense(dense) => dense.forward(backend, gate, x)?,
        };
        backend.all_reduce(&out)?;
        Ok(out)
    }
}

/// The matrices of a layer without experts.
#[derive(Debug)]
pub(super) struct DenseLayer {
    gate_up: Joined<2>,
    down: Linear,
}

impl DenseLayer {
    fn load(
        weights: &mut Weights<'_>,
        width: usize,
        inner: usize,
        name: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let shard = weights.shard();
        let of_rank = |part| MatrixRows::of_rank(shard, name(part), inner, width);
        Ok(Self {
            gate_up: Joined::load(weights, [of_rank("ffn_gate"), of_rank("ffn_up")])?,
            down: Linear::load_joined(weights, &name("ffn_down"), width, inner)?,
        })
    }

    fn forward(&self, backend: &dyn KernelBackend, gate: Gate, x: &Factor) -> Result<Tensor> {
        let [of_gate, up] = self.gate_up.forward(backend, x)?;
        let inner = backend.factor(up.dtype(), up.shape(), self.down.is_quantised())?;
        backend.gate_factor(gate, &of_gate, &up, &inner)?;
        let [out] = linears(backend, &inner, [&self.down])?;
        Ok(out)
    }
}

/// A router and its experts.
#[derive(Debug)]
pub(super) struct ExpertLayer {
    router: Linear,
    gate: Stack,
    up: Stack,
    down: Stack,
    /// An expert of every token, and the vector whose product with a token is its gate.
    shared: Option<(DenseLayer, Linear)>,
    used: usize,
    kind: Kind,
}

/// The same matrix of all experts, `[experts, rows, columns]`, and biases `[experts, rows]`.
#[derive(Debug)]
struct Stack {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Stack {
    /// This rank's rows of each matrix: so many. Each matrix has `parts` times as many as the ranks have, of
    /// which these are those of one part.
    fn load_split(
        weights: &mut Weights<'_>,
        name: &str,
        shape: [usize; 3],
        (part, parts): (usize, usize),
    ) -> Result<Self> {
        let Shard { rank, size } = weights.shard();
        let [experts, rows, columns] = shape;
        let first = |expert: usize| ((expert * parts + part) * size + rank) * rows;
        let rows_of: Vec<Range<usize>> = (0..experts).map(first).map(|row| row..row + rows).collect();
        let of = [experts, parts * size * rows, columns];
        let bias_name = format!("{name}.bias");
        let bias = match weights.has(&bias_name) {
            true => {
                let all = weights.numbers(&bias_name, &of[..2])?;
                let chosen: Vec<f32> =
                    rows_of.iter().flat_map(|range| &all[range.clone()]).copied().collect();
                Some(weights.backend().tensor(weights.dtype(), &[experts, rows], &chosen)?)
            }
            false => None,
        };
        let cut = Cut::of_rows(joined(rows_of));
        Ok(Self { weight: weights.matrix_part(&format!("{name}.weight"), &of, &cut, &shape)?, bias })
    }

    /// This rank's columns of each matrix: so many. The first rank has the biases.
    fn load_joined(weights: &mut Weights<'_>, name: &str, shape: [usize; 3]) -> Result<Self> {
        let Shard { rank, size } = weights.shard();
        let [experts, rows, columns] = shape;
        let own = std::iter::once(rank * columns..(rank + 1) * columns).collect();
        let cut = Cut::of_columns(own, columns * size);
        let of = [experts, rows, columns * size];
        let weight = weights.matrix_part(&format!("{name}.weight"), &of, &cut, &shape)?;
        let bias = match rank {
            0 => weights.optional_vector(&format!("{name}.bias"), &shape[..2])?,
            _ => None,
        };
        Ok(Self { weight, bias })
    }

    /// A row for each pair of a token and an expert.
    fn forward(&self, backend: &dyn KernelBackend, x: &Tensor, ids: &Tensor) -> Result<Tensor> {
        let out = backend.empty(x.dtype(), &[ids.elements(), self.weight.size(1)])?;
        backend.moe_matmul(x, &self.weight, ids, &out)?;
        if let Some(bias) = &self.bias {
            let chosen = backend.empty(x.dtype(), out.shape())?;
            backend.embedding(bias, &ids.reshape(&[ids.elements()])?, &chosen)?;
            backend.add(&out, &chosen, &out)?;
        }
        Ok(out)
    }
}

impl ExpertLayer {
    fn load(weights: &mut Weights<'_>, config: &Config, experts: Experts, layer: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (width, inner, count) = (config.width, experts.feed_forward, experts.count);
        let shape = [count, inner, width];
        let fused = name("ffn_gate_up_exps");
        let (gate, up) = match weights.has(&format!("{fused}.weight")) {
            true => (
                Stack::load_split(weights, &fused, shape, (0, 2))?,
                Stack::load_split(weights, &fused, shape, (1, 2))?,
            ),
            false => (
                Stack::load_split(weights, &name("ffn_gate_exps"), shape, (0, 1))?,
                Stack::load_split(weights, &name("ffn_up_exps"), shape, (0, 1))?,
            ),
        };
        let shared = match experts.shared {
            None => None,
            Some(inner) => {
                let dense = DenseLayer::load(weights, width, inner, |part| name(&format!("{part}_shexp")))?;
                let gate = weights.matrix(&name("ffn_gate_inp_shexp.weight"), &[width])?;
                let gate = Linear::fixed(gate.reshape(&[1, width])?);
                Some((dense, gate))
            }
        };
        Ok(Self {
            router: Linear::load(weights, &name("ffn_gate_inp"), count, width)?,
            gate,
            up,
            shared,
            down: Stack::load_joined(weights, &name("ffn_down_exps"), [count, width, inner])?,
            used: experts.used,
            kind: config.architecture.experts,
        })
    }

    fn forward(&self, backend: &dyn KernelBackend, gate: Gate, factor: &Factor) -> Result<Tensor> {
        let x = factor.numbers();
        let logits = self.router.forward(backend, x)?;
        let shape = [x.rows(), self.used];
        let (weights, ids) = (backend.empty(DType::F32, &shape)?, backend.empty(DType::U32, &shape)?);
        let usual = MoeGate::new(self.used);
        let choice = match self.kind {
            Kind::SoftmaxOfChosen => MoeGate { scores: GateScores::SoftmaxOfChosen, ..usual },
            Kind::Softmax { renormalised } => MoeGate { renormalise: renormalised, ..usual },
            Kind::Dense => usual,
        };
        backend.moe_gate(&choice, &logits, &weights, &ids)?;
        let inner = self.gate.forward(backend, x, &ids)?;
        let up = self.up.forward(backend, x, &ids)?;
        backend.gated(gate, &inner, &up, &inner)?;
        let parts = self.down.forward(backend, &inner, &ids)?;
        let out = backend.empty(x.dtype(), x.shape())?;
        backend.moe_combine(&parts, &weights, &out)?;
        if let Some((expert, gate_of)) = &self.shared {
            let logit = gate_of.forward(backend, x)?;
            let weight = backend.empty(DType::F32, &[x.rows(), 1])?;
            backend.cast(&logit, &weight)?;
            backend.activate(Activation::Sigmoid, &weight, &weight)?;
            let part = expert.forward(backend, gate, factor)?;
            let weighted = backend.empty(x.dtype(), x.shape())?;
            backend.moe_combine(&part, &weight, &weighted)?;
            backend.add(&out, &weighted, &out)?;
        }
        Ok(out)
    }
}
