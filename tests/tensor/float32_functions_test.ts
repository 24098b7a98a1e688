/** The accuracy of elementary float32 functions on each device. */
import assert from "node:assert/strict";
import { type DType, type Tensor, tensor } from "../../mod.ts";
import type { Device } from "../../src/device/device.ts";
import { testOnDevices } from "../devices.ts";

/**
 * The allowed error: a relative error of rounding to 24 bits or, for results near zero, 2^-126, whichever is
 * larger.
 */
function worstUlp(x: ArrayLike<number>, y: ArrayLike<number>, exact: (x: number) => number) {
  let worst = { ulp: 0, at: 0 };
  for (let i = 0; i < x.length; i++) {
    const truth = exact(x[i]);
    const spacing = 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(truth)))) - 23);
    const ulp = truth === y[i] ? 0 : Math.abs(truth - y[i]) / spacing;
    if (!(ulp <= worst.ulp)) worst = { ulp, at: x[i] };
  }
  return worst;
}

const even = (low: number, high: number) =>
  Float32Array.from({ length: 20_001 }, (_, i) => low + (high - low) * i / 20_000);

/** WGSL allows an error of 2.5 units for a division, twice as much as the other functions need. */
const accuracy: [string, (x: Tensor) => Tensor, (x: number) => number, Float32Array, ulp: number][] = [
  ["exp", (x) => x.exp(), Math.exp, even(-87.33, 88.7), 2],
  ["log", (x) => x.log(), Math.log, even(1e-6, 4), 2],
  ["log1p", (x) => x.log1p(), Math.log1p, even(-0.99, 1), 2],
  ["sin", (x) => x.sin(), Math.sin, even(-10, 10), 2.5],
  ["cos", (x) => x.cos(), Math.cos, even(-10, 10), 2.5],
  ["sin of large numbers", (x) => x.sin(), Math.sin, even(-1e4, 1e4), 2.5],
  ["cos of large numbers", (x) => x.cos(), Math.cos, even(-1e4, 1e4), 2.5],
  ["tanh", (x) => x.tanh(), Math.tanh, even(-10, 10), 6],
  ["sigmoid", (x) => x.sigmoid(), (x) => 1 / (1 + Math.exp(-x)), even(-87.33, 88), 6],
  [
    "softplus",
    (x) => x.softplus(),
    (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
    even(-87.33, 88),
    6,
  ],
  ["sqrt", (x) => x.sqrt(), Math.sqrt, even(1e-6, 100), 3],
  ["division", (x) => tensor(1).div(x), (x) => 1 / x, even(0.01, 100), 2.5],
];

for (const [name, f, exact, x, ulp] of accuracy) {
  testOnDevices(`${name} is within ${ulp} ulp on [${x[0]}, ${x.at(-1)}]`, async () => {
    const worst = worstUlp(x, await f(tensor(x)).data(), exact);
    assert.ok(worst.ulp <= ulp, `${worst.ulp} ulp at ${worst.at}`);
  });
}

testOnDevices("sin and cos are within 2e-7 for large angles", async () => {
  const x = Float32Array.from([...even(-2e7, 2e7), ...even(1e4, 1e6)]);
  for (const name of ["sin", "cos"] as const) {
    const y = await tensor(x)[name]().data();
    const errors = Float64Array.from(y, (value, i) => Math.abs(value - Math[name](x[i])));
    const worst = errors.reduce((most, error) => Math.max(most, error));
    assert.ok(worst <= 2e-7, `${name} is off by ${worst}`);
  }
});

testOnDevices("float32 functions are correct at zero, infinity and NaN", async () => {
  const x = tensor([0, -1, Infinity, -Infinity, NaN]);
  const expected: [string, Tensor, number[]][] = [
    ["exp", x.exp(), [1, Math.fround(Math.exp(-1)), Infinity, 0, NaN]],
    ["log", x.log(), [-Infinity, NaN, Infinity, NaN, NaN]],
    ["log1p", x.log1p(), [0, -Infinity, Infinity, NaN, NaN]],
    ["sin", x.sin(), [0, Math.fround(Math.sin(-1)), NaN, NaN, NaN]],
    ["tanh", x.tanh(), [0, Math.fround(Math.tanh(-1)), 1, -1, NaN]],
    ["sigmoid", x.sigmoid(), [0.5, Math.fround(1 / (1 + Math.E)), 1, 0, NaN]],
    ["isNaN", x.isNaN(), [0, 0, 0, 0, 1]],
    ["where", x.isNaN().where(7, x), [0, -1, Infinity, -Infinity, 7]],
    ["equal", x.equal(Infinity), [0, 0, 1, 0, 0]],
  ];
  for (const [name, y, values] of expected) {
    (await y.data()).forEach((value, i) => {
      const same = Number.isNaN(values[i])
        ? Number.isNaN(value)
        : Math.abs(value - values[i]) < 1e-6 || value === values[i];
      assert.ok(same, `${name}: element ${i} is ${value}, expected ${values[i]}`);
    });
  }
});

testOnDevices(
  "pow(1, x) is 1 for every x including NaN, and pow(-1, x) is 1 for infinite x",
  async (device) => {
    for (const dtype of floatsOf(device)) {
      const x = tensor([1, 1, 1, -1, -1, -1, -1], { dtype });
      const power = tensor([Infinity, -Infinity, NaN, Infinity, -Infinity, NaN, 0.5], { dtype });
      assert.deepEqual([...await x.pow(power).data()], [1, 1, 1, 1, 1, NaN, NaN], dtype);
    }
  },
);

testOnDevices("the sign of NaN is NaN", async (device) => {
  for (const dtype of floatsOf(device)) {
    const x = tensor([NaN, 0, -2, Infinity], { dtype });
    assert.deepEqual([...await x.sign().data()], [NaN, 0, -1, 1], dtype);
  }
});

/** WGSL has no float64. */
function floatsOf({ info }: Device): DType[] {
  return info.kind === "cpu" ? ["float32", "float64"] : ["float32"];
}
