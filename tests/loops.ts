import { explain } from "../mod.ts";

/** How many compiled loops run in a solve, of those whose description begins as `kind` says. */
export function countLoops(solve: () => unknown, kind = "(forward|backward) loop"): number {
  const found = explain(solve).matchAll(new RegExp(`^(?:(\\d+) times: )?${kind}`, "gm"));
  return [...found].reduce((sum, [, times]) => sum + Number(times ?? 1), 0);
}
