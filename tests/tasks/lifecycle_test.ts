/** Runs that are killed, resumed and moved: every later use gives the bits of an uninterrupted run. */
import assert from "node:assert/strict";
import { testLong } from "../devices.ts";
import { callHere } from "../torture/commands.ts";
import { stateOf } from "../torture/world.ts";
import { runTask, task, withFolder } from "./command_line.ts";

/** Series of eight observations whose class is their slope. */
function table(count: number, isLabelled: boolean): string {
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from({ length: 8 }, (_, t) => {
      const value = (i % 2 ? t : -t) + Math.sin(3.7 * i + t);
      return `s${i},${t},${value.toFixed(4)}${isLabelled ? i % 2 ? ",up" : ",down" : ""}`;
    })).flat();
  return [`series,time,x${isLabelled ? ",label" : ""}`, ...rows, ""].join("\n");
}

/** When a training is killed: at the first printed line that matches, or when a file of the run has content. */
type Moment = RegExp | "metrics.jsonl";

/** Starts a command, and kills it at a moment. */
async function killAt(moment: Moment, run: string, args: readonly string[]): Promise<void> {
  const child = task("train", [...args]).spawn();
  let isOver = false;
  const watch = async () => {
    if (moment instanceof RegExp) {
      let text = "";
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        if (moment.test(text)) break;
      }
      return;
    }
    while (!isOver && !(await Deno.stat(`${run}/${moment}`).catch(() => undefined))?.size) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await child.stdout.cancel();
  };
  const errors = new Response(child.stderr).text();
  const watching = watch().then(() => child.kill("SIGKILL"));
  const { signal } = await child.status;
  isOver = true;
  await watching.catch(() => {});
  assert.equal(signal, "SIGKILL", await errors);
}

/** Answers of a server to a table, and to observations of a stream if the model has streams. */
async function serve(run: string, csv: string): Promise<{ predicted: string; streamed: unknown[] }> {
  const child = task("serve", [run, "--port", "0", "--device", "cpu"]).spawn();
  const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const { value: line } = await stdout.read();
    const [, address] = /serving .* on (http:\/\/127\.0\.0\.1:\d+)/.exec(line ?? "")!;
    const response = await fetch(`${address}/predict`, {
      method: "POST",
      body: csv,
      headers: { "content-type": "text/csv", accept: "application/x-ndjson" },
    });
    const predicted = await response.text();
    const { online } = JSON.parse(await Deno.readTextFile(`${run}/config.json`));
    return { predicted, streamed: online ? await stream(`${address.replace("http", "ws")}/stream`) : [] };
  } finally {
    child.kill("SIGTERM");
    await stdout.cancel();
    await child.stderr.cancel();
    await child.status;
  }
}

/** Answers to the observations of a series, one after another. */
async function stream(address: string): Promise<unknown[]> {
  const socket = new WebSocket(address);
  await new Promise((resolve) => socket.onopen = resolve);
  const answers: unknown[] = [];
  for (let time = 0; time < 8; time++) {
    const answer = new Promise<{ type: string; answer: unknown }>((resolve) =>
      socket.onmessage = ({ data }) => resolve(JSON.parse(data))
    );
    socket.send(JSON.stringify({ series: "a", time, values: { x: time + Math.sin(time) } }));
    const message = await answer;
    assert.equal(message.type, "answer", JSON.stringify(message));
    answers.push(message.answer);
  }
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await closed;
  return answers;
}

/** Everything that users see of a run, without times. The answers of a server only if it is started. */
async function usesOf(run: string, folder: string, isServed: boolean) {
  const fresh = table(5, false);
  await Deno.writeTextFile(`${folder}/fresh.csv`, fresh);
  const outputOf = async (command: "evaluate" | "predict", ...args: string[]) => {
    const { code, stdout, stderr } = await callHere({ command, args: [run, ...args, "--device", "cpu"] });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const predicted = await outputOf("predict", `${folder}/fresh.csv`);
  const served = isServed ? await serve(run, fresh) : undefined;
  if (served) assert.equal(served.predicted.trimEnd(), predicted, "the server answers like predict");
  const { test, bestEpoch, parameters } = JSON.parse(await Deno.readTextFile(`${run}/summary.json`));
  const { training } = JSON.parse(await Deno.readTextFile(`${run}/data.json`));
  const compared = training.compared?.map((one: object) => ({ ...one, seconds: 0 }));
  return {
    ...{ state: await stateOf(run), test, bestEpoch, parameters, training: { ...training, compared } },
    evaluated: await outputOf("evaluate"),
    measured: await outputOf("evaluate", "--data", `${folder}/own.csv`),
    predicted,
    streamed: served?.streamed,
  };
}

/** Checks that a run that is killed at some moments, resumed each time and moved, works like an uninterrupted run. */
function checkKilled(options: readonly string[], moments: readonly Moment[], isServed = false) {
  return withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/own.csv`, table(24, true));
    const starting = (run: string) => [
      ...["own-series", "--data", `${folder}/own.csv`, "--device", "cpu", "--run", run],
      ...options,
    ];
    const [whole, killed, moved] = ["whole", "killed", "moved"].map((name) => `${folder}/${name}`);
    const { code, stderr } = await runTask("train", ...starting(whole));
    assert.equal(code, 0, stderr);
    const expected = await usesOf(whole, folder, isServed);

    for (const [i, moment] of moments.entries()) {
      await killAt(moment, killed, i === 0 ? starting(killed) : ["--resume", killed]);
    }
    await Deno.rename(killed, moved);
    const resumed = await runTask("train", "--resume", moved);
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.deepEqual(await usesOf(moved, folder, isServed), expected);
  });
}

testLong(
  "a run that is killed while it compares and refits models gives bitwise equal results in every use",
  checkKilled([], [/comparing models/, "metrics.jsonl"]),
);

testLong(
  "an ensemble that is killed in its cross-validation and between epochs gives bitwise equal results in every use",
  checkKilled(
    ["--model", "s5", "--hidden", "4", "--ensemble", "2", "--online"],
    [/ steps: /, "metrics.jsonl"],
    true,
  ),
);

testLong(
  "an online choice that is killed in the comparison and in training gives bitwise equal results in every use",
  checkKilled(["--online", "--budget", "1h"], [/comparing models/, "metrics.jsonl"]),
);
