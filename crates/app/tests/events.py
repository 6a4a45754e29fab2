"""Reads the event file of a run as TensorBoard does: `python events.py RUN`.

Needs numpy and tensorboard. Every number of metrics.jsonl must come back, to the precision of a float, at its number of games.
"""

import json
import sys
from pathlib import Path

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def main():
    run = Path(sys.argv[1])
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    events = EventAccumulator(str(run), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    names = {name for row in rows for name in row} - {"games"}
    assert names and set(events.Tags()["scalars"]) == names, f"{events.Tags()}, not {names}"
    for name in names:
        found = [(event.step, numpy.float32(event.value)) for event in events.Scalars(name)]
        wanted = [(row["games"], numpy.float32(row[name])) for row in rows if name in row]
        assert found == wanted, f"{name}: {found}, not {wanted}"
    times = [event.wall_time for event in events.Scalars(min(names))]
    assert times == sorted(times) and times[0] > 1.7e9, "seconds since 1970"
    print(f"{run.name}: {len(rows)} rows of {len(names)} metrics read back")


if __name__ == "__main__":
    main()
