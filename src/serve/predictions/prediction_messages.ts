/** Messages between a server and its threads of predictions. */
import type { RunConfig } from "../../train/run/config.ts";
import type { ComputedAnswer, PredictionJob } from "./compute.ts";
import type { Limits } from "../limits.ts";
import type { ProblemFields, ProblemStatus } from "../http/problem.ts";

/** Data of a new thread. */
export interface PredictionStart {
  /** Configuration of the run, with the device. */
  readonly config: RunConfig;
  /** Path of the run's folder. */
  readonly folder: string;
  /** Limits of the server. */
  readonly limits: Limits;
}

/** A message to a thread: a request, or the number of a request whose client has disconnected. */
export type PredictionCall =
  | { readonly number: number; readonly job: PredictionJob }
  | { readonly abort: number };

/** A message of a thread. The first one is `ready`. */
export type PredictionReply =
  | { readonly type: "ready" }
  | { readonly type: "answer"; readonly answer: ComputedAnswer }
  | {
    readonly type: "refused";
    readonly status: ProblemStatus;
    readonly message: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly fields: ProblemFields;
  }
  | { readonly type: "failed"; readonly error: unknown };
