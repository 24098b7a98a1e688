/** Builds the playground of the site from `web/`: a page, a style sheet, trained models, and bundles of modules. */
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
  await writeTrained(out);
  const sheets = await Promise.all(
    ["stage", "style"].map((name) => Deno.readTextFile(`${source}/${name}.css`)),
  );
  await Deno.writeTextFile(`${out}/style.css`, [pageStyle, ...sheets].join("\n"));
  const { build, stop } = await loadEsbuild();
  try {
    await build({
      entryPoints: ["main", "demo", "worker"].map((name) => `${source}/${name}.ts`),
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
