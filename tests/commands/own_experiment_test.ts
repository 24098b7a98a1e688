/** Experiments of users outside the repository. */
import assert from "node:assert/strict";
import { openTrained } from "../../src/series/mod.ts";
import { leakyTones } from "../../examples/own_experiment.ts";
import { testLong } from "../devices.ts";
import { outsideProgram, withOutsideFolder } from "../outside_program.ts";
import { blocksOf } from "../pages/blocks.ts";

const root = new URL("../..", import.meta.url);

const withProgram = (body: (folder: string) => Promise<void>) =>
  withOutsideFolder({ "own.ts": new URL("examples/own_experiment.ts", root) }, body);

function program(folder: string, ...args: string[]): Deno.Command {
  return outsideProgram(folder, "own.ts", ...args);
}

async function run(folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await program(folder, ...args).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

const training = ["train", "leaky-tones", "--leak", "0.3", "--device", "cpu", "--epochs"];

/** Metrics of each epoch, without times. */
async function metricsOf(run: string): Promise<unknown[]> {
  const lines = (await Deno.readTextFile(`${run}/metrics.jsonl`)).trim().split("\n");
  return lines.map((line) => ({ ...JSON.parse(line), seconds: 0 }));
}

testLong(
  "a user's program has help for its experiment and option and rejects unknown ones",
  () =>
    withProgram(async (folder) => {
      assert.match(await run(folder, "train", "--help"), /leaky-tones +low and high noisy tones/);
      const help = await run(folder, "train", "leaky-tones", "--help");
      assert.match(
        help.replaceAll(/\s+/g, " "),
        /--leak <number> .* \(number above 0 and below 1; default: 0.5\)/,
      );
      assert.doesNotMatch(help, /--signature-depth/);
      for (
        const [args, message] of [
          [["--leak", "1"], /'1' is invalid.*number above 0 and below 1/],
          [["--depth", "2"], /unknown option '--depth'/],
        ] as const
      ) {
        const { code, stderr } = await program(folder, "train", "leaky-tones", ...args).output();
        assert.equal(code, 1);
        assert.match(new TextDecoder().decode(stderr).replaceAll(/\s+/g, " "), message);
      }
    }),
);

testLong(
  "a user's experiment can be resumed after a kill, evaluated, used for predictions and served",
  () =>
    withProgram(async (folder) => {
      const process = program(folder, ...training, "40", "--run", "killed").spawn();
      const ended = process.output();
      const file = `${folder}/killed/metrics.jsonl`;
      while (!(await Deno.readTextFile(file).catch(() => "")).includes('"epoch":3,')) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      process.kill("SIGKILL");
      await ended;
      assert.ok((await metricsOf(`${folder}/killed`)).length < 40);
      await run(folder, "train", "--resume", "killed");
      await run(folder, ...training, "40", "--run", "whole");
      assert.deepEqual(await metricsOf(`${folder}/killed`), await metricsOf(`${folder}/whole`));

      const { test } = JSON.parse(await Deno.readTextFile(`${folder}/killed/summary.json`));
      assert.match(
        await run(folder, "evaluate", "killed"),
        new RegExp(`test loss before calibration ${Number(test.loss.toPrecision(4))}\n`),
      );
      assert.match(await Deno.readTextFile(`${folder}/killed/report.html`), /leaky-tones/);

      const rows = Array.from(
        { length: 32 },
        (_, t) => `a,${t},${Math.sin(t / 4)}\nb,${t},${Math.sin(t / 2)}`,
      );
      const table = `series,time,y\n${rows.join("\n")}\n`;
      await Deno.writeTextFile(`${folder}/new.csv`, table);
      const predicted = (await run(folder, "predict", "killed", "new.csv")).trim().split("\n").map((line) =>
        JSON.parse(line)
      );
      assert.deepEqual(
        predicted.map(({ series }) => series),
        ["a", "b"],
      );
      const opened = await openTrained(`${folder}/killed`, { device: "cpu", experiments: [leakyTones] });
      assert.deepEqual(await opened.predict(`${folder}/new.csv`), predicted);

      const server = program(folder, "serve", "killed", "--port", "0").spawn();
      try {
        const { value } = await server.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
        const [url] = /http:\S+/.exec(value ?? "")!;
        const answer = await fetch(`${url.replace(/\/$/, "")}/predict`, {
          method: "POST",
          headers: { "content-type": "text/csv" },
          body: table,
        });
        assert.deepEqual((await answer.json()).answers, predicted);
      } finally {
        server.kill("SIGTERM");
        await server.status;
        await server.stderr.cancel();
      }
    }),
);

Deno.test("the experiment of docs/guides/extending.md has an option, and can be trained and evaluated", async () => {
  const page = "docs/guides/extending.md";
  const { code } = blocksOf(page, await Deno.readTextFile(new URL(page, root))).find(({ code }) =>
    code.includes("runCommands")
  )!;
  await withOutsideFolder({ "own.ts": code }, async (folder) => {
    await run(folder, "train", "--slope", "2", "--device", "cpu");
    const accuracy = /test accuracy (\S+) %/.exec(await run(folder, "evaluate", "runs/line"))?.[1];
    assert.ok(Number(accuracy) >= 95, `accuracy ${accuracy} %`);
  });
});
