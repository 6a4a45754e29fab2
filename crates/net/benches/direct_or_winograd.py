"""The two forms of the convolution by batch: `python direct_or_winograd.py PROGRAM`, PROGRAM being the built bench `networks`.

Prints CSV: net, batch, positions a second by the sum over taps and by Winograd, and the median of five ratios.
"""

import statistics
import subprocess
import sys


def main():
    program = subprocess.Popen([sys.argv[1], "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rate(line):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        return float(program.stdout.readline())

    print("net,batch,direct,winograd,ratio", flush=True)
    for net in "AB":
        for batch in (1, 2, 3, 4, 8):
            # The form is chosen by the nominal batch: 0 and 256 are the two extremes.
            pairs = [[rate(f"{net} inference {batch}/{nominal} 1 0.15") for nominal in (0, 256)] for _ in range(5)]
            direct, winograd = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
            ratio = statistics.median(w / d for d, w in pairs)
            print(f"{net},{batch},{direct:.0f},{winograd:.0f},{ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
