"""What Jinja2 makes of chat templates, with the settings of `transformers`.

    pip install jinja2 gguf
    python templates.py SmolLM2-135M-Instruct.Q4_1.gguf > templates.json
"""

import json
import sys

import gguf
import jinja2
import jinja2.ext
import jinja2.sandbox

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a <place> & \"time\".",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}, "at": {"type": "integer"}}, "required": ["place"]},
    },
}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"place": "Köln", "at": 7}}}
CHATS = [
    {"messages": [{"role": "user", "content": "Hi there"}]},
    {
        "messages": [
            {"role": "system", "content": " Be brief. "},
            {"role": "user", "content": "One\n<|im_end|> two"},
            {"role": "assistant", "content": "<think>\nhm\n</think>\n\nThree"},
            {"role": "user", "content": "Four"},
        ]
    },
    {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "{\"sun\": true}", "name": "weather"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ],
        "tools": [TOOL, TOOL],
    },
]
# Written for this test, with what templates of Llama 3, Qwen, Gemma and Mistral use.
TEMPLATES = [
    # Names in a namespace, slices, trimming, other separators.
    """{%- set ns = namespace(system='', first=true) %}
{%- if messages[0]['role'] == 'system' %}
    {%- set ns.system = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{- bos_token }}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) and not tools %}
        {{- raise_exception('Conversation roles must alternate') }}
    {%- endif %}
    {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}
    {%- if loop.first and ns.system %}{{ ns.system + '\\n\\n' }}{% endif %}
    {%- if message['content'] is string %}
        {{- message['content'].split('</think>')[-1].lstrip('\\n') | trim }}
    {%- elif message['content'] is iterable %}
        {%- for item in message['content'] %}{{ item['text'] | trim }}{{ ', ' if not loop.last }}{%- endfor %}
    {%- endif %}
    {{- '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
""",
    # Tools, JSON in two forms, macros, methods, defaults, loop controls.
    """{% macro call(tool_call) %}
<tool_call>
{"name": {{ tool_call.name | tojson }}, "arguments": {{ tool_call.arguments | tojson }}}
</tool_call>
{% endmacro %}
{% if tools is not none and tools %}
# Tools
  {% for tool in tools %}
    {% if loop.index > 1 %}{% break %}{% endif %}
{{ tool | tojson }}
{{ tool.function | tojson(indent=4) }}
{% for key, value in tool.function.parameters.properties.items() %}{{ loop.index }}:{{ key }}={{ value.get('type', 'any') | upper }};{% endfor %}

  {% endfor %}
{% else %}
No tools{{ date_string | default(' today') }}.
{% endif %}
{% for message in messages | rejectattr('role', 'equalto', 'system') %}
{% if message.tool_calls is defined and message.tool_calls | length > 0 %}
{% for tool_call in message.tool_calls %}{{ call(tool_call.function) }}{% endfor %}
{% elif message.role in ['tool', 'ipython'] %}
<tool_response>{{ message.content }}</tool_response>
{% else %}
{% set content = message.content if message.content is string else message.content | map(attribute='text') | join('+') %}
{% if '</think>' in content %}
{% set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
[{{ reasoning }}] {{ content.split('</think>')[-1].replace('\\n', ' ') }}
{% else %}
{{ message.role.capitalize() ~ ': ' ~ content }}{% if not content.startswith('F') and content.endswith('e') %}!{% endif %}

{% endif %}
{% endif %}
{% endfor %}
{{ messages[::-1][0].role }} {{ messages[-1].role | lower }} {{ range(3) | list }} {{ 7 // 2 }} {{ true and not false }} {{ none }}
{%- if add_generation_prompt %} go{% endif %}""",
]


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def main():
    reader = gguf.GGUFReader(sys.argv[1])
    sources = [reader.fields["tokenizer.chat_template"].contents()] + TEMPLATES
    results = []
    for number, source in enumerate(sources):
        template = environment().from_string(source)
        for chat in CHATS:
            if number == 0 and "tools" in chat:
                continue
            for add in (False, True):
                values = {"tools": None, **chat, "add_generation_prompt": add, "bos_token": "<s>", "eos_token": "</s>"}
                try:
                    results.append({"source": number, "chat": chat, "add": add, "text": template.render(**values)})
                except jinja2.exceptions.TemplateError as error:
                    results.append({"source": number, "chat": chat, "add": add, "error": str(error)})
    print(json.dumps({"sources": sources, "results": results}, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
