"""The connection that comes back: requests go out when it is open, and what a lost one leaves open is sent again where that is
safe."""
from __future__ import annotations

import asyncio
import base64
import inspect
import json
import random
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Deque, Dict, List, Literal, Mapping, Optional, Set, Union

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from .errors import ClientClosedError, ConnectError, ConnectionLostError, GatewayError
from .generated import ERRORS, LIMITS, AnyEvent

IN_FLIGHT_MAX = LIMITS["maxInFlight"] - 24
"""Requests without an answer; more wait here. The gateway takes a few more."""
BURST = LIMITS["burst"] * 0.8
"""As fast as requests go out, below what the gateway takes, so that it never refuses one for that."""
PER_SECOND = LIMITS["perSecond"] * 0.9
FRAME_IN_BYTES_MAX = 64 * 1024 * 1024
"""A longer frame of the gateway ends the connection."""
ENDING_S = 15.0
"""A gateway that says it ends has closed by then, or we do."""
BUSY_MS = 1000
"""A refusal for being too fast says for how long; where it does not, this long."""
DEPTH_MAX = 120
"""Lists and objects within each other in what a request takes; the gateway reads little more, and could not say whose it was."""
PING_S = 20.0
"""After so long a silent connection is asked whether it is there, and after as long again given up."""

ConnectionState = Literal["idle", "connecting", "open", "waiting", "closed"]
TokenBy = Literal["header", "protocol", "login"]
Token = Union[str, Callable[[], Union[str, Awaitable[str]]], None]


def error_of(code: int, message: str, data: Optional[Mapping[str, Any]] = None, method: Optional[str] = None) -> GatewayError:
    return ERRORS.get(code, GatewayError)(message, code, data, method)


def _is_deeper(value: Any, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return inner is not None and (most == 0 or any(_is_deeper(it, most - 1) for it in inner))


def _nothing(*_: Any) -> None:
    return None


@dataclass(eq=False)
class Operation:
    """One request, over as many connections as it takes."""

    method: str
    params: Callable[[], Mapping[str, Any]]
    on_result: Callable[[Any], None] = _nothing
    on_failed: Callable[[Exception], None] = _nothing
    on_event: Callable[[AnyEvent, int], None] = _nothing
    on_sent: Callable[[], None] = _nothing
    before: Callable[[], Optional[Awaitable[None]]] = _nothing
    """What has to be done on a new connection first."""
    again: Callable[[], bool] = lambda: False
    """The connection was lost behind it. Whether it is sent again."""
    stays: bool = False
    """Events follow its result."""
    id: Optional[int] = None
    """The id on this connection; none where it was not sent on it."""
    place: int = 0
    """In the order in which requests were made."""
    is_withdrawn: bool = False
    """Nobody wants it any more, wherever it is."""
    is_heard: bool = False
    """Something came of it on this connection."""


@dataclass
class WireOptions:
    url: str
    token: Token
    token_by: TokenBy
    connect_timeout: float
    backoff_min: float
    backoff_max: float
    on_state: Optional[Callable[[ConnectionState, Optional[Exception]], None]]


class Wire:
    def __init__(self, options: WireOptions) -> None:
        self._options = options
        self.state: ConnectionState = "idle"
        self.connection = 0
        """Counts connections."""
        self._ids = 0
        self._places = 0
        self._waiting: Deque[Operation] = deque()
        self._sent: Dict[int, Operation] = {}
        self._attempt = 0
        self._tokens, self._filled_at = BURST, 0.0
        self._is_ending = False
        self._refused: Optional[Exception] = None
        self._kick = asyncio.Event()
        self._main: Optional[asyncio.Task[None]] = None
        self._socket: Optional[ClientConnection] = None
        self._connecting: List[asyncio.Future[None]] = []
        self._tasks: Set[asyncio.Task[Any]] = set()

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    def spawn(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """A task that is held until it ends."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Whoever wants to know why it failed awaits it.
        if not task.cancelled():
            task.exception()

    async def connect(self) -> None:
        """Until the connection is open; raises where this attempt fails."""
        if self.state == "open":
            return
        if self.state == "closed":
            raise self._why()
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._connecting.append(opened)
        self._start()
        await opened

    def submit(self, operation: Operation) -> None:
        operation.is_withdrawn = False
        self._places += 1
        operation.place = self._places
        self._queue(operation, self._waiting.append)
        if self.state != "closed":
            self._start()

    def _queue(self, operation: Operation, put: Callable[[Operation], None]) -> None:
        if operation.is_withdrawn:
            return
        if self.state == "closed":
            return operation.on_failed(self._why())
        put(operation)
        self._kick.set()

    def _put_back(self, operation: Operation) -> None:
        """Where it was: before all that were made after it."""
        later = (at for at, it in enumerate(self._waiting) if it.place > operation.place)
        self._waiting.insert(next(later, len(self._waiting)), operation)

    def withdraw(self, operation: Operation) -> None:
        """Nobody wants its answer any more."""
        operation.is_withdrawn = True
        if operation in self._waiting:
            self._waiting.remove(operation)
        if operation.id is not None:
            self._sent.pop(operation.id, None)
            operation.id = None
        self._kick.set()

    async def close(self, why: Optional[Exception] = None) -> None:
        self._over(why or ClientClosedError("the client is closed"))
        main, self._main = self._main, None
        if main is not None and main is not asyncio.current_task():
            main.cancel()
            await asyncio.gather(main, return_exceptions=True)
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _why(self) -> Exception:
        return self._refused or ClientClosedError("the client is closed")

    def _over(self, why: Exception) -> None:
        if self.state == "closed":
            return
        self._refused = why
        self._turn("closed", why)
        self.connection += 1
        left = [*self._sent.values(), *self._waiting]
        self._sent.clear()
        self._waiting.clear()
        for operation in left:
            operation.id = None
            operation.on_failed(why)
        self._tell_connecting(why)

    def _turn(self, state: ConnectionState, why: Optional[Exception] = None) -> None:
        if self.state != state:
            self.state = state
            if self._options.on_state:
                self._options.on_state(state, why)

    def _tell_connecting(self, why: Optional[Exception]) -> None:
        waiting, self._connecting = self._connecting, []
        for opened in waiting:
            if not opened.done():
                opened.set_result(None) if why is None else opened.set_exception(why)

    def _start(self) -> None:
        if self._main is None or self._main.done():
            self._main = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        try:
            await self._lives()
        except Exception as broken:
            # A function that was given to us has raised, or what came is no frame: nobody is left waiting.
            self._over(broken)

    async def _lives(self) -> None:
        """One connection after the other, until there is nothing to do or the client is closed."""
        while self.state != "closed":
            self._turn("connecting")
            why: Exception
            try:
                async with await self._opened() as socket:
                    await self._spoken(socket)
                    why = ConnectionLostError(f"the connection was lost (closed with {socket.close_code} {socket.close_reason})")
            except (ConnectError, GatewayError) as error:
                self._tell_connecting(error)
                if isinstance(error, GatewayError) or getattr(error, "is_final", False):
                    return self._over(error)
                if not self._waiting and self._attempt == 0:
                    return self._turn("idle", error)
                why = error
            except ConnectionClosed as error:
                why = ConnectionLostError(f"the connection was lost ({error})")
            finally:
                self._socket = None
            self._lost(why)
            if self._refused is not None:
                return self._over(self._refused)
            most = min(self._options.backoff_max, self._options.backoff_min * 2 ** min(self._attempt, 20))
            self._attempt += 1
            self._turn("waiting", why)
            await asyncio.sleep(most * (0.5 + random.random() / 2))

    async def _opened(self) -> ClientConnection:
        """A new connection on which we are known."""
        options = self._options
        token = options.token() if callable(options.token) else options.token
        word = await token if inspect.isawaitable(token) else token
        protocols = [Subprotocol("tillerman.v1")]
        headers: Dict[str, str] = {}
        if word is not None and options.token_by == "header":
            headers["Authorization"] = f"Bearer {word}"
        if word is not None and options.token_by == "protocol":
            protocols.append(Subprotocol("bearer." + base64.urlsafe_b64encode(word.encode()).decode().rstrip("=")))
        try:
            socket = await connect(
                options.url,
                additional_headers=headers,
                subprotocols=protocols,
                open_timeout=options.connect_timeout,
                ping_interval=PING_S,
                ping_timeout=PING_S,
                close_timeout=2,
                max_size=FRAME_IN_BYTES_MAX,
                compression=None,
            )
        except (OSError, InvalidHandshake, InvalidURI, TimeoutError, EOFError) as error:
            refused = ConnectError(f"no connection to {options.url}: {error}")
            # What is wrong with the address or the name is not better a second later.
            is_final = isinstance(error, InvalidURI) or (isinstance(error, InvalidStatus) and 400 <= error.response.status_code < 500 and error.response.status_code not in (408, 429))
            setattr(refused, "is_final", is_final)
            raise refused from error
        self.connection += 1
        self._is_ending = False
        self._tokens, self._filled_at = BURST, time.monotonic()
        if word is not None and options.token_by == "login":
            await self._login(socket, word)
        return socket

    async def _login(self, socket: ClientConnection, token: str) -> None:
        """As the first request of a connection."""
        self._ids += 1
        await socket.send(json.dumps({"id": self._ids, "method": "auth.login", "params": {"token": token}}))
        frame = json.loads(await socket.recv())
        if "error" in frame:
            await socket.close()
            error = frame["error"]
            raise error_of(error["code"], error["message"], error.get("data"), "auth.login")

    async def _spoken(self, socket: ClientConnection) -> None:
        """Everything that is said on one connection."""
        self._socket = socket
        self._turn("open")
        self._tell_connecting(None)
        self._kick.set()
        writer = asyncio.ensure_future(self._write(socket))
        # Without it nothing would be sent any more, and nobody told.
        writer.add_done_callback(lambda done: done.cancelled() or self.spawn(socket.close()))
        try:
            async for text in socket:
                self._heard(text if isinstance(text, str) else text.decode())
        finally:
            writer.cancel()
            (ended,) = await asyncio.gather(writer, return_exceptions=True)
        if isinstance(ended, Exception) and not isinstance(ended, ConnectionClosed):
            raise ended

    def _lost(self, why: Exception) -> None:
        self.connection += 1
        sent = list(self._sent.values())
        again: List[Operation] = []
        over: List[Operation] = []
        self._sent.clear()
        for operation in sent:
            operation.id = None
            (again if operation.again() else over).append(operation)
        self._waiting.extendleft(reversed(again))
        for operation in over:
            operation.on_failed(ConnectionLostError(f"{why}; {operation.method} may have been carried out"))

    async def _write(self, socket: ClientConnection) -> None:
        """Sends what may be sent; a socket that takes no more makes it wait."""
        while True:
            if self._is_ending or not self._waiting or len(self._sent) >= IN_FLIGHT_MAX:
                self._kick.clear()
                await self._kick.wait()
                continue
            now = time.monotonic()
            self._tokens = min(BURST, self._tokens + (now - self._filled_at) * PER_SECOND)
            self._filled_at = now
            if self._tokens < 1:
                await asyncio.sleep(1 / PER_SECOND)
                continue
            operation = self._waiting.popleft()
            before = operation.before()
            if before is not None:
                self.spawn(self._prepared(operation, before, self.connection))
                continue
            self._tokens -= 1
            text = self._frame(operation)
            if text is not None:
                await socket.send(text)

    async def _prepared(self, operation: Operation, before: Awaitable[None], connection: int) -> None:
        try:
            await before
        except ConnectionLostError:
            pass
        except Exception as why:
            # Where the connection was lost meanwhile, it begins again on the next one.
            if connection == self.connection and not operation.is_withdrawn:
                return operation.on_failed(why)
        self._queue(operation, self._put_back)

    def _frame(self, operation: Operation) -> Optional[str]:
        """What is sent; nothing where it cannot be, and then whoever asked for it is told."""
        self._ids += 1
        params = operation.params()
        try:
            text = json.dumps({"id": self._ids, "method": operation.method, "params": params}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            size = len(text.encode())
            if _is_deeper(params, DEPTH_MAX):
                raise ValueError(f"more than {DEPTH_MAX} lists and objects are within each other")
        except (TypeError, ValueError, RecursionError) as why:
            operation.on_failed(error_of(-2, f"this cannot be sent as JSON: {why}", {"reason": "not_json"}, operation.method))
            return None
        if size > LIMITS["maxFrameBytes"]:
            data = {"reason": "frame_too_long"}
            operation.on_failed(error_of(-2, f"a request has at most {LIMITS['maxFrameBytes']} bytes", data, operation.method))
            return None
        operation.id = self._ids
        operation.is_heard = False
        self._sent[self._ids] = operation
        operation.on_sent()
        return text

    def _heard(self, text: str) -> None:
        frame = json.loads(text)
        if frame["id"] is None:
            return self._unnamed(frame["error"])
        operation = self._sent.get(frame["id"])
        if operation is not None:
            operation.is_heard = True
        if "event" in frame:
            if operation is not None:
                operation.on_event(frame, len(text))
            return
        if "error" in frame:
            return self._refusal(operation, frame["error"])
        if operation is None:
            return
        self._attempt = 0
        if operation.method == "auth.login":
            self._refused = None
        if not operation.stays:
            del self._sent[frame["id"]]
            operation.id = None
        operation.on_result(frame["result"])
        self._kick.set()

    def _unnamed(self, error: Mapping[str, Any]) -> None:
        """The gateway refuses something and cannot say under whose id. Nobody is left waiting for that."""
        data = error.get("data") or {}
        # It names one whose id is in use: that one is well. Who is not known is closed, and told so by that.
        if error["code"] in (-4, -5) or data.get("reason") == "duplicate_id":
            return self._refusal(None, error)
        named = self._sent.get(data.get("id", -1))
        meant = [named] if named else [it for it in self._sent.values() if not it.is_heard]
        which = f" (the gateway means one of {len(meant)} requests)" if len(meant) > 1 else ""
        for operation in meant:
            self._refusal(operation, {**error, "message": error["message"] + which})

    def _refusal(self, operation: Optional[Operation], error: Mapping[str, Any]) -> None:
        code, data = error["code"], error.get("data") or {}
        told = error_of(code, error["message"], data, operation.method if operation else None)
        # Whoever is not known here is closed, and need not come back.
        if code in (-4, -5) and told.reason != "scope":
            self._refused = told
        if operation is None:
            return
        if operation.id is not None:
            self._sent.pop(operation.id, None)
            operation.id = None
        if code == 3 and told.reason == "rate_limited":
            wait = float(data.get("retryAfterMs", BUSY_MS)) / 1000
            asyncio.get_running_loop().call_later(wait * (1 + random.random() / 2), self._queue, operation, self._waiting.append)
        elif code == 4 and told.reason == "shutdown" and data.get("replayed") is not True and operation.again():
            # What was not finished goes on when the gateway is there again.
            self._is_ending = True
            self._waiting.append(operation)
            self.spawn(self._end_late(self.connection))
        else:
            operation.on_failed(told)
        self._kick.set()

    async def _end_late(self, connection: int) -> None:
        await asyncio.sleep(ENDING_S)
        if connection == self.connection and self._socket is not None:
            await self._socket.close()
