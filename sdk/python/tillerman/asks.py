"""Questions of the gateway whether a tool may run: each is put to the handler once, and its answer arrives once."""
from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .generated import ConfirmFact, DecisionWord, ToolConfirmData
from .wire import Operation, Wire


@dataclass(frozen=True)
class Ask:
    """A call that waits for a yes. Its handler is cancelled when somebody else has answered."""

    session_id: str
    call_id: str
    tool: str
    args: Any
    risk: str
    summary: str
    preview: List[ConfirmFact]
    expires_at: Optional[int]
    may_have_run: bool
    """It was begun before the gateway went down: a yes may run it a second time."""


@dataclass(frozen=True)
class Deny:
    """A no, with a word for the model."""

    reason: str


Decision = Union[DecisionWord, Deny, None]
"""Nothing at all leaves it to others."""
AskHandler = Callable[[Ask], Union[Decision, Awaitable[Decision]]]
Key = Tuple[str, str]
"""A session, and the question's own id: a call's name comes again in the next run."""


@dataclass(eq=False)
class _Open:
    handler: Optional[asyncio.Task[Any]] = None
    answer: Optional[Mapping[str, Any]] = None
    """Decided here, and not known to have arrived."""
    heard_by: List[object] = field(default_factory=list)
    """Runs and watches; when all of them are over so is this."""


@dataclass(eq=False)
class _Session:
    handlers: List[AskHandler] = field(default_factory=list)
    connection: int = -1
    """On which the gateway knows that questions are answered here."""
    ready: Optional[asyncio.Task[Any]] = None


ANSWERED_MAX = 1024
"""Answered questions that are remembered, lest a watch that comes back later put one again; beyond it the oldest are forgotten."""


class Asks:
    def __init__(self, wire: Wire, call: Callable[[str, Mapping[str, Any]], Awaitable[Any]]) -> None:
        self._wire, self._call = wire, call
        self._sessions: Dict[str, _Session] = {}
        self._open: Dict[Key, _Open] = {}
        self._answered: Dict[Key, Optional[Mapping[str, Any]]] = {}

    def hold(self, session_id: str, handler: AskHandler) -> Callable[[], None]:
        """This client answers for the session until the returned function is called."""
        session = self._sessions.setdefault(session_id, _Session())
        session.handlers.append(handler)
        held = [True]

        def release() -> None:
            if not held:
                return
            held.clear()
            session.handlers.remove(handler)
            if session.handlers:
                return
            self._sessions.pop(session_id, None)
            for key in [key for key in self._open if key[0] == session_id]:
                self._drop(key)
            # Else the gateway would wait for answers that nobody gives.
            if self._wire.is_open:
                params = {"sessionId": session_id, "enabled": False}
                self._wire.submit(Operation("agent.setToolUseCallback", lambda: params))

        return release

    def prepare(self, session_id: str) -> Optional[Awaitable[None]]:
        """Says on this connection that questions are answered here. Nothing where that was said."""
        session, connection = self._sessions.get(session_id), self._wire.connection
        if session is None:
            return None
        if session.connection != connection:
            session.connection = connection
            session.ready = self._wire.spawn(self._say(session, session_id, connection))
        return None if session.ready is None else asyncio.shield(session.ready)

    async def _say(self, session: _Session, session_id: str, connection: int) -> None:
        try:
            # A session that is not there yet is made, for only one that is there can be answered for.
            await self._call("sessions.create", {"sessionId": session_id})
            await self._call("agent.setToolUseCallback", {"sessionId": session_id, "enabled": True})
        except BaseException:
            if session.connection == connection:
                session.connection = -1
            raise
        if session.connection == connection:
            session.ready = None
        for key, ask in list(self._open.items()):
            if key[0] == session_id and ask.answer is not None:
                self._wire.spawn(self._tell(key, ask.answer))

    def asked(self, session_id: str, data: ToolConfirmData, own: Optional[AskHandler], who: object) -> None:
        """To the handler of who heard it, or to another one of the session: one that waits for its run hears nothing of this
        one."""
        session = self._sessions.get(session_id)
        handler = own or (session.handlers[0] if session and session.handlers else None)
        if handler is None:
            return
        key = (session_id, data["askId"])
        if key in self._answered:
            answer = self._answered[key]
            # A gateway that lost it is told once more; any other passes it over.
            if answer is not None:
                self._wire.spawn(self._tell(key, answer))
            return
        known = self._open.get(key)
        ask = self._open.setdefault(key, _Open())
        if who not in ask.heard_by:
            ask.heard_by.append(who)
        if known is None:
            ask.handler = self._wire.spawn(self._decide(key, ask, data, handler))
        elif ask.answer is not None:
            self._wire.spawn(self._tell(key, ask.answer))

    async def _decide(self, key: Key, ask: _Open, data: ToolConfirmData, handler: AskHandler) -> None:
        question = Ask(
            session_id=key[0],
            call_id=data["callId"],
            tool=data["tool"],
            args=data["args"],
            risk=data["risk"],
            summary=data["summary"],
            preview=data.get("preview", []),
            expires_at=data.get("expiresAt"),
            may_have_run=data.get("mayHaveRun", False),
        )
        try:
            given = handler(question)
            decision: Decision = await given if inspect.isawaitable(given) else given
        except Exception:
            # No answer is never a yes.
            decision = Deny("whoever was asked could not answer")
        if decision is None or self._open.get(key) is not ask:
            return
        answer: Dict[str, Any] = {"sessionId": key[0], "callId": data["callId"], "askId": key[1]}
        answer.update({"decision": "deny", "reason": decision.reason} if isinstance(decision, Deny) else {"decision": decision})
        ask.answer, ask.handler = answer, None
        await self._tell(key, answer)

    async def _tell(self, key: Key, answer: Mapping[str, Any]) -> None:
        try:
            told = await self._call("agent.confirmTool", answer)
        except Exception:
            # Where it is lost on the way it is said again, when the question is.
            return
        if told["accepted"]:
            self.done(*key)

    def done(self, session_id: str, ask_id: str) -> None:
        """Somebody has answered."""
        key = (session_id, ask_id)
        ask = self._open.get(key)
        self._answered.setdefault(key, ask.answer if ask else None)
        if len(self._answered) > ANSWERED_MAX:
            del self._answered[next(iter(self._answered))]
        self._drop(key)

    def settled(self, who: object) -> None:
        """A run or a watch is over: what it alone had heard is nobody's question any more, and an answer to it nobody's."""
        for key, ask in list(self._open.items()):
            if who in ask.heard_by:
                ask.heard_by.remove(who)
                if not ask.heard_by:
                    self._drop(key)

    def _drop(self, key: Key) -> None:
        ask = self._open.pop(key, None)
        if ask is not None and ask.handler is not None and ask.handler is not asyncio.current_task():
            ask.handler.cancel()
