/**
 * Computations whose commands depend on values. Inside `jit` on a device whose values can be read without waiting, such a computation
 * runs again in each call of the compiled function, between the commands that are replayed.
 */
import { vjp } from "../../autodiff/grad.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import { bufferScope } from "../../device/memory/buffer_scope.ts";
import { isCapturing, outsideCapture, withoutDeferring } from "../../device/capture.ts";
import type { Buffer, BufferView, KernelDevice } from "../../device/device.ts";
import { isFloat } from "../../device/dtype.ts";
import { identity } from "../../device/scalar/scalar.ts";
import { allocateView, hasBuffer, materialize } from "../../device/view.ts";
import {
  beneath,
  isRecording,
  isWatched,
  record,
  type TensorSpec,
  traceOf,
  transforming,
  withoutAnyRecording,
  withoutRecording,
} from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { Uncompilable } from "../trace/uncompilable.ts";

type Compute = (inputs: readonly Tensor[]) => readonly Tensor[];

/**
 * Computes a function of tensors. Inside `jit`, a device whose values can be read computes it again in each call; other devices
 * compute it once, in the first call.
 *
 * @param f Closes over no other tensor. It returns tensors whose shapes do not depend on values.
 * @throws {Uncompilable} Inside the body of a compiled loop.
 */
export function inEachCall(inputs: readonly Tensor[], f: Compute): readonly Tensor[] {
  if (!isCapturing()) return f(inputs);
  const trace = traceOf(inputs);
  if (!trace) {
    const device = inputs[0].memoryDevice;
    return device.readSync ? replayed(device, inputs, f) : f(inputs);
  }
  if (!(trace instanceof Transformation)) {
    throw new Uncompilable("the number of steps of an inner loop depends on values of the outer loop's body");
  }
  return trace.applyFunction(inputs, (trace, inputs) => {
    const counts = inputs.map((x) => trace.partsOf(x)?.length);
    const parts = beneath(trace, () =>
      inEachCall(inputs.flatMap((x) => trace.partsOf(x) ?? [x]), (parts) => {
        const [inner, rest] = [trace.again(), [...parts]];
        const symbols = counts.map((count) =>
          count === undefined ? rest.shift()! : inner.symbol(rest.splice(0, count))
        );
        const results = transforming(inner, () => f(symbols));
        return results.flatMap((x) => inner.allParts(x));
      }));
    return Array.from(
      { length: parts.length / trace.partCount },
      (_, i) => trace.symbol(parts.slice(i * trace.partCount, (i + 1) * trace.partCount)),
    );
  }) ?? recordedAsOne(inputs, f);
}

/** {@linkcode inEachCall}, for a tape that cannot record what a transformation outside of it computes. */
function recordedAsOne(inputs: readonly Tensor[], f: Compute): readonly Tensor[] {
  const isWanted = inputs.map((x) => isFloat(x.dtype) && isWatched(x));
  const outputs = withoutRecording(() => inEachCall(inputs, f));
  record(inputs, outputs, (cotangents) => {
    const arrived = outputs.map((x, i) => cotangents[i] ?? x.zerosLike());
    return pullAgain(inputs, arrived, f, isWanted);
  });
  return outputs;
}

/** The gradients of the wanted inputs, by computing the function again in each call. */
function pullAgain(
  inputs: readonly Tensor[],
  arrived: readonly Tensor[],
  f: Compute,
  isWanted: readonly boolean[],
): (Tensor | undefined)[] {
  const gradients = [...inEachCall([...inputs, ...arrived], (all) => {
    const own = all.slice(0, inputs.length);
    return vjp(() => [...f(own)], own.filter((_, i) => isWanted[i])).pullback(all.slice(inputs.length));
  })];
  return isWanted.map((is) => is ? gradients.shift() : undefined);
}

/** Runs a command now and in each replay, on tensors whose memory stays the same. The command is not recorded. */
function onHost(device: KernelDevice, command: () => void): void {
  withoutDeferring(() => device.runOnHost(() => outsideCapture(() => withoutAnyRecording(command))));
}

/**
 * A tensor in the memory of `x`, which commands of the capture write before each replay. Its buffer has no lifetime: `x` releases
 * the memory.
 */
function pinned(device: KernelDevice, x: Tensor): Tensor {
  const view = withoutDeferring(() => materialize(device, x.view));
  if (!hasBuffer(view)) return new Tensor(view);
  const { memory, byteLength } = view.source;
  return new Tensor({ ...view, source: { device: view.source.device, memory, byteLength } as Buffer });
}

function replayed(device: KernelDevice, inputs: readonly Tensor[], f: Compute): readonly Tensor[] {
  const pinnedInputs = inputs.map((x) => pinned(device, x));
  const isWanted = inputs.map((x) => isRecording() && isFloat(x.dtype) && isWatched(x));
  const wrt = pinnedInputs.filter((_, i) => isWanted[i]);
  const allocate = (specs: readonly TensorSpec[]) =>
    withoutDeferring(() => specs.map(({ shape, dtype }) => new Tensor(allocateView(device, shape, dtype))));
  const store = (results: readonly Tensor[], targets: readonly Tensor[]) =>
    results.forEach((x, i) => device.map(identity, [x.view], targets[i].view as BufferView));

  const specs = outsideCapture(() => withoutAnyRecording(() => tidy(() => f(pinnedInputs).map(specOf))));
  const outputs = allocate(specs);
  const targets = outputs.map((x) => pinned(device, x));
  let pullback: ((cotangents: Tensor[]) => Tensor[]) | undefined;
  let residuals: Iterable<Buffer> = [];
  const free = () => {
    for (const buffer of residuals) if (!buffer.freed) buffer.free();
    residuals = [];
  };
  onHost(device, () => {
    free();
    bufferScope(
      () => {
        if (wrt.length === 0) return store(f(pinnedInputs), targets);
        const { value, pullback: pull } = vjp(() => [...f(pinnedInputs)], wrt);
        store(value, targets);
        pullback = pull;
      },
      (_, buffers) => residuals = wrt.length === 0 ? [] : [...buffers],
    );
  });
  if (wrt.length === 0) return outputs;
  record(inputs, outputs, (cotangents) => {
    const arrived = outputs.map((x, i) => cotangents[i] ?? x.zerosLike());
    if (isRecording() || traceOf(arrived)) return pullAgain(inputs, arrived, f, isWanted);
    const from = arrived.map((x) => pinned(device, x));
    const gradients = allocate(wrt);
    const into = gradients.map((x) => pinned(device, x));
    onHost(device, () => {
      tidy(() => store(pullback!(from), into));
      free();
    });
    const rest = [...gradients];
    return isWanted.map((is) => is ? rest.shift() : undefined);
  });
  return outputs;
}

function specOf({ shape, dtype }: TensorSpec): TensorSpec {
  return { shape, dtype };
}
