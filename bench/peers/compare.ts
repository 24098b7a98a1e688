/** Joins the times of other implementations with ours, as a table. */
import { markdownTable } from "../../src/train/markdown.ts";
import { command, main } from "../../tasks/command.ts";
import { type Line, measure, type MeasureOptions, withMeasureOptions, workloadNames } from "../workloads.ts";

/** A line of another implementation's times; without a name it is the papers' own, on PyTorch. */
type PeerLine =
  & { workload: string; threads?: number; implementation?: string }
  & (
    | { step: number }
    | { seconds: number }
  );

const secondsOf = (line: Line | PeerLine) => "step" in line ? line.step : line.seconds;

async function readLines<T>(file: string): Promise<T[]> {
  const text = await Deno.readTextFile(file);
  return text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

/** A table in Markdown: seconds of each implementation, and how many times the fastest of the others ours is faster. */
export function compare(ours: readonly Line[], theirs: readonly PeerLine[]): string {
  const named = theirs.map((line) => ({ ...line, implementation: line.implementation ?? "PyTorch" }));
  const peers = [...new Set(named.map(({ implementation }) => implementation))];
  const rows = ours.map((line) => {
    const times = peers.map((peer) =>
      named.filter(({ workload, implementation }) => workload === line.workload && implementation === peer)
        .map(secondsOf).sort((a, b) => a - b)[0]
    );
    const own = secondsOf(line);
    const ratios = times.map((time) => time === undefined ? undefined : time / own);
    const known = ratios.filter((ratio) => ratio !== undefined);
    return [
      line.workload,
      ...times.map((time) => time === undefined ? "" : formatSeconds(time)),
      formatSeconds(own),
      known.length > 0 ? Math.min(...known).toPrecision(3) : "",
    ];
  });
  const header = ["workload", ...peers.map((peer) => `${peer} (s)`), "Weft (s)", "times faster"];
  return markdownTable([header, ...rows]);
}

function formatSeconds(seconds: number): string {
  return seconds >= 0.01 ? seconds.toFixed(3) : seconds.toFixed(5);
}

if (import.meta.main) {
  const program = withMeasureOptions(
    command("bench:peers", "Compares the papers' workloads with other implementations, as a table"),
  )
    .requiredOption("--peers <files...>", "lines of JSON of the other implementations")
    .option("--ours <file>", "lines of JSON from bench:workloads; measured now by default")
    .parse(["deno", "peers", ...Deno.args]);
  await main(async () => {
    const { peers, ours, ...options } = program.opts<
      Omit<MeasureOptions, "names"> & { peers: string[]; ours?: string }
    >();
    const theirs = (await Promise.all(peers.map((file) => readLines<PeerLine>(file)))).flat();
    const names = workloadNames.filter((name) => theirs.some(({ workload }) => workload === name));
    const lines = ours ? await readLines<Line>(ours) : await Array.fromAsync(measure({ ...options, names }));
    const odd = [...theirs, ...lines].find(({ threads }) => threads !== theirs[0].threads);
    if (odd) {
      console.error(`${odd.workload} ran with ${odd.threads} threads, others with ${theirs[0].threads}`);
    }
    console.log(compare(lines, theirs));
    return 0;
  });
}
