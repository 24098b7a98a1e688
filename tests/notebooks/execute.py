"""Executes the notebooks of examples/ from top to bottom with the kernel `deno`, in their folder.

    python execute.py            # checks the notebooks
    python execute.py --write    # also stores the outputs in the notebooks

A failing cell is a failure. So is a measure below its bound in an output such as "held-out accuracy 0.987".
"""

import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

# Measure of each notebook, with its lower bound.
bounds = {
    "neural_cde.ipynb": ("held-out accuracy", 0.95),
    "warp_waves.ipynb": ("held-out explained variance", 0.95),
}

folder = Path(__file__).resolve().parents[2] / "examples"
found = {path.name for path in folder.glob("*.ipynb")}
if found != bounds.keys():
    sys.exit(f"notebooks in examples/: {sorted(found)}; expected {sorted(bounds)}")



def execute(name):
    """Executes a notebook, again after a rare fault of the kernel, which loses the promise of a cell
    (https://github.com/denoland/deno/issues/20528)."""
    for is_last in (False, False, True):
        notebook = nbformat.read(folder / name, as_version=4)
        resources = {"metadata": {"path": str(folder)}}
        try:
            NotebookClient(notebook, timeout=240, kernel_name="deno", resources=resources).execute()
            return notebook
        except CellExecutionError as error:
            # The kernel has no other words for an evaluation without a result, not even an exception's.
            if is_last or error.evalue != "Execution failed":
                raise
            print(f"{name}: the kernel lost a promise; executed again")


for name, (measure, bound) in bounds.items():
    start = time.monotonic()
    notebook = execute(name)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    errors = [output.text for output in outputs if output.get("name") == "stderr"]
    if errors:
        sys.exit(f"{name}: {errors}")
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    value = re.search(rf"{measure} ([\d.]+)", text)
    if value is None or not float(value[1]) >= bound:
        sys.exit(f"{name}: {value and value[0]}; expected {measure} of at least {bound}")
    print(f"{name}: {value[0]}, {time.monotonic() - start:.0f} s")
    if "--write" in sys.argv:
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times
        nbformat.write(notebook, folder / name)
