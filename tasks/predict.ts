/** `deno task predict`. */
import { main } from "../src/commands/command.ts";
import { predict } from "../src/commands/predict.ts";
import { experiments } from "./experiments.ts";

if (import.meta.main) await main((args) => predict(args, experiments));
