/** The page of a server: the form that tries a table, and answers as HTML. */
import assert from "node:assert/strict";
import { answersPart, latestPart } from "../../src/serve/pages/answer_parts.ts";
import { handlerOf, serviceOf } from "../../src/serve/mod.ts";
import { withFolder } from "../tasks/command_line.ts";
import { table, trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

const address = "http://127.0.0.1:8000";

const post = (body: string) =>
  new Request(`${address}/predict`, {
    method: "POST",
    body,
    headers: { "content-type": "text/csv", accept: "text/html" },
  });

testLong(
  "the form of the page sends a table, and shows answers as a table and errors as sentences",
  withFolder(async (folder) => {
    const handler = handlerOf(serviceOf(await trainedRun(folder)));
    const page = await (await handler(new Request(`${address}/`))).text();
    assert.match(page, /<input type="file"/);
    assert.match(page, /columns series, time, x, ward\./);
    assert.doesNotMatch(page, / style=/, "the policy blocks inline styles");

    const answered = await handler(post(table(3, false).replaceAll("s1,", "<b>s1</b>,")));
    const html = await answered.text();
    assert.match(answered.headers.get("content-type")!, /^text\/html/);
    assert.equal(answered.headers.get("content-security-policy"), "default-src 'none'");
    assert.match(html, /<th scope="col">predicted class<\/th>/);
    assert.match(html, /<th scope="row">&#60;b&#62;s1&#60;\/b&#62;<\/th><td class="short">(up|down)<\/td>/);
    assert.doesNotMatch(html, /<b>s1|<script| style=/);

    const latest = await handler(new Request(`${address}/latest`, { headers: { accept: "text/html" } }));
    assert.match(await latest.text(), /<td class="short">&#60;b&#62;s1&#60;\/b&#62;<\/td>/);
    const json = await (await handler(new Request(`${address}/latest`))).json();
    assert.equal(json.latest.length, 3, "a program gets JSON");

    const refused = await handler(post("series,time,x,ward\na,1,word,er\n"));
    assert.equal(refused.status, 422);
    assert.match((await refused.json()).detail, /line 2: .*"x", got "word"/);
  }),
);

testLong(
  "the page names the model that a comparison chose",
  withFolder(async (folder) => {
    const run = await trainedRun(folder);
    const training = { ensemble: 1, chosen: { model: "delta" } };
    const service = serviceOf({
      ...run,
      config: { ...run.config, model: "auto" },
      record: { ...run.record, training },
    });
    const page = await (await handlerOf(service)(new Request(`${address}/`))).text();
    assert.match(page, /<h1>own: delta<\/h1>/);
    assert.match(page, /<th scope="row">model<\/th><td[^>]*>delta</);
  }),
);

Deno.test("a forecast is shown as a chart with its interval and as a table", () => {
  const answer = {
    series: "a",
    times: ["2024-01-01T00:00:00Z", "2024-01-01T00:30:00Z"],
    channels: { load: { mean: [1, 2], quantiles: { "0.1": [0, 1], "0.5": [1, 2], "0.9": [2, 3] } } },
  };
  const html = answersPart([answer], ["left out: note"]);
  assert.match(html, /80 % interval/);
  for (const title of ["load", "time (UTC, from 2024-01-01)"]) assert.ok(html.includes(`>${title}<`), title);
  const row = '<td class="short">2024-01-01 00:30</td>' +
    [2, 1, 3].map((value) => `<td class="number">${value}</td>`).join("");
  assert.ok(html.includes(row), html);
  assert.match(html, /<li>left out: note<\/li>/);
  assert.match(
    latestPart([{ at: "2024-01-02T03:04:05.678Z", answer }]),
    /2024-01-02 03:04:05.*load 2 at 2024-01-01 00:30/s,
  );
  assert.doesNotMatch(answersPart([answer], []) + latestPart([]), /NaN|undefined/);
});

Deno.test("a long table of answers is cut, and says so", () => {
  const answers = Array.from({ length: 501 }, (_, i) => ({ series: `s${i}`, numbers: { age: i } }));
  const html = answersPart(answers, []);
  assert.match(html, /The first 500 of 501 rows\./);
  assert.ok(html.includes(">s499<") && !html.includes(">s500<"));
});
