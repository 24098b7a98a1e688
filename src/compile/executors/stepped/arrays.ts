/** Memory of a stepped run: an array per slot, with all samples. */
import type { BufferView, KernelDevice, PreparedMatrix } from "../../../device/device.ts";
import { identity } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, isContiguous, sizeOf } from "../../../device/shape.ts";
import { allocateView, makeContiguous, numberView } from "../../../device/view.ts";
import type { Run } from "../run.ts";
import { shareArrays } from "../../program/layout.ts";
import { lifetimesInStep } from "../../program/liveness.ts";
import type { Operand, Program } from "../../program/program.ts";

/** Returns the view of an operand at a row. The first axis of the view is the batch. */
export type Window = (row: number) => BufferView;

/** Memory of a slot or an input, and the strides of samples and rows. */
interface SlotMemory {
  readonly memory: BufferView;
  readonly sampleStride: number;
  readonly rowStride: number;
}

/** Arrays of a run. Row-major inputs besides the states are read in place. */
export class Arrays {
  readonly batch: number;
  readonly #device: KernelDevice;
  readonly #slots: readonly (SlotMemory | undefined)[];
  readonly #shared: readonly (SlotMemory | undefined)[];
  /** The states, `(batch, size)`, in the order of the inputs. */
  readonly states: readonly BufferView[];
  /** Sums over the steps, `(batch, size)`, initially zero. */
  readonly sums: readonly BufferView[];
  readonly #prepared: PreparedMatrix[] = [];
  /** Memory that all other slots share. */
  readonly #scratch: BufferView[];

  constructor(device: KernelDevice, program: Program, { batch, inputs }: Run) {
    this.batch = batch;
    this.#device = device;
    const slots = new Array<SlotMemory | undefined>(program.slots.length).fill(undefined);
    const allocate = (slot: number): BufferView => {
      const { size, dtype } = program.slots[slot];
      const memory = allocateView(device, [batch, size], dtype);
      slots[slot] = { memory, sampleStride: size, rowStride: 0 };
      return memory;
    };
    this.states = program.inputs.flatMap(({ role, slot }, i) => {
      if (role !== "state") return [];
      const memory = allocate(slot!);
      const source = makeContiguous(device, inputs[i]);
      device.map(identity, [{ ...source, shape: memory.shape, strides: memory.strides }], memory);
      return [memory];
    });
    this.sums = program.sums.map(({ slot }) => {
      const memory = allocate(slot);
      device.map(identity, [numberView(0, memory.shape, memory.dtype)], memory);
      return memory;
    });
    this.#shared = program.inputs.map(({ role, slot, size }, i) => {
      if (role === "state") return undefined;
      const sampleStride = slot === undefined ? 0 : size;
      const rowStride = role === "row" ? (slot === undefined ? size : batch * size) : 0;
      // Shared matrices can be large, so transposed matrices are not copied.
      const staysInPlace = role === "constant" && slot === undefined;
      const memory = staysInPlace ? inputs[i] : makeContiguous(device, inputs[i]);
      const place = { memory, sampleStride, rowStride };
      if (slot !== undefined) slots[slot] = place;
      return place;
    });
    this.#scratch = [];
    const intermediate = [...lifetimesInStep(program)].filter(([slot]) => !slots[slot]);
    for (const [slot, array] of shareArrays(program.slots, intermediate)) {
      const { size, dtype } = program.slots[slot];
      const memory = this.#scratch[array] ??= allocateView(device, [batch, size], dtype);
      slots[slot] = { memory, sampleStride: size, rowStride: 0 };
    }
    this.#slots = slots;
  }

  /** Views of an operand. */
  window(operand: Operand): Window {
    const { slot, shared, shape, dtype } = operand;
    const { memory, sampleStride, rowStride } =
      (slot === undefined ? this.#shared[shared!] : this.#slots[slot])!;
    const strides = stridesOn(memory, operand);
    const { source, offset } = strides ? memory : makeContiguous(this.#device, memory);
    const view: BufferView = {
      source,
      dtype,
      shape: [this.batch, ...shape],
      strides: [sampleStride, ...strides ?? operand.strides],
      offset: offset + operand.offset,
    };
    if (rowStride === 0) return () => view;
    return (row) => ({ ...view, offset: view.offset + row * rowStride });
  }

  /**
   * Returns a function for the rows from `first` to before `end` as a matrix. Returns undefined if the operand is not a whole
   * input.
   */
  rowsOf(
    { slot, shape, strides, offset }: Operand,
    columns: number,
  ): ((first: number, end: number) => BufferView) | undefined {
    const place = slot === undefined ? undefined : this.#slots[slot];
    const size = sizeOf(shape);
    if (!place || place.rowStride === 0 || place.sampleStride !== size || offset !== 0) return undefined;
    const isWhole = shape.every((length, axis) =>
      length === 1 || strides[axis] === sizeOf(shape.slice(axis + 1))
    );
    if (!isWhole) return undefined;
    const { memory, rowStride } = place;
    return (first, end) => ({
      ...memory,
      shape: [(end - first) * rowStride / columns, columns],
      strides: [columns, 1],
      offset: memory.offset + first * rowStride,
    });
  }

  /** Packs a loop-invariant matrix for products with `rows` rows. Returns undefined if packing is not faster. */
  prepare({ slot, shared }: Operand, matrix: BufferView, rows: number): PreparedMatrix | undefined {
    if (slot !== undefined || this.#shared[shared!]!.rowStride !== 0) return undefined;
    const prepared = this.#device.prepare?.(matrix, rows);
    if (prepared) this.#prepared.push(prepared);
    return prepared;
  }

  /** Frees all memory besides the results. */
  free(): void {
    for (const { source } of this.#scratch) source.free();
    for (const matrix of this.#prepared) matrix.free();
  }
}

/**
 * The strides of an operand in the memory of its input, which need not be row-major. Returns undefined if the axes of the
 * operand are not axes of the input.
 */
function stridesOn(input: BufferView, { shape, strides, offset }: Operand): readonly number[] | undefined {
  if (isContiguous(input.shape, input.strides)) return strides;
  const rowMajor = contiguousStrides(input.shape);
  const axes = strides.map((stride, i) => {
    if (stride === 0 || shape[i] === 1) return undefined;
    return rowMajor.findIndex((own, axis) => own === stride && shape[i] <= input.shape[axis]);
  });
  const walked = axes.filter((axis) => axis !== undefined);
  if (offset > 0 || walked.includes(-1) || new Set(walked).size < walked.length) return undefined;
  return axes.map((axis) => axis === undefined ? 0 : input.strides[axis]);
}
