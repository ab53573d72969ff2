"""Draws docs/growth.svg from the figures of peers.bench.scale.

    python3 -m peers.bench.growth
"""

import argparse
import math
import pathlib

from peers.bench.figures import read
from peers.bench.scale import size

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTH, HEIGHT = 380, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 34, 40
ENGINES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
# Told apart by shape as well as by colour.
LINES = {
    "lexical.warm.server.p95": ("words", "#1f6f8b", ""),
    "hybrid.warm.server.p95": ("words and meaning", "#b5532a", "6 3"),
}
PANELS = [
    ("Search, p95 in the server, ms", LINES, "sqlite"),
    ("Search, p95 in the server, ms", LINES, "postgres"),
    ("Ingest, passages a second", {"ingest.rate": ("ingest", "#1f6f8b", "")}, "sqlite"),
    ("Ingest, passages a second", {"ingest.rate": ("ingest", "#1f6f8b", "")}, "postgres"),
    ("Memory, MB", {"lexical.rss": ("no model", "#1f6f8b", ""), "hybrid.rss": ("model and vectors", "#b5532a", "6 3")}, "sqlite"),
    ("Memory, MB", {"lexical.rss": ("no model", "#1f6f8b", ""), "hybrid.rss": ("model and vectors", "#b5532a", "6 3")}, "postgres"),
]


def points(rows, metric, engine):
    """Size and value, by size."""
    found = {}
    for row in rows:
        name, _, passages = row["config"].partition(" ")
        if row["metric"] == metric and name == engine:
            found[size(passages)] = row["value"]
    return sorted(found.items())


def panel(rows, title, lines, engine, x0, y0):
    series = {metric: points(rows, metric, engine) for metric in lines}
    every = [point for found in series.values() for point in found]
    if not every:
        return []
    least, most = min(p[0] for p in every), max(p[0] for p in every)
    top = ceiling(max(p[1] for p in every))
    span = math.log10(most / least) or 1
    x = lambda passages: x0 + LEFT + (WIDTH - LEFT - RIGHT) * math.log10(passages / least) / span
    y = lambda value: y0 + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top
    out = [f'<text x="{x0 + LEFT}" y="{y0 + 18}" class="title">{title}, {ENGINES[engine]}</text>']
    for part in range(5):
        value = top * part / 4
        out.append(f'<path d="M{x0 + LEFT} {y(value):.1f}H{x0 + WIDTH - RIGHT}" class="grid"/>')
        out.append(f'<text x="{x0 + LEFT - 6}" y="{y(value) + 4:.1f}" class="tick" text-anchor="end">{value:,.0f}</text>')
    for passages in sorted({p[0] for p in every}):
        name = f"{passages // 1_000_000}M" if passages >= 1_000_000 else f"{passages // 1000}k"
        out.append(f'<text x="{x(passages):.1f}" y="{y0 + HEIGHT - BOTTOM + 17}" class="tick" text-anchor="middle">{name}</text>')
    out.append(f'<text x="{x0 + WIDTH - RIGHT}" y="{y0 + HEIGHT - 6}" class="tick" text-anchor="end">passages in the base</text>')
    for n, (metric, (name, colour, dashes)) in enumerate(lines.items()):
        found = series[metric]
        if not found:
            continue
        path = "".join(f"{'L' if n else 'M'}{x(p):.1f} {y(v):.1f}" for n, (p, v) in enumerate(found))
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
        for passages, value in found:
            label = f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
            out.append(f'<circle cx="{x(passages):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>')
            anchor = "end" if passages == most else "start" if passages == least else "middle"
            out.append(f'<text x="{x(passages):.1f}" y="{y(value) - 7:.1f}" class="value" fill="{colour}" text-anchor="{anchor}">{label}</text>')
        if len(lines) > 1:
            out.append(f'<text x="{x0 + LEFT + 8}" y="{y0 + TOP + 12 + 14 * n}" class="value" fill="{colour}">{name}</text>')
    return out


def ceiling(value):
    """The next number that divides well by four."""
    step = 10 ** math.floor(math.log10(value or 1))
    return next(step * factor for factor in (1, 2, 4, 8, 10, 20) if step * factor >= value * 1.05)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--figures", default=str(ROOT / "target" / "bench.jsonl"))
    words.add_argument("--output", default=str(ROOT / "docs" / "growth.svg"))
    words = words.parse_args()
    rows = [row for row in read(words.figures) if row["set"] == "scale"]
    drawn = []
    for n, (title, lines, engine) in enumerate(PANELS):
        drawn += panel(rows, title, lines, engine, WIDTH * (n % 2), HEIGHT * (n // 2))
    if not drawn:
        raise SystemExit(f"{words.figures} holds no figures of growth; scripts/bench.sh --scale makes them")
    width, height = WIDTH * 2, HEIGHT * math.ceil(len(PANELS) / 2)
    style = (
        "text{font:12px sans-serif;fill:#333}.title{font-weight:bold}.tick{font-size:11px;fill:#666}"
        ".value{font-size:11px}.grid{stroke:#ddd;fill:none}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="How search, ingest and memory grow with the base">'
    body = [head, f"<style>{style}</style>", f'<rect width="{width}" height="{height}" fill="#fff"/>', *drawn, "</svg>"]
    pathlib.Path(words.output).write_text("\n".join(body) + "\n")
    print(f"drawn: {words.output}")


if __name__ == "__main__":
    main()
