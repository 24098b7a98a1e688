/** Boosted trees against exhaustive search, scikit-learn's results and properties. */
import assert from "node:assert/strict";
import { type BoostedTreesOptions, fitBoostedTrees } from "../../src/series/math/boosted_trees.ts";
import { chooseTrees } from "../../src/series/math/choose_trees.ts";
import { firstTrees, predictTrees } from "../../src/series/math/predict_trees.ts";
import { finiteFloat32, packTrees, unpackTrees } from "../../src/series/math/pack_trees.ts";

/** Pseudo-random numbers from 0 to 1, as in the comparison with scikit-learn. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Columns of random numbers, some missing. */
function columnsOf(rows: number, count: number, missing: number, seed = 1): Float64Array[] {
  const next = numbers(seed);
  return Array.from(
    { length: count },
    () => Float64Array.from({ length: rows }, () => (next() < missing ? NaN : next())),
  );
}

async function fitted(columns: Float64Array[], targets: Float64Array, options: BoostedTreesOptions) {
  return predictTrees(await fitBoostedTrees(columns, targets, options), columns);
}

function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number) {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < actual.length; i++) {
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `${i}: ${actual[i]}, expected ${expected[i]}`);
  }
}

/** One tree without shrinkage. */
const single = { trees: 1, learningRate: 1, leafRows: 1, l2: 0 } as const;

/** The best tree by trying every split of every leaf, with the leaf values of squared errors. */
function naiveTree(
  columns: readonly Float64Array[],
  targets: Float64Array,
  leaves: number,
  leafRows: number,
) {
  const sumOf = (rows: readonly number[]) => rows.reduce((sum, row) => sum + targets[row], 0);
  const scoreOf = (rows: readonly number[]) => sumOf(rows) ** 2 / rows.length;
  const splitOf = (rows: readonly number[]) => {
    let best: { gain: number; sides: number[][] } = { gain: 1e-9, sides: [] };
    for (const column of columns) {
      for (const isMissingLeft of [false, true]) {
        for (const end of [...rows.map((row) => column[row]), Infinity]) {
          const isLeft = (row: number) => Number.isNaN(column[row]) ? isMissingLeft : column[row] <= end;
          const sides = [rows.filter(isLeft), rows.filter((row) => !isLeft(row))];
          if (sides.some(({ length }) => length < leafRows)) continue;
          const gain = scoreOf(sides[0]) + scoreOf(sides[1]) - scoreOf(rows);
          if (gain > best.gain + 1e-9) best = { gain, sides };
        }
      }
    }
    return best;
  };
  const parts = [[...targets.keys()]];
  while (parts.length < leaves) {
    const splits = parts.map(splitOf);
    const place = splits.reduce((best, { gain }, i) => gain > splits[best].gain ? i : best, 0);
    if (splits[place].sides.length === 0) break;
    parts.splice(place, 1, ...splits[place].sides);
  }
  const found = new Float64Array(targets.length);
  for (const rows of parts) for (const row of rows) found[row] = sumOf(rows) / rows.length;
  return found;
}

Deno.test("a tree is the one that an exhaustive search finds, with missing values", async () => {
  for (
    const [rows, count, missing, leaves, leafRows] of [[30, 3, 0.3, 6, 2], [40, 5, 0, 9, 3], [
      25,
      1,
      0.2,
      4,
      1,
    ]]
  ) {
    const columns = columnsOf(rows, count, missing);
    const next = numbers(rows);
    const targets = Float64Array.from({ length: rows }, () => 10 * next());
    const found = await fitted(columns, targets, { ...single, loss: "squared", leaves, leafRows });
    assertClose(found, naiveTree(columns, targets, leaves, leafRows), 1e-9);
  }
});

Deno.test("step functions are fitted exactly, and missing values go to the better side", async () => {
  const x = Float64Array.from({ length: 100 }, (_, i) => i % 10 === 3 ? NaN : i);
  const steps = x.map((value) => Number.isNaN(value) ? 7 : value < 30 ? 1 : value < 60 ? -2 : 5);
  for (const loss of ["squared", "absolute"] as const) {
    assertClose(
      await fitted([x], steps, { loss, trees: 60, learningRate: 1, leafRows: 1, l2: 0 }),
      steps,
      1e-9,
    );
  }
  const trees = await fitBoostedTrees([x], steps, { ...single, loss: "squared" });
  // Thresholds are in the middle between values.
  assertClose(predictTrees(trees, [Float64Array.of(29.4, 29.6, NaN, -1e9, 1e9)]), [1, -2, 7, 1, 5], 1e-9);
});

Deno.test("without missing values in training, they take the side of most rows", async () => {
  const x = Float64Array.from({ length: 20 }, (_, i) => i);
  const fit = async (end: number) => {
    const trees = await fitBoostedTrees([x], x.map((value) => value < end ? 0 : 1), {
      ...single,
      loss: "squared",
    });
    return predictTrees(trees, [Float64Array.of(NaN)])[0];
  };
  assert.deepEqual([await fit(5), await fit(15)], [1, 0]);
});

Deno.test("an increasing function of the features changes nothing, to the bit", async () => {
  const columns = columnsOf(700, 4, 0.1);
  const targets = columns[0].map((x, i) => (Number.isNaN(x) ? 1 : x) + Math.sin(9 * (columns[1][i] || 0)));
  const options = { loss: "squared", trees: 20, rowShare: 0.6, columnShare: 0.5 } as const;
  const found = await fitted(columns, targets, options);
  assert.deepEqual(
    await fitted(columns.map((column) => column.map((x) => Math.exp(5 * x) - 3)), targets, options),
    found,
  );
});

Deno.test("the seed decides the trees, to the bit", async () => {
  const columns = columnsOf(200, 6, 0.1);
  const targets = columns[0].map((x) => x > 0.5 ? 2 : 0);
  const options = { loss: "classes", classes: 3, trees: 10, rowShare: 0.5, columnShare: 0.5 } as const;
  const [first, same, other] = await Promise.all(
    [4, 4, 5].map((seed) => fitBoostedTrees(columns, targets, { ...options, seed })),
  );
  assert.deepEqual(first, same);
  assert.notDeepEqual(first, other);
});

Deno.test("constant features are never split", async () => {
  const constant = new Float64Array(50).fill(0.1);
  const targets = Float64Array.from(constant, (_, i) => i % 7);
  const trees = await fitBoostedTrees([constant, constant.map(() => NaN)], targets, {
    ...single,
    loss: "squared",
  });
  assert.deepEqual([...trees.feature], [-1]);
  const x = Float64Array.from(constant, (_, i) => i);
  const second = await fitBoostedTrees([constant, x], targets, { ...single, loss: "squared" });
  assert.ok(second.feature.includes(1) && !second.feature.includes(0));
});

Deno.test("logits approach the shares of the classes in each group", async () => {
  const group = Float64Array.from({ length: 400 }, (_, i) => i % 4);
  for (const classes of [2, 3]) {
    const targets = group.map((one, i) => (i >> 2) % 10 < 2 + 2 * one ? 0 : 1 + (i >> 2) % (classes - 1));
    const found = await fitted([group], targets, { loss: "classes", classes, trees: 400, l2: 0 });
    const width = classes === 2 ? 1 : classes;
    for (let one = 0; one < 4; one++) {
      const logits = classes === 2 ? [0, found[one]] : [...found.subarray(one * width, (one + 1) * width)];
      const weights = logits.map(Math.exp);
      const share = weights[0] / weights.reduce((sum, weight) => sum + weight, 0);
      assert.ok(Math.abs(share - (0.2 + 0.2 * one)) < 0.01, `${classes} classes, group ${one}: ${share}`);
    }
  }
});

Deno.test("weights count as repeated rows", async () => {
  const columns = columnsOf(60, 3, 0.2);
  const next = numbers(3);
  const weights = Float64Array.from({ length: 60 }, (_, i) => 1 + i % 3);
  const rows = Array.from({ length: 60 }, (_, i) => new Array<number>(weights[i]).fill(i)).flat();
  const at = (column: Float64Array) => Float64Array.from(rows, (row) => column[row]);
  for (const loss of ["squared", "absolute", "classes"] as const) {
    const targets = Float64Array.from(
      { length: 60 },
      () => loss === "classes" ? Math.floor(2 * next()) : next(),
    );
    const options = { loss, trees: 5, leafRows: 1, leaves: 5 };
    const repeated = await fitBoostedTrees(columns.map(at), at(targets), options);
    assertClose(
      await fitted(columns, targets, { ...options, weights }),
      predictTrees(repeated, columns),
      1e-6,
    );
  }
});

Deno.test("fewer trees are the beginning of more trees", async () => {
  const columns = columnsOf(100, 3, 0);
  const targets = columns[0].map((x) => 3 * x);
  const [few, many] = await Promise.all(
    [5, 12].map((trees) => fitBoostedTrees(columns, targets, { loss: "squared", trees, rowShare: 0.5 })),
  );
  assert.deepEqual(predictTrees(firstTrees(many, 5), columns), predictTrees(few, columns));
});

Deno.test("packed trees predict the same from numbers in float32", async () => {
  const columns = columnsOf(300, 4, 0.2).map((column) => column.map(Math.fround));
  const sizes = { trees: 8, leaves: 6 };
  const numberTrees = await fitBoostedTrees(columns, columns[1].map((x) => x || 2), {
    ...sizes,
    loss: "squared",
  });
  const classTrees = await fitBoostedTrees(columns, columns[0].map((x) => x > 0.5 ? 1 : x > 0.2 ? 2 : 0), {
    ...{ ...sizes, loss: "classes", classes: 3, trees: 5 },
  });
  const both = predictTrees(unpackTrees(packTrees([numberTrees, classTrees], sizes), sizes), columns);
  const [first, others] = [predictTrees(numberTrees, columns), predictTrees(classTrees, columns)];
  assertClose(both.filter((_, i) => i % 4 === 0), first, 1e-6);
  assertClose(both.filter((_, i) => i % 4 > 0), others, 1e-6);
  // Between neighbours in float32 there is no middle, and infinite thresholds cannot be stored.
  const close = Float64Array.of(1, 1 + 2 ** -23, 1 + 2 ** -22, -Infinity, 1e300, NaN).map(finiteFloat32);
  const exact = await fitBoostedTrees([close], close.map((_, i) => i), { ...single, loss: "squared" });
  const stored = packTrees([exact], { trees: 1, leaves: 6 });
  assert.ok(stored.nodes.every(Number.isFinite));
  assertClose(predictTrees(unpackTrees(stored, { trees: 1, leaves: 6 }), [close]), [0, 1, 2, 3, 4, 5], 1e-6);
  // A cycle would never end.
  const damaged = packTrees([numberTrees], sizes);
  damaged.nodes[2] = 0;
  assert.throws(
    () => unpackTrees(damaged, sizes),
    /node 0 has the child 0, expected 1 to 9; restore the file/,
  );
});

Deno.test("cross-validation predicts each row from the other folds, and leaves out unknown targets", async () => {
  const columns = columnsOf(90, 2, 0);
  const folds = Int32Array.from({ length: 90 }, (_, i) => i % 3);
  const targets = columns[0].map((x, i) => i === 5 ? NaN : x);
  const options = { loss: "squared", leafRows: 3 } as const;
  const choices = { leaves: [4], trees: [20] };
  const { leftOut, trees } = await chooseTrees({ columns, targets, folds }, options, choices);
  const others = [...folds.keys()].filter((row) => folds[row] !== 1 && row !== 5);
  const at = (column: Float64Array) => Float64Array.from(others, (row) => column[row]);
  const expected = await fitBoostedTrees(columns.map(at), at(targets), { ...options, leaves: 4, trees: 20 });
  assert.equal(leftOut[4], predictTrees(expected, columns)[4]);
  assert.ok(predictTrees(trees, columns).every(Number.isFinite));
  // Noise needs fewer trees than a step.
  const next = numbers(2);
  const noise = columns[0].map(() => next());
  const sizes = { leaves: [4], trees: [1, 200] };
  const treesFor = async (targets: Float64Array) =>
    (await chooseTrees({ columns, targets, folds }, options, sizes)).trees.roots.length;
  assert.deepEqual([await treesFor(noise), await treesFor(columns[0].map((x) => x > 0.5 ? 1 : 0))], [1, 200]);
});

/** A target of a row, from features and noise. `theirs` are losses of 100 trees of 31 leaves with an L2 penalty of 1. */
type Target = (x: readonly number[], noise: number) => number;

const comparisons: Readonly<Record<string, { classes?: number; target: Target; theirs: number }>> = {
  "Friedman's first function": {
    target: (x, noise) =>
      10 * Math.sin(Math.PI * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4] + 2 * noise,
    theirs: 1.6719,
  },
  "inside or outside of a ball": {
    classes: 2,
    target: (x, noise) =>
      x.slice(0, 6).reduce((sum, one) => sum + (one - 0.5) ** 2, 0.2 * noise) > 0.6 ? 1 : 0,
    theirs: 0.343,
  },
  "three classes in stripes": {
    classes: 3,
    target: (x, noise) => Math.floor(3 * ((x[0] + x[1] * x[2] + 0.2 * noise) % 1)),
    theirs: 0.6872,
  },
};

/** Mean squared error, or mean cross-entropy. */
function lossOf(outputs: Float64Array, targets: Float64Array, classes?: number): number {
  const width = outputs.length / targets.length;
  const losses = targets.map((target, i) => {
    if (classes === undefined) return (outputs[i] - target) ** 2;
    const logits = width === 1 ? [0, outputs[i]] : [...outputs.subarray(i * width, (i + 1) * width)];
    return Math.log(logits.reduce((sum, one) => sum + Math.exp(one - logits[target]), 0));
  });
  return losses.reduce((sum, one) => sum + one, 0) / losses.length;
}

for (const [name, { classes, target, theirs }] of Object.entries(comparisons)) {
  Deno.test(`${name}: the test loss is that of scikit-learn's HistGradientBoosting`, async () => {
    const [all, next] = [columnsOf(1600, 8, 0.1, 7), numbers(99)];
    const targets = Float64Array.from(
      all[0],
      (_, i) => target(all.map((column) => Number.isNaN(column[i]) ? 0.3 : column[i]), next()),
    );
    const trees = await fitBoostedTrees(
      all.map((column) => column.subarray(0, 800)),
      targets.subarray(0, 800),
      classes === undefined ? { loss: "squared" } : { loss: "classes", classes },
    );
    const outputs = predictTrees(trees, all.map((column) => column.subarray(800)));
    const loss = lossOf(outputs, targets.subarray(800), classes);
    assert.ok(Math.abs(loss / theirs - 1) < 0.05, `${loss}, scikit-learn ${theirs}`);
  });
}
