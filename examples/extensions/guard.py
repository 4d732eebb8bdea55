#!/usr/bin/env python3
"""Asks before a command deletes a lot, and remembers what you said.

    tillerman repl -e examples/extensions/guard.py

Brings: a veto on `rm -rf` and its relatives, a question with `confirm`, the command /guard (on, off, status) and a
status line. Needs nothing but Python 3.8.
"""

import json
import re
import sys
import threading

DANGEROUS = re.compile(
    r"\brm\s+(-\w*[rR]\w*|--recursive)"  # rm -rf, rm -fr, rm -R
    r"|\bgit\s+(reset\s+--hard|clean\s+-\w*f)"
    r"|\b(mkfs|shred)\b|\bdd\s+.*\bof=/dev/"
    r"|\bfind\b.*-delete\b"
)


class Host:
    """One JSON object per line, both ways; several requests may be under way at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.next_id = 0
        self.waiting = {}

    def send(self, frame):
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
            sys.stdout.flush()

    def notify(self, method, **params):
        self.send({"method": method, "params": params})

    def ask(self, method, **params):
        """A request to the host; waits for its answer."""
        answered = threading.Event()
        with self.lock:
            self.next_id += 1
            number = self.next_id
            self.waiting[number] = (answered, {})
        self.send({"id": number, "method": method, "params": params})
        answered.wait()
        _, answer = self.waiting.pop(number)
        if "error" in answer:
            raise RuntimeError(answer["error"].get("message", "the host refused"))
        return answer.get("result") or {}

    def run(self, handlers):
        for line in sys.stdin:
            frame = json.loads(line)
            if "method" not in frame:
                answered, slot = self.waiting.get(frame["id"], (None, None))
                if answered:
                    slot.update(frame)
                    answered.set()
            elif "id" in frame:
                # In a thread of its own: a handler may ask the host something and wait.
                threading.Thread(target=self.handle, args=(handlers, frame), daemon=True).start()
                if frame["method"] == "shutdown":
                    return

    def handle(self, handlers, frame):
        try:
            result = handlers[frame["method"]](frame.get("params", {}))
            self.send({"id": frame["id"], "result": result})
        except Exception as error:  # whatever it is, the host has to hear it
            self.send({"id": frame["id"], "error": {"code": -32000, "message": str(error)}})


host = Host()
guard = {"on": True, "stopped": 0, "allowed": set()}


def show(session):
    state = "on" if guard["on"] else "OFF"
    host.notify("ui/setStatus", session=session, key="guard", text=f"guard {state}, {guard['stopped']} stopped")


def initialize(params):
    return {
        "name": "guard",
        "commands": [{"name": "guard", "description": "guard on | off | status: questions before deletions"}],
        "hooks": ["before_call"],
    }


def before_call(params):
    command = params["input"].get("command", "")
    if not guard["on"] or params["tool"] != "bash" or not DANGEROUS.search(command) or command in guard["allowed"]:
        return None
    answer = host.ask("ui/confirm", session=params["session"], title="Delete?", message=command, timeoutMs=120_000)
    if answer.get("confirmed"):
        guard["allowed"].add(command)
        return None
    guard["stopped"] += 1
    show(params["session"])
    return {"block": True, "reason": "The user does not want this to be deleted. Do not try another way; ask."}


def command_run(params):
    wish = params["args"].strip() or "status"
    if wish in ("on", "off"):
        guard["on"] = wish == "on"
    elif wish != "status":
        raise ValueError("/guard on, /guard off or /guard status")
    state = "on" if guard["on"] else "off"
    host.notify("ui/notify", session=params["session"], message=f"guard is {state}; {guard['stopped']} stopped")
    show(params["session"])


host.run(
    {
        "initialize": initialize,
        "hook/before_call": before_call,
        "command/run": command_run,
        "shutdown": lambda params: None,
    }
)
