"""A tiny bot: a line "NAME: MESSAGE" on stdin is a message of that person, who has a session of their own."""
import asyncio
import os
import sys

from tillerman import Deny, GatewayClient, GatewayError

URL, TOKEN = os.environ.get("TILLERMAN_URL", "ws://localhost:18800"), os.environ.get("TILLERMAN_TOKEN")


async def answer(client: GatewayClient, name: str, message: str) -> None:
    try:
        # Nobody is there to be asked, so what is asked about is a no. A gateway asks only about what its configuration
        # names: `tools.confirm: [shell.exec, file.write, file.edit, file.patch]`.
        result = await client.send(message, session_id=f"bot:{name}", confirm=lambda ask: Deny("the bot only talks"))
        print(f"@{name} {result['content']}")
    except GatewayError as error:
        print(f"@{name} sorry: {error}")


async def main() -> None:
    async with GatewayClient(URL, token=TOKEN) as client, asyncio.TaskGroup() as people:
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, colon, message = line.strip().partition(": ")
            if colon:
                people.create_task(answer(client, name, message))


asyncio.run(main())
