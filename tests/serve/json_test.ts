/** JSON from clients. */
import assert from "node:assert/strict";
import { jsonOf, rowsOf } from "../../src/serve/http/json.ts";
import { RequestError } from "../../src/serve/http/problem.ts";

Deno.test("JSON may have as many levels as the limit, and brackets in texts do not count", () => {
  assert.deepEqual(jsonOf('[["[[\\"["]]', 2), [['[["[']]);
  assert.throws(() => jsonOf("[[[1]]]", 2), /JSON of more than 2 levels/);
});

Deno.test("an error about a series points to the wrong member, as in RFC 6901", () => {
  const one = { name: "a", times: [1, 2], values: { x: [1, 2] } };
  const wrong: [series: object, pointer: string][] = [
    [{ ...one, name: "" }, "/series/1/name"],
    [{ ...one, values: { "x/y~z": [1] } }, "/series/1/values/x~1y~0z"],
  ];
  for (const [series, pointer] of wrong) {
    const rows = () => [...rowsOf({ series: [one, series] }, { series: "series", time: "time" })];
    assert.throws(rows, (error) => error instanceof RequestError && error.fields.pointer === pointer);
  }
});
