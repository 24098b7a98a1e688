/** Configuration of VitePress. Copied beside the staged pages with `site.json`, the sidebar and the base. */
import { readFileSync } from "node:fs";
import { slugify } from "./slugify.js";

const site = JSON.parse(readFileSync(new URL("site.json", import.meta.url), "utf8"));

/** A line through points, as in the charts. */
const icon = `data:image/svg+xml,${
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 12C5 12 5 4 8 4s3 7 7 3" fill="none" ' +
      'stroke="#2f6fde" stroke-width="2.5"/></svg>',
  )
}`;

export default {
  title: "Weft",
  description: "Neural CDEs, continuous-time fast weight programmers and WARP for Deno, Node and browsers",
  lang: "en",
  base: site.base,
  outDir: site.out,
  cleanUrls: false,
  // VitePress does not build the playground.
  ignoreDeadLinks: [/^\/playground\//],
  head: [["link", { rel: "icon", href: icon }]],
  markdown: {
    anchor: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config: renderScrollable,
  },
  themeConfig: {
    nav: site.nav,
    sidebar: site.sidebar,
    outline: [2, 3],
    notFound: { linkLabel: "Take me home" },
    search: { provider: "local", options: { _render: renderForSearch } },
  },
};

/** Leaves out pages of code. */
function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env);
  return env.frontmatter?.search === false ? "" : html;
}

/** Tables, pictures and blocks of code scroll on a phone, by keyboard too. */
function renderScrollable({ renderer: { rules } }) {
  const { image } = rules;
  rules.table_open = () => '<table tabindex="0">';
  rules.image = (...parameters) => `<span class="picture" tabindex="0">${image(...parameters)}</span>`;
  // A block that is only indented is rendered like a fenced one.
  rules.code_block = (tokens, i, ...parameters) => {
    tokens[i].info = "text";
    return rules.fence(tokens, i, ...parameters);
  };
}
