"""Lets a person (here: a rule) decide what tools may do: python permissions.py "create notes.txt with hello"."""
import asyncio
import os
import sys

from tillerman import Ask, Decision, Deny, GatewayClient

URL, TOKEN = os.environ.get("TILLERMAN_URL", "ws://localhost:18800"), os.environ.get("TILLERMAN_TOKEN")


# A gateway asks only about what its configuration names: `tools.confirm: [shell.exec, file.write]`.
async def confirm(ask: Ask) -> Decision:
    """What stays in the workspace may be written; anything that asks for more is refused, with a word for the model."""
    allowed = ask.risk != "danger-full-access"
    print(f"{ask.tool}: {ask.summary}: {'allowed' if allowed else 'denied'}")
    return "allow" if allowed else Deny("stay in the workspace")


async def main() -> None:
    async with GatewayClient(URL, token=TOKEN) as client:
        result = await client.send(sys.argv[1] if len(sys.argv) > 1 else "create notes.txt with hello", confirm=confirm)
        print(result["content"])


asyncio.run(main())
