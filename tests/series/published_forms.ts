/** Tables in the published forms of archives and statistics offices. */
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { configOf } from "../../src/train/run/config.ts";
import { experimentNamed } from "../runs.ts";

const ownSeries = experimentNamed("own-series");

/** Files of a case by name, and the options that name them. */
export interface Case {
  readonly files: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Record of a run that is prepared and not trained. */
export async function recordOf({ files, options }: Case, folder: string): Promise<DataRecord> {
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(`${folder}/${name}`.replace(/\/[^/]+$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  const placed = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      ["data", "validation", "test"].includes(name) ? `${folder}/${value}` : value,
    ]),
  );
  const config = configOf(ownSeries, { device: "cpu", model: "gru", hidden: 4, ...placed });
  return (await ownSeries.prepare(config)).record;
}

/** Files in the exact form of UCR's `.tsv`: the label, then the values, tab-separated, without a header. */
export const gunPoint = (count: number, change: (line: string, i: number) => string = (line) => line) =>
  Array.from(
    { length: count },
    (_, i) =>
      change(`${i % 2 + 1}\t-1.1250133${i}\t-1.1313338\t-1.1382833\t${i % 2 ? "" : "-"}0.5`, i) + "\n",
  ).join("");
export const ucr = (test: string, train = gunPoint(8)): Case => ({
  files: { "GunPoint_TRAIN.tsv": train, "GunPoint_TEST.tsv": test },
  options: { data: "GunPoint_TRAIN.tsv", test: "GunPoint_TEST.tsv", table: { layout: "rows" } },
});

/** A file in the exact form of the UEA archive. */
export const pens = (lines: readonly string[]) =>
  [
    "#The pens of the archive",
    "@problemName Pens\r\n@timeStamps false\r\n@missing false\r\n@univariate false",
    "@dimensions 2\r\n@equalLength true\r\n@seriesLength 3",
    "@classLabel true a b",
    "@data",
    ...lines,
    "",
  ].join("\r\n");
export const pen = (i: number) => `${i},0.5,1:2,${i}.25,0:${i % 2 ? "b" : "a"}`;
export const penLines = (count: number) => Array.from({ length: count }, (_, i) => pen(i));
export const uea = (test: string, train = pens(penLines(8))): Case => ({
  files: { "Pens/Pens_TRAIN.ts": train, "Pens/Pens_TEST.ts": test },
  options: { data: "Pens" },
});

/** A file in the exact form of the TSER archive. */
export const rates = (count: number) =>
  [
    "@problemname Rates\n@timestamps false\n@missing false\n@univariate true\n@equallength true\n@targetlabel true\n@data",
    ...Array.from({ length: count }, (_, i) => `0.0,1.0,${i}.0:0.${i}25`),
    "",
  ].join("\n");
export const tser = (options: Case["options"], test = rates(4)): Case => ({
  files: { "Rates/Rates_TRAIN.ts": rates(8), "Rates/Rates_TEST.ts": test },
  options,
});

/** Labelled series of a long table. */
export const labelled = (
  names: string,
  { label = "up,down", time = (t: number) => `${t}`, channel = "x" } = {},
) =>
  [
    `series,time,${channel},label`,
    ...[...names].flatMap((name, i) =>
      [0, 1, 2].map((t) => `${name},${time(t)},${t + i / 10},${label.split(",")[i % 2]}`)
    ),
    "",
  ].join("\n");
export const parts = (test: string, validation = labelled("ij")): Case => ({
  files: { "train.csv": labelled("abcdefgh"), "validation.csv": validation, "test.csv": test },
  options: { data: "train.csv", validation: "validation.csv", test: "test.csv" },
});

/** Monthly passengers in the form of the airline table, as statistics offices write months and quarters. */
export const monthly = (write: (year: number, month: number) => string, count = 120, step = 1) =>
  [
    "Month,Passengers",
    ...Array.from({ length: count }, (_, i) =>
      `${write(1949 + Math.floor(i * step / 12), i * step % 12)},${100 + i % 12}`),
    "",
  ].join("\n");
export const iso = (year: number, month: number) => `${year}-${`${month + 1}`.padStart(2, "0")}`;
export const named = (year: number, month: number) =>
  `${year} ${["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month]}`;
export const quarter = (year: number, month: number) => `${year} Q${month / 3 + 1}`;
export const calendar = (table: string, horizon: unknown = "1y"): Case => ({
  files: { "airline.csv": table },
  options: {
    data: "airline.csv",
    task: "forecast",
    model: "seasonal-naive",
    hidden: undefined,
    horizon,
    table: { time: "Month" },
  },
});
