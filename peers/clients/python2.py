"""The Python SDK, version 2: `auto` opens with `server/discover`, `legacy` with `initialize`."""

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from errand import HEADERS, MODE, URL, errand, run


async def visit():
    async with httpx2.AsyncClient(headers=HEADERS, timeout=30) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=MODE) as client:
            return await errand(client, client.protocol_version)


run(visit)
