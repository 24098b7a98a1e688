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

/** A variable of the environment. If it is set, Deno collects garbage and calls `malloc_trim` at the signal SIGUSR2, on Linux. */
const trimVariable = "DENO_USR2_MEMORY_TRIM";

/** Growth of the memory of the process, in bytes, that is worth a trim. */
const worthTrimming = 2 ** 24;

/** Milliseconds after which a trim is certainly done. */
const trimTime = 2000;

/**
 * Returns a function that returns free memory of the allocator to the operating system, if Deno was started with
 * {@linkcode trimVariable} and the memory of the process has grown. It takes up to a tenth of a second.
 */
export function memoryTrimmer(): (load: "busy" | "idle") => void {
  const { state } = Deno.permissions.querySync({ name: "env", variable: trimVariable });
  const isOn = Deno.build.os === "linux" && state === "granted" && Deno.env.get(trimVariable) !== undefined;
  if (!isOn) return () => {};
  const bytes = () => Deno.memoryUsage().rss;
  let least = bytes();
  // A version of Deno without this feature would end at the signal.
  Deno.addSignalListener("SIGUSR2", () => {});
  return (load) => {
    if (bytes() < least + worthTrimming) return;
    Deno.kill(Deno.pid, "SIGUSR2");
    // An idle process needs the memory that a trim leaves.
    if (load === "idle") Deno.unrefTimer(setTimeout(() => least = bytes(), trimTime));
  };
}
