/**
 * A primitive is an object with the rules of an operation: name, shape, execution on a device, gradient, batching, and the
 * operation inside a compiled loop. All other operations are composed of primitives.
 */
import { kernelDevice } from "../device/capture.ts";
import { describe } from "../device/describe.ts";
import type { Device, View } from "../device/device.ts";
import type { DType } from "../device/dtype.ts";
import { currentDevice } from "../device/current.ts";
import type { Shape } from "../device/shape.ts";
import type { Pullback } from "./pullback.ts";
import { Symbolic } from "./symbolic.ts";
import { Tensor, watcher } from "./tensor.ts";

/** Shape and type of a tensor, known before it is computed. */
export interface TensorSpec {
  readonly shape: Shape;
  readonly dtype: DType;
}

/** The reason that a primitive has no rule, for error messages. */
interface NoRule {
  readonly none: string;
}

/** An operation that the compiler of loops knows. Parameters are those of the primitive of this name in `primitives/`. */
export type LoopOperation =
  | "map"
  | "reduce"
  | "matmul"
  | "gather"
  | "reshape"
  | "permute"
  | "broadcastTo"
  | "slice"
  | "pad"
  | "concatenate";

/** An operand of a batch of calls. */
export interface Batched {
  /** `(batch, ...shape)` if the operand varies over the batch, else `shape`. */
  readonly tensor: Tensor;
  readonly varies: boolean;
}

/**
 * Computes all calls of a batch at once, as JAX's batching rules. At least one operand varies. The result has shape
 * `(batch, ...output.shape)`.
 */
type Batch<P> = (inputs: readonly Batched[], batch: number, params: P, output: TensorSpec) => Tensor;

/** One operation. `P` holds what is not a tensor: axes, lengths, a scalar function. */
export interface Primitive<P> {
  readonly name: string;
  /**
   * The result's shape and type.
   *
   * @throws {ShapeError | TypeError} If the inputs do not fit.
   */
  infer(inputs: readonly TensorSpec[], params: P): TensorSpec;
  /** Computes the result, or a view of an input that is the result. */
  run(device: Device, inputs: readonly View[], params: P, output: TensorSpec): View;
  /**
   * The gradient rule, the only one: gradient tapes and compiled loops both apply it. `"none"` where no gradient flows to any
   * input.
   */
  readonly pullback: Pullback<P> | "none";
  /**
   * Computes all calls of a batch, such as all steps of a loop, at once. `"elementwise"`: apply the primitive to operands
   * with the batch as the first axis.
   */
  readonly batch: Batch<P> | "elementwise" | NoRule;
  /** The operation inside a compiled loop. A loop with a primitive without such an operation runs step by step. */
  readonly lower: LoopOperation | NoRule;
}

/** Records operations on symbolic tensors instead of computing them. */
export interface Trace {
  /** Number of gradient tapes that were watching when the trace began. */
  readonly recorderDepth: number;
  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor;
  /** A symbol for a tensor from outside. */
  lift(x: Tensor): Tensor;
}

/** The trace of a symbolic tensor; undefined for a tensor with values. */
export function traceOf({ storage }: Tensor): Trace | undefined {
  return storage instanceof Symbolic ? storage.trace as Trace : undefined;
}

/** Watches operations: a gradient tape. */
export interface Recorder {
  /** Whether gradients flow to a tensor. */
  watches(x: Tensor): boolean;
  /** Whether what was recorded reads the memory of a tensor, or wrote it. */
  reads(x: Tensor): boolean;
  record(
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    /** Gradients with respect to the inputs that are wanted, from those with respect to the outputs. */
    pullback: (
      cotangents: readonly (Tensor | undefined)[],
      wanted: readonly boolean[],
    ) => readonly (Tensor | undefined)[],
  ): void;
}

let recorders: readonly Recorder[] = [];

/** Whether a gradient tape is watching. */
export function isRecording(): boolean {
  return recorders.length > 0;
}

/** Whether a gradient with respect to a tensor, or to what it was computed from, is being asked for. */
export function isWatched(x: Tensor): boolean {
  return recorders.some((recorder) => recorder.watches(x));
}

/** Number of recorders that are watching. */
export function recorderDepth(): number {
  return recorders.length;
}

/** Runs `body` under exactly these recorders. */
function withRecorders<T>(active: readonly Recorder[], body: () => T): T {
  const before = recorders;
  recorders = active;
  try {
    return body();
  } finally {
    recorders = before;
  }
}

/** Runs `body` with one more recorder. */
export function recordWith<T>(recorder: Recorder, body: () => T): T {
  return withRecorders([...recorders, recorder], body);
}

/** Runs `body` unseen by the recorders. */
export function withoutRecording<T>(body: () => T): T {
  return withRecorders([], body);
}

/** Tells the recorders of an operation with a gradient of its own. */
export function record(...[inputs, outputs, pullback]: Parameters<Recorder["record"]>): void {
  // Recorders that were there before a trace began must not see its symbols: they are told of the loop as a whole.
  const first = traceOf(outputs[0])?.recorderDepth ?? 0;
  for (let i = first; i < recorders.length; i++) recorders[i].record(inputs, outputs, pullback);
}

/** Results that may be had again, by primitive and by the names of its operands. */
interface SharedResults {
  readonly recorders: readonly Recorder[];
  readonly known: Map<unknown, Map<string, Tensor>>;
  readonly names: Map<Tensor, number>;
}

let shared: SharedResults | undefined;

/**
 * Runs `body`, in which the same operation on the same tensors is computed once. For traces: each stage of a solve transposes
 * its weights anew, or multiplies them, and a graph sees that the results are the same only then.
 */
export function sharingResults<T>(body: () => T): T {
  const before = shared;
  shared = { recorders, known: new Map(), names: new Map() };
  try {
    return body();
  } finally {
    shared = before;
  }
}

/**
 * Tells that a tensor takes over the values of another.
 *
 * @throws {Error} While the body of a loop is traced, or if a gradient needs the values that the tensor has.
 */
export function noteAssignment(to: Tensor, values: Tensor): void {
  if (shared && to !== values) {
    throw new Error(
      "assign: the body of a compiled loop runs once for all steps, and so would this: make the tensor a part of the state, or " +
        "give compile: false",
    );
  }
  if (to !== values && recorders.some((recorder) => recorder.reads(to))) {
    throw new Error(
      "assign: a gradient that is being recorded needs the values that the tensor has now: assign after grad, or to another tensor",
    );
  }
  watcher?.assigned(to.view.source);
}

/** A text for an operation's operands that is the same for the same tensors and for equal numbers. */
function nameOf({ names }: SharedResults, inputs: readonly Tensor[], params: unknown): string {
  const parts = inputs.map((input) => {
    const { source, shape, dtype } = input.view;
    if (typeof source === "number") return `${Object.is(source, -0) ? "-0" : source} ${dtype} ${shape}`;
    if (!names.has(input)) names.set(input, names.size);
    return `#${names.get(input)}`;
  });
  return `${parts.join("; ")} | ${JSON.stringify(params)}`;
}

/** Applies a primitive: at once on the device, or, for symbolic inputs, as a new node of their trace. */
export function apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P): Tensor {
  let trace: Trace | undefined;
  inputs.forEach((input, i) => {
    if (!(input instanceof Tensor)) {
      throw new TypeError(`${primitive.name}: operand ${i} is ${describe(input)}, expected a tensor`);
    }
    trace ??= traceOf(input);
  });
  // Another tape must see an operation.
  const sharing = !trace && shared?.recorders === recorders ? shared : undefined;
  const name = sharing ? nameOf(sharing, inputs, params) : "";
  const known = sharing?.known.get(primitive)?.get(name);
  if (known && !(typeof known.view.source !== "number" && known.view.source.freed)) return known;
  const spec = primitive.infer(inputs, params);
  const output = trace ? trace.apply(primitive, inputs, params, spec) : new Tensor(
    primitive.run(kernelDevice(deviceOf(primitive.name, inputs)), inputs.map((x) => x.view), params, spec),
  );
  if (sharing) {
    const results = sharing.known.get(primitive) ?? new Map<string, Tensor>();
    sharing.known.set(primitive, results.set(name, output));
  }
  const { pullback } = primitive;
  if (recorders.length > 0 && pullback !== "none") {
    record(inputs, [output], ([cotangent], wanted) => pullback(cotangent!, inputs, output, params, wanted));
  }
  return output;
}

/**
 * The device that the inputs live on; the current one when they are all plain numbers.
 *
 * @param device That of other inputs.
 * @throws {Error} If there is more than one.
 */
export function deviceOf(operation: string, inputs: readonly Tensor[], device?: Device): Device {
  for (const { view: { source } } of inputs) {
    if (typeof source === "number" || source.device === device) continue;
    if (device) {
      throw new Error(
        `${operation}: one tensor is on ${device.info.kind}, another on ${source.device.info.kind}; ` +
          "move one with await x.to(device)",
      );
    }
    device = source.device;
  }
  return device ?? currentDevice();
}
