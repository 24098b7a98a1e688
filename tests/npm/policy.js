/** Computes on threads whose file is hosted, or on one thread, and prints what `init` says and the tasks of other threads, or its error. */
import { init, key, normal } from "@weft/weft";

const worker = location.search === "?hosted" ? "/node_modules/@weft/weft/src/device/cpu/worker.js" : undefined;
const device = await init({ device: "cpu", threads: 2, worker }).catch((error) => {
  console.log(error.message);
  throw error;
});
const x = normal(key(0), [512, 512]);
const end = performance.now() + 10_000;
do {
  await x.matmul(x).sum().item();
  // Workers start between two turns of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 10));
} while (device.info.notes.length === 1 && device.pool.tasksOfWorkers === 0 && performance.now() < end);
const { description, notes } = device.info;
console.log(`${description.slice(description.search(/\d+ thread/))}; ${notes.join("; ")}; ${device.pool.tasksOfWorkers} tasks`);
