/** Solves with events, for the table of solves and transformations. */
import { type EventFunction, type EventOptions, odeintEvent, stack, type Tensor } from "../../mod.ts";
import type { Kind } from "./transformations.ts";

/** A solve up to events of a state that increases. Returns states and times of all events. */
function event(
  name: string,
  functions: EventFunction | readonly EventFunction[],
  options: EventOptions<Tensor>,
  more: Partial<Kind> = {},
): Kind {
  return {
    name: `event: ${name}`,
    solve(w, x) {
      const field = (t: Tensor, y: Tensor) => y.matmul(w).sin().mul(0.3).add(t.sin().mul(0.2)).add(1);
      const { y, events } = odeintEvent(field, x, 0, functions, {
        direction: "up",
        rtol: 1e-9,
        atol: 1e-9,
        ...options,
      });
      return stack([
        y,
        ...[0, 1].slice(0, options.maxEvents ?? 1).map((i) => {
          const t = events.t.select(0, i);
          return events.y.select(0, i).mul(t.rank === 0 ? t : t.expandDims(1));
        }),
      ]);
    },
    tolerance: 1e-5,
    ...more,
  };
}

/** All kinds of solves with events. */
export const eventKinds: readonly Kind[] = [
  event("one", (_t, y) => y.sum().sin(), {}),
  event("one, checkpoint, with an end", (_t, y) => y.sum().sin(), { adjoint: "checkpoint", t1: 20 }),
  event("restart", (_t, y) => y.sum().sin(), {
    maxEvents: 3,
    restart: (_t, y) => y.mul(0.5).add(y.square().mul(0.1)),
  }),
  event("several, with a restart", [(_t, y) => y.sum().sin(), (t, y) => t.mul(3).add(y.mean()).cos()], {
    maxEvents: 4,
    direction: ["up", "both"],
    restart: (_t, y, which) => which.equal(0).where(y.mul(0.5), y.add(0.1)),
  }),
  event("of each sample", (_t, y) => y.sum(1).sin(), { norm: "sample" }),
  event("of each sample, with a restart", (_t, y) => y.sum(1).sin(), {
    norm: "sample",
    maxEvents: 2,
    restart: (_t, y) => y.mul(0.5),
  }),
];
