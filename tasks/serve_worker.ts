/** A thread of `deno task serve` that computes predictions. */
import { computePredictions } from "../src/serve/predictions/prediction_worker.ts";
import { experimentsOfRun } from "./run_experiments.ts";

await computePredictions(experimentsOfRun);
