/** Loops that find the trace of an earlier loop. */
import assert from "node:assert/strict";
import { full, type Tensor, tensor } from "../../mod.ts";
import { scanOf } from "../../src/compile/loop/scan.ts";

/** The last state of a loop that adds a row and a tensor and multiplies by another. */
async function lastOf(key: string, a: Tensor, b: Tensor): Promise<number[]> {
  const body = (state: Tensor, row: Tensor): [Tensor, Tensor] => {
    const next = state.add(row).add(a).mul(b);
    return [next, next];
  };
  const closure = { key, tensors: [a, b] };
  const [last] = scanOf(body, tensor([0, 0]), tensor([[1, 1], [2, 2]]), {}, closure);
  return [...await last.data()];
}

/** The same with numbers. */
const expected = (a: number, b: number) => [1, 2].reduce((state, row) => (state + row + a) * b, 0);

const [one, two] = [tensor([1, 1]), tensor([2, 2])];

for (
  const [name, lists] of Object.entries({
    "of other values": [[one, two, 1, 2], [two, one, 2, 1]],
    "that are one tensor": [[one, one, 1, 1], [one, two, 1, 2], [two, two, 2, 2]],
    "of one number": [[full([2], 3), two, 3, 2], [full([2], 4), two, 4, 2], [one, full([2], -0), 1, -0]],
    "of one number or of values": [[full([2], 1), one, 1, 1], [one, full([2], 1), 1, 1], [one, two, 1, 2]],
  } as Record<string, [Tensor, Tensor, number, number][]>)
) {
  Deno.test(`a loop that reuses the trace of another loop computes with its tensors: tensors ${name}`, async () => {
    for (const [first, second, a, b] of [...lists, ...lists]) {
      const last = expected(a, b);
      assert.deepEqual(await lastOf(name, first, second), [last, last]);
    }
  });
}
