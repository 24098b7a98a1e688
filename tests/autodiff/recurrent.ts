/** A recurrent network as a loop, to differentiate and to map. */
import { scan, type Tensor } from "../../mod.ts";

/** Sum of the last state and of the outputs of a recurrent network, of its weights, first state and rows. */
export function recurrent(compile: boolean) {
  return (w: Tensor, h: Tensor, x: Tensor): Tensor => {
    const body = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
      const next = h.matmul(w).add(x).tanh();
      return [next, next.square().sum()];
    };
    const [last, outputs] = scan(body, h, x, { compile });
    return last.sum().add(outputs.sum());
  };
}
