import assert from "node:assert/strict";
import { replaceSection } from "../../src/train/markdown.ts";
import { meanAndSpread } from "../../src/train/statistics.ts";

Deno.test("a mean is told with its spread, a single value without", () => {
  assert.equal(meanAndSpread([1, 2, 4]), "2.3 ± 1.5");
  assert.equal(meanAndSpread([2]), "2.0");
});

Deno.test("a section of a page is replaced, and one that is not there is an error", () => {
  const page = "before\n<!-- tables -->\nold\n<!-- end of tables -->\nafter\n";
  assert.equal(
    replaceSection(page, "tables", "new"),
    "before\n<!-- tables -->\n\nnew\n\n<!-- end of tables -->\nafter\n",
  );
  assert.throws(
    () => replaceSection(page, "plots", "new"),
    /no lines <!-- plots --> and <!-- end of plots -->/,
  );
});
