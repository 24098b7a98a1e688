/** Numbers of steps, as tensors. */
import type { DType } from "../../device/dtype.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { StepList, Steps } from "./steps.ts";

/** A number of a list, in a row of a table. `position` is that of the list. */
export type NumberOf<L extends StepList = StepList> = (
  list: L,
  row: number,
  position: number,
) => number | boolean;

/** A tensor of numbers of each list, `(length, ...shape)`. Inside `vmap`, each example has separate numbers. */
export function tableOf<L extends StepList>(
  { lists, examples }: { readonly lists: readonly L[] } & Pick<Steps, "examples">,
  length: number,
  shape: readonly number[],
  number: NumberOf<L>,
  dtype: DType,
): Tensor {
  const sizes = examples.map(([, size]) => size);
  const perExample = lists.length / sizes.reduce((product, size) => product * size, 1);
  const values = new Float64Array(length * lists.length);
  lists.forEach((list, i) => {
    const [example, sample] = [Math.floor(i / perExample), i % perExample];
    for (let row = 0; row < length; row++) {
      values[(example * length + row) * perExample + sample] = Number(number(list, row, i));
    }
  });
  const all = tensor(values, { shape: [...sizes, length, ...shape], dtype });
  return examples.reduce((x, [trace]) => trace.symbol([x]), all);
}
