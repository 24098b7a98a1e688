/** Returns the memory of garbage to the operating system. The engine keeps it until it allocates again. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Growth of the heap and its buffers, in bytes, that is worth a collection: of a busy, and of an idle thread. */
const worthwhile = { busy: 2 ** 24, idle: 2 ** 22 };

let collect: (() => void) | undefined;
let least = Infinity;

function heapBytes(): number {
  const { heapTotal, external } = Deno.memoryUsage();
  return heapTotal + external;
}

/** Collects garbage if the heap of this thread has grown. It takes up to a tenth of a second. */
export function collectGarbage(load: "busy" | "idle"): void {
  const bytes = heapBytes();
  least = Math.min(least, bytes);
  if (bytes < least + worthwhile[load]) return;
  if (!collect) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
  least = heapBytes();
}
