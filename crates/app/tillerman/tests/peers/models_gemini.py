"""The official SDK of Google streams from the mock model server; see models_world.py. Its types forbid extra fields, but what
comes over the wire is picked apart before it gets there: one check looks at the wire itself."""

import base64
import json
import urllib.request

from google import genai
from google.genai import errors, types

from models_world import LOOP, LOOP_CALLS, PIXEL, SCHEMA, SERVER, check, end, raises, same

client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=SERVER, api_version="v1beta"))
MODEL = "gemini-3-mock"
TOOLS = [
    types.Tool(
        function_declarations=[types.FunctionDeclaration(name="add", description="adds", parameters_json_schema=SCHEMA)]
    )
]
NOT_BY_ITSELF = types.AutomaticFunctionCallingConfig(disable=True)


def config(**more):
    return types.GenerateContentConfig(automatic_function_calling=NOT_BY_ITSELF, **more)


def stream(contents, model=MODEL, **more):
    """All parts, and the last chunk."""
    parts, last = [], None
    for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config(**more)):
        last = chunk
        for candidate in chunk.candidates or []:
            parts += candidate.content.parts if candidate.content else []
    return parts, last


def whole(contents, model=MODEL, **more):
    answer = client.models.generate_content(model=model, contents=contents, config=config(**more))
    return [part for candidate in answer.candidates or [] for part in candidate.content.parts], answer


def text(parts):
    return "".join(part.text for part in parts if part.text and not part.thought)


BOTH = (stream, whole)


@check("text")
def _():
    parts, last = stream("say 3 words", system_instruction="be brief")
    same([part.text for part in parts if part.text], ["w1 ", "w2 ", "w3"])
    same((last.candidates[0].finish_reason, last.model_version), (types.FinishReason.STOP, MODEL))
    same(whole("say 3 words")[1].text, "w1 w2 w3")


@check("thoughts and a signature")
def _():
    for ask in BOTH:
        parts, _ = ask('think "hm hm" and say x', thinking_config=types.ThinkingConfig(include_thoughts=True))
        same([part.text for part in parts if part.thought], ["hm hm"])
        same(text(parts), "x")
        same([len(part.thought_signature) > 10 for part in parts if part.thought_signature], [True])


for ask in BOTH:

    @check(f"a tool loop of three rounds, signatures sent back, {ask.__name__}")
    def _():
        contents = [types.UserContent(parts=[types.Part(text=LOOP)])]
        for calls in LOOP_CALLS:
            parts, _ = ask(contents, tools=TOOLS)
            uses = [part for part in parts if part.function_call]
            same([use.function_call.args["x"] for use in uses], calls)
            same([use.thought_signature is not None for use in uses], [at == 0 for at in range(len(calls))])
            contents.append(types.ModelContent(parts=parts))
            responses = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=use.function_call.id, name="add", response={"output": "5"}
                    )
                )
                for use in uses
            ]
            contents.append(types.UserContent(parts=responses or [types.Part(text="bye")]))
        same(text(parts), "all done")


@check("the SDK's own chat calls a function by itself")
def _():
    def add(x: int) -> int:
        """adds"""
        return x + 1

    chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[add]))
    same(chat.send_message(LOOP).text, "all done")
    same(chat.send_message("say again").text, "again")


@check("parallel calls")
def _():
    for ask in BOTH:
        parts, _ = ask('call add {"x":1} and call add {"x":2}', tools=TOOLS)
        uses = [part.function_call for part in parts if part.function_call]
        same([(use.name, use.args) for use in uses], [("add", {"x": 1}), ("add", {"x": 2})])
        same(len({use.id for use in uses}), 2)


@check("images, in a message and in a result")
def _():
    image = types.Blob(mime_type="image/png", data=base64.b64decode(PIXEL))
    contents = [types.UserContent(parts=[types.Part(inline_data=image), types.Part(text='call add {"x":1} then say seen')])]
    parts, _ = stream(contents, tools=TOOLS)
    blob = types.FunctionResponseBlob(mime_type="image/png", data=image.data)
    response = types.FunctionResponse(
        name="add", response={"output": "picture"}, parts=[types.FunctionResponsePart(inline_data=blob)]
    )
    contents += [types.ModelContent(parts=parts), types.UserContent(parts=[types.Part(function_response=response)])]
    same(text(stream(contents, tools=TOOLS)[0]), "seen")


@check("token counts")
def _():
    for ask in BOTH:
        usage = ask('think "hm" and say x and count 100 30 0 7')[1].usage_metadata
        same((usage.prompt_token_count, usage.cached_content_token_count), (100, 30))
        same((usage.candidates_token_count, usage.thoughts_token_count, usage.total_token_count), (6, 1, 107))


for word, want in [
    ("stop", "STOP"),
    ("length", "MAX_TOKENS"),
    ("refusal", "SAFETY"),
    ("content_filter", "SAFETY"),
    ("RECITATION", "RECITATION"),
    ("MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"),
]:

    @check(f"finish reason {want} of {word}")
    def _():
        for ask in BOTH:
            same(ask(f"say x and finish {word}")[1].candidates[0].finish_reason, types.FinishReason[want])


@check("a prompt that is blocked has no candidate")
def _():
    for ask in BOTH:
        _, last = ask("finish blocked and count 1 0 0 0")
        same((last.candidates, last.prompt_feedback.block_reason), (None, types.BlockedReason.PROHIBITED_CONTENT))


for status, kind, word in [
    (400, errors.ClientError, "INVALID_ARGUMENT"),
    (401, errors.ClientError, "UNAUTHENTICATED"),
    (403, errors.ClientError, "PERMISSION_DENIED"),
    (404, errors.ClientError, "NOT_FOUND"),
    (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
    (500, errors.ServerError, "INTERNAL"),
    (503, errors.ServerError, "UNAVAILABLE"),
]:

    @check(f"error {status}")
    def _():
        for ask in BOTH:
            error = raises(kind, lambda: ask(f"fail {status}"))
            same((error.code, error.status, error.message), (status, word, f"scripted failure {status}"))


@check("an error in the middle of the stream")
def _():
    error = raises(errors.ServerError, lambda: stream("say 2 words and break 503"))
    same((error.code, error.status), (503, "UNAVAILABLE"))


@check("a call without its signature is refused by the newer model only")
def _():
    contents = [
        types.UserContent(parts=[types.Part(text="call add then say x")]),
        types.ModelContent(parts=[types.Part(function_call=types.FunctionCall(name="add", args={}))]),
        types.UserContent(
            parts=[types.Part(function_response=types.FunctionResponse(name="add", response={"output": "5"}))]
        ),
    ]
    error = raises(errors.ClientError, lambda: stream(contents))
    assert "thought_signature" in error.message, error
    same(text(stream(contents, model="gemini-2.5-mock")[0]), "x")


@check("nothing on the wire is unknown to the types")
def _():
    for script in ('think "hm" and say 2 words and call add {"x":1} and count 100 30 0 7', "finish blocked"):
        body = json.dumps({"contents": [{"role": "user", "parts": [{"text": script}]}]}).encode()
        url = f"{SERVER}/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        lines = urllib.request.urlopen(request).read().decode().split("\n\n")
        chunks = [line.removeprefix("data: ") for line in lines if line]
        for chunk in chunks:
            types.GenerateContentResponse.model_validate_json(chunk)
        assert len(chunks) >= (5 if "hm" in script else 1), chunks


@check("the list of models")
def _():
    models = list(client.models.list())
    same([model.name for model in models], [f"models/{MODEL}", "models/gemini-2.5-mock"])
    same(models[0].input_token_limit, 1_048_576)


@check("the version that the SDK chooses by itself")
def _():
    plain = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=SERVER))
    same(plain.models.generate_content(model=MODEL, contents="say x").text, "x")
    same(len(list(plain.models.list())), 2)


end()
