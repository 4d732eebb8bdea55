"""`acp-client`, a small asyncio client of PyPI, drives the agent.

One line per check: `ok NAME` or `FAIL NAME: why`; exit code 1 when one failed.

    PEER_AGENT  the program under test
    PEER_LOGS   directory for the frames of every agent
"""

import asyncio
import os
import pathlib
import shutil
import sys
import tempfile

from acp_client import Agent, AgentError

PROGRAM = os.environ["PEER_AGENT"]
LOGS = pathlib.Path(os.environ["PEER_LOGS"])
PATIENCE_S = 30
NOBODY = "00000000-0000-7000-8000-000000000000"

home = pathlib.Path(tempfile.mkdtemp(prefix="peer-")).resolve()
work = home / "work"
work.mkdir()
(work / "a.txt").write_text("alpha beta\n")

# The client hands its own environment on: no key, model or setting of this machine may reach the agent.
kept = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "TILLERMAN_HOME": str(home / "tillerman"), "LANG": "C.UTF-8"}
os.environ.clear()
os.environ.update(kept)

started = []


def agent(**more):
    log = LOGS / f"client-{os.getpid()}-{len(started)}.log"
    it = Agent([PROGRAM, "acp", "--model", "tour", "--log-frames", str(log)], work, **more)
    started.append(it)
    return it


def allow(kind):
    """A person who always chooses the option of this kind; `asked` has what was seen."""

    async def permission(request):
        permission.asked.append(request)
        return next(it["optionId"] for it in request["options"] if it["kind"] == kind)

    permission.asked = []
    return permission


async def happened(event, what):
    try:
        await asyncio.wait_for(event.wait(), PATIENCE_S)
    except TimeoutError as late:
        raise AssertionError(f"{what} did not happen") from late


async def failing(awaitable):
    try:
        answer = await awaitable
    except AgentError as error:
        return str(error)
    raise AssertionError(f"it was accepted: {answer!r}")


async def a_prompt_is_answered_as_it_grows():
    it, grown = agent(), []
    answer = await it.ask("say 12 words", on_text=grown.append)
    assert answer == " ".join(f"w{n}" for n in range(1, 13)), answer
    assert len(grown) > 1 and grown[-1] == answer and all(answer.startswith(part) for part in grown), grown
    assert await it.ask(lambda fresh: f"say fresh={fresh}") == "fresh=False"
    await it.stop()


async def calls_and_thoughts_are_told_beside_the_answer():
    it, updates = agent(), []
    assert await it.ask('think "hm" call read_file {"path":"a.txt"} then say done', on_update=updates.append) == "done"
    assert [u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_thought_chunk"] == ["hm"], updates
    end = [u for u in updates if u["sessionUpdate"] == "tool_call_update"][-1]
    assert end["status"] == "completed" and "alpha beta" in str(end["content"]), end
    assert isinstance(end["rawOutput"], dict), end
    await it.stop()


async def what_is_permitted_is_done():
    permission = allow("allow_once")
    it = agent(permission=permission)
    assert await it.ask('call write_file {"path":"yes.txt","content":"x"} then say done') == "done"
    assert (work / "yes.txt").read_text() == "x"
    [request] = permission.asked
    assert request["toolCall"]["kind"] == "edit" and request["toolCall"]["content"][0]["type"] == "diff", request
    await it.stop()


async def what_is_rejected_is_not_done():
    it, updates = agent(permission=allow("reject_once")), []
    answer = await it.ask('call write_file {"path":"no.txt","content":"x"} then say "as you like"', on_update=updates.append)
    assert answer == "as you like" and not (work / "no.txt").exists(), answer
    assert [u["status"] for u in updates if u["sessionUpdate"] == "tool_call_update"][-1] == "failed", updates
    await it.stop()


async def without_anybody_to_ask_nothing_is_done():
    it = agent()
    assert await it.ask('call bash {"command":"touch nobody"} then say done') == "done"
    assert not (work / "nobody").exists()
    await it.stop()


async def a_refusal_and_an_error_end_their_question_only():
    it = agent()
    assert await it.ask("refuse") is not None
    assert "turned the request down" in await failing(it.ask("fail 400"))
    assert await it.ask("say on") == "on"
    await it.stop()


async def cancel_gives_what_was_said_so_far():
    it, begun = agent(), asyncio.Event()
    asking = asyncio.create_task(it.ask("say wait hold", on_text=lambda _: begun.set()))
    await happened(begun, "text")
    it.cancel()
    assert await asyncio.wait_for(asking, PATIENCE_S) == "wait"
    assert await it.ask("say again") == "again"
    await it.stop()


async def a_wait_that_is_cancelled_stops_the_turn():
    it, begun = agent(permission=allow("allow_once")), asyncio.Event()

    def running(update):
        if update.get("status") == "in_progress":
            begun.set()

    asking = asyncio.create_task(it.ask('call bash {"command":"sleep 60; touch slept"} then say done', on_update=running))
    await happened(begun, "the command")
    asking.cancel()
    try:
        await asking
    except asyncio.CancelledError:
        pass
    assert await asyncio.wait_for(it.ask("say free"), PATIENCE_S) == "free"
    assert not (work / "slept").exists()
    await it.stop()


async def a_session_is_carried_on_by_another_process():
    first = agent()
    await first.ask("say one")
    session = first.session
    await first.stop()
    second, told = agent(session=session), []
    await second.start(on_update=told.append)
    said = "".join(u["content"]["text"] for u in told if u["sessionUpdate"] in ("user_message_chunk", "agent_message_chunk"))
    assert second.session == session and not second.fresh, second.session
    assert said == "say oneone", said
    assert await second.ask("say two") == "two"
    await second.stop()


async def an_unknown_session_becomes_a_new_one():
    it = agent(session=NOBODY)
    await it.start()
    assert it.session and it.session != NOBODY and it.fresh
    assert await it.ask("say hello") == "hello"
    await it.stop()


CHECKS = [it for it in list(globals().values()) if asyncio.iscoroutinefunction(it) and it not in (happened, failing)]


async def main():
    failed = 0
    for check in CHECKS:
        if len(sys.argv) > 1 and not any(part in check.__name__ for part in sys.argv[1:]):
            continue
        try:
            await asyncio.wait_for(check(), 2 * PATIENCE_S)
            print(f"ok {check.__name__}", flush=True)
        except Exception as why:  # noqa: BLE001
            failed += 1
            print(f"FAIL {check.__name__}: {type(why).__name__} {why}".replace("\n", " | "), flush=True)
    for it in started:
        await it.stop()
    shutil.rmtree(home, ignore_errors=True)
    return failed


sys.exit(1 if asyncio.run(main()) else 0)
