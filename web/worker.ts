/** The worker of the playground: trains and predicts, so that the page stays responsive. */
import { init } from "../src/compile/init.ts";
import { WeftError } from "../src/device/errors.ts";
import type { Calls, Choice, Fault, Reply, Request, Result } from "./messages.ts";
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
/** Settles when the training has ended. */
let ended: Promise<unknown> = Promise.resolve();

async function stopTraining(): Promise<void> {
  training?.abort();
  resume();
  await ended;
}

/** The result of a call about the current run. Undefined if the call fails because another run took its place. */
async function ofRun<T>(call: () => Promise<T>): Promise<T | undefined> {
  const run = session.currentRun();
  try {
    return await call();
  } catch (error) {
    if (session.currentRun() === run) throw error;
    return undefined;
  }
}

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

async function train(choice: Choice, signal: AbortSignal): Promise<Result> {
  const reason = choice.device === "webgpu" ? await whyNoGpu() : undefined;
  if (reason) {
    throw new WeftError("unusable-option", `WebGPU is missing: ${reason}`, {
      option: "device",
      fixes: ["choose the CPU, or open this page in a browser with WebGPU"],
    });
  }
  return await session.train(choice, signal, async (epoch) => {
    send({ epoch, epochs: choice.epochs });
    if (isPaused && !signal.aborted) await new Promise<void>((resolve) => resume = resolve);
    // Let the messages that have arrived be handled.
    await new Promise((resolve) => setTimeout(resolve));
  });
}

const handlers: Handlers = {
  ...{ begin: session.begin, predict: session.predict, heldOut: session.heldOut, save: session.save },
  look: (series) => ofRun(() => session.look(series)),
  push: (time, values) => ofRun(() => session.push(time, values)),
  async load(source) {
    await stopTraining();
    return await session.load(source);
  },
  async open(files, device) {
    await stopTraining();
    return await session.open(files, device);
  },
  async train(choice) {
    const controller = training = new AbortController();
    const result = train(choice, controller.signal);
    ended = result.catch(() => {});
    return await result;
  },
  pause(paused) {
    isPaused = paused;
    if (!paused) resume();
  },
  step: () => resume(),
  stop: stopTraining,
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
