"""Asks a question and prints the answer as it comes: python ask.py "list the rust files"."""
import asyncio
import os
import sys

from tillerman import GatewayClient

URL, TOKEN = os.environ.get("TILLERMAN_URL", "ws://localhost:18800"), os.environ.get("TILLERMAN_TOKEN")


async def main() -> None:
    async with GatewayClient(URL, token=TOKEN) as client:
        run = client.send(sys.argv[1] if len(sys.argv) > 1 else "hello")
        async for event in run:
            if event["event"] == "content":
                print(event["data"]["text"], end="", flush=True)
            if event["event"] == "tool_start":
                print(f"\n[{event['data']['tool']}]")
        result = await run
        print(f"\n({result.get('stopReason')}, {result['usage']['outputTokens']} tokens)")


asyncio.run(main())
