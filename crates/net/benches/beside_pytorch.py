"""Our networks and PyTorch's, in turns, one thread each; PyTorch's in f32, ours too unless the work is `bf16` or `int8`.

`python beside_pytorch.py PROGRAM [--rounds N] [--seconds S] [CASE ...]` where PROGRAM is the built bench `networks` and a
CASE is like `A:inference:256` (or `A:bf16:256`, left out where the processor cannot do it). Prints CSV: case, ours and PyTorch's medians over the rounds (positions a second), and the
median, least and largest of the rounds' ratios. For AVX2 alone set TENGEN_SIMD=avx2, ATEN_CPU_CAPABILITY=avx2 and
ONEDNN_MAX_CPU_ISA=AVX2; all are passed on.
"""

import argparse
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fixtures"))
from board_net import BoardNet  # noqa: E402

CASES = [f"{n}:{work}:{b}" for work in ("inference", "bf16", "int8") for n in "AB" for b in (1, 32, 256)]
CASES += ["A:training:256", "B:training:256"]
CASES += ["C:inference:1", "C:inference:64", "C:training:64"]


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(225, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 226))

    def forward(self, x):
        y = self.body(x)
        return y[:, :225], torch.tanh(y[:, 225])


def theirs(case):
    """A function that does the work of the case once, and how many positions that is."""
    name, work, batch = case.split(":")
    batch = int(batch)
    if name == "C":
        net, shape, actions = Dense(), (225,), 225
    elif name == "A":
        net, shape, actions = BoardNet(3, 64, 5, True, True), (3, 6, 7), 7
    else:
        net, shape, actions = BoardNet(4, 64, 6, True, False), (4, 15, 15), 225
    x = torch.rand(batch, *shape).round()
    if work != "training":
        net.eval()

        def run():
            with torch.inference_mode():
                net(x)

        return run, batch
    target, outcome = torch.full((batch, actions), 1 / actions), torch.full((batch,), 0.3)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)

    def run():
        adam.zero_grad(set_to_none=True)
        policy, value = net(x)
        loss = nn.functional.cross_entropy(policy, target) + nn.functional.mse_loss(value, outcome)
        loss.backward()
        adam.step()

    return run, batch


def rate(run, seconds):
    """Calls a second of processor time, as the program measures it: the median, of groups of at least a millisecond."""

    def timed(calls):
        before = time.thread_time()
        for _ in range(calls):
            run()
        return (time.thread_time() - before) / calls

    timed(1)
    calls = max(1, min(10_000, round(1e-3 / timed(1))))
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        times.append(timed(calls))
    return 1 / statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4)
    args = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    ours = subprocess.Popen([args.program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(f"# torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {args.rounds} rounds", flush=True)
    print("case,ours,pytorch,ratio,least,largest", flush=True)
    for case in args.cases or CASES:
        run, batch = theirs(case)
        rates = []
        for _ in range(args.rounds):
            name, work, size = case.split(":")
            ours.stdin.write(f"{name} {work} {size} 1 {args.seconds}\n")
            ours.stdin.flush()
            own = float(ours.stdout.readline())
            if math.isnan(own):
                break
            rates.append((own, rate(run, args.seconds) * batch))
        if not rates:
            continue
        ratios = [a / b for a, b in rates]
        own, peer = (statistics.median(r[i] for r in rates) for i in (0, 1))
        middle = statistics.median(ratios)
        print(f"{case},{own:.0f},{peer:.0f},{middle:.2f},{min(ratios):.2f},{max(ratios):.2f}", flush=True)


if __name__ == "__main__":
    main()
