/**
 * Rejected observations do not change later answers: in the library, in the messages of a server, and over
 * the network.
 */
import type { TaskKind } from "../../src/series/record/predictions.ts";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import assert from "node:assert/strict";
import { type Message, type Service, serviceOf, startServer } from "../../src/serve/mod.ts";
import { DataError } from "../../src/data/mod.ts";
import type { RunConfig, TrainedRun } from "../../src/train/mod.ts";
import type { Prediction, PredictionStreamState } from "../../src/series/record/predictions.ts";
import { withFolder } from "../tasks/command_line.ts";
import { trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

const labels: Record<string, ((i: number) => string) | undefined> = {
  classify: (i) => i % 2 ? "up" : "down",
  regress: (i) => `${i}`,
};

/** A table of series with two channels, and with the task's targets. */
function tableFor(task: string): string {
  const label = labels[task];
  const [count, length] = task === "forecast" ? [2, 60] : [16, 5];
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from({ length }, (_, t) => [
      ...[`s${i}`, t + (i % 3) / 10, Math.sin(t + i) + i / 10, Math.cos(t * (1 + i % 2))],
      ...(label ? [label(i)] : []),
    ])).flat();
  const header = ["series", "time", "x", "y", ...(label ? ["label"] : [])];
  return [header, ...rows].map((row) => `${row.join(",")}\n`).join("");
}

const runs: Record<string, Partial<RunConfig>> = {
  "classify with a mean of two models": { task: "classify", online: true, model: "delta" },
  "online classification": { task: "classify", online: true, model: "s4d" },
  "regress": { task: "regress", online: true, model: "neural-cde" },
  "forecast": { task: "forecast", model: "linear", horizon: 3, context: 6, epochs: 1 },
};

function withRun(
  chosen: Partial<RunConfig>,
  body: (run: TrainedRun<TrainedModel>) => Promise<void>,
): () => Promise<void> {
  return withFolder(async (folder) => {
    const data = `${folder}/task.csv`;
    await Deno.writeTextFile(data, tableFor(chosen.task as TaskKind));
    await body(await trainedRun(folder, { ...chosen, data }));
  });
}

type Observed = readonly [time: number, x: number, y: number];

const good: readonly Observed[] = Array.from({ length: 8 }, (_, t) => [
  ...[t + t % 2 / 10, 0.4 * Math.sin(3 * t)],
  t === 4 ? NaN : Math.cos(t),
]) as unknown as Observed[];

/**
 * Observations that are rejected after an observation at time `last`, or at the beginning if `last` is
 * undefined.
 */
function rejected(last: number | undefined): Record<string, readonly [time: number, ...values: number[]]> {
  const next = (last ?? -1) + 0.5;
  return {
    ...(last === undefined
      ? { "no value at all": [next, NaN, NaN, NaN] }
      : { "an earlier time": [last - 0.3, 5, 5], "the same time": [last, 5, 5] }),
    "a time that is NaN": [NaN, 5, 5],
    "a time that is infinite": [Infinity, 5, 5],
    "a time that is negatively infinite": [-Infinity, 5, 5],
    ...(last === undefined ? {} : { "a time beyond float32": [1e41, 5, 5] }),
    "too few values": [next, 5],
    "too many values": [next, 5, 5, 5],
    "no values": [next],
    "a value that is infinite": [next, Infinity, 5],
    "a value that is negatively infinite": [next, 5, -Infinity],
    "a value beyond float32": [next, 1e41, 5],
  };
}

/**
 * Extreme observations, which a model may answer or reject. Without a time, they are half a unit after the
 * last observation.
 */
const extreme: readonly Observed[] = [
  ...[1e12, 1e20, 3e38, 1e39, 3e39].flatMap((time): Observed[] => [[time, 1, 1], [time, 3e38, 3e38]]),
  ...[1e30, 1e37, 2e38, 3e38].flatMap((value): Observed[] => [[NaN, value, 1], [NaN, -value, value]]),
];

/** The extreme observations that a model rejects from a given state on, because its output is not finite. */
async function divergent(
  model: TrainedRun<TrainedModel>["model"],
  state: PredictionStreamState,
  last: number,
): Promise<Record<string, Observed>> {
  const found: Record<string, Observed> = {};
  for (const [time, ...values] of extreme) {
    const now = Number.isNaN(time) ? last + 0.5 : time;
    const message = await model.stream!("a", state).push(now, values).then(
      () => "",
      ({ message }) => message,
    );
    if (message !== "") found[`${now}: ${values}`] = [now, ...values] as unknown as Observed;
    if (/is not a number/.test(message)) {
      found["a prediction that is not a number"] = found[`${now}: ${values}`];
    }
  }
  return found;
}

for (const [name, chosen] of Object.entries(runs)) {
  testLong(
    `rejected observations do not change a stream: ${name}`,
    withRun(chosen, async ({ model }) => {
      const [clean, stream, hurried] = ["clean", "awaited", "at once"].map(() => model.stream!("a"));
      const atOnce: Promise<Prediction>[] = [];
      const rejectedAtOnce: [string, Promise<unknown>][] = [];
      const expected: Prediction[] = [];
      const bad: Record<string, readonly [time: number, ...values: number[]]>[] = [];
      for (const [i, [time, ...values]] of good.entries()) {
        const last = good[i - 1]?.[0];
        bad.push({ ...rejected(last), ...(i === 0 ? {} : await divergent(model, await clean.save(), last)) });
        expected.push(await clean.push(time, values));
        for (const [what, [badTime, ...badValues]] of Object.entries(bad[i])) {
          await assert.rejects(stream.push(badTime, badValues), DataError, `${what} before ${i}`);
        }
        assert.deepEqual(await stream.push(time, values), expected[i], `observation ${i}`);
        assert.deepEqual(await stream.save(), await clean.save());
      }
      const hasDivergent = bad.slice(1).every((observations) =>
        "a prediction that is not a number" in observations
      );
      assert.equal(hasDivergent, chosen.model !== "s4d", "some model states diverge");
      for (const [i, [time, ...values]] of good.entries()) {
        for (const [what, [badTime, ...badValues]] of Object.entries(bad[i])) {
          const error = hurried.push(badTime, badValues).then(() => "answered", (error) => error);
          rejectedAtOnce.push([`${what} before ${i}`, error]);
        }
        // The caller may overwrite the array at once.
        const array = Float64Array.from(values);
        atOnce.push(hurried.push(time, array));
        array.fill(7);
      }
      for (const [what, error] of rejectedAtOnce) assert.ok(await error instanceof DataError, what);
      assert.deepEqual(await Promise.all(atOnce), expected);
      assert.deepEqual(await hurried.save(), await clean.save());
    }),
  );
}

const observation = (time: unknown, values: unknown, series: unknown = "a") => ({ series, time, values });
/** JSON has no NaN: a missing value is null. */
const jsonOf = (value: number) => Number.isNaN(value) ? null : value;
const messageOf = ([time, x, y]: Observed) => observation(time, { x: jsonOf(x), y: jsonOf(y) });

/** Messages that are rejected before each of the valid observations. */
async function rejectedBefore({ model }: TrainedRun<TrainedModel>): Promise<Record<string, unknown>[]> {
  const stream = model.stream!("a");
  const found: Record<string, unknown>[] = [];
  for (const [i, [time, ...values]] of good.entries()) {
    const last = good[i - 1]?.[0];
    const extremes = i === 0 ? {} : await divergent(model, await stream.save(), last);
    found.push({
      ...(i === 0 ? {} : rejectedMessages(last)),
      ...Object.fromEntries(
        Object.entries(extremes).map(([what, observation]) => [what, messageOf(observation)]),
      ),
    });
    await stream.push(time, values);
  }
  return found;
}

/** Messages that are rejected after an observation at a given time. */
function rejectedMessages(last: number): Record<string, unknown> {
  const next = last + 0.5;
  return {
    "an earlier time": observation(last - 0.3, { x: 5, y: 5 }),
    "the same time": observation(last, { x: 5, y: 5 }),
    "a time that is not a number": observation("NaN", { x: 5 }),
    "no time": { series: "a", values: { x: 5 } },
    "a time that is null": observation(null, { x: 5 }),
    "a date": observation("2024-05-31", { x: 5 }),
    "a time that JSON parses as Infinity": `{"series":"a","time":1e400,"values":{"x":5,"y":5}}`,
    "a time beyond float32": observation(1e41, { x: 5, y: 5 }),
    "an unknown column": observation(next, { x: 5, z: 5 }),
    "a column of names": observation(next, { x: 5, constructor: 5 }),
    "a text": observation(next, { x: "much", y: 5 }),
    "a formula": observation(next, { x: "=1+1", y: 5 }),
    "a list": observation(next, { x: [5], y: 5 }),
    "a value beyond float32": observation(next, { x: 1e39, y: 5 }),
    "a list of values": observation(next, [5, 5]),
    "no values": { series: "a", time: next },
    "no series": { time: next, values: { x: 5 } },
    "a numeric series name": observation(next, { x: 5 }, 3),
    "a blank series name": observation(next, { x: 5 }, "  "),
    "a series name that is too long": observation(next, { x: 5 }, "a".repeat(300)),
    "invalid JSON": `{"series":"a","time":${next},"values":{"x":5`,
    "JSON with too many levels": "[".repeat(1000),
    "no object": "3",
    "an unknown type": { type: "forget", series: "a" },
    "an unknown series": { type: "save", series: "b" },
    "an unknown series to drop": { type: "drop", series: "b" },
    "an invalid state": { type: "restore", series: "a", state: { count: 1 } },
    "no state": { type: "restore", series: "a" },
  };
}

const textOf = (message: unknown) => typeof message === "string" ? message : JSON.stringify(message);

/** A client of a service, without a network. */
function clientOf({ streams }: Pick<Service, "streams">) {
  const received: Message[] = [];
  return {
    received,
    async send(message: unknown) {
      const replies: Message[] = [];
      await streams.take(textOf(message), {
        send: (message) => void (received.push(message), replies.push(message)),
      });
      return replies;
    },
  };
}

const serviceThatMustNotFail = (run: TrainedRun<TrainedModel>, limits = {}) =>
  serviceOf(run, { limits, log: (error) => assert.fail(`${error}`) });

for (const [name, chosen] of Object.entries(runs)) {
  testLong(
    `rejected messages do not change later answers: ${name}`,
    withRun(chosen, async (run) => {
      const [clean, other] = [serviceThatMustNotFail(run), serviceThatMustNotFail(run)];
      const [before, { send }] = [clientOf(clean), clientOf(other)];
      const bad = await rejectedBefore(run);
      for (const [i, observed] of good.entries()) {
        for (const [what, message] of Object.entries(bad[i])) {
          const received = await send(message);
          assert.deepEqual(
            received.map(({ type }) => type),
            ["error"],
            `${what}: ${JSON.stringify(received)}`,
          );
        }
        assert.deepEqual(await send(messageOf(observed)), await before.send(messageOf(observed)));
      }
      assert.equal(other.streams.count, 1);
      const save = { type: "save", series: "a" };
      assert.deepEqual(await send(save), await before.send(save));
      assert.deepEqual(other.latest.map(({ answer }) => answer), clean.latest.map(({ answer }) => answer));
    }),
  );

  testLong(
    `rejected HTTP requests and WebSocket messages do not change later answers: ${name}`,
    withRun(chosen, async (run) => {
      const server = await startServer(serviceThatMustNotFail(run), { host: "127.0.0.1", port: 0 });
      const table = tableFor(chosen.task as TaskKind).split("\n").filter((line) =>
        /^(series|s[01]),/.test(line)
      );
      const csv = table.map((line) => line.split(",").slice(0, 4).join(",")).join("\n");
      const predict = async (body: string) => {
        const headers = { "content-type": "text/csv" };
        const response = await fetch(`${server.url}/predict`, { method: "POST", body, headers });
        return [response.status, await response.text()] as const;
      };
      const conversation = async (messages: readonly unknown[]) => {
        const socket = new WebSocket(`${server.url.replace("http", "ws")}/stream`);
        await new Promise((resolve) => socket.onopen = resolve);
        const received: Message[] = [];
        const { promise, resolve } = Promise.withResolvers<void>();
        socket.onmessage = ({ data }) =>
          void (received.push(JSON.parse(data)) === messages.length && resolve());
        for (const message of messages) socket.send(textOf(message));
        await promise;
        const closed = new Promise((resolve) => socket.onclose = resolve);
        socket.close();
        await closed;
        return received;
      };
      const drop = [{ type: "drop", series: "a" }];
      const expected = [await predict(csv), await conversation(good.map(messageOf))] as const;
      await conversation(drop);
      assert.equal(expected[0][0], 200, expected[0][1]);
      const bad = await rejectedBefore(run);
      const mixed = good.flatMap((observed, i) => [...Object.values(bad[i]), messageOf(observed)]);
      for (
        const body of [
          csv.replace("x", "z"),
          csv.replace("time", "when"),
          `${csv}s0,1,2`,
          csv.replace(/s1,[^,]*,[^,]*/, "s1,0,3e39"),
          csv.replace(/s1,[^,]*/, "s1,much"),
          "",
          "PAR1",
        ]
      ) {
        const [status, text] = await predict(body);
        assert.ok(status >= 400 && status < 500, `${status}: ${text}`);
      }
      const received = await conversation(mixed);
      const errors = received.filter(({ type }) => type === "error");
      assert.equal(errors.length, bad.flatMap(Object.values).length);
      assert.deepEqual(received.filter(({ type }) => type !== "error"), expected[1]);
      assert.deepEqual(await predict(csv), expected[0]);
      await server.shutdown();
    }),
  );
}

testLong(
  "a rejected observation does not refresh its series and does not evict another series",
  withRun(runs.regress, async (run) => {
    const late = Promise.withResolvers<never>();
    const stream: TrainedRun<TrainedModel>["model"]["stream"] = (series, state) =>
      series === "late"
        ? {
          series,
          push: () => late.promise,
          save: () => Promise.reject(new DataError("empty-series", "nothing is known")),
        }
        : run.model.stream!(series, state);
    const service = serviceThatMustNotFail({ ...run, model: { ...run.model, stream } }, { streams: 2 });
    const [owner, stranger] = [clientOf(service), clientOf(service)];
    const at = (series: string, time: number) => observation(time, { x: 1, y: 1 }, series);
    await owner.send(at("a", 0));
    await owner.send(at("b", 0));
    await stranger.send(at("a", -1));
    const rejected = stranger.send(at("late", 0));
    assert.equal((await owner.send(at("b", 1)))[0].type, "answer");
    late.reject(new DataError("empty-series", "nothing is known"));
    assert.equal((await rejected)[0].type, "error");
    assert.equal(service.streams.count, 2);
    await stranger.send(at("d", 0));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const dropped = owner.received.filter(({ type }) => type === "dropped") as { series: string }[];
    assert.deepEqual(dropped.map(({ series }) => series), ["a"]);
    assert.ok(!stranger.received.some(({ type }) => type === "dropped"));
  }),
);
