"""The Python SDK, version 1: opens with `initialize`."""

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from errand import HEADERS, URL, errand, run


async def visit():
    async with (
        httpx.AsyncClient(headers=HEADERS, timeout=30) as http,
        streamable_http_client(URL, http_client=http) as (reading, writing, _),
        ClientSession(reading, writing) as client,
    ):
        opened = await client.initialize()
        return await errand(client, opened.protocolVersion)


run(visit)
