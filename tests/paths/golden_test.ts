/** Paths compared with torchcde's results. */
import assert from "node:assert/strict";
import {
  CubicSpline,
  grad,
  hermiteCubicCoeffs,
  linearCoeffs,
  LinearInterpolation,
  naturalCubicCoeffs,
  type Path,
  stack,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import fixture from "../fixtures/paths.json" with { type: "json" };
import { type Golden, read, valuesOf } from "../golden.ts";
import { assertGolden, largest, tolerance, typesOf } from "./golden.ts";

interface Interpolated {
  coeffs: Golden;
  evaluate: Golden;
  derivative: Golden;
}
interface Case {
  t: Golden;
  x: Golden;
  query: Golden;
  natural_cubic: Interpolated;
  hermite_cubic_backward_differences: Interpolated;
  linear: Interpolated;
  rectilinear?: { x_with_time: Golden; coeffs: Golden };
}
const cases = fixture.cases as unknown as Case[];

const schemes = {
  natural_cubic: [naturalCubicCoeffs, CubicSpline],
  hermite_cubic_backward_differences: [hermiteCubicCoeffs, CubicSpline],
  linear: [(x: Tensor, t: Float64Array) => linearCoeffs(x, t), LinearInterpolation],
} as const;

for (const [scheme, [fit, Interpolation]] of Object.entries(schemes)) {
  testOnDevices(`${scheme}: coefficients, values and derivatives agree with torchcde`, async (device) => {
    for (const [i, golden] of cases.entries()) {
      const expected = golden[scheme as keyof typeof schemes];
      for (const dtype of typesOf(device)) {
        const times = valuesOf(golden.t);
        const coeffs = fit(read(golden.x, dtype), times);
        const where = `case ${i} ${dtype}`;
        await assertGolden(coeffs, expected.coeffs, tolerance[dtype], `${where}: coefficients`);
        const X: Path = Interpolation(coeffs, times);
        const query = Array.from(valuesOf(golden.query));
        const [batch, channels] = [golden.x.shape.slice(0, -2), golden.x.shape.at(-1)!];
        for (const what of ["evaluate", "derivative"] as const) {
          const oneByOne = stack(query.map((time) => X[what](time)));
          await assertGolden(oneByOne, expected[what], tolerance[dtype], `${where}: ${what}, one time each`);
          const allAtOnce = X[what](tensor(query, { dtype }));
          assert.deepEqual(allAtOnce.shape, [...batch, query.length, channels]);
          const timeFirst = allAtOnce.permute([batch.length, ...batch.keys(), batch.length + 1]);
          // Float32 times are off by up to 5e-7 here, which a steep path amplifies.
          const scale = dtype === "float32" ? Math.max(1, largest(expected[what])) : 1;
          await assertGolden(
            timeFirst,
            expected[what],
            tolerance[dtype],
            `${where}: ${what}, all times`,
            scale,
          );
        }
      }
    }
  });
}

testOnDevices("rectilinear: coefficients agree with torchcde", async (device) => {
  for (const { rectilinear } of cases) {
    for (const dtype of rectilinear ? typesOf(device) : []) {
      const coeffs = linearCoeffs(read(rectilinear!.x_with_time, dtype), undefined, { rectilinear: 0 });
      await assertGolden(coeffs, rectilinear!.coeffs, tolerance[dtype], "rectilinear");
    }
  }
});

testOnDevices(
  "the gradient of a natural cubic spline with respect to the data agrees with torchcde",
  async (device) => {
    const { t, x, query, weights, grad_x } = fixture.gradient;
    for (const dtype of typesOf(device)) {
      const w = read(weights, dtype);
      const gradient = grad((x: Tensor) => {
        const X = CubicSpline(naturalCubicCoeffs(x, t.data), t.data);
        const [time] = query.data;
        return X.evaluate(time).mul(w).add(X.derivative(time).mul(w.cos())).sum();
      })(read(x, dtype));
      await assertGolden(gradient, grad_x, tolerance[dtype], dtype);
    }
  },
);
