/** `deno task view`. */
import { main } from "../src/commands/command.ts";
import { view } from "../src/commands/view.ts";

if (import.meta.main) await main(view);
