/**
 * Prints a table of the hourly load of an electricity network, in megawatts. The load has a daily cycle, is
 * lower at weekends, and has noise.
 *
 *     deno run examples/load.ts > load.csv                    # 60 days
 *     deno run examples/load.ts --first 60 --days 7 > new.csv # the week after them
 */
import { parseArgs } from "node:util";
import { foldIn, key, uniform } from "../mod.ts";

const { values } = parseArgs({
  options: { first: { type: "string", default: "0" }, days: { type: "string", default: "60" } },
});
const start = Date.UTC(2024, 0, 1); // a Monday

console.log("time,load");
for (let day = Number(values.first); day < Number(values.first) + Number(values.days); day++) {
  const noise = await uniform(foldIn(key(0), day), [24], { low: -2, high: 2 }).data();
  const level = day % 7 < 5 ? 60 : 50;
  for (let hour = 0; hour < 24; hour++) {
    const time = new Date(start + (24 * day + hour) * 3_600_000).toISOString().slice(0, 16).replace("T", " ");
    const load = level - 12 * Math.cos(2 * Math.PI * (hour - 3) / 24) + noise[hour];
    console.log(`${time},${load.toFixed(1)}`);
  }
}
