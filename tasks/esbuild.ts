/** The bundler of the npm package and of the playground. */

/** Not a literal at the import: Deno would download it for every user. */
const esbuildPackage = "npm:esbuild@0.28.2";

/** The part of esbuild that is used here. */
interface Esbuild {
  build(options: Readonly<Record<string, unknown>>): Promise<unknown>;
  stop(): Promise<void>;
}

/** The oldest syntax of the package and the pages. */
export const targets = ["node22", "chrome120", "firefox128", "safari17.4"];

/** Downloads esbuild at the first call. */
export async function loadEsbuild(): Promise<Esbuild> {
  return await import(esbuildPackage);
}
