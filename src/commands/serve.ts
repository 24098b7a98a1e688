import { OptionError } from "../device/errors.ts";
import { Option } from "commander";
import {
  connectionsWithin,
  defaultLimits,
  isLoopback,
  limitsOf,
  loopbackNames,
  openStreamStore,
  type RunningServer,
  serviceOf,
  startPredictionThreads,
  startServer,
} from "../serve/mod.ts";
import type { DataRecord } from "../series/record/data_record.ts";
import type { TrainedModel } from "../series/models/trained_model.ts";
import type { RunConfig } from "../train/run/config.ts";
import type { RunFolder } from "../train/run/run_folder.ts";
import { openBest } from "../train/run/trained_run.ts";
import { platform } from "../platform/current.ts";
import { command, deviceOption, number, path, prepareDrivers, stopSignals } from "./command.ts";
import { keepPaths } from "./permissions.ts";
import { type ExperimentSource, modelFileOption, runOf } from "./run_of.ts";
import { print, printError } from "./print.ts";

type Options = {
  device: RunConfig["device"];
  model?: string;
  host: string;
  port: number;
  origin: string[];
  memory?: number;
  grace: number;
  state?: string;
};

/**
 * `deno task serve`: serves predictions of a run's best weights.
 *
 * @param experiments Known experiments.
 * @param worker Module that calls `computePredictions` with these experiments. Without it, predictions are
 * computed in the thread that answers requests, and large tables delay other requests.
 */
export async function serve(
  args: string[],
  experiments: ExperimentSource,
  worker?: URL,
): Promise<number> {
  const program = command(
    "serve",
    "Serve predictions of a run's best weights until Ctrl-C: for whole series in tables and JSON, and for observations of many " +
      "series as they arrive. docs/guides/serving.md describes the requests.",
  )
    .argument("<run>", "folder of a run, or of several runs (uses the newest)", path)
    .option("--host <address>", "address to listen on; by default only this machine can connect", "127.0.0.1")
    .option(
      "--port <number>",
      "port to listen on; 0 selects a free port",
      number({ from: 0, below: 65536, whole: true }),
      8000,
    )
    .addOption(
      new Option(
        "--origin <url...>",
        "origins of web pages that may send requests, for example the address behind a proxy",
      )
        .default([], "none"),
    )
    .option(
      "--memory <MiB>",
      "memory for everything that clients cause: bodies, answers, connections, streams (default: a quarter of the " +
        "machine's memory, at most 1024)",
      number({ from: 16 }),
    )
    .option("--grace <seconds>", "time for running requests after Ctrl-C or SIGTERM", number({ from: 0 }), 10)
    .option("--state <folder>", "folder that keeps the states of streams over restarts", path)
    .addOption(deviceOption())
    .addOption(modelFileOption())
    .parse(args, { from: "user" });
  prepareDrivers();
  const { device, model, host, port, origin, memory, grace, state } = program.opts<Options>();
  const { folder, config: recorded, experiment } = await runOf(program.processedArgs[0], experiments, model);
  const origins = origin.map(originOf);
  const config = { ...recorded, device };
  const limits = limitsOf({ memory: memory === undefined ? defaultMemory() : memory * 2 ** 20 });
  const connections = connectionsWithin(limits.connections, folder.config);
  const failed = Promise.withResolvers<never>();
  const threads = worker &&
    await startPredictionThreads(worker, { config, folder: folder.path, limits }, failed.reject);
  await keepPaths({ read: [folder.path, state], write: [state] });
  const run = await openBest<TrainedModel, DataRecord>(experiment, config, folder);
  const store = state === undefined ? undefined : await openStreamStore(state, await identityOf(folder));
  const hosts = isLoopback(host)
    ? [...loopbackNames, host, ...origins.map((address) => new URL(address).hostname)]
    : undefined;
  // Half of the connections can be WebSockets.
  const sockets = Math.min(limits.sockets, Math.ceil(connections / 2));
  const service = serviceOf(run, {
    access: { hosts, origins },
    limits: { ...limits, connections, sockets },
    threads,
    store,
  });
  const continued = await store?.start(service.streams, service.onFailure);
  const server = await startServer(service, { host, port });
  await revokePermissions();
  print(`serving ${folder.path} on ${server.url}`);
  if (!hosts) {
    print(
      `anyone who can connect to ${host} can send requests and see the latest predictions: there is no password; ` +
        "docs/guides/serving.md describes how to add a proxy",
    );
  }
  if (continued) print(`${continued} streams continue from ${state}`);
  try {
    const isComplete = await Promise.race([untilStopped(server, grace), server.failed, failed.promise]);
    if (!isComplete) printError(`requests were running after ${grace} s: their connections were closed`);
    return 0;
  } finally {
    await threads?.terminate();
    await store?.close();
  }
}

/** Waits for a signal, then ends the server. Another signal ends the process. */
async function untilStopped(server: RunningServer, grace: number): Promise<boolean> {
  await new Promise<void>((resolve) => {
    for (const signal of stopSignals) Deno.addSignalListener(signal, () => resolve());
  });
  for (const [i, signal] of stopSignals.entries()) {
    Deno.addSignalListener(signal, () => Deno.exit([130, 143][i]));
  }
  return await server.shutdown(grace);
}

/** A quarter of the memory of the machine, at most that of the default limits. */
function defaultMemory(): number {
  return Math.min(defaultLimits.memory, Math.floor(platform.machineMemory() / 4));
}

/** Identity of a run's model: a digest of its weights and of its record. */
async function identityOf({ best, data }: RunFolder): Promise<string> {
  const files = await Promise.all([best, data].map((file) => Deno.readFile(file)));
  const digests = await Promise.all(files.map((bytes) => crypto.subtle.digest("SHA-256", bytes)));
  return digests.map((digest) => new Uint8Array(digest).toHex()).join("-");
}

/**
 * Revokes permissions once the model is loaded and the port is open, so that no request can reach files or
 * other machines.
 */
async function revokePermissions(): Promise<void> {
  for (const name of ["read", "write", "net", "run", "env", "sys", "ffi"] as const) {
    await Deno.permissions.revoke({ name });
  }
}

function originOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.origin;
  const expected = "an address such as https://weft.example.org";
  throw new OptionError("invalid-option", (write) => `${write("origin")} ${text}: expected ${expected}`, {
    option: "origin",
    expected,
  });
}
