/** Invalid input: the message names the operation and the fault. */
import assert from "node:assert/strict";
import {
  arange,
  bernoulli,
  concatenate,
  einsum,
  eye,
  foldIn,
  full,
  grad,
  type Key,
  key,
  linearRecurrence,
  linspace,
  normal,
  ones,
  randperm,
  splitKey,
  stack,
  tensor,
  tridiagonalSolve,
  uniform,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

const cases: [string, () => unknown, RegExp][] = [
  [
    "shapes that do not broadcast",
    () => ones([2, 3]).add(ones([4])),
    /add: shapes \(2, 3\) and \(4,\) do not broadcast/,
  ],
  [
    "types that differ",
    () => ones([2]).mul(ones([3], { dtype: "int32" })),
    /mul: float32 \(2,\) and int32 \(3,\) differ in type/,
  ],
  [
    "a fraction for an int32 tensor",
    () => ones([2], { dtype: "int32" }).add(0.5),
    /add: 0.5 is not a valid int32, .*\(2,\).*cast/,
  ],
  [
    "division of integers",
    () => ones([2], { dtype: "int32" }).div(2),
    /div: takes float32 or float64, got int32; cast/,
  ],
  [
    "exp of integers",
    () => ones([2], { dtype: "int32" }).exp(),
    /exp: takes float32 or float64, got int32; cast/,
  ],
  ["arithmetic on bool", () => tensor([true]).add(tensor([true])), /add: takes numbers, got bool; cast/],
  ["neg of bool", () => tensor([true]).neg(), /neg: takes numbers, got bool; cast/],
  ["order of bool", () => tensor([true]).less(tensor([true])), /lt: takes numbers, got bool; cast/],
  ["sum of bool", () => tensor([true]).sum(), /sum: takes numbers, got bool; cast/],
  ["and of floats", () => ones([2]).and(ones([2])), /and: takes integers or bool, got float32/],
  ["not of floats", () => ones([2]).not(), /not: takes integers or bool, got float32/],
  [
    "a condition that is not bool",
    () => ones([2]).where(1, 2),
    /where: the condition must be bool, got float32/,
  ],
  [
    "matrices that do not fit",
    () => ones([2, 3]).matmul(ones([4, 5])),
    /matmul: shapes \(2, 3\) and \(4, 5\) do not fit/,
  ],
  [
    "stacks of matrices that do not fit",
    () => ones([7, 2, 3]).matmul(ones([4, 5])),
    /matmul: shapes \(7, 2, 3\) and \(4, 5\)/,
  ],
  [
    "batches that do not broadcast",
    () => ones([2, 1, 3]).matmul(ones([5, 3, 1])),
    /matmul: shapes \(2,\) and \(5,\)/,
  ],
  [
    "matrices of integers",
    () => ones([1, 1], { dtype: "int32" }).matmul(ones([1, 1], { dtype: "int32" })),
    /matmul: takes two float32/,
  ],
  ["matmul of a scalar", () => tensor(1).matmul(ones([2])), /matmul: a scalar has no rows/],
  [
    "a reshape that does not fit",
    () => ones([2, 3]).reshape([4]),
    /reshape: 6 elements of shape \(2, 3\) do not fit \(4,\)/,
  ],
  ["a reshape with two unknowns", () => ones([2, 3]).reshape([-1, -1]), /reshape: .* do not fit \(-1, -1\)/],
  ["an axis outside", () => ones([2, 3]).sum(2), /sum: axis 2 is outside a tensor of 2 axes/],
  ["an axis named twice", () => ones([2, 3]).sum([0, -2]), /sum: axes \[0,-2\] name an axis twice/],
  [
    "an invalid permutation",
    () => ones([2, 3]).permute([0, 0]),
    /permute: axes \[0,0\] do not name each axis of \(2, 3\)/,
  ],
  [
    "a shape that does not broadcast",
    () => ones([2, 3]).broadcastTo([2, 4]),
    /broadcastTo: .*\(2, 3\).*\(2, 4\)/,
  ],
  [
    "a squeeze of a long axis",
    () => ones([2, 1]).squeeze(0),
    /squeeze: axis 0 of \(2, 1\) does not have length one/,
  ],
  [
    "a slice with a fractional index",
    () => ones([4]).slice(0, 0.5),
    /slice: position 0.5 is not a whole number/,
  ],
  ["a slice with step zero", () => ones([4]).slice(0, 0, 2, 0), /slice: step is 0, expected/],
  ["a position outside", () => ones([4]).select(0, 4), /select: position 4 is outside axis 0 of \(4,\)/],
  [
    "a pad width for the wrong number of axes",
    () => ones([4]).pad([[0, 1], [0, 1]]),
    /pad: widths \[\[0,1\],\[0,1\]\] for a tensor of 1 axes/,
  ],
  ["a pad width of half an element", () => ones([4]).pad([[0.5, 1]]), /pad: widths/],
  [
    "float indices",
    () => ones([4]).take(ones([2])),
    /take: indices must be int32 with one axis, got float32 \(2,\)/,
  ],
  [
    "updates of the wrong shape",
    () => ones([4, 2]).scatterAdd(zeros([3], { dtype: "int32" }), ones([3])),
    /scatterAdd: updates of shape \(3,\), expected \(3, 2\)/,
  ],
  ["concatenation of nothing", () => concatenate([]), /concatenate: no tensors/],
  [
    "concatenation of different shapes",
    () => concatenate([ones([2, 3]), ones([2, 4])]),
    /concatenate: float32 \(2, 3\), float32 \(2, 4\) must/,
  ],
  ["a stack of different shapes", () => stack([ones([3]), ones([4])]), /concatenate: .*\(1, 3\), .*\(1, 4\)/],
  [
    "einsum with too few operands",
    () => einsum("ij,jk->ik", ones([2, 2])),
    /einsum: "ij,jk->ik" does not describe 1 operands/,
  ],
  [
    "einsum with a letter of two lengths in an operand",
    () => einsum("ii->i", ones([2, 3])),
    /einsum: axis "i" has lengths 2 and 3 in an operand of shape \(2, 3\)/,
  ],
  [
    "einsum with a letter twice in the result",
    () => einsum("i->ii", ones([2])),
    /einsum: the result of "i->ii" has axis "i" twice/,
  ],
  [
    "einsum with an ellipsis that the result lacks",
    () => einsum("...i->i", ones([2, 3])),
    /einsum: the result of "\.\.\.i->i" lacks "\.\.\.", which stands for 1 axes/,
  ],
  [
    "einsum with axes of an ellipsis that do not broadcast",
    () => einsum("...i,...i", ones([2, 3]), ones([4, 3])),
    /einsum: an axis of "\.\.\." has lengths 2 and 4/,
  ],
  [
    "einsum with too many letters beside an ellipsis",
    () => einsum("...ij", ones([2])),
    /einsum: "\.\.\.ij" names 2 axes, operand 0 has 1/,
  ],
  ["einsum with two arrows", () => einsum("i->i->i", ones([2])), /einsum: "i->i->i" does not describe/],
  ["einsum with two dots", () => einsum("..i", ones([2])), /einsum: "\.\.i" does not describe/],
  [
    "einsum with the wrong number of axes",
    () => einsum("ij->i", ones([2])),
    /einsum: "ij" names 2 axes, operand 0 has 1/,
  ],
  [
    "einsum with different lengths of a letter",
    () => einsum("ij,jk->ik", ones([2, 3]), ones([4, 5])),
    /einsum: axis "j" has lengths 3 and 4/,
  ],
  [
    "einsum of an unknown letter",
    () => einsum("ij->k", ones([2, 3])),
    /einsum: axis "k" of the result is not in any operand/,
  ],
  [
    "coefficients that do not fit a recurrence",
    () => linearRecurrence(ones([3, 1]), ones([4])),
    /linearRecurrence: coefficients of shape \(3, 1\) do not broadcast to values of shape \(4,\)/,
  ],
  [
    "complex numbers without a parts axis",
    () => linearRecurrence(ones([3, 4]), ones([3, 4]), { complex: true }),
    /linearRecurrence: complex values of shape \(3, 4\) .* length 2 .real and imaginary parts/,
  ],
  [
    "bands of different lengths",
    () => tridiagonalSolve(ones([4]), ones([4]), ones([4]), ones([3])),
    /tridiagonalSolve: .*\(4,\).*\(3,\)/,
  ],
  [
    "assignment of the wrong shape",
    () => ones([2]).assign(ones([3])),
    /assign: float32 \(3,\) to float32 \(2,\)/,
  ],
  ["half an element", () => zeros([1.5]), /zeros: shape \(1.5,\), expected whole numbers from 0/],
  ["a negative length", () => zeros([-1]), /zeros: shape \(-1,\), expected whole numbers from 0/],
  ["a length that is not a number", () => ones([NaN]), /ones: shape \(NaN,\)/],
  ["a shape that is not an array", () => full(3 as unknown as number[], 1), /full: expected a shape such as/],
  ["two negative lengths", () => tensor([1, 2, 3, 4], { shape: [-2, -2] }), /tensor: shape \(-2, -2\)/],
  [
    "more elements than can be counted",
    () => zeros([2 ** 30, 2 ** 30]),
    /zeros: .* more elements than a tensor can have/,
  ],
  ["a fractional shape to broadcast to", () => ones([1]).broadcastTo([1.5]), /broadcastTo: shape \(1.5,\)/],
  ["a negative range", () => arange(-1), /arange: shape \(-1,\), expected whole numbers from 0/],
  ["half a range", () => arange(1.5), /arange: shape \(1.5,\)/],
  ["a range without end", () => arange(3, { start: NaN }), /arange: start is NaN, expected a finite number/],
  ["a fractional count", () => linspace(0, 1, 1.5), /linspace: shape \(1.5,\)/],
  ["an infinite end", () => linspace(0, Infinity, 3), /linspace: end is Infinity/],
  [
    "fractional integer bounds",
    () => linspace(0, 1, 3, { dtype: "int32" }),
    /value 0.5 .* is not a valid int32/,
  ],
  ["a negative size", () => eye(-2), /eye: shape \(-2,\)/],
  [
    "bounds in the wrong order",
    () => uniform(key(0), [2], { low: 2, high: 1 }),
    /uniform: low is 2 and high 1, expected low <= high/,
  ],
  ["an infinite bound", () => uniform(key(0), [2], { high: Infinity }), /uniform: high is Infinity/],
  [
    "a negative deviation",
    () => normal(key(0), [2], { standardDeviation: -1 }),
    /normal: standardDeviation is -1, expected at least 0/,
  ],
  ["a mean that is NaN", () => normal(key(0), [2], { mean: NaN }), /normal: mean is NaN/],
  [
    "random integers",
    () => normal(key(0), [2], { dtype: "int32" }),
    /normal: draws float32 or float64, .* int32/,
  ],
  ["a negative length of random numbers", () => bernoulli(key(0), 0.5, [-1]), /shape \(-1,\)/],
  [
    "a seed for a key",
    () => uniform(42 as unknown as Key, [2]),
    /uniform: 42 is not a key; make one with key\(seed\)/,
  ],
  ["half a key", () => splitKey([1.5, 2]), /splitKey: \[1.5,2\] is not a key/],
  ["a negative number of keys", () => splitKey(key(0), -1), /splitKey: shape \(-1,\)/],
  ["a negative position in a sequence", () => foldIn(key(0), -1), /foldIn: -1 is not a whole number/],
  ["a permutation of a fractional length", () => randperm(key(0), 1.5), /randperm: shape \(1.5,\)/],
  [
    "updates beyond an axis",
    () => ones([4]).scatterAdd(tensor([0, 4], { dtype: "int32" }), ones([2])),
    /scatterAdd: indices of shape \(2,\) have the value 4 \(index 1\), expected 0 to 3/,
  ],
  [
    "a negative index of integers",
    () => tensor([1, 2], { dtype: "int32" }).take(tensor([-1], { dtype: "int32" })),
    /take: indices of shape \(1,\) have the value -1 \(index 0\), expected 0 to 1/,
  ],
  [
    "nothing",
    () => tensor(undefined as unknown as number),
    /tensor: expected a number or arrays of them, got undefined/,
  ],
  ["null", () => tensor([null as unknown as number]), /tensor: expected a number at \[0\], got null/],
  [
    "64-bit integers",
    () => tensor(BigInt64Array.of(1n) as never),
    /tensor: BigInt64Array is not supported/,
  ],
  [
    "an unknown dtype",
    () => tensor([1], { dtype: "float16" as never }),
    /tensor: there is no dtype "float16"; valid: float32/,
  ],
  [
    "zeros of an unknown dtype",
    () => zeros([1], { dtype: "complex64" as never }),
    /scalar: there is no dtype "complex64"/,
  ],
  [
    "a cast to an unknown dtype",
    () => ones([1]).cast("float16" as never),
    /cast: there is no dtype "float16"/,
  ],
  ["a string in place of a number", () => full([1], "3" as never), /scalar: expected a number, got "3"/],
  [
    "a string operand",
    () => ones([1]).add("3" as never),
    /add: expected a tensor or a number, got "3"/,
  ],
  [
    "a missing operand",
    () => ones([1]).mul(undefined as never),
    /mul: expected a tensor or a number, got undefined/,
  ],
  [
    "a product with an array",
    () => ones([1]).matmul([1] as never),
    /matmul: the right side must be a tensor/,
  ],
  ["axes in decreasing order", () => ones([1, 1]).flatten(1, 0), /flatten: axis 1 comes after axis 0/],
  [
    "a missing tensor",
    () => concatenate([ones([1]), undefined as never]),
    /concatenate: tensor 1 must be a tensor, got undefined/,
  ],
  [
    "operands of where with two dtypes",
    () => tensor([true]).where(ones([1], { dtype: "int32" }), ones([1])),
    /where: int32 and float32 differ in type/,
  ],
  [
    "bands of integers",
    () => {
      const x = ones([3], { dtype: "int32" });
      return tridiagonalSolve(x, x, x, x);
    },
    /tridiagonalSolve: takes four float32 or four float64 tensors, got int32/,
  ],
  [
    "a right-hand side without rows",
    () => tridiagonalSolve(tensor(1), tensor(1), tensor(1), tensor(1)),
    /rhs of shape \(\)/,
  ],
  [
    "a gradient with respect to a number",
    () => grad((x: number) => tensor(x))(3),
    /grad: the first argument contains no tensor/,
  ],
  ["the maximum of no elements", () => zeros([0]).max(), /max: an axis of length zero/],
];

for (const [name, run, message] of cases) {
  testOnDevices(`the error names the operation and the fault: ${name}`, () => assert.throws(run, message));
}

testOnDevices(
  "device-computed indices out of range throw or give NaN",
  async (device) => {
    const indices = tensor([0, 4], { dtype: "int32" }).add(0);
    const add = () => ones([4]).scatterAdd(indices, ones([2]));
    if (device.readSync) assert.throws(add, RangeError);
    else assert.deepEqual([...await add().data()], [NaN, NaN, NaN, NaN]);
  },
);
