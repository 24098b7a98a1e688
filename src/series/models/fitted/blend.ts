/** A blend of models that are fitted in closed form: a weighted mean of their predictions. */
import { parameterOf } from "../../../nn/layer.ts";
import { tensor, zeros } from "../../../tensor/creation.ts";
import { concatenate } from "../../../tensor/functions.ts";
import { tidy } from "../../../tensor/scope.ts";
import { chooseWeights } from "../../math/choose_weights.ts";
import { log } from "../../math/elementary.ts";
import { fitTemperature, probabilitiesOf } from "../../math/temperature.ts";
import type { DataRecord } from "../../record/data_record.ts";
import { fittedNetwork } from "./fitted_networks.ts";
import {
  type FittedModelKind,
  outputsInBatches,
  requireFiniteOutputs,
  type SeriesNetwork,
  type SeriesNetworkOptions,
} from "../series_network.ts";

/** Smallest probability whose logarithm is a score. */
const minProbability = 1e-12;

/** Models by name. `since` is the first version of the record whose blends have the model; 1 by default. */
export type BlendMembers = Readonly<
  Record<string, FittedModelKind & { readonly since?: DataRecord["version"] }>
>;

/**
 * A weighted mean of the numbers or the class probabilities of some models (stacking: Wolpert, 1992). The weights are at
 * least 0 and add up to 1. They have the smallest error of the predictions for series that the models did not learn
 * from (Breiman, "Stacked Regressions", 1996).
 *
 * @param kinds The models by name, at least one.
 */
export function blendNetwork(
  kinds: BlendMembers,
  options: SeriesNetworkOptions,
  outputs: number,
): Omit<SeriesNetwork, "members" | "memberOutputs"> {
  const isNumbers = options.record.targets !== undefined;
  const { version } = options.record;
  const members = Object.entries(kinds).filter(([, { since = 1 }]) => since <= version)
    .map(([name, { network }]) => ({
      name,
      ...fittedNetwork(options.fitted, name, options.record, () => network(options, outputs)),
    }));
  // Each number has its weights. All classes share the weights of their probabilities.
  const weights = parameterOf(() => zeros([members.length, isNumbers ? outputs : 1]));
  const temperatures = parameterOf(() => zeros([members.length, 1]));
  const parameters = {
    weights,
    ...(isNumbers ? {} : { temperatures }),
    ...Object.fromEntries(members.map(({ name, parameters }) => [name, parameters])),
  };
  const inputs: SeriesNetwork["inputs"] = (series) => ({
    // Members read series in different forms, so the inputs are their outputs.
    coeffs: concatenate(members.map((member) => member.outputs(member.inputs(series))), -1),
    lengths: tensor(new Int32Array(series.length), { dtype: "int32" }),
  });
  const outputsOf: SeriesNetwork["outputs"] = ({ coeffs }) => {
    const predictions = coeffs.reshape([-1, members.length, outputs]);
    if (isNumbers) return predictions.mul(weights).sum(-2);
    return predictions.div(temperatures).softmax().mul(weights).sum(-2).maximum(minProbability).log();
  };
  return {
    parameters,
    regularised: parameters,
    bytesOf: () => Infinity,
    inputs,
    outputs: outputsOf,
    lengthOf: () => 1,
    async read(series) {
      const rows = await outputsInBatches(series, () => 1, (some) => outputsOf(inputs(some)));
      rows.forEach((row, i) => requireFiniteOutputs(series[i].name, row));
      return rows;
    },
    async fit(series, targets) {
      const leftOut: Float64Array[] = [];
      for (const { fit } of members) leftOut.push(await fit!(series, targets));
      const rowsOf = (numbers: Float64Array) =>
        series.map((_, i) => numbers.subarray(i * outputs, (i + 1) * outputs));
      const labels = series.map(({ label }) => label);
      const fitted = leftOut.map((numbers) => isNumbers ? 1 : fitTemperature(rowsOf(numbers), labels));
      const predictions = isNumbers
        ? leftOut
        : leftOut.map((numbers, m) =>
          Float64Array.from(rowsOf(numbers).flatMap((row) => probabilitiesOf(row, fitted[m])))
        );
      const truth = isNumbers ? targets : targets.map((target) => target > 0 ? 1 : 0);
      const found = chooseWeights(predictions, truth, isNumbers ? outputs : 1);
      tidy(() => {
        weights.assign(tensor(found));
        temperatures.assign(tensor(fitted, { shape: [members.length, 1] }));
      });
      const columns = found[0].length;
      const blended = targets.map((_, i) =>
        predictions.reduce((sum, numbers, m) => sum + found[m][i % columns] * numbers[i], 0)
      );
      return isNumbers ? blended : blended.map((p) => log(Math.max(p, minProbability)));
    },
    async onLoad() {
      for (const { onLoad } of members) await onLoad?.();
    },
  };
}
