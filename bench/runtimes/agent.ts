/**
 * Runs in Deno, in Node and in a page of Chromium. It does what `bench/runtimes.ts` asks for: it sends each result as the body of a
 * request, and the response is the next command.
 */
import { type Device, init, tidy } from "../../mod.ts";
import { prepare } from "../workloads.ts";

/** Time some steps of a workload, or a program. `null` ends the agent. */
export type Command =
  | { readonly workload: string; readonly memory?: number; readonly seconds: number }
  | { readonly program: string }
  | null;

/** Answer to a command. */
export interface Times {
  /** Seconds of each step, or of the program. */
  readonly seconds: readonly number[];
  /** Description of the device: its processor, threads and vectors. */
  readonly device?: readonly string[];
}

const { document, location, process } = globalThis as unknown as {
  document?: unknown;
  location: { readonly href: string };
  process: { readonly argv: readonly string[] };
};

/** Time of the steps before the first measured step of a workload. */
const warmUpSeconds = 0.5;

let device: Device | undefined;
let current: { readonly workload: string; readonly step: () => unknown } | undefined;

function secondsOf(run: () => unknown): number {
  const start = performance.now();
  tidy(() => void run());
  return (performance.now() - start) / 1000;
}

async function answer(command: NonNullable<Command>): Promise<Times> {
  if ("program" in command) {
    const start = performance.now();
    await import(command.program);
    return { seconds: [(performance.now() - start) / 1000] };
  }
  const { workload, memory, seconds } = command;
  device ??= await init({ device: "cpu", ...memory !== undefined && { memory } });
  if (current?.workload !== workload) {
    current = { workload, step: prepare(workload).step };
    for (let spent = 0; spent < warmUpSeconds;) spent += secondsOf(current.step);
  }
  const { description, notes = [] } = device.info;
  const times: number[] = [];
  for (let spent = 0; spent < seconds; spent += times.at(-1)!) times.push(secondsOf(current.step));
  return { seconds: times, device: [description, ...notes] };
}

const address = document ? location.href : process.argv[2];
let body: string | undefined;
for (;;) {
  const response = await fetch(address, { method: "POST", body });
  const command: Command = await response.json();
  if (!command) break;
  body = JSON.stringify(await answer(command).catch((error) => ({ error: `${error.stack ?? error}` })));
}
