/** First and second derivatives of `pow`, compared with their formulas. */
import assert from "node:assert/strict";
import { checkGradients, type DType, grad, type Tensor, tensor } from "../../mod.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";

type Derivatives = Record<"x" | "p" | "xx" | "xp" | "px" | "pp", number>;

/** Derivatives with respect to the operands named, one after another. */
async function derivativesAt(x: number, p: number, dtype: DType): Promise<Derivatives> {
  const names = ["x", "p"];
  const found: Record<string, number> = {};
  const operands = [x, p].map((value) => tensor([value], { dtype }));
  const first = grad(([x, p]: Tensor[]) => x.pow(p).sum());
  for (const [i, name] of names.entries()) {
    found[name] = await first(operands)[i].item();
    for (const [j, other] of names.entries()) {
      found[name + other] = await grad((both: Tensor[]) => first(both)[i].sum())(operands)[j].item();
    }
  }
  return found as Derivatives;
}

/** The formulas for a positive base. */
function expectedAt(x: number, p: number): Derivatives {
  const log = Math.log(x);
  const mixed = x ** (p - 1) * (1 + p * log);
  return {
    x: p * x ** (p - 1),
    p: x ** p * log,
    xx: p * (p - 1) * x ** (p - 2),
    xp: mixed,
    px: mixed,
    pp: x ** p * log * log,
  };
}

/**
 * The limits at x = 0, or 0 by definition if the gradient has no limit. NaN marks mixed derivatives that do
 * not exist.
 */
const atZero: [p: number, expected: Derivatives][] = [
  [0, { x: 0, p: 0, xx: 0, xp: 0, px: 0, pp: 0 }],
  [1, { x: 1, p: 0, xx: 0, xp: NaN, px: NaN, pp: 0 }],
  [2, { x: 0, p: 0, xx: 2, xp: 0, px: 0, pp: 0 }],
  [3, { x: 0, p: 0, xx: 0, xp: 0, px: 0, pp: 0 }],
  [0.5, { x: Infinity, p: 0, xx: -Infinity, xp: NaN, px: NaN, pp: 0 }],
  [-1, { x: -Infinity, p: -Infinity, xx: Infinity, xp: Infinity, px: Infinity, pp: Infinity }],
];

function assertClose(found: Derivatives, expected: Derivatives, tolerance: number, where: string) {
  for (const name of Object.keys(expected) as (keyof Derivatives)[]) {
    const [value, wanted] = [found[name], expected[name]];
    if (Number.isNaN(wanted)) continue;
    const isSame = value === wanted || Math.abs(value - wanted) <= tolerance * Math.max(1, Math.abs(wanted));
    assert.ok(isSame, `${where}: ${name} is ${value}, expected ${wanted}`);
  }
}

const exponents = [0, 1, 2, 3, -1, -2, 0.5, 1.5];

testOnDevices("derivatives of pow with a positive base match the formulas", async ({ info }) => {
  for (const dtype of info.kind === "cpu" ? ["float64", "float32"] as const : ["float32"] as const) {
    for (const x of [0.25, 1, 2, 3.5]) {
      for (const p of exponents) {
        const tolerance = dtype === "float64" ? 1e-13 : 1e-5;
        assertClose(await derivativesAt(x, p, dtype), expectedAt(x, p), tolerance, `${dtype} ${x}^${p}`);
      }
    }
  }
});

testOnCpu("derivatives of pow with base 0 are their limits, or 0", async () => {
  for (const dtype of ["float64", "float32"] as const) {
    for (const [p, expected] of atZero) {
      assertClose(await derivativesAt(0, p, dtype), expected, 0, `${dtype} 0^${p}`);
    }
  }
});

testOnCpu(
  "for a negative base and integer exponents, derivatives of pow with respect to the exponent are 0",
  async () => {
    for (const x of [-0.5, -1, -2]) {
      for (const p of exponents.filter(Number.isInteger)) {
        const { x: first, xx } = expectedAt(-x, p);
        const sign = p % 2 === 0 ? 1 : -1;
        const expected = { x: -sign * first, p: 0, xx: sign * xx, xp: NaN, px: NaN, pp: 0 };
        assertClose(await derivativesAt(x, p, "float64"), expected, 1e-13, `${x}^${p}`);
      }
    }
  },
);

testOnCpu("second gradients of pow at integer exponents agree with central differences", async () => {
  const first = (...operands: Tensor[]) => grad(([x, p]: Tensor[]) => x.pow(p).sum())(operands);
  for (const p of exponents) {
    await checkGradients(first, [2, p].map((value) => tensor([value], { dtype: "float64" })), {
      tolerance: 1e-5,
    });
  }
});

testOnDevices("a gradient of pow that is 0 by definition stays 0 for an infinite cotangent", async () => {
  const f = ([x, p]: Tensor[]) => x.pow(p).mul(Infinity).sum();
  const [ofBase] = grad(f)([tensor([0]), tensor([0])]);
  const [, ofExponent] = grad(f)([tensor([0, -1]), tensor([0, 1])]);
  assert.deepEqual([...await ofBase.data(), ...await ofExponent.data()].map((value) => value + 0), [0, 0, 0]);
});
