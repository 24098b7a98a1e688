"""Compares the curves of a run's event files, read by TensorBoard, with its metrics.jsonl. Argument: the folder of the run."""
import json
import math
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = sys.argv[1]
with open(f"{run}/metrics.jsonl") as file:
    epochs = [json.loads(line) for line in file]
with open(f"{run}/summary.json") as file:
    test = json.load(file)["test"]


def curves(part):
    log = EventAccumulator(f"{run}/tensorboard/{part}", size_guidance={"scalars": 0})
    log.Reload()
    return {tag: [(event.step, event.value) for event in log.Scalars(tag)] for tag in log.Tags()["scalars"]}


def check(name, found, expected):
    same = len(found) == len(expected) and all(
        step == wanted_step and math.isclose(value, wanted, rel_tol=1e-6, abs_tol=1e-12)
        for (step, value), (wanted_step, wanted) in zip(found, expected)
    )
    if not same:
        sys.exit(f"{name}: TensorBoard reads {found}, expected {expected}")


last = epochs[-1]["step"]
train, validation, tested = curves("train"), curves("validation"), curves("test")
for part, found in ("train", train), ("validation", validation):
    for measure in epochs[0][part]:
        check(f"{part} {measure}", found[f"epoch/{measure}"], [(line["step"], line[part][measure]) for line in epochs])
check("learning rate", train["epoch/learningRate"], [(line["step"], line["learningRate"]) for line in epochs])
for measure, value in test.items():
    check(f"test {measure}", tested[f"epoch/{measure}"][-1:], [(last, value)])
steps = [step for step, _ in train["step/loss"]]
if steps != list(range(1, last + 1)):
    sys.exit(f"the steps of the losses are {steps}, expected 1 to {last}")
print(f"TensorBoard reads {len(epochs)} epochs and {len(steps)} steps")
