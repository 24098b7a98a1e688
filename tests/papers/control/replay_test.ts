import assert from "node:assert/strict";
import { decisions } from "../../../tasks/papers/control/environments.ts";
import {
  capacity,
  drawSegments,
  drawTransitions,
  emptyReplay,
  emptySegments,
  emptyTransitions,
  store,
} from "../../../tasks/papers/control/replay.ts";
import { concatenate, key, linspace, zeros } from "../../../mod.ts";
import { cpu, useDevice } from "../../devices.ts";

useDevice(cpu);

/** An episode whose states count its decisions, from 1,000 times its number. */
function episode(number: number) {
  const steps = linspace(1000 * number, 1000 * number + decisions, decisions + 1).reshape([
    1,
    decisions + 1,
    1,
  ]);
  return {
    states: steps,
    actions: steps.slice(1, 0, decisions),
    gaps: steps.slice(1, 1),
    returns: zeros([1]).add(number),
  };
}

Deno.test("segments are contiguous parts of different stored episodes, without the gap of the last decision", async () => {
  const replay = emptyReplay(1);
  for (const number of [1, 2, 3]) store(replay, episode(number), number - 1);
  const segments = emptySegments(64, 6, 1);
  await drawSegments(segments, replay, 3, key(0));
  const [states, actions, gaps] = await Promise.all(
    [segments.states, segments.actions, segments.gaps].map((x) => x.data()),
  );
  const firsts = Array.from({ length: 64 }, (_, i) => states[7 * i]);
  firsts.forEach((first, i) => {
    for (let j = 0; j < 6; j++) {
      assert.equal(states[7 * i + j], first + j);
      assert.equal(actions[6 * i + j], first + j);
      const isLast = (first + j) % 1000 === decisions - 1;
      assert.equal(gaps[6 * i + j], isLast ? 0 : first + j + 1);
    }
    assert.equal(states[7 * i + 6], first + 6);
  });
  assert.deepEqual(new Set(firsts.map((first) => Math.floor(first / 1000))), new Set([1, 2, 3]));
});

Deno.test("transitions are decisions of different stored episodes, with the states before and after them", async () => {
  const replay = emptyReplay(1);
  for (const number of [1, 2, 3]) store(replay, episode(number), number - 1);
  const transitions = emptyTransitions(16, 8, 1);
  await drawTransitions(transitions, replay, 3, key(0));
  const { state, action, gap, next } = transitions;
  const [states, actions, gaps, ends] = await Promise.all([state, action, gap, next].map((x) => x.data()));
  states.forEach((value, i) => {
    assert.equal(actions[i], value);
    assert.equal(ends[i], value + 1);
    assert.equal(gaps[i], value % 1000 === decisions - 1 ? 0 : value + 1);
  });
  assert.deepEqual(new Set(states.map((value) => Math.floor(value / 1000))), new Set([1, 2, 3]));
  assert.ok(new Set(states).size > 64);
});

Deno.test("an episode beyond the capacity replaces the first one", async () => {
  const replay = emptyReplay(1);
  store(replay, episode(1), 0);
  store(replay, episode(2), 1);
  store(replay, episode(7), capacity);
  assert.deepEqual([...(await replay.returns.data()).subarray(0, 3)], [7, 2, 0]);
});

Deno.test("each episode of a batch is stored", async () => {
  const replay = emptyReplay(1);
  const [first, second] = [episode(1), episode(2)];
  store(replay, {
    states: concatenate([first.states, second.states]),
    actions: concatenate([first.actions, second.actions]),
    gaps: concatenate([first.gaps, second.gaps]),
    returns: concatenate([first.returns, second.returns]),
  }, capacity - 1);
  const states = await replay.states.select(1, 0).squeeze(-1).data();
  assert.deepEqual([states[capacity - 1], states[0], states[1]], [1000, 2000, 0]);
});
