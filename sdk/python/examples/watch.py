"""Shows what happens in all sessions, whoever speaks in them: python watch.py [RUNS] (how many to wait for)."""
import asyncio
import os
import sys
from typing import Dict, Optional

from tillerman import EventCursor, GatewayClient, text_after

URL, TOKEN = os.environ.get("TILLERMAN_URL", "ws://localhost:18800"), os.environ.get("TILLERMAN_TOKEN")


async def main() -> None:
    runs = sys.argv[1] if len(sys.argv) > 1 else None
    if len(sys.argv) > 2 or (runs is not None and not (runs.isdecimal() and int(runs) > 0)):
        print("usage: python watch.py [RUNS]", file=sys.stderr)
        sys.exit(2)
    left = -1 if runs is None else int(runs)
    over = asyncio.Event()
    watched: Dict[str, "asyncio.Task[None]"] = {}

    async def watch(client: GatewayClient, session: str, after: Optional[EventCursor]) -> None:
        nonlocal left
        text = ""
        async for event in client.watch(session, after=after):
            text = text_after(text, event)
            if event["event"] == "session_changed" and event["data"].get("role") == "user":
                print(f"{session} < {event['data'].get('text')}", flush=True)
            if event["event"] == "tool_start":
                print(f"{session} [{event['data']['tool']}]", flush=True)
            if event["event"] == "done":
                print(f"{session} > {text}", flush=True)
                text, left = "", left - 1
                if left == 0:
                    over.set()

    async with GatewayClient(URL, token=TOKEN) as client:

        def begin(session: str, after: Optional[EventCursor]) -> None:
            if session not in watched:
                watched[session] = asyncio.ensure_future(watch(client, session, after))

        async def all_sessions() -> None:
            for row in (await client.sessions.list())["sessions"]:
                begin(row["id"], None)
            # A session that comes now is watched from its beginning.
            async for event in news:
                if event["event"] == "session" and event["data"]["live"]:
                    begin(event["data"]["sessionId"], 0)

        news = client.listen("sessions")
        await news.ready
        print("watching", flush=True)
        watching = asyncio.ensure_future(all_sessions())
        await over.wait()
        watching.cancel()
        for task in watched.values():
            task.cancel()


asyncio.run(main())
