import assert from "node:assert/strict";
import { OptionError, save, tensor } from "../../mod.ts";
import { checkOptions, namesOf, nearestName } from "../../src/device/options.ts";
import { calls } from "./option_calls.ts";
import { functionsWithOptions, readExports } from "./option_parameters.ts";

const { exports } = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url))) as {
  exports: Record<string, string>;
};
const modules = [...Object.values(exports), "./src/serve/mod.ts"];

/** Types with optional members that hold data, not options: states, paths, series, records, whole models. */
const data = new Set([
  "AttentionMemory",
  "Bounds",
  "DataRecord",
  "Device",
  "EpochMetrics",
  "LSTMState",
  "Message",
  "ODERecurrentState",
  "PredictionStreamState",
  "ReportContent",
  "Run",
  "Series",
  "SeriesInputs",
  "SeriesSet",
  "SeriesSource",
  "StreamableModel",
  "StreamedModel",
  "Task",
  "Tree",
  "WARPModel",
  // From the file of a run. The table of calls contains `startRun`, whose options come from users.
  "RunConfig",
  "RunSettings",
  // Definitions of experiments and of options, and their values. The options of the experiment check them.
  "Experiment",
  "ModelExperiment",
  "SeriesProblem",
  "Option",
  "OptionSchema",
  // A state, whose optional members exclude functions and collections.
  "Tree",
  // Fields of an error.
  "ErrorDetails",
  "FormatErrorDetails",
  // Passed to every kind of model in turn. Each model reads some of its members.
  "ForecastModelSizes",
  "SeriesModelSizes",
  "SeriesNetworkOptions",
  "WindowModelSizes",
]);

/** Functions that pass their options to a function of the table. */
const forwarding: Readonly<Record<string, string>> = {
  "forecastModel()": "RecurrentForecaster()",
  "TrainedModel.samples": "readTable",
  "TrainedModel.series": "readTable",
};

/** Functions that a program or a model defines and Weft calls. */
const callbacks = new Set(
  ["make", "read", "rules", "dataSeed", "draw"].map((name) => `SeriesProblem.${name}`),
);
callbacks.add("ClassificationOptions.draw");
callbacks.add("Task.plan");
// The value of `Experiment.checkRecord`.
callbacks.add("checkDataRecord");
for (const name of ["start", "advance", "predict"]) callbacks.add(`StreamedModel.${name}`);

Deno.test("the table of calls contains every exported function with options", async () => {
  const found = functionsWithOptions(await readExports(modules), data);
  assert.ok(found.size > 120, `${found.size} functions`);
  const known = new Set([...Object.keys(calls), ...Object.keys(forwarding)]);
  assert.deepEqual(
    [...found].filter((name) => !known.has(name) && !callbacks.has(name)),
    [],
    "without a call",
  );
  for (const name of Object.keys(forwarding)) assert.ok(found.has(name), `${name} takes no options`);
});

/** The error of a call, thrown synchronously or asynchronously. */
async function errorOf(call: () => unknown): Promise<Error | undefined> {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
}

for (const [name, [call, valid]] of Object.entries(calls)) {
  Deno.test(`${name} rejects an unknown option by name`, async () => {
    const accepted = await errorOf(() => call(valid as never));
    assert.doesNotMatch(accepted?.message ?? "", /unknown option|the option \w+ is missing|the options are/);
    const failure = await errorOf(() => call({ ...valid, unheardOf: 1 } as never));
    assert.ok(failure instanceof OptionError, `${failure}`);
    assert.deepEqual([failure.code, failure.option], ["unknown-option", "unheardOf"]);
    assert.match(failure.message, /^[\w.:, ]+: unknown option unheardOf; (did you mean \w+\?|expected \w+)/);
    const first = name.replace(/^new /, "").split(/[.( ]/).filter((word) => word !== "Tensor")[0];
    assert.match(failure.message, new RegExp(first === "ModelStream" ? "^model.stream: " : `^${first}\\b`));
  });

  Deno.test(`${name} rejects options that are not an object`, async () => {
    for (const wrong of [true, 3, "rk4", [1], null]) {
      const failure = await errorOf(() => call(wrong as never));
      assert.ok(failure, `${JSON.stringify(wrong)} passes`);
      assert.doesNotMatch(failure.message, /is not a function|Cannot |undefined \(|is not iterable/);
    }
  });
}

Deno.test("save rejects an unknown option when it returns bytes", async () => {
  await assert.rejects(
    save(tensor([1]), { metadta: {} } as object),
    /^OptionError: save: unknown option metadta; did you mean metadata\?$/,
  );
});

const shared = namesOf<{ stepSize?: number; learningRate: number }>()("stepSize? learningRate");
const names = namesOf<
  { stepSize?: number; learningRate: number; keepDims?: boolean; dropout?: number }
>()(shared, "keepDims? dropout?");

Deno.test("a list of options names each with its mark, and has no other name", () => {
  const options = namesOf<{ key: number; dtype?: string }>();
  assert.deepEqual(options("key dtype?"), { key: "required", dtype: "optional" });
  // @ts-expect-error: the option dtype is missing.
  options("key");
  // @ts-expect-error: the option dtype is optional.
  options("key dtype");
  // @ts-expect-error: there is no option seed.
  options("key dtype? seed?");
});

Deno.test("the error of an unknown option suggests the nearest known option", () => {
  const nearest: Record<string, string | undefined> = {
    step_size: "stepSize",
    stepsize: "stepSize",
    "step-size": "stepSize",
    keepdim: "keepDims",
    keepdims: "keepDims",
    dropoutt: "dropout",
    lr: "learningRate",
    learning_rate: "learningRate",
    momentum: undefined,
    d: undefined,
  };
  for (const [name, expected] of Object.entries(nearest)) {
    assert.equal(nearestName(name, Object.keys(names)), expected, name);
  }
  const check = (options: object) => () => checkOptions("odeint", options as { learningRate: number }, names);
  assert.throws(check({ learningRate: 1, step_size: 0.1 }), {
    code: "unknown-option",
    option: "step_size",
    expected: "stepSize, learningRate, keepDims or dropout",
    fix: "did you mean stepSize?",
    message: "odeint: unknown option step_size; did you mean stepSize?",
  });
  assert.throws(check({ learningRate: 1, momentum: 0.1 }), {
    message: "odeint: unknown option momentum; expected stepSize, learningRate, keepDims or dropout",
  });
  assert.throws(check({ stepSize: 1 }), {
    code: "missing-option",
    option: "learningRate",
    message: "odeint: the option learningRate is missing; expected an object with learningRate",
  });
  assert.throws(check({ learningRate: 1, momentum: undefined }), /unknown option momentum/);
  assert.throws(
    check(
      new (class Options {
        learningRate = 1;
        lr = 2;
      })(),
    ),
    /unknown option lr/,
  );
  assert.throws(check(Object.create({ lr: 1 })), /unknown option lr/);
  check({ learningRate: 1 })();
  check(Object.assign(Object.create(null), { learningRate: 1 }))();
});
