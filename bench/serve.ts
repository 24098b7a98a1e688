/**
 * Measures a server whose clients send one observation per second for each of many series: response times,
 * and the server's CPU time and memory. Server and clients run as separate processes on one machine.
 */
import { execute } from "../src/train/mod.ts";
import { startRun } from "../src/train/run/run.ts";
import { ownSeries } from "../src/series/run/own_series.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { sendMalformed } from "./malformed.ts";

/** Prometheus metric of the server's CPU time. */
const processor = "process_cpu_seconds_total";

const program = benchCommand("serve")
  .option("--streams <number>", "series, each observed once a second", wholeFrom(1), 1000)
  .option("--sockets <number>", "number of connections", wholeFrom(1), 100)
  .option("--seconds <number>", "duration", wholeFrom(1), 20)
  .option("--busy <number>", "processes that use the processor meanwhile", wholeFrom(0), 0)
  .option(
    "--malformed <number>",
    "send this number of malformed requests instead of observations",
    wholeFrom(1),
  )
  .option("--seed <number>", "seed of the malformed requests", wholeFrom(0), 0)
  .option("--hidden <number>", "hidden size of the model", wholeFrom(1), 32);

type Options = {
  streams: number;
  sockets: number;
  seconds: number;
  busy: number;
  hidden: number;
  malformed?: number;
  seed: number;
};

await main(async (args) => {
  program.parse(args, { from: "user" });
  const options = program.opts<Options>();
  const folder = await Deno.makeTempDir();
  let faults = 0;
  try {
    const server = await startServer(await trainOnline(folder, options.hidden));
    try {
      if (options.malformed === undefined) {
        faults = await besideBusy(options.busy, () => load(server, options));
      } else faults = await attack(server, folder, options.malformed, options.seed);
    } finally {
      server.process.kill("SIGTERM");
    }
    console.log(`the server ended with status ${(await server.process.status).code}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return faults > 0 ? 1 : 0;
});

/** Trains the default model of the user's own series on a small table, and returns the run's folder. */
async function trainOnline(folder: string, hidden: number): Promise<string> {
  const rows = Array.from(
    { length: 30 },
    (_, i) =>
      Array.from({ length: 20 }, (_, t) => `s${i},${t},${Math.sin(t * (1 + i % 3))},${t % 5},${i % 3}`),
  ).flat();
  const data = `${folder}/own.csv`;
  await Deno.writeTextFile(data, `series,time,x,y,label\n${rows.join("\n")}\n`);
  const run = await startRun(ownSeries, {
    ...{ experiment: "own-series", model: "delta", online: true, device: "cpu", seed: 0, data, hidden },
    ...{ epochs: 1, batchSize: 16, learningRate: 0.005 },
  }, folder);
  await execute(run);
  return run.folder.path;
}

interface Server {
  readonly process: Deno.ChildProcess;
  readonly url: string;
}

async function startServer(run: string): Promise<Server> {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "-P=serve",
      "--no-check",
      "tasks/serve.ts",
      run,
      "--port",
      "0",
      "--device",
      "cpu",
    ],
    cwd: new URL("..", import.meta.url),
    stdout: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  let text = "";
  for await (const part of process.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    const url = /serving .* on (\S+)/.exec(text)?.[1];
    if (url) return { process, url };
  }
  throw new Error("the server has ended");
}

/** Sends malformed requests, prints the results, and returns the number of faults. */
async function attack(server: Server, folder: string, count: number, seed: number): Promise<number> {
  const rows = (await Deno.readTextFile(`${folder}/own.csv`)).split("\n").slice(0, 100);
  const table = rows.map((row) => row.split(",").slice(0, 4).join(",")).join("\n");
  const memory = async () => (await metricsOf(server))("process_resident_memory_bytes");
  const start = performance.now();
  const { counts, faults, memory: bytes } = await sendMalformed(
    { url: server.url, table, secrets: [folder, "root:", '"digest"'], memory },
    count,
    seed,
  );
  const seconds = (performance.now() - start) / 1000;
  console.log(`${count} requests of seed ${seed} in ${seconds.toFixed(0)} s: ${faults.length} faults`);
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
  for (const [status, count] of Object.entries(counts)) console.log(`  ${count} times ${status}`);
  const mebibytes = bytes.map((size) => (size / 2 ** 20).toFixed(0)).join(", ");
  console.log(`memory after each fifth of the requests: ${mebibytes} MiB`);
  return faults.length;
}

/** Values of the metrics without labels. */
async function metricsOf({ url }: Server): Promise<(name: string) => number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return (name) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

/** Runs a measurement beside processes that use the processor. */
async function besideBusy<T>(count: number, measure: () => Promise<T>): Promise<T> {
  const busy = Array.from(
    { length: count },
    () => new Deno.Command(Deno.execPath(), { args: ["eval", "for (;;);"], stdin: "null" }).spawn(),
  );
  try {
    return await measure();
  } finally {
    for (const process of busy) process.kill("SIGKILL");
    await Promise.all(busy.map(({ status }) => status));
  }
}

/**
 * Sends one observation per second for each series, at different times, and prints response statistics. Returns
 * the number of observations without an answer.
 */
async function load(server: Server, { streams, sockets: count, seconds }: Options): Promise<number> {
  const address = `${server.url.replace("http", "ws")}/stream`;
  const sent = new Map<string, number>();
  const latencies: number[] = [];
  let [errors, answers] = [0, 0];
  const sockets = await Promise.all(Array.from({ length: count }, async () => {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => [socket.onopen, socket.onerror] = [resolve, reject]);
    socket.onmessage = ({ data }) => {
      const { type, answer } = JSON.parse(data);
      if (type === "answer") {
        answers++;
        latencies.push(performance.now() - sent.get(answer.series)!);
      } else if (errors++ === 0) console.log(`an error: ${data}`);
    };
    return socket;
  }));
  const send = (i: number, time: number) => {
    const series = `s${i}`;
    sent.set(series, performance.now());
    sockets[i % count].send(JSON.stringify({ series, time, values: { x: Math.sin(time + i), y: i % 5 } }));
  };
  // Start all series within one second. The kernels are compiled during this time.
  const begin = performance.now();
  let [next, measured] = [0, false];
  const before = { cpu: 0, at: 0 };
  for (;;) {
    const now = (performance.now() - begin) / 1000;
    if (now > seconds + 2) break;
    if (!measured && now > 2) {
      measured = true;
      latencies.length = 0;
      [before.cpu, before.at] = [(await metricsOf(server))(processor), performance.now()];
    }
    for (; next < now * streams; next++) send(next * 7919 % streams, Math.floor(next / streams));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const used = (await metricsOf(server))(processor) - before.cpu;
  const cores = used / (performance.now() - before.at) * 1000;
  for (let wait = 0; wait < 50 && answers < next; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const sorted = Float64Array.from(latencies).sort();
  const quantile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1);
  const metric = await metricsOf(server);
  console.log(
    `${
      metric("weft_streams")
    } streams of one observation a second each, over ${count} connections, ${seconds} s: ` +
      `${sorted.length} answers, ${errors} errors, ${next - answers} without an answer`,
  );
  console.log(
    `from sending to answer: median ${quantile(0.5)} ms, 95 % ${quantile(0.95)} ms, 99 % ${
      quantile(0.99)
    } ms, ` +
      `longest ${quantile(1)} ms`,
  );
  console.log(
    `the server takes ${(100 * cores).toFixed(0)} % of a core, ${
      (1000 * used / sorted.length).toFixed(2)
    } ms for each answer, and ` +
      `${(metric("process_resident_memory_bytes") / 2 ** 20).toFixed(0)} MiB`,
  );
  for (const socket of sockets) socket.close();
  return next - answers;
}
