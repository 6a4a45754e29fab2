"""The tables of README.md from what `tengen audit --json` wrote: python3 table.py FILE..., for players of one game."""
import json, sys

audits = [json.load(open(name)) for name in sys.argv[1:]]
players = audits[0]["beside"] + [audit["tactics"] for audit in audits]


def cell(kind):
    share, interval = kind["all"]["right"], kind["all"]["interval"]
    return f"{100 * share:.1f} [{100 * interval['low']:.1f}, {100 * interval['high']:.1f}]"


seen = []
players = [p for p in players if p["player"] not in seen and not seen.append(p["player"])]
print("| kind | positions | middle, edge, corner | " + " | ".join(p["player"] for p in players) + " |")
print("|---|---|---|" + "---|" * len(players))
for rows in zip(*(p["kinds"] for p in players)):
    first = rows[0]
    regions = ", ".join(str(first[r]["positions"]) for r in ("middle", "edge", "corner"))
    print(f"| {first['kind']} | {first['all']['positions']:,} | {regions} | " + " | ".join(map(cell, rows)) + " |")
