"""A server of tools for the tests of this crate: the first argument says what kind it is, each tool does one odd thing."""

import json
import os
import subprocess
import sys
import time

KIND = sys.argv[1] if len(sys.argv) > 1 else "good"
LOG = os.environ.get("SERVER_LOG")
ASKED = {}


def log(text):
    if LOG:
        with open(LOG, "a") as file:
            file.write(text + "\n")


def send(**frame):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def tool(name, **more):
    return {"name": name, "description": "Does " + name, "inputSchema": {"type": "object", "properties": {}}, **more}


PAGES = {
    None: ([tool("echo", annotations={"readOnlyHint": True}), tool("add")], "p2"),
    "p2": ([tool("picture"), tool("progress"), tool("slow"), tool("die")], "p3"),
    "p3": (
        [tool(name) for name in ("garbage", "huge", "too_long", "place", "ask_us", "wrong", "refuse", "children", "odd", "deaf")],
        None,
    ),
}


def listing(cursor):
    if KIND == "endless":
        return {"tools": [tool(str(cursor))], "nextCursor": str(cursor) + "x"}
    if KIND == "many":
        return {"tools": [tool("t%d" % n) for n in range(1000)]}
    tools, after = PAGES[cursor]
    return {"tools": tools, **({"nextCursor": after} if after else {})}


def call(id, name, arguments, meta):
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "add":
        total = arguments["a"] + arguments["b"]
        return text(str(total), structuredContent={"sum": total})
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    if name == "progress":
        for n in (1, 2):
            params = {"progressToken": meta["progressToken"], "progress": n, "total": 2, "message": "step"}
            send(method="notifications/progress", params=params)
        return text("done")
    if name == "slow":
        log("slow %s" % id)
        return None
    if name == "die":
        print("the reason is " + os.environ.get("SERVER_KEY", "unknown"), file=sys.stderr, flush=True)
        os._exit(3)
    if name == "garbage":
        print("Listening on port 7 ...")
        print('{"half": ')
        print("[1, 2]", flush=True)
        return text("after garbage")
    if name == "huge":
        return text("x" * 1_000_000)
    if name == "too_long":
        return text("x" * 17_000_000)
    if name == "place":
        return text(json.dumps({"cwd": os.getcwd(), "env": sorted(os.environ), "pgid": os.getpgid(0) == os.getpid()}))
    if name == "ask_us":
        send(method="notifications/message", params={"level": "info", "data": "thinking"})
        send(method="notifications/tools/list_changed")
        ASKED.update(call=id, answers=[])
        for n, method in enumerate(("ping", "roots/list", "sampling/createMessage", "elicitation/create")):
            send(id="ours-%d" % n, method=method, params={})
        return None
    if name == "wrong":
        return text("that did not work", isError=True)
    if name == "children":
        child = subprocess.Popen(["sleep", "600"])
        return text("%d %d" % (os.getpid(), child.pid))
    if name == "deaf":
        while True:
            sys.stdout.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 1000)
    if name == "odd":
        return {"content": "none"}
    return None


def answer(frame):
    """One of our own questions was answered."""
    ASKED["answers"].append(frame.get("result", frame.get("error")))
    if len(ASKED["answers"]) == 4:
        send(id=ASKED["call"], result=text(json.dumps(ASKED["answers"])))


def hear(frame):
    method, id, params = frame.get("method"), frame.get("id"), frame.get("params", {})
    if method is None:
        return answer(frame)
    log(method + (" %s" % params["requestId"] if method == "notifications/cancelled" else ""))
    if method == "initialize":
        versions = {"old": "2024-11-05", "future": "2099-01-01"}
        capabilities = {} if KIND == "no-tools" else {"tools": {"listChanged": True}}
        welcome = {"capabilities": capabilities, "serverInfo": {"name": "scripted", "version": "1"}}
        send(id=id, result={"protocolVersion": versions.get(KIND, params["protocolVersion"]), **welcome})
    elif method == "tools/list":
        send(id=id, result=listing(params.get("cursor")))
    elif method == "tools/call" and params["name"] == "refuse":
        send(id=id, error={"code": -32602, "message": "these arguments are refused"})
    elif method == "tools/call":
        result = call(id, params["name"], params.get("arguments", {}), params.get("_meta", {}))
        if result is not None:
            send(id=id, result=result)


log("start %d" % os.getpid())
if KIND == "crash":
    for n in range(60):
        print("line %d" % n, file=sys.stderr)
    sys.exit(7)
if KIND == "silent":
    print("still looking for my key", file=sys.stderr, flush=True)
    time.sleep(600)
if KIND == "stubborn":
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    hear(json.loads(line))
log("end of input")
if KIND == "stubborn":
    time.sleep(600)
