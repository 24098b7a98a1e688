/** The session of the playground's worker. */
import assert from "node:assert/strict";
import { DataError, WeftError } from "../../src/device/errors.ts";
import type { Choice } from "../../web/messages.ts";
import { begin, heldOut, load, look, open, predict, push, save, train } from "../../web/session.ts";

const choice: Choice = { model: "neural-cde", path: "hermite", method: "midpoint", device: "cpu", epochs: 4 };

/** Trains on spirals. */
async function trainOnSpirals(
  change: Partial<Choice>,
  signal = new AbortController().signal,
  onEpoch = async () => {},
) {
  await load("spirals");
  return await train({ ...choice, ...change }, signal, onEpoch);
}

/** Predictions of the held-out series. */
async function predictions(): Promise<{ series: string; probabilities: Record<string, number> }[]> {
  const lines = await predict(new File([heldOut()], "held-out.csv"));
  return lines.split("\n").map((line) => JSON.parse(line));
}

for (
  const [name, change] of [
    ["a Neural CDE", {}],
    ["a Neural CDE along a natural cubic spline", { path: "natural" }],
    ["a fast weight programmer", { model: "delta-cde" }],
    ["WARP", { model: "warp" }],
  ] as const
) {
  Deno.test(`the view of ${name} ends with the prediction of the run [cpu]`, async () => {
    await trainOnSpirals(change);
    for (const { series, probabilities } of (await predictions()).slice(0, 2)) {
      const view = (await look(series))!;
      const { states, at, path, times } = view;
      assert.deepEqual([path[0].length, states.length], [at.length, at.length]);
      assert.ok(Math.abs(at.at(-1)! - times.at(-1)!) < 1e-5);
      const last = view.probabilities.map((along) => along.at(-1)!);
      Object.values(probabilities).forEach((expected, i) => assert.ok(Math.abs(last[i] - expected) < 0.03));
    }
  });
}

Deno.test("a model without access to its states has no view [cpu]", async () => {
  await trainOnSpirals({ model: "s4d", method: undefined, epochs: 1 });
  assert.equal(await look("1"), undefined);
});

Deno.test("the matrices of a view are the parts of the state [cpu]", async () => {
  await trainOnSpirals({ model: "warp", epochs: 1 });
  const { matrices, states } = (await look("1"))!;
  const ends = matrices.map(({ start, rows, columns }) => start + rows * columns);
  assert.deepEqual(matrices.map(({ start }) => start), [0, ...ends.slice(0, -1)]);
  assert.equal(ends.at(-1), states[0].length);
});

Deno.test("a saved run opens with the same predictions, and predicts a drawn series [cpu]", async () => {
  await trainOnSpirals({ epochs: 2 });
  const table = new File([heldOut()], "held-out.csv");
  const lines = await predict(table);
  const info = await open([new File([await save()], "run.zip")], "cpu");
  assert.deepEqual([info.classes, info.channels.map(({ name }) => name)], [
    ["counter-clockwise", "clockwise"],
    ["x", "y"],
  ]);
  assert.equal(await predict(table), lines);
  begin();
  await push(0, [1, 0]);
  const { probabilities } = await push(info.gap, [0.8, NaN]);
  assert.deepEqual(Object.keys(probabilities), info.classes);
  assert.equal((await look(undefined))!.times.length, 2);
});

Deno.test("a drawn series is predicted while the model trains [cpu]", async () => {
  const answers: string[] = [];
  await trainOnSpirals({ epochs: 2 }, undefined, async () => {
    begin();
    answers.push((await push(0, [1, 0])).label);
  });
  assert.equal(answers.length, 2);
});

Deno.test("a training that is stopped keeps its best weights [cpu]", async () => {
  const controller = new AbortController();
  const { accuracy } = await trainOnSpirals(
    { epochs: 50 },
    controller.signal,
    () => Promise.resolve(controller.abort()),
  );
  assert.equal(accuracy, undefined);
  assert.equal((await predictions()).length, 44);
});

Deno.test("without a model, a table and a drawn series are rejected", async () => {
  await load("waves");
  await assert.rejects(predict(new File([], "new.csv")), WeftError);
  await assert.rejects(push(0, [1]), { code: "unreadable-file" });
});

Deno.test("a table with a wrong cell is rejected with its line, and the data before remain [cpu]", async () => {
  await load("waves");
  const broken = new File(["series,time,x,label\na,0,1,up\na,soon,1,up\n"], "broken.csv");
  await assert.rejects(
    load(broken),
    (error) => error instanceof DataError && error.code === "invalid-cell" && error.row === 3,
  );
  assert.equal(
    (await train({ ...choice, epochs: 1 }, new AbortController().signal, async () => {})).device.length > 0,
    true,
  );
});
