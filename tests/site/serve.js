/** A server of static files, compressed as a web server does. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";

const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

/** Headers that isolate a page from other origins, so that it has shared memory. */
export const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/**
 * Serves a folder on a free port of this machine, with these headers. `transferred` has the bytes of the bodies by path.
 *
 * @param script Module that every page runs, too.
 * @param onReport Called with the text of each request of `/report?<text>`.
 */
export async function serve(root, headers = {}, { script, onReport } = {}) {
  const server = createServer(({ url }, response) => {
    if (onReport && url.startsWith("/report?")) {
      onReport(decodeURIComponent(url.slice("/report?".length)));
      return response.writeHead(200, headers).end();
    }
    const path = join(root, normalize(decodeURIComponent(new URL(url, "http://localhost").pathname)));
    const file = path.endsWith("/") ? `${path}index.html` : path;
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    const added = script && file.endsWith(".html") ? `<script type="module">${script}</script>` : "";
    const body = gzipSync(Buffer.concat([readFileSync(file), Buffer.from(added)]));
    server.transferred.set(url, body.length);
    const type = types[extname(file)] ?? "application/octet-stream";
    // The names of assets contain a hash of their contents.
    const cached = file.includes("/assets/") ? { "cache-control": "max-age=3600" } : {};
    response.writeHead(200, { ...headers, ...cached, "content-type": type, "content-encoding": "gzip" }).end(body);
  });
  server.transferred = new Map();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
