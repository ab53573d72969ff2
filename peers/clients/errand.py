"""What every Python client does at the door, and how it reports it.

List the tools, search, read the document of the best hit, ask for a document of
another base. One JSON object on stdout; run.py says what it must hold.
"""

import asyncio
import json
import sys

URL, TOKEN, QUERY, FOREIGN_ID, MODE = (sys.argv[1:] + [""])[:5]
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


async def errand(client, version=None):
    tools = await client.list_tools()
    found = await client.call_tool("search_chunks", {"query": QUERY})
    hit = _structure(found)["chunks"][0]
    read = await client.call_tool("get_document", {"document_id": hit["document_id"]})
    stranger = await client.call_tool("get_document", {"document_id": FOREIGN_ID})
    return {
        "version": version,
        "tools": [tool.name for tool in getattr(tools, "tools", tools)],
        "hit": hit,
        "document": _text(read),
        "foreign": {"is_error": _is_error(stranger), "text": _text(stranger)},
    }


def run(visit):
    """Runs `visit` and prints its report; a refusal is a report too."""
    try:
        report = asyncio.run(visit())
    except BaseException as refusal:
        report = {"refused": " / ".join(_reasons(refusal))}
    print(json.dumps(report))


def _reasons(refusal):
    # Task groups wrap the error that matters, sometimes several times.
    for inner in getattr(refusal, "exceptions", ()):
        yield from _reasons(inner)
    if not getattr(refusal, "exceptions", ()):
        yield f"{type(refusal).__name__}: {refusal}"


def _structure(answer):
    # Version 1 speaks camel case, version 2 and FastMCP snake case.
    for name in ("structured_content", "structuredContent"):
        if hasattr(answer, name):
            return getattr(answer, name)
    raise TypeError(f"no structure in {answer!r}")


def _is_error(answer):
    return bool(getattr(answer, "is_error", getattr(answer, "isError", False)))


def _text(answer):
    return "".join(getattr(block, "text", "") for block in answer.content)
