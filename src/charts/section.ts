/** Data of the sections of a report. A section is plain data; {@linkcode renderSection} makes HTML of it. */
import type { Chart } from "./chart.ts";

/** A text that links to a page. */
export interface Link {
  /** The text. */
  readonly text: string;
  /** Address of the page. */
  readonly href: string;
}

/** A cell of a table. A number is written with four significant digits, NaN as a dash. */
export type Cell = string | number | Link | {
  /** Text of the cell. */
  readonly text: string;
  /** `"best"` is bold, `"second"` underlined. */
  readonly mark: "best" | "second";
};

/** A cell of the first row of a table. A link sorts the table by the column. */
export type HeadCell =
  | string
  | Link & {
    /** Order of the rows, if the table is sorted by the column. */
    readonly order?: "ascending" | "descending";
  };

/** A table. The first cell of each row is its name. */
export interface TableSection {
  /** Kind of the section. */
  readonly kind: "table";
  /** Cells of the first row. */
  readonly head: readonly HeadCell[];
  /** Cells of each row. */
  readonly rows: readonly (readonly Cell[])[];
  /** Columns of text, which are aligned to the left and may wrap; the first column by default. */
  readonly texts?: readonly number[];
  /** Whether the table is hidden until the reader opens it. */
  readonly isFolded?: boolean;
}

/** Charts side by side. */
export interface ChartsSection {
  /** Kind of the section. */
  readonly kind: "charts";
  /** Charts in order. */
  readonly charts: readonly Chart[];
}

/** Number of samples by true class (rows) and predicted class (columns). */
export interface ConfusionSection {
  /** Kind of the section. */
  readonly kind: "confusion";
  /** Names of the classes. */
  readonly classes: readonly string[];
  /** Number of samples, a row for each true class. */
  readonly matrix: readonly (readonly number[])[];
}

/** A grey or coloured image. */
export interface PixelImage {
  /** Caption of the image. */
  readonly name: string;
  /** Number of pixels of a row. */
  readonly width: number;
  /** Brightness of each pixel, or red, green and blue of each pixel, row by row, from 0 (dark) to 1. */
  readonly pixels: ArrayLike<number>;
  /**
   * Numbers of a pixel: 1 is grey, 3 are red, green and blue.
   *
   * @default {1}
   */
  readonly channels?: 1 | 3;
}

/** Groups of images. */
export interface ImagesSection {
  /** Kind of the section. */
  readonly kind: "images";
  /** Groups, each with a title and its images. */
  readonly groups: readonly { readonly title: string; readonly images: readonly PixelImage[] }[];
}

/** Lines of text. */
export interface TextSection {
  /** Kind of the section. */
  readonly kind: "text";
  /** Lines in order. */
  readonly lines: readonly string[];
}

/** A section of a report: a heading, a text that explains it, and its content. */
export type Section =
  & {
    /** Title above the section. */
    readonly title: string;
    /** Explanation below the heading. */
    readonly text?: string;
  }
  & (TableSection | ChartsSection | ConfusionSection | ImagesSection | TextSection);
