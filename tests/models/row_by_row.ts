/** Models of series that take steps. */
import { stack, type Tensor, type Tree } from "../../mod.ts";
import type { StateSpaceModel } from "../../src/models/diagonal/stack.ts";

/** Outputs `(batch, length, channels)` of a model that reads series `(batch, length, channels)` row by row. */
export function rowByRow(model: StateSpaceModel, x: Tensor): Tensor {
  const [batch, length] = x.shape;
  let state: Tree = model.start(batch);
  const outputs: Tensor[] = [];
  for (let t = 0; t < length; t++) {
    const [next, output] = model.step(x.select(1, t), state);
    outputs.push(output);
    state = next;
  }
  return stack(outputs, 1);
}
