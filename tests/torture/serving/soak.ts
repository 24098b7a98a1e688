/** A server under all attacks at once, with a well-behaved client beside them. */
import { attacks } from "./attacks.ts";
import { connect, get, post, sleep, smallTable } from "./client.ts";
import { type AttackedServer, startAttacked, trainServed } from "./process.ts";

/** Limits of the server, and of its answers to a well-behaved client. */
const bounds = {
  /** Memory of the process in bytes. */
  memory: 2 ** 30,
  /** Open files of the process. */
  descriptors: 1024,
  /** 99th percentile of /health in milliseconds. */
  health: 200,
  /** Longest time for a prediction in milliseconds. */
  prediction: 1000,
  /** Growth of the memory after the attacks, in bytes. */
  growth: 50 * 2 ** 20,
};

/** Waiting times of a client in milliseconds, in order, and the number of failed requests. */
interface Waits {
  readonly sorted: readonly number[];
  readonly failures: readonly string[];
}

/** Measures of a soak test. */
export interface Soaked {
  readonly seconds: number;
  readonly health: Waits;
  readonly predictions: Waits;
  /** Memory of the process in bytes. */
  readonly before: number;
  readonly after: number;
  readonly most: number;
  readonly isLimited: boolean;
  /** Descriptions of faults. */
  readonly faults: readonly string[];
}

/** Attacks a server for a time. @param names Names of the attacks; all by default. */
export async function soakServer(
  folder: string,
  seconds: number,
  names: readonly string[] = Object.keys(attacks),
): Promise<Soaked> {
  const run = await trainServed(folder);
  await using server = await startAttacked(run, {
    args: ["--memory", `${bounds.memory / 4 / 2 ** 20}`],
    memory: bounds.memory,
    descriptors: bounds.descriptors,
  });
  // The first requests compile kernels and make the pools of connections.
  for (let i = 0; i < 5; i++) {
    await repeat(server, get("/health", "connection: close\r\n"), performance.now() + 200, 50);
    await repeat(server, post(smallTable, "connection: close\r\n"), performance.now() + 200, 50);
  }
  await sleep(1000);
  const before = server.memory().now;
  const end = performance.now() + 1000 * seconds;
  const [health, predictions] = await Promise.all([
    repeat(server, get("/health", "connection: close\r\n"), end, 100),
    repeat(server, post(smallTable, "connection: close\r\n"), end, 500),
    ...names.map((name) => attack(name, server.port, seconds)),
  ]);
  // The server closes idle and stalled connections, and collects garbage.
  if (server.isRunning) await sleep(45_000);
  const { now: after, most } = server.isRunning ? server.memory() : { now: NaN, most: NaN };
  const measured = { seconds, health, predictions, before, after, most, isLimited: server.isLimited };
  return { ...measured, faults: faultsOf(measured, server) };
}

/** Attacks a server from another thread. */
async function attack(name: string, port: number, seconds: number): Promise<void> {
  const worker = new Worker(new URL("./attacker.ts", import.meta.url), { type: "module" });
  const done = new Promise((resolve) => worker.onmessage = resolve);
  worker.postMessage({ name, port, seconds });
  await Promise.race([done, sleep(1000 * seconds + 20_000)]);
  worker.terminate();
}

function faultsOf(
  { health, predictions, before, after, most }: Omit<Soaked, "faults">,
  server: AttackedServer,
): string[] {
  const faults: string[] = [];
  const check = (isRight: boolean, fault: string) => void (isRight || faults.push(fault));
  check(server.isRunning, `the server ended: ${server.log.slice(-500)}`);
  for (const [name, { failures }] of Object.entries({ health, predictions })) {
    check(failures.length === 0, `${failures.length} requests (${name}) failed, the first: ${failures[0]}`);
  }
  check(
    quantile(health, 0.99) <= bounds.health,
    `99 % of /health within ${quantile(health, 0.99).toFixed(0)} ms`,
  );
  check(
    quantile(predictions, 1) <= bounds.prediction,
    `a prediction took ${quantile(predictions, 1).toFixed(0)} ms`,
  );
  check(most <= bounds.memory, `${mebibytes(most)} of memory`);
  check(after - before <= bounds.growth, `memory grew by ${mebibytes(after - before)}`);
  return faults;
}

/** A quantile of waiting times in milliseconds. */
export function quantile({ sorted }: Pick<Waits, "sorted">, share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
}

/** A size in MiB. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

/** Sends a request again and again, on new connections, and measures the time until the answer is complete. */
async function repeat(
  { port }: AttackedServer,
  request: string,
  end: number,
  pause: number,
): Promise<Waits> {
  const times: number[] = [];
  const failures: string[] = [];
  while (performance.now() < end) {
    const start = performance.now();
    using connection = await connect(port);
    await connection?.write(request, 10_000);
    const answer = await connection?.read(10_000) ?? "no connection";
    if (answer.startsWith("HTTP/1.1 200")) times.push(performance.now() - start);
    else failures.push(answer.slice(0, 300));
    await sleep(pause);
  }
  return { sorted: times.sort((a, b) => a - b), failures };
}

/** Prints the measures of a soak test. */
export function describeSoak(
  { seconds, health, predictions, before, after, most, isLimited, faults }: Soaked,
): string {
  const times = (waits: Waits) =>
    `${waits.sorted.length} answers: median ${quantile(waits, 0.5).toFixed(0)} ms, 99 % ${
      quantile(waits, 0.99).toFixed(0)
    } ms, longest ${quantile(waits, 1).toFixed(0)} ms`;
  return [
    `${seconds} s of attacks, ${isLimited ? "in a group with" : "without a group, below"} ${
      mebibytes(bounds.memory)
    }`,
    `/health: ${times(health)}`,
    `predictions: ${times(predictions)}`,
    `memory: ${mebibytes(before)} before, at most ${mebibytes(most)}, ${mebibytes(after)} after`,
    ...faults.map((fault) => `fault: ${fault}`),
  ].join("\n");
}
