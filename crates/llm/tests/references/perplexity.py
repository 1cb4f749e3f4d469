"""llama.cpp's perplexity of a text, of a file as it is and of its copy in f32, and how far the first one's
probabilities are from those of the second, as JSON.

    pip install cyllama gguf
    python perplexity.py NAME=MODEL.gguf … > perplexity.json
"""

import json
import os
import sys
import tempfile

import cyllama.llama.llama_cpp as cpp
import numpy as np

import llamacpp

TEXT = """Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or twice she \
had peeped into the book her sister was reading, but it had no pictures or conversations in it, "and what is the use of a book," \
thought Alice "without pictures or conversations?"

The lighthouse keeper counted the ships each evening and wrote their number in a blue notebook. On Tuesday there were eleven, three \
of them with red sails, and one so far away that he could not say whether it was a ship at all. He wrote down twelve, crossed it \
out, and wrote eleven and a half. "If it comes closer," he told his cat, "I shall owe it the other half." The cat, which had opinions \
about fish and none about arithmetic, went on looking at the sea.

A compiler reads the text of a program and writes another text that a machine can run. It first cuts the text into words, then finds \
out how the words belong together, and then checks that each name means something. Only after that does it begin to translate. Most \
of the work of a good compiler is not the translation, though, but what comes behind it: to find out which parts of the program do \
the same thing twice, which never run, and which could wait. A variable that is written and never read can go. A loop whose body \
does not depend on its counter can become a single step. Such changes are small, and there are very many of them, and together they \
make the difference between a program that is merely correct and one that people like to use.
"""


def log_probabilities(path, tokens, at_once):
    """Of all tokens at each position, the text in parts of so many tokens."""
    model = llamacpp.load(path)
    ctx = llamacpp.context(model)
    result = []
    for first in range(0, len(tokens), at_once):
        part = tokens[first : first + at_once]
        ctx.decode(llamacpp.batch_of(part, first, True))
        for at in range(len(part)):
            row = np.array(ctx.get_logits_ith(at), dtype=np.float32)
            highest = np.float64(row.max())
            result.append((row - highest - np.log(np.exp(row - highest).sum())).astype(np.float32))
    return result


def perplexity(rows, tokens):
    return round(float(np.exp(-np.mean([row[token] for row, token in zip(rows, tokens[1:])], dtype=np.float64))), 6)


def divergence(truth, rows):
    """The mean Kullback-Leibler divergence from the truth."""
    of = lambda p, q: float((np.exp(p.astype(np.float64)) * (p.astype(np.float64) - q)).sum())
    return round(float(np.mean([of(p, q) for p, q in zip(truth, rows)])), 6)


def main():
    cpp.disable_logging()
    cpp.ggml_backend_load_all()
    models = {}
    for argument in sys.argv[1:]:
        name, path = argument.split("=", 1)
        model = llamacpp.load(path)
        tokens = list(model.get_vocab().tokenize(TEXT, True, True))
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "f32.gguf")
            llamacpp.in_f32(path, copy)
            truth = log_probabilities(copy, tokens, len(tokens))
        of = {"in_f32": perplexity(truth, tokens)}
        # In one part, llama.cpp has other code for the same products than for a token at a time.
        for kind, at_once in [("as_is", len(tokens)), ("one_by_one", 1)]:
            rows = log_probabilities(path, tokens, at_once)
            of[kind] = perplexity(rows, tokens)
            if kind == "as_is":
                of["divergence"] = divergence(truth, rows)
        models[name] = {"tokens": tokens, **of}
        print(name, len(tokens), of, file=sys.stderr)
    print(json.dumps({"made_by": "llama.cpp " + cpp.ggml_commit(), "text": TEXT, "models": models}, separators=(",", ":")))


if __name__ == "__main__":
    main()
