import { OptionError } from "../device/errors.ts";
import { Option } from "commander";
import { isLoopback, loopbackNames, serviceOf, startServer } from "../serve/mod.ts";
import type { DataRecord } from "../series/data_record.ts";
import type { TrainedModel } from "../series/trained_model.ts";
import type { RunConfig } from "../train/config.ts";
import { openBest } from "../train/trained_run.ts";
import { command, deviceOption, number, path, prepareDrivers, stopSignals } from "./command.ts";
import { keepPaths } from "./permissions.ts";
import { type KnownExperiments, runOf } from "./run_of.ts";
import { print } from "./print.ts";

type Options = { device: RunConfig["device"]; host: string; port: number; origin: string[] };

/** `deno task serve`: serves predictions of a run's best weights. @param experiments Known experiments. */
export async function serve(args: string[], experiments: KnownExperiments): Promise<number> {
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
    .addOption(deviceOption())
    .parse(args, { from: "user" });
  prepareDrivers();
  const { folder, config: recorded, experiment } = await runOf(program.processedArgs[0], experiments);
  await keepPaths({ read: [folder.path] });
  const { device, host, port, origin } = program.opts<Options>();
  const origins = origin.map(originOf);
  const config = { ...recorded, device };
  const run = await openBest<TrainedModel, DataRecord>(experiment, config, folder);
  const hosts = isLoopback(host)
    ? [...loopbackNames, host, ...origins.map((address) => new URL(address).hostname)]
    : undefined;
  const server = await startServer(serviceOf(run, { access: { hosts, origins } }), { host, port });
  await revokePermissions();
  print(`serving ${folder.path} on ${server.url}`);
  if (!hosts) {
    print(
      `anyone who can connect to ${host} can send requests and see the latest predictions: there is no password; ` +
        "docs/guides/serving.md describes how to add a proxy",
    );
  }
  await new Promise<void>((resolve) => {
    for (const signal of stopSignals) Deno.addSignalListener(signal, resolve);
  });
  await server.shutdown();
  return 0;
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
