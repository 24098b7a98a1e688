/** Powers with integer exponents are exact if the result is representable, for every implementation. */
import assert from "node:assert/strict";
import { type DType, jit, scan, type Tensor, tensor } from "../../mod.ts";
import type { Device } from "../../src/device/device.ts";
import { testOnDevices } from "../devices.ts";

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** WGSL has no float64. */
function dtypesOf({ info }: Device): DType[] {
  return info.kind === "cpu" ? ["float32", "float64", "int32", "uint32"] : ["float32", "int32", "uint32"];
}

/**
 * The power in exact arithmetic, wrapped around for integers. Returns `undefined` if the power is not
 * representable.
 */
function exactPower(x: number, p: number, dtype: DType): number | undefined {
  if (p < 0) return 1 / exactPower(x, -p, "float64")!;
  const power = BigInt(x) ** BigInt(p);
  if (dtype === "int32") return Number(BigInt.asIntN(32, power));
  if (dtype === "uint32") return Number(BigInt.asUintN(32, power));
  const rounded = dtype === "float32" ? Math.fround(Number(power)) : Number(power);
  return BigInt(rounded) === power ? rounded : undefined;
}

/** The bases and exponents of a type. */
function operandsOf(dtype: DType): [bases: number[], exponents: number[]][] {
  const bases = range(dtype === "uint32" ? 0 : -20, 20);
  if (dtype === "int32" || dtype === "uint32") return [[bases, range(0, 12)]];
  const largest = dtype === "float32" ? 31 : 255;
  return [[bases, range(0, 12)], [[2, -2, 4, 16], range(-largest, largest)]];
}

/** Ways to compute the powers of many bases with one exponent. */
const ways: [string, (x: Tensor, p: number) => Tensor][] = [
  ["a number", (x, p) => x.pow(p)],
  ["a tensor", (x, p) => x.pow(x.zerosLike().add(p))],
  ["computed exponents", (x, p) => x.pow(tensor([p], { dtype: x.dtype }))],
  ["jit", (x, p) => jit((x: Tensor) => x.pow(p))(x)],
  ["scan", (x, p) => scan((_, row: Tensor) => [row.pow(p), row.pow(p)], x.select(0, 0).zerosLike(), x)[1]],
];

function assertPowers(found: ArrayLike<number>, bases: number[], p: number, dtype: DType, way: string) {
  bases.forEach((x, i) => {
    const expected = exactPower(x, p, dtype);
    if (expected === undefined) {
      assert.ok(Math.abs(found[i] / x ** p - 1) < 1e-5, `${x} ** ${p} is ${found[i]}`);
    } else {assert.ok(
        found[i] === expected,
        `${way} of ${dtype}: ${x} ** ${p} is ${found[i]}, expected ${expected}`,
      );}
  });
}

for (const [way, power] of ways) {
  testOnDevices(`integer powers are exact, with ${way}`, async (device) => {
    for (const dtype of dtypesOf(device)) {
      for (const [bases, exponents] of operandsOf(dtype)) {
        // In a compiled function each exponent gives a separate program: try only a few.
        const isCompiled = way === "jit" || way === "scan";
        for (
          const p of isCompiled
            ? exponents.filter((p) => [-31, -3, 0, 1, 2, 3, 5, 12].includes(p))
            : exponents
        ) {
          if (p < 0 && dtype !== "float64" && dtype !== "float32") continue;
          const found = await power(tensor(bases, { dtype }), p).data();
          assertPowers(found, bases, p, dtype, way);
        }
      }
    }
  });
}

testOnDevices("integer powers of plain numbers are exact", async (device) => {
  for (const dtype of dtypesOf(device)) {
    const cube = (x: Tensor) => x.zerosLike().add(2).pow(x.zerosLike().add(3)).add(x.zerosLike());
    const x = tensor([0, 1], { dtype });
    assert.deepEqual([...await cube(x).data()], [8, 8], dtype);
    assert.deepEqual([...await jit(cube)(x).data()], [8, 8], dtype);
    const eight = await cube(x).cast("int32").data();
    assert.deepEqual([...eight], [8, 8], dtype);
  }
});

testOnDevices(
  "elementwise negative powers of integers round toward zero, and a constant one throws",
  async () => {
    const x = tensor([0, 1, -1, -1, 2, -2], { dtype: "int32" });
    const p = tensor([-1, -3, -3, -2, -1, -2], { dtype: "int32" });
    assert.deepEqual([...await x.pow(p).data()], [0, 1, -1, 1, 0, 0]);
    assert.throws(() => x.pow(-1), /int32 to the power -1 is not an integer; convert the tensor with/);
    assert.throws(() => x.pow(0.5), TypeError);
  },
);
