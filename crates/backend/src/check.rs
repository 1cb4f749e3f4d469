//! Checks of shapes and types that all backends share.

use crate::error::{Error, Result};
use crate::{DType, Tensor};

/// Refuses a tensor of another shape.
pub(crate) fn shape(
    operation: &'static str,
    name: &'static str,
    tensor: &Tensor,
    expected: &[usize],
) -> Result<()> {
    if tensor.shape() == expected {
        return Ok(());
    }
    Err(Error::Shape { operation, tensor: name, expected: format!("{expected:?}"), got: tensor.describe() })
}

/// Refuses a tensor of another type or shape.
pub(crate) fn typed(
    operation: &'static str,
    name: &'static str,
    tensor: &Tensor,
    dtype: DType,
    expected: &[usize],
) -> Result<()> {
    if tensor.shape() == expected && tensor.dtype() == dtype {
        return Ok(());
    }
    let expected = crate::error::described(dtype, expected);
    Err(Error::Shape { operation, tensor: name, expected, got: tensor.describe() })
}

/// Refuses a tensor with gaps.
pub(crate) fn dense(operation: &'static str, name: &'static str, tensor: &Tensor) -> Result<()> {
    if tensor.is_contiguous() {
        return Ok(());
    }
    Err(Error::Shape { operation, tensor: name, expected: "contiguous".to_owned(), got: tensor.describe() })
}

/// Refuses a tensor whose last dimension has gaps.
pub(crate) fn dense_rows(operation: &'static str, name: &'static str, tensor: &Tensor) -> Result<()> {
    if tensor.columns() <= 1 || tensor.strides().last().is_none_or(|stride| *stride == 1) {
        return Ok(());
    }
    let expected = "without gaps in its last dimension".to_owned();
    Err(Error::Shape { operation, tensor: name, expected, got: tensor.describe() })
}

/// Refuses a tensor of another number of dimensions.
pub(crate) fn rank(
    operation: &'static str,
    name: &'static str,
    tensor: &Tensor,
    expected: &'static str,
    rank: usize,
) -> Result<()> {
    if tensor.rank() == rank {
        return Ok(());
    }
    Err(Error::Shape { operation, tensor: name, expected: expected.to_owned(), got: tensor.describe() })
}

/// An error about a tensor's shape.
pub(crate) fn wrong(
    operation: &'static str,
    name: &'static str,
    tensor: &Tensor,
    expected: impl Into<String>,
) -> Error {
    Error::Shape { operation, tensor: name, expected: expected.into(), got: tensor.describe() }
}

/// The rows, k and n of `out = x wᵀ`, checked.
pub(crate) fn product(
    operation: &'static str,
    x: &Tensor,
    w: &Tensor,
    out: &Tensor,
) -> Result<(usize, usize, usize)> {
    rank(operation, "w", w, "[n, k]", 2)?;
    let (rows, k, n) = (x.rows(), x.columns(), w.size(0));
    if w.size(1) != k {
        return Err(wrong(operation, "w", w, format!("[n, {k}]")));
    }
    if out.rows() != rows || out.columns() != n {
        return Err(wrong(operation, "out", out, format!("[{rows}, {n}]")));
    }
    Ok((rows, k, n))
}

/// The batch, m, k and n of a batch of products, checked.
pub(crate) fn batched(
    operation: &'static str,
    x: &Tensor,
    y: &Tensor,
    transposed: bool,
    out: &Tensor,
) -> Result<(usize, usize, usize, usize)> {
    rank(operation, "x", x, "[batch, m, k]", 3)?;
    rank(operation, "y", y, "[batch, k, n] or its transpose", 3)?;
    let (batch, m, k) = (x.size(0), x.size(1), x.size(2));
    let n = if transposed { y.size(1) } else { y.size(2) };
    let expected = if transposed { [batch, n, k] } else { [batch, k, n] };
    shape(operation, "y", y, &expected)?;
    shape(operation, "out", out, &[batch, m, n])?;
    [("x", x), ("y", y), ("out", out)].iter().try_for_each(|(name, t)| dense_rows(operation, name, t))?;
    Ok((batch, m, k, n))
}

/// The experts of a choice of some of them, which is checked against what the kernels can do.
pub(crate) fn gate(
    operation: &'static str,
    gate: &crate::ops::MoeGate<'_>,
    logits: &Tensor,
    weights: &Tensor,
    ids: &Tensor,
) -> Result<usize> {
    let (tokens, experts) = (logits.rows(), logits.columns());
    let wrong = |parameter, got: usize, problem| {
        Err(Error::Value { operation, parameter, got: got.to_string(), problem })
    };
    if experts == 0 || experts > kernels::MOST_EXPERTS {
        return wrong("experts", experts, "and must be from 1 to 1024");
    }
    let (groups, chosen) = gate.groups.map_or((1, 1), |groups| (groups.groups, groups.chosen));
    if groups == 0 || groups > kernels::MOST_EXPERT_GROUPS || !experts.is_multiple_of(groups) {
        return wrong("groups", groups, "and must be from 1 to 32 and divide the number of experts");
    }
    if chosen == 0 || chosen > groups {
        return wrong("chosen groups", chosen, "and must be from 1 to the number of groups");
    }
    let size = experts / groups;
    if size < 2 && gate.groups.is_some_and(|groups| groups.by == kernels::GroupScore::TwoLargest) {
        return wrong("groups", groups, "and must have at least two experts each");
    }
    if gate.k == 0 || gate.k > (size * chosen).min(kernels::MOST_CHOICES) {
        return wrong("k", gate.k, "and must be from 1 to 32, at most the experts of the chosen groups");
    }
    gate.bias.map_or(Ok(()), |bias| typed(operation, "bias", bias, DType::F32, &[experts]))?;
    typed(operation, "weights", weights, DType::F32, &[tokens, gate.k])?;
    typed(operation, "ids", ids, DType::U32, &[tokens, gate.k])?;
    Ok(experts)
}

/// The experts, n, k and pairs of products with experts' matrices, checked.
pub(crate) fn experts(
    operation: &'static str,
    x: &Tensor,
    w: &Tensor,
    ids: &Tensor,
    out: &Tensor,
) -> Result<(usize, usize, usize, usize)> {
    rank(operation, "w", w, "[experts, n, k]", 3)?;
    let (experts, n, k, pairs) = (w.size(0), w.size(1), w.size(2), ids.elements());
    if x.columns() != k || (pairs > 0 && (x.rows() == 0 || !pairs.is_multiple_of(x.rows()))) {
        return Err(wrong(operation, "x", x, format!("[a divisor of {pairs}, {k}]")));
    }
    if out.rows() != pairs || out.columns() != n {
        return Err(wrong(operation, "out", out, format!("[{pairs}, {n}]")));
    }
    Ok((experts, n, k, pairs))
}

/// The tokens, pairs for each and columns of sums of experts' results, checked.
pub(crate) fn combine(
    operation: &'static str,
    y: &Tensor,
    weights: &Tensor,
    out: &Tensor,
) -> Result<(usize, usize, usize)> {
    let (tokens, k, n) = (weights.rows(), weights.columns(), y.columns());
    typed(operation, "weights", weights, DType::F32, &[tokens, k])?;
    if y.rows() != tokens * k {
        return Err(wrong(operation, "y", y, format!("[{}, n]", tokens * k)));
    }
    if out.rows() != tokens || out.columns() != n {
        return Err(wrong(operation, "out", out, format!("[{tokens}, {n}]")));
    }
    Ok((tokens, k, n))
}

/// Checks what is added element by element, or multiplied: `b` has the last dimensions of `a`.
pub(crate) fn repeats(operation: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    if !a.shape().ends_with(b.shape()) || (b.elements() == 0 && a.elements() > 0) {
        return Err(wrong(operation, "b", b, format!("the last dimensions of {:?}", a.shape())));
    }
    Ok(())
}

/// The rows and the width of a table, of which rows are taken by number, checked.
pub(crate) fn embedding(
    operation: &'static str,
    table: &Tensor,
    ids: &Tensor,
    out: &Tensor,
) -> Result<(usize, usize)> {
    rank(operation, "table", table, "[rows, width]", 2)?;
    dense_rows(operation, "table", table)?;
    let (rows, width) = (table.size(0), table.size(1));
    if out.columns() != width || out.rows() != ids.elements() {
        return Err(wrong(operation, "out", out, format!("[{}, {width}]", ids.elements())));
    }
    Ok((rows, width))
}

/// Checks cosines and sines of positions.
pub(crate) fn rope_table(
    operation: &'static str,
    half: usize,
    positions: &Tensor,
    (cos, sin): (&Tensor, &Tensor),
) -> Result<()> {
    let shape = [positions.elements(), half];
    typed(operation, "cos", cos, DType::F32, &shape)?;
    typed(operation, "sin", sin, DType::F32, &shape)
}

/// The tokens, heads, dimensions and frequencies of a rotation, checked, all but that `out` is like `x`.
pub(crate) fn rope(
    operation: &'static str,
    (cos, sin): (&Tensor, &Tensor),
    x: &Tensor,
    out: &Tensor,
) -> Result<[usize; 4]> {
    rank(operation, "x", x, "[tokens, heads, dimensions]", 3)?;
    dense_rows(operation, "x", x)?;
    dense_rows(operation, "out", out)?;
    let (tokens, heads, dimensions, half) = (x.size(0), x.size(1), x.size(2), cos.size(1));
    typed(operation, "cos", cos, DType::F32, &[tokens, half])?;
    typed(operation, "sin", sin, DType::F32, &[tokens, half])?;
    if 2 * half > dimensions {
        return Err(wrong(operation, "x", x, format!("at least {} dimensions", 2 * half)));
    }
    Ok([tokens, heads, dimensions, half])
}

/// Checks penalties of tokens by their counts.
pub(crate) fn penalties(
    operation: &'static str,
    counts: &Tensor,
    penalties: &Tensor,
    logits: &Tensor,
) -> Result<()> {
    let (rows, columns) = (logits.rows(), logits.columns());
    typed(operation, "counts", counts, DType::U32, &[rows, columns])?;
    typed(operation, "penalties", penalties, DType::U32, &[rows, 3])
}

/// Checks what draws a token for each row of logits.
pub(crate) fn sample(
    operation: &'static str,
    logits: &Tensor,
    settings: &Tensor,
    uniforms: &Tensor,
    tokens: &Tensor,
) -> Result<()> {
    let rows = logits.rows();
    typed(operation, "settings", settings, DType::U32, &[rows, 4])?;
    typed(operation, "uniforms", uniforms, DType::F32, &[rows])?;
    typed(operation, "tokens", tokens, DType::U32, &[rows])
}

/// Checks the numbers of the largest elements of rows.
pub(crate) fn argmax(operation: &'static str, x: &Tensor, out: &Tensor) -> Result<()> {
    if out.dtype() != DType::U32 || out.elements() != x.rows() || x.columns() == 0 {
        return Err(wrong(operation, "out", out, format!("u32 [{}]", x.rows())));
    }
    Ok(())
}

/// Checks tokens and their counts.
pub(crate) fn counts(operation: &'static str, tokens: &Tensor, counts: &Tensor) -> Result<()> {
    let (rows, columns) = (counts.rows(), counts.columns());
    typed(operation, "counts", counts, DType::U32, &[rows, columns])?;
    typed(operation, "tokens", tokens, DType::U32, &[rows, tokens.columns()])
}

/// The k of the largest elements of rows, checked.
pub(crate) fn top_k(operation: &'static str, x: &Tensor, values: &Tensor, indices: &Tensor) -> Result<usize> {
    let (rows, k) = (x.rows(), values.columns());
    shape(operation, "values", values, &[rows, k])?;
    typed(operation, "indices", indices, DType::U32, &[rows, k])?;
    if k == 0 || k > x.columns().min(kernels::MOST_TOP_K) {
        return Err(wrong(operation, "values", values, "1 to 256 columns, at most those of x"));
    }
    Ok(k)
}

/// The sizes of attention, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttentionSizes {
    pub(crate) batch: usize,
    pub(crate) q_len: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) dim: usize,
    /// Pages and positions of each.
    pub(crate) pages: usize,
    pub(crate) page: usize,
    /// Entries of a sequence's row of the table.
    pub(crate) table: Option<usize>,
}

/// Checks what attention reads and writes, all but the types of queries and cache.
pub(crate) fn attention(attention: &crate::ops::Attention<'_>, out: &Tensor) -> Result<AttentionSizes> {
    use crate::ops::Keys;
    let (operation, q) = ("attention", attention.q);
    rank(operation, "q", q, "[sequences, queries, heads, dimensions]", 4)?;
    let (batch, q_len, heads, dim) = (q.size(0), q.size(1), q.size(2), q.size(3));
    typed(operation, "out", out, q.dtype(), q.shape())?;
    let (k, v, table) = match attention.keys {
        Keys::Dense { k, v } => (k, v, None),
        Keys::Cache { layer, table } => (&layer.k, &layer.v, table),
    };
    rank(operation, "k", k, "[sequences or pages, positions, heads, dimensions]", 4)?;
    typed(operation, "v", v, k.dtype(), k.shape())?;
    for (name, tensor) in [("q", q), ("k", k), ("v", v), ("out", out)] {
        dense_rows(operation, name, tensor)?;
    }
    let (pages, page, kv_heads) = (k.size(0), k.size(1), k.size(2));
    if k.size(3) != dim || kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        let expected = format!("a divisor of {heads} heads, with {dim} dimensions");
        return Err(wrong(operation, "k", k, expected));
    }
    let most = attention.most_keys;
    let table = match table {
        Some(table) => {
            rank(operation, "table", table, "[sequences, pages]", 2)?;
            let entries = table.size(1);
            typed(operation, "table", table, DType::U32, &[batch, entries])?;
            dense(operation, "table", table)?;
            if most > entries.saturating_mul(page) || (most > 0 && pages == 0) {
                return Err(wrong(operation, "table", table, format!("pages for {most} keys")));
            }
            Some(entries)
        }
        None => {
            if pages < batch || page < most {
                return Err(wrong(operation, "k", k, format!("{batch} sequences of {most} keys")));
            }
            None
        }
    };
    if let Some(lengths) = attention.lengths {
        typed(operation, "lengths", lengths, DType::U32, &[batch])?;
    }
    if let Some(sinks) = attention.sinks {
        typed(operation, "sinks", sinks, DType::F32, &[heads])?;
    }
    let value = |parameter, got: String, problem| Err(Error::Value { operation, parameter, got, problem });
    if attention.window == Some(0) {
        return value("window", "0".to_owned(), "and must be at least 1");
    }
    if attention.soft_cap.is_some_and(|cap| !(cap > 0.0 && cap.is_finite())) {
        return value("soft_cap", format!("{:?}", attention.soft_cap), "and must be positive and finite");
    }
    Ok(AttentionSizes { batch, q_len, heads, kv_heads, dim, pages, page, table })
}

/// The sequences, tokens, channels and width of a causal convolution, checked.
pub(crate) fn causal_conv(
    x: &Tensor,
    weight: &Tensor,
    states: &Tensor,
    slots: &Tensor,
    out: &Tensor,
) -> Result<[usize; 4]> {
    let operation = "causal_conv";
    rank(operation, "x", x, "[sequences, tokens, channels]", 3)?;
    let (sequences, tokens, channels, width) = (x.size(0), x.size(1), x.size(2), weight.columns());
    typed(operation, "weight", weight, x.dtype(), &[channels, width])?;
    typed(operation, "out", out, x.dtype(), x.shape())?;
    typed(operation, "slots", slots, DType::U32, &[sequences])?;
    if !(2..=kernels::MOST_CONV_WIDTH).contains(&width) {
        return Err(wrong(operation, "weight", weight, "[channels, 2 to 4]"));
    }
    typed(operation, "states", states, DType::F32, &[states.size(0), channels, width - 1])?;
    dense_rows(operation, "x", x)?;
    let follow = sequences <= 1 || tokens == 0 || x.strides()[0] == tokens * x.strides()[1];
    if !follow {
        return Err(wrong(operation, "x", x, "of sequences that follow each other"));
    }
    for (name, tensor) in [("weight", weight), ("states", states), ("out", out)] {
        dense(operation, name, tensor)?;
    }
    Ok([sequences, tokens, channels, width])
}

/// The sequences, tokens, key heads, heads, key size and value size of a gated delta rule, checked.
pub(crate) fn gated_delta(delta: &crate::ops::GatedDelta<'_>, out: &Tensor) -> Result<[usize; 6]> {
    let (operation, q, v) = ("gated_delta", delta.q, delta.v);
    rank(operation, "q", q, "[sequences, tokens, key heads, key size]", 4)?;
    rank(operation, "v", v, "[sequences, tokens, heads, value size]", 4)?;
    let [sequences, tokens, key_heads, key] = [0, 1, 2, 3].map(|i| q.size(i));
    let (heads, value) = (v.size(2), v.size(3));
    typed(operation, "k", delta.k, q.dtype(), q.shape())?;
    typed(operation, "v", v, q.dtype(), &[sequences, tokens, heads, value])?;
    typed(operation, "out", out, v.dtype(), v.shape())?;
    if key_heads == 0 || !heads.is_multiple_of(key_heads) {
        return Err(wrong(operation, "q", q, format!("of a divisor of {heads} heads")));
    }
    typed(operation, "gates", delta.gates, DType::F32, &[sequences, tokens, heads])?;
    typed(operation, "betas", delta.betas, DType::F32, &[sequences, tokens, heads])?;
    typed(operation, "states", delta.states, DType::F32, &[delta.states.size(0), heads, key, value])?;
    typed(operation, "slots", delta.slots, DType::U32, &[sequences])?;
    for (name, x) in [("q", q), ("k", delta.k), ("v", v)] {
        dense_rows(operation, name, x)?;
        if sequences > 1 && tokens > 0 && x.strides()[0] != tokens * x.strides()[1] {
            return Err(wrong(operation, name, x, "of sequences that follow each other"));
        }
    }
    for (name, x) in [("gates", delta.gates), ("betas", delta.betas), ("states", delta.states), ("out", out)]
    {
        dense(operation, name, x)?;
    }
    Ok([sequences, tokens, key_heads, heads, key, value])
}
