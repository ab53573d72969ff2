"""Quipu from ten thousand passages to a million; README.md has what is measured.

    python3 -m peers.bench.scale --quipu target/release/quipu --load target/release/scale \\
        --models .local/model-data/models --sizes 10k,100k,1m --engines sqlite,postgres

Prints a table and writes one JSON object per figure to target/bench.jsonl.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import time

from peers.bench.figures import LOAD_MAX, Figures, memory, wait_for_quiet
from peers.quipu import Quipu

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
QUANTILES = ("p50", "p95", "p99", "max")
# Documents that the writers of the rounds add are numbered apart from those of the base.
WRITERS_FIRST = 1 << 40
# At 1M passages the caches of a base take a while to open and to close.
START_SECONDS_MAX = 600


def size(word):
    word = word.strip().lower()
    unit = {"k": 1_000, "m": 1_000_000}.get(word[-1:], 1)
    return int(float(word.rstrip("km")) * unit)


def named(passages):
    return f"{passages // 1_000_000}m" if passages >= 1_000_000 else f"{passages // 1_000}k"


class Measured:
    """One engine at one size: a server, its base, and the load put on it."""

    def __init__(self, words, engine, passages, figures):
        self.words, self.passages, self.figures = words, passages, figures
        self.config = f"{engine} {named(passages)}"
        settings = {"QUIPU_CALLS_PER_MINUTE": "0", "QUIPU_LOG_LEVEL": "warn"}
        database = None
        if engine == "postgres":
            database = words.postgres.format(name=f"scale_{named(passages)}_{os.getpid()}")
            create_database(words, database)
        self.quipu = Quipu(words.quipu, database=database, settings=settings)
        self.rounds = 0
        self.line = {}

    def run(self):
        with self.quipu:
            self.kb = self.quipu.base("Scale")
            self.token, _ = self.quipu.token("scale", base=self.kb, scope="write")
            self.ingest()
            self.search("lexical", "warm", self.words.rounds)
            self.sizes("lexical")
            self.restart(cold=True)
            self.search("lexical", "cold", 1)
            self.quipu.stop()
            models = pathlib.Path(self.words.models).resolve() if self.words.models else None
            held = self.load("vectors", "--database", self.database(), "--base", self.kb, *(["--models", models] if models else []))
            self.add("passages", held["passages"], "passages")
            rate = held["passages"] / self.searchable_seconds
            # The rounds' writers have added some since; the rate is of what was sent first.
            rate *= self.sent_share()
            self.add("ingest.rate", rate, "passages/s")
            if models:
                link = self.quipu.data / "models"
                if not link.exists():
                    link.symlink_to(models)
                self.quipu.start()
                self.wait_for_vectors()
                self.search("hybrid", "warm", self.words.rounds)
                self.sizes("hybrid")
                self.restart(cold=True)
                self.search("hybrid", "cold", 1)

    def database(self):
        return self.quipu.database or f"sqlite:{self.quipu.data / 'quipu.sqlite'}"

    def load(self, *words):
        done = subprocess.run([self.words.load, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.config}: {' '.join(map(str, words[:1]))}: {done.stderr}\n{self.quipu.said()}")
        return json.loads(done.stdout)

    def door(self):
        return ["--server", f"http://{self.quipu.address}", "--token", self.token, "--base", self.kb]

    def add(self, metric, value, unit):
        self.figures.add(metric, value, unit, self.config)
        self.line[metric] = value

    def ingest(self):
        answer = self.load("ingest", *self.door(), "--passages", self.passages)
        if answer["failed"]:
            raise SystemExit(f"{self.config}: {answer['failed']} documents failed")
        self.documents, self.searchable_seconds = answer["documents"], answer["searchable_seconds"]
        self.add("documents", answer["documents"], "documents")
        self.add("ingest.sent_seconds", answer["sent_seconds"], "s")
        self.add("ingest.searchable_seconds", answer["searchable_seconds"], "s")
        self.add("ingest.bytes_rate", answer["bytes_about"] / 1e6 / answer["searchable_seconds"], "MB/s")
        _, highest, _ = memory(self.quipu.process.pid)
        self.add("ingest.rss_highest", highest, "MB")

    def sent_share(self):
        written = self.line.get("lexical.cold.written", 0) + self.line.get("lexical.warm.written", 0)
        return self.documents / (self.documents + written)

    def search(self, kind, warmth, rounds):
        answers = []
        for _ in range(rounds):
            self.rounds += 1
            first = WRITERS_FIRST + self.rounds * 1_000_000
            warm_up = 0 if warmth == "cold" else 2
            answers.append(self.load(
                "search", *self.door(), "--documents", self.documents, "--writer", "--first", first,
                "--readers", 8, "--seconds", self.words.seconds, "--warm-up", warm_up, "--seed", self.rounds,
            ))
        name = f"{kind}.{warmth}"
        for quantile in QUANTILES:
            for side in ("server", "client"):
                values = [answer[f"{side}_ms"][quantile] for answer in answers]
                self.add(f"{name}.{side}.{quantile}", statistics.median(values), "ms")
                if len(values) > 1 and quantile in ("p50", "p95"):
                    self.add(f"{name}.{side}.{quantile}_lowest", min(values), "ms")
                    self.add(f"{name}.{side}.{quantile}_highest", max(values), "ms")
        self.add(f"{name}.rate", statistics.median(answer["per_second"] for answer in answers), "1/s")
        self.add(f"{name}.first_answer", answers[0]["first_answer_ms"], "ms")
        self.add(f"{name}.hits_mean", statistics.mean(answer["hits_mean"] for answer in answers), "hits")
        self.add(f"{name}.behind", sum(answer["behind"] for answer in answers), "answers")
        self.add(f"{name}.write_p50", statistics.median(answer["write_ms"]["p50"] for answer in answers), "ms")
        self.add(f"{name}.written", sum(answer["documents_written"] for answer in answers), "documents")
        print(f"  {self.config} {name}: p50 {self.line[f'{name}.server.p50']:.1f}, p95 {self.line[f'{name}.server.p95']:.1f} ms in the server, {self.line[f'{name}.rate']:.0f}/s", flush=True)

    def restart(self, cold):
        self.quipu.stop()
        if cold:
            drop_pages(self.quipu.data)
        self.quipu.start()
        self.add("start_to_ready", self.quipu.seconds_to_ready, "s")

    def wait_for_vectors(self):
        """What the writers of the lexical rounds added has no vector yet; the model makes them."""
        started = time.monotonic()
        while True:
            status, listed = self.quipu.rest("GET", f"/kbs/{self.kb}/documents?limit=1", self.token)
            if status == 200 and all(row["state"] in ("ready", "failed") for row in listed["states"]):
                return
            if time.monotonic() - started > START_SECONDS_MAX:
                raise SystemExit(f"{self.config}: {listed['states']} after {START_SECONDS_MAX} s")
            time.sleep(0.5)

    def sizes(self, kind):
        now, highest, anonymous = memory(self.quipu.process.pid)
        self.add(f"{kind}.rss", now, "MB")
        self.add(f"{kind}.rss_highest", highest, "MB")
        self.add(f"{kind}.rss_not_files", anonymous, "MB")
        parts = {part.name: folder_mb(part) for part in self.quipu.data.iterdir()}
        self.add(f"{kind}.index_on_disk", parts.get("index", 0), "MB")
        self.add(f"{kind}.database_on_disk", sum(mb for name, mb in parts.items() if name.startswith("quipu.sqlite")), "MB")


def create_database(words, url):
    server, _, name = url.rpartition("/")
    subprocess.run([words.psql, f"{server}/postgres", "--quiet", "--command", f'CREATE DATABASE "{name}"'], check=True)


def drop_pages(folder):
    """The next start finds nothing in the page cache, of this folder at least."""
    os.sync()
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("1")
        return
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def folder_mb(path):
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_blocks * 512 for file in files) / 1e6


def table(lines):
    rows = [
        ("ingest, passages/s", "ingest.rate", 0),
        ("memory at ingest, MB", "ingest.rss_highest", 0),
        ("lexical warm p50, ms", "lexical.warm.server.p50", 1),
        ("lexical warm p95, ms", "lexical.warm.server.p95", 1),
        ("    lowest round", "lexical.warm.server.p95_lowest", 1),
        ("    highest round", "lexical.warm.server.p95_highest", 1),
        ("lexical cold p95, ms", "lexical.cold.server.p95", 1),
        ("lexical cold first, ms", "lexical.cold.first_answer", 0),
        ("hybrid warm p50, ms", "hybrid.warm.server.p50", 1),
        ("hybrid warm p95, ms", "hybrid.warm.server.p95", 1),
        ("    lowest round", "hybrid.warm.server.p95_lowest", 1),
        ("    highest round", "hybrid.warm.server.p95_highest", 1),
        ("hybrid cold p95, ms", "hybrid.cold.server.p95", 1),
        ("hybrid cold first, ms", "hybrid.cold.first_answer", 0),
        ("lexical searches/s", "lexical.warm.rate", 0),
        ("hybrid searches/s", "hybrid.warm.rate", 0),
        ("memory, no model, MB", "lexical.rss", 0),
        ("memory, model, MB", "hybrid.rss", 0),
        ("    of it no file", "hybrid.rss_not_files", 0),
        ("index on disk, MB", "hybrid.index_on_disk", 0),
    ]
    print(f"\n{'':<26}" + "".join(f"{config:>16}" for config in lines))
    for name, metric, digits in rows:
        cells = (line.get(metric) for line in lines.values())
        print(f"{name:<26}" + "".join(f"{'-' if cell is None else f'{cell:,.{digits}f}':>16}" for cell in cells))


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True)
    words.add_argument("--load", required=True, help="the program that makes documents and asks questions")
    words.add_argument("--models", help="folder of the installed embedding model; without it words only")
    words.add_argument("--sizes", default="10k,100k,1m", help="passages")
    words.add_argument("--engines", default="sqlite,postgres")
    words.add_argument("--postgres", help="URL with {name} in the place of the database")
    words.add_argument("--psql", default="psql")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--seconds", type=int, default=10, help="per round")
    words.add_argument("--any-load", action="store_true", help=f"measure even when the load is above {LOAD_MAX}")
    words.add_argument("--output", default=str(ROOT / "target" / "bench.jsonl"))
    words = words.parse_args()
    wait_for_quiet(words.any_load)
    print(f"load before the start: {os.getloadavg()[0]:.2f}")
    lines = {}
    for passages in map(size, words.sizes.split(",")):
        for engine in words.engines.split(","):
            figures = Figures("scale")
            measured = Measured(words, engine, passages, figures)
            measured.run()
            lines[measured.config] = measured.line
            # After each one, so that a run that is broken off leaves what it measured.
            figures.write(words.output, lambda row, config=measured.config: row["config"] == config)
    table(lines)
    print(f"\nfigures in {words.output}")


if __name__ == "__main__":
    main()
