/** Data of charts. A chart is plain data: it can be stored as JSON and drawn in a browser. */
import type { Axis } from "./scale.ts";

/** A line through points. Points that are not finite are skipped. */
export interface LineMark {
  /** Kind of the mark. */
  readonly kind: "line";
  /** Name in the legend. Marks with the same name have the same colour. */
  readonly name: string;
  /** Horizontal values of the points. */
  readonly x: ArrayLike<number>;
  /** Vertical values of the points. */
  readonly y: ArrayLike<number>;
  /** `"solid"` by default. `"reference"` is a thin grey line, such as the diagonal of a scatter plot. */
  readonly style?: "solid" | "dashed" | "reference";
}

/** Separate points. */
export interface PointsMark {
  /** Kind of the mark. */
  readonly kind: "points";
  /** Whether points are rings, which do not hide what lies below them. */
  readonly isHollow?: boolean;
  /** Name in the legend. */
  readonly name: string;
  /** Horizontal values of the points. */
  readonly x: ArrayLike<number>;
  /** Vertical values of the points. */
  readonly y: ArrayLike<number>;
}

/** The area between two curves. It extends the vertical axis by at most twice the range of the other marks; the rest is clipped. */
export interface BandMark {
  /** Kind of the mark. */
  readonly kind: "band";
  /** Name of a line in the same chart; the band has its colour. By default, no line has this colour. */
  readonly of?: string;
  /** Name in the legend. */
  readonly name: string;
  /** Horizontal values of the points. */
  readonly x: ArrayLike<number>;
  /** Lower curve: a value for each member of `x`. */
  readonly low: ArrayLike<number>;
  /** Upper curve: a value for each member of `x`. */
  readonly high: ArrayLike<number>;
}

/** A shaded part of the horizontal axis. */
export interface RegionMark {
  /** Kind of the mark. */
  readonly kind: "region";
  /** Name in the legend. */
  readonly name: string;
  /** Start of the region. */
  readonly from: number;
  /** End of the region. */
  readonly to: number;
}

/** Horizontal bars from 0 to each value, one for each category of the vertical axis. */
export interface BarsMark {
  /** Kind of the mark. */
  readonly kind: "bars";
  /** Name in the legend. */
  readonly name: string;
  /** Length of each bar. */
  readonly values: ArrayLike<number>;
}

/** A line, points, a band, a region or bars. */
export type Mark = LineMark | PointsMark | BandMark | RegionMark | BarsMark;

/** A pair of axes with its marks. */
export interface Panel {
  /** Horizontal axis. */
  readonly x: Axis;
  /** Vertical axis. */
  readonly y: Axis;
  /** Marks, drawn in this order; regions and bands come first. */
  readonly marks: readonly Mark[];
  /** Whether both axes have the same scale, for coordinates in a plane. */
  readonly isPlane?: boolean;
}

/** A chart: a title, a legend, and panels from top to bottom. */
export interface Chart {
  /** Title above the chart. */
  readonly title: string;
  /** Panels, from top to bottom. */
  readonly panels: readonly Panel[];
  /** Caption below the panels. */
  readonly note?: string;
  /** `"small"` for charts that are shown side by side. */
  readonly size?: "normal" | "small";
  /** Whether the prediction in the chart is right; undefined if the chart shows no prediction. */
  readonly outcome?: "right" | "wrong";
}

/** An entry of a legend. */
export interface Key {
  /** Name in the legend. */
  readonly name: string;
  /** Class names of the style sheet. */
  readonly classes: string;
  readonly shape: "line" | "dot" | "ring" | "area";
}

/** Number of colours of the style sheet. */
export const colourCount = 8;

/** Whether a mark is a reference line. */
export function isReference(mark: Mark): boolean {
  return mark.kind === "line" && mark.style === "reference";
}

/** Class names of the colours of lines, points, bands and bars, by the names of the marks. Regions and reference lines have none. */
export function coloursOf({ panels }: Pick<Chart, "panels">): ReadonlyMap<string, string> {
  const marks = panels.flatMap(({ marks }) => marks).filter((mark) =>
    mark.kind !== "region" && !isReference(mark)
  );
  const nameOf = (mark: Mark) => mark.kind === "band" && mark.of !== undefined ? mark.of : mark.name;
  const names = [...new Set(marks.map(nameOf))];
  return new Map(marks.map((mark) => [mark.name, `c${names.indexOf(nameOf(mark)) % colourCount}`]));
}

/** Entries of the legend, one for each name. Empty for a chart with one name, which needs no legend. */
export function legendOf(chart: Pick<Chart, "panels">): Key[] {
  const colours = coloursOf(chart);
  const keys = new Map<string, Key>();
  for (const mark of chart.panels.flatMap(({ marks }) => marks)) {
    if (keys.has(mark.name)) continue;
    const style = mark.kind === "line" ? mark.style ?? "" : "";
    keys.set(mark.name, {
      name: mark.name,
      classes: mark.kind === "region" ? "region" : `${colours.get(mark.name) ?? ""} ${style}`.trim(),
      shape: mark.kind === "line" ? "line" : mark.kind === "points" ? mark.isHollow ? "ring" : "dot" : "area",
    });
  }
  return keys.size > 1 ? [...keys.values()] : [];
}
