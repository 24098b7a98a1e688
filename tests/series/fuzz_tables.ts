/** `deno task fuzz --kind tables`: compares predictions of all models on random tables that leave the training range. */
import { init } from "../../mod.ts";
import { checkCase, drawCase } from "./extreme_tables.ts";

/** Number of failures after which the run stops. */
const maxFailures = 5;

/** Checks cases, and returns the exit code. */
export async function fuzzTables({ cases, seed }: { cases: number; seed: number }): Promise<number> {
  const { info } = await init({ device: "cpu" });
  let [failures, tried, predictions, warned, rejected] = [0, 0, 0, 0, 0];
  while (tried < cases && failures < maxFailures) {
    const one = drawCase(seed * 1_000_000 + tried++);
    const outcome = await checkCase(one);
    predictions += outcome.predictions;
    warned += outcome.warned;
    if (outcome.isRejected) rejected++;
    if (outcome.failure === undefined) continue;
    failures++;
    const { task, model, channels, target, departure } = one;
    const drawn = JSON.stringify({ task, model, channels, target, departure });
    console.error(`table ${tried - 1}: ${outcome.failure}\n  drawCase(${one.seed}): ${drawn}`);
  }
  console.log(
    `${tried} tables on ${info.description}: ${predictions} predictions, ${warned} with a warning, ${rejected} tables rejected, ` +
      `${failures} cases failed`,
  );
  return failures > 0 || predictions === 0 ? 1 : 0;
}
