/** The worker of the playground: trains and predicts, so that the page stays responsive. */
import { init } from "../src/compile/init.ts";
import { WeftError } from "../src/device/errors.ts";
import { readColumns } from "./columns.ts";
import type { Calls, Choice, Fault, Reply, Request, Result } from "./messages.ts";
import * as session from "./session.ts";

/** Functions of the page's calls. */
type Handlers = {
  [Name in keyof Calls]: (
    ...given: Parameters<Calls[Name]>
  ) => ReturnType<Calls[Name]> | Promise<ReturnType<Calls[Name]>>;
};

/** Milliseconds between two drawings of a training. */
const drawingInterval = 150;

/** Maximum share of a training at full speed that is spent looking inside the model. */
const lookShare = 0.2;

let [isPaused, isWatched, training]: [boolean, boolean, AbortController | undefined] = [
  false,
  true,
  undefined,
];
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
function ofRun<T>(call: () => Promise<T>): Promise<T | undefined> {
  const run = session.currentRun();
  return session.alone(call).catch((error) => {
    if (session.currentRun() === run) throw error;
    return undefined;
  });
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
  /** Time of the last look, and its duration. */
  let [drawn, took] = [-Infinity, 0];
  return await session.train(choice, signal, async (epoch) => {
    const start = performance.now();
    const isDue = isWatched || isPaused || start - drawn >= Math.max(drawingInterval, took / lookShare);
    send({ epoch, look: isDue ? await session.alone(session.lookAgain) : undefined });
    if (isDue) took = performance.now() - start;
    const rest = isWatched && !choice.stopAfter ? drawn + drawingInterval - performance.now() : 0;
    // Even without a rest, this lets the messages that have arrived be handled.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)));
    if (isDue) drawn = performance.now();
    if (isPaused && !signal.aborted) await new Promise<void>((resolve) => resume = resolve);
  });
}

const handlers: Handlers = {
  testSeries: session.testSeries,
  save: () => session.alone(session.save),
  predict: (table) => session.alone(() => session.predict(table)),
  columns: readColumns,
  look: (shown, moment) => ofRun(() => session.look(shown, moment)),
  next: (moment) => ofRun(() => session.next(moment)),
  async load(source, options) {
    await stopTraining();
    return await session.alone(() => session.load(source, options));
  },
  async open(files, device) {
    await stopTraining();
    return await session.alone(() => session.open(files, device));
  },
  async train(choice) {
    await stopTraining();
    const controller = training = new AbortController();
    const result = train(choice, controller.signal);
    ended = result.catch(() => {});
    return await result;
  },
  pause(paused) {
    isPaused = paused;
    if (!paused) resume();
  },
  watch(watched) {
    isWatched = watched;
  },
  step: () => resume(),
  stop: stopTraining,
  whyNoGpu,
};

/** Options in messages, as the page names them. Ways to correct an error by another option are left out. */
const optionTexts: Readonly<Record<string, string>> = {
  ...{ series: "the choice Series", time: "the choice Time", target: "the choice Label" },
  ...{
    layout: "the choice A row is",
    ignore: "the choice Channels",
    model: "the model",
    device: "the device",
  },
  ...{
    method: "the solver",
    epochs: "the number of epochs",
    data: "the data",
    horizon: "the forecast steps",
  },
};

function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { message: `${error}` };
  if (!(error instanceof WeftError)) return { message: error.message };
  const { code, option } = error;
  const { message } = error.writtenWith((name) => optionTexts[name]);
  return { code, message, option };
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
