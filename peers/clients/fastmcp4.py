"""FastMCP's client: opens with `server/discover`."""

from fastmcp import Client

from errand import TOKEN, URL, errand, run


class Tolerant(Client):
    """FastMCP raises on a tool error unless told otherwise at each call."""

    async def call_tool(self, name, arguments):
        return await super().call_tool(name, arguments, raise_on_error=False)


async def visit():
    async with Tolerant(URL, auth=TOKEN) as client:
        return await errand(client)


run(visit)
