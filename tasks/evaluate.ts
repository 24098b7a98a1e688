/** `deno task evaluate`. */
import { main } from "../src/commands/command.ts";
import { evaluate } from "../src/commands/evaluate.ts";
import { experiments } from "./experiments.ts";

if (import.meta.main) await main((args) => evaluate(args, experiments));
