/**
 * Draws the pictures of the gallery: what the examples print, and pictures that notebooks store.
 * `deno run -A docs/figures/gallery.ts` in a checkout takes about a minute.
 */
import { forecast } from "../../src/series/mod.ts";
import type { Chart, LineMark } from "../../src/charts/chart.ts";
import { chartFile } from "../../src/charts/file.ts";
import { forecastPanel } from "../../src/charts/forecast.ts";
import { approximationError } from "../../examples/signature_cde.ts";

const root = new URL("../..", import.meta.url);

async function write(name: string, charts: readonly Chart[]): Promise<void> {
  await Deno.writeTextFile(new URL(`${name}.svg`, import.meta.url), chartFile(charts));
}

/** Lines of the table that an example prints. */
async function linesOf(example: string, ...args: string[]): Promise<string[]> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", `examples/${example}`, ...args],
    cwd: root,
  });
  return new TextDecoder().decode((await command.output()).stdout).trim().split("\n");
}

/** Rows of a table by column. */
function rowsOf([head, ...lines]: readonly string[]): Record<string, string>[] {
  const columns = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((field, i) => [columns[i], field])));
}

/** One machine of each class. */
async function machines(): Promise<void> {
  const rows = rowsOf(await linesOf("machines.ts", "--count", "60"));
  const charts = ["well", "worn", "loose"].map((label): Chart => {
    const { series } = rows.find((row) => row.label === label)!;
    const shown = rows.filter((row) => row.series === series && row.vibration !== "");
    const points = {
      x: shown.map(({ time }) => Number(time)),
      y: shown.map(({ vibration }) => Number(vibration)),
    };
    return {
      title: `A machine that is ${label}`,
      size: "small",
      panels: [{
        x: { title: "time" },
        y: { title: "vibration" },
        marks: [{ kind: "line", name: label, ...points }, { kind: "points", name: label, ...points }],
      }],
    };
  });
  await write("gallery_machines", charts);
}

/** The load of the day after the table, with the interval of the forecast. */
async function load(): Promise<void> {
  const bytes = (lines: readonly string[]) => new TextEncoder().encode(`${lines.join("\n")}\n`);
  const model = await forecast(
    { name: "load", bytes: bytes(await linesOf("load.ts")) },
    { horizon: 24, device: "cpu" },
  );
  const week = await linesOf("load.ts", "--first", "60", "--days", "8");
  const loads = rowsOf(week).map(({ load }, i) => ({ x: i, y: Number(load) }));
  const given = 7 * 24; // the season is a week
  const [answer] = await model.predict({ name: "week", bytes: bytes(week.slice(0, 1 + given)) });
  const { mean, quantiles } = answer.channels.load;
  const hours = Array.from({ length: 24 }, (_, i) => given + i);
  const shown = loads.slice(5 * 24);
  await write("gallery_load", [{
    title: "Load of a network: the next 24 hours",
    panels: [
      forecastPanel({ title: "time", unit: "h" }, {
        name: "load",
        unit: "MW",
        observed: { x: shown.map(({ x }) => x), y: shown.map(({ y }) => y) },
        predicted: { x: hours, y: mean },
        interval: { name: "80 % interval", low: quantiles["0.1"], high: quantiles["0.9"] },
      }, [5 * 24, given - 1]),
    ],
  }]);
}

/** The error of a linear map of the signature, for each depth. */
async function signature(): Promise<void> {
  const depths = [1, 2, 3, 4];
  const errors = [];
  for (const depth of depths) errors.push(Math.log10(await approximationError(depth)));
  const line: LineMark = { kind: "line", name: "error", x: depths, y: errors };
  await write("gallery_signature", [{
    title: "Signature to a depth: error of exp(X(T) - X(0))",
    panels: [{
      x: { title: "depth", isWhole: true },
      y: { title: "log10 of the largest error" },
      marks: [line, { ...line, kind: "points" }],
    }],
  }]);
}

/** Copies a picture that a notebook stores. @param position Position of the picture in the notebook, from 0. */
async function fromNotebook(name: string, notebook: string, position: number): Promise<void> {
  const text = await Deno.readTextFile(new URL(`examples/${notebook}.ipynb`, root));
  const { cells }: { cells: { outputs?: { data?: Record<string, string | string[]> }[] }[] } = JSON.parse(
    text,
  );
  const pictures = cells.flatMap(({ outputs = [] }) =>
    outputs.flatMap(({ data }) => data?.["image/svg+xml"] === undefined ? [] : [data["image/svg+xml"]])
  );
  await Deno.writeTextFile(new URL(`${name}.svg`, import.meta.url), [pictures[position]].flat().join(""));
}

await machines();
await signature();
await load();
await fromNotebook("gallery_neural_cde", "neural_cde", 1);
await fromNotebook("gallery_warp", "warp_waves", 1);
