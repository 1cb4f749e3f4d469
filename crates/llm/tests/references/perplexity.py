"""llama.cpp's log-probabilities of a text, of a file as it is and of its copy in f32, as JSON.

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


def losses(path, tokens):
    """The negative log-probability of each token but the first."""
    model = llamacpp.load(path)
    ctx = llamacpp.context(model)
    ctx.decode(llamacpp.batch_of(tokens, 0, True))
    result = []
    for at in range(len(tokens) - 1):
        row = np.array(ctx.get_logits_ith(at), dtype=np.float64)
        highest = row.max()
        result.append(float(highest + np.log(np.exp(row - highest).sum()) - row[tokens[at + 1]]))
    return result


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
            in_f32 = losses(copy, tokens)
        as_is = losses(path, tokens)
        perplexity = lambda all: round(float(np.exp(np.mean(all))), 6)
        models[name] = {"tokens": tokens, "as_is": perplexity(as_is), "in_f32": perplexity(in_f32)}
        print(name, len(tokens), models[name]["as_is"], models[name]["in_f32"], file=sys.stderr)
    print(json.dumps({"made_by": "llama.cpp " + cpp.ggml_commit(), "text": TEXT, "models": models}, separators=(",", ":")))


if __name__ == "__main__":
    main()
