/**
 * Writes the scaled data of an experiment, to train other implementations on the same data:
 *
 *     deno run --allow-read --allow-write bench/peers/export_data.ts mass-spring-damper-zero [LENGTH]
 *
 * writes mass-spring-damper-zero.safetensors for seed 0 with `train`, `validation` and `test`, each (series,
 * length, channels), and also `train targets` etc. if the targets differ from the series.
 */
import { save, type Tensor } from "../../mod.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { experimentNamed } from "../../tests/runs.ts";

const [name, length] = Deno.args;
const experiment = experimentNamed(name);
const settings = settingsOf(experiment, length ? { length: Number(length) } : {});
const { data } = await experiment.prepare(settings);
const tensors: Record<string, Tensor> = {};
for (const part of ["train", "validation", "test"] as const) {
  const { x, targets } = data[part] as { x: Tensor; targets?: Tensor };
  tensors[part] = x;
  if (targets) tensors[`${part} targets`] = targets;
}
await save(tensors, `${name}.safetensors`);
