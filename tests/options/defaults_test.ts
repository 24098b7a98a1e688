/** The reference shows which options may be left out, and their defaults. */
import assert from "node:assert/strict";
import exports from "../../deno.json" with { type: "json" };
import { readExports } from "./option_parameters.ts";

interface Documented {
  readonly name: string;
  readonly optional?: boolean;
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly { kind: string; value?: string }[] };
}

const modules = [".", "./paths", "./solvers", "./nn", "./optim", "./models"] as const;

/** Optional members of exported interfaces by name, with the default that their tag states. */
const options = new Map<string, { text: string; value?: string }>();
for (const [name, declarations] of await readExports(modules.map((path) => exports.exports[path]))) {
  for (const { kind, def } of declarations) {
    if (kind !== "interface") continue;
    for (const { name: member, optional, jsDoc } of (def?.properties ?? []) as readonly Documented[]) {
      if (!optional) continue;
      const value = jsDoc?.tags?.find((tag) => tag.kind === "default")?.value;
      options.set(`${name}.${member}`, { text: jsDoc?.doc ?? "", value });
    }
  }
}

Deno.test("the reference has the defaults of options as tags", () => {
  assert.equal(options.get("MLPOptions.activation")?.value, '"relu"');
  assert.equal(options.get("AdamOptions.eps")?.value, "1e-8");
  assert.equal(options.get("ReduceOptions.keepDims")?.value, "false");
});

Deno.test("every default of an option that is a plain value has a tag", () => {
  assert.ok(options.size > 100, `${options.size} options`);
  const plain = /(^|[.,;)] )(`("[\w-]+"|true|false)`|[\d.]+(e-?\d+)?) by default\.?$/;
  const untagged = [...options].filter(([, { text, value }]) =>
    value === undefined && plain.test(text.trim())
  );
  assert.deepEqual(untagged.map(([name]) => name), []);
});
