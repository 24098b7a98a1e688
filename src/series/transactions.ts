/** A state that is changed by one step after another. */
export interface Transactions<State> {
  /** State after all steps so far. */
  readonly state: Promise<State>;
  /**
   * Runs a step after all previous steps. The state changes only if the step succeeds.
   *
   * @param step Computes a result and the next state. It must not modify the given state.
   */
  run<Result>(step: (state: State) => Promise<readonly [result: Result, next: State]>): Promise<Result>;
}

/** Makes transactions on a state. */
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
