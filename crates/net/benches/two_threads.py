"""One thread beside two: `python two_threads.py PROGRAM [--rounds N] [--seconds S]`, on a machine with two idle cores.

PROGRAM is the built bench `networks`. Prints CSV: case, the medians over the rounds with one and with two threads
(positions a second, by the clock), and the median of the rounds' ratios.
"""

import argparse
import statistics
import subprocess

CASES = ["A:inference:256", "B:inference:256", "A:training:256", "B:training:256", "C:training:256"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    program = subprocess.Popen([args.program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print("case,one,two,ratio,least,largest", flush=True)
    for case in CASES:
        net, work, batch = case.split(":")
        rates = []
        for _ in range(args.rounds):
            both = []
            for threads in (1, 2):
                program.stdin.write(f"{net} {work} {batch} {threads} {args.seconds}\n")
                program.stdin.flush()
                both.append(float(program.stdout.readline()))
            rates.append(both)
        one, two = (statistics.median(r[i] for r in rates) for i in (0, 1))
        ratios = [b / a for a, b in rates]
        middle = statistics.median(ratios)
        print(f"{case},{one:.0f},{two:.0f},{middle:.2f},{min(ratios):.2f},{max(ratios):.2f}", flush=True)


if __name__ == "__main__":
    main()
