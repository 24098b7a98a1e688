/** States of streams that survive the end of a server. */
import assert from "node:assert/strict";
import { type Message, openStreamStore, type Service, serviceOf, type Streams } from "../../src/serve/mod.ts";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import type { TrainedRun } from "../../src/train/mod.ts";
import { withFolder } from "../tasks/command_line.ts";
import { copyFolder } from "../torture/world.ts";
import { trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

const fail = (error: unknown) => assert.fail(`${error}`);

/** A service that keeps its streams in a folder. */
async function keptService(
  run: TrainedRun<TrainedModel>,
  folder: string,
): Promise<AsyncDisposable & Service> {
  const store = await openStreamStore(folder, "this model");
  const service = serviceOf(run, { store, log: fail });
  await store.start(service.streams, fail);
  return { ...service, [Symbol.asyncDispose]: () => store.close() };
}

async function ask({ streams }: Pick<Service, "streams">, message: object): Promise<Message> {
  const received: Message[] = [];
  await streams.take(JSON.stringify(message), { send: (message) => received.push(message) });
  return received[0];
}

const observation = (series: string, time: number) => ({
  series,
  time,
  values: { x: time % 3 === 2 ? null : Math.sin(time), ward: "er" },
});

testLong(
  "streams continue with the same bits after a server ended without notice",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const uninterrupted = serviceOf(run, { log: fail });
    const both = async (service: Service, message: object) => {
      const expected = await ask(uninterrupted, message);
      assert.deepEqual(await ask(service, message), expected);
      return expected;
    };
    const names = ["a", 'name with "quotes" and\nlines', "ü"];
    let place = `${folder}/state-0`;
    for (let restart = 0; restart < 4; restart++) {
      await using service = await keptService(run, place);
      assert.equal(service.streams.count, restart === 0 ? 0 : names.length);
      for (let t = 3 * restart; t < 3 * restart + 3; t++) {
        await Promise.all(names.map((name) => both(service, observation(name, t))));
      }
      // A dropped series stays dropped, and a restored one continues from its state.
      const saved = await both(service, { type: "save", series: "a" });
      await both(service, observation("other", 1));
      await both(service, { type: "drop", series: "other" });
      await both(service, observation("a", 3 * restart + 2.5));
      await both(service, { ...saved, type: "restore" });
      // The files as a crash would leave them.
      const next = `${folder}/state-${restart + 1}`;
      await copyFolder(place, next);
      place = next;
    }
  }),
);

testLong(
  "a file that is cut off anywhere gives the states before the cut, or those of the older file",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const place = `${folder}/state`;
    {
      await using service = await keptService(run, place);
      for (let t = 0; t < 5; t++) for (const name of ["a", "b"]) await ask(service, observation(name, t));
    }
    // The second start writes the other file. The first file stays complete.
    await (await keptService(run, place))[Symbol.asyncDispose]();
    const files = await Promise.all([0, 1].map((i) => Deno.readTextFile(`${place}/streams-${i}.jsonl`)));
    const newest = files.findIndex((text) => JSON.parse(text.split("\n")[0]).number === 2);
    const { length } = files[newest];
    for (const cut of [0, 1, 20, length >> 2, length >> 1, length - 30, length - 1, length]) {
      await Deno.writeTextFile(`${place}/streams-${newest}.jsonl`, files[newest].slice(0, cut));
      await Deno.writeTextFile(`${place}/streams-${1 - newest}.jsonl`, files[1 - newest]);
      await using service = await keptService(run, place);
      for (const name of ["a", "b"]) {
        const answer = await ask(service, observation(name, 9)) as Extract<Message, { type: "answer" }>;
        assert.deepEqual([answer.count, answer.new], [6, false], `cut at ${cut} of ${length}`);
      }
    }
  }),
);

testLong(
  "a folder of another model, and a folder that another server uses, are rejected",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    await using _ = await keptService(run, `${folder}/state`);
    await assert.rejects(openStreamStore(`${folder}/state`, "this model"), /another server uses the folder/);
    await copyFolder(`${folder}/state`, `${folder}/copy`);
    await assert.rejects(
      openStreamStore(`${folder}/copy`, "another model"),
      /the streams are of another model/,
    );
  }),
);

testLong(
  "the files of the states do not grow with the number of observations",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const store = await openStreamStore(`${folder}/state`, "this model", { longJournal: 10_000 });
    const service = serviceOf(run, { store, log: fail });
    await store.start(service.streams, fail);
    for (let t = 0; t < 400; t++) await ask(service, observation("a", t));
    await store.close();
    for (const i of [0, 1]) {
      const { size } = await Deno.stat(`${folder}/state/streams-${i}.jsonl`);
      assert.ok(size < 40_000, `${size} bytes`);
    }
  }),
);

/** Streams that record the calls of a store. */
function recordedStreams(): { readonly streams: Streams; readonly calls: unknown[][] } {
  const calls: unknown[][] = [];
  const call = async (...parts: unknown[]) => void await calls.push(parts);
  return {
    calls,
    streams: {
      count: 0,
      take: async () => {},
      restore: (series, { count }) => call("restore", series, count),
      observe: (series, time, values) => call("observe", series, time, ...Array.from(values)),
      drop: (series) => void call("drop", series),
      names: () => [],
      withState: async () => {},
    },
  };
}

Deno.test(
  "observations of the newest file that no state includes are read again, with the same bits",
  withFolder(async (folder) => {
    const head = { format: "weft-streams-1", run: "this model" };
    const write = (i: number, ...lines: object[]) =>
      Deno.writeTextFile(
        `${folder}/streams-${i}.jsonl`,
        lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
      );
    const line = (series: string, time: number, count: number) => ({ series, time, values: [time], count });
    await write(0, { ...head, number: 1 }, { complete: true }, line("old", 1, 1));
    await write(
      1,
      ...[{ ...head, number: 2 }, { series: "a", state: { count: 2 } }, { complete: true }],
      ...[line("a", 2, 2), line("a", 3, 3), line("b", 1, 1)],
    );
    const restart = async (
      change?: (store: Awaited<ReturnType<typeof openStreamStore>>) => Promise<void>,
    ) => {
      const { streams, calls } = recordedStreams();
      const store = await openStreamStore(folder, "this model");
      await store.start(streams, fail);
      await change?.(store);
      await store.close();
      return calls;
    };
    const calls = await restart((store) => store.observed("c", 5, [-0, NaN], 1));
    assert.deepEqual(calls.toSorted(), [["observe", "a", 3, 3], ["observe", "b", 1, 1], ["restore", "a", 2]]);
    assert.deepEqual(await restart(), [["observe", "c", 5, -0, NaN]]);
  }),
);
