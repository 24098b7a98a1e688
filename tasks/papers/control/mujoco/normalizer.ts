/** Running mean and standard deviation of observations. */
import { ones, parameter, type Tensor, tensor, tidy, zeros } from "@weft/weft";

/** Scales observations to mean 0 and standard deviation 1. */
export interface Normalizer {
  /** Means and standard deviations, which predictions need. */
  readonly parameters: { readonly mean: Tensor; readonly standardDeviation: Tensor };
  /** The count, the means and the sums of squared deviations, `(3, values)`, for checkpoints. */
  readonly state: Tensor;
  normalize(state: Tensor): Tensor;
  /** The inverse of `normalize`. */
  restore(state: Tensor): Tensor;
  /** Reads the state from its tensor. Call it before `add` after the tensor changed. */
  load(): Promise<void>;
  /** Counts an observation. */
  add(observation: readonly number[]): void;
  /** Writes the tensors. */
  update(): void;
}

/** Smallest standard deviation, so that constant values stay finite. */
const leastDeviation = 1e-6;

/** Makes a normalizer of observations with a number of values, by the algorithm of Welford, 1962. */
export function Normalizer(values: number): Normalizer {
  const mean = parameter(zeros([values]));
  const standardDeviation = parameter(ones([values]));
  const state = parameter(zeros([3, values]));
  let count = 0;
  const means = new Float64Array(values);
  const squares = new Float64Array(values);
  return {
    parameters: { mean, standardDeviation },
    state,
    normalize: (x) => x.sub(mean).div(standardDeviation),
    restore: (x) => x.mul(standardDeviation).add(mean),
    async load() {
      const loaded = await state.data();
      count = loaded[0];
      means.set(loaded.subarray(values, 2 * values));
      squares.set(loaded.subarray(2 * values));
    },
    add(observation) {
      count++;
      for (let i = 0; i < values; i++) {
        const before = observation[i] - means[i];
        means[i] += before / count;
        squares[i] += before * (observation[i] - means[i]);
      }
    },
    update() {
      tidy(() => {
        state.assign(tensor([...Array(values).fill(count), ...means, ...squares], { shape: [3, values] }));
        mean.assign(tensor([...means]));
        standardDeviation.assign(
          tensor(Array.from(squares, (sum) => Math.max(Math.sqrt(sum / Math.max(count, 1)), leastDeviation))),
        );
      });
    },
  };
}
