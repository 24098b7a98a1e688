/** Ensembles, whose outputs are averaged, and models whose outputs are added. */
import { DataError } from "../../device/errors.ts";
import { numbersOf } from "../../models/series_streams.ts";
import type { SeriesStreams } from "../../models/series_streams.ts";
import { tensor } from "../../tensor/creation.ts";
import { stack } from "../../tensor/functions.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Averages the outputs `(..., outputs)` of the members of an ensemble, at least one. */
export type Average = (outputs: readonly Tensor[]) => Tensor;

/** Mean of the outputs. */
export const meanOutput: Average = (outputs) => {
  if (outputs.length === 1) return outputs[0];
  return outputs.reduce((sum, output) => sum.add(output)).div(outputs.length);
};

/** Scores of the mean of the class probabilities: logarithms of probabilities. */
export const meanProbability: Average = (outputs) => {
  if (outputs.length === 1) return outputs[0];
  const logs = stack(outputs.map((output) => output.logSoftmax()));
  // Subtract the largest logarithm, so that no sum of exponentials is zero.
  const top = logs.max(0);
  return logs.sub(top).exp().mean(0).log().add(top);
};

/**
 * Logit of the mean of the probabilities of the second of two classes. The single output of each member is
 * the logit of that class.
 */
export const meanLogit: Average = (outputs) => {
  if (outputs.length === 1) return outputs[0];
  const [negative, positive] = [-1, 1].map((sign) =>
    meanProbability(outputs.map((output) => stack([output.zerosLike(), output.mul(sign)], -1))).select(-1, 1)
  );
  return positive.sub(negative);
};

/** Streams of an ensemble. The state is the list of the members' states. */
export function ensembleStreams(
  members: readonly SeriesStreams[],
  average: Average,
): SeriesStreams<readonly unknown[]> {
  return {
    async push(rows, states) {
      const all = await Promise.all(
        members.map((member, m) => member.push(rows, states.map((state) => state?.[m]))),
      );
      const outputs = await tidy(() =>
        average(all.map((results) => tensor(results.map(({ outputs }) => outputs))))
      )
        .data();
      return rows.map((_, i) => ({
        outputs: numbersOf(outputs, i, rows.length),
        state: all.map((results) => results[i].state),
      }));
    },
    check(states) {
      if (!Array.isArray(states) || states.length !== members.length) {
        throw new DataError("invalid-state", `expected a state of each of ${members.length} models`);
      }
      members.forEach((member, m) => member.check(states[m]));
    },
  };
}

/**
 * Adds the outputs of a linear model to those of a network. The last numbers of each row are the outputs of the linear
 * model. The sums are rounded as on the device.
 *
 * @param share Share of the network.
 * @param outputs Number of outputs.
 */
export function addingStreams(network: SeriesStreams, share: number, outputs: number): SeriesStreams {
  return {
    check: network.check,
    async push(rows, states) {
      const results = await network.push(rows.map((row) => row.slice(0, -outputs)), states);
      return results.map(({ outputs: numbers, state }, i) => ({
        outputs: numbers.map((number, k) =>
          Math.fround(Math.fround(number * Math.fround(share)) + Math.fround(rows[i].at(k - outputs)!))
        ),
        state,
      }));
    },
  };
}
