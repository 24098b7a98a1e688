/** Code of models that is imported when a model is chosen: a page loads the code of the models that it opens. */

/** How a model is made by code that is loaded on demand. */
export interface OnDemand<Args extends readonly unknown[], Made> {
  /** Loads the code. Needed before `make`. */
  load(): Promise<void>;
  /** @throws {Error} If the code was not loaded. */
  make(...args: Args): Made;
}

/**
 * Makes a model by a module that is imported on demand.
 *
 * @param load Imports the module. Bundlers find modules in calls of `import` with their path.
 */
export function onDemand<Module, Args extends readonly unknown[], Made>(
  load: () => Promise<Module>,
  make: (module: Module, ...args: Args) => Made,
): OnDemand<Args, Made> {
  let loaded: Module | undefined;
  return {
    async load() {
      loaded ??= await load();
    },
    make(...args) {
      if (loaded === undefined) {
        throw new Error("the code of the model is not loaded; await `load` of its kind first");
      }
      return make(loaded, ...args);
    },
  };
}
