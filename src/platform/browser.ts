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
  return {
    name: "a browser",
    isStandalone: false,
    prefersMemory64: false,
    webGpu: "the browser's WebGPU",
    hasNativeLibraries: false,
    machineMemory: () => Infinity,
    canSleep: document === undefined,
    // Threads share memory, which a page has only if it is isolated from other origins.
    startThread: crossOriginIsolated ? startThread : undefined,
    nextTurn,
    gunzip,
  };
}

/** Starts a worker from a text, so that no second file must be hosted. */
function startThread({ main, functions, data, onError }: ThreadStart): void {
  const source = `onmessage = ({ data }) => (${main})(data, (${functions})());`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(url);
  worker.onerror = (event) => {
    // An event without a message is that of a worker that has not started.
    const { message } = event as { message?: string };
    if (message) onError(message);
    else console.warn("weft: the page forbids workers (worker-src blob:), so kernels run on fewer threads");
  };
  worker.postMessage(data);
  // The worker has the source by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
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

async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  const write = async () => {
    for await (const chunk of chunks) await writer.write(chunk as Uint8Array<ArrayBuffer>);
    await writer.close();
  };
  // Errors of the chunks reach the reader.
  write().catch((error) => writer.abort(error));
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}
