/** Addresses, hosts and origins of requests. */
import assert from "node:assert/strict";
import { serviceOf, startServer } from "../../src/serve/mod.ts";
import { withFolder } from "../tasks/command_line.ts";
import { connect } from "../torture/serving/client.ts";
import { trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

testLong(
  "the Host header does not change the route, and absolute addresses take precedence over it",
  withFolder(async (folder) => {
    const access = { hosts: ["127.0.0.1", "localhost", "[::1]"], origins: ["https://allowed.example"] };
    const service = serviceOf(await trainedRun(folder), { access });
    const server = await startServer(service, { host: "127.0.0.1", port: 0 });
    const { port } = new URL(server.url);
    const own = `127.0.0.1:${port}`;
    const cases: [line: string, headers: string[], status: number, body?: RegExp][] = [
      ["GET /health HTTP/1.1", [`host: ${own}`], 200, /"ok"/],
      ["GET /health HTTP/1.1", ["host: [::1]"], 200, /"ok"/],
      ["GET /health HTTP/1.1", ["host: LOCALHOST"], 200, /"ok"/],
      ["GET /health HTTP/1.0", [], 200, /"ok"/],
      // Hosts that would become a part of the path, or of another host.
      ...[
        "localhost/metrics?",
        "localhost/",
        "localhost#",
        "a@localhost",
        "localhost\\",
        "local host",
        "",
        "::1",
      ]
        .map((host): [string, string[], number] => ["GET /health HTTP/1.1", [`host: ${host}`], 400]),
      ["GET /health HTTP/1.1", ["host: localhost", "host: localhost"], 400, /several Host headers/],
      ["GET /health HTTP/1.1", ["host: evil.example"], 403, /host name is not allowed/],
      ["GET /health HTTP/1.1", [], 400],
      [`GET http://${own}/health HTTP/1.1`, [`host: ${own}`], 200, /"ok"/],
      [`GET HTTP://LocalHost/health?a=b HTTP/1.1`, ["host: evil.example"], 200, /"ok"/],
      [`GET http://localhost HTTP/1.1`, ["host: localhost"], 200, /<!doctype html>/i],
      [`GET http://localhost?a HTTP/1.1`, ["host: localhost"], 200, /<!doctype html>/i],
      ["GET http://evil.example/health HTTP/1.1", ["host: localhost"], 403],
      ["GET http://a@localhost/health HTTP/1.1", ["host: localhost"], 400],
      ["GET http:///health HTTP/1.1", ["host: localhost"], 400],
      ["GET https://localhost/health HTTP/1.1", ["host: localhost"], 400],
      ["GET file:///etc/passwd HTTP/1.1", ["host: localhost"], 400],
      ["OPTIONS * HTTP/1.1", ["host: localhost"], 400],
      ["GET //localhost/health HTTP/1.1", ["host: localhost"], 404],
      ["GET /health#a HTTP/1.1", ["host: localhost"], 400],
      // The scheme and the port are parts of an origin.
      ["GET /health HTTP/1.1", [`host: ${own}`, `origin: http://${own}`], 200],
      ["GET /health HTTP/1.1", [`host: ${own}`, `origin: https://${own}`], 403, /other origins/],
      ["GET /health HTTP/1.1", [`host: ${own}`, "origin: http://127.0.0.1"], 403],
      ["GET /health HTTP/1.1", [`host: ${own}`, "origin: null"], 403],
      ["GET /health HTTP/1.1", [`host: ${own}`, "origin: https://allowed.example"], 200],
      ["GET /health HTTP/1.1", [`host: ${own}`, "origin: http://allowed.example"], 403],
    ];
    for (const [line, headers, status, body] of cases) {
      using connection = await connect(Number(port));
      await connection!.write(`${[line, ...headers, "connection: close"].join("\r\n")}\r\n\r\n`, 1000);
      const answer = await connection!.read(5000);
      const what = `${line} ${headers.join(" ")}: ${answer.slice(0, 300)}`;
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), what);
      if (body) assert.match(answer, body, what);
    }
    await server.shutdown();
  }),
);
