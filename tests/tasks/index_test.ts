/** The index of the code in docs/internals/index.md. */
import assert from "node:assert/strict";
import { adaptiveMethods, fixedMethods, implicitMethods } from "../../src/solvers/methods.ts";
import { indexFile, indexPage, orderOf } from "../../tasks/index.ts";
import { cases } from "../tensor/primitive_cases.ts";

const root = new URL("../..", import.meta.url);
const page = await indexPage();

/** The first cells of the rows below a heading, without links. */
function namesBelow(heading: string): string[] {
  const [, section] = new RegExp(`\n## ${heading}\n([^]*?)(?:\n## |$)`).exec(page)!;
  return Array.from(section.matchAll(/^\| \[?`?([\w-]+)/gm), ([, name]) => name).slice(2);
}

Deno.test("docs/internals/index.md is the page that deno task index writes", async () => {
  assert.equal(await Deno.readTextFile(new URL(indexFile, root)), page, "run deno task index");
});

Deno.test("the index has every primitive and every code of errors", async () => {
  assert.equal(namesBelow("Primitives").length, Object.keys(cases).length);
  const errors = await Deno.readTextFile(new URL("src/device/errors.ts", root));
  const codes = Array.from(errors.matchAll(/^ {2}\| "([\w-]+)"/gm), ([, code]) => code);
  assert.ok(codes.length > 20);
  assert.deepEqual(namesBelow("Errors"), codes);
  assert.doesNotMatch(page, /undefined|\| +\|/);
});

Deno.test("the order conditions give the order of each Runge-Kutta method", () => {
  for (const method of [...fixedMethods, ...adaptiveMethods, ...implicitMethods]) {
    assert.equal(orderOf(method, method.b), method.order, method.name);
  }
});
