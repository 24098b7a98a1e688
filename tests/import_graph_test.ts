/** Imports between files form no circle, so that every file can be read and tested after those it imports. */
import assert from "node:assert/strict";
import { importsOf, sources } from "./import_graph.ts";

/** Circles of imports, each as its files in order: a file imports the next, the last imports the first. */
function circles(files: ReadonlyMap<string, string>): string[][] {
  const found: string[][] = [];
  const visited = new Set<string>();
  const path = new Set<string>();
  const visit = (file: string) => {
    if (path.has(file)) {
      const steps = [...path];
      found.push(steps.slice(steps.indexOf(file)));
    }
    if (visited.has(file) || !files.has(file)) return;
    visited.add(file);
    path.add(file);
    for (const imported of importsOf(file, files.get(file)!)) visit(imported);
    path.delete(file);
  };
  for (const file of files.keys()) visit(file);
  return found;
}

const describeCircle = (circle: string[]) => [...circle, circle[0]].join(" -> ");

Deno.test("imports between files of the library, its commands and its benchmarks form no circle", async () => {
  const files = await sources(["kernels", "src", "web", "tasks", "bench"]);
  assert.ok(files.size > 300, `${files.size} files were looked at`);
  assert.deepEqual(circles(files).map(describeCircle), []);
});

Deno.test("the check detects circles of values, types and dynamic imports, and names their files", () => {
  const circlesOf = (files: Record<string, string>) =>
    circles(new Map(Object.entries(files))).map(describeCircle);
  const first = 'import { b } from "./b.ts";\n';
  assert.deepEqual(
    circlesOf({ "src/a.ts": first, "src/b.ts": 'import type { A } from "./a.ts";\n' }),
    ["src/a.ts -> src/b.ts -> src/a.ts"],
  );
  assert.deepEqual(
    circlesOf({
      "src/start.ts": 'import "./a.ts";\n',
      "src/a.ts": first,
      "src/b.ts": 'const c = await import("./c/c.ts");\n',
      "src/c/c.ts": 'export * from "../a.ts";\n',
    }),
    ["src/a.ts -> src/b.ts -> src/c/c.ts -> src/a.ts"],
  );
  assert.deepEqual(
    circlesOf({
      "src/a.ts": first + 'import { c } from "./c.ts";\n',
      "src/b.ts": 'import "./c.ts";\n',
      "src/c.ts": "",
    }),
    [],
  );
});
