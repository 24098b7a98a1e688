/** The theme of the site. */
import { chartStyle } from "../../src/charts/style.ts";

/**
 * VitePress's theme with the fonts of the system and the colours of Weft's reports, and the component LiveDemo of the
 * first page. VitePress does not build the playground or the demo, so the browser loads them. A file would fail
 * `deno check`.
 */
export const theme = `import { withBase } from "vitepress";
import theme from "vitepress/theme-without-fonts";
import { h } from "vue";
import "../style.css";

const LiveDemo = {
  async mounted() {
    const { startDemo } = await import(/* @vite-ignore */ withBase("/playground/demo.js"));
    if (this.$el.isConnected) this.stop = startDemo(this.$el);
  },
  unmounted() {
    this.stop?.();
  },
  render: () => h("div", { class: "demo" }),
};

export default {
  extends: theme,
  enhanceApp({ app, router }) {
    app.component("LiveDemo", LiveDemo);
    router.onBeforeRouteChange = (to) => {
      if (import.meta.env.SSR || !to.includes("/playground/")) return;
      location.href = to;
      return false;
    };
  },
};
`;

/** Style sheet of charts in the demo. The switch of VitePress chooses the colours, not the system. */
export const themeStyle = chartStyle(".demo", ".chart")
  .replace(/@media \(prefers-color-scheme: dark\) \{ \.demo (\{[^}]*\}) \}/, ".dark .demo $1")
  .replace("color-scheme: light dark;", "");
