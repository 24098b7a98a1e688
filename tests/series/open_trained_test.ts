/** Models opened from the files of a run: predictions, streams and errors. */
import assert from "node:assert/strict";
import type { WeftError } from "../../src/device/errors.ts";
import { serviceOf } from "../../src/serve/mod.ts";
import type { Message } from "../../src/serve/streams/streams.ts";
import { classify, type FileContent, forecast, openTrained } from "../../src/series/mod.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { testLong } from "../devices.ts";
import { checkTrained } from "../npm/trained.js";
import { openTrained as openRun, readRunConfig } from "../runs.ts";
import { table } from "../serve/served.ts";
import { withFolder } from "../tasks/command_line.ts";
import { makeModels } from "./trained_models.ts";

/** A classifier of the table of the server's tests, which is trained once. */
let trained: ReturnType<typeof classify> | undefined;
const classifier = () =>
  trained ??= classify({ name: "own", text: table(16) }, {
    ...{ model: "delta", online: true, epochs: 1, hidden: 4, device: "cpu" },
  });

const unseen = { name: "new", text: table(3, false) };
const needed = ["config.json", "data.json", "best.safetensors"];

testLong("a model opens from every kind of file, with equal predictions", async () => {
  const { files, predict } = await classifier();
  const answers = await predict(unseen);
  const as = (content: (bytes: Uint8Array<ArrayBuffer>) => FileContent) =>
    Object.fromEntries(needed.map((name) => [name, content(files[name])]));
  const forms = {
    bytes: files,
    buffers: as((bytes) => bytes.slice().buffer),
    blobs: as((bytes) => new Blob([bytes])),
    responses: as((bytes) => new Response(bytes)),
    list: [new File([], "notes.txt"), ...needed.map((name) => new File([files[name]], name))],
  };
  for (const [form, content] of Object.entries(forms)) {
    const model = await openTrained(content, { task: "classify", device: "cpu" });
    assert.deepEqual(await model.predict(unseen), answers, form);
    assert.deepEqual(Object.keys(model.files), needed, form);
  }
});

Deno.test(
  "a model opens from a path and from the URL of a folder",
  withFolder(async (folder) => {
    const model = await classifier();
    const answers = await model.predict(unseen);
    await model.save(`${folder}/runs/own`);
    for (const run of [`${folder}/runs`, `${folder}/runs/own`, new URL(`file://${folder}/runs/own`)]) {
      assert.deepEqual(await (await openTrained(run)).predict(unseen), answers, `${run}`);
    }
  }),
);

Deno.test("a stream returns the answers of the server", async () => {
  const model = await openTrained((await classifier()).files);
  await using folder = await savedFolder(await classifier());
  const { streams } = serviceOf(await openRun(await readRunConfig(folder.run), folder.run));
  const stream = model.stream!("a");
  const observations = [[0.5, { x: 1.5, ward: "er" }], [0.75, { x: "2" }], [1, {
    ward: "icu",
    x: null,
  }]] as const;
  const answers = await Promise.all(observations.map(([time, values]) => stream.push(time, values)));
  for (const [i, [time, values]] of observations.entries()) {
    const found: Message[] = [];
    await streams.take(JSON.stringify({ series: "a", time, values }), {
      send: (one) => void found.push(one),
    });
    assert.deepEqual(found, [{ type: "answer", time, answer: answers[i], count: i + 1, new: i === 0 }]);
  }
});

Deno.test("a rejected observation does not change a stream, and a saved stream resumes", async () => {
  const model = await openTrained((await classifier()).files);
  const [stream, other] = [model.stream!("a"), model.stream!("a")];
  await Promise.all([stream, other].map((one) => one.push(0, { x: 1 })));
  const code = (expected: string) => (error: WeftError) => error.code === expected;
  await assert.rejects(stream.push(1, {}), code("invalid-observation"));
  await assert.rejects(stream.push(1, { x: "much" }), code("invalid-cell"));
  await assert.rejects(stream.push(0, { x: 1 }), code("invalid-observation"));
  const resumed = model.stream!("a", JSON.parse(JSON.stringify(await stream.save())));
  assert.deepEqual(await resumed.push(1, { x: 2 }), await other.push(1, { x: 2 }));
});

Deno.test("a forecast without values is the forecast for its time", async () => {
  const columns = {
    time: Array.from({ length: 60 }, (_, i) => i),
    x: Float32Array.from({ length: 60 }, (_, i) => i % 7),
  };
  const { files } = await forecast({ name: "level", columns }, {
    model: "linear",
    horizon: 4,
    device: "cpu",
  });
  const model = await openTrained(files, { task: "forecast" });
  const stream = model.stream!("level");
  for (const [i, time] of columns.time.entries()) await stream.push(time, { x: columns.x[i] });
  const [{ channels }] = await model.predict({ name: "level", columns });
  assert.equal((await stream.push(61, {})).channels.x.mean[0], channels.x.mean[1]);
});

Deno.test("a table gives equal predictions as text, file, bytes, rows and columns, and coded errors", async () => {
  const model = await classifier();
  const answers = await model.predict(unseen);
  const [header, ...lines] = unseen.text.trim().split("\n").map((line) => line.split(","));
  const rows = lines.map((cells) => Object.fromEntries(header.map((name, i) => [name, cells[i]])));
  const columns = Object.fromEntries(header.map((name) => [name, rows.map((row) => row[name])]));
  const bytes = new TextEncoder().encode(unseen.text);
  const gzip = new Response(bytes).body!.pipeThrough(new CompressionStream("gzip"));
  const sources = [
    { name: "new", rows },
    { name: "new", columns },
    { name: "new", bytes },
    new File([unseen.text], "new.csv"),
    await new Response(gzip).blob(),
  ];
  for (const source of sources) assert.deepEqual(await model.predict(source), answers);
  const wrong = { ...columns, x: columns.x.with(1, "much") };
  await assert.rejects(model.predict({ name: "new", columns: wrong }), {
    code: "invalid-cell",
    row: 2,
    column: "x",
  });
  const short = { ...columns, x: columns.x.slice(1) };
  await assert.rejects(model.predict({ name: "new", columns: short }), { code: "invalid-row", column: "x" });
});

Deno.test("wrong files and options are rejected by name", async () => {
  const { files } = await classifier();
  const code = (code: string, message: RegExp) => (error: WeftError) =>
    error.code === code && message.test(error.message);
  await assert.rejects(
    openTrained(files, { task: "forecast" }),
    code("invalid-option", /the run has classify/),
  );
  await assert.rejects(openTrained({}), code("unreadable-file", /has no config.json/));
  await assert.rejects(
    openTrained({ ...files, "data.json": new Response("", { status: 503 }) }),
    code("unreadable-file", /data.json: the server answered 503/),
  );
  const { "data.json": _, ...others } = files;
  await assert.rejects(
    openTrained({ ...others, "data.json": new Response("", { status: 404 }) }),
    code("unreadable-file", /data.json: no such file/),
  );
  const twice = ["config.json", "config.json"].map((name) => new File([], name));
  await assert.rejects(openTrained(twice), code("unreadable-file", /2 files are called config.json/));
  await assert.rejects(openTrained({ "config.json": 5 } as never), /config.json is number; expected bytes/);
});

testLong(
  "models of the command predict and stream from their files as the command and the server",
  withFolder(async (folder) => {
    await makeModels(folder);
    const read = (name: string) => Deno.readFile(`${folder}/${name}`).catch(() => undefined);
    assert.match(await checkTrained(openTrained, read), /^10 models and 10 damaged runs$/);
  }),
);

/** A model in a folder that is removed. */
async function savedFolder(model: { save(path: string): Promise<void> }) {
  const path = await Deno.makeTempDir();
  await model.save(path);
  return { run: runFolder(path), [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
