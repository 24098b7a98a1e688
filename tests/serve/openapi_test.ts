import assert from "node:assert/strict";
import { handlerOf, serviceOf } from "../../src/serve/mod.ts";
import { testLong } from "../devices.ts";
import { runProgram } from "../run_program.ts";
import { withFolder } from "../tasks/command_line.ts";
import { trainedRun } from "./served.ts";

const address = "http://127.0.0.1:8000";

// deno-lint-ignore no-explicit-any
async function description(folder: string): Promise<any> {
  const handler = handlerOf(serviceOf(await trainedRun(folder)));
  return await (await handler(new Request(`${address}/openapi.json`))).json();
}

testLong(
  "the OpenAPI description contains every path with its methods, and the columns and classes of the run",
  withFolder(async (folder) => {
    const handler = handlerOf(serviceOf(await trainedRun(folder)));
    const { paths, components: { schemas } } = await description(folder);
    const { detail } = await (await handler(new Request(`${address}/nowhere`))).json();
    assert.deepEqual(
      Object.keys(paths).sort(),
      detail.replace("no such route; expected ", "").split(", ").sort(),
    );
    for (const [path, methods] of Object.entries(paths)) {
      const rejected = await handler(new Request(address + path, { method: "DELETE" }));
      assert.equal(rejected.headers.get("allow"), Object.keys(methods as object).join().toUpperCase());
    }
    const { values } = schemas.SeriesTable.properties.series.items.properties;
    assert.deepEqual(Object.keys(values.properties), ["x", "ward"]);
    assert.deepEqual(values.properties.ward.anyOf[1], { enum: ["er", "icu", null] });
    assert.deepEqual(schemas.Answer.properties.label.enum, ["down", "up"]);
  }),
);

testLong(
  "answers about data far outside the training data have the warnings of the description",
  withFolder(async (folder) => {
    const handler = handlerOf(serviceOf(await trainedRun(folder)));
    const predict = async (accept: string) =>
      await handler(
        new Request(`${address}/predict`, {
          method: "POST",
          headers: { "content-type": "text/csv", accept },
          body: "series,time,x,ward\ns0,0,1,er\ns0,1,1e6,er\ns1,0,1,er\n",
        }),
      );
    const { answers: [outside, inside] } = await (await predict("application/json")).json();
    assert.equal(inside.warnings, undefined);
    const { components: { schemas: { RangeWarning, Answer } } } = await description(folder);
    assert.ok("warnings" in Answer.properties && !Answer.required.includes("warnings"));
    for (const warning of outside.warnings) {
      for (const name of Object.keys(warning)) assert.ok(name in RangeWarning.properties, name);
      for (const name of RangeWarning.required) assert.ok(name in warning, name);
      assert.ok(RangeWarning.properties.code.enum.includes(warning.code));
    }
    const [{ code, column, value }] = outside.warnings;
    assert.deepEqual([code, column, value], ["value-outside", "x", 1e6]);
    const html = await (await predict("text/html")).text();
    assert.match(html, /Warnings[^]*values of &#34;x&#34; far outside the training data/);
  }),
);

testLong(
  "the page shows the model and its answers, loads nothing from other hosts, and shows no local path",
  withFolder(async (folder) => {
    const handler = handlerOf(serviceOf(await trainedRun(folder, { online: true })));
    const response = await handler(new Request(`${address}/`));
    const html = await response.text();
    assert.match(
      html,
      /<td>series, time \(numbers\), x, ward \(er, icu\)<\/td>[^]*<td class="short">down, up<\/td>/,
    );
    assert.ok(!html.includes(folder));
    assert.doesNotMatch(html, /(src|href)="(https?:)?\/\//);
    const policy = response.headers.get("content-security-policy")!;
    assert.match(policy, /default-src 'none'; .*connect-src 'self'/);
    const [, nonce] = /script-src 'nonce-([^']+)'/.exec(policy)!;
    assert.ok(html.includes(`<script nonce="${nonce}">`));
  }),
);

testLong(
  "a public validator accepts the OpenAPI description",
  withFolder(async (folder) => {
    const program = `import { Validator } from "npm:@seriousme/openapi-schema-validator@^2.4.0";
      const result = await new Validator().validate(${JSON.stringify(await description(folder))});
      console.log(JSON.stringify(result));`;
    const { code, stdout, stderr } = await runProgram(program, ["--no-lock", "--allow-all", "--ext=ts"]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout.trim().split("\n").at(-1)!), { valid: true });
  }),
);
