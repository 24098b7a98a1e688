import assert from "node:assert/strict";
import { outcomeOf } from "../outcome.ts";
import { withFolder } from "./command_line.ts";
import { testLong } from "../devices.ts";

const root = new URL("../..", import.meta.url);

const devices = new URL("tests/devices.ts", root);

/** Last output lines of the test command for some tests, on a machine without a GPU. */
function endOf(folder: string, tests: string, ...args: string[]) {
  const imports = `import { longOnSoftware, testLong, testOnDevices } from "${devices}";\n`;
  return endOfFile(folder, imports + tests, "--no-check", ...args);
}

/** {@linkcode endOf} for a whole file. */
async function endOfFile(folder: string, text: string, ...args: string[]) {
  await Deno.writeTextFile(`${folder}/some_test.ts`, text);
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "tests/run_tests.ts", `${folder}/some_test.ts`, ...args],
    cwd: root,
    env: {
      DENO_WEBGPU_BACKEND: "vulkan",
      VK_DRIVER_FILES: "/nonexistent",
      WEFT_WEBGPU: "native",
      WEFT_REQUIRE_WEBGPU: "0",
      WEFT_TESTS: "",
    },
    stderr: "null",
  }).output();
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  return { code, end: lines.slice(lines.findIndex((line) => line.startsWith("Devices: "))) };
}

const tests = `Deno.test("a quick one", () => {});
testLong("a long one", () => {});
testOnDevices("one for each device", () => {});
testOnDevices("another", longOnSoftware, () => {});
`;

testLong(
  "the test command prints which tests ran, which were skipped and how to run them",
  withFolder(async (folder) => {
    const { code, end } = await endOf(folder, tests);
    assert.equal(code, 0);
    assert.match(end[0], /^Devices: cpu \(.*threads/);
    assert.match(end[1], /^Left out: 2 tests on WebGPU \(.*finds no GPU.*apt install/);
    assert.equal(end[2], "Left out: 1 long test");
    assert.equal(end[3], "To run all that this machine can: deno task test --all");
    assert.equal(end[4], "3 passed, 0 failed");
  }),
);

testLong(
  "with --all, the test command skips only tests without a device",
  withFolder(async (folder) => {
    const { code, end } = await endOf(folder, tests, "--all");
    assert.equal(code, 0);
    assert.match(end[1], /^Left out: 2 tests on WebGPU/);
    assert.deepEqual(end.slice(2), ["4 passed, 0 failed"]);
  }),
);

testLong(
  "a filter selects the tests that only --all runs",
  withFolder(async (folder) => {
    const { code, end } = await endOf(
      folder,
      tests,
      "--all",
      "--filter",
      String.raw`/\[long\]|long on software\]/`,
    );
    assert.equal(code, 0);
    assert.match(end[1], /^Left out: 1 test on WebGPU/);
    assert.equal(end.at(-1), "1 passed, 0 failed");
  }),
);

testLong(
  "the test command counts failed tests",
  withFolder(async (folder) => {
    const failing = await endOf(folder, `${tests}Deno.test("a wrong one", () => { throw new Error(); });\n`);
    assert.notEqual(failing.code, 0);
    assert.equal(failing.end.at(-1), "3 passed, 1 failed");
    const broken = await endOf(folder, "throw new Error();\n");
    assert.notEqual(broken.code, 0);
    assert.equal(broken.end.at(-1), "0 passed, 1 failed");
  }),
);

testLong(
  "the test command checks types, unless --no-check is set",
  withFolder(async (folder) => {
    const text = `const x: number = "a";\nDeno.test("uses " + x, () => {});\n`;
    const checked = await endOfFile(folder, text);
    assert.notEqual(checked.code, 0);
    assert.match(checked.end.at(-1)!, /^[01] passed, 1 failed$/);
    assert.equal((await endOfFile(folder, text, "--no-check")).code, 0);
  }),
);

Deno.test("only a crash after all tests passed on a GPU counts as a driver crash", () => {
  const crashed = { code: 134, signal: "SIGABRT", hasSummary: true, failed: 0, usedGpu: true };
  assert.equal(outcomeOf(crashed), "crashed at exit");
  assert.equal(outcomeOf({ ...crashed, usedGpu: false }), "failed");
  assert.equal(outcomeOf({ ...crashed, hasSummary: false }), "failed");
  assert.equal(outcomeOf({ ...crashed, failed: 1 }), "failed");
  assert.equal(outcomeOf({ ...crashed, code: 1, signal: null }), "failed");
  assert.equal(outcomeOf({ ...crashed, code: 0, signal: null }), "passed");
});
