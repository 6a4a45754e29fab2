"""What crates/app/data/expected.csv holds of one game: python3 expected.py GAME METRICS.jsonl..., a file of metrics for each seed.

Over each tenth of a training, the mean of a metric over its iterations; of these means the least and the greatest over seeds.
"""
import json
import sys

METRICS = ["entropy", "explained_variance", "sound"]


def tenths(name):
    """The rows of each tenth; the one with which a tenth ends is its last."""
    rows = [json.loads(line) for line in open(name)]
    games, means, tenth = rows[-1]["games"], [], []
    for row in rows:
        tenth.append(row)
        if 10 * row["games"] >= (len(means) + 1) * games:
            means.append({metric: sum(row[metric] for row in tenth) / len(tenth) for metric in METRICS})
            tenth = []
    return means


seeds = [tenths(name) for name in sys.argv[2:]]
for i in range(10):
    for metric in METRICS:
        of = [seed[i][metric] for seed in seeds]
        print(f"{sys.argv[1]},ppo,strong,{i + 1},{metric},{min(of):.4f},{max(of):.4f}")
