"""A subscription that outlives its connection: it goes on where it was, without a gap and without a repeat."""
from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional

from .asks import AskHandler, Asks
from .buffer import EventBuffer
from .errors import GatewayError
from .generated import AnyEvent, EventCursor, SubscribeResult
from .wire import Operation, Wire

WAITING_MAX = 4096
"""Events that wait for the reader, and their characters together. At the bound the gateway is told to stop; when all of them were
read the subscription goes on from there. Topics without a cursor have no such place: of those the newest are dropped."""
WAITING_SIZE_MAX = 4 * 1024 * 1024
LAG_S = 0.3
"""A session that was lost is asked for again after this."""


class Watch(AsyncIterator[AnyEvent]):
    """Events of a session, or of the gateway's services. Iterate over it, one reader at a time; `close()` ends it, and so does the end
    of an `async with` block."""

    def __init__(self, wire: Wire, asks: Asks, topics: List[str], after: Optional[EventCursor], confirm: Optional[AskHandler], thinking: bool = False) -> None:
        first = topics[0] if len(topics) == 1 else ""
        self._session = first[len("session:") :] if first.startswith("session:") else None
        self.cursor = after
        """How far the reader is: keep it, and bring it back as `after`. Only a session's events have one."""
        self._told = after
        self._wire, self._asks, self._confirm, self._topics = wire, asks, confirm, topics
        self._thinking = thinking
        session = self._session
        self._release = asks.hold(session, confirm) if confirm and session is not None else None
        self._events: EventBuffer[AnyEvent] = EventBuffer(self._go_on)
        self._number: Optional[int] = None
        self._is_paused = False
        self._was_there = False
        self._timer: Optional[asyncio.TimerHandle] = None
        self.ready: asyncio.Future[SubscribeResult] = asyncio.get_running_loop().create_future()
        """Done when the gateway has taken it."""
        self.ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._operation = Operation(
            method="events.subscribe",
            params=self._asked_for,
            before=lambda: self._asks.prepare(session) if self._release and session is not None else None,
            on_event=self._event,
            on_result=self._began,
            on_failed=self._failed,
            again=lambda: True,
            stays=True,
        )
        wire.submit(self._operation)

    def close(self) -> None:
        """Ends it; a reader that waits is told that there is no more."""
        if not self._events.is_over:
            self._events.end()
            self._leave()

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> AnyEvent:
        event = await self._events.next()
        self.cursor = event.get("cursor", self.cursor)
        return event

    def _asked_for(self) -> Mapping[str, Any]:
        params: Dict[str, Any] = {"topics": self._topics}
        if self._told is not None:
            params["afterSeq"] = self._told
        if self._thinking:
            params["thinking"] = True
        return params

    def _began(self, result: SubscribeResult) -> None:
        self._number, self._was_there = result["subscriptionId"], True
        if self._session is not None and self._told is None:
            self.cursor = self._told = result["cursor"]
        if not self.ready.done():
            self.ready.set_result(result)

    def _event(self, event: AnyEvent, size: int) -> None:
        session = self._session
        # Nothing more comes of it here: the session was lost, is deleted, or cannot be read now.
        if event["event"] == "lag":
            if session is not None:
                self._told = event.get("cursor", self._told)
            self._stop()
            self._timer = asyncio.get_running_loop().call_later(LAG_S, self._wire.submit, self._operation)
            return
        if session is not None and event["event"] == "tool_confirm":
            self._asks.asked(session, event["data"], self._confirm, self)
        if session is not None and event["event"] == "tool_confirm_done":
            self._asks.done(session, event["data"]["askId"])
        is_full = len(self._events) >= WAITING_MAX or self._events.size >= WAITING_SIZE_MAX
        if is_full and session is None:
            return
        if session is not None and "cursor" in event:
            self._told = event["cursor"]
        self._events.push(event, size)
        if is_full:
            self._is_paused = True
            self._stop()

    def _go_on(self) -> None:
        if self._is_paused and not self._events.is_over:
            self._is_paused = False
            self._wire.submit(self._operation)

    def _stop(self) -> None:
        """The gateway need not tell more. What is on its way is passed over."""
        is_there = self._operation.id is not None
        self._wire.withdraw(self._operation)
        number, self._number = self._number, None
        if is_there and number is not None and self._wire.is_open:
            self._wire.submit(Operation("events.unsubscribe", lambda: {"subscriptionId": number}))

    def _failed(self, why: Exception) -> None:
        if not self.ready.done():
            self.ready.set_exception(why)
        # One that was watched and is not there any more was deleted: that is the end, not an error.
        is_deleted = self._was_there and isinstance(why, GatewayError) and why.code == 1
        self._events.end(None if is_deleted else why)
        self._leave()

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._stop()
        if self._release is not None:
            self._release()
        self._asks.settled(self)
