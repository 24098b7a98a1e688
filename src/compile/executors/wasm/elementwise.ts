/** Elementwise kernels and reductions of fused expressions. */
import { ScalarEmitter } from "../../../device/cpu/assembler/scalar_wasm.ts";
import type { FunctionBuilder, Local, Opcode } from "../../../device/cpu/assembler/wasm.ts";
import { collapse } from "../../../device/collapse.ts";
import { lower as lowerMath } from "../../../device/scalar/float32_math.ts";
import type { Scalar } from "../../../device/scalar/scalar.ts";
import { textOf } from "../../../device/scalar/structure_text.ts";
import type { MapKernel, Operand, ReduceKernel } from "../../program/program.ts";
import { loadKey, type Tile } from "./tile.ts";

/** The pointer of an operand, and its strides in bytes, outermost axis first. */
interface Pointer {
  readonly operand: Operand;
  readonly local: Local;
  readonly steps: readonly number[];
}

export function mapKernel(kernel: MapKernel, tile: Tile): FunctionBuilder {
  const { output, operands, expression } = kernel;
  const all = [output, ...operands];
  const walk = collapse(output.shape, all.map((operand) => operand.strides));
  const key = `map ${textOf(expression)} ${walk.shape} | ${walk.strides.join(" ; ")} | ${
    operands.map(loadKey)
  }`;
  return tile.function(key, all.map(() => "address"), (f) => {
    const pointers = f.params.map((local, i): Pointer => ({
      operand: all[i],
      local,
      steps: walk.strides[i].map((stride) => stride * tile.unitOf(all[i])),
    }));
    const [target, ...sources] = pointers;
    walkElements(
      tile,
      f,
      expression,
      walk.shape,
      sources,
      [target],
      (pushes, element) => {
        const results = pushes.map((push) => () => {
          push();
          if (expression.type === "bool") f.op("i32x4.neg"); // All ones become 1.
        });
        f.storeVectors(target.local, results, element * (target.steps.at(-1) ?? 0));
      },
    );
  });
}

export function reduceKernel(kernel: ReduceKernel, tile: Tile): FunctionBuilder {
  const { output, operands, expression, axes, shape, reduction } = kernel;
  const key = `${reduction} ${textOf(expression)} ${shape} over ${axes} | ${output.strides} | ${
    operands.map((operand) => operand.strides).join(" ; ")
  } | ${operands.map(loadKey)}`;
  return tile.function(key, [output, ...operands].map(() => "address"), (f) => {
    const keptAxes = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
    const lengths = (along: readonly number[]) => along.map((axis) => shape[axis]);
    const inner = collapse(lengths(axes), operands.map(({ strides }) => axes.map((axis) => strides[axis])));
    const bytes = (strides: readonly number[], i: number) =>
      strides.map((stride) => stride * tile.unitOf(operands[i]));
    const sources = operands.map((operand, i): Pointer => ({
      operand,
      local: f.params[1 + i],
      steps: bytes(inner.strides[i], i),
    }));
    const target = { local: f.params[0], steps: keptAxes.map((axis) => output.strides[axis] * tile.unit) };
    const outer = operands.map(({ strides }, i) => ({
      local: f.params[1 + i],
      steps: bytes(keptAxes.map((axis) => strides[axis]), i),
    }));
    const isEmpty = axes.some((axis) => shape[axis] === 0);
    const sums = f.locals("v128", tile.vectors);
    const { vector, add, start } = output.dtype === "int32"
      ? {
        vector: "i32x4",
        add: { sum: "add", max: "max_s", min: "min_s" }[reduction],
        start: { sum: 0, max: -(2 ** 31), min: 2 ** 31 - 1 }[reduction],
      }
      : {
        vector: tile.floats,
        add: { sum: "add", max: "max", min: "min" }[reduction],
        start: { sum: 0, max: -Infinity, min: Infinity }[reduction],
      };
    const pushStart = () =>
      vector === "i32x4" ? f.i32x4(start) : vector === "f32x4" ? f.f32x4(start) : f.f64x2(start);
    tile.nest(f, lengths(keptAxes), [target, ...outer], () => {
      for (const sum of sums) f.set(sum, pushStart);
      if (!isEmpty) {
        walkElements(
          tile,
          f,
          expression,
          inner.shape,
          sources,
          [],
          (pushes) =>
            sums.forEach((sum, v) => f.set(sum, () => f.op(`${vector}.${add}` as Opcode, sum, pushes[v]))),
        );
        // Reset the pointers, because the outer axes step from the start of the reduction.
        for (const { local, steps } of sources) {
          if (inner.shape.length > 0 && steps[0] !== 0) f.increment(local, -inner.shape[0] * steps[0]);
        }
      }
      f.storeVectors(f.params[0], sums);
    });
  });
}

/** Maximum operations of an unrolled loop body. */
const maxUnrolled = 64;

/**
 * Emits loops over elements that compute an expression for each, with the innermost axis unrolled. Subexpressions that do not
 * change along the innermost axis are hoisted out of its loop.
 *
 * @param others Pointers besides the operands, which move too.
 * @param use Called with code that pushes the vectors of an unrolled element.
 */
function walkElements(
  tile: Tile,
  f: FunctionBuilder,
  expression: Scalar,
  shape: readonly number[],
  operands: readonly Pointer[],
  others: readonly Pointer[],
  use: (pushes: readonly (() => void)[], element: number) => void,
): void {
  const length = shape.at(-1) ?? 1;
  const stepOf = ({ steps }: Pointer) => steps.at(-1) ?? 0;
  const uniform = new Set(operands.flatMap((pointer, i) => length > 1 && stepOf(pointer) === 0 ? [i] : []));
  const root = lowerMath(expression);
  const emitters = Array.from(
    { length: tile.vectors },
    () => new ScalarEmitter(tile.module, f, root, uniform),
  );
  emitters.forEach((emitter) => emitter.emitConstants());
  const leaves = (v: number, element: number) => ({
    input: (i: number) => {
      const { operand, local } = operands[i];
      tile.loadVector(f, operand, local, v, element * stepOf(operands[i]));
    },
    index: () => {
      throw new Error("the position of an element is not available in a compiled loop");
    },
  });
  const all = [...others, ...operands];
  const most = all.some((pointer) => stepOf(pointer) < 0)
    ? 1
    : Math.max(1, Math.floor(maxUnrolled / Math.max(1, emitters[0].operations)));
  const together = [8, 7, 6, 5, 4, 3, 2].find((count) => count <= most && length % count === 0) ?? 1;
  const pointers = all.map(({ local, steps }) => ({
    local,
    steps: steps.map((step, axis) => axis === steps.length - 1 ? step * together : step),
  }));
  const lengths = shape.map((length, axis) => axis === shape.length - 1 ? length / together : length);
  tile.nest(f, lengths, pointers, () => {
    for (let element = 0; element < together; element++) {
      use(emitters.map((emitter, v) => () => emitter.emit(leaves(v, element))), element);
    }
  }, () => {
    if (uniform.size > 0) emitters.forEach((emitter, v) => emitter.emitUniform(leaves(v, 0)));
  });
}
