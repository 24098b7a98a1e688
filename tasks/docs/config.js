/** Configuration of VitePress. Copied beside the staged pages with `site.json`, the sidebar and the base. */
import { readFileSync } from "node:fs";
import { slugify } from "./slugify.js";

const site = JSON.parse(readFileSync(new URL("site.json", import.meta.url), "utf8"));

export default {
  title: "Weft",
  description: "Neural CDEs, continuous-time fast weight programmers and WARP for Deno, Node and browsers",
  lang: "en",
  base: site.base,
  outDir: site.out,
  cleanUrls: false,
  // VitePress does not build the playground.
  ignoreDeadLinks: [/^\/playground\//],
  head: [["link", { rel: "icon", href: `${site.base}mark.svg` }]],
  markdown: {
    anchor: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config: renderScrollable,
  },
  themeConfig: {
    logo: "/mark.svg",
    nav: site.nav,
    sidebar: site.sidebar,
    outline: [2, 3],
    notFound: { linkLabel: "Take me home" },
    search: {
      provider: "local",
      options: {
        _render: renderForSearch,
        miniSearch: { searchOptions: { boostDocument, fuzzy: toleranceOf } },
      },
    },
  },
};

/**
 * Weight of a section in the search: guides come first, then the reference, then lists. The browser runs a copy of this
 * function, so it uses nothing outside.
 */
function boostDocument(page, term, fields) {
  // The name of an export finds its reference.
  if (fields?.title?.toLowerCase() === term) return 8;
  if (/\/(playground|start|guides)\//.test(page)) return 4;
  return /\/(CHANGELOG|contents|index|internals|bench|examples)\b/.test(page) ? 0.5 : 1;
}

/** Share of the letters of a word that may differ. Of short words none: "GPU" is not "GRU". */
function toleranceOf(term) {
  return term.length > 3 ? 0.2 : false;
}

/** Leaves out pages of code. */
function renderForSearch(source, env, markdown) {
  const html = markdown.render(source, env);
  return env.frontmatter?.search === false ? "" : html;
}

/** Tables, pictures and blocks of code scroll on a phone, by keyboard too. */
function renderScrollable({ renderer: { rules } }) {
  const { image } = rules;
  rules.table_open = () => '<table tabindex="0">';
  rules.image = (...parameters) => {
    const picture = image(...parameters);
    // The pictures of the first page are small, and links.
    return parameters[3].frontmatter?.layout === "home"
      ? picture
      : `<span class="picture" tabindex="0">${picture}</span>`;
  };
  // A block that is only indented is rendered like a fenced one.
  rules.code_block = (tokens, i, ...parameters) => {
    tokens[i].info = "text";
    return rules.fence(tokens, i, ...parameters);
  };
}
