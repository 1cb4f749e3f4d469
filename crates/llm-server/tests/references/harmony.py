"""Writes harmony.json: conversations and answers, as OpenAI's own `openai-harmony` renders and parses them.

    TIKTOKEN_ENCODINGS_BASE=FOLDER python3 harmony.py > harmony.json

FOLDER has `o200k_base.tiktoken`, which the crate `tiktoken-rs` contains. openai-harmony 0.0.8 was used.
"""

import json

from openai_harmony import (
    Author, Conversation, DeveloperContent, HarmonyEncodingName, Message, ReasoningEffort, Role, StreamableParser,
    SystemContent, ToolDescription, ToolNamespaceConfig, load_harmony_encoding,
)

ENCODING = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
FIRST_CONTROL = 199998
DATE = "2025-06-28"

WEATHER = {
    "name": "get_current_weather",
    "description": "Gets the current weather in the provided location.\nIn the unit that is asked for.",
    "parameters": {
        "type": "object",
        "properties": {
            "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
            "format": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": "integer", "default": 3, "title": "Days", "examples": ["1", "2"]},
        },
        "required": ["location"],
    },
}
MANY = {
    "name": "many",
    "description": None,
    "parameters": {
        "type": "object",
        "description": "All kinds of fields",
        "properties": {
            "z": {"type": ["integer", "string"], "default": -1},
            "list": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "any": {"type": "array"},
            "flag": {"type": "boolean", "default": False, "nullable": True},
            "inner": {
                "type": "object",
                "description": "One inside",
                "properties": {"a": {"type": "string", "default": "x\"y"}, "b": {"type": "number", "description": "B"}},
                "required": ["b"],
            },
            "choice": {
                "description": "Either",
                "default": "s",
                "oneOf": [
                    {"type": "string", "description": "a text", "default": "t"},
                    {"type": "object", "description": "an object", "properties": {"q": {"type": "string"}}, "nullable": True},
                    {"type": "string", "enum": ["u", "v"], "default": "u"},
                ],
            },
            "same": {"description": "first", "oneOf": [{"type": "number", "description": "first"}, {"type": "string"}]},
            "deep": {"type": "array", "items": {"oneOf": [{"type": "string", "description": "s"}, {"type": "integer", "default": 2}]}},
            "odd": {"type": "null"},
            "untyped": {"description": "no type"},
        },
        "required": ["z", "choice"],
    },
}
NOTHING = {"name": "get_location", "description": "Gets the location of the user.", "parameters": {"type": "object", "properties": {}}}


def call(name, arguments, identity=None):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


CONVERSATIONS = [
    {"name": "a question", "messages": [{"role": "user", "content": "What is 2 + 2?"}]},
    {
        "name": "instructions and low effort",
        "effort": "low",
        "messages": [
            {"role": "system", "content": "Answer in German.\nAlways."},
            {"role": "user", "content": "Wie spät? ✓ <|start|>user<|message|> is only text"},
        ],
    },
    {
        "name": "reasoning of an earlier answer is dropped",
        "effort": "high",
        "messages": [
            {"role": "user", "content": "What is 2 + 2?"},
            {"role": "assistant", "content": "4", "reasoning_content": "Simple arithmetic."},
            {"role": "user", "content": "And 2 * 3?"},
        ],
    },
    {
        "name": "tools",
        "messages": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "Weather in SF?"}],
        "tools": [WEATHER, MANY, NOTHING],
    },
    {
        "name": "a call and its answer, with reasoning that goes on",
        "messages": [
            {"role": "user", "content": "Weather in SF?"},
            {
                "role": "assistant", "content": "", "reasoning_content": "I need a tool.",
                "tool_calls": [call("get_current_weather", "{\"location\": \"SF\"}", "call_1")],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "{\"sunny\": true}"},
        ],
        "tools": [WEATHER],
    },
    {
        "name": "a preamble, two calls, answers out of order, and a final answer",
        "messages": [
            {"role": "user", "content": "Two cities", "name": "ada"},
            {
                "role": "assistant", "content": "I look them up.", "reasoning_content": "Two calls.",
                "tool_calls": [call("get_current_weather", "{\"location\":\"A\"}", "a"), call("get_location", "{}", "b")],
            },
            {"role": "tool", "tool_call_id": "b", "content": "here"},
            {"role": "tool", "tool_call_id": "a", "content": "rain"},
            {"role": "assistant", "content": "Rain here.", "reasoning_content": "Both came."},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [WEATHER, NOTHING],
    },
]

ANSWERS = [
    "<|channel|>analysis<|message|>Think, 1 < 2 ✓.<|end|><|start|>assistant<|channel|>final<|message|>4, a <b> | <|return|>",
    "<|channel|>final<|message|>Only this",
    "<|channel|>analysis<|message|>Tool.<|end|><|start|>assistant<|channel|>commentary to=functions.get_current_weather <|constrain|>json<|message|>{\"location\": \"SF\"}<|call|>",
    "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.get_location<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    " to=functions.f<|channel|>commentary<|message|>{\"x\": [1, 2]}<|call|>",
    "<|channel|>analysis to=python code<|message|>print(1)<|end|><|start|>assistant<|channel|>final<|message|>1<|return|>",
]


def harmony(conversation):
    """The messages as the documentation of the format says."""
    messages, tools = conversation["messages"], conversation.get("tools", [])
    effort = {"low": ReasoningEffort.LOW, "medium": ReasoningEffort.MEDIUM, "high": ReasoningEffort.HIGH}
    system = SystemContent.new().with_reasoning_effort(effort[conversation.get("effort", "medium")])
    result = [Message.from_role_and_content(Role.SYSTEM, system.with_conversation_start_date(DATE))]
    instructions = [message["content"] for message in messages if message["role"] == "system"]
    if instructions or tools:
        developer = DeveloperContent.new()
        if instructions:
            developer = developer.with_instructions(instructions[0])
        if tools:
            described = [ToolDescription.new(t["name"], t["description"] or "", t["parameters"]) for t in tools]
            developer = developer.with_function_tools(described)
        result.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    names = {c["id"]: c["function"]["name"] for m in messages for c in m.get("tool_calls", [])}
    for message in messages:
        content = message["content"]
        if message["role"] == "user":
            author = Author(role=Role.USER, name=message.get("name"))
            result.append(Message.from_author_and_content(author, content))
        elif message["role"] == "assistant":
            say = lambda text, channel: Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)
            if message.get("reasoning_content"):
                result.append(say(message["reasoning_content"], "analysis"))
            calls = message.get("tool_calls", [])
            if content or not calls:
                result.append(say(content, "commentary" if calls else "final"))
            for c in calls:
                one = say(c["function"]["arguments"], "commentary").with_recipient("functions." + c["function"]["name"])
                result.append(one.with_content_type("<|constrain|>json"))
        elif message["role"] == "tool":
            author = Author(role=Role.TOOL, name="functions." + names[message["tool_call_id"]])
            answer = Message.from_author_and_content(author, content).with_recipient("assistant").with_channel("commentary")
            result.append(answer)
    return Conversation.from_messages(result)


def segments(tokens):
    """Texts, and control tokens in lists of their own."""
    result, run = [], []
    for token in tokens + [None]:
        if token is not None and token < FIRST_CONTROL:
            run.append(token)
            continue
        if run:
            result.append(ENCODING.decode(run))
            run = []
        if token is not None:
            result.append([ENCODING.decode([token])])
    return result


def parsed(text):
    parser = StreamableParser(ENCODING, role=Role.ASSISTANT)
    for token in ENCODING.encode(text, allowed_special="all"):
        parser.process(token)
    parser.process_eos()
    return [
        {"channel": m.channel, "recipient": m.recipient, "content": m.content[0].text} for m in parser.messages
    ]


for conversation in CONVERSATIONS:
    tokens = ENCODING.render_conversation_for_completion(harmony(conversation), Role.ASSISTANT)
    conversation["segments"] = segments(list(tokens))
answers = [{"text": text, "messages": parsed(text)} for text in ANSWERS]
print(json.dumps({"date": DATE, "conversations": CONVERSATIONS, "answers": answers}, indent=1, ensure_ascii=False))
