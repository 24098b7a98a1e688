/** `deno task view`. */
import { main } from "../src/commands/command.ts";
import { narrowPermissions } from "../src/commands/permissions.ts";
import { view } from "../src/commands/view.ts";

if (import.meta.main) {
  narrowPermissions();
  await main(view);
}
