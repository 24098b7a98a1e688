import type { DType } from "../../device/dtype.ts";
import { parameterOf } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { eye, ones, zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { scan } from "../../compile/loop/scan.ts";
import { type Key, normal, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { SequenceLayer } from "../diagonal/stack.ts";
import { blockProduct, type MatrixStructure, structuredMatrices } from "./structures.ts";
import { blockRecurrence, rescale } from "./block_recurrence.ts";
import { matrixExponential } from "./exponential.ts";
import { logsignatureChannels } from "../../paths/signature.ts";
import { wordMatrices } from "./word_matrices.ts";

/** The source of the increments of a control, from rows x_0, x_1, ...: see `StructuredCDEOptions`. */
export type StructuredCDEControl = "values" | "changes";

/** The step of the state: exp(A(dX)) h, or (1 + A(dX)) h. */
export type StructuredCDEForm = "exponential" | "euler";

/** A layer of a structured CDE. */
interface ControlledLayerOptions {
  /** Channels of the rows; with a signature depth, channels of the series whose words the rows have. */
  readonly inputs: number;
  readonly features: number;
  readonly stateSize: number;
  readonly structure: MatrixStructure;
  readonly form: StructuredCDEForm;
  readonly control: StructuredCDEControl;
  readonly signatureDepth: number;
  readonly initialScale: number;
  readonly slopeScale: number;
  readonly key: Key;
  readonly dtype?: DType;
}

/**
 * A linear CDE with structured matrices: W h_k + b of its states h_k. Only the direction of a state counts: every step
 * divides the state by its root mean square, so that no series is too long for floats.
 */
export function controlledLayer(name: string, options: ControlledLayerOptions): SequenceLayer {
  const { inputs, features, stateSize: d, structure, form, control, signatureDepth, slopeScale, dtype } =
    options;
  const [matrixKey, startKey, readKey] = splitKey(options.key, 3);
  const channels = control === "values" ? inputs + 1 : inputs;
  const matrices = structuredMatrices(name, structure, {
    ...{ channels, size: d, scale: options.initialScale, key: matrixKey, dtype },
  });
  const { algebra } = matrices;
  if (signatureDepth > 1 && !algebra) {
    throw new RangeError(
      `${name}: signatureDepth is ${signatureDepth}, but brackets of matrices of this structure do not have the ` +
        'structure; choose "diagonal", { blockSize } or "dense", or signatureDepth 1',
    );
  }
  const words = signatureDepth > 1 ? wordMatrices(channels, signatureDepth, algebra!) : undefined;
  const rowLength = signatureDepth > 1 ? logsignatureChannels(inputs, signatureDepth) : inputs;
  const output = Linear({ inputs: d, outputs: features, key: readKey, dtype });
  const initial = control === "values"
    ? parameterOf(() => normal(startKey, [d], { dtype }))
    : Linear({ inputs, outputs: d, key: startKey, dtype });

  const scaled = (increments: Tensor) => slopeScale === 1 ? increments : increments.mul(slopeScale);
  const coefficients = (increments: Tensor) =>
    words ? scaled(increments).matmul(words()) : matrices.coefficients(scaled(increments));
  /** Transitions of coefficients with blocks, `(..., d / b, b, b)`. */
  const transitions = (a: Tensor) => {
    const blocks = matrices.blocks(a);
    if (form === "exponential") return matrixExponential(blocks);
    return blocks.add(eye(blocks.shape.at(-1)!, { dtype: a.dtype }));
  };
  const next = (a: Tensor, h: Tensor): Tensor =>
    rescale(form === "exponential" ? blockProduct(transitions(a), h) : h.add(matrices.apply(a, h)));
  /** States `(length, batch, d)` of coefficients `(length, batch, size)`. */
  const statesOf = (a: Tensor, start: Tensor): Tensor => {
    if (form === "exponential" || algebra) return blockRecurrence(transitions(a), start);
    return scan(
      (h: Tensor, row: Tensor): [Tensor, Tensor] => {
        const after = next(row, h);
        return [after, after];
      },
      start,
      a,
    )[1];
  };
  const shared = { output: output.parameters };

  if (!(typeof initial === "function")) {
    const withSteps = (x: Tensor) =>
      concatenate([ones([...x.shape.slice(0, -1), 1], { dtype: x.dtype }), x], -1);
    const start = (batch: number) => initial.broadcastTo([batch, d]);
    return {
      parameters: { matrices: matrices.parameters, initial, ...shared },
      all(x) {
        const a = coefficients(withSteps(x.transpose(0, 1)));
        return output(statesOf(a, start(x.shape[0]))).transpose(0, 1);
      },
      start,
      step(row, state) {
        const h = next(coefficients(withSteps(row)), state as Tensor);
        return [h, output(h)];
      },
    };
  }
  const start = (row: Tensor) => initial(row.slice(-1, 0, inputs));
  type State = { h: Tensor; before: Tensor; begun: Tensor };
  return {
    parameters: { matrices: matrices.parameters, initial: initial.parameters, ...shared },
    all(x) {
      const rows = x.transpose(0, 1);
      const changes = rows.slice(0, 1).sub(rows.slice(0, 0, -1)).pad([[1, 0], [0, 0], [0, 0]]);
      return output(statesOf(coefficients(changes), start(x.select(1, 0)))).transpose(0, 1);
    },
    start: (batch) => ({
      h: zeros([batch, d], { dtype }),
      before: zeros([batch, rowLength], { dtype }),
      begun: zeros([batch, 1], { dtype }),
    }),
    step(row, state) {
      const { h, before, begun } = state as State;
      const from = begun.greater(0).where(h, start(row));
      const after = next(coefficients(row.sub(before).mul(begun)), from);
      return [{ h: after, before: row, begun: begun.mul(0).add(1) }, output(after)];
    },
  };
}
