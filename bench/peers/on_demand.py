"""What the scripts of other implementations share: their arguments, and a step for each line that they read.

A script says which workloads it knows, as functions that prepare a workload and return its step. It runs the first step,
which may compile, prints `{"implementation", "workload", "first"}`, and then for each line that it reads runs a step and
prints its seconds. So whoever starts several scripts can let them take turns. A script that does not know the workload ends in
silence.
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
options = parser.parse_args()

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


def serve(implementation, workloads):
    if options.workload not in workloads:
        sys.exit()
    step = workloads[options.workload]()

    def seconds():
        start = time.perf_counter()
        step()
        return time.perf_counter() - start

    first = seconds()
    print(json.dumps({"implementation": implementation, "workload": options.workload, "first": first}), flush=True)
    for _ in sys.stdin:
        print(seconds(), flush=True)
