"""The Python library against a real gateway, which is cut off, killed and restarted meanwhile."""
import asyncio, os, sys
import tillerman as lib
from tillerman import GatewayClient, text_after
from tillerman.watch import Watch

URL, CUT_URL, TOKEN, CONTROL = (os.environ[name] for name in ("PEER_URL", "PEER_CUT_URL", "PEER_TOKEN", "PEER_CONTROL"))


wrong = []


def check(name, fine, seen=None):
    wrong.extend([] if fine else [name])
    print("ok" if fine else "not", name, "" if fine else repr(seen)[:600], flush=True)


async def order(word):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(CONTROL))
    writer.write(word.encode() + b"\n")
    await reader.readline()
    writer.close()


def client(to=URL, **options):
    return GatewayClient(to, **{"token": TOKEN, "backoff_min": 0.02, "backoff_max": 0.2, **options})


async def refused(work):
    try:
        return await work
    except Exception as error:
        return error


async def read(events, until=lambda event: False):
    text, found = "", []
    async for event in events:
        text = text_after(text, event)
        found.append(event)
        if until(event):
            break
    return text, found


def words(count):
    return " ".join(f"w{n + 1}" for n in range(count))


def write(path):
    return f'call file.write {{"path":"{path}","content":"x"}} then say done'


async def users(of, session):
    return len([it for it in (await of.sessions.get(session))["history"] if it["role"] == "user"])


def is_done(times=1):
    seen = []

    def until(event):
        seen.extend([1] if event["event"] == "done" else [])
        return len(seen) == times

    return until


async def plain(one):
    check("a method", (await one.system.info())["protocol"] == 1)
    check("a nested method", (await refused(one.node.capabilities.get())).code == -2)
    run = one.send("say 200 words", session_id="py:run")
    text, found = await read(run)
    check("a run streams", text == words(200) and (await run)["content"] == text, text)
    states = [it["data"].get("state", it["event"]) for it in found if it["event"] != "content"]
    check("its events", states == ["start", "complete", "done"], states)
    _, found = await read(one.send('call shell.exec {"command":"echo hi"} then say done', session_id="py:tool"))
    check("a tool", [it["data"]["result"]["output"] for it in found if it["event"] == "tool_end"] == ["hi\n"], found)
    bad = await refused(one.sessions.list(limit=0))
    check("an error has a class, a code, a reason and data", type(bad) is lib.InvalidRequestError and (bad.code, bad.reason, bad.data["param"], bad.method) == (-2, "invalid_params", "limit", "sessions.list"), bad)
    check("no such session", isinstance(await refused(one.sessions.get("py:none")), lib.SessionNotFoundError))
    check("no such method", isinstance(await refused(one.call("no.such")), lib.MethodNotFoundError))
    failed = one.send("fail 401", session_id="py:fail")
    why = await refused(read(failed))
    check("a run that fails", isinstance(why, lib.InternalError) and why.reason == "model_error" and await refused(failed.result()) is why, why)
    check("a command", (await one.send("/queue", session_id="py:run"))["command"]["ok"] is True)
    check("the session of who names none", (await one.send("say 2 words"))["sessionId"] == one.session_id)
    late = await refused(one.tools.execute("shell.exec", session_id="py:run", args={"command": "sleep 20"}, timeout=0.2))
    check("no answer in time", isinstance(late, lib.CallTimeoutError), late)


async def cancelling(one):
    task = asyncio.ensure_future(read(one.send("slow 20 say 500 words", session_id="py:stop")))
    await asyncio.sleep(0.4)
    task.cancel()
    check("a cancelled task", (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError)
    await asyncio.sleep(0.3)
    history = (await one.sessions.get("py:stop"))["history"]
    check("cancels its run", history[-1].get("interrupted") is True, history)
    run = one.send("slow 20 say 500 words", session_id="py:stop")
    ended = await refused(read(run, lambda event: event["event"] == "content" and run.cancel()))
    check("cancelled in the middle", isinstance(ended, lib.RequestCancelledError) and ended.data["content"].startswith("w1"), ended)
    never = client("ws://127.0.0.1:9")
    unsent = never.send("say 1 words")
    unsent.cancel()
    check("cancelled before it was sent", (await refused(unsent.result())).reason == "cancelled_before_start")
    check("nobody is there", isinstance(await refused(never.connect()), lib.ConnectError))
    await never.close()
    early = one.send(write("early.txt"), session_id="py:early", confirm=lambda ask: "allow")
    await asyncio.sleep(0)
    early.cancel()
    check("cancelled at once", (await refused(early.result())).code == 4)
    await asyncio.sleep(0.1)
    begun = await refused(users(one, "py:early"))
    check("and never sent", begun == 0 or begun.code == 1, begun)


async def unfit(one):
    """What is no JSON fails alone: who else uses the connection hears nothing of it."""
    deep, round_ = [], {}
    for _ in range(200):
        deep = [deep]
    round_["round"] = round_
    beside = one.send("slow 5 say 20 words", session_id="py:beside")
    for name, data in (("bytes", b"x"), ("NaN", float("nan")), ("half a character", "\ud800"), ("depth", deep), ("a circle", round_)):
        why = await refused(one.send("hi", attachments=[{"mimeType": "text/plain", "data": data}]).result())
        check(f"{name} is refused here", isinstance(why, lib.InvalidRequestError) and why.reason == "not_json", why)
    check("and nobody else", (await beside)["content"] == words(20) and one.state == "open")
    for message in (7, None, {"a": 1}):
        why = await refused(one.send(message, session_id="py:no-text").result())
        check("a message that is no text is refused", isinstance(why, lib.InvalidRequestError) and why.data["param"] == "message", why)


async def unnamed():
    """What the gateway cannot read has no id, and whoever waits for it is told all the same."""
    async with client() as it:
        whole_frame = it._wire._frame

        def torn_frame(operation):
            text = whole_frame(operation)
            return text[:-2] if "TORN" in text else text

        it._wire._frame = torn_frame
        whole = it.send("slow 20 say 20 words", session_id="py:whole")
        await read(whole, lambda event: event["event"] == "content")
        why = await refused(it.send("TORN", session_id="py:torn").result())
        check("a refusal without an id is told", isinstance(why, lib.ParseError) and "one of" not in str(why), why)
        two = await asyncio.gather(refused(it.sessions.get(session_id="TORN")), refused(it.agent.wait(run_id="TORN")))
        check("to all that it may mean", all(isinstance(one, lib.ParseError) for one in two), two)
        check("and to nobody else", (await whole)["content"] == words(20) and it.state == "open")


async def order_of_sends(one):
    runs = [one.send(f'say "n{nth}"', session_id="py:order", confirm=lambda ask: "deny") for nth in range(6)]
    ended = []
    await asyncio.gather(*(follow(run, ended) for run in runs))
    check("messages go out in their order", ended == [f"n{nth}" for nth in range(6)], ended)


async def follow(run, ended):
    ended.append((await run)["content"])


async def questions(one):
    await unfit(one)
    await order_of_sends(one)
    asked = []

    def yes(ask):
        asked.append(ask.call_id)
        return "allow"

    async def end(confirm):
        _, found = await read(one.send(write("b.txt"), session_id="py:ask2", confirm=confirm))
        return [it for it in found if it["event"] == "tool_end"][0]["data"]["result"]

    async def no(ask):
        return lib.Deny("not now")

    def broken(ask):
        raise ValueError("oh")

    check("allowed", (await one.send(write("a.txt"), session_id="py:ask", confirm=yes))["content"] == "done" and len(asked) == 1, asked)
    check("denied, with a reason", (await end(no))["error"] == "not now")
    check("a handler that raises is no yes", (await end(broken))["success"] is False)
    check("nobody to ask is no yes", (await end(None))["success"] is False)

    async def slow(ask):
        await asyncio.sleep(0.05 if ask.session_id == "py:both1" else 0.2)
        return "deny" if ask.session_id == "py:both1" else "allow"

    both = await asyncio.gather(*(read(one.send(write(f"{name[3:]}.txt"), session_id=name, confirm=slow)) for name in ("py:both1", "py:both2")))
    ends = [[it for it in found if it["event"] == "tool_end"][0]["data"]["result"]["success"] for _, found in both]
    check("two sessions ask for calls of the same name", ends == [False, True], ends)
    await one.sessions.create(session_id="py:other")

    async def later(ask):
        await asyncio.sleep(0.2)
        return yes(ask)

    async with one.watch("py:other", confirm=later) as watcher, client() as other:
        await watcher.ready
        check("answered by who watches", (await other.send(write("c.txt"), session_id="py:other", confirm=lambda ask: None))["content"] == "done" and len(asked) == 2)
        told = asyncio.Event()

        async def late(ask):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                told.set()
                raise

        await other.send(write("d.txt"), session_id="py:other", confirm=late)
        check("who was too late is told", told.is_set())
    await lost_answers()


async def lost_answers():
    """Answers that never arrive, and two questions about calls of the same name."""
    from tillerman.asks import Asks

    class Wire:
        connection, is_open = 1, False
        spawn = staticmethod(asyncio.ensure_future)

    told, put = [], []

    async def call(method, params):
        told.append(params["askId"])
        raise lib.ConnectionLostError("gone")

    def question(name):
        return {"askId": name, "callId": "call_1", "tool": "t", "args": {}, "risk": "read-only", "summary": name}

    def yes(ask):
        put.append(ask.summary)
        return "allow"

    asks, first, second = Asks(Wire(), call), object(), object()
    for name, who in (("a", first), ("a", first), ("b", second), ("b", second)):
        asks.asked("s", question(name), yes, who)
        await asyncio.sleep(0.01)
    check("a lost answer is told again, and to its own question", (put, told) == (["a", "b"], ["a", "a", "b", "b"]), (put, told))
    asks.settled(first)
    asks.done("s", "b")
    check("what is over is not kept", not asks._open, asks._open)
    asks.asked("s", question("b"), yes, second)
    await asyncio.sleep(0.01)
    check("nor put a second time", put == ["a", "b"], put)


class StillWire:
    """On which nothing comes: a store that has lost entries is hard to come by."""

    is_open = True

    def __init__(self):
        self.submitted = []

    def submit(self, operation):
        self.submitted.append(operation)

    def withdraw(self, operation):
        pass


async def lost_entries():
    wire = StillWire()
    watch = Watch(wire, None, ["session:py:x"], 3, None)
    wire.submitted[0].on_event({"event": "lag", "cursor": "51", "data": {"from": 4, "to": 51, "cursor": "51"}}, 1)
    check("after a lag from its cursor on", wire.submitted[0].params()["afterSeq"] == "51", wire.submitted[0].params())
    watch._timer.cancel()


async def subscriptions(one):
    async with client() as other:
        async with one.listen("sessions") as news:
            await news.ready
            heard = asyncio.ensure_future(read(news, lambda event: event["event"] == "session" and event["data"]["sessionId"] == "py:new"))
            await other.send("say 1 words", session_id="py:new")
            check("news of sessions", len((await heard)[1]) > 0)
        async with one.watch("py:run", after=0) as watch:
            _, every = await read(watch, is_done())
        middle = len(every) // 2
        async with one.watch("py:run", after=every[middle]["cursor"]) as watch:
            _, half = await read(watch, is_done())
        check("from a cursor on", len(half) == len(every) - middle - 1, (len(half), len(every)))
        await one.sessions.create(session_id="py:flood")
        async with one.watch("py:flood", after=0) as lazy:
            for _ in range(3):
                await other.send("say 3000 words", session_id="py:flood")
            text, found = await read(lazy, is_done(3))
        once = len({event["cursor"] for event in found}) == len(found)
        check("a lazy reader misses nothing", text == words(3000) * 3 and once, len(found))
        doomed = one.watch("py:flood")
        await doomed.ready
        gone = asyncio.ensure_future(read(doomed))
        await other.sessions.delete("py:flood")
        check("a deleted session is the end", await asyncio.wait_for(gone, 10) is not None)
        check("nobody knows it", isinstance(await refused(read(one.watch("py:flood"))), lib.SessionNotFoundError))
        check("600 at once are none too many", len(await asyncio.gather(*(one.system.info() for _ in range(600)))) == 600)


async def callers():
    wrong = client(token="wrong")
    check("a wrong token", isinstance(await refused(wrong.system.info()), lib.AuthFailedError) and wrong.state == "closed")
    nobody = client(token=None)
    check("no token", isinstance(await refused(nobody.system.info()), lib.AuthRequiredError))
    check("and then one", (await nobody.login(TOKEN))["authenticated"] is True and (await nobody.system.info())["protocol"] == 1)
    await nobody.close()

    async def token():
        return TOKEN

    for by in ("header", "protocol", "login"):
        async with client(token_by=by, token=token) as it:
            check(f"a token by {by}", (await it.system.info())["protocol"] == 1)
    bye = client()
    hung = asyncio.ensure_future(refused(bye.send("hang", session_id="py:bye").result()))
    await bye.system.info()
    await bye.close()
    check("closed", isinstance(await hung, lib.ClientClosedError) and isinstance(await refused(bye.system.info()), lib.ClientClosedError))


async def cuts(one):
    runs, count = 8, 50
    async with client(CUT_URL) as cutter:
        await cutter.sessions.create(session_id="py:cut")
        eye = cutter.watch("py:cut", after=0)
        seen = asyncio.ensure_future(read(eye, is_done(runs)))

        async def speak():
            results = []
            for _ in range(runs):
                run = cutter.send("slow 4 say 120 words", session_id="py:cut")
                text, found = await read(run)
                states = [it["event"] + it["data"].get("state", "") for it in found if it["event"] != "content"]
                results.append(text == words(120) == (await run)["content"] and len(set(states)) == len(states) and "retract" not in states)
            return results

        speaking = asyncio.ensure_future(speak())
        for nth in range(count):
            await asyncio.sleep(0.06 + (nth * 37) % 60 / 1000)
            await order("cut")
        results = await speaking
        text, found = await seen
        eye.close()
        check("cuts: every run is told once, word for word", all(results), results)
        check("cuts: a watcher has no gap", text == words(120) * runs, len(text))
        cursors = [event["cursor"] for event in found if event["event"] != "retract"]
        check("cuts: and no repeat", len(set(cursors)) == len(cursors))
        check("cuts: no message is doubled", await users(one, "py:cut") == runs)
        losing = asyncio.ensure_future(refused(cutter.tools.execute("shell.exec", session_id="py:cut", args={"command": "sleep 1"})))
        looking = asyncio.ensure_future(refused(cutter.agent.wait(session_id="py:cut", idempotency_key="none", timeout_ms=1)))
        await asyncio.sleep(0.15)
        await order("cut")
        check("what may have been done is not done again", isinstance(await losing, lib.ConnectionLostError))
        check("what only looks is answered", isinstance(await looking, lib.InvalidRequestError), await looking)
        wants, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def wait(ask):
            wants.set()
            return await answer

        held = cutter.send(write("e.txt"), session_id="py:cutask", confirm=wait)
        await wants.wait()
        await order("cut")
        answer.set_result("allow")
        check("an answer that is given while the wire is gone arrives", (await held)["content"] == "done")
    # This one takes its time to come back, and the call before the question does not take as long.
    async with client(CUT_URL, backoff_min=2, backoff_max=2) as away:
        message = f'call shell.exec {{"command":"sleep 0.4"}} then {write("f.txt")}'
        blind = away.send(message, session_id="py:cutask2", confirm=lambda ask: "allow")
        await read(blind, lambda event: event["event"] == "tool_start")
        await order("cut")
        await asyncio.sleep(0.6)
        check("a question that comes while the wire is gone is put", away.state == "waiting" and (await blind)["content"] == "done", away.state)


async def deaths():
    async with client(timeout=60) as far:
        await far.sessions.create(session_id="py:dead")
        wake = asyncio.ensure_future(read(far.watch("py:dead", after=0), is_done()))
        torn = far.send("slow 10 say 150 words", session_id="py:dead")
        tearing = asyncio.ensure_future(read(torn))
        rounds = " then ".join(f'call shell.exec {{"command":"sleep 0.2; echo {nth} >> pymarks"}}' for nth in range(3))
        marks = far.send(f"{rounds} then say done", session_id="py:marks", confirm=lambda ask: "allow")

        async def late(ask):
            await asyncio.sleep(1.5)
            return "allow"

        question = far.send(write("g.txt"), session_id="py:deadask", confirm=late)
        await asyncio.sleep(0.7)
        await order("kill")
        during = far.send("say 5 words", session_id="py:during")
        await asyncio.sleep(0.3)
        await order("start")
        check("killed: the run is told whole", (await tearing)[0] == words(150) == (await torn)["content"])
        check("killed: so is a watcher", (await wake)[0] == words(150))
        check("killed: what was sent meanwhile is answered", (await during)["content"] == words(5))
        check("killed: a tool that had run is not run again", (await marks)["content"].endswith("done"))
        check("killed: a question is answered", (await question)["content"] == "done")
        counts = [await users(far, name) for name in ("py:dead", "py:marks", "py:during")]
        check("killed: nothing is doubled", counts == [1, 1, 1], counts)
        calm = far.send("slow 20 say 200 words", session_id="py:calm")
        calming = asyncio.ensure_future(read(calm))
        await asyncio.sleep(0.5)
        await order("stop")
        await order("start")
        check("restarted: the run goes on", (await calming)[0] == words(200) == (await calm)["content"])
        check("restarted: once", await users(far, "py:calm") == 1)


async def main():
    async with client() as one:
        for part in (plain, cancelling, questions, subscriptions):
            await part(one)
        await lost_entries()
        await callers()
        await unnamed()
        await cuts(one)
    await deaths()


asyncio.run(main())
sys.exit(1 if wrong else 0)
