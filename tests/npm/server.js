import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const types = { html: "text/html", js: "text/javascript" };

/** Headers that isolate a page from other origins, so that it has shared memory. */
export const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** Serves the files of a folder with these headers. */
export async function serve(headers, root = ".") {
  const server = createServer(({ url }, response) => {
    const path = `${root}${new URL(url, "http://localhost").pathname}`;
    const isFound = existsSync(path);
    response.writeHead(isFound ? 200 : 404, { ...headers, "content-type": types[path.split(".").at(-1)] ?? "" });
    response.end(isFound ? readFileSync(path) : undefined);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
