/** Lines of code by folder, and their budgets. docs/internals/how_it_works.md names the aims. */
import { sources } from "./import_graph.ts";

/**
 * Maximum number of lines of a folder of `src`, and of the folder of `tests` with the same name. Raise a budget
 * in the commit that needs it, and say there why.
 */
const budgets: Readonly<Record<string, readonly [src: number, tests: number]>> = {
  autodiff: [1300, 1400],
  bench: [0, 550],
  calendars: [0, 400],
  charts: [1500, 500],
  commands: [1500, 500],
  compile: [11700, 4900],
  data: [5300, 2100],
  device: [12300, 3800],
  examples: [0, 200],
  files: [900, 400],
  // 720 lines of src and 250 of tests are structured CDEs.
  models: [9950, 5350],
  nn: [1600, 900],
  notebooks: [0, 100],
  optim: [900, 400],
  options: [0, 1200],
  "other files": [0, 1700],
  pages: [0, 200],
  // 590 lines are the swimmer and the hopper of MuJoCo.
  papers: [0, 5050],
  paths: [1900, 1200],
  platform: [600, 0],
  programs: [0, 2600],
  // 220 lines of src are imports of code that is loaded on demand, 50 of src and of tests draws of convolutions, 45 of
  // both equal parts of series, and 120 of both fits and sums that models share.
  series: [17755, 8335],
  serve: [4000, 2400],
  solvers: [8900, 7500],
  tasks: [0, 2100],
  tensor: [4400, 4300],
  torture: [0, 2900],
  train: [4100, 2300],
  view: [1000, 600],
  web: [0, 250],
};

/** Lines and budgets of a folder of `src` and of `tests`. */
export interface FolderLines {
  readonly folder: string;
  readonly lines: readonly [src: number, tests: number];
  readonly budget: readonly [src: number, tests: number];
}

/** Counts the lines of each folder, comments and empty lines included. */
export async function countLines(): Promise<FolderLines[]> {
  const lines = new Map(Object.keys(budgets).map((folder): [string, [number, number]] => [folder, [0, 0]]));
  for (const [path, text] of await sources(["src", "tests"])) {
    const [root, ...names] = path.split("/");
    const folder = names.length > 1 ? names[0] : "other files";
    if (!lines.has(folder)) lines.set(folder, [0, 0]);
    lines.get(folder)![root === "src" ? 0 : 1] += text.split("\n").length - 1;
  }
  return [...lines].map(([folder, lines]) => ({ folder, lines, budget: budgets[folder] ?? [0, 0] }));
}

/** Formats lines and budgets as a table, with the totals in the last row. */
export function lineTable(folders: readonly FolderLines[]): string {
  const cells = folders.map((
    { folder, lines, budget },
  ) => [folder, lines[0], budget[0], lines[1], budget[1]]);
  const sum = (column: number) => cells.reduce((total, row) => total + Number(row[column]), 0);
  const rows = [["lines", "src", "budget", "tests", "budget"], ...cells, ["total", ...[1, 2, 3, 4].map(sum)]];
  return rows.map(([folder, ...numbers]) =>
    `${folder}`.padEnd(12) + numbers.map((number) => `${number}`.padStart(8)).join("")
  ).join("\n");
}
