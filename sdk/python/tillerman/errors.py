"""Whatever goes wrong is one of these: a refusal of the gateway (`GatewayError` and its classes in `generated`), or the wire itself
(`WireError` and its classes)."""
from __future__ import annotations

from typing import Any, Mapping, Optional


class GatewayError(Exception):
    """The gateway refused or ended a request. `code` is one of a closed set, and each code has a class; `reason` says more."""

    def __init__(self, message: str, code: int, data: Optional[Mapping[str, Any]] = None, method: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data: Mapping[str, Any] = data or {}
        self.method = method

    @property
    def reason(self) -> Optional[str]:
        """`rate_limited`, `model_error`, `cancelled`, ..."""
        reason = self.data.get("reason")
        return reason if isinstance(reason, str) else None


class WireError(Exception):
    """It did not come to an answer."""


class ConnectError(WireError):
    """No connection could be made."""


class ConnectionLostError(WireError):
    """The connection was lost before the answer. The request may have been carried out or not; it is not one that is safe to
    repeat."""


class CallTimeoutError(WireError, TimeoutError):
    """No answer came in time."""


class ClientClosedError(WireError):
    """`close()` was called."""
