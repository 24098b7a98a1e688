import assert from "node:assert/strict";
import { explain } from "../mod.ts";
import { observeLoops } from "../src/compile/graph_loop.ts";

/** Number of compiled loops that run in a solve, of those whose description begins as `kind` says. */
export function countLoops(solve: () => unknown, kind = "(forward|backward) loop"): number {
  const found = explain(solve).matchAll(new RegExp(`^(?:(\\d+) times: )?${kind}`, "gm"));
  return [...found].reduce((sum, [, times]) => sum + Number(times ?? 1), 0);
}

/** The result of a solve, which must have run compiled loops, or, where it is not to be compiled, none. */
export function solved<T>(compile: boolean, solve: () => T): T {
  let result!: T;
  let loops = 0;
  observeLoops(() => loops++, () => {
    result = solve();
  });
  assert.equal(loops > 0, compile, `${loops} compiled loops ran`);
  return result;
}
