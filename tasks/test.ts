/**
 * `deno task test [options of deno test]`: runs the tests with the permissions that they need and no others, and ends
 * with the devices that they ran on and a line `N passed, N failed`.
 */
const temporary = Deno.env.get("TMPDIR") ?? Deno.env.get("TEMP") ?? "/tmp";
const usesDawn = Deno.env.get("WEFT_WEBGPU") === "dawn";

const permissions = [
  "--allow-read",
  `--allow-write=${temporary}`,
  `--allow-run=${Deno.execPath()}`,
  // Dawn, and the libraries that npm packages are, read variables of their own.
  "--allow-env",
  // Dawn is not among the locked packages: nobody else is to fetch it.
  ...usesDawn ? ["--allow-ffi", "--no-lock"] : [],
];

const child = new Deno.Command(Deno.execPath(), {
  args: ["test", ...permissions, ...Deno.args],
  stdout: "piped",
  stderr: "inherit",
  // A driver on its own may need a folder for its sockets and caches.
  env: { XDG_RUNTIME_DIR: Deno.env.get("XDG_RUNTIME_DIR") ?? temporary },
}).spawn();

const devices = new Set<string>();
const counts = { passed: 0, failed: 0, ignored: 0 };
let hasSummary = false;

// deno-lint-ignore no-control-regex
const colours = /\x1b\[[0-9;]*m/g;

function read(line: string): void {
  const text = line.replace(colours, "").trim();
  const device = /^device: (.*)/.exec(text);
  if (device) devices.add(device[1]);
  const summary = /^(ok|FAILED) \| (\d+) passed.* \| (\d+) failed(?: \| (\d+) ignored)?/.exec(text);
  if (!summary) return;
  hasSummary = true;
  counts.passed += Number(summary[2]);
  counts.failed += Number(summary[3]);
  counts.ignored += Number(summary[4] ?? 0);
}

let rest = "";
for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
  await Deno.stdout.write(new TextEncoder().encode(chunk));
  const lines = (rest + chunk).split("\n");
  rest = lines.pop()!;
  lines.forEach(read);
}
read(rest);
const { code } = await child.status;

// A file that does not load, or a crash, fails without any test failing.
if (code !== 0 && counts.failed === 0) counts.failed = 1;
const ran = [...devices].filter((device) => !device.startsWith("no "));
const missing = [...devices].filter((device) => device.startsWith("no "));
for (const device of missing) console.log(`Not found: ${device.slice(3)}`);
console.log(`Devices: ${ran.join(", ") || "none was used"}`);
if (counts.ignored > 0) console.log(`${counts.ignored} ignored`);
if (!hasSummary) console.log("The tests did not run to their end.");
console.log(`${counts.passed} passed, ${counts.failed} failed`);
Deno.exit(code);
