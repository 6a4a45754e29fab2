"""The table of README.md from paired.csv: python3 summary.py < paired.csv"""
import collections, random, sys

sets = collections.OrderedDict()
for line in sys.stdin:
    name, _, _, peer, _, their_us, their_nodes, _, our_us, our_nodes = line.strip().split(",")
    sets.setdefault((name, peer), []).append((float(their_us), float(our_us), int(their_nodes), int(our_nodes)))
print("| set | positions | beside | theirs, us | ours, us | times faster | 95 % interval | their nodes | our nodes |")
print("|---|---|---|---|---|---|---|---|---|")
random.seed(1)
for (name, peer), rows in sets.items():
    mean = lambda i, rows=rows: sum(row[i] for row in rows) / len(rows)
    ratios = []
    for _ in range(2000):
        sample = random.choices(rows, k=len(rows))
        ratios.append(sum(row[0] for row in sample) / sum(row[1] for row in sample))
    ratios.sort()
    print(f"| {name} | {len(rows):,} | {peer} | {mean(0):,.1f} | {mean(1):,.1f} | {mean(0) / mean(1):.2f} "
          f"| {ratios[50]:.2f} to {ratios[1949]:.2f} | {mean(2):,.0f} | {mean(3):,.0f} |")
