import assert from "node:assert/strict";
import { countLines, lineTable } from "./line_budgets.ts";

Deno.test("the lines of each folder of src and tests are within its budget", async () => {
  const folders = await countLines();
  const over = folders.filter(({ lines, budget }) => lines[0] > budget[0] || lines[1] > budget[1]);
  assert.equal(over.length, 0, `more lines than in tests/line_budgets.ts:\n${lineTable(over)}`);
});
