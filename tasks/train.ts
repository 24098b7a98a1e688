/** `deno task train`. */
import { main, showsView } from "../src/commands/command.ts";
import { narrowPermissions } from "../src/commands/permissions.ts";
import { train } from "../src/commands/train.ts";
import { experiments } from "./experiments.ts";

if (import.meta.main) {
  // With --allow-all nothing is revoked: Deno then denies access to devices such as /dev/stdin.
  const { state } = await Deno.permissions.query({ name: "net" });
  if (!showsView(Deno.args) && state !== "granted") await Deno.permissions.revoke({ name: "net" });
  narrowPermissions();
  await main((args) => train(args, experiments));
}
