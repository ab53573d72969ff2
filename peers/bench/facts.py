"""Reading facts from ten thousand of them to millions; README.md has what is measured.

    python3 -m peers.bench.facts --quipu target/release/quipu --fill target/release/ledger --sizes 10k,100k,1m

Prints a table and writes one JSON object per figure to target/bench.jsonl.
"""

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import urllib.parse

from peers.bench.figures import LOAD_MAX, Figures, wait_for_quiet
from peers.bench.scale import ROOT, create_database, folder_mb, named, size
from peers.quipu import Quipu


class Asker:
    """One connection to the REST door; the time in the server is what the server says."""

    def __init__(self, quipu, base, token):
        self.connection = http.client.HTTPConnection(quipu.address, timeout=120)
        self.path, self.headers = f"/api/v1/kbs/{base}", {"Authorization": f"Bearer {token}"}

    def ask(self, path, **query):
        """The answer, and the milliseconds until its head in the server."""
        self.connection.request("GET", f"{self.path}{path}?{urllib.parse.urlencode(query)}", headers=self.headers)
        answer = self.connection.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{path} {query}: HTTP {answer.status}: {body}")
        return body, float(answer.headers["server-timing"].rsplit("dur=", 1)[1])


def questions(filled, chance):
    """What is asked, by name: how many times a round, and how."""
    some, names, hub, middle = filled["some"], filled["names"], filled["hub"], filled["middle"]

    def year():
        return str(chance.randrange(1955, 2030))

    def both():
        return {"at": year(), "as_of": middle}

    return {
        "entity_facts": (200, lambda: ("/entity-facts", {"entity_id": chance.choice(some), **both()})),
        "entity_facts now": (200, lambda: ("/entity-facts", {"entity_id": chance.choice(some)})),
        "neighbors": (200, lambda: ("/neighbors", {"entity": chance.choice(some), **both()})),
        "timeline": (200, lambda: ("/timeline", {"entity": chance.choice(some), "as_of": middle})),
        "find_entities": (50, lambda: ("/entities", {"name": chance.choice(names)})),
        "find_entities, shared": (20, lambda: ("/entities", {"name": " ".join(chance.choice(names).split()[:2])})),
        "paths_between": (50, lambda: ("/paths", {"from": chance.choice(some), "to": chance.choice(some)})),
        "paths_between at": (50, lambda: ("/paths", {"from": chance.choice(some), "to": chance.choice(some), **both()})),
        "changes": (50, lambda: ("/changes", {"since": middle})),
        "hub entity_facts": (8, lambda: ("/entity-facts", {"entity_id": hub, **both()})),
        "hub entity_facts now": (8, lambda: ("/entity-facts", {"entity_id": hub})),
        "hub neighbors": (8, lambda: ("/neighbors", {"entity": hub})),
        "hub timeline": (8, lambda: ("/timeline", {"entity": hub})),
    }


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Measured:
    """One engine at one size."""

    def __init__(self, words, engine, facts):
        self.words, self.engine, self.facts = words, engine, facts
        self.config = f"{engine} {named(facts)}"
        self.figures, self.line = Figures("facts"), {}
        database = None
        if engine == "postgres":
            database = words.postgres.format(name=f"facts_{named(facts)}_{os.getpid()}")
            create_database(words, database)
        settings = {"QUIPU_CALLS_PER_MINUTE": "0", "QUIPU_LOG_LEVEL": "warn"}
        self.quipu = Quipu(words.quipu, database=database, settings=settings)

    def run(self):
        with self.quipu:
            base = self.quipu.base("Facts")
            token, _ = self.quipu.token("facts", base=base)
            self.quipu.stop()
            filled = self.fill(base)
            self.quipu.start()
            asker, chance = Asker(self.quipu, base, token), random.Random(11)
            self.look(asker, filled)
            for name, (count, question) in questions(filled, chance).items():
                # The first round fills caches and is not counted.
                rounds = []
                for _ in range(self.words.rounds + 1):
                    asked = [question() for _ in range(count)]
                    rounds.append([asker.ask(path, **query)[1] for path, query in asked])
                for label, share in (("p50", 0.5), ("p95", 0.95)):
                    values = [quantile(taken, share) for taken in rounds[1:]]
                    self.add(f"{name} {label}", statistics.median(values), "ms")
                    self.figures.add(f"{name} {label} lowest", min(values), "ms", self.config)
                    self.figures.add(f"{name} {label} highest", max(values), "ms", self.config)

    def fill(self, base):
        database = self.quipu.database or f"sqlite:{self.quipu.data / 'quipu.sqlite'}"
        things = ["--things", str(self.words.things)] if self.words.things else []
        done = subprocess.run(
            [self.words.fill, "--database", database, "--base", base, "--facts", str(self.facts), *things],
            capture_output=True, text=True,
        )
        if done.returncode != 0:
            raise SystemExit(f"{self.config}: {done.stderr}")
        filled = json.loads(done.stdout)
        self.add("facts/s", self.facts / filled["seconds"], "facts/s")
        self.add("hub's facts", filled["hub_facts"], "facts")
        if self.engine == "sqlite":
            self.add("on disk, MB", folder_mb(self.quipu.data), "MB")
        print(f"  {self.config}: filled in {filled['seconds']:.0f} s", flush=True)
        return filled

    def look(self, asker, filled):
        """What is measured must be the answer: the hub's facts are all counted, and some are shown."""
        facts, _ = asker.ask("/entity-facts", entity_id=filled["hub"])
        # One in fifty is corrected or retracted, and what is corrected may be another's from then on.
        if not 0.9 * filled["hub_facts"] <= facts["total_facts"] <= filled["hub_facts"] or len(facts["facts"]) != facts["limit"]:
            raise SystemExit(f"{self.config}: {facts['total_facts']} facts of {filled['hub_facts']} counted, {len(facts['facts'])} shown")
        self.add("hub's facts held", facts["total_facts"], "facts")

    def add(self, metric, value, unit):
        self.figures.add(metric, value, unit, self.config)
        self.line[metric] = value


def table(lines):
    metrics = list(dict.fromkeys(metric for line in lines.values() for metric in line))
    print(f"\n{'ms in the server':<30}" + "".join(f"{config:>16}" for config in lines))
    for metric in metrics:
        digits = 0 if not metric.endswith(("p50", "p95")) else 2
        cells = (line.get(metric) for line in lines.values())
        print(f"{metric:<30}" + "".join(f"{'-' if cell is None else f'{cell:,.{digits}f}':>16}" for cell in cells))


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True)
    words.add_argument("--fill", required=True, help="the program that fills a base")
    words.add_argument("--sizes", default="10k,100k,1m", help="facts")
    words.add_argument("--things", type=int, help="things; a tenth of the facts without it")
    words.add_argument("--engines", default="sqlite,postgres")
    words.add_argument("--postgres", help="URL with {name} in the place of the database")
    words.add_argument("--psql", default="psql")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--any-load", action="store_true", help=f"measure even when the load is above {LOAD_MAX}")
    words.add_argument("--output", default=str(ROOT / "target" / "bench.jsonl"))
    words = words.parse_args()
    wait_for_quiet(words.any_load)
    print(f"load before the start: {os.getloadavg()[0]:.2f}", flush=True)
    lines = {}
    for facts in map(size, words.sizes.split(",")):
        for engine in words.engines.split(","):
            measured = Measured(words, engine, facts)
            measured.run()
            lines[measured.config] = measured.line
            # After each one, so that a run that is broken off leaves what it measured.
            measured.figures.write(words.output, lambda row, config=measured.config: row["config"] == config)
    table(lines)
    print(f"\nfigures in {words.output}")


if __name__ == "__main__":
    main()
