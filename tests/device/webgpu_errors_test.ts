/** Tests specific to the WebGPU device: errors, limits of a dispatch, and how devices open and end. */
import assert from "node:assert/strict";
import { init, tensor, zeros } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { memoryOf } from "../../src/device/webgpu/device.ts";
import { cpu } from "../devices.ts";
import { runProgram } from "../run_program.ts";
import { copyOne, dispatchBroken, fresh, shared, test, viewOf } from "./webgpu_tests.ts";

test(
  "reading the result of a kernel that does not compile throws an error with the kernel's name",
  async (device) => {
    const x = tensor([1]);
    await device.synchronize();
    dispatchBroken(device, x);
    const other = device.implementation === "native" ? "dawn" : "native";
    await assert.rejects(x.data(), (error: Error) => {
      assert.match(error.message, /broken kernel/);
      assert.match(error.message, new RegExp(`implementation: "${other}"`));
      return true;
    });
    // The error is reported once. Later operations succeed.
    assert.deepEqual([...await tensor([1]).add(1).data()], [2]);
  },
  fresh(),
);

test("a rejected dispatch fails all pending reads with its name and shapes", async (device) => {
  const x = tensor([1]);
  device.dispatch({
    key: "too many",
    source: () => ({ name: "too many workgroups", code: copyOne, access: "w" }),
    buffers: [memoryOf(viewOf(x).source)],
    words: [0],
    workgroups: device.limits.maxComputeWorkgroupsPerDimension + 1,
    operations: 1,
    shapes: [[12, 34]],
  });
  const waiting = [x.data(), device.synchronize()];
  for (const wait of waiting) await assert.rejects(wait, /refused.*too many workgroups \(12, 34\)/);
}, fresh());

test("creating a tensor larger than the adapter's buffers throws at once", async (device) => {
  const elements = device.limits.maxStorageBufferBindingSize / 4 + 1;
  assert.throws(() => zeros([elements]).add(1), /too large for this GPU/);
  await Promise.resolve();
});

test("a float64 tensor throws, since only the CPU supports it", async () => {
  assert.throws(() => tensor([1], { dtype: "float64" }), /float64 is only available on the CPU/);
  assert.throws(() => zeros([2], { dtype: "float64" }).add(1), /float64 is only available on the CPU/);
  await Promise.resolve();
});

test("operations on a destroyed device throw", async (device) => {
  const x = tensor([1, 2]).add(1);
  const reading = x.data();
  await reading;
  device.destroy();
  await assert.rejects(x.data(), /was destroyed.*call init again/);
  await assert.rejects(device.synchronize(), /was destroyed/);
  assert.throws(() => x.add(1), /was destroyed/);
}, fresh());

test("destroying a device rejects pending reads", async (device) => {
  const reading = tensor([1, 2]).add(1).data();
  device.destroy();
  await assert.rejects(reading, /was destroyed/);
}, fresh());

test("init returns the same device for the same options", async ({ implementation }) => {
  const options = { device: "webgpu", implementation } as const;
  const [first, second] = await Promise.all([init(options), init(options)]);
  assert.equal(first, shared);
  assert.equal(second, shared);
});

Deno.test("init rejects unknown options and lists the valid ones", async () => {
  // deno-lint-ignore no-explicit-any
  const choose = (options: any) => init(options);
  await assert.rejects(choose({ device: "gpu" }), /"gpu"; valid: "auto", "webgpu", "cpu"/);
  await assert.rejects(choose({ implementation: "wgpu" }), /"wgpu"; valid: "native", "dawn"/);
  await assert.rejects(
    choose("cpu"),
    /^TypeError: init: the options are "cpu", expected an object with any of device, implementation, threads, blas, memory or worker$/,
  );
  await assert.rejects(
    choose(null),
    /^TypeError: init: the options are null, expected an object with any of device, implementation, threads, blas, memory or worker$/,
  );
});

Deno.test({
  name: "init chooses the CPU by itself unless there is a hardware GPU",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const chosen = await init();
    setCurrentDevice(cpu);
    assert.ok(chosen.info.kind === "cpu" ? chosen === cpu : !chosen.info.software, chosen.info.description);
  },
});

/** Runs a program with only the permissions that Dawn needs. */
async function run(program: string, env: Record<string, string> = {}) {
  const permissions = shared?.implementation === "dawn" ? ["--allow-ffi", "--allow-read", "--allow-env"] : [];
  // Dawn's package is loaded on demand, and is not in the lock file.
  return await runProgram(program, ["--no-check", "--no-lock", ...permissions], {
    env,
    signal: AbortSignal.timeout(30_000),
  });
}

test("a process exits by itself, with or without destroying its device", async (device) => {
  const module = new URL("../../mod.ts", import.meta.url);
  for (const end of ["", "device.destroy();"]) {
    const { code, stdout, stderr } = await run(`
      import { init, tensor } from ${JSON.stringify(module)};
      const device = await init({ device: "webgpu", implementation: "${device.implementation}" });
      console.log(await tensor([1, 2]).add(1).sum().item());
      tensor([3]).add(1);
      ${end}
    `);
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim(), "5");
  }
});

test("concurrent init calls share one device, and init opens a new one after it is destroyed", async (device) => {
  const module = new URL("../../mod.ts", import.meta.url);
  const { stdout, stderr } = await run(`
    import { init, tensor } from ${JSON.stringify(module)};
    const options = { device: "webgpu", implementation: "${device.implementation}" };
    const [first, second] = await Promise.all([init(options), init(options)]);
    console.log(first === second);
    first.destroy();
    console.log(await init(options) === first);
    console.log(await tensor([1, 2]).add(1).sum().item());
  `);
  assert.equal(stdout.trim(), "true\nfalse\n5", stderr);
});

test("without an adapter, the error of init says what to install", async (device) => {
  const module = new URL("../../mod.ts", import.meta.url);
  const noDrivers = { VK_DRIVER_FILES: "/nowhere", VK_ICD_FILENAMES: "/nowhere", WGPU_BACKEND: "vulkan" };
  const { stdout, stderr } = await run(
    `
      import { init } from ${JSON.stringify(module)};
      try {
        const { info } = await init({ device: "webgpu", implementation: "${device.implementation}" });
        console.log("found", info.description);
      } catch (error) {
        console.log(error.message);
      }
      console.log((await init()).info.kind);
    `,
    noDrivers,
  );
  // If adapters do not come from Vulkan's loader, an adapter is still available.
  if (!stdout.startsWith("found")) {
    assert.match(stdout, /apt install mesa-vulkan-drivers/, stderr);
    assert.match(stdout, /init\(\{ device: "cpu" \}\)\ncpu/);
  }
});
