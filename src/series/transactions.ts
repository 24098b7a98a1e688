/** A state that steps change one after the other. */
export interface Transactions<State> {
  /** The state after all steps so far. */
  readonly state: Promise<State>;
  /**
   * Runs a step after all steps before. The state changes when the step has succeeded; a step that fails leaves the state as it was.
   *
   * @param step Computes a result and the next state. The step must not write to the state that it gets.
   */
  run<Result>(step: (state: State) => Promise<readonly [result: Result, next: State]>): Promise<Result>;
}

/** Transactions on a state. */
export function transactionsOn<State>(initial: State): Transactions<State> {
  let state = new Promise<State>((resolve) => resolve(initial));
  return {
    get state() {
      return state;
    },
    async run(step) {
      const before = state;
      const done = before.then(step);
      state = done.then(([, next]) => next, () => before);
      const [result] = await done;
      return result;
    },
  };
}
