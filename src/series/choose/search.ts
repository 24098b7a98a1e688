/** Random settings of one model, which a search compares. */
import { unitPair } from "../../data/host_random.ts";
import type { Key } from "../../tensor/random.ts";
import type { Candidate } from "./auto.ts";
import type { ModelKind } from "../models/model_settings.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Values of a setting of a model that a search draws from. */
const values = {
  hidden: [16, 32, 64],
  width: [32, 64, 128],
  depth: [1, 2],
  heads: [2, 4, 8],
  feedForward: [32, 64, 128],
  signatureDepth: [1, 2, 3],
} as const;

/** Smallest and largest learning rate, which is drawn evenly on a logarithmic scale. */
const [minRate, maxRate] = [0.001, 0.02];

/**
 * Settings that a search compares: first those of the run, then random ones. Given sizes do not change,
 * except `hidden`.
 *
 * @param baseSettings Settings of the run.
 * @param count Number of candidates, at least 1.
 */
export function searchCandidates(
  baseSettings: SeriesSettings,
  { takes }: ModelKind,
  count: number,
  key: Key,
): Candidate[] {
  const model = baseSettings.model!;
  const settings = baseSettings as unknown as Readonly<Record<string, unknown>>;
  // The number of hidden features and the learning rate always have a value, so they are always drawn.
  const names = (Object.keys(values) as (keyof typeof values)[]).filter((name) =>
    takes.includes(name) && (name === "hidden" || settings[name] === undefined)
  );
  const drawn = Array.from({ length: count - 1 }, (_, candidate): Candidate => {
    const start = candidate * (names.length + 1);
    const [rate, ...numbers] = Array.from(
      { length: names.length + 1 },
      (_, i) => unitPair(key, start + i)[0],
    );
    const chosen = Object.fromEntries(names.map((name, i) => {
      const choices = values[name];
      return [name, choices[Math.min(choices.length - 1, Math.floor(numbers[i] * choices.length))]];
    }));
    const learningRate = Number((minRate * (maxRate / minRate) ** rate).toPrecision(2));
    const all = { ...chosen, learningRate };
    const text = Object.entries(all).map(([name, value]) => `${name} ${value}`).join(", ");
    return { label: `${model} with ${text}`, chosen: { model, ...all } };
  });
  return [{ label: `${model} with the settings of the run`, chosen: { model } }, ...drawn];
}
