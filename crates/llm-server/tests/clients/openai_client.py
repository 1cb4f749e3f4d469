"""OpenAI's own client against the server of examples/scripted.rs: python openai_client.py URL"""

import asyncio
import sys

import openai
from pydantic import BaseModel

URL = sys.argv[1] + "/v1"
client = openai.OpenAI(base_url=URL, api_key="secret", max_retries=0)


def ask(text, **more):
    return client.chat.completions.create(model="test", messages=[{"role": "user", "content": text}], **more)


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "a function",
            "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
        },
    }
    for name in ("f", "g")
]
CALLS = (
    'say I call.<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'
    '<tool_call>{"name":"g","arguments":{}}</tool_call>'
)


def models():
    assert [model.id for model in client.models.list()] == ["test"]
    assert client.models.list().data[0].object == "model"


def chat():
    answer = ask("say Hello, world ✓")
    assert answer.choices[0].message.content == "Hello, world ✓"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert ask("forever", max_tokens=3).choices[0].finish_reason == "length"
    assert ask("say a b c", stop=["b"]).choices[0].message.content == "a"


def streams():
    text, usage = "", None
    with ask("read 100 Hello, world ✓", stream=True, stream_options={"include_usage": True}) as stream:
        for chunk in stream:
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
            usage = chunk.usage or usage
    assert text == "Hello, world ✓" and usage.completion_tokens == 5, (text, usage)


def tools():
    message = ask(CALLS, tools=TOOLS).choices[0].message
    assert [call.function.name for call in message.tool_calls] == ["f", "g"]
    assert message.tool_calls[0].function.arguments == '{"a":1}' and message.content == "I call."
    calls = {}
    for chunk in ask(CALLS, tools=TOOLS, stream=True):
        for call in chunk.choices[0].delta.tool_calls or []:
            calls[call.index] = (call.function.name, call.function.arguments)
    assert calls == {0: ("f", '{"a":1}'), 1: ("g", "{}")}, calls
    assert ask("hi", tools=TOOLS, tool_choice="required").choices[0].finish_reason == "tool_calls"
    named = ask("hi", tools=TOOLS, tool_choice={"type": "function", "function": {"name": "g"}})
    assert named.choices[0].message.tool_calls[0].function.name == "g"
    with client.chat.completions.stream(
        model="test", messages=[{"role": "user", "content": CALLS}], tools=TOOLS
    ) as stream:
        final = stream.get_final_completion()
    assert len(final.choices[0].message.tool_calls) == 2


def formats():
    class Answer(BaseModel):
        answer: int

    parsed = client.chat.completions.parse(
        model="test", messages=[{"role": "user", "content": "hi"}], response_format=Answer
    )
    assert parsed.choices[0].message.parsed.answer == 42
    assert ask("hi", response_format={"type": "json_object"}).choices[0].message.content == '{"answer":42}'


def logprobs():
    content = ask("say abcdef", logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert [token.token for token in content] == ["a", "d"] and len(content[0].top_logprobs) == 2


def reasoning():
    message = ask("say <think>because</think>answer").choices[0].message
    assert message.content == "answer" and message.reasoning_content == "because"


def completions():
    answer = client.completions.create(model="test", prompt=["say one", "say two"], logprobs=1)
    assert [choice.text for choice in answer.choices] == ["one", "two"]
    chunks = client.completions.create(model="test", prompt="say one two", stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == "one two"


def embeddings():
    # This client asks for base64 if nothing else is said.
    data = client.embeddings.create(model="test", input=["aaa", "zz"]).data
    assert data[0].embedding[0] == 1.0 and data[1].embedding[25] == 1.0
    assert client.embeddings.create(model="test", input="a", encoding_format="float").data[0].embedding[0] == 1.0


def responses():
    response = client.responses.create(model="test", input="say <think>hm</think>Yes.", instructions="Be brief.")
    assert response.output_text == "Yes." and response.status == "completed"
    assert response.output[0].type == "reasoning"
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    text = 'say Yes.<tool_call>{"name":"f","arguments":{}}</tool_call>'
    with client.responses.stream(model="test", input=text, tools=[tool]) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert [item.type for item in final.output] == ["message", "function_call"]
    follow = [
        {"role": "user", "content": "call"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "7"},
        {"role": "user", "content": "say seven"},
    ]
    assert client.responses.create(model="test", input=follow).output_text == "seven"


def errors():
    def refused(kind, function):
        try:
            function()
        except kind as error:
            return error
        raise AssertionError(f"no {kind.__name__}")

    error = refused(openai.BadRequestError, lambda: ask("x", temperature=-1))
    assert "temperature" in error.message
    assert refused(openai.BadRequestError, lambda: ask("x" * 5000)).code == "context_length_exceeded"
    other = lambda: client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])
    assert refused(openai.NotFoundError, other).code == "model_not_found"
    wrong = openai.OpenAI(base_url=URL, api_key="wrong", max_retries=0)
    refused(openai.AuthenticationError, wrong.models.list)
    refused(openai.InternalServerError, lambda: ask("fail lost"))
    error = refused(openai.APIError, lambda: list(ask("fail lost", stream=True)))
    assert "lost" in str(error)


def many():
    """64 streams at once, of which every fourth is left after its first event."""

    async def one(client, number):
        text = ""
        stream = await client.chat.completions.create(
            model="test", messages=[{"role": "user", "content": f"slow 5 text number {number}"}], stream=True
        )
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""
            if number % 4 == 0 and text:
                await stream.close()
                return
        assert text == f"text number {number}", text

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=URL, api_key="secret", max_retries=5) as client:
            for _ in range(3):
                await asyncio.gather(*(one(client, number) for number in range(64)))

    asyncio.run(all_of_them())


for test in (models, chat, streams, tools, formats, logprobs, reasoning, completions, embeddings, responses, errors, many):
    test()
    print("passes", test.__name__)
