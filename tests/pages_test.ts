/** Runs every program and every command of README.md and docs/, except blocks that a marker skips. */
import assert from "node:assert/strict";
import { testLong } from "./devices.ts";
import { withOutsideFolder } from "./outside_program.ts";
import {
  type Block,
  blocksOf,
  commandsOf,
  documentationPages,
  isSkipped,
  readMarker,
} from "./pages/blocks.ts";
import { makeClone, runCommands } from "./pages/session.ts";

const root = new URL("..", import.meta.url);

const pages = ["README.md", ...await documentationPages()];
const blocks: Block[] = [];
for (const page of pages.sort()) {
  blocks.push(...blocksOf(page, await Deno.readTextFile(new URL(page, root))));
}

const programs = blocks.filter((block) => block.language === "ts" && !isSkipped(block));
const fileOf = ({ page, line }: Block) => `${page.replaceAll(/\W/g, "_")}_${line}.ts`;

/** Texts of all programs, by file. */
const files = Object.fromEntries(programs.map((block) => [fileOf(block), block.code]));

/** Runs Deno in a folder. */
async function deno(folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test("the pages contain programs and commands", () => {
  assert.ok(programs.length >= 10, `${programs.length} programs`);
  assert.ok(blocks.filter(({ language }) => language === "sh").length >= 20);
});

// Checks the types of the whole package again, with the import map of the programs.
testLong("the programs on pages have correct types", () =>
  withOutsideFolder(files, async (folder) => {
    await deno(folder, "check", "--quiet", ...programs.map(fileOf));
  }));

/** Runs programs in one process without permissions. Returns the output of each, or its error. */
async function outputsOf(run: readonly Block[]): Promise<Map<Block, string>> {
  const end = "=== end of a program";
  const main = run.map((block) =>
    `await import("./${
      fileOf(block)
    }").catch((error) => console.log("Uncaught", error));\nconsole.log("${end}");\n`
  );
  const outputs = new Map<Block, string>();
  await withOutsideFolder({ ...files, "main.ts": main.join("") }, async (folder) => {
    const output = await deno(folder, "run", "--no-check", "--no-prompt", "main.ts");
    run.forEach((block, i) => outputs.set(block, output.split(`${end}\n`)[i]));
  });
  return outputs;
}

for (const [long, test] of [[false, Deno.test], [true, testLong]] as const) {
  const all = programs.filter((block) => block.long === long);
  let running: ReturnType<typeof outputsOf> | undefined;
  for (const page of pages) {
    const pagePrograms = all.filter((block) => block.page === page);
    if (pagePrograms.length === 0) continue;
    test(
      `the programs of ${page} in lines ${
        pagePrograms.map(({ line }) => line).join(", ")
      } run without permissions and print the output on the page`,
      async () => {
        const outputs = await (running ??= outputsOf(all));
        for (const block of pagePrograms) {
          const output = outputs.get(block)!;
          assert.doesNotMatch(output, /^Uncaught /m, `${page}, line ${block.line}`);
          if (block.output !== undefined) assert.equal(output, block.output, `${page}, line ${block.line}`);
        }
      },
    );
  }
}

/** A table of forty series, for pages that use a table of the reader. */
function table(header: string, row: (series: number, t: number) => string): string {
  const rows = Array.from({ length: 40 * 12 }, (_, i) => row(i % 40, Math.floor(i / 40)));
  return `${[header, ...rows].join("\n")}\n`;
}

const patient = (i: number, t: number) => `patient ${i},${t},${(Math.sin(t) * (1 + i % 2)).toFixed(3)}`;

/** A monthly table of several years, with growth and a season. */
function monthlyTable(from: number, years: number): string {
  const rows = Array.from({ length: 12 * years }, (_, i) => {
    const value = 100 + 2 * (12 * (from - 1949) + i) + 20 * Math.sin(Math.PI * i / 6) + i % 5;
    return `${from + Math.floor(i / 12)}-${`${i % 12 + 1}`.padStart(2, "0")},${value.toFixed(2)}`;
  });
  return `Date,Passengers\n${rows.join("\n")}\n`;
}

/** Files of the reader that the commands of a page read. */
const given: Record<string, Record<string, string>> = {
  "docs/guides/predictions.md": {
    "patients.csv": table(
      "series,time,heart rate,age,label",
      (i, t) => `${patient(i, t)},${30 + 20 * (i % 2) + i % 7},${["well", "ill"][i % 2]}`,
    ),
  },
  "docs/guides/choosing.md": {
    "1949-1959.csv": monthlyTable(1949, 11),
    "1960.csv": monthlyTable(1960, 1),
  },
  "docs/guides/cpu_speed.md": {
    "example.ts":
      'import { key, normal } from "@weft/weft";\nconsole.log(await normal(key(0), [2]).sum().item());\n',
  },
};

/** Checks of the outputs of a page's commands. */
const checks: Record<string, (outputs: Map<string, string>) => void> = {
  "docs/start/own_data.md": (outputs) => {
    const all = [...outputs];
    const evaluated = all.find(([command]) => command.includes("evaluate"))![1];
    assert.ok(Number(/test accuracy (\S+) %/.exec(evaluated)?.[1]) > 90, evaluated);
    const { answers } = JSON.parse(all.at(-1)![1]);
    assert.deepEqual(answers.map(({ series, label }: Record<string, unknown>) => [series, label]), [
      ["machine 0", "well"],
      ["machine 1", "worn"],
      ["machine 2", "loose"],
    ]);
  },
};

/** The clone of all pages. */
const clone = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(clone, { recursive: true }));

for (const page of pages) {
  const pageBlocks = blocks.filter((block) => block.page === page && block.language === "sh");
  const commands = pageBlocks.flatMap(commandsOf);
  if (commands.length === 0) continue;
  const test = pageBlocks.some(({ long }) => long) ? testLong : Deno.test;
  test(
    `the commands of ${page} run in sequence in a new clone`,
    async () => {
      await makeClone(clone);
      for (const [file, text] of Object.entries(given[page] ?? {})) {
        await Deno.writeTextFile(`${clone}/${file}`, text);
      }
      const outputs = await runCommands(clone, commands);
      checks[page]?.(outputs);
    },
  );
}

Deno.test("a marker that skips commands needs a reason", () => {
  const text =
    "<!-- test: long; add --epochs 1; skip curl (no server) -->\n\n```sh\ncurl x\ndeno task train a # b\n```\n";
  const [block] = blocksOf("page", text);
  assert.equal(block.line, 3);
  assert.equal(block.long, true);
  assert.deepEqual(commandsOf(block), ["deno task train a --epochs 1"]);
  assert.ok(isSkipped(readMarker("skip (needs a GPU)")));
  for (const wrong of ["skip", "skip curl", "later"]) assert.throws(() => readMarker(wrong), /unknown part/);
});
