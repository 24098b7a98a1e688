import type { Mark, Panel } from "@weft/weft/train";

/** Draws a path in the plane, with a point where it starts. @param name Name of the path in the legend. */
export function drawPath(name: string, x: ArrayLike<number>, y: ArrayLike<number>): Panel {
  const marks: Mark[] = [
    { kind: "line", name, x, y },
    { kind: "points", name: "start", x: [x[0]], y: [y[0]] },
  ];
  return { x: { title: "x" }, y: { title: "y" }, marks, isPlane: true };
}
