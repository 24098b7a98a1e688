/** Iteration over linear recurrences x[i] = a[i - 1] x[i - 1] + b[i] along an axis, for both devices. */
import { collapse, type Walk } from "./collapse.ts";

/**
 * The axes of a linear recurrence.
 *
 * @internal
 */
export interface RecurrenceAxes {
  /** The axis of the recurrence. */
  readonly axis: number;
  /** For complex numbers: the axis of length two with the real and imaginary parts. */
  readonly parts?: number;
}

/** Shape and strides of a view of either device. */
interface Strided {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** Distances between elements of a view's lines, in elements. */
interface RecurrenceOperand {
  /** Distance from one element of a line to the next. */
  readonly step: number;
  /** Distance from a real part to its imaginary part. 0 for real numbers. */
  readonly imaginary: number;
}

/** The lines of a recurrence. They are independent of each other. */
export interface RecurrenceLines {
  /** Start of each line in each view. */
  readonly lines: Walk;
  /** Number of elements of a line. */
  readonly length: number;
  readonly operands: readonly RecurrenceOperand[];
}

/**
 * Computes the lines of views.
 *
 * @param views Views of one rank, such as a, b and x. The last view has the full shape; axes of length one of
 * the others are broadcast.
 */
export function recurrenceLines(
  views: readonly Strided[],
  { axis, parts }: RecurrenceAxes,
): RecurrenceLines {
  const { shape } = views.at(-1)!;
  const strides = views.map((view) => view.strides.map((stride, i) => view.shape[i] === 1 ? 0 : stride));
  const others = shape.map((_, i) => i).filter((i) => i !== axis && i !== parts);
  return {
    lines: collapse(others.map((i) => shape[i]), strides.map((list) => others.map((i) => list[i]))),
    length: shape[axis],
    operands: strides.map((list) => ({ step: list[axis], imaginary: parts === undefined ? 0 : list[parts] })),
  };
}
