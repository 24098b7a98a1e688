/** Preparing observations for a path: time as a channel, missing values, counts, ends. */
import assert from "node:assert/strict";
import {
  addTime,
  forwardFill,
  LinearInterpolation,
  observationalIntensity,
  observationMask,
  seriesLengths,
  tensor,
  terminalTimes,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { assertClose } from "./golden.ts";

const o = NaN;

testOnDevices("time becomes the first channel", async () => {
  const x = tensor([[[5], [6]], [[7], [8]]]);
  await assertClose(addTime(x), [0, 5, 1, 6, 0, 7, 1, 8], 0, "0, 1, ...");
  await assertClose(addTime(x, [0.5, 2]), [0.5, 5, 2, 6, 0.5, 7, 2, 8], 0, "shared times");
  await assertClose(
    addTime(x, tensor([[0, 1], [3, 4]])),
    [0, 5, 1, 6, 3, 7, 4, 8],
    0,
    "times of each series",
  );
  assert.throws(() => addTime(x, [1, 0]), /addTime: t: times must increase/);
});

testOnDevices("missing observations are filled forward", async () => {
  const x = tensor([[o, 1, 0], [2, o, 0], [o, o, o], [o, 4, 0]]);
  const filled = forwardFill(x);
  await assertClose(filled.isNaN().where(-1, filled), [-1, 1, 0, 2, 1, 0, 2, 1, 0, 2, 4, 0], 0, "along rows");
  const across = forwardFill(x, -1);
  await assertClose(across.isNaN().where(-1, across), [-1, 1, 0, 2, 2, 0, -1, -1, -1, -1, 4, 0], 0, "across");
});

testOnDevices("masks and counts of observations are per channel or per row", async () => {
  const x = tensor([[[o, 1], [2, o], [o, o], [3, 4]], [[1, o], [o, o], [o, o], [o, o]]]);
  await assertClose(
    observationMask(x).cast("float32"),
    [0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    0,
    "mask",
  );
  await assertClose(
    observationalIntensity(x),
    [0, 1, 1, 1, 1, 1, 2, 2, 1, 0, 1, 0, 1, 0, 1, 0],
    0,
    "by channel",
  );
  await assertClose(observationalIntensity(x, { per: "row" }), [1, 2, 2, 3, 1, 1, 1, 1], 0, "by row");
  const single = observationalIntensity(x, { per: "row", cumulative: false });
  assert.deepEqual(single.shape, [2, 4, 1]);
  await assertClose(single, [1, 1, 0, 1, 1, 0, 0, 0], 0, "one by one");
});

testOnDevices("series end at the last observation of any channel", async () => {
  const x = tensor([[[o, 1], [2, o], [o, o]], [[1, o], [o, o], [o, 4]], [[o, o], [o, o], [o, o]]]);
  const lengths = seriesLengths(x);
  assert.equal(lengths.dtype, "int32");
  assert.deepEqual([...await lengths.data()], [2, 3, 0]);
  const ends = terminalTimes(tensor([0, 0.5, 2]), lengths);
  assert.deepEqual([...await ends.data()], [0.5, 2, NaN]);
  const separateEnds = terminalTimes(tensor([[0, 1, 2], [3, 4, 5], [6, 7, 8]]), lengths);
  assert.deepEqual([...await separateEnds.data()], [1, 5, NaN]);
  assert.throws(() => terminalTimes(tensor([[0, 1, 2]]), lengths), /terminalTimes: times of shape \(1, 3\)/);
});

testOnDevices(
  "the derivative at a grid point belongs to the piece on the requested side",
  async () => {
    const X = LinearInterpolation(tensor([[0], [1], [3], [2]]), [0, 1, 2, 4]);
    const left = [1, 1, 2, -0.5], right = [1, 2, -0.5, -0.5];
    const times = [0, 1, 2, 4];
    for (const t of [times, tensor(times)]) {
      await assertClose(X.derivative(t), left, 0, "left by default", true);
      await assertClose(X.derivative(t, "right"), right, 0, "right", true);
    }
    for (const [i, t] of times.entries()) {
      await assertClose(
        X.derivative(t, "right"),
        [right[i]],
        0,
        "one time",
        true,
      );
    }
    const rows = tensor([times]);
    const path = LinearInterpolation(tensor([[[0], [1], [3], [2]]]), rows);
    await assertClose(path.derivative(rows, "right"), right, 0, "separate times", true);
    const many = LinearInterpolation(tensor(Array.from({ length: 400 }, (_, i) => [i * i / 2])));
    await assertClose(many.derivative(tensor([7, 300]), "right"), [7.5, 300.5], 0, "many pieces", true);
  },
);
