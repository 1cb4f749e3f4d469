"""llama.cpp's tokens, logits and greedy tokens for a GGUF file, as JSON.

    pip install cyllama gguf
    python llamacpp.py MODEL.gguf > model.json

Logits are those of a copy of the file whose weights are f32 (the same numbers, dequantised), so that llama.cpp
does not round activations to 8 bits; keys and values are f32, too.
"""

import json
import os
import sys
import tempfile

import cyllama.llama.llama_cpp as cpp
import gguf
import numpy as np

TEXTS = [
    "",
    " ",
    "Hello, world!",
    "Hello  world\n\n\n  four   spaces\t\ttabs \n",
    "The year 2024: 3.14159 and 1,000,000 or 0xDEADBEEF.",
    "I'm you're he'll WE'VE they'd it's O'Neill 'quoted'",
    "Grüße aus Köln, naïve café, señor, Ångström",
    "日本語のテキストと中文文本 한국어 텍스트",
    "Привет, мир! Γειά σου Κόσμε. שלום עולם مرحبا بالعالم",
    "👩‍👩‍👧‍👦 🏳️‍🌈 😀😀 e\u0301 \u200b\u00a0x",
    "fn main() {\n    println!(\"{}\", x[0] += 1);\n}\n",
    "<|im_start|>user\nHi<|im_end|>\n<|endoftext|>",
    "<start_of_turn>user\nHi<end_of_turn>\n<bos><eos>",
    " leading and trailing ",
    "a\u0000b\u0001c\ufeffd",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "\r\nwindows\r\nlines\r\n",
    "<0x41> ▁under ▁ line <0xZZ>",
]
PROMPT = (
    "The capital of France is Paris. The capital of Italy is Rome. Water boils at 100 degrees Celsius, and freezes at "
    "0 degrees. The quick brown fox jumps over the lazy dog, and then it sleeps under a tree until the sun goes down "
    "behind the hills of the valley, far away from the town."
)
TOP = 5
GREEDY = 64


def in_f32(path, out):
    """Writes a copy with all weights in f32."""
    reader = gguf.GGUFReader(path)
    arch = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(out, arch)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture" or name == "general.file_type":
            continue
        kind = field.types[0]
        sub = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=sub)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, values.reshape([int(n) for n in reversed(tensor.shape)]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Model(cpp.LlamaModel):
    """With a property that `get_logits_ith` asks for and that cyllama forgot."""

    @property
    def n_vocab(self):
        return self.get_vocab().n_vocab


def load(path):
    params = cpp.LlamaModelParams()
    params.n_gpu_layers = 0
    return Model(path, params)


def context(model, n_ctx=512):
    params = cpp.LlamaContextParams()
    params.n_ctx = n_ctx
    params.n_batch = n_ctx
    params.n_ubatch = n_ctx
    params.n_threads = 2
    params.n_threads_batch = 2
    params.type_k = 0
    params.type_v = 0
    params.flash_attn_type = 0
    params.swa_full = True
    return cpp.LlamaContext(model, params)


def batch_of(tokens, position, every):
    batch = cpp.LlamaBatch(n_tokens=len(tokens), embd=0, n_seq_max=1)
    for at, token in enumerate(tokens):
        batch.add(token, position + at, [0], every or at + 1 == len(tokens))
    return batch


def top(row):
    row = np.array(row, dtype=np.float32)
    order = np.argsort(-row, kind="stable")[:TOP]
    mean, deviation = float(row.mean()), float(row.std())
    pairs = [[int(token), round(float(row[token]), 4)] for token in order]
    return {"top": pairs, "mean": round(mean, 4), "deviation": round(deviation, 4)}


def run(path, tokens, greedy=GREEDY):
    """Summaries of the logits at each token of the prompt, and greedy tokens with the lead of each."""
    model = load(path)
    ctx = context(model)
    ctx.decode(batch_of(tokens, 0, True))
    prompt = [top(ctx.get_logits_ith(at)) for at in range(len(tokens))]
    last = prompt[-1]["top"]
    generated, leads = [], []
    for step in range(greedy):
        generated.append(last[0][0])
        leads.append(round(last[0][1] - last[1][1], 4))
        if step + 1 < greedy:
            ctx.decode(batch_of([last[0][0]], len(tokens) + step, True))
            last = top(ctx.get_logits_ith(0))["top"]
    return prompt, generated, leads


def main():
    path = sys.argv[1]
    cpp.disable_logging()
    cpp.ggml_backend_load_all()
    model = load(path)
    vocab = model.get_vocab()
    texts = []
    for text in TEXTS:
        special = list(vocab.tokenize(text, True, True))
        plain = list(vocab.tokenize(text, False, False))
        texts.append({"text": text, "with_special": special, "plain": plain})
    tokens = list(vocab.tokenize(PROMPT, True, True))[:64]
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "f32.gguf")
        in_f32(path, copy)
        prompt, generated, leads = run(copy, tokens)
    _, as_is, as_is_leads = run(path, tokens)
    result = {
        "made_by": "llama.cpp " + cpp.ggml_commit() if hasattr(cpp, "ggml_commit") else "llama.cpp",
        "texts": texts,
        "tokens": tokens,
        "prompt": prompt,
        "greedy": generated,
        "leads": leads,
        "greedy_as_is": as_is,
        "leads_as_is": as_is_leads,
    }
    json.dump(result, sys.stdout, ensure_ascii=False, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
