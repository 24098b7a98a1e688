/** Axes of charts of series. */
import type { Axis } from "../../charts/scale.ts";
import type { TimeKind } from "../../data/format.ts";

/** Axis of the times of series. */
export function timeAxis(kind: TimeKind): Axis {
  if (kind === "number") return { title: "time" };
  return { title: "time", scale: kind, ...(kind === "date" ? { unit: "UTC" } : {}) };
}
