"""Exports read by an independent reader of RDF, and measured.

    python3 -m peers.rdf.run --quipu target/debug/quipu [--database URL]
    python3 -m peers.rdf.run --quipu target/release/quipu --measure 20000 --measure 200000

rdflib (Python) reads the Turtle and the JSON-LD of one base: they must be the same graph, without
blank nodes and without a literal that is not of its type. `--measure FACTS` instead builds a base of
so many facts, exports it and says how many triples a second that was and how much the server's
memory grew. Ends with a line `N passed, N failed`; exit code 1 if one failed.
"""

import argparse
import decimal
import json
import pathlib
import sys
import time
import urllib.request

LOCAL = pathlib.Path(__file__).resolve().parents[2] / ".local"
sys.path.insert(0, str(LOCAL / "python-rdf"))

from peers.quipu import Quipu  # noqa: E402

# Letters that writers get wrong.
TEXTS = [
    'quotes " and \\ backslashes', "line\nfeeds\r\nand\ttabs", "controls \u0001\u001f\u007f\u0085\u2028",
    "astral \U0001f9a6 and right to left \u202e", "'''", '"""', "@en", 'x"^^<y>', '{"@value": 1}', "Ångström Å",
]
VALUES = [
    ("revenue", 1e21), ("revenue", -2.5e-9), ("revenue", 0.1), ("revenue", 42),
    ("born", "1861"), ("born", "1861-03"), ("born", "1861-03-04"), ("born", "1861-03-04T17:05:09Z"),
    ("listed", True),
]
DATES = [
    {"valid_from": "1861"}, {"valid_from": "0360", "valid_to": "1861-03"}, {"valid_from": "1861-03-04T17:05"},
    {"valid_from": "2020", "valid_to": "unknown"}, {"valid_from": "2001", "valid_from_latest": "2003", "approximate": True},
]


class Base:
    """A base that is written over REST."""

    def __init__(self, quipu):
        self.quipu = quipu
        self.id = quipu.base("Exports")
        self.token, _ = quipu.token("writer", base=self.id, scope="write")

    def post(self, path, **body):
        status, answer = self.quipu.rest_json("POST", f"/kbs/{self.id}/{path}", self.token, body)
        if status not in (200, 201):
            raise SystemExit(f"{path}: HTTP {status}: {answer}")
        return answer

    def export(self, query):
        request = urllib.request.Request(
            f"http://{self.quipu.address}/api/v1/kbs/{self.id}/export?{query}",
            headers={"Authorization": f"Bearer {self.token}"},
        )
        return urllib.request.urlopen(request, timeout=600)

    def words(self):
        self.post("ontology/entity-types", label="Person", iri="http://xmlns.com/foaf/0.1/Person")
        self.post("ontology/relation-types", label="leads", functional=True, domains=["person"])
        self.post("ontology/relation-types", label="knows", iri="prov:knows", symmetric=True)
        for label, datatype in [("revenue", "number"), ("born", "date"), ("listed", "bool"), ("motto", "text")]:
            self.post("ontology/relation-types", label=label, kind="attribute", datatype=datatype)


def story(base):
    """Everything that an export has to write; how many facts, names included."""
    base.words()
    ann, anna, acme = (base.post("entities", name=name)["id"] for name in ("Ann", "Anna", "Acme"))
    facts = 3
    for text in TEXTS:
        base.post("facts", subject_id=ann, predicate="motto", value=text)
    for predicate, value in VALUES:
        base.post("facts", subject_id=acme, predicate=predicate, value=value)
    for dates in DATES:
        base.post("facts", subject_id=ann, predicate="leads", object_id=acme, **dates)
    base.post("facts", subject_id=ann, wording="is fond of", object_id=acme)
    first = base.post("facts", subject_id=anna, predicate="knows", object_id=acme)["fact_id"]
    base.post(f"facts/{first}/correct", valid_from="2021")
    base.post("entities/merge", keep_id=ann, merge_id=anna)
    return facts + len(TEXTS) + len(VALUES) + len(DATES) + 3


def as_values(graph):
    """The triples, with decimals by value: rdflib writes `-0.0000000025` as it stands in Turtle anew."""
    import rdflib
    from rdflib.namespace import XSD

    def plain(node):
        if isinstance(node, rdflib.Literal) and node.datatype == XSD.decimal:
            return ("decimal", decimal.Decimal(str(node)))
        return node

    return {tuple(plain(node) for node in triple) for triple in graph}


def judge(binary, database):
    import rdflib
    from rdflib.namespace import RDF, XSD

    # What is compared is what was written, not what a reader would make of it.
    rdflib.NORMALIZE_LITERALS = False
    checks = []

    def check(name, holds, told=""):
        checks.append(holds)
        print(f"{'ok  ' if holds else 'FAIL'} {name} {'' if holds else told}")

    with Quipu(binary, database=database) as quipu:
        base = Base(quipu)
        facts = story(base)
        for query in ("", "&base=https://example.org/data/"):
            turtle = rdflib.Graph().parse(data=base.export(f"format=turtle{query}").read(), format="turtle")
            json_ld = rdflib.Graph().parse(data=base.export(f"format=jsonld{query}").read(), format="json-ld")
            one, other = as_values(turtle), as_values(json_ld)
            where = query or "urn:utopia"
            check(f"{where}: the same graph", one == other, f"{list(one ^ other)[:6]}")
            nodes = {node for triple in turtle for node in triple}
            check(f"{where}: no blank nodes", not any(isinstance(node, rdflib.BNode) for node in nodes))
            statements = set(turtle.subjects(RDF.type, RDF.Statement))
            check(f"{where}: a statement for each fact", len(statements) == facts, f"{len(statements)} of {facts}")
            for term in (RDF.subject, RDF.object):
                check(f"{where}: one {term} each", all(len(list(turtle.objects(s, term))) == 1 for s in statements))
            literals = [node for node in nodes if isinstance(node, rdflib.Literal)]
            # Its own types for years and months hold no year before the first.
            judged = [lit for lit in literals if lit.datatype not in (XSD.gYear, XSD.gYearMonth)]
            ill = [lit for lit in judged if lit.ill_typed]
            check(f"{where}: literals of their type", not ill, f"{ill}")
            texts = {str(lit) for lit in literals}
            check(f"{where}: texts as they were given", set(TEXTS) <= texts, f"{set(TEXTS) - texts}")
            wanted = {XSD.gYear, XSD.gYearMonth, XSD.date, XSD.dateTime, XSD.decimal, XSD.boolean}
            check(f"{where}: types of every precision", wanted <= {lit.datatype for lit in literals})
    return checks


def resident(pid):
    """Memory of a process, and the most it has had, in kB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    value = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Vm")}
    return int(value["VmRSS"]), int(value["VmHWM"])


def measure(binary, database, facts):
    """Builds a base and exports it a few times; prints one line for each format."""
    with Quipu(binary, database=database, settings={"QUIPU_CALLS_PER_MINUTE": "100000000"}) as quipu:
        base = Base(quipu)
        base.words()
        things = [base.post("entities", name=f"Thing {number}")["id"] for number in range(facts // 10)]
        for number in range(facts - len(things)):
            subject, other = things[number % len(things)], things[(number * 7 + 1) % len(things)]
            base.post("facts", subject_id=subject, predicate="knows", object_id=other,
                      valid_from=str(1900 + number // len(things)), confidence=0.9)
        # The peak so far is the writing's.
        pathlib.Path(f"/proc/{quipu.process.pid}/clear_refs").write_text("5")
        triples = None
        for form in ("turtle", "jsonld"):
            seconds = []
            before, _ = resident(quipu.process.pid)
            for _ in range(3):
                started, size, lines = time.monotonic(), 0, 0
                with base.export(f"format={form}") as answer:
                    while part := answer.read(1 << 20):
                        size += len(part)
                        lines += part.count(b"\n")
                seconds.append(time.monotonic() - started)
            # Turtle has a line for each but those that share a predicate; JSON-LD holds the same ones.
            triples = triples or lines
            _, peak = resident(quipu.process.pid)
            print(json.dumps({"facts": facts, "format": form, "bytes": size, "triples": triples,
                              "triples_per_second": round(triples / sorted(seconds)[1]),
                              "rss_before_mb": before // 1024, "rss_peak_mb": peak // 1024}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quipu", required=True)
    parser.add_argument("--database")
    parser.add_argument("--measure", type=int, action="append", metavar="FACTS")
    given = parser.parse_args()
    if given.measure:
        for facts in given.measure:
            measure(given.quipu, given.database, facts)
        return 0
    checks = judge(given.quipu, given.database)
    failed = checks.count(False)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
