/** Observations that are read together, compared with observations that are read one by one. */
import assert from "node:assert/strict";
import { observationQueue } from "../../src/serve/streams/observation_queue.ts";
import {
  type NamedObservation,
  type ObservationsReader,
  observationsReader,
} from "../../src/series/run/observation_stream.ts";
import { withFolder } from "../tasks/command_line.ts";
import { trainedRun } from "./served.ts";

const row = (
  series: string,
  time: number | string,
  values: Record<string, unknown> = { x: 1, ward: "er" },
) => ({
  series,
  time,
  values,
});

/** Observations that differ in form, with errors among them. */
const given: NamedObservation[] = [
  ...Array.from({ length: 100 }, (_, i) => row(`a${i}`, i / 7, { x: i, ward: i % 2 ? "icu" : "er" })),
  ...[1, 2, 2, 3].map((time) => row("same", time)),
  ...[20240531, 20240532, 202405, 202413, 1.7e9, 1.7e12, 1e12 + 0.5, -1, 0].map((time, i) =>
    row(`t${i}`, time)
  ),
  ...["1", "2024-05-31", "2024-05-31 10:00", "2024-05", "2024-13-45", "noon"].map((time, i) =>
    row(`d${i}`, time)
  ),
  ...[{}, { x: null }, { x: "1,5" }, { x: 1e39 }, { x: [1] }, { y: 1 }, { ward: "home" }, { x: "1.5" }].map(
    (values, i) => row(`v${i}`, i, values),
  ),
  row("=1+1", 0),
  row("x", 0),
];

Deno.test(
  "observations that wait together are read as those that wait alone, in their order",
  withFolder(async (folder) => {
    const { model, record, config } = await trainedRun(folder, { online: true, epochs: 1 });
    const names = { series: "series", time: "time" };
    assert.equal(config.table, undefined);
    const read = observationsReader(model as Required<typeof model>, record, names);
    let tables = 0;
    const counted: ObservationsReader = (given) => {
      tables++;
      return read(given);
    };
    const settled = (one: Promise<unknown>) => one.catch((error: Error) => error.message);
    const alone = await Promise.all(given.map((one) => settled(read([one]).then(([result]) => result))));
    assert.ok(alone.filter((one) => typeof one === "string").length > 10);

    const queue = observationQueue(counted);
    const order: number[] = [];
    const together = given.map((one, i) => settled(queue.read(one).finally(() => order.push(i))));
    const isIdle = queue.idle().then(() => order.length);
    assert.deepEqual(await Promise.all(together), alone);
    assert.deepEqual(order, [...given.keys()]);
    assert.equal(await isIdle, given.length);
    assert.ok(tables < given.length / 2, `${tables} tables for ${given.length} observations`);
  }),
);

Deno.test("observations are read as one table if their series differ and their times have one form", async () => {
  const tables: number[] = [];
  const queue = observationQueue((given) => {
    tables.push(given.length);
    return Promise.resolve(given.map(() => ({ time: 0, values: new Float64Array(1) })));
  });
  const times = [1, 2, 1.7e9, 1.7e12, "2024-05-31", "2024-06-01"];
  const rows = [...times.map((time, i) => row(`${i}`, time)), row("same", 1), row("same", 2)];
  await Promise.all(rows.map((one) => queue.read(one)));
  assert.deepEqual(tables, [2, 1, 1, 2, 1, 1]);
});
