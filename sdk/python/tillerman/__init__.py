"""An asyncio client of the tillerman gateway."""
from .asks import Ask, AskHandler, Decision, Deny
from .client import GatewayClient
from .errors import CallTimeoutError, ClientClosedError, ConnectError, ConnectionLostError, GatewayError, WireError
from .generated import *  # noqa: F401,F403
from .run import Run
from .text import text_after
from .watch import Watch
from .wire import ConnectionState
