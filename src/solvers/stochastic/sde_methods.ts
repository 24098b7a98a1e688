/** Methods for stochastic differential equations dy = f(t, y) dt + g(t, y) dW. */
import { jvp } from "../../autodiff/jvp.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { VectorField } from "../runge_kutta.ts";

/** Names of methods for stochastic differential equations. */
export type SdeMethodName =
  | "euler_maruyama"
  | "milstein"
  | "stratonovich_milstein"
  | "euler_heun"
  | "heun"
  | "reversible_heun";

/** How Brownian motions act on the state. */
export type SdeNoise = "diagonal" | "scalar" | "general";

/** A step of an equation. */
interface SdeStep {
  readonly f: VectorField;
  readonly g: VectorField;
  /** The product of a diffusion and the increments of the step. */
  readonly times: (diffusion: Tensor) => Tensor;
  readonly t: Tensor;
  readonly end: Tensor;
  readonly dt: Tensor;
  /** The increments, which broadcast against the state unless the noise is general. */
  readonly dw: Tensor;
}

/** A method for stochastic differential equations. */
export interface SdeMethod {
  readonly name: SdeMethodName;
  /** The integral that the method approximates. */
  readonly calculus: "Ito" | "Stratonovich";
  /** Whether the method takes general noise. */
  readonly isGeneral: boolean;
  /** The state after a step. The reversible method has its own loop instead. */
  readonly step?: (step: SdeStep, y: Tensor) => Tensor;
}

/** The diffusion g, and its derivative in the direction of g, Dg g. */
function alongItself(g: VectorField, t: Tensor, y: Tensor): [diffusion: Tensor, derivative: Tensor] {
  return jvp((y: Tensor) => g(t, y))([y], [g(t, y)]);
}

/** @param correct The second order in the increments that multiplies Dg g / 2. */
function milstein(correct: (step: SdeStep) => Tensor): SdeMethod["step"] {
  return (step, y) => {
    const { f, g, times, t, dt } = step;
    const [diffusion, derivative] = alongItself(g, t, y);
    return y.add(f(t, y).mul(dt)).add(times(diffusion)).add(derivative.mul(correct(step).mul(0.5)));
  };
}

const list: readonly SdeMethod[] = [
  {
    name: "euler_maruyama",
    calculus: "Ito",
    isGeneral: true,
    step: ({ f, g, times, t, dt }, y) => y.add(f(t, y).mul(dt)).add(times(g(t, y))),
  },
  {
    name: "milstein",
    calculus: "Ito",
    isGeneral: false,
    step: milstein(({ dw, dt }) => dw.square().sub(dt)),
  },
  {
    name: "stratonovich_milstein",
    calculus: "Stratonovich",
    isGeneral: false,
    step: milstein(({ dw }) => dw.square()),
  },
  {
    name: "euler_heun",
    calculus: "Stratonovich",
    isGeneral: true,
    step({ f, g, times, t, end, dt }, y) {
      const diffusion = g(t, y);
      const mean = diffusion.add(g(end, y.add(times(diffusion)))).mul(0.5);
      return y.add(f(t, y).mul(dt)).add(times(mean));
    },
  },
  {
    name: "heun",
    calculus: "Stratonovich",
    isGeneral: true,
    step({ f, g, times, t, end, dt }, y) {
      const [drift, diffusion] = [f(t, y), g(t, y)];
      const guess = y.add(drift.mul(dt)).add(times(diffusion));
      return y.add(drift.add(f(end, guess)).mul(dt.mul(0.5))).add(
        times(diffusion.add(g(end, guess)).mul(0.5)),
      );
    },
  },
  { name: "reversible_heun", calculus: "Stratonovich", isGeneral: true },
];

/** @throws {RangeError} If the method is unknown. */
export function sdeMethodOf(name: SdeMethodName): SdeMethod {
  const method = list.find((method) => method.name === name);
  if (method) return method;
  const names = (calculus: string) =>
    list.filter((method) => method.calculus === calculus).map(({ name }) => name).join(", ");
  throw new RangeError(
    `sdeint: method ${JSON.stringify(name)} is unknown; use one of ${names("Ito")} (Ito), or ${
      names("Stratonovich")
    } (Stratonovich)`,
  );
}
