"""The gateway with PyPI's `websockets`: many tasks on one connection, fragments, events that follow a subscription."""
import asyncio, itertools, json, os, sys
import websockets

URL, TOKEN = os.environ["PEER_URL"], os.environ["PEER_TOKEN"]
checks = 0


def check(name, fine, seen=None):
    global checks
    if fine:
        checks += 1
        print("ok", name, flush=True)
    else:
        print("not", name, repr(seen)[:500], flush=True)


class Client:
    def __init__(self, socket):
        self.socket, self.ids, self.waiting, self.events = socket, itertools.count(1), {}, {}
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        async for text in self.socket:
            frame = json.loads(text)
            if "event" in frame:
                self.events.setdefault(frame["id"], []).append(frame)
            elif frame["id"] in self.waiting:
                self.waiting.pop(frame["id"]).set_result(frame)

    def send(self, method, params=None):
        number = next(self.ids)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        return number, self.waiting[number], {"id": number, "method": method, "params": params or {}}

    async def call(self, method, params=None):
        _, answer, frame = self.send(method, params)
        await self.socket.send(json.dumps(frame))
        return await asyncio.wait_for(answer, 20)


async def until(what, seconds=10):
    for _ in range(int(seconds * 100)):
        if what():
            return True
        await asyncio.sleep(0.01)
    return False


async def main():
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with websockets.connect(URL, additional_headers=headers, max_size=None) as socket:
        client = Client(socket)
        info = await client.call("system.info")
        check("info", info["result"]["protocol"] == 1, info)
        answers = await asyncio.gather(*(client.call("agent.send", {"message": f"say {n} words", "sessionId": f"py:{n}"}) for n in range(1, 21)))
        check("twenty tasks on one connection", all(len(a["result"]["content"].split()) == n for n, a in enumerate(answers, 1)))
        number, answer, frame = client.send("agent.send", {"message": "say 4 words", "sessionId": "py:pieces"})
        text = json.dumps(frame)

        async def pieces():
            for at in range(0, len(text), 7):
                yield text[at : at + 7]

        await socket.send(pieces())
        check("a message in fragments", (await answer)["result"]["content"] == "w1 w2 w3 w4")
        sub = await client.call("events.subscribe", {"topics": ["session:py:watched"], "afterSeq": 0})
        under = sub["id"]
        async with websockets.connect(URL, additional_headers=headers) as second:
            other = Client(second)
            said = await other.call("agent.send", {"message": "say 50 words", "sessionId": "py:watched"})
            check("another connection speaks", len(said["result"]["content"].split()) == 50, said)
            done = await until(lambda: any(e["event"] == "done" for e in client.events.get(under, [])))
            heard = client.events.get(under, [])
            check("a subscriber hears it", done, heard)
            whole = "".join(e["data"]["text"] for e in heard if e["event"] == "content" and not e["data"].get("transient"))
            check("word for word", whole == said["result"]["content"], whole)
            seqs = [e["seq"] for e in heard if "seq" in e]
            check("in order", seqs == sorted(seqs) and len(seqs) == len(heard), seqs)
            last = heard[-1]["cursor"]
            again = await other.call("events.subscribe", {"topics": ["session:py:watched"], "afterSeq": heard[len(heard) // 2]["cursor"]})
            more = await until(lambda: other.events.get(again["id"], [{}])[-1].get("cursor") == last)
            told = [e["cursor"] for e in other.events.get(again["id"], [])]
            check("from the middle on", more and len(set(told)) == len(told), told)
            replay = await other.call("events.replay", {"sessionId": "py:watched", "afterSeq": 0})
            texts = "".join(e["data"]["text"] for e in replay["result"]["events"] if e["event"] == "content")
            check("replayed", replay["result"]["complete"] and texts == said["result"]["content"], replay)
            key = {"message": "say 6 words", "sessionId": "py:keyed", "idempotencyKey": "one"}
            first, twice = await asyncio.gather(other.call("agent.send", key), client.call("agent.send", key))
            check("the same key twice is one run", first["result"]["runId"] == twice["result"]["runId"], (first, twice))
            third = await client.call("agent.send", key)
            check("and a third time later", third["result"]["runId"] == first["result"]["runId"] and third["result"]["replayed"] is True, third)
            conflict = await client.call("agent.send", {**key, "message": "other"})
            check("another message is a conflict", conflict["error"]["data"]["reason"] == "idempotency_conflict", conflict)
            waited = await other.call("agent.wait", {"idempotencyKey": "one", "sessionId": "py:keyed"})
            check("waited for by key", waited["result"]["state"] == "complete", waited)
        off = await client.call("events.unsubscribe", {"subscriptionId": sub["result"]["subscriptionId"]})
        check("unsubscribed", off["result"]["unsubscribed"] is True, off)
        usage = await client.call("usage.report", {"groupBy": "session"})
        check("usage", any(row["key"] == "py:watched" for row in usage["result"]["rows"]), usage)
        audit = await client.call("audit.query", {"sessionId": "py:watched"})
        check("audit names who", audit["result"]["lines"] and all(line["by"] for line in audit["result"]["lines"]), audit)
    try:
        async with websockets.connect(URL, additional_headers={**headers, "Host": "evil.example"}):
            check("a foreign host is refused", False)
    except websockets.InvalidStatus as refused:
        check("a foreign host is refused", refused.response.status_code in (400, 421), refused)
    sys.exit(0 if checks >= 17 else 1)


asyncio.run(main())
