/** Prints the permissions that remain after dropping all except the permissions to read. */
import { keepOnly } from "../../tasks/weft.ts";

await keepOnly(["read"]);
const states = await Promise.all(
  (["read", "write", "net", "run"] as const).map(async (name) =>
    `${name} ${
      (await Deno.permissions.query(name === "read" || name === "write" ? { name, path: "/" } : { name }))
        .state
    }`
  ),
);
console.log(states.join(", "));
