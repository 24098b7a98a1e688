/** `deno task train`. */
import { main } from "../src/commands/command.ts";
import { train } from "../src/commands/train.ts";
import { experiments } from "./experiments.ts";

if (import.meta.main) await main((args) => train(args, experiments));
