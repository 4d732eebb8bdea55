"""The client half of the official PyPI SDK drives the agent; pydantic validates every message that the agent sends.

One line per check: `ok NAME` or `FAIL NAME: why`; exit code 1 when one failed. The SDK logs what it cannot read instead of
raising: whatever it logs fails the last check.

    PEER_AGENT  the program under test
    PEER_LOGS   directory for the frames of every agent
"""

import asyncio
import inspect
import logging
import os
import pathlib
import shutil
import sys
import tempfile
import time

import acp
from acp import RequestError, spawn_agent_process, text_block
from acp.schema import ClientCapabilities, ReadTextFileResponse, RequestPermissionResponse, WriteTextFileResponse

AGENT = os.environ["PEER_AGENT"]
LOGS = pathlib.Path(os.environ["PEER_LOGS"])
PATIENCE_S = 15
EOF_S = 1.0
NOBODY = "00000000-0000-7000-8000-000000000000"
# 0.9 and before have the order of the arguments and the models of an older schema.
OLD = hasattr(acp.schema, "SetSessionModelResponse")

home = pathlib.Path(tempfile.mkdtemp(prefix="peer-")).resolve()
work = home / "work"
work.mkdir()
(work / "a.txt").write_text("alpha beta\n")


class Complaints(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        cause = f" {record.exc_info[1]!r}" if record.exc_info else ""
        words = f"{record.getMessage()}{cause}"
        # In the protocol and optional; this SDK has no handler for it and says so.
        if "method=$/cancel_request RequestError('Method not found')" not in words:
            self.said.append(words[:600])


complaints = Complaints()
logging.getLogger().addHandler(complaints)


class Client(acp.Client):
    def __init__(self):
        self.updates = []
        self.asked = []
        self.buffers = {}
        self.permit = "allow_once"
        self.held = None

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append((session_id, update))

    async def request_permission(self, options, session_id, tool_call, **kwargs):
        self.asked.append(("session/request_permission", options, tool_call))
        if self.held is not None:
            await self.held.wait()
        if self.permit == "cancelled":
            return RequestPermissionResponse.model_validate({"outcome": {"outcome": "cancelled"}})
        chosen = {"outcome": "selected", "optionId": self.permit}
        return RequestPermissionResponse.model_validate({"outcome": chosen})

    async def read_text_file(self, path, session_id, **kwargs):
        self.asked.append(("fs/read_text_file", path))
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, content, path, session_id, **kwargs):
        self.asked.append(("fs/write_text_file", path))
        self.buffers[path] = content
        return WriteTextFileResponse()

    async def ext_method(self, method, params):
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method, params):
        pass

    def on_connect(self, conn):
        pass

    def of(self, session, *tags):
        mine = [update for id, update in self.updates if id == session]
        return [it for it in mine if it.session_update in tags] if tags else mine

    def text(self, session, tag="agent_message_chunk"):
        return "".join(it.content.text for it in self.of(session, tag))


class Peer:
    """A started agent and its client."""

    count = 0

    def __init__(self, *args, capabilities=None):
        self.args = args
        self.capabilities = capabilities or {}
        self.client = Client()

    async def __aenter__(self):
        Peer.count += 1
        log = LOGS / f"py-{os.getpid()}-{Peer.count}.log"
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "TILLERMAN_HOME": str(home / "tillerman")}
        words = ["acp", "--model", "tour", "--log-frames", str(log), *self.args]
        self.running = spawn_agent_process(self.client, AGENT, *words, env=env, cwd=str(work))
        self.conn, self.process = await self.running.__aenter__()
        self.welcome = await self.conn.initialize(
            protocol_version=1, client_capabilities=ClientCapabilities.model_validate(self.capabilities)
        )
        return self

    async def __aexit__(self, *why):
        await self.running.__aexit__(*why)

    async def new(self, cwd=work):
        return (await self.conn.new_session(cwd=str(cwd), mcp_servers=[])).session_id

    async def prompt(self, session, text):
        # Newer versions take the session first, older ones the prompt: names suit both.
        return await self.conn.prompt(prompt=[text_block(text)], session_id=session)

    async def until(self, test):
        deadline = time.monotonic() + PATIENCE_S
        while not test():
            assert time.monotonic() < deadline, f"it did not happen; updates: {self.client.updates[-4:]}"
            await asyncio.sleep(0.005)


async def refused(asked):
    try:
        answer = await asked
    except RequestError as error:
        return error
    raise AssertionError(f"it was accepted: {answer!r}")


async def initialize(peer):
    assert peer.welcome.protocol_version == 1
    assert peer.welcome.agent_info.name == "tillerman"
    assert peer.welcome.agent_capabilities.load_session
    assert peer.welcome.agent_capabilities.prompt_capabilities.image
    assert peer.welcome.auth_methods


async def new_session(peer):
    answer = await peer.conn.new_session(cwd=str(work), mcp_servers=[])
    assert answer.modes.current_mode_id == "prompt"
    assert answer.config_options
    if OLD:
        assert answer.models.current_model_id == "tour"
    await peer.until(lambda: peer.client.of(answer.session_id, "available_commands_update"))
    await peer.until(lambda: peer.client.of(answer.session_id, "usage_update"))


async def text_in_order(peer):
    session = await peer.new()
    answer = await peer.prompt(session, "say 20 words")
    assert answer.stop_reason == "end_turn"
    await peer.until(lambda: len(peer.client.of(session, "agent_message_chunk")) == 20)
    assert peer.client.text(session) == " ".join(f"w{i + 1}" for i in range(20))
    assert answer.usage.output_tokens > 0 and answer.usage.total_tokens > 0


async def thoughts(peer):
    session = await peer.new()
    await peer.prompt(session, 'think "let me see" say done')
    await peer.until(lambda: peer.client.text(session) == "done")
    assert peer.client.text(session, "agent_thought_chunk") == "let me see"


async def tool_call(peer):
    session = await peer.new()
    await peer.prompt(session, 'call read_file {"path":"a.txt"} then say done')
    await peer.until(lambda: peer.client.text(session) == "done")
    [call] = peer.client.of(session, "tool_call")
    assert (call.kind, call.title, call.locations[0].path) == ("read", "Read a.txt", str(work / "a.txt"))
    end = peer.client.of(session, "tool_call_update")[-1]
    assert end.status == "completed" and "alpha beta" in end.raw_output["output"]


async def allowed_edit(peer):
    session = await peer.new()
    peer.client.permit = "allow_once"
    await peer.prompt(session, 'call write_file {"path":"py.txt","content":"x"} then say done')
    await peer.until(lambda: peer.client.text(session) == "done")
    _, options, call = peer.client.asked[-1]
    assert [it.option_id for it in options] == ["allow_once", "allow_session", "deny"]
    assert call.tool_call_id == peer.client.of(session, "tool_call")[0].tool_call_id
    diffs = [it for it in peer.client.of(session, "tool_call_update")[-1].content if it.type == "diff"]
    assert diffs[0].new_text == "x" and diffs[0].old_text is None
    assert (work / "py.txt").read_text() == "x"


async def denied_edit(peer):
    session = await peer.new()
    for count, permit in enumerate(["deny", "cancelled", "no-such-option"], 1):
        peer.client.permit = permit
        answer = await peer.prompt(session, 'call write_file {"path":"no.txt","content":"x"} then say done')
        assert answer.stop_reason == "end_turn"
        await peer.until(lambda: len(peer.client.of(session, "tool_call_update")) == count)
    assert all(it.status == "failed" for it in peer.client.of(session, "tool_call_update"))
    assert not (work / "no.txt").exists()
    peer.client.permit = "allow_once"


async def cancel_in_stream(peer):
    session = await peer.new()
    turn = asyncio.create_task(peer.prompt(session, "slow 10 say 900 words"))
    await peer.until(lambda: peer.client.text(session))
    await peer.conn.cancel(session_id=session)
    assert (await turn).stop_reason == "cancelled"


async def cancel_in_question(peer):
    session = await peer.new()
    peer.client.held = asyncio.Event()
    asked = len(peer.client.asked)
    turn = asyncio.create_task(peer.prompt(session, 'call write_file {"path":"q.txt","content":"x"} then say done'))
    await peer.until(lambda: len(peer.client.asked) > asked)
    await peer.conn.cancel(session_id=session)
    assert (await turn).stop_reason == "cancelled"
    # The answer that nobody waits for any more does no harm.
    peer.client.held.set()
    peer.client.held = None
    assert (await peer.prompt(session, "say on")).stop_reason == "end_turn"
    assert not (work / "q.txt").exists()


async def queued(peer):
    session = await peer.new()
    turns = [peer.prompt(session, "slow 5 say 10 words"), peer.prompt(session, "say second")]
    assert [it.stop_reason for it in await asyncio.gather(*turns)] == ["end_turn", "end_turn"]
    await peer.until(lambda: peer.client.text(session).endswith("w10second"))


async def set_mode_and_options(peer):
    session = await peer.new()
    await peer.conn.set_session_mode(session_id=session, mode_id="plan")
    await peer.until(lambda: peer.client.of(session, "current_mode_update"))
    assert peer.client.of(session, "current_mode_update")[-1].current_mode_id == "plan"
    error = await refused(peer.conn.set_session_mode(session_id=session, mode_id="no-such"))
    assert error.code == -32602
    answer = await peer.conn.set_config_option(config_id="model", session_id=session, value="tour-mini")
    assert {it.id: it.current_value for it in map(lambda it: getattr(it, "root", it), answer.config_options)}["model"] == "tour-mini"
    if OLD:
        await peer.conn.set_session_model(session_id=session, model_id="tour")


async def listed(peer):
    session = await peer.new()
    await peer.prompt(session, "say listed")
    rows = (await peer.conn.list_sessions(cwd=str(work))).sessions
    assert any(it.session_id == session and it.cwd == str(work) and it.updated_at for it in rows)


async def loaded(peer):
    session = await peer.new()
    await peer.prompt(session, 'say "I look." call read_file {"path":"a.txt"} then say done')
    await peer.conn.close_session(session_id=session)
    async with Peer() as other:
        await other.conn.load_session(cwd=str(work), session_id=session, mcp_servers=[])
        await other.until(lambda: other.client.text(session).endswith("done"))
        tags = [it.session_update for it in other.client.of(session)]
        wanted = ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
        assert [it for it in tags if it in wanted] == wanted, tags


async def resumed(peer):
    session = await peer.new()
    await peer.prompt(session, "say one")
    await peer.conn.close_session(session_id=session)
    async with Peer() as other:
        await other.conn.resume_session(cwd=str(work), session_id=session, mcp_servers=[])
        await other.prompt(session, "say two")
        await other.until(lambda: other.client.text(session) == "two")


async def forked_and_closed(peer):
    session = await peer.new()
    await peer.prompt(session, "say root")
    fork = await peer.conn.fork_session(cwd=str(work), session_id=session, mcp_servers=[])
    assert fork.session_id != session
    await peer.prompt(fork.session_id, "say branch")
    await peer.conn.close_session(session_id=session)
    assert (await refused(peer.prompt(session, "say hi"))).code == -32002


async def unknown_session(peer):
    error = await refused(peer.prompt(NOBODY, "hi"))
    assert (error.code, error.data["sessionId"]) == (-32002, NOBODY)
    error = await refused(peer.conn.load_session(cwd=str(work), session_id=NOBODY, mcp_servers=[]))
    assert (error.code, error.data["sessionId"]) == (-32002, NOBODY)


async def extensions(peer):
    await peer.conn.ext_notification("example/note", {"any": 1})
    assert (await refused(peer.conn.ext_method("example/ask", {}))).code == -32601


async def failing_model(peer):
    session = await peer.new()
    error = await refused(peer.prompt(session, "fail 400"))
    assert error.code == -32602


async def parallel(peer):
    sessions = await asyncio.gather(*(peer.new() for _ in range(4)))
    answers = await asyncio.gather(*(peer.prompt(it, "slow 2 say 10 words") for it in sessions))
    assert all(it.stop_reason == "end_turn" for it in answers)
    await peer.until(lambda: all(len(peer.client.of(it, "agent_message_chunk")) == 10 for it in sessions))


async def not_advertised(peer):
    session = await peer.new()
    script = 'call read_file {"path":"a.txt"} then call bash {"command":"touch own"} then say done'
    await peer.prompt(session, script)
    assert all(it[0] == "session/request_permission" for it in peer.client.asked), peer.client.asked


async def end_of_input(peer):
    other = Peer()
    await other.__aenter__()
    session = await other.new()
    turn = asyncio.create_task(other.prompt(session, "say wait hold"))
    await other.until(lambda: other.client.text(session) == "wait")
    begun = time.monotonic()
    other.process.stdin.close()
    code = await asyncio.wait_for(other.process.wait(), PATIENCE_S)
    took = time.monotonic() - begun
    await asyncio.gather(turn, return_exceptions=True)
    assert code == 0 and took < EOF_S, (code, took)


async def buffers(peer):
    async with Peer(capabilities={"fs": {"readTextFile": True, "writeTextFile": True}}) as other:
        session = await other.new()
        other.client.buffers[str(work / "a.txt")] = "# Unsaved words\n"
        await other.prompt(session, "read a.txt")
        await other.until(lambda: "Unsaved words" in other.client.text(session))
        await other.prompt(session, 'call edit_file {"path":"a.txt","old_string":"words","new_string":"work"} then say done')
        assert other.client.buffers[str(work / "a.txt")] == "# Unsaved work\n"
        assert (work / "a.txt").read_text() == "alpha beta\n"


async def nothing_logged(peer):
    assert not complaints.said, complaints.said


CHECKS = [initialize, new_session, text_in_order, thoughts, tool_call, allowed_edit, denied_edit, cancel_in_stream]
CHECKS += [cancel_in_question, queued, set_mode_and_options, listed, loaded, resumed, forked_and_closed, unknown_session]
CHECKS += [extensions, failing_model, parallel, not_advertised, end_of_input]
CHECKS += [buffers, nothing_logged]


async def main():
    failed = 0
    async with Peer() as peer:
        for check in CHECKS:
            try:
                await asyncio.wait_for(check(peer), 40)
                print(f"ok {check.__name__}", flush=True)
            except Exception as why:
                failed += 1
                line = inspect.trace()[-1].lineno
                print(f"FAIL {check.__name__}: line {line}: {why!r}".replace("\n", " | ")[:900], flush=True)
    shutil.rmtree(home, ignore_errors=True)
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
