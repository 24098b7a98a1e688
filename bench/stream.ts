/**
 * Pushes observations into a stream of a Neural CDE and reads each prediction. Reports the first and the last
 * rate per second, and the memory of tensors, of the JavaScript heap and of the process.
 */
import { key, NeuralCDE, normal } from "../mod.ts";
import { createCpuDevice } from "../src/device/cpu/device.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";

const program = benchCommand("stream")
  .option("--pushes <number>", "observations", wholeFrom(100), 20_000)
  .option("--hidden <number>", "hidden size and width", wholeFrom(1), 32)
  .option("--path <name>", "hermite or rectilinear", "hermite")
  .option("--threads <number>", "threads of the CPU device", wholeFrom(1), navigator.hardwareConcurrency);

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { pushes, hidden, path, threads } = program.opts<
    { pushes: number; hidden: number; path: "hermite" | "rectilinear"; threads: number }
  >();
  const device = createCpuDevice({ threads });
  setCurrentDevice(device);
  const sizes = { inputChannels: 3, hiddenChannels: hidden, outputChannels: 1, width: hidden, depth: 1 };
  const stream = NeuralCDE({ ...sizes, stepsPerPiece: 1, key: key(0) }).stream({ path });
  const values = await normal(key(1), [1000, 2]).data();
  const parts = 10;
  for (let part = 0, at = 0; part < parts; part++) {
    const start = performance.now();
    const end = Math.round(pushes * (part + 1) / parts);
    const count = end - at;
    for (; at < end; at++) {
      const row = at % 1000;
      await stream.push(at, [at * 1e-3, values[2 * row], values[2 * row + 1]]).data();
    }
    const rate = count / (performance.now() - start) * 1000;
    // Garbage-collected memory is released between tasks. If observations arrive as events, that is after
    // each observation.
    await new Promise((resolve) => setTimeout(resolve));
    const { heapUsed, rss } = Deno.memoryUsage();
    console.log(
      `${end.toLocaleString("en")} pushes: ${Math.round(rate).toLocaleString("en")} a second, ` +
        `${(device.memory.usedBytes / 1024).toFixed(1)} KiB of tensors, ${
          (heapUsed / 2 ** 20).toFixed(0)
        } MiB of heap, ` +
        `${(rss / 2 ** 20).toFixed(0)} MiB in total`,
    );
  }
  return 0;
});
