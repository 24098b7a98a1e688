/**
 * The file of a worker of the CPU device, for pages whose Content Security Policy forbids workers without a file. `init` takes its
 * address: `init({ worker: url })`.
 */
import { hostFunctions } from "./runtime/host_functions.ts";
import { workerMain } from "./runtime/worker_main.ts";

const worker = globalThis as unknown as {
  onmessage: (event: { data: Parameters<typeof workerMain>[0] }) => void;
  postMessage(message: unknown): void;
};
worker.onmessage = ({ data }) => {
  workerMain(data, hostFunctions());
  // The device is destroyed: the page closes this worker.
  worker.postMessage("ended");
};
// Tells the page that it may start workers.
worker.postMessage("started");
