"""Says what is new in a session since it was last called: python resume.py SESSION FILE (which keeps the place)."""
import asyncio
import os
import sys
from pathlib import Path

from tillerman import GatewayClient

URL, TOKEN = os.environ.get("TILLERMAN_URL", "ws://localhost:18800"), os.environ.get("TILLERMAN_TOKEN")


async def main() -> None:
    if len(sys.argv) != 3 or not all(sys.argv[1:]):
        print("usage: python resume.py SESSION FILE", file=sys.stderr)
        sys.exit(2)
    session, file = sys.argv[1], Path(sys.argv[2])
    after = file.read_text().strip() if file.exists() else "0"
    async with GatewayClient(URL, token=TOKEN) as client:
        end = (await client.watch(session).ready)["cursor"]
        async with client.watch(session, after=after) as watch:
            # Up to where it stands now; `async for` would go on with what comes.
            while str(watch.cursor) != str(end):
                event = await anext(watch)
                if event["event"] == "session_changed" and "role" in event["data"]:
                    print(f"{event['data']['role']}: {event['data'].get('text')}")
                if event["event"] == "content" and event["data"]["text"]:
                    print(f"assistant: {event['data']['text']}")
            file.write_text(str(watch.cursor))


asyncio.run(main())
