/** The problems with known solutions by torchdiffeq. */
import type { DType, Tensor, VectorField } from "../../mod.ts";
import fixture from "../fixtures/odeint.json" with { type: "json" };
import { type Golden, read } from "../golden.ts";

/** A problem, by its name in the fixture. */
export function problem(name: string, dtype: DType): { f: VectorField; y0: Tensor; t: number[] } {
  const [y0, t] = [fixture.y0, fixture.t].map((part) => (part as Record<string, Golden>)[name]);
  const m = read(fixture.M, dtype).mT;
  const fields: Record<string, (t: Tensor, y: Tensor) => Tensor> = {
    linear: (_t, y) => y.matmul(m),
    sine: (t, y) =>
      y.mul(2).div(t).add(t.pow(4).mul(t.mul(2).sin())).sub(t.square()).add(t.square().mul(t).mul(4)),
    vdp: (_t, y) => {
      const [position, speed] = [y.slice(1, 0, 1), y.slice(1, 1, 2)];
      const pull = position.square().neg().add(1).mul(speed).mul(2).sub(position);
      return speed.pad([[0, 0], [0, 1]]).add(pull.pad([[0, 0], [1, 0]]));
    },
  };
  return { f: fields[name], y0: read(y0, dtype), t: t.data as number[] };
}
