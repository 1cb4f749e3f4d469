"""Anthropic's own client against the server of examples/scripted.rs: python anthropic_client.py URL"""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key="secret", max_retries=0)
TOOL = {"name": "f", "description": "a function", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
CALL = 'say <think>hm</think>Yes.<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'


def ask(text, **more):
    return client.messages.create(model="test", max_tokens=100, messages=[{"role": "user", "content": text}], **more)


def messages():
    answer = ask("say Hello, world ✓", system="Be brief.")
    assert answer.content[0].text == "Hello, world ✓" and answer.stop_reason == "end_turn"
    assert answer.usage.output_tokens == 5
    answer = ask("say a STOP b", stop_sequences=["STOP"])
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "STOP")


def tools():
    answer = ask(CALL, tools=[TOOL])
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"]
    assert answer.content[2].input == {"a": 1} and answer.stop_reason == "tool_use"
    follow = [
        {"role": "user", "content": "call"},
        {"role": "assistant", "content": answer.content},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": answer.content[2].id, "content": "7"},
                {"type": "text", "text": "say seven"},
            ],
        },
    ]
    answer = client.messages.create(model="test", max_tokens=100, messages=follow, tools=[TOOL])
    assert answer.content[0].text == "seven"
    assert ask("hi", tools=[TOOL], tool_choice={"type": "any"}).content[0].name == "f"
    assert ask("hi", tools=[TOOL], tool_choice={"type": "tool", "name": "f"}).content[0].name == "f"


def streams():
    with client.messages.stream(
        model="test", max_tokens=100, messages=[{"role": "user", "content": CALL}], tools=[TOOL]
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "Yes." and final.stop_reason == "tool_use"
    assert [block.type for block in final.content] == ["thinking", "text", "tool_use"]
    assert final.content[0].thinking == "hm" and final.content[2].input == {"a": 1}
    # Pings come while the prompt is processed.
    with client.messages.stream(
        model="test", max_tokens=100, messages=[{"role": "user", "content": "read 200 late"}]
    ) as stream:
        assert stream.get_final_text() == "late"


def counts():
    one = client.messages.count_tokens(model="test", messages=[{"role": "user", "content": "abc"}])
    two = client.messages.count_tokens(model="test", messages=[{"role": "user", "content": "abcdef"}])
    assert two.input_tokens == one.input_tokens + 3


def errors():
    def refused(kind, function):
        try:
            function()
        except kind as error:
            return error
        raise AssertionError(f"no {kind.__name__}")

    assert "temperature" in str(refused(anthropic.BadRequestError, lambda: ask("x", extra_body={"temperature": -1})))
    other = lambda: client.messages.create(model="other", max_tokens=1, messages=[{"role": "user", "content": "x"}])
    refused(anthropic.NotFoundError, other)
    wrong = anthropic.Anthropic(base_url=sys.argv[1], api_key="wrong", max_retries=0)
    refused(anthropic.AuthenticationError, lambda: wrong.models.list())
    refused(anthropic.InternalServerError, lambda: ask("fail lost"))
    error = refused(anthropic.APIError, lambda: list(ask("fail lost", stream=True)))
    assert "lost" in str(error)


for test in (messages, tools, streams, counts, errors):
    test()
    print("passes", test.__name__)
