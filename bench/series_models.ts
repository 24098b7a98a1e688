/**
 * Measures every model of `neuralModels` at the sizes of CharacterTrajectories: number of parameters, and
 * seconds and memory of a training step.
 */
import {
  addTime,
  bernoulli,
  crossEntropy,
  CubicSpline,
  GRUODE,
  key,
  naturalCubicCoeffs,
  NeuralCDE,
  normal,
  type ParameterTree,
  type Tensor,
  tensor,
  zeros,
} from "../mod.ts";
import { loadKind } from "../src/series/models/model_settings.ts";
import { neuralModels } from "../src/series/models/neural/neural_models.ts";
import { seriesForm } from "../src/series/models/series_reading.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { parameterCount } from "../src/nn/layer.ts";
import { main } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { training } from "./models.ts";
import { openDevice, timeStep, withTimingOptions } from "./timing.ts";

const sizes = { batch: 32, length: 182, inputChannels: 4, outputChannels: 20 };
/** Appendix D.2 of the paper: models without a network as vector field are wider. */
const networks = { hidden: 32, width: 32, depth: 3 };
const wider = ["gru-ode", "gru-dt", "gru-d"];
/** Megabytes reported in the paper's table 1. */
const published: Readonly<Record<string, number>> = {
  "gru-ode": 1.5,
  "gru-dt": 15.8,
  "gru-d": 17.0,
  "ode-rnn": 14.8,
  "neural-cde": 1.3,
};

interface Model {
  readonly parameters: ParameterTree;
  readonly output: () => Tensor;
}

/** The models by name, and two of the paper's models again with the paper's adjoint. */
function modelsOf(x: Tensor): [name: string, make: () => Model | Promise<Model>][] {
  const { batch, length, inputChannels, outputChannels } = sizes;
  const channels = { inputChannels, outputChannels, key: key(1) };
  // WARP's state consists of the weights of a network: bench warp measures it.
  const names = Object.keys(neuralModels).filter((name) => name !== "warp");
  const named = names.map((name): [string, () => Promise<Model>] => [name, async () => {
    const { make, reads } = await loadKind(neuralModels, name);
    const model = make({ ...channels, ...networks, hidden: wider.includes(name) ? 47 : 32 });
    const form = seriesForm(reads);
    const read = form.read(x);
    const lengths = tensor(new Int32Array(batch).fill(form.gridPoints(length)), { dtype: "int32" });
    return { parameters: model.parameters, output: () => model(read, { lengths }) };
  }]);
  const X = CubicSpline(naturalCubicCoeffs(x));
  const adjoint = "continuous";
  return [
    ...named,
    ["neural-cde, continuous adjoint", () => {
      const model = NeuralCDE({ ...channels, hiddenChannels: 32, width: 32, depth: 3, adjoint });
      return { parameters: model.parameters, output: () => model(X) };
    }],
    ["gru-ode, continuous adjoint", () => {
      const model = GRUODE({ ...channels, hiddenChannels: 47, adjoint });
      return { parameters: model.parameters, output: () => model(X) };
    }],
  ];
}

const program = withTimingOptions(
  benchCommand("series-models")
    .option("--out <file>", "file of the table", "bench/results/series_models.md"),
);

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { out, repeats, ...deviceOptions } = program.opts<
    { out: string; repeats: number; threads: number; device: "cpu" }
  >();
  const device = await openDevice(deviceOptions);
  const { batch, length, inputChannels } = sizes;
  const walks = normal(key(0), [batch, length, inputChannels - 1]).cumsum(1).div(Math.sqrt(length));
  const seen = bernoulli(key(2), 0.7, [batch, length, 1]);
  const times = Float64Array.from({ length }, (_, t) => t / 10);
  const x = addTime(seen.where(walks, NaN), times);
  const labels = zeros([batch], { dtype: "int32" });
  const rows: string[][] = [];
  for (const [name, make] of modelsOf(x)) {
    const { parameters, output } = await make();
    const loss = () => crossEntropy(output(), labels);
    const { step, memory } = await timeStep(device, training({ loss, parameters }), repeats);
    const megabytes = memory === undefined ? "" : (memory / 1e6).toFixed(1);
    rows.push([
      name,
      parameterCount(parameters).toLocaleString("en"),
      (1000 * step).toFixed(0),
      megabytes,
      `${published[name] ?? ""}`,
    ]);
    console.log(rows.at(-1)!.join("  "));
  }
  const head = ["`--model`", "parameters", "ms per step", "MB per step", "MB in the paper"];
  const text = [
    "# Models that read series",
    `Loss and gradient of a batch of ${batch} series of ${length} rows, time and three channels, 30 % of the rows missing: the ` +
    "sizes of CharacterTrajectories, with the hidden sizes of Kidger et al., 2020, appendix D.2, and 32 for other models. " +
    "MB is the peak memory besides parameters and data. The paper uses the continuous adjoint for Neural CDE, GRU-ODE and " +
    "ODE-RNN; here gradients are the exact gradients of the steps unless stated. " +
    `Measured on ${device.info.description} by \`deno task bench series-models\`.`,
    markdownTable([head, ...rows]),
  ];
  await Deno.writeTextFile(out, `${text.join("\n\n")}\n`);
  return 0;
});
