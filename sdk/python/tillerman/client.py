"""A client of the gateway: typed methods, runs, subscriptions, on a connection that comes back."""
from __future__ import annotations

import asyncio
import uuid
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, cast

from .asks import AskHandler, Asks
from .errors import CallTimeoutError
from .generated import READS, Api, AttachmentPart, EventCursor, LoginResult, Unset
from .run import Run
from .watch import Watch
from .wire import ConnectionState, Operation, Token, TokenBy, Wire, WireOptions

ENDED_BY_CANCEL = frozenset(["tools.execute", "agent.wait"])
"""Methods that go on in the gateway until they are told not to."""

Topic = Literal["sessions", "asks", "lanes", "nodes", "metrics", "logs"]


class GatewayClient(Api):
    """Made inside a running loop; `async with` connects and closes it. Times are seconds."""

    def __init__(
        self,
        url: str,
        *,
        token: Token = None,
        token_by: TokenBy = "header",
        session_id: Optional[str] = None,
        confirm: Optional[AskHandler] = None,
        timeout: Optional[float] = 30.0,
        connect_timeout: float = 10.0,
        backoff_min: float = 0.25,
        backoff_max: float = 10.0,
        on_state: Optional[Callable[[ConnectionState, Optional[Exception]], None]] = None,
    ) -> None:
        super().__init__(self._asked)
        self.session_id = session_id or f"ws:{uuid.uuid4()}"
        """The session of messages that name none. It is the client's, not the connection's, and so survives a reconnect."""
        self._confirm, self._timeout = confirm, timeout
        self._wire = Wire(WireOptions(url, token, token_by, connect_timeout, backoff_min, backoff_max, on_state))
        self._asks = Asks(self._wire, lambda method, params: self._request(method, params, None, False))

    @property
    def state(self) -> ConnectionState:
        return self._wire.state

    async def connect(self) -> None:
        """Connects now, and raises where that fails. Without it the first request does, and tries until its time is over."""
        await self._wire.connect()

    async def close(self) -> None:
        """Ends the connection. What runs in the gateway goes on; whoever waits here is told so."""
        await self._wire.close()

    async def __aenter__(self) -> GatewayClient:
        await self.connect()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def call(self, method: str, params: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None) -> Any:
        """Any method, by its name."""
        return await self._asked(method, params or {}, timeout)

    async def login(self, token: str, *, timeout: Optional[float] = None) -> LoginResult:
        """Says who this is, on a connection that was let in without a token. It holds for that connection: a token of the client is
        shown on each."""
        return cast(LoginResult, await self._asked("auth.login", {"token": token}, timeout))

    def send(
        self,
        message: str,
        *,
        session_id: Optional[str] = None,
        attachments: Optional[List[AttachmentPart]] = None,
        idempotency_key: Optional[str] = None,
        model_tier: Optional[str] = None,
        timeout: Optional[float] = None,
        traceparent: Optional[str] = None,
        confirm: Optional[AskHandler] = None,
    ) -> Run:
        """A message for the model, or a slash command. It is taken once, whatever happens to the connection."""
        given = {
            "attachments": attachments,
            "idempotencyKey": idempotency_key,
            "modelTier": model_tier,
            "timeoutMs": None if timeout is None else int(timeout * 1000),
            "traceparent": traceparent,
        }
        params = {name: value for name, value in given.items() if value is not None}
        return Run(self._wire, self._asks, session_id or self.session_id, message, params, confirm or self._confirm)

    def watch(
        self,
        session_id: str,
        *,
        after: Optional[EventCursor] = None,
        confirm: Optional[AskHandler] = None,
        thinking: bool = False,
    ) -> Watch:
        """Everything that happens in a session, from a cursor on or from now on. `confirm` answers whoever sent the message,
        `thinking` is with what the models think."""
        return Watch(self._wire, self._asks, [f"session:{session_id}"], after, confirm, thinking)

    def listen(self, *topics: Topic) -> Watch:
        """News of the services. They have no cursor: what happens while the connection is away is not told."""
        return Watch(self._wire, self._asks, list(topics), None, None)

    async def _asked(self, method: str, params: Mapping[str, Any], timeout: Optional[float]) -> Any:
        given: Dict[str, Any] = {name: value for name, value in params.items() if not isinstance(value, Unset)}
        patience = self._timeout if timeout is None else timeout
        # What may take its time there may take it here.
        if timeout is None and patience is not None and method in ENDED_BY_CANCEL:
            patience += given.get("timeoutMs", 120_000) / 1000
        return await self._request(method, given, patience, method in READS)

    async def _request(self, method: str, params: Mapping[str, Any], patience: Optional[float], is_read: bool) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        operation = Operation(
            method=method,
            params=lambda: params,
            on_result=lambda result: None if answer.done() else answer.set_result(result),
            on_failed=lambda why: None if answer.done() else answer.set_exception(why),
            # What only looks is asked again; anything else may have been done.
            again=lambda: is_read,
        )
        self._wire.submit(operation)
        limit = asyncio.timeout(patience)
        try:
            async with limit:
                return await answer
        except TimeoutError as late:
            if not limit.expired():
                raise
            raise CallTimeoutError(f"{method} was not answered within {patience} s") from late
        finally:
            request = operation.id
            self._wire.withdraw(operation)
            # It was given up, and goes on there.
            if request is not None and method in ENDED_BY_CANCEL:
                self._wire.submit(Operation("agent.cancel", lambda: {"requestId": request}))
