/** Numbers of steps, as tensors. */
import { deviceArray, type DType, type TypedArray } from "../../device/dtype.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { StepList, Steps } from "./steps.ts";

/** A number of a list, in a row of a table. `position` is that of the list. */
export type NumberOf<L extends StepList = StepList> = (
  list: L,
  row: number,
  position: number,
) => number | boolean;

/** The numbers of a list, in the rows of a table. A column that is too short continues with its first number. */
export type ColumnOf<L extends StepList = StepList> = (
  list: L,
  position: number,
) => ArrayLike<number | boolean>;

/** Lists of steps, and the numbers of examples of `vmap`. */
type Lists<L extends StepList> = { readonly lists: readonly L[] } & Pick<Steps, "examples">;

/** A tensor of numbers of each list, `(length, ...shape)`. Inside `vmap`, each example has separate numbers. */
export function tableOf<L extends StepList>(
  steps: Lists<L>,
  length: number,
  shape: readonly number[],
  number: NumberOf<L>,
  dtype: DType,
): Tensor {
  return writtenTable(steps, length, shape, dtype, (list, position, into, first, stride) => {
    for (let row = 0; row < length; row++) into[first + row * stride] = Number(number(list, row, position));
  });
}

/** As {@linkcode tableOf}, from all numbers of a list at once, which is faster. */
export function tableOfColumns<L extends StepList>(
  steps: Lists<L>,
  length: number,
  shape: readonly number[],
  column: ColumnOf<L>,
  dtype: DType,
): Tensor {
  return writtenTable(steps, length, shape, dtype, (list, position, into, first, stride) => {
    const numbers = column(list, position);
    const count = numbers.length;
    for (let row = 0; row < length; row++) {
      into[first + row * stride] = Number(numbers[row < count ? row : 0]);
    }
  });
}

/**
 * As {@linkcode tableOf}, from a function that writes the numbers of a list.
 *
 * @param write Writes those of the row k at `first + k stride`.
 * @param width The number of numbers of a list in a row, which are adjacent.
 */
export function writtenTable<L extends StepList>(
  { lists, examples }: Lists<L>,
  length: number,
  shape: readonly number[],
  dtype: DType,
  write: (list: L, position: number, into: TypedArray, first: number, stride: number) => void,
  width = 1,
): Tensor {
  const sizes = examples.map(([, size]) => size);
  const perExample = lists.length / sizes.reduce((product, size) => product * size, 1);
  const values = new (deviceArray(dtype))(length * lists.length * width);
  lists.forEach((list, i) => {
    const first = Math.floor(i / perExample) * length * perExample + i % perExample;
    write(list, i, values, width * first, width * perExample);
  });
  const all = tensor(values, { shape: [...sizes, length, ...shape], dtype });
  return examples.reduce((x, [trace]) => trace.symbol([x]), all);
}
