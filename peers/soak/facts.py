"""Many writers of facts, readers beside them, and kill -9 between: judged by the history of it.

    python3 -m peers.soak.facts --quipu target/debug/quipu [--writers 8] [--steps 60] [--kills 5]

Each writer asserts, corrects, retracts, merges and takes merges back, over REST with a key of its
own for each call, which it repeats until it is answered. Readers read all of a thing, now and as
of earlier moments. What the answers say is laid out by record time as one history, and then:

* record times are unique, and of two calls the one that was answered before the other was made
  has the earlier one;
* every read of the present shows what the history holds at one moment between its asking and its
  answer: nothing lost, nothing doubled, no correction or merge by halves;
* every read as of a moment shows what the history holds at it, and the same again at the end.

Ends with a line `N passed, N failed`.
"""

import argparse
import bisect
import datetime
import http.client
import itertools
import json
import random
import sys
import threading
import time
import urllib.parse

from peers.quipu import Quipu

RETRY_SECONDS_MAX = 180
# Things are merged within groups of this size only, so that a thing's facts fit one answer.
GROUP = 3
FACTS_MAX = 300
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def micros(moment):
    """Microseconds since 1970 of an RFC 3339 moment."""
    span = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")) - EPOCH
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def moment(at):
    return (EPOCH + datetime.timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")


class Door:
    """The REST door, tried again while the server is away."""

    def __init__(self, quipu, base, token):
        self.address, self.path, self.token = quipu.address, f"/api/v1/kbs/{base}", token
        self.repeats = 0

    def call(self, method, path, body=None, key=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        sent = json.dumps(body) if body is not None else None
        started = time.monotonic()
        while True:
            try:
                connection = http.client.HTTPConnection(self.address, timeout=60)
                connection.request(method, self.path + path, sent, headers)
                answer = connection.getresponse()
                status, text = answer.status, answer.read().decode()
            except (OSError, http.client.HTTPException) as gone:
                status, text = 0, str(gone)
            finally:
                connection.close()
            # 0: killed under the request. 429 and 503 ask for patience.
            if status not in (0, 429, 503):
                return status, json.loads(text)
            if time.monotonic() - started > RETRY_SECONDS_MAX:
                raise RuntimeError(f"{method} {path}: {status}: {text}")
            self.repeats += 1
            time.sleep(0.05)

    def facts(self, thing, as_of=None):
        query = {"entity_id": thing, "limit": FACTS_MAX}
        if as_of is not None:
            query["as_of"] = moment(as_of)
        status, answer = self.call("GET", "/entity-facts?" + urllib.parse.urlencode(query))
        if status != 200:
            raise RuntimeError(f"reading {thing} as of {as_of}: HTTP {status}: {answer}")
        return answer


class Shared:
    """What all writers know of: facts to correct, merges to take back, and every answer so far."""

    def __init__(self):
        self.lock = threading.Lock()
        self.facts, self.merges, self.acts, self.faults = [], [], [], []

    def acted(self, act):
        with self.lock:
            self.acts.append(act)

    def one(self, chance, of):
        with self.lock:
            return chance.choice(of) if of else None

    def wrong(self, sentence):
        with self.lock:
            self.faults.append(sentence)


class Writer(threading.Thread):
    def __init__(self, number, door, shared, things, steps):
        super().__init__(daemon=True)
        self.number, self.door, self.shared = number, door, shared
        self.things, self.steps = things, steps
        self.chance = random.Random(1_000 + number)
        # Calls whose server was killed: their keys are taken until the lease of that process ends.
        self.unanswered = []

    def run(self):
        try:
            for step in range(self.steps):
                self.step(f"writer-{self.number}-{step}")
            while self.unanswered:
                time.sleep(1)
                waiting, self.unanswered = self.unanswered, []
                for send, words in waiting:
                    send(*words)
        except Exception as fault:
            self.shared.wrong(f"writer {self.number}: {fault!r}")

    def step(self, key):
        drawn = self.chance.random()
        if drawn < 0.5:
            return self.say(key, "/facts", self.saying(key))
        if drawn < 0.75:
            former = self.shared.one(self.chance, self.shared.facts)
            return former and self.correct(key, former)
        if drawn < 0.83:
            former = self.shared.one(self.chance, self.shared.facts)
            return former and self.send(key, "retract", f"/facts/{former['fact']}/retract", {}, {"former": former["fact"]})
        if drawn < 0.93:
            group = self.chance.randrange(len(self.things) // GROUP) * GROUP
            keep, fold = self.chance.sample(self.things[group : group + GROUP], 2)
            return self.send(key, "merge", "/entities/merge", {"keep_id": keep, "merge_id": fold})
        merge = self.shared.one(self.chance, self.shared.merges)
        return merge and self.send(key, "unmerge", f"/merges/{merge}/revert", {}, {"merge": merge})

    def saying(self, key):
        subject, other = self.chance.sample(self.things, 2)
        year = str(self.chance.randrange(1990, 2020))
        drawn = self.chance.random()
        if drawn < 0.4:
            return {"subject_id": subject, "predicate": "leads", "object_id": other, "valid_from": year}
        if drawn < 0.7:
            return {"subject_id": subject, "predicate": "knows", "object_id": other, "valid_from": year}
        return {"subject_id": subject, "predicate": "noted", "value": key}

    def correct(self, key, former):
        body = {"valid_from": str(self.chance.randrange(1990, 2020))}
        if former["predicate"] == "noted":
            body = {"value": f"{key} instead"}
        self.say(key, f"/facts/{former['fact']}/correct", body, former)

    def say(self, key, path, body, former=None, asked=None):
        asked = asked or time.monotonic()
        status, answer = self.door.call("POST", path, body, key)
        if is_running(status, answer):
            return self.unanswered.append((self.say, (key, path, body, former, asked)))
        if status == 409 and former:
            return
        if status != 201:
            raise RuntimeError(f"{path} {body}: HTTP {status}: {answer}")
        if answer["was_held"]:
            return
        fact = {
            "fact": answer["fact_id"], "subject": body.get("subject_id"), "predicate": body.get("predicate"),
            "object": body.get("object_id"), "value": body.get("value"), "from": body.get("valid_from"),
        }
        if former:
            fact = {name: former[name] if given is None else given for name, given in fact.items()}
        act = {"kind": "say", "at": micros(answer["recorded_at"]), "asked": asked, "answered": time.monotonic(), "said": fact}
        if former:
            act["former"] = former["fact"]
        self.shared.acted(act)
        with self.shared.lock:
            self.shared.facts.append(fact)

    def send(self, key, kind, path, body, of=None, asked=None):
        asked = asked or time.monotonic()
        status, answer = self.door.call("POST", path, body, key)
        if is_running(status, answer):
            return self.unanswered.append((self.send, (key, kind, path, body, of, asked)))
        if status == 409:
            return
        if status not in (200, 201):
            raise RuntimeError(f"{path} {body}: HTTP {status}: {answer}")
        at = micros(answer["invalidated_at"] if kind == "retract" else answer["recorded_at"])
        act = {"kind": kind, "at": at, "asked": asked, "answered": time.monotonic(), **(of or {})}
        if kind == "merge":
            act |= {"merge": answer["merge_id"], "keep": answer["kept_id"], "fold": answer["folded_id"]}
            with self.shared.lock:
                self.shared.merges.append(answer["merge_id"])
        self.shared.acted(act)


def is_running(status, answer):
    return status == 409 and answer["code"] == "idempotency_in_progress"


class Reader(threading.Thread):
    """Reads things now and as of earlier moments, until it is told to stop."""

    def __init__(self, number, door, shared, things):
        super().__init__(daemon=True)
        self.door, self.shared, self.things = door, shared, things
        self.chance = random.Random(2_000 + number)
        self.done = threading.Event()
        self.now, self.earlier = [], []

    def run(self):
        try:
            while not self.done.is_set():
                thing = self.chance.choice(self.things)
                if self.chance.random() < 0.6:
                    asked = time.monotonic()
                    answer = self.door.facts(thing)
                    self.now.append((thing, asked, time.monotonic(), shown(answer)))
                else:
                    act = self.shared.one(self.chance, self.shared.acts)
                    if act is None:
                        continue
                    # That moment itself, or the last one before it.
                    as_of = act["at"] - self.chance.randrange(2)
                    self.earlier.append((thing, as_of, self.door.facts(thing, as_of)))
                time.sleep(0.005)
        except Exception as fault:
            self.shared.wrong(f"a reader: {fault!r}")


def shown(answer):
    """What an answer shows: who the thing is, and of each fact its ends and for when it holds."""
    if answer["truncated"]:
        raise RuntimeError(f"{answer['matched_facts']} facts do not fit one answer")
    facts = answer["facts"]
    lines = {
        (fact["id"], fact["direction"], fact["other_id"], fact["holds_from"], fact["holds_to"], tuple(sorted(fact["same_as"])))
        for fact in facts
    }
    if len(lines) != len(facts) or answer["total_facts"] != len(facts):
        raise RuntimeError(f"{answer['total_facts']} facts are counted, {len(facts)} shown, {len(lines)} of them different")
    return answer["entity"]["id"], frozenset(lines)


def unending(answer):
    """An answer without when its facts were held no more, which a later decision may add."""
    facts = [{**fact, "invalidated_at": None} for fact in answer["facts"]]
    return {**answer, "facts": facts}


class History:
    """What was held at any moment of record, worked out from the answers alone."""

    def __init__(self, acts):
        self.acts = sorted(acts, key=lambda act: act["at"])
        self.times = [act["at"] for act in self.acts]
        self.facts, self.links = {}, []
        for act in self.acts:
            at = act["at"]
            if act["kind"] == "say":
                self.facts[act["said"]["fact"]] = {**act["said"], "since": at, "until": None}
            if "former" in act:
                self.facts[act["former"]]["until"] = at
            if act["kind"] == "merge":
                self.links.append({**act, "since": at, "until": None})
            if act["kind"] == "unmerge":
                next(link for link in self.links if link["merge"] == act["merge"])["until"] = at

    def shows(self, thing, as_of):
        def held(one):
            return one["since"] <= as_of and (one["until"] is None or as_of < one["until"])

        keeps = {link["fold"]: link["keep"] for link in self.links if held(link)}

        def known(one):
            while one in keeps:
                one = keeps[one]
            return one

        facts = [
            {**fact, "subject": known(fact["subject"]), "object": fact["object"] and known(fact["object"])}
            for fact in self.facts.values() if held(fact)
        ]
        thing = known(thing)
        lines = set()
        for side, end, other in (("out", "subject", "object"), ("in", "object", "subject")):
            alike = {}
            for fact in facts:
                if fact[end] == thing:
                    alike.setdefault((fact["predicate"], fact[other], fact["value"], fact["from"]), []).append(fact)
            for same in alike.values():
                first, *later = sorted(same, key=lambda fact: (fact["since"], fact["fact"]))
                since, until = holding(first, facts)
                lines.add((first["fact"], side, first[other], since, until, tuple(sorted(fact["fact"] for fact in later))))
        return thing, frozenset(lines)

    def between(self, asked, answered):
        """Moments of which one must be what a read shows that was made and answered then."""
        before = [act["at"] for act in self.acts if act["answered"] <= asked]
        low = max(before, default=0)
        after = [act["at"] for act in self.acts if answered <= act["asked"]]
        high = min(after, default=1 << 62)
        first, last = bisect.bisect_right(self.times, low), bisect.bisect_left(self.times, high)
        return [low, *self.times[first:last]]


def holding(fact, facts):
    """For when a fact holds: one of `leads` until its subject leads another."""
    if fact["from"] is None:
        return None, None
    until = None
    if fact["predicate"] == "leads":
        others = [
            other["from"] for other in facts
            if other["predicate"] == "leads" and other["subject"] == fact["subject"] and other["object"] != fact["object"]
        ]
        until = min((year for year in others if fact["from"] < year), default=None)
    return f"{fact['from']}-01-01T00:00:00Z", until and f"{until}-01-01T00:00:00Z"


def faults_of(history, readers, door, things):
    """Everything in which the answers differ from the history, one sentence each; and how much was looked at."""
    faults, checked = [], 0
    for one, other in itertools.pairwise(history.times):
        if one == other:
            faults.append(f"two changes have the record time {moment(one)}")
    latest = 0
    by_asking = sorted(history.acts, key=lambda act: act["asked"])
    by_answer = iter(sorted(history.acts, key=lambda act: act["answered"]))
    answered = next(by_answer, None)
    for act in by_asking:
        while answered and answered["answered"] <= act["asked"]:
            latest = max(latest, answered["at"])
            answered = next(by_answer, None)
        checked += 1
        if act["at"] <= latest:
            faults.append(f"{act} was made after a change of {moment(latest)} was answered")
    for thing, asked, done, seen in (read for reader in readers for read in reader.now):
        checked += 1
        if not any(history.shows(thing, at) == seen for at in history.between(asked, done)):
            faults.append(f"{thing} was shown as at no moment between asking and answer: {seen}")
    for thing, as_of, answer in (read for reader in readers for read in reader.earlier):
        checked += 1
        if shown(answer) != history.shows(thing, as_of):
            faults.append(f"{thing} as of {moment(as_of)}: {shown(answer)} and not {history.shows(thing, as_of)}")
        if unending(door.facts(thing, as_of)) != unending(answer):
            faults.append(f"{thing} as of {moment(as_of)} is read otherwise than before")
    for thing in things:
        for as_of in [None, *history.times[:: max(1, len(history.times) // 50)]]:
            checked += 1
            seen, held = shown(door.facts(thing, as_of)), history.shows(thing, as_of or 1 << 62)
            if seen != held:
                faults.append(f"at the end {thing} as of {as_of and moment(as_of)}: {seen} and not {held}")
    return faults, checked


def lay(door, count):
    """The words and the things; the things' ids."""
    for body in (
        {"label": "leads", "functional": True}, {"label": "knows"}, {"label": "noted", "kind": "attribute"},
    ):
        status, answer = door.call("POST", "/ontology/relation-types", body)
        if status not in (200, 201):
            raise SystemExit(f"{body}: HTTP {status}: {answer}")
    things = []
    for number in range(count):
        status, answer = door.call("POST", "/entities", {"name": f"Thing {number}"})
        if status not in (200, 201):
            raise SystemExit(f"adding a thing: HTTP {status}: {answer}")
        things.append(answer["id"])
    return things


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True, help="the program to test")
    words.add_argument("--database", help="a PostgreSQL URL; without it the embedded SQLite")
    words.add_argument("--writers", type=int, default=8)
    words.add_argument("--readers", type=int, default=2)
    words.add_argument("--steps", type=int, default=60, help="per writer at least; they go on until the last kill")
    words.add_argument("--kills", type=int, default=5)
    words.add_argument("--seed", type=int, default=1, help="of the moments at which it is killed")
    words = words.parse_args()

    moments = random.Random(words.seed)
    with Quipu(words.quipu, database=words.database, settings={"QUIPU_CALLS_PER_MINUTE": "0"}) as quipu:
        base = quipu.base("Soak")
        token, _ = quipu.token("soak", base=base, scope="write")
        door = Door(quipu, base, token)
        # A fact has two ends, and a group is at most one thing: its facts fit one answer.
        things = lay(door, GROUP * max(8, words.writers * words.steps // 60))
        shared = Shared()
        writers = [Writer(number, Door(quipu, base, token), shared, things, words.steps) for number in range(words.writers)]
        readers = [Reader(number, Door(quipu, base, token), shared, things) for number in range(words.readers)]
        started = time.monotonic()
        for thread in [*writers, *readers]:
            thread.start()
        kills = 0
        while kills < words.kills and any(writer.is_alive() for writer in writers):
            time.sleep(moments.uniform(0.2, 1.0))
            quipu.kill()
            quipu.start()
            kills += 1
        for writer in writers:
            writer.join()
        for reader in readers:
            reader.done.set()
            reader.join()
        written = time.monotonic() - started
        quipu.kill()
        quipu.start()

        history = History(shared.acts)
        faults, checked = faults_of(history, readers, door, things)
        faults = [*shared.faults, *faults]
        if kills < words.kills:
            faults.append(f"the writers were done after {kills} kills; give more --steps")
        repeats = sum(one.door.repeats for one in [*writers, *readers])
        kinds = {kind: sum(act["kind"] == kind for act in history.acts) for kind in ("say", "retract", "merge", "unmerge")}
        corrected = sum(act["kind"] == "say" and "former" in act for act in history.acts)
        print(
            f"{words.writers} writers and {words.readers} readers, {kills + 1} kills, {repeats} repeats, {written:.1f} s: "
            f"{kinds['say'] - corrected} asserted, {corrected} corrected, {kinds['retract']} retracted, {kinds['merge']} merged, "
            f"{kinds['unmerge']} parted; {sum(len(reader.now) for reader in readers)} reads of the present, "
            f"{sum(len(reader.earlier) for reader in readers)} of earlier moments"
        )
        for fault in faults[:20]:
            print(f"    {fault[:1500]}")
        if faults:
            print(f"\nwhat the server said last:\n{quipu.said()}")
    print(f"{max(checked - len(faults), 0)} passed, {len(faults)} failed")
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
