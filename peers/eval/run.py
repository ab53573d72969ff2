"""How good the search is, measured at the door that agents use.

    QUIPU_CORPORA=… python3 -m peers.eval.run --quipu target/release/quipu [--model FOLDER]

Cranfield: abstracts with judgements. XQuAD: in each language, the
paragraph that holds the answer. Six passages are what `search_chunks` gives, so
measures are cut at six. Questions at even places may be tuned on, those at odd
places are for reporting only. Writes target/eval.jsonl.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

from peers.quipu import Quipu

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPTH = 6
HALVES = ("tuning", "reported")


def cranfield(corpora):
    """Documents by name, and questions with the grade of each judged document."""
    documents = {}
    for doc in read_xml(corpora / "cran.all.1400.xml").iter("doc"):
        title, text = (doc.findtext(part) or "" for part in ("title", "text"))
        if text.strip():
            documents[doc.findtext("docno").strip()] = f"# {' '.join(title.split())}\n\n{text.strip()}\n"
    grades = {}
    for line in (corpora / "cranqrel.trec.txt").read_text().split("\n"):
        if line.strip():
            query, _, name, grade = line.split()
            grades.setdefault(int(query), {})[name] = int(grade)
    queries = [" ".join(top.findtext("title").split()) for top in read_xml(corpora / "cran.qry.xml").iter("top")]
    # The judgements count queries by their place, not by their number.
    return documents, [(query, grades.get(place, {})) for place, query in enumerate(queries, 1)]


def read_xml(path):
    # The documents stand one after the other, without an element around them.
    text = path.read_text(errors="replace").partition("?>")
    return xml.fromstring(f"<file>{text[2] or text[0]}</file>")


def xquad(path):
    documents, questions = {}, []
    for article in json.loads(path.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            name = f"p{len(documents)}"
            documents[name] = paragraph["context"] + "\n"
            questions += [(qa["question"], {name: 1}) for qa in paragraph["qas"]]
    return documents, questions


def measures(found, grades):
    """nDCG, reciprocal rank and recall of one question, each cut at DEPTH."""
    gain = sum((2 ** grades.get(name, 0) - 1) / math.log2(place + 2) for place, name in enumerate(found))
    best = sorted(grades.values(), reverse=True)[:DEPTH]
    ideal = sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(best))
    places = [place for place, name in enumerate(found) if grades.get(name, 0) > 0]
    relevant = sum(grade > 0 for grade in grades.values())
    return {
        "ndcg": gain / ideal,
        "mrr": 1 / (places[0] + 1) if places else 0.0,
        "recall": len(places) / min(relevant, DEPTH),
    }


def evaluate(quipu, name, documents, questions, rows):
    base = quipu.base(name)
    token, _ = quipu.token(name, base=base)
    with tempfile.TemporaryDirectory(dir=quipu.folder) as folder:
        for document, text in documents.items():
            (pathlib.Path(folder) / f"{document}.md").write_text(text)
        started = time.monotonic()
        quipu.verb("ingest", folder, "--base", name)
        ingested = time.monotonic() - started

    halves = {half: [] for half in HALVES}
    started = time.monotonic()
    for place, (query, grades) in enumerate(questions):
        if not any(grade > 0 for grade in grades.values()):
            continue
        hits = quipu.call(base, token, "search_chunks", query=query)["structuredContent"]["chunks"]
        # Two passages of one document count once, at the better place.
        found = list(dict.fromkeys(pathlib.Path(hit["filename"]).stem for hit in hits))
        halves[HALVES[place % 2]].append(measures(found, grades))
    milliseconds = (time.monotonic() - started) / sum(map(len, halves.values())) * 1000

    for half, taken in halves.items():
        means = {measure: statistics.fmean(row[measure] for row in taken) for measure in taken[0]}
        print(f"{name:<14}{half:<10}{len(taken):>6}" + "".join(f"{value:>10.3f}" for value in means.values()) + f"{milliseconds:>10.1f}{ingested:>10.1f}", flush=True)
        for measure, value in means.items():
            rows.append({"set": name, "metric": f"{measure}@{DEPTH}", "value": round(value, 4), "unit": "", "config": half})


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True)
    words.add_argument("--only", default="", help="sets whose name begins with this")
    words.add_argument("--output", default=str(ROOT / "target" / "eval.jsonl"))
    words.add_argument("--model", action="store_true", help="install the embedding model first")
    words = words.parse_args()
    if not os.environ.get("QUIPU_CORPORA"):
        raise SystemExit("QUIPU_CORPORA must name the folder of the corpora")
    corpora = pathlib.Path(os.environ["QUIPU_CORPORA"])

    sets = {"cranfield": lambda: cranfield(corpora / "cranfield")}
    for path in sorted((corpora / "xquad").glob("xquad.*.json")):
        sets[path.stem.replace(".", "-")] = lambda path=path: xquad(path)

    rows = []
    with Quipu(words.quipu, settings={"QUIPU_CALLS_PER_MINUTE": "0"}) as quipu:
        if words.model:
            quipu.verb("models", "install")
            quipu.stop()
            quipu.start()
        print(f"{'set':<14}{'half':<10}{'n':>6}{'nDCG@6':>10}{'MRR@6':>10}{'recall@6':>10}{'ms/query':>10}{'ingest s':>10}")
        for name, read in sets.items():
            if name.startswith(words.only):
                evaluate(quipu, name, *read(), rows)
    output = pathlib.Path(words.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
