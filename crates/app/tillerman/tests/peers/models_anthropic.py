"""The official SDK of Anthropic streams from the mock model server; see models_world.py. Its strict validation is on, and
whatever the types do not know fails too: the models allow extra fields, so these are looked for."""

import anthropic
import pydantic
from anthropic.types import Message

from models_world import LOOP, LOOP_CALLS, PIXEL, SCHEMA, SERVER, check, end, raises, same

client = anthropic.Anthropic(base_url=SERVER, api_key="k", max_retries=0, _strict_response_validation=True)
MODEL = "claude-mock-large"
TOOLS = [{"name": "add", "description": "adds", "input_schema": SCHEMA}]
THINKING = {"type": "enabled", "budget_tokens": 2000}


def known(value, path="answer"):
    """Every field of an answer is one of the SDK's."""
    if isinstance(value, pydantic.BaseModel):
        assert not value.model_extra, f"{path}: unknown {value.model_extra}"
        for name in type(value).model_fields:
            known(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for at, one in enumerate(value):
            known(one, f"{path}[{at}]")
    return value


def stream(messages, **more):
    """The events and the message the SDK puts together from them."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    with client.messages.stream(model=MODEL, max_tokens=4000, messages=messages, **more) as running:
        events = [event for event in running]
        message = running.get_final_message()
    Message.model_validate(message.model_dump(), strict=False)
    for event in events:
        if event.type in ("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"):
            known(event)
    return events, message


def whole(prompt, **more):
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return known(client.messages.create(model=MODEL, max_tokens=4000, messages=messages, **more))


@check("text")
def _():
    events, message = stream("say 3 words", system="be brief")
    same([event.text for event in events if event.type == "text"], ["w1 ", "w2 ", "w3"])
    same(message.content[0].text, "w1 w2 w3")
    same((message.role, message.model, message.stop_reason), ("assistant", MODEL, "end_turn"))
    same(whole("say 3 words").content[0].text, "w1 w2 w3")


@check("raw events")
def _():
    with client.messages.create(
        model=MODEL, max_tokens=9, stream=True, messages=[{"role": "user", "content": 'think "hm" and say x'}]
    ) as events:
        kinds = [known(event).type for event in events]
    same(kinds[0], "message_start")
    same(kinds[-2:], ["message_delta", "message_stop"])
    same(kinds.count("content_block_start"), 2)
    same(kinds.count("content_block_stop"), 2)


@check("thinking and its signature")
def _():
    for message in (stream('think "hm hm" and say x', thinking=THINKING)[1], whole('think "hm hm" and say x')):
        thought, text = message.content
        same((thought.type, thought.thinking, text.text), ("thinking", "hm hm", "x"))
        assert len(thought.signature) > 20


@check("redacted thinking")
def _():
    for message in (stream('redact "hm" and say x')[1], whole('redact "hm" and say x')):
        same([block.type for block in message.content], ["redacted_thinking", "text"])
        assert len(message.content[0].data) > 20


def loop(ask, thinking):
    messages = [{"role": "user", "content": LOOP}]
    for calls in LOOP_CALLS:
        message = ask(messages, tools=TOOLS, **thinking)
        uses = [block for block in message.content if block.type == "tool_use"]
        same([use.input for use in uses], [{"x": x} for x in calls])
        same(message.stop_reason, "tool_use" if calls else "end_turn")
        results = [{"type": "tool_result", "tool_use_id": use.id, "content": "5"} for use in uses]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    same(message.content[-1].text, "all done")
    return messages


@check("a tool loop of three rounds, streamed, thoughts sent back")
def _():
    loop(lambda messages, **more: stream(messages, **more)[1], {"thinking": THINKING})


@check("a tool loop of three rounds, not streamed")
def _():
    loop(whole, {"thinking": THINKING})


@check("parallel calls with arguments in pieces")
def _():
    events, message = stream('call add {"x":1} and call add {"x":2} and call add {"x":3}', tools=TOOLS)
    same([block.input["x"] for block in message.content], [1, 2, 3])
    same(len({block.id for block in message.content}), 3)
    assert any(event.type == "input_json" for event in events)


@check("images, in a message and in a result")
def _():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    ask = [{"role": "user", "content": [image, {"type": "text", "text": 'call add {"x":1} then say seen'}]}]
    _, message = stream(ask, tools=TOOLS)
    result = {"type": "tool_result", "tool_use_id": message.content[0].id, "content": [image]}
    ask += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    same(stream(ask, tools=TOOLS)[1].content[0].text, "seen")


@check("token counts")
def _():
    for message in (stream("say x and count 100 30 20 7")[1], whole("say x and count 100 30 20 7")):
        usage = message.usage
        same((usage.input_tokens, usage.output_tokens), (50, 7))
        same((usage.cache_read_input_tokens, usage.cache_creation_input_tokens), (30, 20))


for word, want in [
    ("stop", "end_turn"),
    ("length", "max_tokens"),
    ("refusal", "refusal"),
    ("content_filter", "refusal"),
    ("pause_turn", "pause_turn"),
    ("stop_sequence", "stop_sequence"),
    ("model_context_window_exceeded", "model_context_window_exceeded"),
]:

    @check(f"stop reason {want} of {word}")
    def _():
        for message in (stream(f"say x and finish {word}")[1], whole(f"say x and finish {word}")):
            same(message.stop_reason, want)
            same(message.stop_details is not None, want == "refusal")


for status, kind, word in [
    (400, anthropic.BadRequestError, "invalid_request_error"),
    (401, anthropic.AuthenticationError, "authentication_error"),
    (403, anthropic.PermissionDeniedError, "permission_error"),
    (404, anthropic.NotFoundError, "not_found_error"),
    (429, anthropic.RateLimitError, "rate_limit_error"),
    (500, anthropic.InternalServerError, "api_error"),
    (529, None, "overloaded_error"),
]:

    @check(f"error {status}")
    def _():
        # The SDK has a class for it that it does not export at the top.
        from anthropic._exceptions import OverloadedError

        for ask in (lambda: stream(f"fail {status}"), lambda: whole(f"fail {status}")):
            error = raises(kind or OverloadedError, ask)
            same((error.status_code, error.type), (status, word))
            same(error.body["error"]["message"], f"scripted failure {status}")


@check("an error in the middle of the stream")
def _():
    error = raises(anthropic.APIStatusError, lambda: stream("say 2 words and break 529"))
    assert "overloaded_error" in str(error), error


@check("a refused request is the SDK's bad request")
def _():
    calls = [{"type": "tool_use", "id": "a", "name": "add", "input": {}}]
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": calls}, {"role": "user", "content": "y"}]
    error = raises(anthropic.BadRequestError, lambda: stream(messages))
    assert "tool_result" in error.message, error


@check("a changed thought is refused")
def _():
    _, message = stream('think "hm" and call add {"x":1} then say x', tools=TOOLS, thinking=THINKING)
    blocks = [block.model_dump(exclude_none=True) for block in message.content]
    blocks[0]["thinking"] = "hm?"
    results = [{"type": "tool_result", "tool_use_id": blocks[1]["id"], "content": "5"}]
    ask = [
        {"role": "user", "content": 'think "hm" and call add {"x":1} then say x'},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": results},
    ]
    error = raises(anthropic.BadRequestError, lambda: stream(ask, tools=TOOLS, thinking=THINKING))
    assert "signature" in error.message, error


@check("the list of models")
def _():
    models = list(client.models.list())
    same([model.id for model in models], [MODEL, "claude-mock-small"])
    same([known(model).max_input_tokens for model in models], [1_000_000, 200_000])


end()
