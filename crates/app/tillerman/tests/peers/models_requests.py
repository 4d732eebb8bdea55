"""Requests of the client against the parameter types of the official SDKs, by pydantic and strictly: no unknown key, no other
type, no key twice. That a misspelt key and a value of another type are errors is tried at every kind of place.

    PEER_REQUESTS  directory of bodies, named `API MODEL STORY NUMBER.json`
"""

import copy
import json
import os
import pathlib
import sys
import typing
import warnings

# Lists that the SDKs take as any iterable would be read by pydantic only when somebody else reads them: never, here.
typing.Iterable = typing.List

import anthropic.types
import openai.types
import pydantic
from google.genai import types as google
from typing_extensions import is_typeddict

from models_world import check, end

STRICT = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
# Fewer kinds of places than this are not a whole conversation.
PLACES_MIN = 12
# What is the caller's own below these keys: arguments, schemas, results.
FREE = {"input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "args", "response"}


def forbid():
    """Typed dictionaries ignore what they do not know unless each of them is told otherwise."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("anthropic.types", "openai.types")):
            for value in vars(module).values():
                if is_typeddict(value):
                    value.__pydantic_config__ = STRICT
            # The SDK takes objects that it made of answers, too; on the wire there are only parameters.
            if name.startswith("anthropic.types.") and hasattr(module, "MessageContentParam"):
                module.MessageContentParam = typing.Union[str, typing.List[anthropic.types.ContentBlockParam]]


class GeminiRequest(pydantic.BaseModel):
    """The body of streamGenerateContent. The SDK has no type of its own for it; it puts it together from these."""

    model_config = pydantic.ConfigDict(extra="forbid")
    contents: list[google.Content]
    systemInstruction: typing.Optional[google.Content] = None
    tools: typing.Optional[list[google.Tool]] = None
    toolConfig: typing.Optional[google.ToolConfig] = None
    generationConfig: typing.Optional[google.GenerationConfig] = None
    safetySettings: typing.Optional[list[google.SafetySetting]] = None
    cachedContent: typing.Optional[str] = None


forbid()
# Google's types take a word they do not know, and only warn.
warnings.simplefilter("error")
TYPES = {
    "anthropic-messages": pydantic.TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming),
    "openai-responses": pydantic.TypeAdapter(
        openai.types.responses.response_create_params.ResponseCreateParamsStreaming
    ),
    "openai-completions": pydantic.TypeAdapter(
        openai.types.chat.completion_create_params.CompletionCreateParamsStreaming
    ),
    "google-generative-ai": pydantic.TypeAdapter(GeminiRequest),
}


def once(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key twice: {keys}"
    return dict(pairs)


def fits(api, body):
    TYPES[api].validate_json(json.dumps(body), strict=True)


def is_free(key, value):
    # `input` is all messages in one API and the arguments of a call in another.
    return key in FREE or (key == "input" and isinstance(value, dict))


def places(value, path=()):
    """Every object that the vendor has a type for."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            if not is_free(key, inner):
                yield from places(inner, path + (key,))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from places(inner, path + (at,))


def at(body, path):
    for key in path:
        body = body[key]
    return body


def shape(body, path):
    """Places that look alike need to be tried only once."""
    there = at(body, path)
    return tuple(key for key in path if isinstance(key, str)) + tuple(sorted(there)) + (there.get("type"), there.get("role"))


def refused(api, body, path, key, value):
    wrong = copy.deepcopy(body)
    at(wrong, path)[key] = value
    try:
        fits(api, wrong)
    # An attribute that is missing: what an enumeration stumbles over when it is given an object.
    except (ValueError, AttributeError, Warning):
        return
    raise AssertionError(f"{key} = {value} is taken at {path}")


tried = {}
for file in sorted(pathlib.Path(os.environ["PEER_REQUESTS"]).iterdir()):
    api = file.name.split(" ")[0]

    @check(file.stem)
    def _():
        body = json.loads(file.read_text(), object_pairs_hook=once)
        fits(api, body)
        for path in places(body):
            seen = tried.setdefault(api, set())
            if shape(body, path) in seen:
                continue
            seen.add(shape(body, path))
            refused(api, body, path, "misspelt", 1)
            for key, value in at(body, path).items():
                if not is_free(key, value):
                    refused(api, body, path, key, {"wrong": [[]]})


for api, seen in tried.items():

    @check(f"{api}: wrong requests of many kinds were refused")
    def _():
        assert len(seen) >= PLACES_MIN, f"only {len(seen)}: {seen}"


end()
