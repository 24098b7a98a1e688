/** Linear recurrences x[i] = a[i - 1] x[i - 1] + b[i] along an axis, as both devices walk over them. */
import { collapse, type Walk } from "./collapse.ts";

/**
 * The axes of a linear recurrence.
 *
 * @internal
 */
export interface RecurrenceAxes {
  /** The axis along which it runs. */
  readonly axis: number;
  /** Of complex numbers, the axis of length two that holds the real and the imaginary parts. */
  readonly parts?: number;
}

/** Shape and strides of a view of either device. */
interface Strided {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** Position of a view's lines in memory; all distances are in elements. */
interface RecurrenceOperand {
  /** Distance from one element of a line to the next. */
  readonly step: number;
  /** Distance from a real part to the imaginary one, 0 for real numbers. */
  readonly imaginary: number;
}

/** The lines of a recurrence, which are independent of each other. */
export interface RecurrenceLines {
  /** Start of each line in each view. */
  readonly lines: Walk;
  /** Number of elements of each. */
  readonly length: number;
  readonly operands: readonly RecurrenceOperand[];
}

/**
 * Sorts out the axes of views of a recurrence.
 *
 * @param views Such as a, b and x, which are of one rank; the last one has the shape of all, and an axis of length one of another
 * repeats.
 */
export function recurrenceLines(
  views: readonly Strided[],
  { axis, parts }: RecurrenceAxes,
): RecurrenceLines {
  const { shape } = views.at(-1)!;
  const strides = views.map((view) => view.strides.map((own, i) => view.shape[i] === 1 ? 0 : own));
  const others = shape.map((_, i) => i).filter((i) => i !== axis && i !== parts);
  return {
    lines: collapse(others.map((i) => shape[i]), strides.map((own) => others.map((i) => own[i]))),
    length: shape[axis],
    operands: strides.map((own) => ({ step: own[axis], imaginary: parts === undefined ? 0 : own[parts] })),
  };
}
