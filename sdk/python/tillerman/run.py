"""One message and all that comes of it, told once however often the connection is lost."""
from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from typing import Any, AsyncIterator, Dict, Generator, Mapping, Optional, cast

from .asks import AskHandler, Asks
from .buffer import EventBuffer
from .generated import COMMANDS, AnyEvent, SendResult
from .text import common_length
from .wire import Operation, Wire, error_of

CANCEL_S = 10.0
"""A gateway that was asked to cancel has answered by then, or the run is given up here."""


class Run(AsyncIterator[AnyEvent]):
    """A run. Iterate over it for its events, one reader at a time; await it for what came of it. A task that is cancelled while it
    does either cancels the run; leaving the loop leaves the run alone."""

    def __init__(self, wire: Wire, asks: Asks, session_id: str, message: str, params: Mapping[str, Any], confirm: Optional[AskHandler]) -> None:
        self.session_id = session_id
        self.idempotency_key: str = params.get("idempotencyKey") or str(uuid.uuid4())
        """By which the gateway knows the message again."""
        self._wire, self._asks, self._confirm = wire, asks, confirm
        self._release = asks.hold(session_id, confirm) if confirm else None
        self._events: EventBuffer[AnyEvent] = EventBuffer()
        self._result: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        # Who reads the events is told by them.
        self._result.add_done_callback(lambda done: done.cancelled() or done.exception())
        # The text that the reader was given, and the text of this telling; the gateway tells a run from its start to who comes
        # back, and `_is_again` while that says what the reader has.
        self._told, self._heard, self._is_again = "", "", False
        # How often each other event was given, and came in this telling.
        self._given: Counter[str] = Counter()
        self._came: Counter[str] = Counter()
        self._last_call = ""
        self._tellings = 0
        self._is_cancelled = False
        self._give_up: Optional[asyncio.TimerHandle] = None
        words = str(message).split(None, 1)
        # The gateway keeps no key of a command: a second one would be carried out a second time.
        is_command = not params.get("attachments") and bool(words) and words[0] in COMMANDS
        self._params = {**params, "message": message, "sessionId": session_id, "idempotencyKey": self.idempotency_key}
        timeout = params.get("timeoutMs")
        self._ends_at = None if timeout is None else time.monotonic() + timeout / 1000
        self._operation = Operation(
            method="agent.send",
            params=self._asked_for,
            before=lambda: self._asks.prepare(session_id) if confirm else None,
            on_sent=self._sent,
            on_event=self._event,
            on_result=self._over,
            on_failed=self._failed,
            again=lambda: not is_command,
        )
        wire.submit(self._operation)

    def cancel(self) -> None:
        """Asks the gateway to end the run; awaiting it raises what it says to that."""
        if self._is_cancelled or self._result.done():
            return
        self._is_cancelled = True
        if self._tellings == 0:
            self._wire.withdraw(self._operation)
            return self._failed(self._given_up("cancelled_before_start"))
        self._give_up = asyncio.get_running_loop().call_later(CANCEL_S, self._gave_up)
        self._ask_to_cancel()

    def _given_up(self, reason: str) -> Exception:
        return error_of(4, "it was cancelled", {"reason": reason, "content": self._told}, "agent.send")

    def _gave_up(self) -> None:
        self._wire.withdraw(self._operation)
        self._failed(self._given_up("cancelled"))

    def _ask_to_cancel(self) -> None:
        request = self._operation.id
        # On the next connection it is asked again.
        if request is not None:
            self._wire.submit(Operation("agent.cancel", lambda: {"requestId": request}))

    def __aiter__(self) -> Run:
        return self

    async def __anext__(self) -> AnyEvent:
        try:
            return await self._events.next()
        except asyncio.CancelledError:
            self.cancel()
            raise

    async def result(self) -> SendResult:
        """What came of it; raises why nothing did."""
        try:
            return await asyncio.shield(self._result)
        except asyncio.CancelledError:
            self.cancel()
            raise

    def __await__(self) -> Generator[Any, None, SendResult]:
        return self.result().__await__()

    def _asked_for(self) -> Mapping[str, Any]:
        if self._ends_at is None:
            return self._params
        return {**self._params, "timeoutMs": max(1, int((self._ends_at - time.monotonic()) * 1000))}

    def _sent(self) -> None:
        self._is_again = self._tellings > 0
        self._tellings += 1
        self._heard = ""
        self._came.clear()
        if self._is_cancelled:
            self._ask_to_cancel()

    def _event(self, event: AnyEvent, size: int) -> None:
        # Asks come anew to who comes back, and are known again by what they are about.
        if event["event"] == "tool_confirm":
            self._asks.asked(self.session_id, event["data"], self._confirm, self)
        if event["event"] == "tool_confirm_done":
            self._asks.done(self.session_id, event["data"]["askId"])
        if event["event"] == "content":
            if event["data"].get("transient"):
                return self._events.push(event, size)
            text = event["data"]["text"]
            return self._says_again(text) if self._is_again else self._says(text)
        data = cast(Dict[str, Any], event["data"])
        if event["event"] == "tool_end":
            self._last_call = data["callId"]
        about = self._last_call if event["event"] == "attachment" else data.get("callId") or data.get("state") or ""
        key = f"{event['event']} {about}"
        self._came[key] += 1
        if self._came[key] <= self._given[key]:
            return
        self._given[key] = self._came[key]
        # A call follows the text before it: of that there is no more.
        if event["event"] == "tool_start" and self._is_again:
            self._becomes(self._heard)
        self._events.push(event, size)

    def _says(self, text: str) -> None:
        self._told += text
        newest = self._events.newest
        # Who reads slowly is given longer pieces.
        if newest is not None and newest["event"] == "content" and not newest["data"].get("transient"):
            newest["data"]["text"] += text
        else:
            self._events.push({"event": "content", "data": {"text": text}}, len(text))

    def _says_again(self, text: str) -> None:
        self._heard += text
        if len(self._told) > len(self._heard) and self._told.startswith(self._heard):
            return
        self._becomes(self._heard)

    def _becomes(self, text: str) -> None:
        """What the reader has becomes this text."""
        common = len(self._told) if text.startswith(self._told) else common_length(self._told, text)
        gone = self._told[common:]
        if gone:
            self._events.push({"event": "retract", "data": {"bytes": len(gone.encode())}}, 0)
        self._told = text[:common]
        if len(text) > common:
            self._says(text[common:])
        self._is_again = False

    def _over(self, result: SendResult) -> None:
        # A run that ended meanwhile is told by its result alone.
        if self._tellings > 1:
            self._becomes(result["content"])
            if not self._given["done "]:
                self._events.push({"event": "done", "data": {"content": result["content"], "usage": result["usage"]}}, 0)
        self._end()
        self._events.end()
        if not self._result.done():
            self._result.set_result(result)

    def _failed(self, why: Exception) -> None:
        self._end()
        self._events.end(why)
        if not self._result.done():
            self._result.set_exception(why)

    def _end(self) -> None:
        if self._give_up is not None:
            self._give_up.cancel()
        if self._release is not None:
            self._release()
        self._asks.settled(self)
