import assert from "node:assert/strict";
import { explain } from "../mod.ts";
import { observeLoops } from "../src/compile/loop/graph_loop.ts";

/** Number of compiled loops that run in a solve, counting loops whose description begins with `kind`. */
export function countLoops(solve: () => unknown, kind = "(forward|backward) loop"): number {
  const found = explain(solve).text.matchAll(new RegExp(`^(?:(\\d+) times: )?${kind}`, "gm"));
  return [...found].reduce((sum, [, times]) => sum + Number(times ?? 1), 0);
}

/**
 * Returns the result of a solve. Fails unless the solve ran compiled loops, or none if it must not be
 * compiled.
 */
export function solved<T>(compile: boolean, solve: () => T): T {
  let result!: T;
  let loops = 0;
  observeLoops(() => loops++, () => {
    result = solve();
  });
  assert.equal(loops > 0, compile, `${loops} compiled loops ran`);
  return result;
}
