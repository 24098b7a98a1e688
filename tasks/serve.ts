/** `deno task serve`. */
import { main } from "../src/commands/command.ts";
import { narrowPermissions } from "../src/commands/permissions.ts";
import { serve } from "../src/commands/serve.ts";
import { experimentsOfRun } from "./run_experiments.ts";

const worker = new URL("./serve_worker.ts", import.meta.url);

if (import.meta.main) {
  narrowPermissions();
  await main((args) => serve(args, experimentsOfRun, worker));
}
