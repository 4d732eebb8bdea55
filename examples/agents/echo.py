#!/usr/bin/env python3
"""A small agent that speaks the Agent Client Protocol, with nothing but the standard library.

It answers every prompt with the prompt's own words. `touch NAME` asks for permission first and then makes that file.
Try it from the root of the repository:

    tillerman drive -- python3 examples/agents/echo.py
"""

import json
import os
import sys

MODELS = [{"value": "small", "name": "Small"}, {"value": "big", "name": "Big"}]
CHOICES = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]


class Agent:
    def __init__(self):
        self.model, self.cwd, self.asked = "small", ".", 0

    def send(self, **message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def receive(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return json.loads(line)

    def update(self, update, **fields):
        self.send(method="session/update", params={"sessionId": "s-1", "update": {"sessionUpdate": update, **fields}})

    def say(self, words):
        self.update("agent_message_chunk", content={"type": "text", "text": words})

    def options(self):
        return [{"id": "model", "name": "Model", "category": "model", "type": "select",
                 "currentValue": self.model, "options": MODELS}]

    def may(self, call):
        """Asks the client, and waits for its answer. A cancelled turn answers the question, too."""
        self.asked += 1
        self.send(id=self.asked, method="session/request_permission",
                  params={"sessionId": "s-1", "toolCall": call, "options": CHOICES})
        while True:
            message = self.receive()
            if message.get("id") == self.asked and "method" not in message:
                outcome = message.get("result", {}).get("outcome", {})
                return outcome.get("optionId") == "yes", outcome.get("outcome") == "cancelled"

    def touch(self, name):
        path = os.path.join(self.cwd, name)
        call = {"toolCallId": "touch-" + name, "title": "touch " + name, "kind": "edit", "locations": [{"path": path}]}
        self.update("tool_call", status="pending", **call)
        allowed, cancelled = self.may(call)
        if allowed:
            open(path, "a").close()
        self.update("tool_call_update", toolCallId=call["toolCallId"], status="completed" if allowed else "failed")
        self.say(("made " if allowed else "did not make ") + name)
        return "cancelled" if cancelled else "end_turn"

    def prompt(self, blocks):
        text = " ".join(block["text"] for block in blocks if block["type"] == "text")
        word, _, rest = text.removeprefix("/").partition(" ")
        if word == "touch" and rest:
            return {"stopReason": self.touch(rest)}
        self.say("you said " + text)
        return {"stopReason": "end_turn"}

    def answer(self, method, params):
        if method == "initialize":
            return {"protocolVersion": 1, "agentInfo": {"name": "echo", "version": "1"}, "agentCapabilities": {}}
        if method == "session/new":
            self.cwd = params["cwd"]
            return {"sessionId": "s-1", "configOptions": self.options()}
        if method == "session/set_config_option":
            self.model = params["value"]
            return {"configOptions": self.options()}
        if method == "session/prompt":
            return self.prompt(params["prompt"])
        return None

    def serve(self):
        while True:
            message = self.receive()
            method, id = message.get("method"), message.get("id")
            # Notifications, a cancel among them, want no answer: nothing here takes long.
            if method is None or id is None:
                continue
            result = self.answer(method, message.get("params", {}))
            if result is None:
                self.send(id=id, error={"code": -32601, "message": "method not found: " + method})
                continue
            self.send(id=id, result=result)
            if method == "session/new":
                self.update("available_commands_update", availableCommands=[
                    {"name": "touch", "description": "Makes a file, when it is allowed to"}])


Agent().serve()
