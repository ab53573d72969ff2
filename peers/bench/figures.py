"""Figures of a run, one JSON object a line, each part of the benchmark replacing its own."""

import json
import os
import pathlib
import time

# Above this something else is running, and the figures would be about it.
LOAD_MAX = 0.5
LOAD_WAIT_SECONDS_MAX = 300


class Figures:
    """What one part of the benchmark measured."""

    def __init__(self, of):
        self.of, self.rows = of, []

    def add(self, metric, value, unit, config):
        self.rows.append({"set": self.of, "metric": metric, "value": round(value, 3), "unit": unit, "config": config})

    def write(self, path, replaced=lambda row: True):
        """Keeps what is in the file but for this part's rows, or those of them that are `replaced`."""
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [row for row in read(path) if row["set"] != self.of or not replaced(row)]
        path.write_text("".join(json.dumps(row) + "\n" for row in [*kept, *self.rows]))


def read(path):
    """The figures in a file; none if there is no such file."""
    path = pathlib.Path(path)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_quiet(any_load):
    started = time.monotonic()
    while os.getloadavg()[0] > LOAD_MAX and not any_load:
        if time.monotonic() - started > LOAD_WAIT_SECONDS_MAX:
            raise SystemExit(f"the load is {os.getloadavg()[0]:.2f}, above {LOAD_MAX}: something else is running; --any-load measures all the same")
        time.sleep(5)


def memory(pid):
    """Resident size of a process in MB: now, its highest, and of now what is no file."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    return tuple(int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM", "RssAnon"))
