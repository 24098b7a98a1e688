import { lyndonWords } from "../../paths/signature.ts";
import { eye } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { pairCoefficients, tripleCoefficients } from "../cde/lie_brackets.ts";
import type { StructuredMatrices } from "./structures.ts";

/**
 * The matrices of the words of log-signatures, as coefficients `(words, size)`: A_i for letters, and for longer
 * words the Lie brackets of the linear vector fields f_i(h) = A_i h, as in a `LogNCDE`:
 *
 *     [f_i, f_j] = J_j f_i - J_i f_j = (A_j A_i - A_i A_j) h
 *
 * So exp(sum_w l_w A_w) is a step of the log-ODE method (Walker et al., "Log Neural Controlled Differential
 * Equations", 2024).
 *
 * @param depth Length of the longest words, 1 to 3.
 * @returns A function of the present parameters.
 */
export function wordMatrices(
  channels: number,
  depth: number,
  { basis, product }: Required<StructuredMatrices>["algebra"],
): () => Tensor {
  const words = lyndonWords(channels, depth);
  const pairs = words.filter(({ length }) => length === 2);
  const triples = words.filter(({ length }) => length === 3);
  const pairsOf = pairCoefficients(channels, pairs, basis);
  const triplesOf = tripleCoefficients(channels, triples, basis);
  /** Each sum is over all pairs of letters, so that each bracket of different letters counts twice. */
  const weighted = (coefficients: Tensor, brackets: Tensor) =>
    coefficients.flatten(1).matmul(brackets.reshape([-1, basis.shape[1]])).mul(0.5);
  return () => {
    const one = (count: number) => eye(count, { dtype: basis.dtype });
    const levels: Tensor[] = [basis];
    if (pairs.length > 0) {
      const products = product(basis.expandDims(1), basis.expandDims(0));
      const brackets = products.transpose(0, 1).sub(products);
      levels.push(weighted(pairsOf(one(pairs.length)), brackets));
      if (triples.length > 0) {
        const letters = basis.expandDims(1).expandDims(1);
        const nested = product(brackets.expandDims(0), letters).sub(product(letters, brackets.expandDims(0)));
        levels.push(weighted(triplesOf(one(triples.length)), nested));
      }
    }
    return concatenate(levels);
  };
}
