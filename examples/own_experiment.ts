/**
 * A user-defined experiment: data, an option and a model. Weft's commands work for it.
 *
 *     deno run -A examples/own_experiment.ts train --help
 *     deno run -A examples/own_experiment.ts train leaky-tones --leak 0.2
 *     deno run -A examples/own_experiment.ts serve runs/leaky-tones
 */
import { concatenate, key, layer, Linear, scan, splitKey, type Tensor, uniform, zeros } from "@weft/weft";
import { readTable, type Series, type SeriesSet } from "@weft/weft/data";
import { numberOption, sizeOption, textOption, trainingOptions } from "@weft/weft/train";
import { openRows, seriesExperiment, type SeriesModelKind } from "@weft/weft/series";

/** Noisy tones: the class of a series is its frequency. */
async function tones(count: number, seed: number): Promise<SeriesSet> {
  const noise = await uniform(key(seed), [count * 33]).data();
  const series = Array.from({ length: count }, (_, i): Series => ({
    name: `tone ${i}`,
    times: Float64Array.from({ length: 32 }, (_, t) => t),
    values: Float64Array.from(
      { length: 32 },
      (_, t) => Math.sin((1 + i % 2) * t / 4 + noise[i * 33]) + noise[i * 33 + t + 1] / 2,
    ),
    label: i % 2,
  }));
  return { name: "tones", channels: ["y"], times: "number", classes: ["low", "high"], series };
}

/** h <- h + leak (tanh(W [h, x]) - h), and the class from the last h. */
const leaky: SeriesModelKind = {
  takes: ["hidden"],
  reads: "observations",
  takesStatic: false,
  make({ inputChannels, outputChannels, hidden, key }, settings) {
    const { leak } = settings as { leak: number };
    const [cellKey, readoutKey] = splitKey(key);
    const cell = Linear({ inputs: hidden + inputChannels, outputs: hidden, key: cellKey });
    const readout = Linear({ inputs: hidden, outputs: outputChannels, key: readoutKey });
    return layer({ cell: cell.parameters, readout: readout.parameters }, (form: Tensor) => {
      const { values } = openRows(form);
      const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
        const next = h.add(cell(concatenate([h, x], -1)).tanh().sub(h).mul(leak));
        return [next, next];
      };
      const [last] = scan(step, zeros([values.shape[0], hidden]), values.transpose(0, 1));
      return readout(last);
    });
  },
};

export const leakyTones = seriesExperiment({
  name: "leaky-tones",
  summary: "low and high noisy tones, classified by a leaky recurrent network",
  options: {
    data: textOption({ group: "data", help: "training table (default: generated tones)" }, "path"),
    model: textOption({ help: "model", default: "leaky" }, "name"),
    hidden: sizeOption({ help: "hidden size", default: 16 }),
    leak: numberOption({ help: "fraction of the state that a step replaces", default: 0.5 }, {
      above: 0,
      below: 1,
    }),
    ...trainingOptions({ epochs: 20, batchSize: 16, learningRate: 0.01 }),
  },
  models: { leaky },
  make: ({ data, seed }) => data === undefined ? tones(200, seed) : readTable(data, { targets: "classes" }),
  read: (source, options) => readTable(source, options),
  timeScale: () => 1,
  width: 16,
  depth: 1,
});

// Imported here, because Node can open the runs of the experiment but has no commands.
if (import.meta.main) {
  const { runCommands } = await import("@weft/weft/commands");
  Deno.exit(await runCommands([leakyTones], Deno.args));
}
