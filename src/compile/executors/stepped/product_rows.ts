/** Factors of weight gradients: rows of all samples and many steps, collected for one large product. */
import type { BufferView, KernelDevice } from "../../../device/device.ts";
import { bytesPerElement } from "../../../device/dtype.ts";
import { identity } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, sizeOf } from "../../../device/shape.ts";
import { allocateView } from "../../../device/view.ts";
import type { Run } from "../run.ts";
import type { AccumulateKernel, Operand, Program } from "../../program/program.ts";
import { addProduct } from "../add_product.ts";
import type { Arrays } from "./arrays.ts";
import type { Instruction } from "./device_calls.ts";

/** One factor of a product. */
interface Side {
  /** Copies the rows of a step. Undefined if the rows are an input. */
  readonly copy?: Instruction;
  /** The rows of the steps from `first` to before `end`, `(terms, columns)`. */
  readonly rows: (first: number, end: number) => BufferView;
}

/** Collects the rows of `steps` steps and adds their products. */
export class ProductRows {
  /** Number of steps whose rows fit into the memory limit. */
  readonly steps: number;
  readonly #device: KernelDevice;
  readonly #products: { readonly gradient: number; readonly left: Side; readonly right: Side }[];
  readonly #memory: BufferView[] = [];
  readonly #gradients: BufferView[] = [];
  /** Position of the first collected row. */
  #first = 0;

  /** @param maxBytes Memory limit. The rows of one step are always collected. */
  constructor(
    device: KernelDevice,
    program: Program,
    arrays: Arrays,
    { batch, steps }: Run,
    maxBytes: number,
  ) {
    this.#device = device;
    const kernels = program.kernels.filter((kernel): kernel is AccumulateKernel =>
      kernel.kind === "accumulate"
    );
    const columnsOf = ({ shape }: Operand) => shape[1];
    const isCopied = (operand: Operand) => !arrays.rowsOf(operand, columnsOf(operand));
    const sizes = kernels.flatMap(({ operands }) =>
      operands.filter(isCopied).map(({ shape }) => batch * sizeOf(shape))
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0) * bytesPerElement(program.dtype);
    this.steps = Math.max(1, Math.min(steps, Math.floor(maxBytes / Math.max(1, bytes))));
    const sideOf = (operand: Operand): Side => {
      const columns = columnsOf(operand);
      const rows = arrays.rowsOf(operand, columns);
      if (rows) return { rows };
      const source = arrays.window(operand);
      const shape = [batch, ...operand.shape];
      const size = sizeOf(shape);
      const memory = allocateView(device, [this.steps, size], operand.dtype);
      this.#memory.push(memory);
      return {
        copy: (row) => {
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
    this.#products = kernels.map(({ operands: [a, b], gradient }) => ({
      gradient,
      left: sideOf(a),
      right: sideOf(b),
    }));
  }

  /** Calls of a step for the accumulating kernels, in order. */
  get instructions(): Instruction[] {
    return this.#products.map(({ left, right }) => (row) => {
      left.copy?.(row);
      right.copy?.(row);
    });
  }

  /** The sums of the products. */
  get weightGradients(): readonly BufferView[] {
    return this.#gradients;
  }

  /** Clears the collected rows. The next row is `first`. */
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

  /** Frees all memory besides the results. */
  free(): void {
    for (const { source } of this.#memory) source.free();
  }
}
