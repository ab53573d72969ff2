"""Vectors a second: Quipu's embedder beside onnxruntime, the same model, texts and processors.

    python3 -m peers.bench.embed --program target/release/embed_rate --models FOLDER

onnxruntime is measured in each way one might run it (a text at a time, batches of texts of like
length, one or two threads to a run), and the fastest way counts. Runs go in turn, so that a slow
minute of the machine hits both. Prints medians and spread, and writes target/embed.jsonl.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnxruntime
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = 256


def texts_of(folder, count):
    """Paragraphs of the English XQuAD set and turns of LoCoMo, half and half, in a fixed order."""
    paragraphs = []
    for article in json.loads((folder / "xquad/xquad.en.json").read_text())["data"]:
        paragraphs += [one["context"] for one in article["paragraphs"]]
    turns = []
    for file in sorted((folder / "locomo").glob("*.json")):
        walk(json.loads(file.read_text()), turns)
    half = count // 2
    if len(paragraphs) < half or len(turns) < half:
        raise SystemExit(f"{folder} holds {len(paragraphs)} paragraphs and {len(turns)} turns, not {half} of each")
    step = len(turns) // half
    return [text for pair in zip(paragraphs[:half], turns[::step][:half]) for text in pair]


def walk(node, turns):
    if isinstance(node, dict):
        if isinstance(node.get("text"), str) and "dia_id" in node:
            turns.append(node["text"])
        for one in node.values():
            walk(one, turns)
    elif isinstance(node, list):
        for one in node:
            walk(one, turns)


class Onnx:
    """The model in onnxruntime: `threads` to a run, `at_once` runs at a time, `batch` texts to a run."""

    def __init__(self, folder, threads, at_once, batch):
        self.name = f"onnxruntime {onnxruntime.__version__}, {at_once} x {threads} threads, batches of {batch}"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, ["CPUExecutionProvider"])
        self.inputs = {one.name for one in self.session.get_inputs()}
        self.words = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.words.enable_truncation(TOKENS)
        self.words.no_padding()
        self.pool = ThreadPoolExecutor(at_once)
        self.batch = batch

    def vectors(self, encoded):
        width = max(len(one.ids) for one in encoded)
        ids = numpy.zeros((len(encoded), width), dtype=numpy.int64)
        mask = numpy.zeros_like(ids)
        for row, one in enumerate(encoded):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        hidden = self.session.run(["last_hidden_state"], {name: given[name] for name in self.inputs})[0]
        weights = mask[:, :, None].astype(numpy.float32)
        mean = (hidden * weights).sum(1) / weights.sum(1)
        return mean / numpy.linalg.norm(mean, axis=1, keepdims=True)

    def seconds(self, texts):
        began = time.perf_counter()
        encoded = sorted(self.words.encode_batch(texts), key=lambda one: -len(one.ids))
        batches = [encoded[at : at + self.batch] for at in range(0, len(encoded), self.batch)]
        for _ in self.pool.map(self.vectors, batches):
            pass
        return time.perf_counter() - began

    def first(self, text):
        return self.vectors(self.words.encode_batch([text]))[0]


class Quipu:
    def __init__(self, program, models, texts, at_once):
        self.name = f"quipu, {at_once} x 1 threads, batches of 32"
        words = [program, "--models", models, "--texts", texts, "--at-once", str(at_once)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.vector = numpy.array(json.loads(self.line()))

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program ended: {self.process.wait()}")
        return line

    def seconds(self, _):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.line())

    def first(self, _):
        return self.vector


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--program", required=True)
    options.add_argument("--models", required=True, type=pathlib.Path)
    options.add_argument("--corpora", type=pathlib.Path, default=os.environ.get("QUIPU_CORPORA"))
    options.add_argument("--texts", type=int, default=200)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    if given.corpora is None:
        raise SystemExit("QUIPU_CORPORA must name the folder of the test corpora")
    texts = texts_of(pathlib.Path(given.corpora), given.texts)
    cores = len(os.sched_getaffinity(0))
    folder = given.models / "all-MiniLM-L6-v2"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(texts, file)
        file.flush()
        quipu = Quipu(given.program, given.models, file.name, cores)
    ways = [(1, cores, 1), (1, cores, 8), (1, cores, 32), (cores, 1, 1), (cores, 1, 8), (cores, 1, 32)]
    runners = [quipu, *(Onnx(folder, *way) for way in ways)]
    lengths = [len(one.ids) for one in runners[1].words.encode_batch(texts)]
    print(f"{len(texts)} texts, {sum(lengths)} tokens, median {statistics.median(lengths):.0f}; {cores} processors")
    near = float(quipu.first(texts[0]) @ runners[1].first(texts[0]))
    if near < 0.999:
        raise SystemExit(f"the two vectors of one text differ: cosine {near}")
    for runner in runners:
        runner.seconds(texts)
    taken = {runner.name: [] for runner in runners}
    for _ in range(given.rounds):
        for runner in runners:
            taken[runner.name].append(runner.seconds(texts))
    rows = []
    for name, seconds in taken.items():
        rates = sorted(len(texts) / one for one in seconds)
        rows.append({"runner": name, "median": statistics.median(rates), "low": rates[0], "high": rates[-1]})
    for row in rows:
        print(f"{row['median']:8.1f} texts/s  ({row['low']:.1f} to {row['high']:.1f})  {row['runner']}")
    best = max(rows[1:], key=lambda row: row["median"])
    print(f"quipu / the fastest onnxruntime: {rows[0]['median'] / best['median']:.2f}")
    out = ROOT / "target/embed.jsonl"
    out.parent.mkdir(exist_ok=True)
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
