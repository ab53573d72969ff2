"""Many writers, and kill -9 between: nothing acknowledged is lost or doubled.

    python3 -m peers.soak.run --quipu target/debug/quipu [--writers 16] [--documents 100] [--kills 5]

Each writer sends its documents over REST, repeats what was not acknowledged, and
goes on. Meanwhile the server is killed and started again. At the end every
acknowledged document must be there once, ready, and found by its own word.
Ends with a line `N passed, N failed`.
"""

import argparse
import random
import sys
import threading
import time
import urllib.error

from peers.quipu import Quipu

READY_SECONDS_MAX = 600
RETRY_SECONDS_MAX = 120


class Writer(threading.Thread):
    """Sends its documents one by one; `acknowledged` is what it was promised."""

    def __init__(self, quipu, base, token, number, documents):
        super().__init__(daemon=True)
        self.quipu, self.base, self.token = quipu, base, token
        self.number, self.documents = number, documents
        self.acknowledged = {}
        self.repeats = 0
        self.fault = None

    def run(self):
        try:
            for n in range(self.documents):
                word = word_of(self.number, n)
                self.acknowledged[word] = self.send(word)
        except Exception as fault:
            self.fault = fault

    def send(self, word):
        body = f"# Report {word}\n\nThe {word} was measured on the bench and entered in the book.\n".encode()
        started = time.monotonic()
        while True:
            try:
                status, answer = self.quipu.rest("POST", f"/kbs/{self.base}/documents?filename={word}.md", self.token, body)
            except (OSError, urllib.error.URLError) as gone:
                status, answer = 0, gone
            if status in (200, 201, 202):
                return answer["document_id"]
            # 0: killed under the request. 429 and 503 ask for patience. All else is a fault.
            if status not in (0, 429, 503) or time.monotonic() - started > RETRY_SECONDS_MAX:
                raise RuntimeError(f"{word}: HTTP {status}: {answer}")
            self.repeats += 1
            time.sleep(0.05)


def word_of(writer, n):
    """A word of letters that no other document has: no stemmer or splitter touches it."""
    letters = "bcdfghjklm"
    return "x" + "".join(letters[int(digit)] for digit in f"{writer:03}{n:05}") + "q"


def listed(quipu, base, token):
    """All documents of the base, by id; a doubled one is an error."""
    found, cursor = {}, ""
    while cursor is not None:
        status, page = quipu.rest("GET", f"/kbs/{base}/documents?limit=500{cursor and '&cursor=' + cursor}", token)
        if status != 200:
            raise SystemExit(f"listing: HTTP {status}: {page}")
        for document in page["documents"]:
            if document["document_id"] in found:
                raise SystemExit(f"listed twice: {document}")
            found[document["document_id"]] = document
        cursor = page["next_cursor"]
    return found


def wait_until_ready(quipu, base, token):
    started = time.monotonic()
    while True:
        documents = listed(quipu, base, token)
        waiting = [document for document in documents.values() if document["state"] not in ("ready", "failed")]
        if not waiting or time.monotonic() - started > READY_SECONDS_MAX:
            return documents
        time.sleep(0.5)


def faults_of(quipu, base, token, acknowledged):
    documents = wait_until_ready(quipu, base, token)
    by_name = {}
    for document in documents.values():
        by_name.setdefault(document["filename"], []).append(document)
    for word, document_id in acknowledged.items():
        same = by_name.get(f"{word}.md", [])
        if len(same) != 1 or same[0]["document_id"] != document_id:
            yield f"{word}: acknowledged as {document_id}, listed as {same}"
        elif same[0]["state"] != "ready":
            yield f"{word}: {same[0]}"
        else:
            hits = quipu.call(base, token, "search_chunks", query=word)["structuredContent"]["chunks"]
            holding = [hit["document_id"] for hit in hits if word in hit["text"]]
            if holding != [document_id]:
                yield f"{word}: searching gave {holding}"
    if len(documents) != len(acknowledged):
        yield f"{len(acknowledged)} documents were sent, {len(documents)} are there"


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True, help="the program to test")
    words.add_argument("--database", help="a PostgreSQL URL; without it the embedded SQLite")
    words.add_argument("--writers", type=int, default=16)
    words.add_argument("--documents", type=int, default=100, help="per writer")
    words.add_argument("--kills", type=int, default=5)
    words.add_argument("--seed", type=int, default=1, help="of the moments at which it is killed")
    words = words.parse_args()

    moments = random.Random(words.seed)
    unlimited = {"QUIPU_CALLS_PER_MINUTE": "0"}
    with Quipu(words.quipu, database=words.database, settings=unlimited) as quipu:
        base = quipu.base("Soak")
        token, _ = quipu.token("soak", base=base, scope="write")
        writers = [Writer(quipu, base, token, number, words.documents) for number in range(words.writers)]
        started = time.monotonic()
        for writer in writers:
            writer.start()
        kills = 0
        while kills < words.kills and any(writer.is_alive() for writer in writers):
            time.sleep(moments.uniform(0.2, 2.0))
            quipu.kill()
            quipu.start()
            kills += 1
        for writer in writers:
            writer.join()
        written = time.monotonic() - started

        acknowledged = {}
        for writer in writers:
            acknowledged |= writer.acknowledged
        faults = [str(writer.fault) for writer in writers if writer.fault]
        faults += list(faults_of(quipu, base, token, acknowledged))
        searchable = time.monotonic() - started

        # What was right in the process that wrote it must be right in one that only reads it.
        quipu.kill()
        quipu.start()
        faults += [f"after another kill: {fault}" for fault in faults_of(quipu, base, token, acknowledged)]

        repeats = sum(writer.repeats for writer in writers)
        print(f"{words.writers} writers, {len(acknowledged)} documents acknowledged in {written:.1f} s, {kills} kills, {repeats} repeats; all checked after {searchable:.1f} s")
        for fault in faults[:20]:
            print(f"    {fault}")
        if faults:
            print(f"\nwhat the server said last:\n{quipu.said()}")
    failed = len(faults)
    print(f"{max(len(acknowledged) - failed, 0)} passed, {failed} failed")
    return 1 if failed or not acknowledged else 0


if __name__ == "__main__":
    sys.exit(main())
