/** `jit`: captures the commands that a function queues on a device in its first call, and replays them in later calls. */
import {
  capture,
  type Captured,
  flushDeferred,
  isCaptured,
  isCapturing,
  JitError,
} from "../../device/capture.ts";
import { currentDevice } from "../../device/current.ts";
import type { Buffer, BufferView, CapturedCommands, KernelDevice, View } from "../../device/device.ts";
import { identity } from "../../device/scalar/scalar.ts";
import { keepBuffer } from "../../device/memory/buffer_scope.ts";
import { hostSpan, isProfiling } from "../../device/profiler.ts";
import { allocateView, copy, hasBuffer } from "../../device/view.ts";
import { collectHostReads, copyHostValues, type HostRead } from "../../tensor/host.ts";
import { isRecording, type TensorSpec } from "../../tensor/primitive.ts";
import { isKey, type Key, markKey } from "../../tensor/random.ts";
import { buffersOf } from "../../tensor/scope.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import { Tensor, watchTensors } from "../../tensor/tensor.ts";
import { foldTree, rebuild, type Tree, treeLeaves, withLeaves } from "../../tensor/tree.ts";
import { fuseDeferred } from "./fuse_deferred.ts";
import { idOf } from "../program/identity.ts";

/** Maximum cached traces of a function. */
const maxTraces = 16;

/** Number of traces of a function that logs a warning. */
const manyTraces = 64;

/**
 * Traces a function by running it once per structure, shapes and types of its arguments. Later calls replay the computation
 * without running the function. The first call that passes other tensors than the call before traces once more: from then on,
 * each call copies these arguments. A traced function can be a whole training step, with gradients and optimiser.
 *
 * - Tensors and random keys of the arguments may differ from call to call, anywhere in plain objects and arrays. All other
 *   values (numbers, strings, other objects) are static: each value has a separate trace, as with `static_argnums` of JAX. Pass
 *   a number that changes in every call as a tensor. Typed arrays are compared by their numbers in every call. Other objects are
 *   compared by identity: changes inside them have no effect.
 * - Tensors that the function closes over, such as parameters that an optimiser changes, have their current values in each call.
 *   An optimiser in the function counts its steps and uses its current learning rate. Other variables keep their values from
 *   the time of tracing.
 * - The function cannot read from the device: no `await x.data()`, no branch on values, no `implicit_adams`. Use
 *   `condition.where(a, b)`. An adaptive solve chooses its steps again in each call; on WebGPU it needs steps from
 *   `findOdeintSteps`.
 * - Only returned tensors stay valid after a call.
 *
 * Under a gradient tape, in the body of a loop and inside another function of `jit`, the original function runs, so gradients
 * are correct but nothing is replayed. Compute the gradient inside the function instead.
 *
 * @example
 * ```ts
 * import { Adam, jit, key, Linear, meanSquaredError, normal, type Tensor, valueAndGrad } from "@weft/weft";
 *
 * const model = Linear({ inputs: 3, outputs: 1, key: key(0) });
 * const optimizer = Adam(model.parameters, { learningRate: 1e-3 });
 * const step = jit((x: Tensor, y: Tensor) => {
 *   const [loss, gradients] = valueAndGrad(() => meanSquaredError(model(x), y))(model.parameters);
 *   optimizer.step(gradients);
 *   return loss;
 * });
 * for (let i = 0; i < 100; i++) step(normal(key(i), [8, 3]), normal(key(i), [8, 1]));
 * ```
 *
 * @param f Takes and returns tensors in plain objects and arrays. It must not be `async`.
 * @returns A function with the same arguments and results. It throws a {@linkcode JitError} if `f` cannot be traced. Assignments
 * before the error take effect.
 * @throws {TypeError} If `f` is not a function.
 */
export function jit<A extends Tree[], R>(f: (...args: A) => R): (...args: A) => R {
  if (typeof f !== "function") {
    throw new TypeError(`jit: expected a function, got ${f === null ? "null" : typeof f}`);
  }
  const traces = new Map<string, Trace<R>>();
  let count = 0;
  /** Positions of arguments that are copied to memory of the trace, because calls pass different tensors; by signature. */
  const copied = new Map<string, Set<number>>();
  const run = (args: A): R => {
    const call = readArguments(args);
    if (isRecording() || isCapturing() || call.tensors.some((x) => x.storage instanceof Symbolic)) {
      return f(...args);
    }
    // Commands that are captured under a profile report spans.
    const signature = isProfiling() ? `profiled ${call.signature}` : call.signature;
    let trace = traces.get(signature);
    if (trace) {
      const moved = trace.moved(call);
      // A copy of an argument would not see assignments to the memory that it shares with other tensors.
      if (trace.isAliased(call, moved)) return f(...args);
      if (moved.length === 0 && trace.takes(call)) {
        trace.replay();
        return trace.results(call);
      }
      copied.set(signature, new Set([...copied.get(signature) ?? [], ...moved]));
      traces.delete(signature);
      trace.free();
    }
    if (++count === manyTraces) {
      console.warn(
        `weft: jit has traced a function ${manyTraces} times, which is slow: each new number and each new shape ` +
          "among its arguments starts a new trace, and so does a change of other host values that it reads; " +
          "pass numbers that change as tensors",
      );
    }
    trace = new Trace(f, call, copied.get(signature) ?? new Set());
    traces.set(signature, trace);
    if (traces.size > maxTraces) {
      const [[first, oldest]] = traces;
      traces.delete(first);
      oldest.free();
    }
    return trace.results(call);
  };
  return (...args) => hostSpan("jit: reads arguments, replays commands, returns results", () => run(args));
}

/** The arguments of a call. */
interface Call {
  readonly args: readonly unknown[];
  /** All tensors among the arguments, without duplicates. */
  readonly tensors: readonly Tensor[];
  readonly keys: readonly Key[];
  /** A text that is equal for calls with the same trace. */
  readonly signature: string;
}

function readArguments(args: readonly unknown[]): Call {
  const tensors = new Map<Tensor, number>();
  const keys: Key[] = [];
  const leaf = (value: unknown): string => {
    if (value instanceof Tensor) {
      const position = tensors.get(value);
      if (position !== undefined) return `=${position}`;
      tensors.set(value, tensors.size);
      const { storage, dtype, shape } = value;
      return `${dtype}[${shape}]${storage instanceof Symbolic ? "" : idOf(value.device)}`;
    }
    if (isKey(value)) {
      keys.push(value);
      return "key";
    }
    if (typeof value === "object" && value !== null) {
      if (isTypedArray(value)) return `${value.constructor.name}[${Array.from(value, leaf)}]`;
      return `object ${idOf(value)}`;
    }
    if (typeof value === "function") return `function ${idOf(value)}`;
    if (typeof value === "string") return JSON.stringify(value);
    return Object.is(value, -0) ? "-0" : `${typeof value} ${String(value)}`;
  };
  const join = (container: object, names: readonly string[], members: readonly string[]) => {
    const isDense = Array.isArray(container) && container.length === names.length;
    const named = () => names.map((name, i) => `${JSON.stringify(name)}:${members[i]}`);
    return isDense ? `[${members}]` : `${Array.isArray(container) ? container.length : ""}{${named()}}`;
  };
  return { args, signature: foldTree(args, leaf, join, isKey), tensors: [...tensors.keys()], keys };
}

/** Whether a value is a typed array, whose numbers may change. */
function isTypedArray(value: object): value is ArrayLike<unknown> {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** Arguments with other tensors and keys. */
function argumentsWith(
  args: readonly unknown[],
  tensors: ReadonlyMap<Tensor, Tensor>,
  keys: readonly Key[],
): unknown[] {
  let position = 0;
  const leaf = (value: unknown): unknown => {
    if (value instanceof Tensor) return tensors.get(value);
    return isKey(value) ? keys[position++] : value;
  };
  return foldTree<unknown>(args, leaf, rebuild, isKey) as unknown[];
}

/** A tensor with new memory, which scopes do not release. */
function newTensor(device: KernelDevice, { shape, dtype }: TensorSpec): Tensor {
  const view = allocateView(device, shape, dtype);
  keepBuffer(view.source);
  return new Tensor(view);
}

/** A trace of a function under `jit`: the captured commands, and the tensors that they read and write. */
class Trace<R> {
  readonly #device: KernelDevice;
  /** The tensors that the function was traced with: tensors of the caller, or copies. */
  readonly #inside: readonly Tensor[];
  /** Their views when the function was traced. */
  readonly #storages: readonly unknown[];
  /** Positions of tensors that are copied. */
  readonly #copied: readonly number[];
  /** Positions of tensors that the function assigns to, directly or through a view. */
  readonly #assigned: ReadonlySet<number>;
  /** Other memory that the function assigns to. */
  readonly #written = new Set<View["source"]>();
  /** Tensors that the function closes over besides the arguments, and their memory. */
  readonly #outside: ReadonlySet<Tensor | View["source"]>;
  readonly #keys: readonly Tensor[];
  /** Tensors that were created outside of the function, and their views when it was traced. */
  readonly #closedOver = new Map<Tensor, View>();
  readonly #captured: Captured<(call: Call) => R>;
  readonly #reads: readonly HostRead[];

  // deno-lint-ignore no-explicit-any
  constructor(f: (...args: any[]) => R, call: Call, copied: ReadonlySet<number>) {
    const device = this.#device = call.tensors.length > 0 ? call.tensors[0].memoryDevice : currentDevice();
    this.#copied = [...copied];
    this.#inside = call.tensors.map((x, i) => copied.has(i) ? newTensor(device, x) : x);
    this.#storages = this.#inside.map(({ storage }) => storage);
    this.#keys = call.keys.map(() => markKey(newTensor(device, { shape: [2], dtype: "uint32" })));
    this.#fill(call);

    const tensors = new Map(call.tensors.map((x, i) => [x, this.#inside[i]]));
    const args = argumentsWith(call.args, tensors, this.#keys);
    const ownTensors = new WeakSet<Tensor>();
    const watcher = {
      created: (x: Tensor) => void ownTensors.add(x),
      assigned: (memory: View["source"]) => typeof memory !== "number" && void this.#written.add(memory),
      used: (x: Tensor, storage: View | Symbolic) => {
        if (ownTensors.has(x) || this.#closedOver.has(x)) return;
        if (storage instanceof Symbolic) {
          throw new JitError(
            "jit: a function called in the body of a loop, jvp or vmap closes over a tensor of the body: pass it as an argument",
          );
        }
        this.#closedOver.set(x, storage);
      },
    };
    const { result: captured, reads } = collectHostReads(() =>
      capture(device, () => {
        const result = watchTensors(watcher, () => f(...args));
        if (result instanceof Promise) {
          result.catch(() => {});
          throw new JitError(
            "jit: the function is async; make it synchronous, return tensors, and await their values outside",
          );
        }
        flushDeferred(new Set(buffersOf(result)));
        return this.#outputsOf(result, ownTensors);
      }, isProfiling() ? undefined : fuseDeferred)
    );
    this.#captured = captured;
    this.#reads = reads;
    const isWritten = ({ view }: Tensor) => this.#written.delete(view.source);
    this.#assigned = new Set(this.#inside.flatMap((x, i) => isWritten(x) ? [i] : []));
    const outside = [...this.#closedOver].filter(([x]) => !this.#inside.includes(x));
    this.#outside = new Set(
      outside.flatMap(([x, { source }]) => typeof source === "number" ? [x] : [x, source]),
    );
    collected.register(this, captured.commands, this);
  }

  /** Returns a function that makes the results of a call. Memory of the trace is copied, because the next call overwrites it. */
  #outputsOf(result: R, ownTensors: WeakSet<Tensor>): (call: Call) => R {
    const own = new Set(
      [...this.#copied.map((i) => this.#inside[i]), ...this.#keys].map((x) => x.view.source),
    );
    const outputs = treeLeaves(result).map((x): (call: Call) => Tensor => {
      const position = this.#inside.indexOf(x);
      if (position >= 0) return ({ tensors }) => tensors[position];
      if (!ownTensors.has(x)) return () => x;
      const { view } = x;
      if (!hasBuffer(view) || !isCaptured(view.source) && !own.has(view.source)) {
        return () => new Tensor(view);
      }
      const { device, memory } = view.source;
      const pinned = { ...view, source: { device, memory } as Buffer };
      return () => new Tensor(copy(device, pinned));
    });
    return (call) => withLeaves(result, outputs.map((output) => output(call)));
  }

  /** Positions of arguments whose memory differs from the memory at the time of tracing. */
  moved({ tensors }: Call): number[] {
    return this.#storages.flatMap((storage, i) =>
      tensors[i].storage === storage || this.#copied.includes(i) ? [] : [i]
    );
  }

  /** Whether a copied argument is also closed over, or shares memory that the function assigns to. */
  isAliased({ tensors }: Call, moved: readonly number[]): boolean {
    return [...this.#copied, ...moved].some((i) => {
      const { source } = tensors[i].view;
      const isAssigned = this.#assigned.has(i);
      if (this.#outside.has(tensors[i]) || isAssigned && this.#outside.has(source)) return true;
      if (this.#written.has(source)) return true;
      // Two arguments share memory, and the function assigns to one of them.
      return typeof source !== "number" && this.#assigned.size > 0 &&
        tensors.some((x, j) => j !== i && x.view.source === source && (isAssigned || this.#assigned.has(j)));
    });
  }

  /** Copies the arguments of a call. Returns whether everything else is unchanged since the function was traced. */
  takes(call: Call): boolean {
    for (const [x, view] of this.#closedOver) {
      if (x.storage !== view || hasBuffer(view) && view.source.freed) return false;
    }
    this.#fill(call);
    return this.#reads.every((isUnchanged) => isUnchanged());
  }

  /** Copies arguments to the memory of the trace. */
  #fill({ tensors, keys }: Call): void {
    for (const i of this.#copied) {
      this.#device.map(identity, [tensors[i].view], this.#inside[i].view as BufferView);
      copyHostValues(tensors[i], this.#inside[i]);
    }
    keys.forEach((key, i) => {
      const view = this.#keys[i].view as BufferView;
      if (key instanceof Tensor) this.#device.map(identity, [key.view], view);
      else this.#device.write(view.source, Uint32Array.from(key));
    });
  }

  /** Queues the captured commands. */
  replay(): void {
    const { numbers, commands } = this.#captured;
    for (const { view, compute } of numbers) this.#device.write(view.source, compute());
    commands.play();
  }

  /** The results of a call, after its commands are queued. */
  results(call: Call): R {
    for (const i of this.#assigned) {
      if (this.#copied.includes(i)) call.tensors[i].assign(this.#inside[i]);
    }
    return this.#captured.result(call);
  }

  /** Releases the memory of the trace. */
  free(): void {
    collected.unregister(this);
    this.#captured.commands.free();
  }
}

const collected = new FinalizationRegistry<CapturedCommands>((commands) => commands.free());
