"""Real clients against a running Quipu.

Each client lists the tools, searches, reads the document of the best hit, asks
for a document of another base, and comes once more with a revoked token.

    python3 -m peers.clients.run --quipu target/debug/quipu [--database URL] [--only WORD]

Ends with a line `N passed, N failed`; exit code 1 if one failed.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid

from peers.quipu import Quipu, post

PEERS = pathlib.Path(__file__).resolve().parent.parent
ROOT = PEERS.parent
BIN = PEERS / "node_modules" / ".bin"
LOCAL = ROOT / ".local"
RMCP = LOCAL / "target-rmcp" / "debug" / "client"
CLIENT_SECONDS_MAX = 90

QUERY = "who approves travel above the limit"
TOOLS = {
    "search_chunks", "get_document", "search_docs", "find_entities", "entity_facts", "neighbors", "timeline",
    "paths_between", "changes",
}
ANSWER = "Ines Okafor"
LAST_WORDS = "so that its disk keys can be withdrawn."
NOT_FOUND = "No document with that id in this knowledge base"
# What the clients make of a 401. Python SDK 2, and FastMCP on it, name no status.
REFUSALS = ("401", "unauthor", "unauthenticated", "invalid_token", "auth_required", "auth required", "server returned an error response")
CHECKS = ("list", "search", "read", "foreign", "revoked")


class Errand:
    """What a client needs to know: the door, a token, and a document it may not see."""

    def __init__(self, url, token, foreign_id, home):
        self.url, self.token, self.foreign_id, self.home = url, token, foreign_id, home

    def words(self, *more):
        return [self.url, self.token, QUERY, self.foreign_id, *more]

    def start(self, words, **kinds):
        # A home of its own: no client finds a login or a cache of the person who runs this.
        environment = {**os.environ, "HOME": str(self.home), "XDG_CACHE_HOME": str(self.home), **kinds.pop("env", {})}
        return subprocess.Popen(
            [str(word) for word in words], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **kinds,
        )

    def output(self, words, **kinds):
        """Exit code, stdout and stderr of one command; a client that hangs is a failure."""
        process = self.start(words, stdin=subprocess.DEVNULL, **kinds)
        try:
            said, complained = process.communicate(timeout=CLIENT_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            raise Failed(f"no end after {CLIENT_SECONDS_MAX} s")
        return process.returncode, said, complained


class Failed(Exception):
    pass


def script(*words, env=None):
    """A client whose whole errand is one script that prints one report."""

    def visit(errand):
        code, said, complained = errand.output([*words[:2], *errand.words(*words[2:])], env=env or {})
        try:
            return json.loads(said.strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise Failed(f"exit {code}, no report: {(said + complained)[-600:]}")

    return visit


def node(file, *words):
    return script("node", PEERS / "clients" / file, *words)


def python(version, file, *words):
    return script(sys.executable, PEERS / "clients" / file, *words, env={"PYTHONPATH": str(LOCAL / f"python-{version}")})


def rmcp(opening):
    def visit(errand):
        code, said, complained = errand.output([RMCP, *errand.words(opening)])
        if code != 0:
            raise Failed(f"exit {code}: {complained[-600:]}")
        return json.loads(said)

    return visit


def inspector(era):
    """The Inspector's command line, one run per call."""

    def run(errand, *words):
        code, said, complained = errand.output(
            [BIN / "mcp-inspector", "--cli", errand.url, "--transport", "http", "--protocol-era", era,
             "--header", f"Authorization: Bearer {errand.token}", "--format", "json", *words]
        )
        return code, said, complained

    def call(errand, tool, **arguments):
        pairs = [word for item in arguments.items() for word in ("--tool-arg", "=".join(item))]
        _, said, complained = run(errand, "--method", "tools/call", "--tool-name", tool, *pairs)
        return parsed(said, complained)

    def visit(errand):
        code, said, complained = run(errand, "--method", "tools/list")
        if code != 0:
            return {"refused": said + complained}
        return by_calls(parsed(said, complained)["tools"], lambda tool, **arguments: call(errand, tool, **arguments), errand)

    return visit


def fastmcp_cli(errand):
    """FastMCP's own command line, `list` and `call`."""
    environment = {"PYTHONPATH": str(LOCAL / "python-v2"), "FASTMCP_CHECK_FOR_UPDATES": "off", "NO_COLOR": "1"}
    program = [sys.executable, "-c", "from fastmcp.cli import app; app()"]

    def run(*words):
        return errand.output([*program, *words, "--auth", errand.token, "--json"], env=environment)

    def call(tool, **arguments):
        _, said, complained = run("call", errand.url, tool, *("=".join(item) for item in arguments.items()))
        return parsed(said, complained)

    code, said, complained = run("list", errand.url)
    if code != 0:
        return {"refused": said + complained}
    listed = parsed(said, complained)
    return by_calls(listed.get("tools", listed) if isinstance(listed, dict) else listed, call, errand)


def curl(errand):
    """The manual's own shell lines: no `Accept`, no version, no `initialize`."""

    def rpc(method, **params):
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        code, said, complained = errand.output(
            ["curl", "-s", "-w", "\n%{http_code}", "-X", "POST", errand.url,
             "-H", f"Authorization: Bearer {errand.token}", "-H", "Content-Type: application/json", "-d", message]
        )
        body, _, status = said.rpartition("\n")
        return int(status or 0), body + complained

    status, body = rpc("tools/list")
    if status != 200:
        return {"refused": f"HTTP {status} {body}"}
    tools = json.loads(body)["result"]["tools"]
    return by_calls(tools, lambda tool, **arguments: json.loads(rpc("tools/call", name=tool, arguments=arguments)[1])["result"], errand)


def mcp_remote(errand):
    """The stdio bridge mcp-remote, fed line by line as a desktop client would."""
    bridge = errand.start(
        [BIN / "mcp-remote", errand.url, "--allow-http", "--transport", "http-only",
         "--header", f"Authorization: Bearer {errand.token}"],
        stdin=subprocess.PIPE, env={"MCP_REMOTE_CONFIG_DIR": str(errand.home), "BROWSER": "false"},
    )
    # It gives up on a refused token only after trying a login nobody can give.
    watch = threading.Timer(CLIENT_SECONDS_MAX, os.killpg, (bridge.pid, 9))
    complaints = []
    reader = threading.Thread(target=lambda: complaints.extend(bridge.stderr), daemon=True)
    watch.start()
    reader.start()

    def send(message):
        bridge.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        bridge.stdin.flush()

    def rpc(number, method, **params):
        send({"id": number, "method": method, "params": params})
        for line in bridge.stdout:
            answer = json.loads(line)
            if answer.get("id") == number:
                if "error" in answer:
                    raise Failed(str(answer["error"]))
                return answer["result"]
        raise BrokenPipeError("the bridge closed its output")

    numbers = iter(range(2, 100))
    try:
        opened = rpc(1, "initialize", protocolVersion="2025-06-18", capabilities={},
                     clientInfo={"name": "desktop", "version": "1"})
        send({"method": "notifications/initialized"})
        tools = rpc(next(numbers), "tools/list")["tools"]
        report = by_calls(tools, lambda tool, **arguments: rpc(next(numbers), "tools/call", name=tool, arguments=arguments), errand)
        return {**report, "version": opened["protocolVersion"]}
    except (OSError, Failed) as refusal:
        timely = watch.is_alive()
        bridge.kill()
        reader.join(5)
        if not timely:
            raise Failed(f"no end after {CLIENT_SECONDS_MAX} s: {''.join(complaints)[-600:]}")
        return {"refused": f"{refusal} {''.join(complaints)}"}
    finally:
        watch.cancel()
        bridge.stdin.close()
        bridge.kill()
        bridge.wait()


def by_calls(tools, call, errand):
    """The report of a client that is driven call by call."""
    hit = call("search_chunks", query=QUERY)["structuredContent"]["chunks"][0]
    read = call("get_document", document_id=hit["document_id"])
    stranger = call("get_document", document_id=errand.foreign_id)
    return {
        "tools": [tool["name"] for tool in tools],
        "hit": hit,
        "document": text(read),
        "foreign": {"is_error": stranger.get("isError") is True, "text": text(stranger)},
    }


def text(answer):
    return "".join(block.get("text", "") for block in answer["content"])


def parsed(said, complained):
    try:
        answer = json.loads(said)
    except ValueError:
        raise Failed(f"not JSON: {(said + complained)[-600:]}")
    # The Inspector wraps what the server answered.
    while isinstance(answer, dict) and "result" in answer:
        answer = answer["result"]
    if isinstance(answer, dict):
        for snake, camel in (("structured_content", "structuredContent"), ("is_error", "isError")):
            if snake in answer:
                answer[camel] = answer[snake]
    return answer


CLIENTS = {
    "curl, as the manual shows": curl,
    "TypeScript SDK 1": node("typescript1.mjs"),
    "TypeScript SDK 2, legacy": node("typescript2.mjs", "legacy"),
    "TypeScript SDK 2, auto": node("typescript2.mjs", "auto"),
    "Python SDK 1": python("v1", "python1.py"),
    "Python SDK 2, legacy": python("v2", "python2.py", "legacy"),
    "Python SDK 2, auto": python("v2", "python2.py", "auto"),
    "FastMCP 4": python("v2", "fastmcp4.py"),
    "FastMCP 4, command line": fastmcp_cli,
    "Inspector CLI, legacy": inspector("legacy"),
    "Inspector CLI, auto": inspector("auto"),
    "Inspector CLI, modern": inspector("modern"),
    "mcp-remote": mcp_remote,
    "rmcp, initialize": rmcp("initialize"),
    "rmcp, discover": rmcp("discover"),
}


def judge(report):
    """One verdict per check but `revoked`: None, or what was wrong."""
    if "refused" in report:
        return dict.fromkeys(CHECKS[:4], f"refused: {report['refused'][-300:]}")
    hit, foreign = report["hit"], report["foreign"]
    missing = TOOLS - set(report["tools"])
    return {
        "list": missing and f"tools missing: {sorted(missing)}",
        "search": not (hit["filename"] == "handbook.md" and ANSWER in hit["text"] and is_uuid(hit["document_id"]))
        and f"best hit: {hit}",
        "read": not (ANSWER in report["document"] and LAST_WORDS in report["document"])
        and f"document: {report['document'][:300]!r}",
        # An answer, not an error: a model that asked for what is not there goes on.
        "foreign": foreign != {"is_error": False, "text": NOT_FOUND} and f"answer: {foreign}",
    }


def judge_revoked(report):
    if "refused" not in report:
        return f"served a revoked token: {report}"
    said = report["refused"].lower()
    return not any(word in said for word in REFUSALS) and f"unclear refusal: {said[-300:]}"


def is_uuid(word):
    try:
        return str(uuid.UUID(word)) == word
    except ValueError:
        return False


def prepare(quipu):
    """A base with the samples, a base the token may not see, a token, and a revoked one."""
    mine, other = quipu.base("Kestrel"), quipu.base("Elsewhere")
    quipu.verb("ingest", str(ROOT / "samples"), "--base", "Kestrel")
    quipu.verb("ingest", str(ROOT / "samples" / "warranty.txt"), "--base", "Elsewhere")

    stranger, _ = quipu.token("stranger", base=other)
    found = quipu.call(other, stranger, "search_chunks", query="warranty")
    foreign_id = found["structuredContent"]["chunks"][0]["document_id"]

    token, _ = quipu.token("reader", base=mine)
    gone, gone_id = quipu.token("gone", base=mine)
    status, _ = post(quipu.door(mine), gone, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    if status != 200:
        raise SystemExit(f"a new token was answered with HTTP {status}")
    quipu.verb("token", "revoke", gone_id)
    status, _ = post(quipu.door(mine), gone, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    if status != 401:
        raise SystemExit(f"a revoked token was answered with HTTP {status}")

    made_up = quipu.call(mine, token, "get_document", document_id=str(uuid.uuid4()))
    foreign = quipu.call(mine, token, "get_document", document_id=foreign_id)
    if made_up != foreign:
        raise SystemExit(f"a made-up id and a foreign one are told apart:\n{made_up}\n{foreign}")
    return quipu.door(mine), token, gone, foreign_id


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True, help="the program to test")
    words.add_argument("--database", help="a PostgreSQL URL; without it the embedded SQLite")
    words.add_argument("--only", default="", help="run the clients whose name contains this")
    words = words.parse_args()

    passed = failed = 0
    with Quipu(words.quipu, database=words.database) as quipu:
        url, token, gone, foreign_id = prepare(quipu)
        print(f"{'client':<28}{'seconds':>8}  " + "  ".join(f"{check:<8}" for check in CHECKS), flush=True)
        for name, visit in CLIENTS.items():
            if words.only.lower() not in name.lower():
                continue
            home = pathlib.Path(tempfile.mkdtemp(dir=quipu.folder))
            started = time.monotonic()
            verdicts = {}
            try:
                verdicts = judge(visit(Errand(url, token, foreign_id, home)))
            except (Failed, KeyError, IndexError, TypeError, ValueError) as failure:
                verdicts = dict.fromkeys(CHECKS[:4], f"{type(failure).__name__}: {failure}")
            try:
                verdicts["revoked"] = judge_revoked(visit(Errand(url, gone, foreign_id, home)))
            except (Failed, KeyError, IndexError, TypeError, ValueError) as failure:
                verdicts["revoked"] = f"{type(failure).__name__}: {failure}"
            shutil.rmtree(home, ignore_errors=True)

            seconds = time.monotonic() - started
            print(f"{name:<28}{seconds:>8.1f}  " + "  ".join(f"{'FAILED' if verdicts[check] else 'ok':<8}" for check in CHECKS), flush=True)
            for reason in dict.fromkeys(filter(None, verdicts.values())):
                print(f"    {reason}", flush=True)
            failed += sum(bool(verdict) for verdict in verdicts.values())
            passed += sum(not verdict for verdict in verdicts.values())
        if failed:
            print(f"\nwhat the server said last:\n{quipu.said()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
