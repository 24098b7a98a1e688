/** Builds the playground of the site from `web/`: a page, a style sheet, trained models, and bundles of modules. */
import { pageStyle } from "../../src/charts/page.ts";
import { loadEsbuild, targets } from "../esbuild.ts";
import { writeTrained } from "./trained.ts";

/** Packages and modules of Deno and Node that a page never loads. */
const external = ["node:*", "npm:*", "hyparquet", "ws"];

/** A link in the header of the site. */
export interface NavigationLink {
  readonly text: string;
  /** Address from the root of the site. */
  readonly link: string;
}

/** Address of the page from the root of the site. */
export const playgroundLink = "/playground/index.html";

/** The style of pages with the colours of the switch of the site, which are a class of the root element. */
const switchedStyle = pageStyle.replace(
  /@media \(prefers-color-scheme: dark\) \{ :root (\{[^}]*\}) \}/,
  "@media (prefers-color-scheme: dark) { :root:not(.light) $1 }\n:root.dark $1\n" +
    ":root.dark { color-scheme: dark; }\n:root.light { color-scheme: light; }",
);

/**
 * @param root Root of the repository.
 * @param out Folder of the page, which is made.
 * @param navigation Links of the header.
 */
export async function buildPlayground(
  root: string,
  out: string,
  navigation: readonly NavigationLink[],
): Promise<void> {
  const source = `${root}/web`;
  await Deno.mkdir(out, { recursive: true });
  const links = navigation.map(({ text, link }) =>
    `<a href="..${link}"${link === playgroundLink ? ' aria-current="page"' : ""}>${text}</a>`
  );
  const page = await Deno.readTextFile(`${source}/index.html`);
  await Deno.writeTextFile(`${out}/index.html`, page.replace("<!-- pages of the site -->", links.join(" ")));
  await writeTrained(out);
  const sheets = await Promise.all(
    ["stage", "style"].map((name) => Deno.readTextFile(`${source}/${name}.css`)),
  );
  await Deno.writeTextFile(`${out}/style.css`, [switchedStyle, ...sheets].join("\n"));
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
