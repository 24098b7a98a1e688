/** Finds links of a built site that lead to no file, or to an anchor that the file lacks. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";

const attribute = /<(?:a|link|script|img|source)\b[^>]*?\s(?:href|src)="([^"]*)"/g;

const decode = (text) => decodeURIComponent(text.replaceAll("&amp;", "&"));

/**
 * @param root Folder of the site.
 * @param pages Paths of HTML files below the folder.
 * @returns One line for each dead link.
 */
export function deadLinks(root, pages) {
  const idsOf = new Map();
  const ids = (path) => {
    if (!idsOf.has(path)) {
      const found = readFileSync(`${root}/${path}`, "utf8").matchAll(/\s(?:id|name)="([^"]*)"/g);
      idsOf.set(path, new Set(Array.from(found, ([, id]) => decode(id))));
    }
    return idsOf.get(path);
  };
  const dead = new Set();
  for (const page of pages) {
    for (const [, link] of readFileSync(`${root}/${page}`, "utf8").matchAll(attribute)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [path, anchor] = link.split("#");
      let target = path === "" ? page : posix.join(path.startsWith("/") ? "" : posix.dirname(page), decode(path));
      target = target.replace(/^\//, "");
      if (existsSync(`${root}/${target}`) && statSync(`${root}/${target}`).isDirectory()) {
        target = posix.join(target, "index.html");
      }
      if (!existsSync(`${root}/${target}`)) dead.add(`${page}: ${link}: no such file`);
      else if (anchor && target.endsWith(".html") && !ids(target).has(decode(anchor))) {
        dead.add(`${page}: ${link}: no such anchor`);
      }
    }
  }
  return [...dead];
}
