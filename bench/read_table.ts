/**
 * Reads a table of a million rows and 20,000 series. Prints a line of JSON with seconds, CPU time and
 * peak memory.
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import { readTable } from "../src/data/mod.ts";
import { main } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";

const [series, rows] = [20_000, 50];

await main(async (args) => {
  benchCommand("table").parse(args, { from: "user" });
  const path = await Deno.makeTempFile({ suffix: ".csv" });
  try {
    await measure(path);
  } finally {
    await Deno.remove(path);
  }
  return 0;
});

/** Writes the table to a path, and prints the cost of reading it. */
async function measure(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true });
  file.writeSync(Buffer.from("series,time,a,b,c,ward,label\n"));
  for (let i = 0; i < series; i++) {
    const lines = Array.from({ length: rows }, (_, t) => {
      const value = Math.sin(i + t * t);
      const c = t % 5 === 0 ? "" : (10 * value).toFixed(3);
      return `machine ${i},${(t + value / 3).toFixed(4)},${value.toFixed(6)},${i % 97},${c},w${t % 7},${
        "xyz"[i % 3]
      }\n`;
    });
    file.writeSync(Buffer.from(lines.join("")));
  }
  const { size } = await Deno.stat(path);
  const [start, before] = [performance.now(), process.cpuUsage()];
  const set = await readTable(path);
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({
    rows: set.series.reduce((sum, { times }) => sum + times.length, 0),
    series: set.series.length,
    megabytes: Math.round(size / 1e6),
    seconds: Number(((performance.now() - start) / 1000).toFixed(2)),
    processorSeconds: Number(((user + system) / 1e6).toFixed(2)),
    peakMegabytes: Math.round(process.resourceUsage().maxRSS / 1000),
  }));
}
