/** Requests to a handler, without a network. */
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { type Handler, handlerOf, type Limits, serviceOf } from "../../src/serve/mod.ts";
import type { TrainedRun } from "../../src/train/mod.ts";
import { withFolder } from "../tasks/command_line.ts";
import { table, trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

const address = "http://127.0.0.1:8000";

const post = (body: BodyInit, type = "text/csv", headers: HeadersInit = {}) =>
  new Request(`${address}/predict`, { method: "POST", body, headers: { ...headers, "content-type": type } });

const packed = (text: string) => new Uint8Array(gzipSync(text));

/** The same series as objects: as rows of JSON lines, and as series. */
function otherForms(csv: string): { lines: string; json: string } {
  const [header, ...rows] = csv.trim().split("\n").map((line) => line.split(","));
  const objects = rows.map((row) =>
    Object.fromEntries(
      row.map((cell, i) => [header[i], cell === "" ? null : i === 1 || i === 2 ? Number(cell) : cell]),
    )
  );
  const series = Array.from(Map.groupBy(objects, ({ series }) => series), ([name, rows]) => ({
    name,
    times: rows.map(({ time }) => time),
    values: { x: rows.map(({ x }) => x), ward: rows.map(({ ward }) => ward) },
  }));
  return {
    lines: objects.map((one) => JSON.stringify(one)).join("\n"),
    json: JSON.stringify({ series }),
  };
}

function withHandler(
  body: (handler: Handler, run: TrainedRun<TrainedModel>, folder: string) => Promise<void>,
  limits: Partial<Limits> = {},
): () => Promise<void> {
  return withFolder(async (folder) => {
    const run = await trainedRun(folder);
    await body(handlerOf(serviceOf(run, { limits, log: (error) => assert.fail(`${error}`) })), run, folder);
  });
}

testLong(
  "predictions for a table in a request equal those for a file, bit for bit, in every format",
  withHandler(async (handler, { model }, folder) => {
    const csv = table(70, false);
    await Deno.writeTextFile(`${folder}/new.csv`, csv);
    const expected = await model.predict!(await model.series!(`${folder}/new.csv`));
    assert.equal(expected.length, 70);
    const { lines, json } = otherForms(csv);
    const forms: Request[] = [
      post(csv),
      post(csv.replaceAll(",", "\t"), "text/tab-separated-values; charset=utf-8"),
      post(packed(csv), "text/csv", { "content-encoding": "gzip" }),
      post(lines, "application/x-ndjson"),
      post(json, "application/json"),
    ];
    for (const request of forms) {
      const response = await handler(request);
      assert.equal(response.status, 200);
      assert.deepEqual((await response.json()).answers, expected);
    }
    const response = await handler(post(csv, "text/csv", { accept: "application/x-ndjson" }));
    assert.equal(await response.text(), expected.map((answer) => `${JSON.stringify(answer)}\n`).join(""));
  }),
);

testLong(
  "the response lists ignored columns and merged rows of the table",
  withHandler(async (handler) => {
    const response = await handler(post(`${table(2)}s0,0,,,down\n`));
    const { ignored, notices } = await response.json();
    assert.deepEqual(ignored, ['column "label" (a target, which is not read)']);
    assert.match(notices.join(), /1 row merged with one of the same series and time/);
  }),
);

testLong(
  "an invalid request returns its status and a one-sentence error",
  withHandler(async (handler, _, folder) => {
    const csv = table(2, false);
    const json = (value: unknown) => post(JSON.stringify(value), "application/json");
    const [name, times, values] = ["a", [0, 1], { x: [1, 2], ward: "er" }];
    const one = { name, times, values };
    const cases: [request: Request, status: number, detail: RegExp][] = [
      [new Request(`${address}/health`, { method: "DELETE" }), 405, /./],
      [new Request(`${address}/etc/passwd`), 404, /no such route/],
      [new Request(`${address}/predict`), 405, /takes POST/],
      [new Request(`${address}/predict?${"x".repeat(3000)}`), 414, /more than 2048 characters/],
      [post(csv, "application/x-www-form-urlencoded"), 415, /expected text\/csv/],
      [post(csv, "text/csv", { "content-encoding": "br" }), 415, /expected gzip/],
      [post(csv, "text/csv", { origin: "https://elsewhere.org" }), 403, /other origins/],
      [post(""), 400, /empty body/],
      [post(packed(csv).subarray(0, 40)), 400, /gzip is damaged or truncated/],
      [post(csv.replace("ward", "unit")), 422, /no column "ward", unknown column "unit"/],
      [post(csv.replace("ward", "constructor")), 422, /unknown column "constructor"/],
      [
        post(csv.replace("icu", "home")),
        422,
        /the body, line \d: expected one of "er", "icu" in column "ward"/,
      ],
      [post(csv.replace("time", "when")), 422, /no column "time" among series, when, x, ward$/],
      [
        post(csv.replace("0.01", '"0,01"')),
        422,
        /; if the comma is the decimal sign, set the parameter decimal to ,$/,
      ],
      [post(csv.replace("icu", "\0")), 422, /a zero byte/],
      [post("PAR1 and so on"), 422, /parquet, which is only read from files/],
      [post("{", "application/x-ndjson"), 422, /the body, line 1: expected a complete JSON object/],
      [post('{"series":', "application/json"), 400, /invalid JSON/],
      [post(new Uint8Array([0xff, 0xfe, 0xfd]), "application/json"), 400, /not UTF-8/],
      [post("[".repeat(1e5), "application/json"), 400, /more than 16 levels/],
      [json([]), 400, /expected \{"series"/],
      [json({ series: [] }), 422, /no rows/],
      [json({ series: [one, { ...one, name: 3 }] }), 400, /series\[1\]: expected a name/],
      [json({ series: [{ ...one, times: [] }] }), 400, /expected times/],
      [json({ series: [{ ...one, values: [1] }] }), 400, /expected values/],
      [json({ series: [{ ...one, path: "/etc/passwd" }] }), 400, /unknown member "path"/],
      [
        json({ series: [{ ...one, values: { ...values, x: [1] } }] }),
        400,
        /1 values of "x", expected .* 2 times/,
      ],
      [json({ series: [{ ...one, values: { ...values, time: 3 } }] }), 400, /values contain "time"/],
      [
        json({ series: [{ ...one, values: { ...values, x: [1, {}] } }] }),
        422,
        /row 2: expected a number or a text/,
      ],
      [json({ series: [{ ...one, times: [0, "2024-05-31"] }] }), 422, /time/],
      [json({ series: [{ ...one, times: [0, 1e300] }] }), 422, /./],
      ...['"times":[0,1e309],"values":{"x":[1,2],"ward":"er"}', '"times":[0,1],"values":{"x":[1,1e309]}'].map(
        (
          members,
        ): [Request, number, RegExp] => [
          post(`{"series":[{"name":"a",${members}}]}`, "application/json"),
          422,
          /got "1e309"/,
        ],
      ),
    ];
    for (const [request, status, detail] of cases) {
      const response = await handler(request);
      const text = await response.text();
      assert.equal(response.status, status, text);
      assert.equal(response.headers.get("content-type"), "application/problem+json");
      const problem = JSON.parse(text);
      assert.equal(problem.status, status);
      assert.match(problem.detail, detail);
      assert.doesNotMatch(problem.detail, /\n| --/, "one line, without options of commands");
      assert.ok(!text.includes(folder), "the error contains no local path");
    }
  }),
);

testLong(
  "a body that is too large, too slow or has too many series, and a busy server, return an error with a fix",
  withFolder(async (folder) => {
    const run = await trainedRun(folder);
    const handlerWith = (limits: Partial<Limits>) => handlerOf(serviceOf(run, { limits }));
    const csv = table(2, false);
    const assertRejected = async (response: Promise<Response>, status: number, detail: RegExp) => {
      const result = await response;
      assert.equal(result.status, status);
      assert.match((await result.json()).detail, detail);
      return result;
    };
    const small = handlerWith({ bodyBytes: 1000 });
    await assertRejected(small(post("x".repeat(1001))), 413, /more than 1000 bytes: send it in parts/);
    await assertRejected(small(post(packed("x".repeat(1e6)))), 413, /more than 1000 bytes/);
    await assertRejected(handlerWith({ fields: 9 })(post(csv)), 422, /more than 9 fields/);
    assert.equal((await small(post(csv))).status, 200, "the next request succeeds");

    const slow = new ReadableStream({ pull: () => new Promise(() => {}) });
    await assertRejected(
      handlerWith({ bodySeconds: 0.05 })(post(slow)),
      408,
      /did not arrive within 0\.05 s/,
    );
    await assertRejected(
      handlerWith({ observations: 3 })(post(csv)),
      422,
      /series "s0" has 4 observations, more than 3/,
    );

    const crowded = await assertRejected(
      handlerWith({ memory: 100 })(post(csv)),
      503,
      /the memory for clients is exhausted: try again later/,
    );
    assert.equal(crowded.headers.get("retry-after"), "1");
    const busy = handlerWith({ predictions: 2 });
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await busy(post(csv))).status));
    assert.deepEqual(statuses.toSorted(), [200, 200, 503, 503]);
    assert.equal((await busy(post(csv))).status, 200);
  }),
);
