import { kernelDevice, outsideCapture } from "../device/capture.ts";
import { describe } from "../device/describe.ts";
import type { Device, KernelDevice } from "../device/device.ts";
import type { DType } from "../device/dtype.ts";
import { namesOf } from "../device/options.ts";
import { formatShape, refuseShape, ShapeError } from "../device/shape.ts";
import { displayAs, printAs } from "../charts/display_symbol.ts";
import { formatLayer } from "./format_layer.ts";
import { copy, uploadView } from "../device/view.ts";
import type { Key } from "../tensor/random.ts";
import { checkDevice, checkFunction, checkTensor } from "../tensor/checks.ts";
import { keep, tidy, tidyCall } from "../tensor/scope.ts";
import { Tensor } from "../tensor/tensor.ts";
import { treeFlatten, treeLeaves } from "../tensor/tree.ts";

/**
 * Nested plain objects and arrays of tensors. `treeFlatten` gives each tensor a dotted name, such as
 * `layers.0.weight`.
 */
export type ParameterTree = Tensor | readonly ParameterTree[] | {
  readonly [name: string]: ParameterTree | undefined;
};

/** Options of everything that has initial parameters. */
export interface ParameterOptions {
  /** Random key of the initial parameters. */
  key: Key;
  /**
   * Type of the parameters.
   *
   * @default {"float32"}
   */
  dtype?: DType;
}

export const parameterOptionNames = namesOf<ParameterOptions>()("key dtype?");

/**
 * A function of tensors with its parameters attached: a layer or a whole model. `grad` identifies parameters
 * by object identity, so training only needs `valueAndGrad(() => loss(model(x)))(model.parameters)`.
 */
export type Layer<Args extends unknown[] = [x: Tensor], P extends ParameterTree = ParameterTree> =
  & ((...args: Args) => Tensor)
  & {
    /** The parameters. An optimizer updates them in place. */
    readonly parameters: P;
  };

/**
 * Makes a layer from a function and the parameters that it closes over. `console.log` prints the names and shapes of the
 * parameters.
 *
 * A call frees the tensors that `apply` makes and does not return, as functions of `grad` and `jit` do. Outside of those, it frees
 * them when the next call of a layer ends, unless they were used before. Wrap a tensor that `apply` stores in {@linkcode keep}.
 *
 * @example
 * ```ts
 * import { layer, ones, parameter, type Tensor } from "@weft/weft";
 *
 * const scale = parameter(ones([8]));
 * const Scale = layer({ scale }, (x: Tensor) => x.mul(scale));
 * ```
 */
export function layer<Args extends unknown[], P extends ParameterTree>(
  parameters: P,
  apply: (...args: Args) => Tensor,
): Layer<Args, P> {
  checkFunction("layer", "apply", apply);
  const call = (...args: Args) => tidyCall(() => apply(...args));
  const text = () => formatLayer(parameters);
  printAs(call, text);
  displayAs(call, async () => {
    const { displayParameters } = await import("./display_parameters.ts");
    return displayParameters(parameters, text());
  });
  return Object.assign(call, apply, { parameters });
}

/**
 * Copies a tensor into separate memory that outlives the current scope, so that an optimizer can update it.
 */
export function parameter(values: Tensor): Tensor {
  checkTensor("parameter: values", values);
  return keep(new Tensor(copy(kernelDevice(values.memoryDevice), values.view)));
}

/**
 * A {@linkcode parameter} from a function that makes its values. Temporaries of that function are released.
 */
export function parameterOf(values: () => Tensor): Tensor {
  return tidy(() => parameter(values()));
}

/**
 * The number of parameters of a model. A tensor with two names counts once.
 *
 * @example
 * ```ts
 * import { key, Linear, parameterCount } from "@weft/weft";
 *
 * parameterCount(Linear({ inputs: 3, outputs: 2, key: key(0) }).parameters); // 8
 * ```
 */
export function parameterCount(parameters: ParameterTree): number {
  if (typeof parameters !== "object") {
    throw new TypeError(
      `parameterCount: got ${describe(parameters)}, expected tensors; pass model.parameters`,
    );
  }
  return [...new Set(treeLeaves(parameters))].reduce((count, { size }) => count + size, 0);
}

/**
 * Moves the parameters of a model to another device, in place, as PyTorch's `module.to(device)`. Make optimizers, and call
 * functions of `jit`, after the move.
 *
 * @example
 * ```ts
 * import { init, key, Linear, toDevice } from "@weft/weft";
 *
 * const layer = Linear({ inputs: 3, outputs: 2, key: key(0) });
 * const device = await init(); // a GPU, if there is one
 * await toDevice(layer.parameters, device);
 * ```
 *
 * @param device The result of `init`, which also makes new tensors there.
 * @throws {TypeError} If there are no parameters, or a GPU does not have their type: float64.
 */
export async function toDevice(parameters: ParameterTree, device: Device): Promise<void> {
  checkDevice("toDevice", device);
  const all = [...new Set(treeLeaves(parameters))];
  if (all.length === 0) {
    throw new TypeError("toDevice: no tensors among the parameters; pass model.parameters");
  }
  const moved = await Promise.all(all.map((x) => x.to(device)));
  all.forEach((x, i) => x.storage = moved[i].view);
}

/**
 * A constant of a layer that follows a parameter of the layer to another device.
 *
 * @returns A function that returns the constant on the present device of the parameter.
 */
export function constantBeside(parameter: Tensor, values: Int32Array): () => Tensor {
  const make = (device: KernelDevice) =>
    keep(new Tensor(uploadView(device, values, [values.length], "int32")));
  let constant = make(parameter.memoryDevice);
  return () => {
    const { memoryDevice: device } = parameter;
    if (constant.device !== device) constant = outsideCapture(() => make(device));
    return constant;
  };
}

/**
 * Loads values by dotted name, in place: parameters from a checkpoint, or the state of an optimizer.
 *
 * @param parameters Tensors to overwrite.
 * @param values One tensor for each parameter, of the same shape and type. Nothing is written unless all of
 * them match.
 * @throws {Error} If a name is missing or unknown.
 * @throws {ShapeError} If a shape or a type differs.
 */
export function loadParameters(parameters: ParameterTree, values: Readonly<Record<string, Tensor>>): void {
  if (typeof values !== "object" || values === null) {
    throw new TypeError(
      `loadParameters: the values are ${describe(values)}, expected tensors by their names`,
    );
  }
  const named = treeFlatten(parameters);
  const names = new Set(named.map(([name]) => name));
  const unknown = Object.keys(values).filter((name) => !names.has(name));
  const missing = named.flatMap(([name]) => Object.hasOwn(values, name) ? [] : [name]);
  if (unknown.length > 0 || missing.length > 0) {
    const list = (label: string, keys: string[]) => keys.length > 0 ? [`${label} ${keys.join(", ")}`] : [];
    throw new Error(
      `loadParameters: ${[...list("missing", missing), ...list("unknown", unknown)].join("; ")}: ` +
        "the values belong to another model, or to a model with other options",
    );
  }
  for (const [name, x] of named) checkSame("loadParameters", name, values[name], x);
  for (const [name, x] of named) x.assign(values[name]);
}

/** Throws unless a tensor has the shape and the type of another. */
export function checkSame(operation: string, name: string, actual: Tensor, expected: Tensor): void {
  const describe = (x: Tensor) => `${x.dtype} ${formatShape(x.shape)}`;
  if (describe(actual) !== describe(expected)) {
    throw new ShapeError(`${operation}: ${name} is ${describe(actual)}, expected ${describe(expected)}`);
  }
}

/** Throws unless the last axis of an input has the number of features that the layer expects. */
export function checkFeatures(layer: string, x: Tensor, expected: number): void {
  checkTensor(`${layer}: x`, x);
  if (x.shape.at(-1) !== expected) {
    refuseShape(
      `${layer}: x`,
      x.shape,
      `(..., ${expected}): the last axis holds the ${expected} features that the layer was made for`,
    );
  }
}

/** Upper limit on the length of a parameter's axis. */
const maxCount = 2 ** 31 - 1;

/** Applies {@linkcode checkCount} to several options by name. */
export function checkCounts(layer: string, counts: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(counts)) checkCount(layer, name, value);
}

/** Throws unless an option is an integer from `min` to {@linkcode maxCount}. */
export function checkCount(layer: string, name: string, value: number, min = 1): void {
  if (!Number.isInteger(value) || value < min || value > maxCount) {
    const upTo = typeof value === "number" && value > maxCount ? ` and at most ${maxCount}` : "";
    throw new RangeError(
      `${layer}: ${name} is ${describe(value)}, expected a whole number of at least ${min}${upTo}`,
    );
  }
}
