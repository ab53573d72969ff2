"""One Quipu server on a free port, with a data folder of its own.

Everything goes through the program's own verbs, as a person would type them.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

READY_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30


class Quipu:
    """`with Quipu(binary) as quipu:` starts it and, at the end, stops it and removes its data."""

    def __init__(self, binary, *, database=None, settings=None, before=()):
        self.binary = str(pathlib.Path(binary).resolve())
        self.database = database
        self.settings = settings or {}
        self.before = list(before)  # words in front of the command, such as taskset's
        self.address = f"127.0.0.1:{free_port()}"
        self.process = None
        self.seconds_to_ready = None

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="quipu-peers-"))
        self.data = self.folder / "data"
        self.log = self.folder / "serve.log"
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        words = [*self.before, self.binary, "serve"]
        started = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"quipu serve ended with {self.process.returncode}:\n{self.said()}")
            if time.monotonic() - started > READY_SECONDS_MAX:
                raise SystemExit(f"quipu serve was not ready in {READY_SECONDS_MAX} s:\n{self.said()}")
            time.sleep(0.005)
        self.seconds_to_ready = time.monotonic() - started

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def kill(self):
        """What a power cut leaves of the process: nothing is written on the way out."""
        self.process.kill()
        self.process.wait()

    def is_ready(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=5) as answer:
                return answer.status == 200
        return False

    def said(self):
        return self.log.read_text(errors="replace")[-4000:]

    def environment(self):
        own = {"QUIPU_DATA": str(self.data), "QUIPU_LISTEN": self.address}
        if self.database:
            own["QUIPU_DATABASE"] = self.database
        return {**os.environ, **own, **self.settings}

    def verb(self, *words):
        """Runs one verb with `--json` and gives back what it answered."""
        done = subprocess.run(
            [self.binary, *words, "--json"],
            env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        )
        if done.returncode != 0:
            raise SystemExit(f"quipu {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}\n{self.said()}")
        return json.loads(done.stdout)

    def base(self, name):
        return self.verb("base", "create", name)["id"]

    def token(self, name, *, base, scope="read"):
        made = self.verb("token", "create", "--name", name, "--scope", scope, "--base", base)
        return made["token"], made["info"]["id"]

    def door(self, base):
        return f"http://{self.address}/api/v1/kbs/{base}/mcp"

    def rest(self, method, path, token, body=None):
        """One REST call; HTTP status and parsed body."""
        request = urllib.request.Request(
            f"http://{self.address}/api/v1{path}", body, {"Authorization": f"Bearer {token}"}, method=method
        )
        return parsed(answered(request))

    def rest_json(self, method, path, token, body):
        """One REST call with a JSON body; HTTP status and parsed body."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://{self.address}/api/v1{path}", json.dumps(body).encode(), headers, method=method
        )
        return parsed(answered(request))

    def call(self, base, token, tool, **arguments):
        """One `tools/call` as a script would send it; the JSON-RPC result."""
        status, answer = post(
            self.door(base), token,
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        )
        if status != 200 or "result" not in answer:
            raise SystemExit(f"{tool}: HTTP {status}: {answer}")
        return answer["result"]


def post(url, token, message):
    """Posts one JSON-RPC message; HTTP status and parsed body."""
    return parsed(post_raw(url, token, message))


def post_raw(url, token, message):
    """Posts one JSON-RPC message; HTTP status and body as it came."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    return answered(urllib.request.Request(url, json.dumps(message).encode(), headers))


def answered(request):
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode(errors="replace")


def parsed(answer):
    status, body = answer
    with contextlib.suppress(ValueError):
        return status, json.loads(body)
    return status, body


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
