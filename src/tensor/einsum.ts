/** Einstein summation. */
import { describe } from "../device/describe.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkTensor } from "./checks.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Einstein summation, as NumPy's `einsum`: `einsum("bvk,bk->bv", w, q)` queries fast weights. Each axis has a letter. Axes whose
 * letter the result does not have are summed.
 *
 * - Without `->`, the result has the letters that occur once, in the order of the alphabet: `einsum("ij,jk", a, b)` is the matrix
 *   product.
 * - `...` stands for any number of axes, which broadcast: `einsum("...ij,...jk->...ik", a, b)`. Without `->`, they come first.
 * - A letter that an operand has twice selects the diagonal: `einsum("ii", a)` is the trace.
 * - An axis of length one broadcasts to the length of its letter in other operands.
 *
 * @throws {ShapeError} If the equation does not fit the operands, a letter has several lengths, or the result has a letter twice or
 * a letter of no operand.
 */
export function einsum(equation: string, ...operands: Tensor[]): Tensor {
  if (typeof equation !== "string") {
    throw new TypeError(`einsum: the equation is ${describe(equation)}, expected a text such as "ij,jk->ik"`);
  }
  operands.forEach((operand, i) => checkTensor(`einsum: operand ${i}`, operand));
  const { labelled, output } = labelsOf(equation, operands);
  let [result, ...rest] = squeezeBroadcast(labelled.map(takeDiagonals));
  rest.forEach((operand, i) => {
    const later = output + rest.slice(i + 1).map(({ labels }) => labels).join("");
    result = contract(result, operand, later);
  });
  const summed = sumOut(result, output);
  return summed.x.permute([...output].map((letter) => summed.labels.indexOf(letter)));
}

/** A tensor with a label for each axis. */
interface Labelled {
  readonly labels: string;
  readonly x: Tensor;
}

const termPattern = /^[a-zA-Z]*(\.\.\.[a-zA-Z]*)?$/;

/** Labels of the axes of the operands and of the result. Labels of the axes of `...` are not letters. */
function labelsOf(
  equation: string,
  operands: readonly Tensor[],
): { labelled: readonly Labelled[]; output: string } {
  const [left, right, ...more] = equation.replaceAll(/\s/g, "").split("->");
  const terms = left.split(",");
  const isValid = more.length === 0 && [...terms, right ?? ""].every((term) => termPattern.test(term));
  if (!isValid || terms.length !== operands.length) {
    throw new ShapeError(
      `einsum: "${equation}" does not describe ${operands.length} operands, as "ij,jk->ik" does`,
    );
  }
  const counts = terms.map((term, i) => {
    const letters = term.replace("...", "").length;
    const { rank } = operands[i];
    if (term.includes("...") ? letters <= rank : letters === rank) return rank - letters;
    throw new ShapeError(`einsum: "${term}" names ${letters} axes, operand ${i} has ${rank}`);
  });
  // The axes of `...` are aligned at the last one.
  const broadcast = Array.from({ length: Math.max(...counts) }, (_, i) => String.fromCharCode(0x100 + i));
  const axesOf = (count: number) => broadcast.slice(broadcast.length - count).join("");
  const labelled = terms.map((term, i) => ({
    labels: term.replace("...", axesOf(counts[i])),
    x: operands[i],
  }));
  const letters = terms.join("").replaceAll("...", "");
  if (right === undefined) {
    const single = [...letters].filter((letter) => letters.split(letter).length === 2).sort();
    return { labelled, output: axesOf(broadcast.length) + single.join("") };
  }
  const named = right.replace("...", "");
  const missing = [...named].find((letter) => !letters.includes(letter));
  if (missing) throw new ShapeError(`einsum: axis "${missing}" of the result is not in any operand`);
  const twice = [...named].find((letter, i) => named.indexOf(letter) < i);
  if (twice) throw new ShapeError(`einsum: the result of "${equation}" has axis "${twice}" twice`);
  if (broadcast.length > 0 && !right.includes("...")) {
    throw new ShapeError(
      `einsum: the result of "${equation}" lacks "...", which stands for ${broadcast.length} axes of the operands; ` +
        "add it, or name the axes to sum them",
    );
  }
  return { labelled, output: right.replace("...", axesOf(broadcast.length)) };
}

/** Replaces axes with the same label by their diagonal, which becomes the last axis. */
function takeDiagonals({ labels, x }: Labelled): Labelled {
  for (;;) {
    const second = [...labels].findIndex((label, axis) => labels.indexOf(label) < axis);
    if (second < 0) return { labels, x };
    const label = labels[second];
    const first = labels.indexOf(label);
    const length = x.shape[first];
    if (x.shape[second] !== length) {
      throw new ShapeError(
        `einsum: axis "${label}" has lengths ${length} and ${x.shape[second]} in an operand of shape ${
          formatShape(x.shape)
        }`,
      );
    }
    const others = [...labels].flatMap((_, axis) => axis === first || axis === second ? [] : [axis]);
    const rows = x.permute([...others, first, second]);
    // The diagonal of a matrix with n columns is every (n + 1)-th element.
    const flat = rows.reshape([...rows.shape.slice(0, -2), length * length]);
    x = flat.slice(-1, 0, undefined, length + 1);
    labels = others.map((axis) => labels[axis]).join("") + label;
  }
}

/** Removes axes of length one whose label has another length in another operand. */
function squeezeBroadcast(operands: readonly Labelled[]): readonly Labelled[] {
  const lengths = new Map<string, number>();
  for (const { labels, x } of operands) {
    [...labels].forEach((label, axis) => {
      const recorded = lengths.get(label) ?? 1;
      const length = x.shape[axis];
      if (recorded !== 1 && length !== 1 && recorded !== length) {
        const name = /[a-zA-Z]/.test(label) ? `axis "${label}"` : 'an axis of "..."';
        throw new ShapeError(`einsum: ${name} has lengths ${recorded} and ${length}`);
      }
      lengths.set(label, recorded === 1 ? length : recorded);
    });
  }
  return operands.map(({ labels, x }) => {
    const removed = [...labels].flatMap((label, axis) =>
      x.shape[axis] === 1 && lengths.get(label) !== 1 ? [axis] : []
    );
    return {
      labels: [...labels].filter((_, axis) => !removed.includes(axis)).join(""),
      x: removed.length ? x.squeeze(removed) : x,
    };
  });
}

function sumOut({ labels, x }: Labelled, needed: string): Labelled {
  const axes = [...labels].flatMap((letter, axis) => needed.includes(letter) ? [] : [axis]);
  return {
    labels: [...labels].filter((letter) => needed.includes(letter)).join(""),
    x: axes.length ? x.sum(axes) : x,
  };
}

/** A batched matrix product: shared letters that the result has are batch axes, other shared letters are summed. */
function contract(left: Labelled, right: Labelled, later: string): Labelled {
  const a = sumOut(left, right.labels + later);
  const b = sumOut(right, left.labels + later);
  const shared = [...a.labels].filter((letter) => b.labels.includes(letter));
  const [batch, summed] = [shared.filter((l) => later.includes(l)), shared.filter((l) => !later.includes(l))];
  const only = (of: Labelled, other: Labelled) =>
    [...of.labels].filter((letter) => !other.labels.includes(letter));
  const [rows, columns] = [only(a, b), only(b, a)];
  const lengths = new Map(
    [a, b].flatMap(({ labels, x }) => [...labels].map((letter, axis) => [letter, x.shape[axis]] as const)),
  );
  const lengthOf = (letter: string) => lengths.get(letter)!;
  const size = (letters: string[]) => letters.reduce((product, letter) => product * lengthOf(letter), 1);
  const arrange = ({ labels, x }: Labelled, ...groups: string[][]) =>
    x.permute(groups.flat().map((letter) => labels.indexOf(letter))).reshape([
      ...batch.map(lengthOf),
      ...groups.slice(1).map(size),
    ]);
  const [p, q] = [arrange(a, batch, rows, summed), arrange(b, batch, summed, columns)];
  // A multiplication computes an outer product faster than a matrix product with one term.
  const product = summed.length === 0 ? p.mul(q) : p.matmul(q);
  const labels = [...batch, ...rows, ...columns];
  return { labels: labels.join(""), x: product.reshape(labels.map(lengthOf)) };
}
