/** Help of `train`, compared with the schemas of the experiments. */
import assert from "node:assert/strict";
import { outcome } from "../../src/commands/command.ts";
import { train } from "../../src/commands/train.ts";
import { optionsOf } from "../../src/train/experiment.ts";
import { flag } from "../../src/train/option.ts";
import { experiments } from "../runs.ts";

/** The output of a help command. */
async function helpOf(...args: string[]): Promise<string> {
  const { log } = console;
  const lines: unknown[] = [];
  console.log = (...values) => void lines.push(...values);
  try {
    assert.equal(await outcome((args) => train(args, experiments), [...args, "--help"]), 0);
  } finally {
    console.log = log;
  }
  return lines.join("\n");
}

/** The options in a help text: each flag with its description in one line. */
function listed(help: string): Map<string, string> {
  const entries = [...help.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)([^]*?)(?=^ {2}-|^\S|^$|$(?![^]))/gm)];
  return new Map(entries.map(([, name, text]) => [name, text.replaceAll(/\s+/g, " ").trim()]));
}

Deno.test("help without an experiment fits a screen of 50 lines of 80 columns, and lists every experiment", async () => {
  const lines = (await helpOf()).split("\n");
  assert.ok(lines.length <= 50, `${lines.length} lines`);
  assert.deepEqual(lines.filter((line) => line.length > 80), []);
  const names = lines.map((line) => /^ {2}([a-z0-9-]+) {2}/.exec(line)?.[1]);
  assert.deepEqual(experiments.filter(({ name }) => !names.includes(name)), []);
});

for (const experiment of experiments) {
  Deno.test(`help of ${experiment.name} lists only its own options, with range and default`, async () => {
    const found = listed(await helpOf(experiment.name));
    const schema = optionsOf(experiment);
    const common = ["--out", "--run", "--resume", "--tensorboard", "--view", "--profile", "--help"];
    assert.deepEqual([...found.keys()].sort(), [...Object.keys(schema).map(flag), ...common].sort());
    for (const [name, { range, implied, default: value }] of Object.entries(schema)) {
      const text = found.get(flag(name))!;
      if (range !== undefined) assert.ok(text.includes(range), `${name}: ${text}`);
      const shown = value ?? implied;
      assert.equal(text.includes("default: "), shown !== undefined, `${name}: ${text}`);
      if (shown !== undefined) assert.ok(text.endsWith(`default: ${shown})`), `${name}: ${text}`);
    }
  });

  Deno.test(`the defaults of ${experiment.name} are in their ranges`, () => {
    for (const [name, option] of Object.entries(optionsOf(experiment))) {
      if (option.default !== undefined) {
        assert.ok(option.accepts(option.default), `${name} ${option.default}`);
      }
    }
  });
}

Deno.test("a flag has one help text in all experiments", () => {
  const texts = Map.groupBy(
    experiments.flatMap((experiment) => Object.entries(optionsOf(experiment))),
    ([name]) => name,
  );
  for (const [name, options] of texts) {
    assert.equal(new Set(options.map(([, { help }]) => help)).size, 1, name);
  }
});
