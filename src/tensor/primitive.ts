/**
 * Primitives. A primitive is an object with the rules of an operation: shape, execution on a device, gradient, batching, and the
 * operation inside a compiled loop. All other operations are composed of primitives.
 */
import { kernelDevice } from "../device/capture.ts";
import { describe, describeTwoDevices } from "../device/describe.ts";
import type { KernelDevice, View } from "../device/device.ts";
import type { DType } from "../device/dtype.ts";
import { currentDevice } from "../device/current.ts";
import type { Shape } from "../device/shape.ts";
import { Symbolic } from "./symbolic.ts";
import type { Recorder } from "./recorder.ts";
import { Tensor, watcher } from "./tensor.ts";

export type { Recorder } from "./recorder.ts";

/** Shape and type of a tensor, known before it is computed. */
export interface TensorSpec {
  readonly shape: Shape;
  readonly dtype: DType;
}

/** The reason that a primitive has no rule, for error messages. */
interface NoRule {
  readonly none: string;
}

/** An operation that compiled loops support. It has the parameters of the primitive with this name in `primitives/`. */
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

/**
 * Gradients with respect to the inputs that are wanted, from the gradient with respect to the output. `undefined` for an input whose
 * gradient is zero; gradients of inputs that are not wanted are ignored. A rule applies tensor methods and primitives only, so
 * that it can be differentiated, batched and compiled.
 *
 * The operands and the output that a rule reads are the residuals of the operation: loops save them for the gradient. The
 * compiler finds them by applying the rule to symbols (`residuals.ts`). A rule that reads the output instead of an operand, as
 * that of `tanh`, often saves memory.
 */
export type Reverse<P> = (
  cotangent: Tensor,
  inputs: readonly Tensor[],
  output: Tensor,
  params: P,
  wanted: readonly boolean[],
) => readonly (Tensor | undefined)[];

/** An operation. `P` is the type of the parameters that are not tensors, such as axes and lengths. */
export interface Primitive<P> {
  readonly name: string;
  /**
   * The result's shape and type.
   *
   * @throws {ShapeError | TypeError} If the inputs do not fit.
   */
  infer(inputs: readonly TensorSpec[], params: P): TensorSpec;
  /** Computes the result, or returns a view of an input if the result is one. */
  run(device: KernelDevice, inputs: readonly View[], params: P, output: TensorSpec): View;
  /**
   * The gradient rule, which tapes, compiled loops and `jvp` apply. `"zero"`: the gradient is zero with respect to each input, as
   * that of `sign`. `{ none: reason }`: there is a gradient but no rule, so a gradient that reaches the operation is an error.
   */
  readonly reverse: Reverse<P> | "zero" | NoRule;
  /**
   * Computes all calls of a batch, such as all steps of a loop, at once. `"elementwise"`: apply the primitive to operands
   * with the batch as the first axis.
   */
  readonly batch: Batch<P> | "elementwise" | NoRule;
  /** The operation inside a compiled loop. A loop with a primitive without such an operation runs step by step. */
  readonly lower: LoopOperation | NoRule;
}

/** Applies operations to symbols. */
export interface Trace {
  /**
   * Position in the order in which traces began. If the operands of an operation are symbols of several traces, the trace with the
   * highest level applies the operation. It treats symbols of other traces as constants.
   */
  readonly level: number;
  /** The recorders when the trace began. They do not see its symbols. */
  readonly outer: RecordingState;
  /** Whether the trace computes derivatives. */
  readonly differentiates?: boolean;
  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor;
  /** Converts a tensor from outside to an operand for symbols of the trace. */
  lift(x: Tensor): Tensor;
}

let traces = 0;

/** The level of a trace that begins now. */
export function nextLevel(): number {
  return ++traces;
}

/** The trace that applies an operation to tensors, if there are symbols among them. */
export function traceOf(tensors: readonly Tensor[]): Trace | undefined {
  let last: Trace | undefined;
  for (const { storage } of tensors) {
    if (!(storage instanceof Symbolic)) continue;
    const trace = storage.trace as Trace;
    if (!last || trace.level > last.level) last = trace;
  }
  return last;
}

/** Whether a tensor has values that could be read. */
export function hasValues({ storage }: Tensor): boolean {
  return !(storage instanceof Symbolic) || storage.hasValues;
}

let recorders: readonly Recorder[] = [];

/** Whether recorders watch from outside a transformation, such as `vmap`, whose function is running. */
let isRecordedOutside = false;

/** The innermost transformation whose function is running. */
let transformation: Trace | undefined;

/** The recorders and transformations at some moment. */
export interface RecordingState {
  readonly recorders: readonly Recorder[];
  readonly isRecordedOutside: boolean;
  readonly transformation: Trace | undefined;
}

/** The present recorders and transformations. */
export function recordingState(): RecordingState {
  return { recorders, isRecordedOutside, transformation };
}

/** Whether a gradient tape is watching, so that tensors must outlive their scope. */
export function isRecording(): boolean {
  return recorders.length > 0 || isRecordedOutside;
}

/** Whether the body of a loop, or another function, is being traced as a graph. */
let isTracing = false;

/** Runs a function that is traced as a graph. */
export function tracingGraph<T>(body: () => T): T {
  const before = isTracing;
  isTracing = true;
  try {
    return body();
  } finally {
    isTracing = before;
  }
}

/** Whether tensors must outlive their scope: a gradient tape may read them, or a graph may have them as constants. */
export function outliveScopes(): boolean {
  return isRecording() || isTracing;
}

/** Whether a gradient or tangent with respect to a tensor, or to tensors that it depends on, is being computed. */
export function isWatched(x: Tensor): boolean {
  if (recorders.some((recorder) => recorder.watches(x))) return true;
  return x.storage instanceof Symbolic && x.storage.value !== undefined;
}

/** The number of derivatives that are being computed: of gradient tapes that are watching, and of `jvp`. */
export function derivativeOrder(): number {
  let order = recorders.length;
  for (let trace = transformation; trace; trace = trace.outer.transformation) {
    if (trace.differentiates) order++;
  }
  return order;
}

/** Recorders that see no operation. */
let hidden: readonly Recorder[] = [];
const isSeen = (recorder: Recorder) => !hidden.includes(recorder);

/** {@linkcode withoutRecording}, also of operations on the parts of symbols: for values that are constants of every derivative. */
export function withoutAnyRecording<T>(body: () => T): T {
  const before = hidden;
  hidden = [...hidden, ...allRecorders()];
  try {
    return withState({ ...recordingState(), isRecordedOutside: false }, body);
  } finally {
    hidden = before;
  }
}

/** The recorders, and those from outside of transformations whose functions are running. */
function allRecorders(state = recordingState()): readonly Recorder[] {
  const { recorders, transformation } = state;
  return transformation ? [...recorders, ...allRecorders(transformation.outer)] : recorders;
}

/** Runs `body` under exactly these recorders. */
function withState<T>(state: RecordingState, body: () => T): T {
  const before = recordingState();
  ({ recorders, isRecordedOutside, transformation } = state);
  if (hidden.length > 0) {
    recorders = recorders.filter(isSeen);
    isRecordedOutside &&= allRecorders().some(isSeen);
  }
  try {
    return body();
  } finally {
    ({ recorders, isRecordedOutside, transformation } = before);
  }
}

/** Runs `body` with one more recorder. */
export function recordWith<T>(recorder: Recorder, body: () => T): T {
  return withState({ ...recordingState(), recorders: [...recorders, recorder] }, body);
}

/** Runs `body` without recording. Recorders from outside a transformation still record operations on the parts of its symbols. */
export function withoutRecording<T>(body: () => T): T {
  return withState({ ...recordingState(), recorders: [] }, body);
}

/** Runs the function of a transformation such as `vmap`, whose trace begins now. */
export function transforming<T>(trace: Trace, body: () => T): T {
  return withState({ recorders, isRecordedOutside: isRecording(), transformation: trace }, body);
}

/** Runs operations on the parts of a trace's symbols, under the recorders from before the trace began. */
export function beneath<T>({ outer }: Trace, body: () => T): T {
  return withState(outer, body);
}

/** Whether a recorder watches operations on the symbols of a trace. */
export function isRecordingWithin({ outer }: Trace): boolean {
  return recorders.some((recorder) => !outer.recorders.includes(recorder));
}

/** Records an operation with a gradient rule. */
export function record(...[inputs, outputs, reverse]: Parameters<Recorder["record"]>): void {
  recordIn(traceOf([...inputs, ...outputs]), inputs, outputs, reverse);
}

/** Records an operation that a trace has applied. Recorders from before the trace began record the trace as a whole. */
function recordIn(trace: Trace | undefined, ...operation: Parameters<Recorder["record"]>): void {
  for (const recorder of recorders) {
    if (!trace?.outer.recorders.includes(recorder)) recorder.record(...operation);
  }
}

/** Results of operations, by primitive and by the key of the operands (`nameOf`). */
interface SharedResults {
  readonly recorders: readonly Recorder[];
  readonly results: Map<unknown, Map<string, Tensor>>;
  readonly names: Map<Tensor, number>;
}

let shared: SharedResults | undefined;

/**
 * Runs `body` with elimination of common subexpressions among operations on constants: the same operation on the same tensors runs
 * once. Each stage of a solve may transpose the same weights, for example. A graph can only merge operations on the transposed
 * weights if they are the same tensor.
 */
export function withCommonSubexpressions<T>(body: () => T): T {
  const before = shared;
  shared = { recorders, results: new Map(), names: new Map() };
  try {
    return body();
  } finally {
    shared = before;
  }
}

/** Whether the body of a loop is being traced. */
export function isTracingLoop(): boolean {
  return shared !== undefined;
}

/**
 * Checks that a tensor may take over the values of another, and reports it to the watcher.
 *
 * @throws {Error} While the body of a loop is traced, inside `jvp` and `vmap`, or if a gradient needs the values that the tensor
 * has.
 */
export function beginAssignment(to: Tensor, values: Tensor): void {
  if (shared && to !== values) {
    throw new Error(
      "assign: the body of a compiled loop runs once for all steps, and so would the assignment; make the tensor a part of the state, or " +
        "set compile: false",
    );
  }
  if (to.storage instanceof Symbolic || values.storage instanceof Symbolic) {
    throw new Error(
      "assign: tensors inside jvp and vmap cannot be assigned, since they have tangents or several examples; return the values, " +
        "and assign outside",
    );
  }
  if (to !== values && recorders.some((recorder) => recorder.reads(to))) {
    throw new Error(
      "assign: a gradient that is being recorded needs the values that the tensor has now: assign after grad, or to another tensor",
    );
  }
  watcher?.assigned(to.view.source);
}

/** A key of the operands of an operation. Equal numbers have the same key. */
function nameOf({ names }: SharedResults, inputs: readonly Tensor[], params: unknown): string {
  const parts = inputs.map((input) => {
    const { source, shape, dtype } = input.view;
    if (typeof source === "number") return `${Object.is(source, -0) ? "-0" : source} ${dtype} ${shape}`;
    if (!names.has(input)) names.set(input, names.size);
    return `#${names.get(input)}`;
  });
  return `${parts.join("; ")} | ${JSON.stringify(params)}`;
}

/**
 * The gradient rule of a primitive; `undefined` if its gradient is zero.
 *
 * @returns A function that throws an error with the reason if the primitive has no rule.
 */
export function reverseOf<P>({ name, reverse }: Primitive<P>): Reverse<P> | undefined {
  if (reverse === "zero") return undefined;
  if (typeof reverse === "function") return reverse;
  return () => {
    throw new Error(`grad: ${name} has no gradient rule: ${reverse.none}`);
  };
}

/** Applies a primitive: on the device, or, if an input is a symbol, by its trace. */
export function apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P): Tensor {
  inputs.forEach((input, i) => {
    if (input instanceof Tensor) return;
    throw new TypeError(`${primitive.name}: operand ${i} is ${describe(input)}, expected a tensor`);
  });
  const trace = traceOf(inputs);
  // Only results computed under the same recorders are reused: a newer tape must record the operation itself.
  const sharing = !trace && shared?.recorders === recorders ? shared : undefined;
  const name = sharing ? nameOf(sharing, inputs, params) : "";
  const earlier = sharing?.results.get(primitive)?.get(name);
  if (earlier && !(typeof earlier.view.source !== "number" && earlier.view.source.freed)) return earlier;
  const spec = primitive.infer(inputs, params);
  const output = trace ? trace.apply(primitive, inputs, params, spec) : new Tensor(
    primitive.run(kernelDevice(deviceOf(primitive.name, inputs)), inputs.map((x) => x.view), params, spec),
  );
  if (sharing) {
    const results = sharing.results.get(primitive) ?? new Map<string, Tensor>();
    sharing.results.set(primitive, results.set(name, output));
  }
  const reverse = reverseOf(primitive);
  if (recorders.length > 0 && reverse) {
    recordIn(
      trace,
      inputs,
      [output],
      ([cotangent], wanted) => reverse(cotangent!, inputs, output, params, wanted),
    );
  }
  return output;
}

/**
 * The device of the inputs; the current device if all inputs are numbers without memory.
 *
 * @param device The device of other inputs.
 * @throws {Error} If inputs are on different devices.
 */
export function deviceOf(operation: string, inputs: readonly Tensor[], device?: KernelDevice): KernelDevice {
  for (const { view: { source } } of inputs) {
    if (typeof source === "number" || source.device === device) continue;
    if (device) {
      throw new Error(`${operation}: ${describeTwoDevices(device.info.kind, source.device.info.kind)}`);
    }
    device = source.device;
  }
  return device ?? currentDevice();
}
