"""PyPI's websockets on /serve and /loaf: one line per message, with and without its LF."""

import asyncio
import json
import os

from websockets.asyncio.client import connect

URL, TOKEN = os.environ["PEER_URL"], os.environ["PEER_TOKEN"]
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def check(name, fine, seen=None):
    print(f"ok {name}" if fine else f"not {name} {seen!r}", flush=True)


async def until(socket, fits):
    heard = []
    while True:
        line = await asyncio.wait_for(socket.recv(), 20)
        heard.append(line)
        if fits(json.loads(line)):
            return json.loads(line), heard


async def serve():
    arguments = json.dumps(["--mode", "plan"])
    async with connect(f"{URL}/serve", additional_headers=BEARER | {"Tillerman-Arguments": arguments}) as socket:
        ready, _ = await until(socket, lambda it: it["type"] == "ready")
        check("serve is ready with its arguments", ready["mode"] == "plan", ready)
        await socket.send('{"type":"prompt","text":"say 3 words"}\n')
        _, heard = await until(socket, lambda it: it["type"] == "turn_complete")
        words = "".join(json.loads(it).get("delta", "") for it in heard)
        check("a line with its LF", words == "w1 w2 w3", words)
        check("no message has an LF", not any("\n" in it for it in heard))
        await socket.send(b"\x00")
        error, _ = await until(socket, lambda it: it["type"] == "error")
        check("a binary message is answered", error["code"] == "malformed_json", error)
        return ready["session_id"]


async def loaf(session):
    async with connect(f"{URL}/loaf", additional_headers=BEARER) as socket:
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.create", "params": {}}))
        made, _ = await until(socket, lambda it: it.get("id") == 1)
        own = made["result"]["session_id"]
        params = {"session_id": own, "raw_command": f"/history {session}"}
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "command.execute", "params": params}))
        there, _ = await until(socket, lambda it: it.get("id") == 2)
        check("loaf opens the session of serve", there.get("result", {}) != {}, there)
        params = {"session_id": own, "text": "say 4 words"}
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "session.send", "params": params}))
        _, heard = await until(socket, lambda it: "w4" in json.dumps(it))
        check("and goes on there", bool(heard))


asyncio.run(loaf(asyncio.run(serve())))
