"""Solves positions of a published set by turns with Tengen and another solver, and writes a line for each.

python3 compare.py SET COUNT NAME PEER TENGEN [FIRST] >> paired.csv

PEER reads moves from standard input, one position a line, and answers each by score, microseconds and nodes.
The columns written: set, moves, published score, peer, its score, time and nodes, Tengen's score, time and nodes.
Times are microseconds by the clock, measured by each program for itself. Tables are
cleared before.
"""
import json, subprocess, sys

name, count, peer_name, peer, tengen = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
first = int(sys.argv[6]) if len(sys.argv) > 6 else 0
lines = [line.split() for line in open(f"crates/oracle/data/connect4/Test_{name}")][first:first + count]
start = lambda command: subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
theirs, ours = start([peer]), start([tengen, "solve", "connect4", "--bench", "-", "--json"])


def ask(program, moves):
    program.stdin.write(moves + "\n")
    program.stdin.flush()
    return program.stdout.readline()


for moves, score in lines:
    score = int(score)
    their_score, their_us, their_nodes = ask(theirs, moves).split()
    answer = json.loads(ask(ours, moves))
    if not int(their_score) == answer["score"] == score:
        sys.exit(f"{moves}: published {score}, {peer_name} {their_score}, ours {answer['score']}")
    print(name, moves, score, peer_name, their_score, their_us, their_nodes, answer["score"], answer["us"],
          answer["nodes"], sep=",", flush=True)
