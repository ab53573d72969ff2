"""basic-memory over its own MCP server, its project the folder of documents.

Its embedding model (bge-small) comes from a hub at first use. Where that hub is not reached its
search fails, but for the one by words (`search_type` "text", FTS5), which is what is measured.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request

INDEXED_SECONDS_MAX = 1800
READY_SECONDS_MAX = 120


class Server:
    def __init__(self, url, process, seconds):
        self.url, self.pid, self.seconds, self.session = url, process.pid, seconds, None

    def begin(self):
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.session, _ = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            body = answer.read().decode()
            # Server-sent events, one message in them.
            data = [line[5:] for line in body.splitlines() if line.startswith("data:")]
            body = data[-1] if data else body
            return answer.headers.get("Mcp-Session-Id"), json.loads(body) if body.strip() else None

    def search(self, question, hits):
        arguments = {"query": question, "page_size": hits, "output_format": "json", "search_type": "text"}
        _, answer = self.post({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search_notes", "arguments": arguments}})
        text = "".join(block.get("text", "") for block in answer["result"]["content"])
        try:
            rows = json.loads(text)["results"]
        except ValueError:
            raise SystemExit(f"basic-memory refused a question: {text[:200]}")
        return list(dict.fromkeys(pathlib.PurePath(row["file_path"]).name for row in rows if row.get("file_path")))


@contextlib.contextmanager
def serving(home, folder, port):
    """Indexes the folder, timed, and serves it."""
    with tempfile.TemporaryDirectory() as own:
        environment = {
            "PATH": os.environ["PATH"], "HOME": own,
            "HF_HUB_OFFLINE": "1", "BASIC_MEMORY_NO_PROMOS": "1",
        }
        program = [str(home / "bin/python"), "-m", "basic_memory.cli.main"]
        def run(*words):
            subprocess.run(
                [*program, *words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                check=True, timeout=INDEXED_SECONDS_MAX,
            )

        run("project", "add", "bench", str(folder), "--local", "--default", "--no-wait")
        started = time.monotonic()
        run("reindex", "--search", "--project", "bench")
        seconds = time.monotonic() - started
        words = [*program, "mcp", "--transport", "streamable-http", "--port", str(port), "--project", "bench"]
        process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            server = Server(f"http://127.0.0.1:{port}/mcp", process, seconds)
            started = time.monotonic()
            while True:
                with contextlib.suppress(OSError):
                    server.begin()
                    break
                if process.poll() is not None or time.monotonic() - started > READY_SECONDS_MAX:
                    raise SystemExit("basic-memory did not start")
                time.sleep(0.2)
            yield server
        finally:
            process.kill()
            process.wait()
