/**
 * The devices that tests run on: the CPU always, WebGPU where an adapter is found. `WEFT_WEBGPU` chooses the
 * implementation ("native" or "dawn"); with `WEFT_REQUIRE_WEBGPU=1` a missing adapter is a failure.
 */
import assert from "node:assert/strict";
import { init, type InitOptions } from "../mod.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Device } from "../src/device/device.ts";

function environment(variable: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

const implementation = (environment("WEFT_WEBGPU") ?? "native") as InitOptions["implementation"];

/** Whether tests that take long on software GPUs run on them too: `WEFT_EVERYWHERE=1`. */
export const everywhere = environment("WEFT_EVERYWHERE") === "1";

/** The processor. */
export const cpu: Device = await init({ device: "cpu" });

/** The GPU, or software that stands for one. */
export const webgpu: Device | undefined = await findWebGpu();

setCurrentDevice(cpu);

async function findWebGpu(): Promise<Device | undefined> {
  try {
    return await init({ device: "webgpu", implementation });
  } catch (error) {
    // One line, which the test command repeats at its end.
    console.log(`device: no webgpu (${(error as Error).message.split("\n")[0]})`);
    if (environment("WEFT_REQUIRE_WEBGPU") === "1") {
      Deno.test("WebGPU is available, as WEFT_REQUIRE_WEBGPU asks", () => assert.fail(error as Error));
    }
  }
}

/** Every device that was found, the CPU first. */
export const devices: readonly Device[] = webgpu ? [cpu, webgpu] : [cpu];

const announced = new Set<Device>();

/** Makes a device the current one and says so the first time. */
export function useDevice(device: Device): void {
  if (!announced.has(device)) console.log(`device: ${device.info.kind} (${device.info.description})`);
  announced.add(device);
  setCurrentDevice(device);
}

/** One test for each device, on which new tensors live while it runs. */
export function testOnDevices(name: string, body: (device: Device) => void | Promise<void>): void {
  for (const device of devices) testOn(device, name, body);
}

/** A test on the CPU alone. */
export function testOnCpu(name: string, body: (device: Device) => void | Promise<void>): void {
  testOn(cpu, name, body);
}

/** A test of WebGPU against the CPU; ignored where there is no WebGPU. */
export function testOnBoth(name: string, body: (cpu: Device, webgpu: Device) => void | Promise<void>): void {
  if (webgpu) testOn(webgpu, `${name}, against the CPU`, () => body(cpu, webgpu!));
  else Deno.test({ name: `${name}, webgpu against the CPU`, ignore: true, fn() {} });
}

function testOn(device: Device, name: string, body: (device: Device) => void | Promise<void>): void {
  Deno.test({
    name: `${name} [${device.info.kind}]`,
    // A device outlives the tests: its workers and its queue belong to none of them.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      useDevice(device);
      try {
        await body(device);
      } finally {
        setCurrentDevice(cpu);
      }
    },
  });
}
