"""How fast llama.cpp reads and writes, as llama-bench measures: MODEL THREADS PROMPT GENERATED REPETITIONS, or
MODEL THREADS first for the first token of a process."""

import json
import random
import sys
import time

from llama_cpp import Llama

model, threads = sys.argv[1], int(sys.argv[2])
more = {"n_threads": threads, "n_threads_batch": threads, "verbose": False}
if sys.argv[3] == "first":
    engine = Llama(model, n_ctx=512, **more)
    tokens = engine.tokenize(b"What is a wavefront?")
    engine.eval(tokens)
    engine.sample(temp=0.0)
    sys.exit()
prompt, generated, repetitions = (int(word) for word in sys.argv[3:6])
engine = Llama(model, n_ctx=max(512, prompt + generated), n_batch=512, **more)
chance = random.Random(1)


def tokens(count):
    return [chance.randrange(engine.n_vocab()) for _ in range(count)]


def rate(work, count):
    engine.reset()
    begin = time.perf_counter()
    work(count)
    return count / (time.perf_counter() - begin)


def read(count):
    engine.eval(tokens(count))


def write(count):
    for token in tokens(count):
        engine.eval([token])


rates = {}
for name, work, count in [("pp", read, prompt), ("tg", write, generated)]:
    if count == 0:
        continue
    rate(work, count)
    rates[name] = [rate(work, count) for _ in range(repetitions)]
print(json.dumps(rates))
