"""Validates every frame that an agent wrote against the schema of the official SDK.

    acp_schema.py SCHEMA LOG... [--allow NAME]...

The logs are those of `--log-frames`. A result is looked up by the request it answers. A member that the schema does not
know is an error too, unless its name is allowed. Prints `ok N frames` or one line per kind of fault, and ends with 1 then.
"""

import collections
import json
import sys

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

WITH_MEMBERS = ("$ref", "allOf", "anyOf", "oneOf", "properties")
# Served for clients of other ages; the schema has no answer to them.
OUTSIDE = {"session/set_model", "$/ping", "ping", "health"}


def closed(node, holds_value):
    """The same schema, in which nothing may be said that is not in it: `unevaluatedProperties` where a value stands."""
    if isinstance(node, list):
        return [closed(it, False) for it in node]
    if not isinstance(node, dict):
        return node
    made = {}
    for name, it in node.items():
        if name in ("properties", "$defs") and isinstance(it, dict):
            made[name] = {key: closed(value, name == "properties") for key, value in it.items()}
        elif name in ("items", "additionalProperties") and isinstance(it, dict):
            made[name] = closed(it, True)
        else:
            made[name] = closed(it, False)
    if holds_value and any(name in made for name in WITH_MEMBERS) and "additionalProperties" not in made:
        made["unevaluatedProperties"] = False
    return made


class Judge:
    def __init__(self, path, allowed):
        with open(path, encoding="utf-8") as file:
            schema = json.load(file)
        assert validator_for(schema) is Draft202012Validator, "another draft"
        self.defs = {name: closed(it, False) for name, it in schema["$defs"].items()}
        self.allowed = allowed
        self.by_method = {}
        for name, it in schema["$defs"].items():
            if "x-method" in it:
                kind = "result" if name.endswith("Response") else "params"
                self.by_method[(it["x-side"], it["x-method"], kind)] = name
        self.validators = {}

    def validator(self, name):
        if name not in self.validators:
            schema = {"$defs": self.defs, "$ref": f"#/$defs/{name}", "unevaluatedProperties": False}
            self.validators[name] = Draft202012Validator(schema)
        return self.validators[name]

    def faults(self, name, value):
        for error in self.validator(name).iter_errors(value):
            yield f"{name}{error.json_path[1:]}: {error.message[:300]}"

    def result(self, name, value):
        """The additions stand at the top of results. Where the schema knows such a member, it is no addition."""
        known = self.defs[name].get("properties", {})
        spared = {it for it in self.allowed if it not in known}
        if isinstance(value, dict):
            value = {key: it for key, it in value.items() if key not in spared}
        yield from self.faults(name, value)

    def frame(self, frame, asked):
        if frame.get("jsonrpc") != "2.0":
            yield "no jsonrpc"
        extra = set(frame) - {"jsonrpc", "id", "method", "params", "result", "error"}
        if extra:
            yield f"members of a frame: {extra}"
        if "method" in frame:
            method = frame["method"]
            side = "protocol" if method.startswith("$/") else "client"
            name = self.by_method.get((side, method, "params"))
            if name is None:
                yield f"the schema has no {method}"
            else:
                yield from self.faults(name, frame.get("params"))
        elif "error" in frame:
            yield from self.faults("Error", frame["error"])
        elif "result" in frame:
            method = asked.get(json.dumps(frame["id"]))
            name = self.by_method.get(("agent", method, "result"))
            if name is not None:
                yield from self.result(name, frame["result"])
            elif method not in OUTSIDE:
                yield f"a result to {method}"
        else:
            yield "neither method nor result nor error"


def main(words):
    allowed, paths = set(), []
    words = iter(words)
    for word in words:
        if word == "--allow":
            allowed.add(next(words))
        else:
            paths.append(word)
    judge = Judge(paths[0], allowed)
    frames, found = 0, collections.Counter()
    tags = collections.Counter()
    for path in paths[1:]:
        asked = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                _, direction, text = line.strip().split(" ", 2)
                try:
                    frame = json.loads(text)
                except ValueError:
                    frame = None
                if not isinstance(frame, dict):
                    # Clients may write what they like.
                    if direction == "<":
                        found[f"not a frame: {text[:100]}"] += 1
                    continue
                if direction == ">":
                    if "method" in frame and "id" in frame:
                        asked[json.dumps(frame["id"])] = frame["method"]
                    continue
                frames += 1
                update = (frame.get("params") or {}).get("update") or {}
                tags[update.get("sessionUpdate") or frame.get("method") or "answer"] += 1
                for fault in judge.frame(frame, asked):
                    found[fault] += 1
    for fault, count in found.most_common(40):
        print(f"FAIL {count} x {fault}")
    print(f"ok {frames} frames: " + ", ".join(f"{tag} {count}" for tag, count in sorted(tags.items())))
    return 1 if found or frames == 0 else 0


sys.exit(main(sys.argv[1:]))
