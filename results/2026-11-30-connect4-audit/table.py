"""The tables of README.md from what `tengen audit --json` wrote: python3 table.py, in this folder."""
import glob, json, math


def wilson(share, n):
    z = 1.959964
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return f"{100 * share:.1f} ({100 * (middle - half):.1f} to {100 * (middle + half):.1f})"


def cells(marks):
    return [wilson(marks[m][kept] / marks[m][of], marks[m][of]) if marks[m][of] else "-"
            for m in ("value", "best") for kept, of in (("kept", "positions"), ("decisive_kept", "decisive"))]


exams = [json.load(open(name))["exam"] for name in glob.glob("exam-*.json")]
exams.sort(key=lambda exam: exam["all"]["value"]["kept"])
print("| player | keeps win or draw | where it matters | has the best score | where it matters |\n|---|---|---|---|---|")
for exam in exams:
    print("| " + " | ".join([exam["player"], *cells(exam["all"])]) + " |")
print("\n| player | as X | as O | 0 to 11 stones | 12 to 23 | 24 to 36 |\n|---|---|---|---|---|---|")
for exam in exams:
    row = [wilson(seat["value"]["decisive_kept"] / seat["value"]["decisive"], seat["value"]["decisive"])
           for seat in exam["seats"]]
    for first, end in ((0, 12), (12, 24), (24, 42)):
        some = [marks["value"] for marks in exam["by_ply"][first:end]]
        kept, of = sum(m["decisive_kept"] for m in some), sum(m["decisive"] for m in some)
        row.append(wilson(kept / of, of))
    print("| " + " | ".join([exam["player"], *row]) + " |")
print("\n| player | seat | openings won, drawn, lost | results lost | of them won games |\n|---|---|---|---|---|")
for name in sorted(glob.glob("playouts-*.json")):
    answer = json.load(open(name))
    for seat, p in zip(answer["seats"], answer["playouts"]):
        won, drawn, lost = p["won_by_theory"], p["drawn_by_theory"], p["lost_by_theory"]
        gone = p["lost"]["win_to_draw"] + p["lost"]["win_to_loss"]
        all_gone = gone + p["lost"]["draw_to_loss"]
        print(f"| {answer['player']} | {seat} | {won}, {drawn}, {lost} | {all_gone} of {won + drawn} "
              f"({100 * all_gone / (won + drawn):.1f} %) | {gone} of {won} |")
