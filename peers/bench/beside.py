"""Quipu beside other searches over the same documents, asked the same questions; README.md says how.

    python3 -m peers.bench.beside --quipu target/release/quipu --corpora DIR --models DIR

Prints a table of quality and time and writes one JSON object per figure to target/bench.jsonl.
"""

import argparse
import contextlib
import http.client
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

from peers.bench.figures import LOAD_MAX, Figures, memory, wait_for_quiet
from peers.quipu import Quipu, free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOCAL = ROOT / ".local"
# What one search of Quipu answers with; the others are asked for as many.
HITS = 6
# Every set is asked at most so many questions, evenly taken.
QUESTIONS_MAX = 400


class Judged:
    """Documents by name, and questions with the names of what answers them."""

    def __init__(self, name, documents, questions):
        self.name, self.documents = name, documents
        step = max(1, math.ceil(len(questions) / QUESTIONS_MAX))
        self.questions = questions[::step]


def xquad(folder):
    data = json.loads((folder / "xquad.en.json").read_text())["data"]
    documents, questions = {}, []
    for paragraph in (paragraph for article in data for paragraph in article["paragraphs"]):
        name = f"paragraph-{len(documents)}.md"
        documents[name] = paragraph["context"]
        questions += [(question["question"], {name}) for question in paragraph["qas"]]
    return Judged("xquad.en", documents, questions)


def cranfield(folder):
    def parts(text, tag):
        return re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)

    documents, answers, asked = {}, {}, []
    for file in sorted(folder.iterdir()):
        text = file.read_text(errors="replace")
        if "<docno>" in text:
            for document in parts(text, "doc"):
                number = parts(document, "docno")[0].strip()
                title, body = (" ".join("".join(parts(document, tag)[:1]).split()) for tag in ("title", "text"))
                if body:
                    documents[f"abstract-{number}.md"] = f"# {title}\n\n{body}"
        elif "<top>" in text:
            asked = [" ".join(parts(top, "title")[0].split()) for top in parts(text, "top")]
        else:
            for line in text.splitlines():
                question, _, number, grade = line.split()
                if int(grade) > 0:
                    answers.setdefault(int(question), set()).add(f"abstract-{number}.md")
    # Judgements name questions by their place.
    questions = [(question, answers.get(n, set()) & documents.keys()) for n, question in enumerate(asked, 1)]
    return Judged("cranfield", documents, [one for one in questions if one[1]])


def gain(found, wanted):
    """Normalised discounted cumulative gain of the hits of one search."""
    best = sum(1 / math.log2(place + 2) for place in range(min(len(wanted), HITS)))
    return sum(1 / math.log2(place + 2) for place, name in enumerate(found[:HITS]) if name in wanted) / best


class OverQuipu:
    """A server with the documents, put in by its own verb."""

    def __init__(self, words, models):
        self.words, self.models = words, models
        self.name = "quipu, words and meaning" if models else "quipu, words"

    @contextlib.contextmanager
    def over(self, documents, folder):
        with Quipu(self.words.quipu, settings={"QUIPU_CALLS_PER_MINUTE": "0", "QUIPU_LOG_LEVEL": "warn"}) as quipu:
            if self.models:
                quipu.stop()
                (quipu.data / "models").symlink_to(self.models)
                quipu.start()
            kb = quipu.base("Beside")
            token, _ = quipu.token("beside", base=kb, scope="write")
            started = time.monotonic()
            quipu.verb("ingest", str(folder), "--base", "Beside")
            self.seconds = time.monotonic() - started
            self.megabytes = memory(quipu.process.pid)[0]
            connection = http.client.HTTPConnection(*quipu.address.split(":"))
            headers = {"Authorization": f"Bearer {token}"}

            def ask(question):
                connection.request("GET", f"/api/v1/kbs/{kb}/search?query={urllib.parse.quote(question)}", headers=headers)
                answer = connection.getresponse()
                body = json.loads(answer.read())
                if answer.status != 200:
                    raise SystemExit(f"{self.name}: HTTP {answer.status}: {body}")
                return list(dict.fromkeys(chunk["filename"] for chunk in body["chunks"]))

            yield ask


class OverVec:
    """FTS5, sqlite-vec and onnxruntime in one Python process."""

    def __init__(self, words, verb):
        self.words, self.verb = words, verb
        self.name = {"words": "FTS5 in Python", "both": "FTS5 and sqlite-vec in Python"}[verb]

    @contextlib.contextmanager
    def over(self, documents, folder):
        model = next(pathlib.Path(self.words.models).iterdir())
        with tempfile.TemporaryDirectory() as own:
            program = [sys.executable, "-m", "peers.bench.vec_stack", str(model.resolve()), f"{own}/passages.db", self.verb]
            path = os.pathsep.join([str(LOCAL / "python-beside"), str(ROOT)])
            process = subprocess.Popen(program, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

            def call(verb, value):
                process.stdin.write(json.dumps({verb: value}) + "\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            try:
                process.stdout.readline()
                started = time.monotonic()
                call("add", list(documents.items()))
                self.seconds = time.monotonic() - started
                self.megabytes = memory(process.pid)[0]
                yield lambda question: call(self.verb, question)
            finally:
                process.kill()
                process.wait()


class OverBasicMemory:
    """basic-memory's own MCP server over HTTP, its project the folder of documents."""

    name = "basic-memory, words"

    def __init__(self, words):
        self.words = words

    @contextlib.contextmanager
    def over(self, documents, folder):
        from peers.bench import basic_memory

        with basic_memory.serving(LOCAL / "python-basic-memory", folder, free_port()) as server:
            self.seconds = server.seconds
            self.megabytes = memory(server.pid)[0]
            yield lambda question: server.search(question, HITS)


def measure(stack, judged, folder, figures):
    with stack.over(judged.documents, folder) as ask:
        for question, _ in judged.questions[:20]:
            ask(question)
        gains, recalls, taken = [], [], []
        for question, wanted in judged.questions:
            started = time.perf_counter()
            found = ask(question)
            taken.append((time.perf_counter() - started) * 1000)
            gains.append(gain(found, wanted))
            recalls.append(len(wanted.intersection(found[:HITS])) / min(len(wanted), HITS))
    taken.sort()
    row = {
        f"nDCG@{HITS}": (statistics.mean(gains), "share"),
        f"R@{HITS}": (statistics.mean(recalls), "share"),
        "ingest": (stack.seconds, "s"),
        "search.p50": (statistics.median(taken), "ms"),
        "search.p95": (taken[int(len(taken) * 0.95)], "ms"),
        "rss": (stack.megabytes, "MB"),
    }
    for metric, (value, unit) in row.items():
        figures.add(f"{judged.name}.{metric}", value, unit, stack.name)
    print(f"{judged.name:<12}{stack.name:<32}" + "".join(f"{value:>12,.3f}" for value, _ in row.values()), flush=True)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True)
    words.add_argument("--corpora", required=True, help="folder with xquad/ and cranfield/; what is not there is passed over")
    words.add_argument("--models", required=True, help="folder of the installed embedding model")
    words.add_argument("--without-basic-memory", metavar="WHY", help="leave it out, for this reason")
    words.add_argument("--any-load", action="store_true", help=f"measure even when the load is above {LOAD_MAX}")
    words.add_argument("--output", default=str(ROOT / "target" / "bench.jsonl"))
    words = words.parse_args()
    wait_for_quiet(words.any_load)
    print(f"load before the start: {os.getloadavg()[0]:.2f}")

    corpora, models = pathlib.Path(words.corpora), pathlib.Path(words.models).resolve()
    sets = [(xquad, corpora / "xquad"), (cranfield, corpora / "cranfield")]
    sets = [read(folder) for read, folder in sets if folder.is_dir()]
    if not sets:
        raise SystemExit(f"{corpora} has neither xquad/ nor cranfield/")
    stacks = [OverQuipu(words, None), OverQuipu(words, models), OverVec(words, "words"), OverVec(words, "both")]
    if words.without_basic_memory:
        print(f"basic-memory is left out: {words.without_basic_memory}")
    else:
        stacks.append(OverBasicMemory(words))
    figures = Figures("beside")
    print(f"\n{'':<44}{f'nDCG@{HITS}':>12}{f'R@{HITS}':>12}{'ingest, s':>12}{'p50, ms':>12}{'p95, ms':>12}{'RSS, MB':>12}")
    for judged in sets:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in judged.documents.items():
                (folder / name).write_text(text)
            for stack in stacks:
                measure(stack, judged, folder, figures)
    figures.write(words.output)
    print(f"\n{len(figures.rows)} figures in {words.output}")


if __name__ == "__main__":
    main()
