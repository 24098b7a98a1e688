/** An option is described in one place. */
import assert from "node:assert/strict";
import exports from "../../deno.json" with { type: "json" };
import { experiments } from "../../tasks/experiments.ts";
import { sources } from "../import_graph.ts";
import { readExports } from "./option_parameters.ts";

const texts = [...(await sources(["src"])).values()];

/** Parts of the lists of options, in their notation, by the type of the options. */
const lists = new Map<string, string>();
for (const text of texts) {
  for (const [, type, parts] of text.matchAll(/\bnamesOf<([^;]*?)>\(\)\(([^;]*)\);/g)) lists.set(type, parts);
}

/** Names in the texts of a list, without those of the lists that it includes. */
function ownNames(type: string): string[] {
  const own = [...lists.get(type)!.matchAll(/"([^"]*)"/g)].flatMap(([, text]) => text.split(" "));
  return own.map((name) => name.replace("?", ""));
}

/** Groups of keys with the same value, if a group has several keys. */
function repeated<Key>(entries: Iterable<readonly [key: Key, value: string]>): Key[][] {
  const groups = Map.groupBy(entries, ([, value]) => value);
  return [...groups.values()].filter(({ length }) => length > 1).map((group) => group.map(([key]) => key));
}

interface Documented {
  readonly name: string;
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly unknown[] };
}

Deno.test("no two interfaces of options describe an option in the same words", async () => {
  const listed = new Set([...lists.keys()].flatMap((type) => type.match(/\w+/g) ?? []));
  const described = new Map<string, string>();
  for (const [type, declarations] of await readExports(Object.values(exports.exports))) {
    if (!listed.has(type) && !/(Options|Sizes)$/.test(type)) continue;
    for (const { kind, def } of declarations) {
      if (kind !== "interface") continue;
      for (const { name, jsDoc } of (def?.properties ?? []) as readonly Documented[]) {
        described.set(`${type}.${name}`, JSON.stringify([name, jsDoc?.doc, jsDoc?.tags]));
      }
    }
  }
  assert.ok(described.size > 300, `${described.size} options`);
  assert.deepEqual(repeated(described), []);
});

Deno.test("the list of options of an interface includes the lists of the interfaces that it extends", () => {
  assert.ok(lists.size > 100, `${lists.size} lists`);
  const repeats: string[] = [];
  for (const text of texts) {
    for (
      const [, type, parents, body] of text.matchAll(/^export interface (\w+)\s+extends ([^{]*)\{(.*?)^\}/gms)
    ) {
      if (!lists.has(type)) continue;
      const redeclared = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name);
      for (const parent of parents.replaceAll(/\w+<[^>]*>/g, "").match(/\w+/g) ?? []) {
        if (!lists.has(parent)) continue;
        const names = ownNames(type).filter((name) => ownNames(parent).includes(name));
        repeats.push(...names.filter((name) => !redeclared.includes(name)).map((name) => `${type}.${name}`));
      }
    }
  }
  assert.deepEqual(repeats, []);
});

Deno.test("options of experiments with the same help are the same value", () => {
  // Copies with other defaults share the function `accepts` of the option.
  const options = new Map(
    experiments.flatMap(({ name: experiment, options }) =>
      Object.entries(options).map(([name, { accepts, help }]) =>
        [accepts, [`${experiment}.${name}`, help]] as const
      )
    ),
  );
  assert.ok(options.size > 60, `${options.size} options`);
  assert.deepEqual(repeated(options.values()), []);
});
