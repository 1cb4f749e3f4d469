"""64 concurrent streams for some time by OpenAI's own client, of which many leave before the end, with malformed,
oversized and slow requests between them: python many_streams.py URL PROCESS SECONDS PROMPT KEY

Afterwards, the server must answer as before, with nothing left of the requests: no answers, no open files, no pages of
the cache beyond those that it has, and no more memory than half-way. A stop while an answer runs must let it finish;
this program sends it.
"""

import asyncio
import os
import random
import re
import signal
import sys
import time
import urllib.error
import urllib.request

import openai

URL, PROCESS, SECONDS, PROMPT, KEY = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5]
STREAMS = 64
# Memory that may come with fragmentation, in KiB.
GROWTH = 48 * 1024
counts = {}
chance = random.Random(1)


def count(what):
    counts[what] = counts.get(what, 0) + 1


def memory():
    text = open(f"/proc/{PROCESS}/status").read()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


def files():
    return len(os.listdir(f"/proc/{PROCESS}/fd"))


def metric(name):
    request = urllib.request.Request(URL + "/metrics", headers={"Authorization": f"Bearer {KEY}"})
    page = urllib.request.urlopen(request, timeout=60).read().decode()
    found = re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", page, re.MULTILINE)
    return sum(float(value) for value in found)


async def stream(client, end):
    """One answer: read to its end, left in the middle, or dropped with its connection."""
    way = chance.choice(["whole", "whole", "left", "cancelled"])
    tokens = chance.choice([4, 16, 48])
    text = PROMPT + " " * chance.randrange(3) + chance.choice(["", " Be brief.", " " + "and again " * 40])
    try:
        answer = await client.chat.completions.create(
            model="", messages=[{"role": "user", "content": text}], stream=True, max_tokens=tokens,
            stream_options={"include_usage": True},
        )
        left = chance.randrange(1, 6) if way != "whole" else None
        usage = None
        async for chunk in answer:
            usage = chunk.usage or usage
            if left is not None and chunk.choices and chunk.choices[0].delta.content:
                left -= 1
                if left == 0:
                    break
        if way == "cancelled":
            # Not even the rest of the event is read.
            await answer.response.aclose()
        else:
            await answer.close()
        assert way != "whole" or usage.completion_tokens <= tokens, usage
        count(way)
    except openai.InternalServerError as error:
        # As many run as may run.
        assert error.status_code == 503, error
        assert int(error.response.headers["Retry-After"]) >= 1
        count("refused")
        await asyncio.sleep(min(0.2, max(0.0, end - time.monotonic())))


async def streams(client, end):
    while time.monotonic() < end:
        await stream(client, end)


async def raw(request, pause=0.0):
    """The status of an answer to these bytes; `None` if there is none."""
    host, port = re.fullmatch(r"http://(.+):(\d+)", URL).groups()
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        half = len(request) // 2
        writer.write(request[:half])
        await writer.drain()
        await asyncio.sleep(pause)
        writer.write(request[half:])
        await writer.drain()
        line = await asyncio.wait_for(reader.readline(), 60)
        return int(line.split()[1]) if line else None
    except (ConnectionError, BrokenPipeError):
        return None
    finally:
        writer.close()


def post(body, length=None):
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
    length = len(body) if length is None else length
    return (head + f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n").encode() + body


async def misbehave(end):
    while time.monotonic() < end:
        assert await raw(post(b'{"messages": [')) == 400
        assert await raw(post(b'{"messages": [{"role": "user", "content": "a\xff"}]}')) == 400
        # Larger than any request may be. The server may end the connection before it has read all of it.
        assert await raw(post(b" " * (17 << 20))) in (413, None)
        assert await raw(b"NONSENSE\r\n\r\n") in (400, None)
        count("malformed")
        await asyncio.sleep(0.2)


async def slow(end):
    """Connections that send a part of a request, of its head or of its body, and wait, and leave."""
    while time.monotonic() < end:
        host, port = re.fullmatch(r"http://(.+):(\d+)", URL).groups()
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.write(chance.choice([b"POST /v1/chat/comp", post(b'{"messages"', length=1000)]))
        await asyncio.sleep(chance.random() * 3)
        writer.close()
        count("slow")


async def watch(begin, end, seen):
    while time.monotonic() < end:
        await asyncio.sleep(1)
        seen.append((time.monotonic() - begin, memory(), files()))


async def run():
    client = openai.AsyncOpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0, timeout=120)
    begin = time.monotonic()
    end, seen = begin + SECONDS, []
    # A failure of one ends all.
    async with asyncio.TaskGroup() as group:
        for _ in range(STREAMS):
            group.create_task(streams(client, end))
        for _ in range(4):
            group.create_task(slow(end))
        group.create_task(misbehave(end))
        group.create_task(watch(begin, end, seen))
    await client.close()
    return seen


async def stop():
    """A stop while an answer comes."""
    client = openai.AsyncOpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0, timeout=120)
    answer = await client.chat.completions.create(
        model="", messages=[{"role": "user", "content": PROMPT}], stream=True, max_tokens=24
    )
    finish, parts = None, 0
    async for chunk in answer:
        parts += 1
        if parts == 2:
            os.kill(PROCESS, signal.SIGTERM)
        if chunk.choices and chunk.choices[0].finish_reason:
            finish = chunk.choices[0].finish_reason
    assert finish in ("stop", "length"), finish
    # It takes no others.
    try:
        await client.models.list()
        raise AssertionError("the server still takes requests")
    except openai.APIConnectionError:
        pass
    except openai.InternalServerError as error:
        assert error.status_code == 503, error


# A first answer, so that everything that is made once is made.
first = openai.OpenAI(base_url=URL + "/v1", api_key=KEY, max_retries=0)
first.chat.completions.create(model="", messages=[{"role": "user", "content": PROMPT}], max_tokens=4)
first.close()
time.sleep(0.5)
files_before = files()
seen = asyncio.run(run())
print(counts, f"memory {seen[0][1] // 1024} to {seen[-1][1] // 1024} MiB, at most {max(s[2] for s in seen)} files", flush=True)
assert counts["whole"] > 0 and counts["left"] > 0 and counts["cancelled"] > 0 and counts["malformed"] > 0, counts

patience = time.monotonic() + 60
NAMES = ["ferrocm_answers_running", "ferrocm_model_running", "ferrocm_model_waiting"]
while any(metric(name) for name in NAMES) or files() > files_before + 1:
    assert time.monotonic() < patience, ({name: metric(name) for name in NAMES}, files(), files_before)
    time.sleep(0.1)
assert metric("ferrocm_model_cached_tokens") <= metric("ferrocm_model_cache_tokens")
assert metric("ferrocm_model_loads_total") == 1
half = [kib for at, kib, _ in seen if at <= SECONDS / 2]
growth = memory() - max(half)
assert growth < GROWTH, f"{growth} KiB more than in the first half: {seen}"
asyncio.run(stop())
