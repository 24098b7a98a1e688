/** A thread that computes predictions, so that large tables do not delay other requests. */
import { parentPort, workerData } from "node:worker_threads";
import type { DataRecord } from "../../series/record/data_record.ts";
import { columnNames } from "../../series/run/observation_stream.ts";
import { requirePredictions, type TrainedModel } from "../../series/models/trained_model.ts";
import { type Experiment, loadExperiment } from "../../train/experiment.ts";
import { runFolder } from "../../train/run/run_folder.ts";
import { openBest } from "../../train/run/trained_run.ts";
import { collectGarbage } from "./collect.ts";
import { computeWith } from "./compute.ts";
import type { PredictionCall, PredictionReply, PredictionStart } from "./prediction_messages.ts";
import { refusalOf } from "../http/problem.ts";

/** Milliseconds after a request until a thread is idle. */
const idleAfter = 2000;

/**
 * Computes predictions in this thread, which the server has started.
 *
 * @param experimentSource Known experiments, or a function that loads those that a run may need.
 */
export async function computePredictions(
  experimentSource: readonly Experiment[] | ((name: string) => Promise<readonly Experiment[]>),
): Promise<void> {
  const { config, folder, limits } = workerData as PredictionStart;
  const experiments = typeof experimentSource === "function"
    ? await experimentSource(config.experiment)
    : experimentSource;
  const reply = (message: PredictionReply, transfer: ArrayBuffer[] = []) =>
    parentPort!.postMessage(message, transfer);
  const run = await openBest<TrainedModel, DataRecord>(
    await loadExperiment(experiments, config),
    config,
    runFolder(folder),
  );
  const compute = computeWith(requirePredictions(run), columnNames(config), limits);
  const running = new Map<number, AbortController>();
  let idle: ReturnType<typeof setTimeout> | undefined;
  parentPort!.on("message", async (call: PredictionCall) => {
    if ("abort" in call) return running.get(call.abort)?.abort();
    const { number, job } = call;
    const controller = new AbortController();
    running.set(number, controller);
    try {
      const answer = await compute(job, controller.signal);
      reply({ type: "answer", answer }, [answer.body.buffer]);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal) {
        const { status, message, headers, fields } = refusal;
        reply({ type: "refused", status, message, headers, fields });
      } else reply({ type: "failed", error: error instanceof Error ? error : `${error}` });
    }
    running.delete(number);
    collectGarbage("busy");
    clearTimeout(idle);
    idle = setTimeout(() => collectGarbage("idle"), idleAfter);
  });
  collectGarbage("idle");
  reply({ type: "ready" });
}
