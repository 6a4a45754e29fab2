"""Lets two solvers answer a whole set by turns, several times, and writes a line for each position.

python3 passes.py SET COUNT NAME PEER TENGEN PASSES >> paired.csv

As compare.py, but each program answers the set in one pass, as its users have it, so that neither waits for the other with cold
caches; times are medians over the passes.
"""
import json, statistics, subprocess, sys
name, count, peer_name, peer, tengen, passes = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6], int(sys.argv[6])
lines = [line.split() for line in open(f"crates/oracle/data/connect4/Test_{name}")][:count]
text = "".join(moves + "\n" for moves, _ in lines)
run = lambda command: subprocess.run(command, input=text, capture_output=True, text=True).stdout.splitlines()
t, o = [], []
for _ in range(passes):
    t.append([line.split() for line in run([peer])])
    o.append([json.loads(line) for line in run([tengen, "solve", "connect4", "--bench", "-", "--json"])])
for i, (moves, score) in enumerate(lines):
    assert all(int(p[i][0]) == int(score) for p in t) and all(p[i]["score"] == int(score) for p in o), moves
    print(name, moves, score, peer_name, score, statistics.median(float(p[i][1]) for p in t), t[0][i][2], score,
          statistics.median(p[i]["us"] for p in o), o[0][i]["nodes"], sep=",")
