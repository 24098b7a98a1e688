/** Models in files of users. */
import { OptionError } from "../../device/errors.ts";
import { checkModels, type Model } from "./model.ts";

/** Whether a value of the option `model` is the path of a file, instead of a name. */
export function isModelFile(model: unknown): model is string {
  return typeof model === "string" && /[./\\]/.test(model);
}

/**
 * Loads the model that a TypeScript or JavaScript module exports by default.
 *
 * @param path Absolute path.
 * @returns The model with the path as its name.
 * @throws {OptionError} If the module cannot be loaded, or its default export is not a model.
 */
export async function readModel(path: string): Promise<Model> {
  const url = new URL("file:///");
  url.pathname = path.replaceAll("%", "%25");
  let module: { readonly default?: Model };
  try {
    module = await import(/* webpackIgnore: true */ url.href);
  } catch (error) {
    throw new OptionError("unreadable-file", `${path}: cannot be loaded: ${(error as Error).message}`, {
      option: "model",
      expected: "a TypeScript or JavaScript module",
    });
  }
  const { default: model } = module;
  if (model === undefined) {
    const expected = "export default of a Model";
    throw new OptionError("invalid-option", `${path}: no default export; expected ${expected}`, {
      option: "model",
      expected,
    });
  }
  checkModels(path, [model], []);
  return { ...model, name: path };
}
