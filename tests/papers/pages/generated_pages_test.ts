import assert from "node:assert/strict";
import { generatedPages } from "../../../tasks/papers/pages/pages.ts";

for (const { path, render } of generatedPages) {
  Deno.test(`${path} is what deno task reproduce --pages writes`, async () => {
    const text = await Deno.readTextFile(new URL(`../../../${path}`, import.meta.url));
    assert.equal(text, await render(text));
  });
}
