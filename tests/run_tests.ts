/**
 * `deno task test [--all] [options of deno test]`: runs the tests with only the permissions that they need.
 * Ends with the devices of the tests, the skipped tests, the lines of each folder if all tests were selected, and a
 * line `N passed, N failed`.
 */
import type { DescribedAdapter } from "../src/device/webgpu/adapter.ts";
import { groupsOf, isTestPath } from "./groups.ts";
import { countLines, lineTable } from "./line_budgets.ts";
import { outcomeOf } from "./outcome.ts";

const temporary = Deno.env.get("TMPDIR") ?? Deno.env.get("TEMP") ?? "/tmp";
const usesDawn = Deno.env.get("WEFT_WEBGPU") === "dawn";
const all = Deno.args.includes("--all");

const permissions = [
  "--allow-read",
  `--allow-write=${temporary}`,
  `--allow-run=${Deno.execPath()}`,
  // Dawn, and the libraries of npm packages, read environment variables.
  "--allow-env",
  // The CPU device reports the machine's memory when an allocation fails.
  "--allow-sys=systemMemoryInfo",
  // Servers of trained runs, which tests connect to.
  "--allow-net=127.0.0.1",
  // Dawn is not in the lock file, so that nobody else downloads it.
  ...usesDawn ? ["--allow-ffi", "--no-lock"] : [],
];

type Adapter = Pick<DescribedAdapter, "description" | "openGl" | "software">;

/** The adapter of Deno's WebGPU, looked for by another process. */
async function findAdapter(): Promise<Adapter | undefined> {
  const file = new URL("find_adapter.ts", import.meta.url).href;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-check", file],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout).trim() || "null") ?? undefined;
}

// Mesa's OpenGL aborts processes that use it in several threads. The tests do not look for its adapters.
const adapter = usesDawn ? undefined : await findAdapter();
const openGl = adapter?.openGl && adapter.software;

const isChecked = !Deno.args.some((argument) => argument.startsWith("--no-check"));
const given = Deno.args.filter(isTestPath);
const paths = given.length > 0 ? given : ["tests"];
const options = Deno.args.filter((argument, ...at) => argument !== "--all" && !isTestPath(argument, ...at));

// Number of groups of test files in parallel. Each has threads and a GPU device. Tests wait for files and
// processes, so there are more groups than cores.
const jobs = Number(Deno.env.get("DENO_JOBS") ?? Math.min(navigator.hardwareConcurrency + 1, 4));

const stop = new AbortController();
const groups = await Deno.makeTempDir();
const child = new Deno.Command(Deno.execPath(), {
  args: [
    "test",
    ...openGl && all ? [] : ["--parallel"],
    ...permissions,
    ...isChecked ? ["--no-check"] : [],
    ...options,
    ...await groupsOf(paths, groups, jobs),
  ],
  stdout: "piped",
  stderr: "inherit",
  signal: stop.signal,
  env: {
    // A GPU driver may need a folder for its sockets and caches.
    XDG_RUNTIME_DIR: Deno.env.get("XDG_RUNTIME_DIR") ?? temporary,
    DENO_JOBS: `${jobs}`,
    ...all ? { WEFT_TESTS: "all" } : openGl ? { DENO_WEBGPU_BACKEND: "vulkan" } : {},
  },
}).spawn();

/** Whether the types of the tests are correct. If not, stops the tests. */
async function checkTypes(): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--no-run", "--quiet", ...options, ...paths],
    stdout: "null",
    stderr: "inherit",
  }).output();
  if (!success) stop.abort();
  return success;
}

// A type check takes ten seconds of one thread, and the tests run meanwhile.
const checking = isChecked ? checkTypes() : true;

const devices = new Set<string>();
const counts = { passed: 0, failed: 0 };
const leftOut = { webgpu: 0, long: 0 };
let hasSummary = false;

/** Line of tests/devices.ts about WebGPU if it is not available. */
const withoutWebGpu = /^webgpu (?:left out|not found) \((.*)\)$/;
// deno-lint-ignore no-control-regex
const colours = /\x1b\[[0-9;]*m/g;

function read(line: string): void {
  const text = line.replace(colours, "").trim();
  const device = /^device: (.*)/.exec(text);
  if (device) devices.add(device[1]);
  const ignored = /^(.*) \.\.\. ignored/.exec(text);
  if (ignored) leftOut[/\[webgpu[^\]]*\]$/.test(ignored[1]) ? "webgpu" : "long"]++;
  const summary = /^(ok|FAILED) \| (\d+) passed.* \| (\d+) failed/.exec(text);
  if (!summary) return;
  hasSummary = true;
  counts.passed += Number(summary[2]);
  counts.failed += Number(summary[3]);
}

let rest = "";
for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
  await Deno.stdout.write(new TextEncoder().encode(chunk));
  const lines = (rest + chunk).split("\n");
  rest = lines.pop()!;
  lines.forEach(read);
}
read(rest);
const { code, signal } = await child.status;
await Deno.remove(groups, { recursive: true });
const areTypesCorrect = await checking;
const usedGpu = [...devices].some((device) => device.startsWith("webgpu ("));
const outcome = areTypesCorrect
  ? outcomeOf({ code, signal, hasSummary, failed: counts.failed, usedGpu })
  : "failed";

// A type error, a file that does not load, or a crash is a failure although no test fails.
if (outcome === "failed" && counts.failed === 0) counts.failed = 1;
const ran = [...devices].filter((device) => !withoutWebGpu.test(device)).sort();
const [, missing = "kernels that a software GPU takes long to compile"] =
  [...devices].map((device) => withoutWebGpu.exec(device)).find((match) => match) ?? [];
const reason = openGl ? `on ${adapter.description}, a kernel can take minutes to compile` : missing;
console.log(`Devices: ${ran.join(", ") || "none was used"}`);
const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
if (leftOut.webgpu > 0) console.log(`Left out: ${plural(leftOut.webgpu, "test")} on WebGPU (${reason})`);
if (leftOut.long > 0) console.log(`Left out: ${plural(leftOut.long, "long test")}`);
if (leftOut.webgpu + leftOut.long > 0 && !all) {
  console.log("To run all that this machine can: deno task test --all");
}
if (!hasSummary) console.log("The tests did not complete.");
if (outcome === "crashed at exit") {
  console.log(`Warning: ${signal} ended the process after all tests passed. The GPU driver is at fault.`);
}
if (given.length === 0) console.log(lineTable(await countLines()));
console.log(`${counts.passed} passed, ${counts.failed} failed`);
Deno.exit(outcome === "failed" ? code || 1 : 0);
