"""Repeats the decisions of record.ts with Python's MuJoCo, for Weft's models and for those of Gymnasium.

Compares states, observations, rewards and time gaps to 1e-6. The formulas of the last three are those of Du et al., 2020, written
down a second time.
"""
import json
import os
import sys

import gymnasium
import mujoco
import numpy as np

tolerance = 1e-6
alive = {"swimmer": 0, "hopper": 1}
cost = {"swimmer": 1e-4, "hopper": 1e-3}
clip = {"swimmer": np.inf, "hopper": 10}
assets = os.path.join(os.path.dirname(gymnasium.__file__), "envs", "mujoco", "assets")


def observation(name, data):
    return np.concatenate([data.qpos[1:], np.clip(data.qvel, -clip[name], clip[name]), data.qpos[:1]])


def compare(name, xml, episodes):
    """Returns the largest difference of the episodes."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    worst = 0.0
    for episode in episodes:
        mujoco.mj_resetData(model, data)
        data.qpos += episode["start"]["positions"]
        data.qvel += episode["start"]["velocities"]
        mujoco.mj_forward(model, data)
        for decision in episode["decisions"]:
            seen = observation(name, data)
            speed = np.linalg.norm(np.clip(data.qvel, -clip[name], clip[name]))
            gap = int(np.clip(round(3 * np.cos(20 * np.pi * speed) + 4), 1, 7))
            before = data.qpos[0]
            data.ctrl[:] = decision["actions"]
            for _ in range(gap):
                mujoco.mj_step(model, data)
            reward = (data.qpos[0] - before) / (gap * model.opt.timestep) + alive[name]
            reward -= cost[name] * np.sum(np.square(decision["actions"]))
            found = [decision["observation"], decision["next"], decision["after"]["positions"], decision["after"]["velocities"]]
            wanted = [seen, observation(name, data), data.qpos, data.qvel]
            differences = [np.max(np.abs(np.array(f) - w)) for f, w in zip(found, wanted)]
            worst = max(worst, abs(gap - decision["gap"]), abs(reward - decision["reward"]), *differences)
    return worst


with open(sys.argv[1]) as file:
    record = json.load(file)
if record["version"] != mujoco.__version__:
    sys.exit(f"Weft has MuJoCo {record['version']}, Python {mujoco.__version__}; expected the same version")
failed = False
for name, problem in record["problems"].items():
    with open(os.path.join(assets, f"{name}.xml")) as file:
        # An attribute that MuJoCo no longer reads.
        published = file.read().replace('coordinate="local"', "")
    count = sum(len(episode["decisions"]) for episode in problem["episodes"])
    for title, xml in [("Weft's model", problem["xml"]), ("Gymnasium's model", published)]:
        difference = compare(name, xml, problem["episodes"])
        print(f"{name}, {title}: {count} decisions, largest difference {difference:.1e}")
        failed |= count != 1000 or not difference <= tolerance
sys.exit(1 if failed else 0)
