"""FastMCP's server of the benchmark; see README.md.

fastmcp_server.py FOLDER PORT
"""

import hashlib
import json
import pathlib
import sqlite3
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.tools import Tool, ToolResult

FOLDER, PORT = pathlib.Path(sys.argv[1]), int(sys.argv[2])
ROWS = sqlite3.connect(FOLDER / "bench.sqlite", check_same_thread=False)


class Tokens(TokenVerifier):
    async def verify_token(self, token):
        known = ROWS.execute("SELECT 1 FROM token WHERE hash = ?", [hashlib.sha256(token.encode()).digest()]).fetchone()
        return AccessToken(token=token, client_id="bench", scopes=[]) if known else None


class Listed(Tool):
    """A tool with the definition of `tools.json`; only `get_document` is ever called."""

    async def run(self, arguments):
        found = ROWS.execute("SELECT body FROM document WHERE id = ?", [arguments["document_id"]]).fetchone()
        return ToolResult(found[0]) if found else ToolResult("No document with that id", is_error=True)


def listed(tool):
    return Listed(
        name=tool["name"], title=tool.get("title"), description=tool.get("description"),
        parameters=tool["inputSchema"], output_schema=tool.get("outputSchema"), annotations=tool.get("annotations"),
    )


library = FastMCP("bench", auth=Tokens(), tools=[listed(tool) for tool in json.loads((FOLDER / "tools.json").read_text())])
app = library.http_app(path="/mcp", json_response=True, stateless_http=True)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", access_log=False)
