"""The official SDK of OpenAI streams from the mock model server, by both of its APIs; see models_world.py. Its strict
validation is on, and whatever the types do not know fails too, but for what other servers add to Chat Completions."""

import json

import openai
import pydantic

from models_world import LOOP, LOOP_CALLS, PIXEL, SCHEMA, SERVER, check, end, raises, same

client = openai.OpenAI(base_url=f"{SERVER}/v1", api_key="k", max_retries=0, _strict_response_validation=True)
MODEL = "mock/alpha"
FUNCTION = {"name": "add", "description": "adds", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
R_TOOLS = [{"type": "function", "strict": False, **FUNCTION}]
ADDED = {"reasoning_content", "context_length"}
# Said by the server, not yet in the types.
R_ADDED = {"store", "name"}


def known(value, added=frozenset(), path="answer"):
    """Every field of an answer is one of the SDK's."""
    if isinstance(value, pydantic.BaseModel):
        extra = set(value.model_extra or ()) - added
        assert not extra, f"{path}: unknown {extra}"
        for name in type(value).model_fields:
            known(getattr(value, name), added, f"{path}.{name}")
    elif isinstance(value, list):
        for at, one in enumerate(value):
            known(one, added, f"{path}[{at}]")
    return value


# ---- Chat Completions --------------------------------------------------------------------------------------------


def chat(messages, **more):
    """The deltas put together: text, thinking, calls, finish, usage."""
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    said = {"text": [], "thinking": [], "calls": {}, "finish": None, "usage": None}
    options = {"include_usage": True}
    for chunk in client.chat.completions.create(
        model=MODEL, messages=messages, stream=True, stream_options=options, **more
    ):
        known(chunk, ADDED)
        said["usage"] = chunk.usage or said["usage"]
        for choice in chunk.choices:
            said["finish"] = choice.finish_reason or said["finish"]
            delta = choice.delta
            if delta.content is not None:
                said["text"].append(delta.content)
            if thought := (delta.model_extra or {}).get("reasoning_content"):
                said["thinking"].append(thought)
            for call in delta.tool_calls or []:
                have = said["calls"].setdefault(call.index, {"id": "", "name": "", "arguments": ""})
                have["id"] += call.id or ""
                have["name"] += call.function.name or ""
                have["arguments"] += call.function.arguments or ""
    return said


def chat_whole(messages, **more):
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    answer = known(client.chat.completions.create(model=MODEL, messages=messages, **more), ADDED)
    choice = answer.choices[0]
    calls = {
        at: {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        for at, call in enumerate(choice.message.tool_calls or [])
    }
    thinking = (choice.message.model_extra or {}).get("reasoning_content")
    return {
        "text": [choice.message.content] if choice.message.content else [],
        "thinking": [thinking] if thinking else [],
        "calls": calls,
        "finish": choice.finish_reason,
        "usage": answer.usage,
    }


@check("completions: text")
def _():
    said = chat("say 3 words")
    same((said["text"], said["finish"]), (["w1 ", "w2 ", "w3"], "stop"))
    same(chat_whole("say 3 words")["text"], ["w1 w2 w3"])


@check("completions: thinking")
def _():
    for ask in (chat, chat_whole):
        said = ask('think "hm hm" and say x')
        same((said["thinking"], said["text"]), (["hm hm"], ["x"]))


for ask in (chat, chat_whole):

    @check(f"completions: a tool loop of three rounds, {ask.__name__}")
    def _():
        messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": LOOP}]
        for calls in LOOP_CALLS:
            said = ask(messages, tools=TOOLS)
            same([json.loads(call["arguments"])["x"] for call in said["calls"].values()], calls)
            same(said["finish"], "tool_calls" if calls else "stop")
            messages.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": call["id"], "type": "function", "function": {k: call[k] for k in ("name", "arguments")}}
                        for call in said["calls"].values()
                    ],
                }
            )
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": "5"} for call in said["calls"].values()]
        same("".join(said["text"]), "all done")


@check("completions: parallel calls")
def _():
    said = chat('call add {"x":1} and call add {"x":2}', tools=TOOLS, parallel_tool_calls=True)
    same([call["arguments"] for call in said["calls"].values()], ['{"x":1}', '{"x":2}'])
    same(len({call["id"] for call in said["calls"].values()}), 2)


@check("completions: the SDK's own stream helper")
def _():
    prompt = [{"role": "user", "content": 'call add {"x":1} and call add {"x":2}'}]
    with client.chat.completions.stream(model=MODEL, messages=prompt) as events:
        kinds = {event.type for event in events}
        calls = events.get_final_completion().choices[0].message.tool_calls
    assert "tool_calls.function.arguments.done" in kinds, kinds
    same([call.function.arguments for call in calls], ['{"x":1}', '{"x":2}'])


@check("completions: images")
def _():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    said = chat([{"role": "user", "content": [image, {"type": "text", "text": "say seen"}]}])
    same(said["text"], ["seen"])


@check("completions: token counts")
def _():
    for ask in (chat, chat_whole):
        usage = ask("say x and count 100 30 20 7")["usage"]
        same((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (100, 7, 107))
        same((usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens_details.cache_write_tokens), (30, 20))


for word, want in [
    ("stop", "stop"),
    ("length", "length"),
    ("content_filter", "content_filter"),
    ("refusal", "content_filter"),
]:

    @check(f"completions: finish reason {want} of {word}")
    def _():
        for ask in (chat, chat_whole):
            same(ask(f"say x and finish {word}")["finish"], want)


ERRORS = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]

for status, kind in ERRORS:

    @check(f"completions: error {status}")
    def _():
        for ask in (chat, chat_whole):
            error = raises(kind, lambda: ask(f"fail {status}"))
            same((error.status_code, error.body["message"]), (status, f"scripted failure {status}"))


@check("completions: an error in the middle of the stream")
def _():
    same(raises(openai.APIError, lambda: chat("say 2 words and break 500")).message, "scripted break 500")


# ---- Responses ---------------------------------------------------------------------------------------------------


def respond(input, **more):
    """The events and the response at the end; the SDK's own helper must come to the same."""
    numbers, kinds, response = [], [], None
    for event in client.responses.create(model=MODEL, input=input, stream=True, store=False, **more):
        known(event, R_ADDED)
        numbers.append(event.sequence_number)
        kinds.append(event.type)
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            response = event.response
    same(numbers, list(range(len(numbers))))
    same(kinds.count("response.output_item.added"), kinds.count("response.output_item.done"))
    return kinds, response


def respond_whole(input, **more):
    return [], known(client.responses.create(model=MODEL, input=input, store=False, **more), R_ADDED)


SEALED = {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}}


@check("responses: text")
def _():
    kinds, response = respond("say 3 words", instructions="be brief")
    same((response.output_text, response.status), ("w1 w2 w3", "completed"))
    same(kinds.count("response.output_text.delta"), 3)
    same(kinds[:2], ["response.created", "response.in_progress"])
    same(respond_whole("say 3 words")[1].output_text, "w1 w2 w3")


@check("responses: the SDK's own stream helper")
def _():
    with client.responses.stream(model=MODEL, input='think "hm" and say 2 words and call add {"x":1}') as events:
        for _event in events:
            pass
        response = events.get_final_response()
    same([item.type for item in response.output], ["reasoning", "message", "function_call"])
    same(response.output_text, "w1 w2")


@check("responses: reasoning, with its seal where it was asked for")
def _():
    for ask in (respond, respond_whole):
        thought, message = ask('think "hm hm" and say x', **SEALED)[1].output
        same((thought.type, thought.summary[0].text, message.content[0].text), ("reasoning", "hm hm", "x"))
        assert thought.id.startswith("rs_") and len(thought.encrypted_content) > 20
        thought, _ = ask('think "hm hm" and say x')[1].output
        same(thought.encrypted_content, None)


@check("responses: reasoning without a summary")
def _():
    for ask in (respond, respond_whole):
        thought, _ = ask('redact "hm" and say x', **SEALED)[1].output
        same(thought.summary, [])
        assert len(thought.encrypted_content) > 20


for ask in (respond, respond_whole):

    @check(f"responses: a tool loop of three rounds, items sent back, {ask.__name__}")
    def _():
        items = [{"role": "user", "content": LOOP}]
        for calls in LOOP_CALLS:
            _, response = ask(items, tools=R_TOOLS, **SEALED)
            uses = [item for item in response.output if item.type == "function_call"]
            same([json.loads(use.arguments)["x"] for use in uses], calls)
            items += [item.model_dump(exclude_none=True) for item in response.output]
            items += [{"type": "function_call_output", "call_id": use.call_id, "output": "5"} for use in uses]
        same(response.output_text, "all done")


@check("responses: parallel calls")
def _():
    kinds, response = respond('call add {"x":1} and call add {"x":2}', tools=R_TOOLS, parallel_tool_calls=True)
    same([item.arguments for item in response.output], ['{"x":1}', '{"x":2}'])
    same(len({item.call_id for item in response.output}), 2)
    same(kinds.count("response.function_call_arguments.done"), 2)


@check("responses: images, in a message and in a result")
def _():
    image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"}
    items = [{"role": "user", "content": [image, {"type": "input_text", "text": 'call add {"x":1} then say seen'}]}]
    call = respond(items, tools=R_TOOLS)[1].output[0]
    items += [call.model_dump(exclude_none=True)]
    items += [{"type": "function_call_output", "call_id": call.call_id, "output": [image]}]
    same(respond(items, tools=R_TOOLS)[1].output_text, "seen")


@check("responses: token counts")
def _():
    for ask in (respond, respond_whole):
        usage = ask('think "hm" and say x and count 100 30 20 7')[1].usage
        same((usage.input_tokens, usage.output_tokens, usage.total_tokens), (100, 7, 107))
        same((usage.input_tokens_details.cached_tokens, usage.input_tokens_details.cache_write_tokens), (30, 20))
        same(usage.output_tokens_details.reasoning_tokens, 1)


for word, status, reason in [
    ("stop", "completed", None),
    ("length", "incomplete", "max_output_tokens"),
    ("content_filter", "incomplete", "content_filter"),
    ("failed", "failed", None),
]:

    @check(f"responses: status {status} of {word}")
    def _():
        for ask in (respond, respond_whole):
            _, response = ask(f"say x and finish {word}")
            same(response.status, status)
            same(response.incomplete_details and response.incomplete_details.reason, reason)
            same(response.error is not None, word == "failed")


@check("responses: a refusal is a part of its own")
def _():
    kinds, response = respond("say no and finish refusal")
    assert "response.refusal.delta" in kinds and "response.refusal.done" in kinds, kinds
    for response in (response, respond_whole("say no and finish refusal")[1]):
        same(response.output[0].content[0].refusal, "no")


for status, kind in ERRORS:

    @check(f"responses: error {status}")
    def _():
        for ask in (respond, respond_whole):
            error = raises(kind, lambda: ask(f"fail {status}"))
            same((error.status_code, error.body["message"]), (status, f"scripted failure {status}"))


@check("responses: an error in the middle of the stream")
def _():
    events = list(client.responses.create(model=MODEL, input="say 2 words and break 500", stream=True))
    same((events[-1].type, events[-1].message), ("error", "scripted break 500"))


@check("responses: a refused request is the SDK's bad request")
def _():
    items = [{"role": "user", "content": "x"}, {"type": "function_call_output", "call_id": "a", "output": "5"}]
    error = raises(openai.BadRequestError, lambda: respond(items))
    assert "No tool call found" in error.message, error


@check("responses: a reasoning item that was lost is missed")
def _():
    prompt = 'think "hm" and call add {"x":1} then say x'
    _, response = respond(prompt, tools=R_TOOLS, **SEALED)
    call = response.output[1]
    items = [{"role": "user", "content": prompt}, call.model_dump(exclude_none=True)]
    items += [{"type": "function_call_output", "call_id": call.call_id, "output": "5"}]
    error = raises(openai.BadRequestError, lambda: respond(items, tools=R_TOOLS, **SEALED))
    assert "without its required 'reasoning' item" in error.message, error


@check("the list of models")
def _():
    same([known(model, ADDED).id for model in client.models.list()], [MODEL, "mock/beta"])


end()
