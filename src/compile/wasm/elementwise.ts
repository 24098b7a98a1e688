/** Kernels of fused expressions: element by element, and along axes. */
import { ScalarEmitter } from "../../device/cpu/scalar_wasm.ts";
import type { FunctionBuilder, Local, Opcode } from "../../device/cpu/wasm.ts";
import { collapse } from "../../device/collapse.ts";
import { lower as lowerMath } from "../../device/float32_math.ts";
import type { Scalar } from "../../device/scalar.ts";
import type { MapKernel, Operand, ReduceKernel } from "../program.ts";
import { sharing, type Tile } from "./tile.ts";

export function mapKernel(tile: Tile, kernel: MapKernel): FunctionBuilder {
  const { output, operands, expression } = kernel;
  const all = [output, ...operands];
  const walk = collapse(output.shape, all.map((operand) => operand.strides));
  const key = `map ${describe(expression)} ${walk.shape} | ${walk.strides.join(" ; ")} | ${
    operands.map(sharing)
  }`;
  return tile.function(key, all.length, (f) => {
    const emitter = scalarEmitter(tile, f, expression);
    const pointers = f.params.map((local, i) => ({
      local,
      steps: walk.strides[i].map((stride) => stride * tile.unitOf(all[i])),
    }));
    tile.nest(f, walk.shape, pointers, () => {
      for (let v = 0; v < tile.vectors; v++) {
        f.store("v128.store", f.params[0], () => {
          emitExpression(tile, f, emitter, operands, f.params.slice(1), v);
          if (expression.type === "bool") f.op("i32x4.neg"); // All ones become 1.
        }, 16 * v);
      }
    });
  });
}

export function reduceKernel(tile: Tile, kernel: ReduceKernel): FunctionBuilder {
  const { output, operands, expression, axes, shape, reduction } = kernel;
  const key = `${reduction} ${describe(expression)} ${shape} over ${axes} | ${output.strides} | ${
    operands.map((operand) => operand.strides).join(" ; ")
  } | ${operands.map(sharing)}`;
  return tile.function(key, 1 + operands.length, (f) => {
    const emitter = scalarEmitter(tile, f, expression);
    const kept = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
    const order = [...kept, ...axes];
    const lengths = order.map((axis) => shape[axis]);
    const pointers = operands.map((operand, i) => ({
      local: f.params[1 + i],
      steps: order.map((axis) => operand.strides[axis] * tile.unitOf(operand)),
    }));
    const target = { local: f.params[0], steps: kept.map((axis) => output.strides[axis] * tile.unit) };
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
    const empty = axes.some((axis) => shape[axis] === 0);
    // The outer nest counts on the inner one to have moved the pointers past its first axis.
    const inner = pointers.map(({ local, steps }) => ({ local, steps: steps.slice(kept.length) }));
    const innerLengths = lengths.slice(kept.length);
    const outer = pointers.map(({ local, steps }) => ({
      local,
      steps: steps.slice(0, kept.length),
      inside: empty ? 0 : innerLengths[0] * steps[kept.length],
    }));
    const body = () => {
      for (const sum of sums) {
        f.set(
          sum,
          () => vector === "i32x4" ? f.i32x4(start) : vector === "f32x4" ? f.f32x4(start) : f.f64x2(start),
        );
      }
      if (!empty) {
        tile.nest(f, innerLengths, inner, () => {
          sums.forEach((sum, v) => {
            f.set(sum, () =>
              f.op(
                `${vector}.${add}` as Opcode,
                sum,
                () => emitExpression(tile, f, emitter, operands, f.params.slice(1), v),
              ));
          });
        });
        // Back to where the reduction began: the outer axes step from there.
        for (const { local, inside } of outer) if (inside !== 0) f.increment(local, -inside);
      }
      sums.forEach((sum, v) => f.store("v128.store", f.params[0], sum, 16 * v));
    };
    tile.nest(f, lengths.slice(0, kept.length), [target, ...outer], body);
  });
}

function scalarEmitter(tile: Tile, f: FunctionBuilder, expression: Scalar): ScalarEmitter {
  return new ScalarEmitter(tile.module, f, lowerMath(expression), new Set());
}

/** Pushes an expression's value for one vector of an element. */
function emitExpression(
  tile: Tile,
  f: FunctionBuilder,
  emitter: ScalarEmitter,
  operands: readonly Operand[],
  pointers: readonly Local[],
  v: number,
): void {
  emitter.emit({
    input: (i) => tile.loadVector(f, operands[i], pointers[i], v),
    index: () => {
      throw new Error("a position has no meaning inside a loop");
    },
  });
}

const descriptions = new WeakMap<Scalar, string>();

/** An expression as text, equal for equal ones. */
function describe(root: Scalar): string {
  let text = descriptions.get(root);
  if (text !== undefined) return text;
  const names = new Map<Scalar, number>();
  const lines: string[] = [];
  const visit = (scalar: Scalar): number => {
    let name = names.get(scalar);
    if (name === undefined) {
      const args = scalar.args.map(visit);
      names.set(scalar, name = names.size);
      lines.push(`${scalar.op} ${scalar.type} ${scalar.value ?? ""} ${args}`);
    }
    return name;
  };
  visit(root);
  descriptions.set(root, text = lines.join(","));
  return text;
}
