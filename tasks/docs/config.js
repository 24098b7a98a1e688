/** Configuration of VitePress. Copied beside the staged pages with `site.json`, the sidebar and the base. */
import { readFileSync } from "node:fs";

const site = JSON.parse(readFileSync(new URL("site.json", import.meta.url), "utf8"));

/** The anchor of a heading, as GitHub makes it. */
export function slugify(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
}

export default {
  title: "Weft",
  description: "Neural CDEs, continuous-time fast weight programmers and WARP for Deno, Node and browsers",
  lang: "en",
  base: site.base,
  outDir: site.out,
  cleanUrls: false,
  // The reference of deno doc is added after the build.
  ignoreDeadLinks: [/^\/reference\//],
  markdown: { anchor: { slugify }, theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } },
  themeConfig: {
    nav: site.nav,
    sidebar: site.sidebar,
    outline: [2, 3],
    search: { provider: "local", options: { _render: renderForSearch } },
  },
};

/** Leaves out pages of code. */
function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env);
  return env.frontmatter?.search === false ? "" : html;
}
