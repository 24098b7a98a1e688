/** Positions of the largest or smallest elements along an axis. */
import { collapse, forEachPosition } from "../../collapse.ts";
import type { BufferView, KernelDevice } from "../../device.ts";
import { bytesPerElement, type DType, isFloat } from "../../dtype.ts";
import { recurrenceLines } from "../../recurrence.ts";
import { sizeOf } from "../../shape.ts";
import { allocateView } from "../../view.ts";
import { addressOf } from "../assembler/address.ts";
import type { FunctionBuilder, Opcode } from "../assembler/wasm.ts";
import { splitLines } from "./chunks.ts";
import type { Kernels } from "./kernels.ts";
import { type LineBody, type LineLayout, runOnLines } from "./lines.ts";

type Extremum = "max" | "min";

/**
 * See `DeviceKernels.argReduce`. A few long lines are split into chunks; the host compares the results of the
 * chunks.
 */
export function argReduce(
  device: KernelDevice,
  kernels: Kernels,
  reduction: Extremum,
  input: BufferView,
  axis: number,
  output: BufferView,
): void {
  if (sizeOf(output.shape) === 0) return;
  const split = splitLines(input.shape, axis);
  if (!split) return searchLines(kernels, reduction, input, axis, output);
  const chunks = split.chunksOf(input);
  const chunkPositions = allocateView(device, chunks.shape.with(axis + 1, 1), "int32");
  searchLines(kernels, reduction, chunks, axis + 1, chunkPositions);
  const { chunkLength } = split;
  const stride = input.strides[axis];
  const [from, candidates, to] = [input, chunkPositions, output].map(addressOf).map((address) => address / 4);
  const size = bytesPerElement(input.dtype) / 4;
  const isBetter = (value: number, best: number) => reduction === "max" ? value > best : value < best;
  const lines = collapse(output.shape, [
    input.strides,
    chunkPositions.strides.toSpliced(axis + 1, 1),
    output.strides,
  ]);
  device.runOnHost(() => {
    const values = kernels.memory.wordsOf(input.dtype);
    const positions = kernels.memory.i32;
    forEachPosition(lines, ([line, chunk, result]) => {
      const start = from / size + line;
      let best = 0;
      /** NaN counts as more extreme than any number. */
      const compare = (position: number) => {
        const [value, current] = [values[start + position * stride], values[start + best * stride]];
        if (isBetter(value, current) || value !== value && current === current) best = position;
      };
      for (let i = 0; i < split.chunks; i++) {
        compare(i * chunkLength + positions[candidates + chunk + i * chunkPositions.strides[axis]]);
      }
      for (let i = split.chunks * chunkLength; i < input.shape[axis]; i++) compare(i);
      positions[to + result] = best;
    });
  });
  chunkPositions.source.free();
}

function searchLines(
  kernels: Kernels,
  reduction: Extremum,
  input: BufferView,
  axis: number,
  output: BufferView,
): void {
  const { dtype } = input;
  const { lines, length, operands } = recurrenceLines([output, input], { axis });
  const walk = {
    lines: { shape: lines.shape, strides: lines.strides.toReversed() },
    length,
    operands: operands.toReversed(),
  };
  const name = `arg ${reduction} ${dtype}`;
  runOnLines(kernels, name, [input, output], walk, 1, (layout, f) => emitSearch(layout, f, reduction, dtype));
}

function emitSearch(
  { size, groups }: LineLayout,
  f: FunctionBuilder,
  reduction: Extremum,
  dtype: DType,
): LineBody {
  const type = dtype === "float32" ? "f32x4" : dtype === "float64" ? "f64x2" : "i32x4";
  const isUnsigned = dtype === "uint32" || dtype === "bool";
  const suffix = isFloat(dtype) ? "" : isUnsigned ? "_u" : "_s";
  const isBetter = `${type}.${reduction === "max" ? "gt" : "lt"}${suffix}` as Opcode;
  const isEqual = `${type}.eq` as Opcode;
  // Lanes of 64 bits count positions in float64.
  const isWide = size === 8;
  const [vectors, best, bestPositions] = [0, 1, 2].map(() => f.locals("v128", groups));
  const [position, mask] = f.locals("v128", 2);
  const left = f.local("i32");
  const lanes = 16 / size;
  return ({ access, operands: [input, output], length }) => {
    const load = () => {
      access.load(input.kind, input.pointers, input.places[0], vectors);
      f.increment(input.places[0], input.step);
      f.increment(left, -1);
    };
    f.set(left, length);
    load();
    vectors.forEach((vector, i) => {
      f.set(best[i], vector);
      f.set(bestPositions[i], () => f.f64x2(0));
    });
    f.set(position, () => f.f64x2(0));
    f.while(left, () => {
      load();
      f.set(
        position,
        () =>
          isWide
            ? f.op("f64x2.add", position, () => f.f64x2(1))
            : f.op("i32x4.add", position, () => f.i32x4(1)),
      );
      vectors.forEach((vector, i) => {
        f.set(mask, () => f.op(isBetter, vector, best[i]));
        if (isFloat(dtype)) {
          // NaN counts as more extreme than any number.
          const isFirstNaN = () =>
            f.op("v128.andnot", () => f.op(isEqual, best[i], best[i]), () => f.op(isEqual, vector, vector));
          f.set(mask, () => f.op("v128.or", mask, isFirstNaN));
        }
        f.set(best[i], () => f.op("v128.bitselect", vector, best[i], mask));
        f.set(bestPositions[i], () => f.op("v128.bitselect", position, bestPositions[i], mask));
      });
    });
    bestPositions.forEach((vector, group) => {
      if (isWide) f.set(vector, () => f.op("i32x4.trunc_sat_f64x2_s_zero", vector));
      for (let lane = 0; lane < lanes; lane++) {
        const line = group * lanes + lane;
        const [pointer, offset] = output.pointers.length > 1
          ? [output.pointers[line], 0]
          : [output.pointers[0], 4 * line];
        f.laneMemory("v128.store32_lane", lane, pointer, vector, offset);
      }
    });
  };
}
