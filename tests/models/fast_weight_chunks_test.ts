/** Fast weights in chunks of time, compared with the same rules step by step. */
import assert from "node:assert/strict";
import {
  concatenate,
  DeltaNet,
  deltaRule,
  type DType,
  full,
  gatedDeltaRule,
  gatedOjaRule,
  hebbRule,
  jvp,
  key,
  type LearningRule,
  learningRule,
  LinearTransformer,
  normal,
  RecurrentFWP,
  type Signals,
  splitKey,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
  vmap,
} from "../../mod.ts";
import { runInChunks } from "../../src/models/fast_weight/chunks.ts";
import { testOnDevices } from "../devices.ts";
import { countLoops } from "../loops.ts";

const sizes = {
  inputChannels: 3,
  modelDim: 12,
  heads: 2,
  outputChannels: 2,
  feedForward: 4,
  key: key(0),
} as const;

const discrete = (gateBias: number) => gatedDeltaRule({ time: "discrete", gateBias });
/** W_t = alpha W_(t-1) + v (x) softmax(k) with a gate alpha. */
function gatedAttention(): LearningRule {
  const gated = learningRule({ gate: 1 }, ({ keys, values, gate }, w) => {
    const written = values.expandDims(-1).mul(keys.softmax().expandDims(-2));
    return w ? written.add(w.mul(gate.sigmoid().expandDims(-1))).sub(w) : written;
  });
  const terms = (signals: Signals & { gate?: Tensor }) => ({
    ...{ keys: signals.keys.softmax(), values: signals.values },
    logDecay: signals.gate!.neg().softplus().neg(),
  });
  return Object.assign(gated, { linear: { corrects: false, terms } });
}

const rules: Record<string, LearningRule | undefined> = {
  "the delta rule": deltaRule(),
  "the gated delta rule": discrete(-2),
  "the gated delta rule that forgets at once": discrete(30),
  "Hebb's rule": hebbRule({ boundRate: false }),
  "gated linear attention": gatedAttention(),
  "linear attention": undefined,
};

/** The model in a mode. Its parameters do not depend on the mode. */
function modelOf(rule: LearningRule | undefined, mode: "recurrent" | "chunked", dtype: DType, layers = 1) {
  return rule
    ? DeltaNet({ ...sizes, rule, mode, dtype, layers })
    : LinearTransformer({ ...sizes, mode, dtype, layers });
}

/** Asserts that each tensor is near an expected tensor, relative to its largest element. */
async function assertNear(found: readonly Tensor[], expected: readonly Tensor[], tolerance: number) {
  assert.equal(found.length, expected.length);
  for (const [i, x] of expected.entries()) {
    const size = await x.abs().max().item();
    const difference = await found[i].sub(x).abs().max().item();
    assert.ok(difference <= tolerance * size, `tensor ${i} differs by ${difference}, values up to ${size}`);
  }
}

/** The outputs at all steps, and the gradients with respect to the series and all parameters. */
function outputsAndGradients(model: ReturnType<typeof DeltaNet>, x: Tensor): Tensor[] {
  const loss = ({ x }: { x: Tensor; parameters: typeof model.parameters }) => {
    const outputs = model(x, { states: "all" });
    return [outputs.mul(normal(key(9), outputs.shape, { dtype: x.dtype })).sum(), outputs] as const;
  };
  const [[, outputs], gradients] = valueAndGrad(loss, { hasAux: true })({ x, parameters: model.parameters });
  return [outputs, ...treeFlatten(gradients).map(([, gradient]) => gradient)];
}

// One step, fewer than a chunk of 16, a chunk, several chunks and a part of one.
const lengths = [1, 7, 16, 53];

const exact = ["float64", 1e-12] as const;
const rounded = ["float32", 1e-5] as const;

for (const [name, rule] of Object.entries(rules)) {
  for (const length of lengths) {
    Deno.test(`${name} in chunks equals its steps, gradients included, at length ${length}`, async () => {
      for (const [dtype, tolerance] of length === 53 ? [exact, rounded] : [exact]) {
        const x = normal(key(1), [2, length, 3], { dtype });
        const [found, expected] = (["chunked", "recurrent"] as const).map((mode) =>
          outputsAndGradients(modelOf(rule, mode, dtype, 2), x)
        );
        await assertNear(found, expected, tolerance);
      }
    });
  }
}

testOnDevices("a gated rule in chunks equals its steps in float32", async () => {
  const x = normal(key(1), [2, 37, 3]);
  const [found, expected] = (["chunked", "recurrent"] as const).map((mode) =>
    outputsAndGradients(modelOf(discrete(-2), mode, "float32"), x)
  );
  await assertNear(found, expected, 1e-5);
});

const dtype = "float64";

Deno.test("jvp and vmap of chunks equal those of steps", async () => {
  const x = normal(key(1), [3, 2, 37, 3], { dtype });
  const results = (["chunked", "recurrent"] as const).map((mode) => {
    const model = modelOf(discrete(-2), mode, dtype);
    const run = (x: Tensor) => model(x, { states: "all" });
    return [vmap(run)(x), ...jvp(run)([x.select(0, 0)], [x.select(0, 1)])];
  });
  await assertNear(results[0], results[1], 1e-12);
});

Deno.test("chunks read each series at its last row, and a row of NaN changes only later outputs", async () => {
  const x = normal(key(1), [2, 40, 3], { dtype });
  const broken = concatenate([x.slice(1, 0, 21), full([2, 1, 3], NaN, { dtype }), x.slice(1, 22)], 1);
  const lengths = tensor([21, 5], { dtype: "int32" });
  const [found, expected] = (["chunked", "recurrent"] as const).map((mode) => {
    const model = modelOf(discrete(-2), mode, dtype, 2);
    return [model(broken, { lengths }), model(x), model(broken, { states: "all" })];
  });
  const isNaN = async (all: Tensor) => [...await all.isNaN().all([0, 2]).cast("int32").data()];
  assert.deepEqual(await isNaN(found[2]), await isNaN(expected[2]));
  const earlier = ([atEnds, last, all]: Tensor[]) => [atEnds, last, all.slice(1, 0, 21)];
  await assertNear(earlier(found), earlier(expected), 1e-12);
});

Deno.test("a value that is written again and again under one key keeps its digits", async () => {
  // Powers of the matrix of a chunk reach 1e17 here; its inverse has ones.
  const [steps, keys] = [150, 64];
  const one = tensor(Array.from({ length: keys }, (_, i) => i === 3 ? 1 : 0)).broadcastTo([
    1,
    steps,
    1,
    keys,
  ]);
  const values = normal(key(2), [1, steps, 1, keys]);
  await assertNear([runInChunks({ keys: one, values }, one, true)], [values], 1e-6);
});

Deno.test("weak decays after strong decays keep their digits", async () => {
  const steps = 40;
  const [k, v, q] = splitKey(key(4), 3).map((key) => normal(key, [1, steps, 1, 4]));
  const logs = tensor(Array.from({ length: steps }, (_, t) => t < 10 ? -500 : -1e-3), {
    shape: [1, steps, 1, 1],
  });
  // After the last strong decay, only later steps count.
  const later = (x: Tensor) => x.slice(1, 9);
  const all = runInChunks({ keys: k.softmax(), values: v, logDecay: logs }, q, true).slice(1, 9);
  const rest = { keys: later(k).softmax(), values: later(v), logDecay: later(logs) };
  await assertNear([all], [runInChunks(rest, later(q), true)], 1e-6);
});

Deno.test("models choose chunks for few long sequences and rules that are linear in W", () => {
  const loops = (model: ReturnType<typeof DeltaNet>, [batch, length]: readonly [number, number]) =>
    countLoops(() => model(normal(key(1), [batch, length, 3])), `forward loop: ${length} steps`);
  const options = { ...sizes, modelDim: 64 };
  const chosen = [
    loops(DeltaNet(options), [1, 256]),
    loops(DeltaNet(options), [1, 255]),
    loops(DeltaNet(options), [16, 256]),
    loops(DeltaNet({ ...options, rule: gatedOjaRule({ time: "discrete" }) }), [1, 256]),
    loops(DeltaNet({ ...options, mode: "recurrent" }), [1, 256]),
    loops(LinearTransformer(options), [1, 256]),
    loops(RecurrentFWP(options), [1, 256]),
  ];
  assert.deepEqual(chosen, [0, 1, 1, 1, 1, 0, 1]);
});

Deno.test("models reject the mode chunked for rules that are not linear in W, and for feedback", () => {
  const mode = "chunked";
  assert.throws(
    () => DeltaNet({ ...sizes, mode, rule: deltaRule({ postTanh: true }) }),
    /mode "chunked" needs a rule/,
  );
  assert.throws(() => RecurrentFWP({ ...sizes, mode }), /RecurrentFWP: mode "chunked" needs a rule/);
  assert.throws(
    () => DeltaNet({ ...sizes, mode: "parallel" as "auto" }),
    /mode is "parallel", expected "auto", /,
  );
});
