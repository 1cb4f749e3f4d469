"""Small models of every architecture with weights that a formula gives, and llama.cpp's logits of them.

    pip install cyllama gguf
    python tiny.py > tiny.json

The output also has the values and tensors of each model's file, from which the tests write the same file.
"""

import json
import os
import sys
import tempfile

import cyllama.llama.llama_cpp as cpp
import gguf
import numpy as np

import llamacpp

WIDTH, HEADS, KV_HEADS, HEAD, INNER, LAYERS, VOCABULARY = 64, 4, 2, 32, 96, 3, 264
TOKENS = [(at * 37 + 5) % 256 for at in range(48)]


def numbers(name, shape, fill):
    """The formula: a hash of the tensor's name and the element's index."""
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
    scale, base = {"matrix": (float(np.sqrt(3.0 / shape[-1])), 0.0), "table": (1.0, 0.0), "norm": (0.2, 1.0), "bias": (0.1, 0.0), "wide": (1.0, 0.0), "loss": (0.5, -1.0)}[fill]
    return (u * scale + base).astype(np.float32).reshape(shape)


def byte_tokens():
    """GPT-2's characters for bytes, and some control tokens."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    names, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            names[byte] = chr(byte)
        else:
            names[byte] = chr(256 + extra)
            extra += 1
    return [names[byte] for byte in range(256)] + [f"<|{at}|>" for at in range(VOCABULARY - 257)] + ["he"]


def vocabulary():
    return [
        ["tokenizer.ggml.model", "string", "gpt2"],
        ["tokenizer.ggml.pre", "string", "gpt-2"],
        ["tokenizer.ggml.tokens", "strings", byte_tokens()],
        ["tokenizer.ggml.token_type", "i32s", [1] * 256 + [3] * (VOCABULARY - 257) + [1]],
        ["tokenizer.ggml.merges", "strings", ["h e"]],
        ["tokenizer.ggml.bos_token_id", "u32", 256],
        ["tokenizer.ggml.eos_token_id", "u32", 257],
        ["tokenizer.ggml.add_bos_token", "bool", False],
    ]


def decoder(arch, more=(), biases=False, head_norms=False, after_norms=False, experts=0, sinks=False, own_output=True, head=HEAD, layers=LAYERS):
    eps = "attention.layer_norm_rms_epsilon"
    values = [
        ["general.architecture", "string", arch],
        ["general.name", "string", "tiny " + arch],
        [f"{arch}.block_count", "u32", layers],
        [f"{arch}.context_length", "u32", 256],
        [f"{arch}.embedding_length", "u32", WIDTH],
        [f"{arch}.feed_forward_length", "u32", INNER],
        [f"{arch}.attention.head_count", "u32", HEADS],
        [f"{arch}.attention.head_count_kv", "u32", KV_HEADS],
        [f"{arch}.attention.key_length", "u32", head],
        [f"{arch}.attention.value_length", "u32", head],
        [f"{arch}.{eps}", "f32", 1e-5],
        [f"{arch}.rope.freq_base", "f32", 10000.0],
        [f"{arch}.rope.dimension_count", "u32", head],
    ]
    values += [[f"{arch}.{name}", kind, value] for name, kind, value in more] + vocabulary()
    tensors = [["token_embd.weight", [VOCABULARY, WIDTH], "table"], ["output_norm.weight", [WIDTH], "norm"]]
    if own_output:
        tensors.append(["output.weight", [VOCABULARY, WIDTH], "matrix"])
    for layer in range(layers):
        def add(name, shape, fill):
            tensors.append([f"blk.{layer}.{name}", shape, fill])

        queries, keys = HEADS * head, KV_HEADS * head
        add("attn_norm.weight", [WIDTH], "norm")
        for name, rows, columns in [("q", queries, WIDTH), ("k", keys, WIDTH), ("v", keys, WIDTH), ("output", WIDTH, queries)]:
            add(f"attn_{name}.weight", [rows, columns], "matrix")
            if biases is True or (biases == "qkv" and name != "output"):
                add(f"attn_{name}.bias", [rows], "bias")
        if head_norms:
            add("attn_q_norm.weight", [head], "norm")
            add("attn_k_norm.weight", [head], "norm")
        if sinks:
            add("attn_sinks.weight", [HEADS], "bias")
            add("post_attention_norm.weight", [WIDTH], "norm")
        else:
            add("ffn_norm.weight", [WIDTH], "norm")
        if after_norms:
            add("post_attention_norm.weight", [WIDTH], "norm")
            add("post_ffw_norm.weight", [WIDTH], "norm")
        if experts:
            add("ffn_gate_inp.weight", [experts, WIDTH], "matrix")
            if sinks:
                add("ffn_gate_inp.bias", [experts], "bias")
            for name, rows, columns in [("gate", INNER, WIDTH), ("up", INNER, WIDTH), ("down", WIDTH, INNER)]:
                add(f"ffn_{name}_exps.weight", [experts, rows, columns], "matrix")
                if sinks:
                    add(f"ffn_{name}_exps.bias", [experts, rows], "bias")
        else:
            for name, rows, columns in [("gate", INNER, WIDTH), ("up", INNER, WIDTH), ("down", WIDTH, INNER)]:
                add(f"ffn_{name}.weight", [rows, columns], "matrix")
    return values, tensors


def delta_decoder(arch, experts=0):
    """Gated delta nets, and attention in every second layer."""
    state, keys, heads, width = 32, 2, 4, 4
    more = [
        ("ssm.conv_kernel", "u32", width),
        ("ssm.inner_size", "u32", heads * state),
        ("ssm.state_size", "u32", state),
        ("ssm.time_step_rank", "u32", heads),
        ("ssm.group_count", "u32", keys),
        ("full_attention_interval", "u32", 2),
    ]
    if arch != "qwen3next":
        more.append(("rope.dimension_sections", "i32s", [2, 1, 1, 0]))
    if experts:
        more += [("expert_count", "u32", experts), ("expert_used_count", "u32", 2), ("expert_feed_forward_length", "u32", INNER)]
        more += [("expert_shared_feed_forward_length", "u32", 80)]
    values, plain = decoder(arch, more, head_norms=True, experts=experts, layers=4)
    values = [[name, kind, HEAD // 4 if name.endswith("rope.dimension_count") else value] for name, kind, value in values]
    tensors = []
    for name, shape, fill in plain:
        part = name.split(".", 2)[-1]
        layer = int(name.split(".")[1]) if name.startswith("blk.") else 1
        name = name.replace("ffn_norm", "post_attention_norm")
        if layer % 2 == 0 and part.startswith("attn_") and part != "attn_norm.weight":
            continue
        tensors.append([name, [2 * shape[0], shape[1]] if part == "attn_q.weight" else shape, fill])
    channels, inner = (2 * keys + heads) * state, heads * state
    for layer in range(4):
        def add(name, shape, fill):
            tensors.append([f"blk.{layer}.{name}", shape, fill])

        if layer % 2 == 0:
            add("attn_qkv.weight", [channels, WIDTH], "matrix")
            add("attn_gate.weight", [inner, WIDTH], "matrix")
            if arch == "qwen3next":
                add("ssm_ba.weight", [2 * heads, WIDTH], "matrix")
            else:
                add("ssm_alpha.weight", [heads, WIDTH], "matrix")
                add("ssm_beta.weight", [heads, WIDTH], "matrix")
            add("ssm_conv1d.weight", [channels, width], "matrix")
            add("ssm_dt.bias", [heads], "wide")
            add("ssm_a", [heads], "loss")
            add("ssm_norm.weight", [state], "norm")
            add("ssm_out.weight", [WIDTH, inner], "matrix")
        if experts:
            add("ffn_gate_inp_shexp.weight", [WIDTH], "matrix")
            for name, rows, columns in [("gate", 80, WIDTH), ("up", 80, WIDTH), ("down", WIDTH, 80)]:
                add(f"ffn_{name}_shexp.weight", [rows, columns], "matrix")
    return values, tensors


def models():
    mixture = [("expert_count", "u32", 8), ("expert_used_count", "u32", 2)]
    yield "llama", decoder("llama")
    yield "mixtral", decoder("llama", mixture, experts=8)
    yield "qwen2", decoder("qwen2", biases="qkv", head=WIDTH // HEADS)
    yield "qwen3", decoder("qwen3", head_norms=True, own_output=False)
    yield "qwen3moe", decoder("qwen3moe", mixture + [("expert_feed_forward_length", "u32", INNER)], head_norms=True, experts=8)
    caps = [("attn_logit_softcapping", "f32", 5.0), ("final_logit_softcapping", "f32", 3.0)]
    yield "gemma2", decoder("gemma2", caps + [("attention.sliding_window", "u32", 16)], after_norms=True, own_output=False)
    linear = [("rope.scaling.type", "string", "linear"), ("rope.scaling.factor", "f32", 8.0)]
    window = [("attention.sliding_window", "u32", 16)]
    yield "gemma3", decoder("gemma3", window + linear, head_norms=True, after_norms=True, own_output=False, layers=7)
    yarn = [
        ("rope.scaling.type", "string", "yarn"),
        ("rope.scaling.factor", "f32", 4.0),
        ("rope.scaling.original_context_length", "u32", 64),
    ]
    inner = [("expert_feed_forward_length", "u32", INNER)]
    yield "qwen3next", delta_decoder("qwen3next", experts=8)
    yield "qwen35", delta_decoder("qwen35")
    yield "qwen35moe", delta_decoder("qwen35moe", experts=8)
    yield "gpt-oss", decoder("gpt-oss", mixture + window + yarn + inner, biases=True, experts=8, sinks=True)


def write(path, values, tensors):
    writer = gguf.GGUFWriter(path, values[0][2])
    kinds = gguf.GGUFValueType
    for name, kind, value in values[1:]:
        if kind in ("strings", "i32s"):
            sub = {"strings": kinds.STRING, "i32s": kinds.INT32}[kind]
            writer.add_key_value(name, value, kinds.ARRAY, sub_type=sub)
        else:
            of = {"string": kinds.STRING, "u32": kinds.UINT32, "f32": kinds.FLOAT32, "bool": kinds.BOOL}[kind]
            writer.add_key_value(name, value, of)
    for name, shape, fill in tensors:
        writer.add_tensor(name, numbers(name, shape, fill))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    cpp.disable_logging()
    cpp.ggml_backend_load_all()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (values, tensors) in models():
            path = os.path.join(folder, name + ".gguf")
            write(path, values, tensors)
            print(name, file=sys.stderr, flush=True)
            prompt, greedy, leads = llamacpp.run(path, TOKENS, 24)
            short = [value for value in values if not value[0].startswith("tokenizer.")]
            result = {"name": name, "values": short, "tensors": tensors, "prompt": prompt, "greedy": greedy, "leads": leads}
            results.append(result)
    print(json.dumps({"made_by": "llama.cpp " + cpp.ggml_commit(), "tokens": TOKENS, "models": results}, separators=(",", ":")))


if __name__ == "__main__":
    main()
