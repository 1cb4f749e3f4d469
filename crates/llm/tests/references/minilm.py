"""Vectors of all-MiniLM-L6-v2, computed from its weights in f64 with NumPy, and its tokens by `tokenizers`.

    pip install numpy safetensors tokenizers scipy
    python minilm.py FOLDER > minilm.json
"""

import json
import os
import sys

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

TEXTS = [
    "A cat sits on the mat.",
    "There is a kitten on the rug!",
    "The stock market fell by 3.5% on Monday, and naïve investors lost money.",
    "日本語 unaffable",
]


def main():
    folder = sys.argv[1]
    w = {name: tensor.astype(np.float64) for name, tensor in load_file(os.path.join(folder, "model.safetensors")).items()}
    config = json.load(open(os.path.join(folder, "config.json")))
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()

    def norm(x, name):
        mean = x.mean(-1, keepdims=True)
        x = (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps)
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    results = []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        n = len(ids)
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n]
        x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            q, k, v = (linear(x, at + "attention.self." + part).reshape(n, heads, -1).swapaxes(0, 1) for part in ("query", "key", "value"))
            scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(n, -1)
            x = norm(x + linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
            inner = linear(x, at + "intermediate.dense")
            inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
            x = norm(x + linear(inner, at + "output.dense"), at + "output.LayerNorm")
        vector = x.mean(0)
        vector /= np.linalg.norm(vector)
        results.append({"text": text, "tokens": ids, "vector": [round(float(number), 6) for number in vector]})
    print(json.dumps({"texts": results}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
