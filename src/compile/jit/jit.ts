/** `jit`: what a function queues on a device is kept the first time, and queued again without the function later. */
import {
  capture,
  type Captured,
  flushDeferred,
  isCaptured,
  isCapturing,
  JitError,
} from "../../device/capture.ts";
import { currentDevice } from "../../device/current.ts";
import type { Buffer, BufferView, CapturedCommands, Device, View } from "../../device/device.ts";
import { identity } from "../../device/scalar.ts";
import { keepBuffer } from "../../device/buffer_scope.ts";
import { hostSpan, isProfiling } from "../../device/profiler.ts";
import { allocateView, copy, hasBuffer } from "../../device/view.ts";
import { collectHostReads, type HostRead, takeOverHostValues } from "../../tensor/host.ts";
import { isRecording, type TensorSpec } from "../../tensor/primitive.ts";
import { isKey, type Key } from "../../tensor/random.ts";
import { buffersOf } from "../../tensor/scope.ts";
import { Symbolic, watchTensors } from "../../tensor/symbolic.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { foldTree, rebuild, type Tree, treeLeaves, withLeaves } from "../../tensor/tree.ts";
import { fuse } from "./fuse.ts";
import { numberOf } from "../program/identity.ts";

/** Traces of a function that are kept, those that were used last. */
const maxTraces = 16;

/** Traces of a function that are worth a warning. */
const manyTraces = 64;

/**
 * Traces a function once for each structure, shapes and types of its arguments, and then replays what it computes without
 * running it: a whole training step, gradients and optimiser included.
 *
 * - Tensors and random keys of the arguments may differ from call to call, wherever they lie in plain objects and arrays. All
 *   else (numbers, strings, other objects) is static: each value is traced on its own, as JAX's `static_argnums` are. A number
 *   that changes in every call belongs in a tensor. A typed array is told by its numbers, all of which are looked at in every
 *   call; any other object is told by its identity, and what is changed in it goes unnoticed.
 * - Tensors that the function closes over have the values of the moment of each call, such as parameters that an optimiser has
 *   changed. An optimiser inside counts its steps and takes its learning rate as it is at each call. Other variables keep the
 *   values that they had when the function was traced.
 * - Nothing can be read back inside: no `await x.data()`, no branch on values, no method that chooses its steps or iterations
 *   from values. Use `condition.where(a, b)`, methods of fixed steps, or steps found before by `findOdeintSteps`.
 * - Only what is returned outlives a call.
 *
 * Under a gradient tape, in the body of a loop and inside another function of `jit`, the function itself is run: gradients of
 * it are what they would be without. Take the gradient inside instead.
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
 * @param f Takes and returns tensors in plain objects and arrays; it must not be `async`.
 * @returns A function of the same arguments with the same results. It throws a {@linkcode JitError} where it cannot be traced:
 * what the function has done up to there is done.
 * @throws {TypeError} If `f` is not a function.
 */
export function jit<A extends Tree[], R>(f: (...args: A) => R): (...args: A) => R {
  if (typeof f !== "function") {
    throw new TypeError(`jit: expected a function, got ${f === null ? "null" : typeof f}`);
  }
  const traces = new Map<string, Trace<R>>();
  let count = 0;
  /** Positions of tensors that are copied to memory of the trace, by signature: callers bring others each time. */
  const copied = new Map<string, Set<number>>();
  const run = (args: A): R => {
    const call = readArguments(args);
    if (isRecording() || isCapturing() || call.tensors.some((x) => x.storage instanceof Symbolic)) {
      return f(...args);
    }
    // Commands captured under a profile tell of their spans.
    const signature = isProfiling() ? `profiled ${call.signature}` : call.signature;
    let trace = traces.get(signature);
    if (trace) {
      const moved = trace.moved(call);
      // Copies would be apart from what they share memory with.
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
        `weft: jit has traced a function ${manyTraces} times, which is slow: each number of its arguments and each shape is traced ` +
          "on its own, and so are values that decide what is computed; pass numbers that change as tensors",
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
  return (...args) => hostSpan("jit: arguments, one command after another, results", () => run(args));
}

/** The arguments of a call, taken apart. */
interface Call {
  readonly args: readonly unknown[];
  /** Each once. */
  readonly tensors: readonly Tensor[];
  readonly keys: readonly Key[];
  /** The same for calls that one trace serves. */
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
      return `${dtype}[${shape}]${storage instanceof Symbolic ? "" : numberOf(value.device)}`;
    }
    if (isKey(value)) {
      keys.push(value);
      return "key";
    }
    if (typeof value === "object" && value !== null) {
      if (isTypedArray(value)) return `${value.constructor.name}[${Array.from(value, leaf)}]`;
      return `object ${numberOf(value)}`;
    }
    if (typeof value === "function") return `function ${numberOf(value)}`;
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

/** Whether a value is an array of numbers whose contents may change in place. */
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

/** A tensor with memory of its own, which lives as long as something refers to it. */
function newTensor(device: Device, { shape, dtype }: TensorSpec): Tensor {
  const view = allocateView(device, shape, dtype);
  keepBuffer(view.source);
  return new Tensor(view);
}

/** A traced function: commands that compute it again. */
class Trace<R> {
  readonly #device: Device;
  /** The tensors of the arguments that the function was traced with: the caller's, or those that his are copied to. */
  readonly #inside: readonly Tensor[];
  /** The view of each when the function was traced. */
  readonly #storages: readonly unknown[];
  /** Positions of tensors that are copied. */
  readonly #copied: readonly number[];
  /** Positions of tensors that the function assigns to, themselves or by a view of their memory. */
  readonly #assigned: ReadonlySet<number>;
  /** Other memory that it assigns to. */
  readonly #written = new Set<View["source"]>();
  /** Tensors from outside that are no arguments, and the memory of each. */
  readonly #outside: ReadonlySet<Tensor | View["source"]>;
  readonly #keys: readonly Tensor[];
  /** Tensors from outside, and where the memory of each was. */
  readonly #closedOver = new Map<Tensor, View>();
  readonly #captured: Captured<(call: Call) => R>;
  readonly #reads: readonly HostRead[];

  // deno-lint-ignore no-explicit-any
  constructor(f: (...args: any[]) => R, call: Call, copied: ReadonlySet<number>) {
    const device = this.#device = call.tensors.length > 0 ? call.tensors[0].device : currentDevice();
    this.#copied = [...copied];
    this.#inside = call.tensors.map((x, i) => copied.has(i) ? newTensor(device, x) : x);
    this.#storages = this.#inside.map(({ storage }) => storage);
    this.#keys = call.keys.map(() => newTensor(device, { shape: [2], dtype: "uint32" }));
    this.#fill(call);

    const tensors = new Map(call.tensors.map((x, i) => [x, this.#inside[i]]));
    const args = argumentsWith(call.args, tensors, this.#keys);
    const made = new WeakSet<Tensor>();
    const watcher = {
      made: (x: Tensor) => void made.add(x),
      assigned: (memory: View["source"]) => typeof memory !== "number" && void this.#written.add(memory),
      used: (x: Tensor, storage: View | Symbolic) => {
        if (made.has(x) || this.#closedOver.has(x)) return;
        if (storage instanceof Symbolic) {
          throw new JitError(
            "jit: a function called in a loop's body closes over a tensor of the body: pass it as an argument",
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
            "jit: the function is async, but must return tensors at once; who calls it waits for their values",
          );
        }
        flushDeferred(new Set(buffersOf(result)));
        return this.#outputsOf(result, made);
      }, isProfiling() ? undefined : fuse)
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

  /** Makers of a call's results. Memory of the trace is copied, since the next call writes to it again. */
  #outputsOf(result: R, made: WeakSet<Tensor>): (call: Call) => R {
    const own = new Set(
      [...this.#copied.map((i) => this.#inside[i]), ...this.#keys].map((x) => x.view.source),
    );
    const outputs = treeLeaves(result).map((x): (call: Call) => Tensor => {
      const position = this.#inside.indexOf(x);
      if (position >= 0) return ({ tensors }) => tensors[position];
      if (!made.has(x)) return () => x;
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

  /** The positions of tensors that are not where the function found them. */
  moved({ tensors }: Call): number[] {
    return this.#storages.flatMap((storage, i) =>
      tensors[i].storage === storage || this.#copied.includes(i) ? [] : [i]
    );
  }

  /** Whether an argument that is to be copied is closed over too, or shares memory that is assigned to. */
  isAliased({ tensors }: Call, moved: readonly number[]): boolean {
    return [...this.#copied, ...moved].some((i) => {
      const { source } = tensors[i].view;
      const isAssigned = this.#assigned.has(i);
      if (this.#outside.has(tensors[i]) || isAssigned && this.#outside.has(source)) return true;
      if (this.#written.has(source)) return true;
      // Another argument, where one of the two is assigned to.
      return typeof source !== "number" && this.#assigned.size > 0 &&
        tensors.some((x, j) => j !== i && x.view.source === source && (isAssigned || this.#assigned.has(j)));
    });
  }

  /** Takes up a call's arguments. Returns whether all else is as it was when the function was traced. */
  takes(call: Call): boolean {
    for (const [x, view] of this.#closedOver) {
      if (x.storage !== view || hasBuffer(view) && view.source.freed) return false;
    }
    this.#fill(call);
    return this.#reads.every((isUnchanged) => isUnchanged());
  }

  /** Copies arguments to where the function reads them. */
  #fill({ tensors, keys }: Call): void {
    for (const i of this.#copied) {
      this.#device.map(identity, [tensors[i].view], this.#inside[i].view as BufferView);
      takeOverHostValues(tensors[i], this.#inside[i]);
    }
    keys.forEach((key, i) => {
      const view = this.#keys[i].view as BufferView;
      if (key instanceof Tensor) this.#device.map(identity, [key.view], view);
      else this.#device.write(view.source, Uint32Array.from(key));
    });
  }

  /** Computes again what the function computed. */
  replay(): void {
    const { numbers, commands } = this.#captured;
    for (const { view, compute } of numbers) this.#device.write(view.source, compute());
    commands.play();
  }

  /** A call's results, once they have been computed. */
  results(call: Call): R {
    for (const i of this.#assigned) {
      if (this.#copied.includes(i)) call.tensors[i].assign(this.#inside[i]);
    }
    return this.#captured.result(call);
  }

  /** Gives its memory back. */
  free(): void {
    collected.unregister(this);
    this.#captured.commands.free();
  }
}

const collected = new FinalizationRegistry<CapturedCommands>((commands) => commands.free());
