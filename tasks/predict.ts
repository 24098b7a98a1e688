/** `deno task predict`. */
import { main } from "../src/commands/command.ts";
import { narrowPermissions } from "../src/commands/permissions.ts";
import { predict } from "../src/commands/predict.ts";
import { experimentsOfRun } from "./run_experiments.ts";

if (import.meta.main) {
  narrowPermissions();
  await main((args) => predict(args, experimentsOfRun));
}
