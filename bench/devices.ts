/** The devices that benchmarks run on: the CPU, and WebGPU where an adapter is found. */
import { type DeviceInfo, init, tidy } from "../mod.ts";

const kinds = ["cpu", "webgpu"] as const;
const announced = new Set<DeviceInfo>();

/**
 * Runs a benchmark on each device in turn. A timed run ends when the device has finished.
 *
 * @param prepare Called with the device as the current device; returns the function to time. Tensors made by
 * that function are released.
 * @param options `runs`: number of timed runs, after two warm-up runs; `large`: too large for a software GPU.
 */
export async function benchOnDevices(
  name: string,
  prepare: () => (() => unknown) | Promise<() => unknown>,
  { runs = 10, large = false }: { runs?: number; large?: boolean } = {},
): Promise<void> {
  for (const kind of kinds) {
    const device = await init({ device: kind }).catch(() => undefined);
    if (!device || (large && device.info.software)) continue;
    if (!announced.has(device.info)) console.log(`${kind}: ${device.info.description}`);
    announced.add(device.info);
    const body = await prepare();
    Deno.bench(`${name} [${kind}]`, { n: runs, warmup: 2 }, async () => {
      // Constructors inside the body use the current device.
      await init({ device: kind });
      tidy(() => {
        body();
      });
      await device.synchronize();
    });
  }
}
