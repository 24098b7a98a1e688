/** Checks random programs of fixed seeds, and tests the generator and the checks of `deno task fuzz`. */
import assert from "node:assert/strict";
import { stopGradient, Tensor, tensor } from "../../mod.ts";
import * as einsums from "../../src/tensor/einsum.ts";
import * as functions from "../../src/tensor/functions.ts";
import { valueMethods } from "../../src/tensor/methods/values.ts";
import { checkProgram } from "./check.ts";
import { asCode, isMethod } from "./print.ts";
import { type Program, randomProgram, rules } from "./random_program.ts";
import { shrink } from "./shrink.ts";
import { testLong } from "../devices.ts";

const firstSeed = 9_000_000;

for (let i = 0; i < 6; i++) {
  testLong(
    `random programs ${10 * i} to ${10 * i + 9} agree with naive loops, differences and eager operations`,
    async () => {
      for (let seed = firstSeed + 10 * i; seed < firstSeed + 10 * (i + 1); seed++) {
        const program = randomProgram(seed);
        const { failure } = await checkProgram(program);
        assert.equal(failure, undefined, `${failure?.check}: ${failure?.message}\n${asCode(program)}`);
      }
    },
  );
}

Deno.test("random programs have a rule for exactly the public tensor operations", () => {
  const x = tensor([[1]]);
  const properties = Object.entries(Object.getOwnPropertyDescriptors(Tensor.prototype))
    .filter(([, { get }]) => get && get.call(x) instanceof Tensor).map(([name]) => name);
  // Methods are assigned to the prototype. Members that the class itself defines are not enumerable.
  const methods = Object.keys(Tensor.prototype).filter((name) => !(name in valueMethods));
  const apart = Object.keys({ ...functions, ...einsums }).filter((name) => !methods.includes(name));
  assert.deepEqual(Object.keys(rules).sort(), [...properties, ...methods, ...apart].sort());
  for (const name of apart) {
    assert.ok(!isMethod(name), `${name} is a function, and would be called as a method`);
  }
});

Deno.test("random programs draw every operation, every rank, and axes of length 0 and 1", () => {
  const missing = new Set(Object.keys(rules));
  const ranks = new Set<number>();
  const lengths = new Set<number>();
  for (let i = 0; i < 300; i++) {
    const { inputs, operations } = randomProgram(firstSeed + i);
    for (const { name } of operations) missing.delete(name);
    for (const { shape } of inputs) {
      ranks.add(shape.length);
      for (const length of shape) lengths.add(length);
    }
  }
  assert.deepEqual([...missing], []);
  assert.deepEqual([[...ranks].sort(), [...lengths].sort()], [[0, 1, 2, 3, 4], [0, 1, 2, 3, 5]]);
});

/** Replaces an operation until a program fails; returns the failed check and the program after shrinking. */
async function failureWith(name: "sin", changed: (this: Tensor, ...args: [Tensor]) => Tensor) {
  const original = Tensor.prototype[name];
  Object.assign(Tensor.prototype, { [name]: changed });
  try {
    for (let seed = firstSeed;; seed++) {
      const program = randomProgram(seed);
      if (program.hasEdgeCases || !program.operations.some((operation) => operation.name === name)) continue;
      const check = async (candidate: Program) => (await checkProgram(candidate)).failure?.check;
      const failed = await check(program);
      if (!failed) continue;
      return { failed, smallest: await shrink(program, async (smaller) => await check(smaller) === failed) };
    }
  } finally {
    Object.assign(Tensor.prototype, { [name]: original });
  }
}

testLong("the checks find a wrong value and its operation", async () => {
  const { failed, smallest } = await failureWith("sin", function () {
    return this.cos();
  });
  assert.deepEqual([failed, smallest.operations.map(({ name }) => name)], ["values", ["sin"]]);
  assert.match(asCode(smallest), /= v\d\.sin\(\);/);
});

testLong("the checks find a wrong gradient and its operation", async () => {
  const sin = Tensor.prototype.sin;
  const { failed, smallest } = await failureWith("sin", function () {
    const y = sin.call(this);
    return y.add(y).sub(stopGradient(y));
  });
  assert.deepEqual([failed, smallest.operations.map(({ name }) => name)], ["gradients", ["sin"]]);
});

Deno.test("the checks find a wrong second gradient and its operation", async () => {
  const sin = Tensor.prototype.sin;
  const { failed, smallest } = await failureWith("sin", function () {
    // Has the value and the slope of sin, but no curvature.
    const slope = stopGradient(this.cos());
    return slope.mul(this.sub(stopGradient(this))).add(stopGradient(sin.call(this)));
  });
  assert.deepEqual([failed, smallest.operations.map(({ name }) => name)], ["second gradients", ["sin"]]);
});
