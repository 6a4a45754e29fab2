"""The tables of README.md: python3 table.py tactics FILE..., or python3 table.py options FOLDER NAME....

FILE is what `tengen audit RUN --json` wrote; FOLDER has NAME.json, the same, and NAME.arena, what `tengen arena` wrote, of each training.
"""
import json
import sys


def kinds(name):
    audit = json.load(open(name))
    policy = [kind["all"]["right"] for kind in audit["policy"]["kinds"]]
    return [(kind["kind"], kind["all"], p) for kind, p in zip(audit["tactics"]["kinds"], policy)]


if sys.argv[1] == "tactics":
    for rows in zip(*map(kinds, sys.argv[2:])):
        cells = [f"{100 * a['right']:.1f} [{100 * a['interval']['low']:.1f}, {100 * a['interval']['high']:.1f}]" for _, a, _ in rows]
        policies = ", ".join(f"{100 * p:.1f}" for *_, p in rows)
        print(f"| {rows[0][0]} | {rows[0][1]['positions']:,} | {' | '.join(cells)} | {policies} |")
else:
    for name in sys.argv[3:]:
        right = [100 * a["right"] for _, a, _ in kinds(f"{sys.argv[2]}/{name}.json")]
        lines = [line.split() for line in open(f"{sys.argv[2]}/{name}.arena")]
        # The second table has a row for each player: its name, its number, and its scores against the others.
        number = {line[0]: int(line[1]) for line in lines if len(line) == 6 and line[1].isdigit()}
        score = next(line[2:] for line in lines if len(line) == 6 and line[0] == name and line[1].isdigit())
        threat, greedy = (score[number[who] - 1] for who in ("threat:1", "greedy"))
        print(f"| {name} | " + " | ".join(f"{x:.1f}" for x in right[:4]) + f" | {sum(right[4:]) / 6:.1f} | {greedy} | {threat} |")
