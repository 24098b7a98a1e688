/** Builds the playground of the site from `web/`: a page, a style sheet, and two bundles of modules. */
import { pageStyle } from "../../src/charts/page.ts";
import { loadEsbuild, targets } from "../esbuild.ts";
import { writeTrained } from "./trained.ts";

/** Packages and modules of Deno and Node that a page never loads. */
const external = ["node:*", "npm:*", "hyparquet", "ws"];

/**
 * @param root Root of the repository.
 * @param out Folder of the page, which is made.
 */
export async function buildPlayground(root: string, out: string): Promise<void> {
  const source = `${root}/web`;
  await Deno.mkdir(out, { recursive: true });
  await Deno.copyFile(`${source}/index.html`, `${out}/index.html`);
  await Deno.copyFile(`${source}/mark.svg`, `${out}/../mark.svg`);
  await writeTrained(out);
  await Deno.writeTextFile(`${out}/style.css`, pageStyle + await Deno.readTextFile(`${source}/style.css`));
  const { build, stop } = await loadEsbuild();
  try {
    await build({
      entryPoints: ["main", "worker"].map((name) => `${source}/${name}.ts`),
      outdir: out,
      bundle: true,
      // The code of GPUs is in separate files, which are loaded on demand.
      splitting: true,
      chunkNames: "part-[hash]",
      format: "esm",
      platform: "browser",
      minify: true,
      target: targets.filter((target) => !target.startsWith("node")),
      loader: { ".wgsl": "text" },
      external,
      logLevel: "warning",
    });
  } finally {
    await stop();
  }
}
