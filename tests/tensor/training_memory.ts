/**
 * Memory use of training. As a program, with a device and a WebGPU implementation as arguments, it prints the
 * memory use of steps in scopes.
 */
import { init, type InitOptions, key, normal, tensor, tidy, valueAndGrad } from "../../mod.ts";
import type { KernelDevice } from "../../src/device/device.ts";

/** Counts the bytes that a device has allocated while `body` runs. */
export async function measure(
  device: KernelDevice,
  body: (lent: () => number) => Promise<void>,
): Promise<void> {
  const { allocate, release } = device;
  let bytes = 0;
  device.allocate = (byteLength) => (bytes += byteLength, allocate.call(device, byteLength));
  device.release = (memory, byteLength) => (bytes -= byteLength, release.call(device, memory, byteLength));
  try {
    await body(() => bytes);
  } finally {
    device.allocate = allocate;
    device.release = release;
  }
}

/** Gradient descent on a small model. */
export function smallModel() {
  const parameters = { w: normal(key(0), [8, 8]).mul(0.3), b: tensor(new Float32Array(8)) };
  const x = normal(key(1), [16, 8]);
  const loss = ({ w, b }: typeof parameters) => x.matmul(w).add(b).tanh().sub(x).square().mean();
  return () => {
    const [, gradients] = valueAndGrad(loss)(parameters);
    tidy(() => {
      parameters.w.assign(parameters.w.sub(gradients.w.mul(0.05)));
      parameters.b.assign(parameters.b.sub(gradients.b.mul(0.05)));
      return undefined;
    });
  };
}

/** Steps of {@linkcode memoryOverSteps}. A software GPU takes milliseconds for each. */
export const stepsOn = ({ info }: KernelDevice): number => info.kind === "webgpu" ? 1000 : 4000;

/**
 * Bytes allocated by the device and bytes of the process after each hundredth of many steps. JavaScript's
 * heap is excluded, because the garbage collector decides how large it grows between collections.
 */
export async function memoryOverSteps(
  device: KernelDevice,
  step: () => void,
): Promise<{ lent: number[]; process: number[] }> {
  const steps = stepsOn(device);
  const samples = { lent: [] as number[], process: [] as number[] };
  await measure(device, async (lent) => {
    for (let i = 1; i <= steps; i++) {
      step();
      if (i % (steps / 100) !== 0) continue;
      await device.synchronize();
      // Tensors made outside any scope are freed by the garbage collector, which runs between tasks.
      await new Promise((resolve) => setTimeout(resolve, 0));
      samples.lent.push(lent());
      const { rss, heapTotal } = Deno.memoryUsage();
      samples.process.push(rss - heapTotal);
    }
  });
  return samples;
}

if (import.meta.main) {
  const [device, implementation] = Deno.args as [InitOptions["device"], InitOptions["implementation"]];
  const opened = await init({ device, implementation }) as KernelDevice;
  const step = smallModel();
  console.log(JSON.stringify(await memoryOverSteps(opened, () => tidy(step))));
  Deno.exit();
}
