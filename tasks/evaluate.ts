/** `deno task evaluate`. */
import { main } from "../src/commands/command.ts";
import { narrowPermissions } from "../src/commands/permissions.ts";
import { evaluate } from "../src/commands/evaluate.ts";
import { experimentsOfRun } from "./run_experiments.ts";

if (import.meta.main) {
  narrowPermissions();
  await main((args) => evaluate(args, experimentsOfRun));
}
