/** Sequences that models read row by row. */
import { namesOf } from "../device/options.ts";
import { formatShape, refuseShape, sameShape } from "../device/shape.ts";
import { parameterOptionNames, type ParameterOptions } from "../nn/layer.ts";
import { checkTensor } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Options that models of sequences share. */
export interface SequenceOptions extends ParameterOptions {
  /** Channels of the sequences. */
  inputChannels: number;
  /** Features of the output. */
  outputChannels: number;
}

export const sequenceOptionNames = namesOf<SequenceOptions>()(
  parameterOptionNames,
  "inputChannels outputChannels",
);

/** The size of a state. */
export interface StateSize {
  /** Features of the state. */
  hiddenChannels: number;
}

/** Throws unless `x` is a batch of sequences `(batch, length, channels)` with at least one row. */
export function checkSequences(model: string, x: Tensor, channels: number): void {
  checkTensor(`${model}: x`, x);
  if (x.rank !== 3 || x.shape[1] === 0 || x.shape[2] !== channels) {
    refuseShape(`${model}: x`, x.shape, `(batch, length, ${channels}) with a length of at least 1`);
  }
}

/**
 * Arranges one value per row of sequences `x` for a loop over rows: `(length)` or `(batch, length)` becomes
 * `(length, batch, 1)`.
 */
export function toTimeMajor(name: string, values: Tensor | undefined, x: Tensor): Tensor {
  checkTensor(name, values);
  const [batch, length] = x.shape;
  if (!sameShape(values.shape, [length]) && !sameShape(values.shape, [batch, length])) {
    refuseShape(name, values.shape, `${formatShape([length])} or ${formatShape([batch, length])}`);
  }
  return values.broadcastTo([batch, length]).transpose(0, 1).expandDims(-1);
}
