/** VitePress's theme with the fonts of the system and the colours of Weft's reports. */
export { default } from "vitepress/theme-without-fonts";

import "./style.css";
