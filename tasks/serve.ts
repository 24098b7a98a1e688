/** `deno task serve`. */
import { main } from "../src/commands/command.ts";
import { serve } from "../src/commands/serve.ts";
import { experiments } from "./experiments.ts";

if (import.meta.main) await main((args) => serve(args, experiments));
