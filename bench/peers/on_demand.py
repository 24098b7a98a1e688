"""What the scripts of other implementations share: their arguments, and a step for each line that they read.

A script says which workloads it knows, as functions that prepare a workload and return its step. It runs the first step,
which may compile, prints `{"implementation", "workload", "first"}`, and then for each line that it reads runs a step and
prints its seconds. So whoever starts several scripts can let them take turns. A script that does not know the workload ends in
silence. A workload's name may carry sizes: warp-msd@1024x256 has a batch of 1024 and 256 values.
"""
import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("workload")
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--checkouts", help="folder that holds checkouts of the repositories that the script names")
parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
options = parser.parse_args()
name, _, given = options.workload.partition("@")
given = [int(size) for size in given.split("x")] if given else []
if options.device == "cpu":
    os.environ["JAX_PLATFORMS"] = "cpu"


def sized(*own):
    """A workload's own sizes, or those that its name carries."""
    return *given, *own[len(given) :]


def take_processors():
    """Has XLA take as many threads as it is to: as many as the process may use cores."""
    if options.device == "cpu" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])


def check_gpu(is_there, package):
    if options.device == "gpu" and not is_there:
        sys.exit(f"{package} sees no GPU")


# The scripts have names of packages, and their folder comes first among those that are searched.
sys.path = [folder for folder in sys.path if os.path.abspath(folder) != os.path.dirname(os.path.abspath(__file__))]


def checkout(folder):
    """Makes the modules of a folder of a checkout importable."""
    if not options.checkouts:
        sys.exit(f"needs --checkouts, a folder that holds {folder}")
    path = os.path.join(os.path.abspath(options.checkouts), folder)
    if not os.path.isdir(path):
        sys.exit(f"{path} is not there")
    sys.path.insert(0, path)
    return path


def serve(implementation, workloads, finish=lambda: None):
    if name not in workloads:
        sys.exit()
    step = workloads[name]()

    def seconds():
        start = time.perf_counter()
        step()
        finish()
        return time.perf_counter() - start

    first = seconds()
    print(json.dumps({"implementation": implementation, "workload": options.workload, "first": first}), flush=True)
    for _ in sys.stdin:
        print(seconds(), flush=True)
