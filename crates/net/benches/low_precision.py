"""Inference in low precision beside f32: `python low_precision.py PROGRAM [ROUNDS]`, PROGRAM being the built bench `networks`.

Takes turns on one thread. Prints CSV: net, batch, positions a second in f32 and in 8-bit integers, the median, least and
largest of the rounds' ratios, then the same of bfloat16 (nan where the processor cannot do it).
"""

import statistics
import subprocess
import sys


def main():
    program = subprocess.Popen([sys.argv[1], "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7

    def rate(net, work, batch):
        program.stdin.write(f"{net} {work} {batch} 1 0.15\n")
        program.stdin.flush()
        return float(program.stdout.readline())

    print("net,batch,f32,int8,int8/f32,least,largest,bf16,bf16/f32,least,largest", flush=True)
    for net in "AB":
        for batch in (1, 32, 256):
            rates = [[rate(net, work, batch) for work in ("inference", "int8", "bf16")] for _ in range(rounds)]
            row = f"{net},{batch},{statistics.median(r[0] for r in rates):.0f}"
            for low in (1, 2):
                ratios = [r[low] / r[0] for r in rates]
                row += f",{statistics.median(r[low] for r in rates):.0f}"
                row += f",{statistics.median(ratios):.2f},{min(ratios):.2f},{max(ratios):.2f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
