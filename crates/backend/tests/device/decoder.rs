//! Layers of a decoder on the device and on the CPU.

use backend::{
    Attention, CpuBackend, DType, Gate, KernelBackend, Keys, KvCache, KvLayout, KvShape, QuantType, Result,
    Rope, RopeFrequencies, RopeStyle, Tensor,
};

use crate::common::{Bench, random};

const HIDDEN: usize = 64;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const DIM: usize = 16;
const INNER: usize = 96;
const VOCABULARY: usize = 40;
const POSITIONS: usize = 32;

/// A layer's matrices.
struct Layer {
    norms: [Tensor; 2],
    qkv: [Tensor; 3],
    out: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

struct Model<'a> {
    b: &'a dyn KernelBackend,
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    frequencies: RopeFrequencies,
    cache: KvCache,
}

/// What a step reads and writes.
struct Step {
    ids: Tensor,
    positions: Tensor,
    slots: Tensor,
    lengths: Tensor,
    logits: Tensor,
    next: Tensor,
}

impl<'a> Model<'a> {
    fn new(b: &'a dyn KernelBackend) -> Self {
        let mut seed = 100;
        let mut matrix = |n: usize, k: usize, quant: QuantType| {
            seed += 1;
            let blocks = quant.quantize(&random(n * k, seed, (3.0 / k as f32).sqrt())).unwrap();
            b.tensor_of_bytes(DType::Quant(quant), &[n, k], &blocks).unwrap()
        };
        let norm = |seed| {
            let weights: Vec<f32> = random(HIDDEN, seed, 0.2).iter().map(|x| x + 1.0).collect();
            b.tensor(DType::F32, &[HIDDEN], &weights).unwrap()
        };
        let mut layer = |seed| Layer {
            norms: [norm(seed), norm(seed + 1)],
            qkv: [
                matrix(HEADS * DIM, HIDDEN, QuantType::Q4_0),
                matrix(KV_HEADS * DIM, HIDDEN, QuantType::Q8_0),
                matrix(KV_HEADS * DIM, HIDDEN, QuantType::Q5_1),
            ],
            out: matrix(HIDDEN, HEADS * DIM, QuantType::Q8_0),
            gate: matrix(INNER, HIDDEN, QuantType::Q4_1),
            up: matrix(INNER, HIDDEN, QuantType::Q4_1),
            down: matrix(HIDDEN, INNER, QuantType::Q8_0),
        };
        let layers = vec![layer(200), layer(210)];
        let rope = Rope::new(DIM);
        let shape = KvShape { heads: KV_HEADS, dimensions: DIM };
        Self {
            b,
            embedding: matrix(VOCABULARY, HIDDEN, QuantType::Q8_0),
            layers,
            norm: norm(220),
            frequencies: b.rope_frequencies(&rope.frequencies().unwrap(), 1.0).unwrap(),
            cache: KvCache::new(b, DType::F32, KvLayout::contiguous(1, POSITIONS), &[shape; 2]).unwrap(),
        }
    }

    fn step_of(&self, tokens: usize) -> Step {
        let u32s = |count| self.b.zeros(DType::U32, &[count]).unwrap();
        Step {
            ids: u32s(tokens),
            positions: u32s(tokens),
            slots: self.b.zeros(DType::I64, &[tokens]).unwrap(),
            lengths: u32s(1),
            logits: self.b.zeros(DType::F32, &[tokens, VOCABULARY]).unwrap(),
            next: u32s(tokens),
        }
    }

    /// Tokens from a position on, and the position.
    fn prepare(&self, step: &Step, ids: &[u32], from: usize) {
        let positions: Vec<u32> = (from..from + ids.len()).map(|p| p as u32).collect();
        self.b.upload_u32(ids, &step.ids).unwrap();
        self.b.upload_u32(&positions, &step.positions).unwrap();
        self.b.upload_i64(&positions.iter().map(|p| i64::from(*p)).collect::<Vec<_>>(), &step.slots).unwrap();
        self.b.upload_u32(&[(from + ids.len()) as u32], &step.lengths).unwrap();
    }

    fn run(&self, step: &Step) -> Result<()> {
        let (b, tokens) = (self.b, step.ids.elements());
        let f32s = |shape: &[usize]| b.empty(DType::F32, shape);
        let (x, h) = (f32s(&[tokens, HIDDEN])?, f32s(&[tokens, HIDDEN])?);
        let (cos, sin) = (f32s(&[tokens, DIM / 2])?, f32s(&[tokens, DIM / 2])?);
        let (q, k, v) = (
            f32s(&[tokens, HEADS * DIM])?,
            f32s(&[tokens, KV_HEADS * DIM])?,
            f32s(&[tokens, KV_HEADS * DIM])?,
        );
        let (attended, gate, up) =
            (f32s(&[tokens, HEADS * DIM])?, f32s(&[tokens, INNER])?, f32s(&[tokens, INNER])?);
        b.embedding(&self.embedding, &step.ids, &x)?;
        b.rope_table(&self.frequencies, &step.positions, &cos, &sin)?;
        let heads = |x: &Tensor| x.split(1, DIM);
        for (i, layer) in self.layers.iter().enumerate() {
            if i == 0 {
                b.rmsnorm(&x, Some(&layer.norms[0]), 1e-5, &h)?;
            }
            b.matmul_many(&h, &[(&layer.qkv[0], &q), (&layer.qkv[1], &k), (&layer.qkv[2], &v)])?;
            for part in [&q, &k] {
                b.apply_rope(RopeStyle::Interleaved, (&cos, &sin), &heads(part)?, &heads(part)?)?;
            }
            b.kv_append(&self.cache.layers[i], &heads(&k)?, &heads(&v)?, &step.slots)?;
            let shape = [1, tokens, HEADS, DIM];
            let keys = Keys::Cache { layer: &self.cache.layers[i], table: None };
            let queries = q.reshape(&shape)?;
            let attention = Attention::causal(&queries, keys, Some(&step.lengths), POSITIONS);
            b.attention(&attention, &attended.reshape(&shape)?)?;
            b.matmul(&attended, &layer.out, &h)?;
            b.add_rmsnorm(&h, &x, Some(&layer.norms[1]), 1e-5, &h)?;
            b.matmul_many(&h, &[(&layer.gate, &gate), (&layer.up, &up)])?;
            b.gated(Gate::Silu, &gate, &up, &gate)?;
            b.matmul(&gate, &layer.down, &h)?;
            let next = self.layers.get(i + 1).map_or(&self.norm, |next| &next.norms[0]);
            b.add_rmsnorm(&h, &x, Some(next), 1e-5, &h)?;
        }
        b.matmul(&h, &self.embedding, &step.logits)?;
        b.argmax(&step.logits, &step.next)
    }
}

#[test]
fn a_decoder_gives_the_logits_that_it_gives_on_the_cpu() {
    let bench = Bench::open();
    let cpu = CpuBackend::with_threads(2).unwrap();
    let (model, reference) = (Model::new(&*bench.backend), Model::new(&cpu));
    let compare = |step: &Step, other: &Step, what: &str| {
        let (got, expected) = (
            bench.backend.to_f32(&step.logits).unwrap(),
            (&cpu as &dyn KernelBackend).to_f32(&other.logits).unwrap(),
        );
        let largest = expected.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        for (got, expected) in got.iter().zip(&expected) {
            // The device quantises activations to 8 bits.
            assert!((got - expected).abs() <= 0.03 * largest, "{what}: {got}, not {expected} of {largest}");
        }
    };
    let prompt = [3, 17, 25, 8, 30];
    let (step, other) = (model.step_of(5), reference.step_of(5));
    model.prepare(&step, &prompt, 0);
    model.run(&step).unwrap();
    reference.prepare(&other, &prompt, 0);
    reference.run(&other).unwrap();
    compare(&step, &other, "prompt");

    // Decoding as one graph, which reads ids, positions and lengths from the device's memory.
    let (step, other) = (model.step_of(1), reference.step_of(1));
    let graph = model.b.capture(&mut || model.run(&step)).unwrap().expect("a graph");
    for (i, id) in [11, 29, 2, 34].into_iter().enumerate() {
        model.prepare(&step, &[id], 5 + i);
        graph.launch().unwrap();
        reference.prepare(&other, &[id], 5 + i);
        reference.run(&other).unwrap();
        compare(&step, &other, &format!("step {i}"));
    }
}
