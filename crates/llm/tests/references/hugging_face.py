"""Small models of every architecture in Hugging Face's layout, with weights that a formula gives, and the logits that
`transformers` computes of them in f64.

    pip install torch transformers
    python hugging_face.py > hugging_face.json

The output also has the configuration and the tensors of each model, from which the tests write the same folder.
"""

import json
import os
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

WIDTH, HEADS, KV_HEADS, HEAD, INNER, LAYERS, VOCABULARY = 64, 4, 2, 32, 96, 3, 264
TOKENS = [(at * 37 + 5) % 256 for at in range(48)]
TOP = 5


def numbers(name, shape, fill):
    """The formula of `tiny.py`: a hash of the tensor's name and the element's index."""
    seed = 2166136261
    for byte in name.encode():
        seed = ((seed ^ byte) * 16777619) & 0xFFFFFFFF
    x = (np.arange(int(np.prod(shape)), dtype=np.uint64) * 2654435761 + seed) & 0xFFFFFFFF
    x ^= x >> 16
    x = (x * 0x7FEB352D) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 0x846CA68B) & 0xFFFFFFFF
    x ^= x >> 16
    u = x.astype(np.float64) / 4294967296.0 * 2.0 - 1.0
    scales = {
        "matrix": (float(np.sqrt(3.0 / shape[-1])), 0.0),
        "table": (1.0, 0.0),
        "norm": (0.2, 1.0),
        "difference": (0.2, 0.0),
        "bias": (0.1, 0.0),
        "wide": (1.0, 0.0),
    }
    scale, base = scales[fill]
    return (u * scale + base).astype(np.float32).reshape(shape)


def fill_of(name, shape, differences):
    if "norm" in name:
        return "difference" if differences and "linear_attn.norm" not in name else "norm"
    if name.endswith(("A_log", "dt_bias", "sinks")):
        return "wide"
    if "bias" in name:
        return "bias"
    return "table" if "embed_tokens" in name else "matrix"


def base(kind, **more):
    values = dict(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        vocab_size=VOCABULARY,
        max_position_embeddings=256,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        bos_token_id=256,
        eos_token_id=257,
        pad_token_id=None,
    )
    values.update(more)
    return getattr(transformers, kind + "Config")(**values)


def models():
    """Names, configurations, classes, and whether norms are stored as differences from 1."""
    llama3 = dict(
        rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64
    )
    yarn = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, original_max_position_embeddings=64, truncate=False)
    mixture = dict(num_experts_per_tok=2, norm_topk_prob=True)
    delta = dict(
        linear_conv_kernel_dim=4,
        linear_key_head_dim=16,
        linear_value_head_dim=32,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        num_hidden_layers=4,
        layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention"],
        rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.25),
    )
    shared = dict(num_experts=8, moe_intermediate_size=48, shared_expert_intermediate_size=80, num_experts_per_tok=2)
    yield "llama", base("Llama", rope_parameters=llama3), "LlamaForCausalLM", False
    yield "mistral", base("Mistral", sliding_window=16), "MistralForCausalLM", False
    yield "mixtral", base("Mixtral", num_local_experts=8, num_experts_per_tok=2, sliding_window=None), "MixtralForCausalLM", False
    yield "qwen2", base("Qwen2", head_dim=WIDTH // HEADS), "Qwen2ForCausalLM", False
    yield "qwen3", base("Qwen3", tie_word_embeddings=True), "Qwen3ForCausalLM", False
    yield "qwen3moe", base("Qwen3Moe", num_experts=8, moe_intermediate_size=48, decoder_sparse_step=1, **mixture), "Qwen3MoeForCausalLM", False
    caps = dict(attn_logit_softcapping=5.0, final_logit_softcapping=3.0)
    gemma = dict(query_pre_attn_scalar=16, tie_word_embeddings=True, hidden_activation="gelu_pytorch_tanh")
    yield "gemma2", base("Gemma2", sliding_window=16, **caps, **gemma), "Gemma2ForCausalLM", True
    yield "gemma3", base("Gemma3Text", sliding_window=16, num_hidden_layers=7, **gemma), "Gemma3ForCausalLM", True
    yield "gpt-oss", base("GptOss", num_local_experts=8, num_experts_per_tok=2, sliding_window=16, rope_parameters=yarn), "GptOssForCausalLM", False
    yield "qwen3next", base("Qwen3Next", norm_topk_prob=True, **delta, **shared), "Qwen3NextForCausalLM", True
    yield "qwen3.5", base("Qwen3_5Text", **delta), "Qwen3_5ForCausalLM", True
    yield "qwen3.5-moe", base("Qwen3_5MoeText", **delta, **shared), "Qwen3_5MoeForCausalLM", True


def summary(row):
    order = np.argsort(-row, kind="stable")[:TOP]
    pairs = [[int(token), round(float(row[token]), 4)] for token in order]
    return {"top": pairs, "mean": round(float(row.mean()), 4), "deviation": round(float(row.std()), 4)}


def run(folder, config, kind, differences):
    """Saves a model, replaces its weights by the formula's, and computes logits."""
    config._attn_implementation = "eager"
    of_class = getattr(transformers, kind)
    of_class(config).save_pretrained(folder, safe_serialization=True)
    path = os.path.join(folder, "model.safetensors")
    tensors = [[name, list(x.shape), fill_of(name, x.shape, differences)] for name, x in sorted(load_file(path).items())]
    save_file({name: numbers(name, shape, fill) for name, shape, fill in tensors}, path, metadata={"format": "pt"})
    model = of_class.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager").eval()
    with torch.no_grad():
        logits = model(torch.tensor([TOKENS])).logits[0].numpy()
    with open(os.path.join(folder, "config.json")) as file:
        return {"config": json.load(file), "tensors": tensors, "prompt": [summary(row) for row in logits]}


def main():
    results = []
    for name, config, kind, differences in models():
        print(name, file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            results.append({"name": name, **run(folder, config, kind, differences)})
    made_by = f"transformers {transformers.__version__}"
    print(json.dumps({"made_by": made_by, "tokens": TOKENS, "models": results}, separators=(",", ":")))


if __name__ == "__main__":
    main()
