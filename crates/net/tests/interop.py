"""Reads what `cargo run -p net --example interop FOLDER` wrote: `python interop.py FOLDER`.

Needs numpy, onnx, onnxruntime and safetensors. Each network's ONNX file must pass the checker and give our outputs to
1e-4; each weight of a network without normalisation must stand in both files with the same bits.
"""

import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime
from safetensors.numpy import load_file


def main():
    folder = Path(sys.argv[1])
    models = sorted(folder.glob("*.onnx"))
    assert models, f"no ONNX files in {folder}"
    for path in models:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        cases = load_file(path.with_suffix(".cases.safetensors"))
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (given,) = session.get_inputs()
        names = [output.name for output in session.get_outputs()]
        assert {given.name, *names} == set(cases), f"{path.name}: {given.name} to {names}"
        worst = 0.0
        # The whole batch, and a batch of one: that dimension is free.
        for rows in (slice(None), slice(0, 1)):
            for name, found in zip(names, session.run(names, {given.name: cases[given.name][rows]})):
                wanted = cases[name][rows]
                assert found.shape == wanted.shape, f"{path.name}: {found.shape}, not {wanted.shape}"
                worst = max(worst, float(numpy.abs(found - wanted).max()))
        assert worst < 1e-4, f"{path.name} differs by {worst}"
        weights = load_file(path.with_suffix(".safetensors"))
        held = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        same = [name for name in weights if name in held and numpy.array_equal(weights[name], held[name])]
        folded = any("norm" in name for name in weights)
        assert len(same) >= 4 and (folded or len(same) == len(weights)), f"{path.name}: weights differ"
        print(f"{path.name}: differs by at most {worst:.1e}; {len(same)} of {len(weights)} weights are the same bits")


if __name__ == "__main__":
    main()
