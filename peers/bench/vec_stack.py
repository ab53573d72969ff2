"""The search that one writes in Python in an afternoon: FTS5, sqlite-vec and the same model.

One line of JSON in, one out: `{"add": [[name, text], …]}`, then `{"words": question}` or
`{"both": question}`, as the third word of the command says; without meaning nothing is embedded. Both lists are fused by reciprocal rank (k = 60), as sqlite-vec's own
documentation shows it. In one process, without a server or rights: that is in its favour.
"""

import json
import pathlib
import re
import sys

import apsw
import numpy
import onnxruntime
import sqlite_vec
from tokenizers import Tokenizer

WIDTH, TOKENS_MAX, BATCH = 384, 256, 32
DEPTH, FUSED_K = 50, 60
# About as long as the passages that Quipu makes.
PASSAGE_WORDS = 180


class Stack:
    def __init__(self, models, path, has_meaning):
        self.has_meaning = has_meaning
        self.tokenizer = Tokenizer.from_file(str(models / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS_MAX)
        self.tokenizer.enable_padding()
        self.model = onnxruntime.InferenceSession(str(models / "model.onnx"))
        self.db = apsw.Connection(str(path))
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("CREATE TABLE passage (id INTEGER PRIMARY KEY, name TEXT)")
        self.db.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
        self.db.execute(f"CREATE VIRTUAL TABLE meaning USING vec0(vector float[{WIDTH}] distance_metric=cosine)")

    def embed(self, texts):
        read = self.tokenizer.encode_batch(texts)
        mask = numpy.array([one.attention_mask for one in read], dtype=numpy.int64)
        ids = numpy.array([one.ids for one in read], dtype=numpy.int64)
        out = self.model.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)})[0]
        mean = (out * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return (mean / numpy.linalg.norm(mean, axis=1, keepdims=True)).astype(numpy.float32)

    def add(self, documents):
        """One transaction; no row is searchable by meaning before its batch is embedded."""
        with self.db:
            passages = [(name, part) for name, text in documents for part in cut(text)]
            for start in range(0, len(passages), BATCH):
                batch = passages[start : start + BATCH]
                vectors = self.embed([text for _, text in batch]) if self.has_meaning else [None] * len(batch)
                for (name, text), vector in zip(batch, vectors):
                    self.db.execute("INSERT INTO passage (name) VALUES (?)", (name,))
                    row = self.db.last_insert_rowid()
                    self.db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, text))
                    if vector is not None:
                        self.db.execute("INSERT INTO meaning (rowid, vector) VALUES (?, ?)", (row, vector.tobytes()))
        return len(passages)

    def words(self, question):
        # Quoted, so that no sign of the question is an operator.
        terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        found = self.db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (terms, DEPTH))
        return [row for (row,) in found]

    def meaning(self, question):
        vector = self.embed([question])[0].tobytes()
        found = self.db.execute("SELECT rowid FROM meaning WHERE vector MATCH ? AND k = ? ORDER BY distance", (vector, DEPTH))
        return [row for (row,) in found]

    def named(self, rows):
        names = [self.db.execute("SELECT name FROM passage WHERE id = ?", (row,)).fetchone()[0] for row in rows]
        return list(dict.fromkeys(names))

    def both(self, question):
        scores = {}
        for found in (self.words(question), self.meaning(question)):
            for place, row in enumerate(found, 1):
                scores[row] = scores.get(row, 0) + 1 / (FUSED_K + place)
        return sorted(scores, key=lambda row: -scores[row])


def cut(text):
    words = text.split()
    return [" ".join(words[start : start + PASSAGE_WORDS]) for start in range(0, len(words), PASSAGE_WORDS)]


def main():
    stack = Stack(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] == "both")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        ((verb, value),) = json.loads(line).items()
        answer = stack.add(value) if verb == "add" else stack.named(getattr(stack, verb)(value))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
