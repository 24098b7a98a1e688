import { bytesPerElement } from "../device/dtype.ts";
import { type Scalar, topological } from "../device/scalar.ts";
import { sizeOf } from "../device/shape.ts";
import type { Program } from "./program.ts";

/** What a sample's step takes. */
export interface Cost {
  /** Scalar operations. */
  readonly operations: number;
  /** Bytes that are read from the rows and written to the outputs. */
  readonly traffic: number;
}

/** An estimate of one sample's step. */
export function costOf(program: Program): Cost {
  const bytes = bytesPerElement(program.dtype);
  const perElement = (scalar: Scalar) => topological(scalar).filter(({ args }) => args.length > 0).length;
  const operations = program.kernels.map((kernel) => {
    switch (kernel.kind) {
      case "map":
        return sizeOf(kernel.output.shape) * perElement(kernel.expression);
      case "reduce":
        return sizeOf(kernel.shape) * (1 + perElement(kernel.expression));
      case "contract":
        return 2 * sizeOf(kernel.output.shape) * kernel.a.shape.at(-1)!;
      case "gather":
        return sizeOf(kernel.output.shape) + 2 * sizeOf(kernel.indices.shape);
      case "accumulate":
        return 2 * sizeOf(kernel.a.shape) * kernel.b.shape[1];
    }
  });
  const rows = program.inputs.filter(({ role, slot }) => role === "row" && slot !== undefined);
  const elements = [...rows.map(({ size }) => size), ...program.outputs.map(({ shape }) => sizeOf(shape))];
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return { operations: sum(operations), traffic: sum(elements) * bytes };
}
