/**
 * The devices that tests run on: the CPU always, WebGPU where there is an adapter for it. `WEFT_WEBGPU` chooses the
 * implementation ("native" or "dawn"); with `WEFT_REQUIRE_WEBGPU=1` a missing adapter is a failure; `WEFT_TESTS=all`,
 * which `deno task test --all` sets, runs what takes long.
 */
import assert from "node:assert/strict";
import { init, type InitOptions } from "../mod.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Device } from "../src/device/device.ts";
import { findAdapter, noAdapterMessage } from "../src/device/webgpu/adapter.ts";

function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

const all = environment("WEFT_TESTS") === "all";
const implementation = (environment("WEFT_WEBGPU") ?? "native") as NonNullable<InitOptions["implementation"]>;

/** When a test on a device is left out. */
export interface TestOptions {
  /** On a GPU that is played by the processor. */
  readonly ignoreOnSoftware?: boolean;
}

/** A test that takes many seconds: like `Deno.test`, with a name that `--filter` finds. */
export function testLong(name: string, fn: () => void | Promise<void>): void {
  Deno.test({ name: `${name} [long]`, ignore: !all, fn });
}

/** A test whose kernels a software GPU takes many seconds to compile or to run; the CPU and hardware do not. */
export const longOnSoftware: TestOptions = { ignoreOnSoftware: !all };

/** The processor. */
export const cpu: Device = await init({ device: "cpu" });

/** The GPU, or software that stands for one. */
export const webgpu: Device | undefined = await findWebGpu();

setCurrentDevice(cpu);

async function findWebGpu(): Promise<Device | undefined> {
  const found = await findAdapter(implementation);
  if (found && (all || !(found.software && found.openGl))) {
    return await init({ device: "webgpu", implementation });
  }
  // One line, which the test command repeats at its end.
  const reason = found
    ? `left out (on ${found.description}, a kernel can take minutes to compile)`
    : `not found (${noAdapterMessage(implementation)})`;
  console.log(`device: webgpu ${reason}`);
  if (environment("WEFT_REQUIRE_WEBGPU") === "1") {
    Deno.test("WebGPU is available, as WEFT_REQUIRE_WEBGPU asks", () => assert.fail(reason));
  }
}

const announced = new Set<Device>();

/** Makes a device the current one and says so the first time. */
export function useDevice(device: Device): void {
  if (!announced.has(device)) console.log(`device: ${device.info.kind} (${device.info.description})`);
  announced.add(device);
  setCurrentDevice(device);
}

type Body = (device: Device) => void | Promise<void>;
type BodyOnBoth = (cpu: Device, webgpu: Device) => void | Promise<void>;

/** Like `Deno.test`: a name, perhaps options, and what to do. */
function withOptions<B>(register: (name: string, options: TestOptions, body: B) => void) {
  return (name: string, ...rest: [body: B] | [options: TestOptions, body: B]): void =>
    rest.length === 1 ? register(name, {}, rest[0]) : register(name, ...rest);
}

/** One test for each device, on which new tensors live while it runs. */
export const testOnDevices = withOptions<Body>((name, options, body) => {
  testOn(cpu, `${name} [cpu]`, options, body);
  testOn(webgpu, `${name} [webgpu]`, options, body);
});

/** A test on the CPU alone. */
export const testOnCpu = withOptions<Body>((name, options, body) =>
  testOn(cpu, `${name} [cpu]`, options, body)
);

/** A test of WebGPU against the CPU. */
export const testOnBoth = withOptions<BodyOnBoth>((name, options, body) =>
  testOn(webgpu, `${name}, against the CPU [webgpu]`, options, (webgpu) => body(cpu, webgpu))
);

/** A test on a device; ignored where there is none. */
function testOn(device: Device | undefined, name: string, options: TestOptions, body: Body): void {
  Deno.test({
    name,
    ignore: !device || device.info.software && options.ignoreOnSoftware,
    // A device outlives the tests: its workers and its queue belong to none of them.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      useDevice(device!);
      try {
        await body(device!);
      } finally {
        setCurrentDevice(cpu);
      }
    },
  });
}
