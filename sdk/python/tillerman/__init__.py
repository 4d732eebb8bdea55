"""An asyncio client of the tillerman gateway."""
from .asks import Ask as Ask
from .asks import AskHandler as AskHandler
from .asks import Decision as Decision
from .asks import Deny as Deny
from .client import GatewayClient as GatewayClient
from .errors import CallTimeoutError as CallTimeoutError
from .errors import ClientClosedError as ClientClosedError
from .errors import ConnectError as ConnectError
from .errors import ConnectionLostError as ConnectionLostError
from .errors import GatewayError as GatewayError
from .errors import WireError as WireError
from .generated import *
from .run import Run as Run
from .text import text_after as text_after
from .watch import Watch as Watch
from .wire import ConnectionState as ConnectionState
