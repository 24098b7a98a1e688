/**
 * Processes that are killed, stopped, or started twice at the same time, and commands with invalid arguments.
 */
import type { Choices } from "./choices.ts";
import { callHere, faultOfOutcome, signal, startProcess } from "./commands.ts";
import { callOf, copyFolder, stateOf, type World } from "./world.ts";

type CaseReport = [what: string, fault?: string];

/** A training that is killed or stopped several times, resumes, and must reach the same results. */
export async function killCase({ started }: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const path = `${scratch}/run`;
  await copyFolder(started.path, path);
  const [use] = started.uses;
  const call = callOf(use, path);
  const events: string[] = [];
  for (let kill = 1 + choices.below(2); kill > 0; kill--) {
    const name = choices.of(["SIGKILL", "SIGKILL", "SIGINT", "SIGTERM"] as const);
    const wait = 200 + choices.below(700);
    events.push(`${name} after ${wait} ms`);
    const started = startProcess(call);
    const timer = setTimeout(() => signal(started.process, name), wait);
    const outcome = await started.outcome.finally(() => clearTimeout(timer));
    const isExpected = outcome.signal === name || outcome.code === 0 || outcome.code === 130;
    if (!isExpected) {
      return [events.join(", "), faultOfOutcome(outcome) ?? `status ${outcome.code}: ${outcome.stderr}`];
    }
  }
  const outcome = await callHere(call);
  if (outcome.code !== 0) return [events.join(", "), `cannot resume: ${outcome.stderr}`];
  return [
    events.join(", "),
    await stateOf(path) === use.result.state ? undefined : "other results than without kills",
  ];
}

/**
 * Two processes resume one run at the same time. Either one of them trains, or both train one after the
 * other.
 */
export async function twiceCase({ started }: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const path = `${scratch}/run`;
  await copyFolder(started.path, path);
  const [use] = started.uses;
  const call = callOf(use, path);
  const wait = choices.below(300);
  const what = `two at once, the second ${wait} ms later`;
  const first = startProcess(call);
  await new Promise((resolve) => setTimeout(resolve, wait));
  const outcomes = await Promise.all([first.outcome, startProcess(call).outcome]);
  for (const outcome of outcomes) {
    const fault = faultOfOutcome(outcome);
    if (fault) return [what, fault];
    if (outcome.code !== 0 && !outcome.stderr.includes("another process")) return [what, outcome.stderr];
  }
  if (outcomes.every(({ code }) => code !== 0)) return [what, "neither trained"];
  return [what, await stateOf(path) === use.result.state ? undefined : "other results than without kills"];
}

const oddValues: readonly string[] = [
  "",
  " ",
  "-1",
  "0",
  "1.5",
  "NaN",
  "Infinity",
  "1e400",
  "1e309",
  "0x10",
  "9007199254740993",
  "null",
  "ten",
  "--",
  "-",
  "💥",
  "../../nothing",
  "/dev/null",
  "/proc/self/mem",
  "__proto__",
  "constructor",
  "x".repeat(5000),
];
const options: readonly string[] = [
  "--seed",
  "--epochs",
  "--batch-size",
  "--learning-rate",
  "--hidden",
  "--data",
  "--drop",
  "--model",
  "--method",
  "--step-size",
  "--device",
  "--resume",
  "--colour",
  "--epochs=2",
  "-h2",
  "--",
  "extra",
];

/** A command with an invalid or unusual argument. */
export async function argumentCase(world: World, choices: Choices, scratch: string): Promise<CaseReport> {
  const command = choices.of(["train", "train", "evaluate", "predict"] as const);
  const run = choices.of(world.runs).path;
  const odd = choices.of(oddValues);
  const option = choices.of(options);
  const base = {
    train: [
      "own-series",
      "--data",
      world.table,
      "--out",
      `${scratch}/runs`,
      "--device",
      "cpu",
      "--epochs",
      "1",
      "--hidden",
      "4",
    ],
    evaluate: [run, "--device", "cpu"],
    predict: [run, world.unlabelled, "--device", "cpu"],
  }[command];
  const args = choices.chance(0.7) ? [...base, option, odd] : base.with(choices.below(base.length), odd);
  const what = `${command} ${args.map((arg) => JSON.stringify(arg.slice(0, 30))).join(" ")}`;
  // Training for hours is valid, but takes too long for a test.
  const isLong = option === "--hidden" && Number(odd) > 1000 || option === "--epochs" && Number(odd) > 1000;
  return isLong ? [what] : [what, faultOfOutcome(await callHere({ command, args }))];
}
