/** Factors of the gradients of weights: the rows of all samples that a step multiplies, kept for many steps. */
import type { BufferView, Device } from "../../../device/device.ts";
import { bytesPerElement } from "../../../device/dtype.ts";
import { identity } from "../../../device/scalar.ts";
import { contiguousStrides, sizeOf } from "../../../device/shape.ts";
import { allocateView } from "../../../device/view.ts";
import type { Run } from "../run.ts";
import type { AccumulateKernel, Operand, Program } from "../../program/program.ts";
import { addProduct } from "../add_product.ts";
import type { Arrays } from "./arrays.ts";
import type { Instruction } from "./kernels.ts";

/** One side of a product. */
interface Side {
  /** Writes down the rows of a step, where they have to be. */
  readonly keep?: Instruction;
  /** The rows of the steps from one to before another, `(terms, columns)`. */
  readonly rows: (first: number, end: number) => BufferView;
}

/** Keeps the rows of so many steps and adds up their products. */
export class ProductRows {
  /** Steps that it holds. */
  readonly steps: number;
  readonly #device: Device;
  readonly #products: { readonly gradient: number; readonly left: Side; readonly right: Side }[];
  readonly #memory: BufferView[] = [];
  readonly #gradients: BufferView[] = [];
  /** The row that it begins with. */
  #first = 0;

  /** @param maxBytes What it may take, though it holds a step at least. */
  constructor(device: Device, program: Program, arrays: Arrays, { batch, steps }: Run, maxBytes: number) {
    this.#device = device;
    const kernels = program.kernels.filter((kernel): kernel is AccumulateKernel =>
      kernel.kind === "accumulate"
    );
    const columnsOf = ({ shape }: Operand) => shape[1];
    const isKept = (operand: Operand) => !arrays.rowsOf(operand, columnsOf(operand));
    const sizes = kernels.flatMap(({ a, b }) =>
      [a, b].filter(isKept).map(({ shape }) => batch * sizeOf(shape))
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0) * bytesPerElement(program.dtype);
    this.steps = Math.max(1, Math.min(steps, Math.floor(maxBytes / Math.max(1, bytes))));
    const sideOf = (operand: Operand): Side => {
      const columns = columnsOf(operand);
      const given = arrays.rowsOf(operand, columns);
      if (given) return { rows: given };
      const source = arrays.window(operand);
      const shape = [batch, ...operand.shape];
      const size = sizeOf(shape);
      const memory = allocateView(device, [this.steps, size], operand.dtype);
      this.#memory.push(memory);
      return {
        keep: (row) => {
          const offset = (row - this.#first) * size;
          device.map(identity, [source(row)], {
            ...memory,
            shape,
            strides: contiguousStrides(shape),
            offset,
          });
        },
        rows: (first, end) => ({
          ...memory,
          shape: [(end - first) * size / columns, columns],
          strides: [columns, 1],
        }),
      };
    };
    this.#products = kernels.map(({ a, b, gradient }) => ({ gradient, left: sideOf(a), right: sideOf(b) }));
  }

  /** Instructions of a step for the accumulating kernels, in their order. */
  get instructions(): Instruction[] {
    return this.#products.map(({ left, right }) => (row) => {
      left.keep?.(row);
      right.keep?.(row);
    });
  }

  /** The sums of all products so far. */
  get weightGradients(): readonly BufferView[] {
    return this.#gradients;
  }

  /** Starts anew with the steps from one row on. */
  begin(first: number): void {
    this.#first = first;
  }

  /** Adds the products of the rows from the first to before `end`. */
  multiply(end: number): void {
    for (const { gradient, left, right } of this.#products) {
      const [a, b] = [left, right].map(({ rows }) => rows(this.#first, end));
      this.#gradients[gradient] = addProduct(this.#device, a, b, this.#gradients[gradient]);
    }
  }

  /** Frees what is not a result. */
  free(): void {
    for (const { source } of this.#memory) source.free();
  }
}
