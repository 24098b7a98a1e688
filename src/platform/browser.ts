/** Browsers: a page, or a worker of a page. */
import type { Platform, ThreadStart } from "./platform.ts";

/** Properties of pages that workers lack, or that Deno's types lack. */
interface Page {
  readonly document?: unknown;
  readonly crossOriginIsolated?: boolean;
}

/** The browser that runs Weft. */
export function browser(): Platform {
  const { document, crossOriginIsolated } = globalThis as Page;
  const whyNone = crossOriginIsolated
    ? undefined
    : "this page is not isolated from other origins: serve it with Cross-Origin-Opener-Policy: same-origin and " +
      "Cross-Origin-Embedder-Policy: require-corp";
  return {
    name: "a browser",
    prefersMemory64: false,
    webGpu: "the browser's WebGPU",
    hasNativeLibraries: false,
    machineMemory: () => Infinity,
    canSleep: document === undefined,
    // Threads share memory, which a page has only if it is isolated from other origins.
    startThread: whyNone ? undefined : startThread,
    whyNoThreads: (url) => whyNone ? Promise.resolve(whyNone) : whyBlocked(url),
    nextTurn,
  };
}

/** Open workers. Firefox ends a worker that no object refers to when it collects garbage, even while the worker starts. */
const workers = new Set<Worker>();

/** Opens a worker, from a text if no file is given, so that no second file must be hosted. */
function openWorker(source: string, file?: string): Worker {
  const worker = file === undefined ? workerOf(source) : new Worker(file, { type: "module" });
  workers.add(worker);
  return worker;
}

function workerOf(source: string): Worker {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  // The worker has the source by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  return new Worker(url);
}

function closeWorker(worker: Worker): void {
  workers.delete(worker);
  worker.terminate();
}

function startThread({ url, main, functions, data, onError }: ThreadStart): void {
  const source = `onmessage = ({ data }) => { (${main})(data, (${functions})()); postMessage("ended"); };`;
  const worker = openWorker(source, url);
  // The file of a worker also sends "started".
  worker.onmessage = ({ data }) => {
    if (data === "ended") closeWorker(worker);
  };
  worker.onerror = (event) => {
    closeWorker(worker);
    // An event without a message is that of a worker that has not started.
    const { message } = event as { message?: string };
    if (message) onError(message);
    else console.warn(`weft: kernels run on fewer threads, because ${blockedReason(url)}`);
  };
  worker.postMessage(data);
}

/** Starts a worker that does nothing. The reason that it did not start. */
async function whyBlocked(url?: string): Promise<string | undefined> {
  let worker: Worker | undefined;
  try {
    worker = openWorker('postMessage("started");', url);
    await new Promise((resolve, reject) => {
      worker!.onmessage = resolve;
      worker!.onerror = reject;
    });
    return undefined;
  } catch {
    return blockedReason(url);
  } finally {
    if (worker) closeWorker(worker);
  }
}

function blockedReason(url?: string): string {
  return url === undefined
    ? "the Content Security Policy of this page forbids workers without a file (worker-src blob:): host the file " +
      "@weft/weft/worker and pass its address, init({ worker: url })"
    : `this page cannot start the worker ${url}`;
}

/** By a message, because browsers delay timers of nested calls by milliseconds. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
