"""What a run has said so far, from its events."""
from __future__ import annotations

from .generated import AnyEvent


def text_after(text: str, event: AnyEvent) -> str:
    """The text with this event: `content` adds to it, `retract` takes its last bytes back."""
    if event["event"] == "content":
        return text if event["data"].get("transient") else text + event["data"]["text"]
    if event["event"] == "retract":
        said = text.encode()
        return said[: max(0, len(said) - event["data"]["bytes"])].decode(errors="ignore")
    return text


def common_length(one: str, other: str) -> int:
    """How long both begin alike."""
    for at, (left, right) in enumerate(zip(one, other)):
        if left != right:
            return at
    return min(len(one), len(other))
