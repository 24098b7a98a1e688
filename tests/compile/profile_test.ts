import assert from "node:assert/strict";
import {
  jit,
  key,
  normal,
  profile,
  type RunProfile,
  scan,
  splitKey,
  type Tensor,
  valueAndGrad,
} from "../../mod.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";
import { displayOf, rowsOf } from "../display.ts";

/** A recurrence whose inputs are multiplied for all steps at once, and its gradient. */
function training(): () => Tensor {
  const [w, u, x] = splitKey(key(1), 3).map((seed, i) => normal(seed, [[8, 8], [3, 8], [12, 4, 3]][i]));
  return () => {
    const loss = (w: Tensor) => {
      const step = (h: Tensor, row: Tensor): [Tensor, Tensor] => {
        const next = h.matmul(w).add(row.matmul(u)).tanh();
        return [next, next];
      };
      return scan(step, x.select(0, 0).matmul(u), x)[0].square().sum();
    };
    return valueAndGrad(loss)(w)[1];
  };
}

const namesOf = ({ spans }: RunProfile) => spans.map(({ kind, name }) => `${kind}: ${name}`);
const kernelsOf = (found: RunProfile) => namesOf(found).filter((name) => !name.startsWith("host: "));

testOnDevices("a profile names loops, batched passes, products and copies", async ({ info }) => {
  const run = training();
  const found = await profile(run);
  const names = namesOf(found);
  for (
    const expected of [
      "loop: forward, 12 steps of 4 samples",
      "loop: backward, 12 steps of 4 samples",
      "product: (4, 3) x (3, 8)",
    ]
  ) assert.ok(names.includes(expected), `${expected} is not among ${names.join("; ")}`);
  // GPU passes are named by the innermost span. In a batched pass that is its product of all steps.
  const batched = info.kind === "cpu"
    ? /^batched pass: \d+ operations? for 12 steps at once$/
    : /^product: \(48, 3\) x/;
  assert.ok(names.some((name) => batched.test(name)), `${batched} is not among ${names.join("; ")}`);
  assert.equal(found.clock, info.kind === "cpu" ? "host" : "gpu timestamps");
  const sum = found.rows.reduce((total, { own }) => total + own, 0);
  assert.ok(Math.abs(sum - found.seconds) < 1e-9, `rows add up to ${sum} of ${found.seconds}`);
  assert.ok(found.spans.every(({ seconds, own, start }) => seconds >= 0 && own >= 0 && start >= 0));
  const table = found.table().split("\n");
  assert.match(table[0], new RegExp(`measured by the ${info.kind === "cpu" ? "host" : "GPU"}`));
  assert.match(table.at(-1)!, /100\.0 %.* all$/);
});

testOnCpu("a profile of a jit replay has the same parts as the function", async () => {
  const run = training();
  const jitted = jit(run);
  jitted();
  const [plain, replayed] = [await profile(run), await profile(() => jitted())];
  const withoutResults = kernelsOf(replayed).slice(0, kernelsOf(plain).length);
  assert.deepEqual(withoutResults, kernelsOf(plain));
  const matmul = (x: Tensor) => x.matmul(x);
  const x = normal(key(2), [4, 4]);
  assert.deepEqual(await jit(matmul)(x).data(), await matmul(x).data());
});

testOnCpu("the parts of a short step cover at least 90 % of its time, with and without jit", async () => {
  const run = training();
  const jitted = jit(run);
  for (const step of [run, () => jitted()]) {
    const unnamed: number[] = [];
    for (let i = 0; i < 15; i++) {
      const { rows, seconds } = await profile(step);
      unnamed.push(rows.at(-1)!.own / seconds);
    }
    const median = unnamed.sort((a, b) => a - b)[7];
    assert.ok(Math.abs(median) < 0.1, `${(100 * median).toFixed(1)} % of a step has no name`);
  }
});

testOnCpu("events of a trace are nested", async () => {
  const found = await profile(training());
  const events = found.trace().traceEvents.filter(({ ph }) => ph === "X") as {
    name: string;
    ts: number;
    dur: number;
  }[];
  assert.deepEqual(events.slice(1).map(({ name }) => name), namesOf(found));
  const open: { end: number }[] = [];
  const rounding = 0.002;
  for (const { ts, dur } of events) {
    while (open.length > 0 && open.at(-1)!.end <= ts + rounding) open.pop();
    const end = ts + dur;
    assert.ok(
      open.length === 0 || end <= open.at(-1)!.end + rounding,
      "an event ends after its enclosing event",
    );
    open.push({ end });
  }
  assert.equal(JSON.parse(JSON.stringify(found.trace())).displayTimeUnit, "ms");
});

testOnCpu(
  "profiling ends with the profiled function, even if the function throws",
  async (device) => {
    await assert.rejects(
      profile(() => {
        throw new Error("as meant");
      }),
      /as meant/,
    );
    assert.deepEqual(Object.keys(device).filter((name) => name === "map" || name === "matmul"), []);
    await assert.rejects(profile(() => profile(() => {})), /another function is being profiled/);
  },
);

testOnCpu("a notebook shows a profile as a table", async () => {
  const found = await profile(() => normal(key(0), [8, 8]).tanh().sum());
  const bundle = await displayOf(found);
  assert.equal(bundle["text/plain"], found.table());
  assert.match(bundle["text/html"], /^<div class="weft"><p>[^<]+, measured by the host<\/p>/);
  const [head, ...rows] = rowsOf(bundle["text/html"]);
  assert.deepEqual(head, ["what", "own ms", "share", "with inner", "times"]);
  assert.equal(rows.length, found.rows.length + 1);
  assert.deepEqual([rows.at(-1)![0], rows.at(-1)![2]], ["all", "100.0 %"]);
});
