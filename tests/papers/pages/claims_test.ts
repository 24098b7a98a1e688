import assert from "node:assert/strict";
import { claimPages, claimsOf } from "../../../tasks/papers/pages/claims.ts";
import { readRecorded, withRecordedTables } from "../../../tasks/papers/pages/recorded_tables.ts";

const read = (page: string) => Deno.readTextFile(new URL(`../../../${page}`, import.meta.url));

/** Sentences with numbers of a page that are not recorded, and recorded ones that the page does not have. */
async function unrecorded(page: string, text: string): Promise<string[]> {
  const { rows } = await readRecorded("claims");
  const known = rows.filter(([path]) => path === page).map(([, claim]) => claim);
  const found = claimsOf(text);
  return [
    ...found.filter((claim) => !known.includes(claim)),
    ...known.filter((claim) => !found.includes(claim)),
  ];
}

for (const page of claimPages) {
  Deno.test(`each sentence of ${page} with a number has its origin in docs/tables/claims.csv`, async () => {
    assert.deepEqual(await unrecorded(page, await read(page)), []);
  });

  Deno.test(`a wrong digit in ${page} fails, in a sentence and in a table`, async () => {
    const text = await read(page);
    const recorded = claimsOf(text).at(-1)!;
    const number = /\d+/.exec(recorded)![0];
    const start = text.replaceAll(/\s+/g, " ").indexOf(recorded);
    assert(start >= 0);
    const planted = claimsOf(text).map((claim) =>
      claim === recorded ? claim.replace(number, `${number}7`) : claim
    );
    assert.deepEqual(
      (await unrecorded(page, planted.join("\n\n"))).sort(),
      [recorded, recorded.replace(number, `${number}7`)].sort(),
    );
    const table = /<!-- table: [^]*?\| +(\d+\.\d+)[^]*?<!-- end of table -->/.exec(text)!;
    const wrong = text.replace(table[0], table[0].replace(table[1], `${table[1]}7`));
    assert.notEqual(wrong, text);
    assert.notEqual(await withRecordedTables(wrong), wrong);
  });
}

Deno.test("each recorded row has a command, and a commit unless its origin is a source, a setting, a derivation or a recorded table", async () => {
  for await (const { name } of Deno.readDir(new URL("../../../docs/tables/", import.meta.url))) {
    if (!name.endsWith(".csv")) continue;
    const { head, rows } = await readRecorded(name.replace(/\.csv$/, ""));
    const [command, commit] = ["command", "commit"].map((column) => head.indexOf(column));
    assert(command >= 0 && commit >= 0, name);
    for (const row of rows) {
      assert(row[command] !== "", `${name}: ${row}`);
      const isRun = !/^(settings|source|derivation|docs\/tables)/.test(row[command]);
      assert.match(row[commit], isRun ? /^[0-9a-f]{8,40}$/ : /^$/, `${name}: ${row}`);
    }
  }
});

Deno.test("sentences are split at full stops, colons and items; code, comments and tables are left out", () => {
  const text =
    "A 1 b.\nC has 2.5 of `d`:\n\n1. E is 6.\n2. No number.\n\n```sh\n3\n```\n\n    y = 2\n\n<!-- 4 -->\n\n| a | 5 |\n";
  assert.deepEqual(claimsOf(text), ["A 1 b.", "C has 2.5 of `d`:", "E is 6.", "| a | 5 |"]);
});

Deno.test("digits of code, names, references and years are not numbers of a claim", () => {
  assert.deepEqual(claimsOf("Table 1 of Nzoyem (2025), appendix D.2, has x_0 on ETTh1, as `--seed 0`."), []);
});
