/**
 * The devices of the tests: always the CPU, on which each test begins, and WebGPU if an adapter is available.
 * `WEFT_WEBGPU` selects the implementation ("native" or "dawn"). With `WEFT_REQUIRE_WEBGPU=1` a missing adapter is a failure.
 * `WEFT_TESTS=all`, which `deno task test --all` sets, also runs slow tests.
 */
import assert from "node:assert/strict";
import { init, type InitOptions } from "../mod.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { KernelDevice } from "../src/device/device.ts";
import { findAdapter, noAdapterMessage } from "../src/device/webgpu/adapter.ts";

function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

const all = environment("WEFT_TESTS") === "all";
const implementation = (environment("WEFT_WEBGPU") ?? "native") as NonNullable<InitOptions["implementation"]>;

/** When to skip a test on a device. */
interface TestOptions {
  /** Skip on a software GPU. */
  readonly ignoreOnSoftware?: boolean;
}

/** A test that takes many seconds: like `Deno.test`, with a marker in its name for `--filter`. */
export function testLong(name: string, fn: (t: Deno.TestContext) => void | Promise<void>): void {
  Deno.test({ name: `${name} [long]`, ignore: !all, fn });
}

/**
 * A test whose kernels take many seconds to compile or run on a software GPU, but not on the CPU or on
 * hardware.
 */
export const longOnSoftware: TestOptions = { ignoreOnSoftware: !all };

/**
 * Like {@linkcode longOnSoftware}, for tests whose kernels other tests run on a software GPU: only hardware and the CPU run
 * them, also with `--all`.
 */
export const hardwareOnly: TestOptions = { ignoreOnSoftware: true };

/** The CPU device. */
export const cpu: KernelDevice = await init({ device: "cpu" }) as KernelDevice;

/** The WebGPU device: hardware or a software GPU. */
export const webgpu: KernelDevice | undefined = await findWebGpu();

setCurrentDevice(cpu);
Deno.test.afterEach(() => setCurrentDevice(cpu));

// A driver whose threads still run when the process exits can crash the process.
if (webgpu) {
  Deno.test.afterAll(async () => {
    await webgpu.synchronize();
    webgpu.destroy();
  });
}

async function findWebGpu(): Promise<KernelDevice | undefined> {
  const found = await findAdapter(implementation);
  if (found && (all || !(found.software && found.openGl))) {
    return await init({ device: "webgpu", implementation }) as KernelDevice;
  }
  // One line, which the test command repeats at its end.
  const reason = found
    ? `left out (on ${found.description}, a kernel can take minutes to compile)`
    : `not found (${noAdapterMessage(implementation)})`;
  console.log(`device: webgpu ${reason}`);
  if (environment("WEFT_REQUIRE_WEBGPU") === "1") {
    Deno.test("WebGPU is available, as WEFT_REQUIRE_WEBGPU requires", () => assert.fail(reason));
  }
}

const announced = new Set<KernelDevice>();

/** Makes a device current and prints it the first time. */
export function useDevice(device: KernelDevice): void {
  if (!announced.has(device)) console.log(`device: ${device.info.kind} (${device.info.description})`);
  announced.add(device);
  setCurrentDevice(device);
}

type Body = (device: KernelDevice) => void | Promise<void>;
type BodyOnBoth = (cpu: KernelDevice, webgpu: KernelDevice) => void | Promise<void>;

/** Like `Deno.test`: a name, optional test options, and a function. */
function withOptions<B>(register: (name: string, options: TestOptions, body: B) => void) {
  return (name: string, ...rest: [body: B] | [options: TestOptions, body: B]): void =>
    rest.length === 1 ? register(name, {}, rest[0]) : register(name, ...rest);
}

/** Runs one test on each device, with the device as current device. */
export const testOnDevices = withOptions<Body>((name, options, body) => {
  testOn(cpu, `${name} [cpu]`, options, body);
  testOn(webgpu, `${name} [webgpu]`, options, body);
});

/** A test on the CPU only. */
export const testOnCpu = withOptions<Body>((name, options, body) =>
  testOn(cpu, `${name} [cpu]`, options, body)
);

/** A test on WebGPU only. */
export const testOnWebGpu = withOptions<Body>((name, options, body) =>
  testOn(webgpu, `${name} [webgpu]`, options, body)
);

/** A test that compares WebGPU with the CPU. */
export const testOnBoth = withOptions<BodyOnBoth>((name, options, body) =>
  testOn(webgpu, `${name}, against the CPU [webgpu]`, options, (webgpu) => body(cpu, webgpu))
);

/** The name of a test on WebGPU, with a marker for --filter, also where it runs. */
function markedName(name: string, options: TestOptions): string {
  if (options.ignoreOnSoftware === undefined) return name;
  const marker = options === hardwareOnly ? "hardware only" : "long on software";
  return name.replace(/\[webgpu\]$/, `[webgpu, ${marker}]`);
}

/** A test on a device. Ignored if the device is not available. */
function testOn(device: KernelDevice | undefined, name: string, options: TestOptions, body: Body): void {
  Deno.test({
    name: markedName(name, options),
    ignore: !device || device.info.software && options.ignoreOnSoftware,
    // A device outlives the tests, so its workers and its queue must not count as leaks of a test.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      useDevice(device!);
      await body(device!);
    },
  });
}
