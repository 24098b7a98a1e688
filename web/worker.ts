/** The worker of the playground: trains and predicts, so that the page stays responsive. */
import { init } from "../src/compile/init.ts";
import { WeftError } from "../src/device/errors.ts";
import type { Calls, Fault, Reply, Request } from "./messages.ts";
import * as session from "./session.ts";

/** Functions of the page's calls. */
type Handlers = {
  [Name in keyof Calls]: (
    ...given: Parameters<Calls[Name]>
  ) => ReturnType<Calls[Name]> | Promise<ReturnType<Calls[Name]>>;
};

let [isPaused, training]: [boolean, AbortController | undefined] = [false, undefined];
/** Lets a paused training go on. */
let resume = () => {};

function send(reply: Reply): void {
  postMessage(reply);
}

/** The reason that WebGPU is missing; undefined if an adapter is found. */
async function whyNoGpu(): Promise<string | undefined> {
  const { gpu } = navigator;
  if (!gpu) return "this browser has no WebGPU, or the page is not served by HTTPS";
  return await gpu.requestAdapter()
    ? undefined
    : "this browser finds no GPU, or its hardware acceleration is off";
}

const handlers: Handlers = {
  ...{ load: session.load, look: session.look, begin: session.begin, push: session.push },
  ...{ predict: session.predict, heldOut: session.heldOut, save: session.save, open: session.open },
  async train(choice) {
    const reason = choice.device === "webgpu" ? await whyNoGpu() : undefined;
    if (reason) {
      throw new WeftError("unusable-option", `WebGPU is missing: ${reason}`, {
        option: "device",
        fixes: ["choose the CPU, or open this page in a browser with WebGPU"],
      });
    }
    const controller = training = new AbortController();
    try {
      return await session.train(choice, controller.signal, async (epoch) => {
        send({ epoch, epochs: choice.epochs });
        if (isPaused && !controller.signal.aborted) await new Promise<void>((resolve) => resume = resolve);
        // Let the messages that have arrived be handled.
        await new Promise((resolve) => setTimeout(resolve));
      });
    } finally {
      training = undefined;
    }
  },
  pause(paused) {
    isPaused = paused;
    if (!paused) resume();
  },
  step: () => resume(),
  stop() {
    training?.abort();
    resume();
  },
  whyNoGpu,
};

function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { message: `${error}` };
  return error instanceof WeftError
    ? { code: error.code, message: error.message }
    : { message: error.message };
}

addEventListener("message", async ({ data }: MessageEvent<Request>) => {
  const { id, name, given } = data;
  try {
    send({ id, result: await (handlers[name] as (...given: unknown[]) => unknown)(...given) });
  } catch (error) {
    send({ id, fault: faultOf(error) });
  }
});

// The compiler of the first loops is loaded while the visitor reads.
await init({ device: "cpu" });
