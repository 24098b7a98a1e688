/** Servers on local addresses. */
import assert from "node:assert/strict";
import { runTask, task, withFolder } from "../tasks/command_line.ts";
import { handlerOf, serviceOf, startServer } from "../../src/serve/mod.ts";
import { table, trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

Deno.test(
  "serve answers like predict, bit for bit, and exits on SIGTERM",
  withFolder(async (folder) => {
    const { folder: { path } } = await trainedRun(folder, { online: true });
    const csv = table(5, false);
    await Deno.writeTextFile(`${folder}/new.csv`, csv);
    const expected = await runTask("predict", path, `${folder}/new.csv`, "--device", "cpu");
    const child = task("serve", [path, "--port", "0", "--device", "cpu"]).spawn();
    const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value: line } = await stdout.read();
    const [, address] = /serving .* on (http:\/\/127\.0\.0\.1:\d+)/.exec(line!)!;
    const response = await fetch(`${address}/predict`, {
      method: "POST",
      body: csv,
      headers: { "content-type": "text/csv", accept: "application/x-ndjson" },
    });
    assert.equal(await response.text(), expected.stdout);
    // Data that a client sends immediately after connecting are not lost.
    for (let i = 0; i < 20; i++) {
      const socket = new WebSocket(`${address.replace("http", "ws")}/stream`);
      socket.onopen = () => socket.send("{}");
      const timer = setTimeout(() => socket.close(), 10_000);
      assert.equal((await next(socket) as { type: string }).type, "error", `socket ${i}`);
      clearTimeout(timer);
      socket.close();
      await new Promise((resolve) => socket.onclose = resolve);
    }
    child.kill("SIGTERM");
    const { code } = await child.status;
    assert.equal(await new Response(child.stderr).text(), "");
    await stdout.cancel();
    assert.equal(code, 0);
  }),
);

/** The next message of a socket, or its close code. */
const next = (socket: WebSocket) =>
  new Promise<{ type: string; detail?: string } | number>((resolve) => {
    socket.onmessage = ({ data }) => resolve(JSON.parse(data));
    socket.onclose = ({ code }) => resolve(code);
  });

testLong(
  "the server compiles the kernels of the first observations before it starts",
  withFolder(async (folder) => {
    const service = serviceOf(await trainedRun(folder, { online: true }));
    const server = await startServer(service, { host: "127.0.0.1", port: 0 });
    const { Module } = WebAssembly;
    let made = 0;
    WebAssembly.Module = class extends Module {
      constructor(bytes: BufferSource) {
        super(bytes);
        made++;
      }
    };
    const answered: string[] = [];
    try {
      for (const time of [0, 1]) {
        await service.streams.take(JSON.stringify({ series: "a", time, values: { x: time, ward: "er" } }), {
          send: ({ type }) => answered.push(type),
        });
      }
    } finally {
      WebAssembly.Module = Module;
      await server.shutdown();
    }
    assert.deepEqual([made, answered], [0, ["answer", "answer"]]);
  }),
);

testLong(
  "WebSockets are answered, rejected for other origins, closed for large messages and closed on shutdown",
  withFolder(async (folder) => {
    const service = serviceOf(await trainedRun(folder, { online: true }), {
      limits: { messageBytes: 1000 },
    });
    const server = await startServer(service, { host: "127.0.0.1", port: 0 });
    const address = server.url.replace("http", "ws") + "/stream";
    const open = async () => {
      const socket = new WebSocket(address);
      await new Promise((resolve) => socket.onopen = resolve);
      return socket;
    };
    const [socket, other, binary] = [await open(), await open(), await open()];
    const answer = next(socket);
    socket.send(JSON.stringify({ series: "a", time: 0, values: { x: 1, ward: "er" } }));
    assert.equal((await answer as { type: string }).type, "answer");
    const closed = [next(other), next(binary)];
    other.send("x".repeat(1001));
    binary.send(new Uint8Array(3));
    assert.deepEqual(await Promise.all(closed), [1009, 1003]);

    const handshake = async (headers: Record<string, string>) => {
      using connection = await Deno.connect({ port: Number(new URL(server.url).port) });
      const allHeaders = { host: "127.0.0.1", connection: "upgrade", upgrade: "websocket", ...headers };
      const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
      await connection.write(new TextEncoder().encode(`GET /stream HTTP/1.1\r\n${lines.join("")}\r\n`));
      const bytes = new Uint8Array(1000);
      return new TextDecoder().decode(bytes.subarray(0, await connection.read(bytes) ?? 0));
    };
    assert.match(await handshake({ origin: "https://elsewhere.org" }), /^HTTP\/1\.1 403 .*other origins/s);
    assert.match(await handshake({}), /^HTTP\/1\.1 400 .*not a WebSocket handshake/s);

    const slow = fetch(`${server.url}/predict`, {
      ...{ method: "POST", body: table(70, false), headers: { "content-type": "text/csv" } },
    });
    while (service.predictions.count === 0) await new Promise((resolve) => setTimeout(resolve));
    const end = next(socket);
    await server.shutdown();
    assert.equal(await end, 1001);
    assert.equal((await (await slow).json()).answers.length, 70, "pending requests are answered");
    await assert.rejects(
      Deno.connect({ port: Number(new URL(server.url).port) }),
      Deno.errors.ConnectionRefused,
    );
  }),
);

testLong(
  "/stream returns 501 for a model that was not trained online",
  withFolder(async (folder) => {
    const service = serviceOf(await trainedRun(folder));
    const response = await handlerOf(service)(new Request("http://127.0.0.1/stream"));
    assert.equal(response.status, 501);
    assert.match(
      (await response.json()).detail,
      /not trained online; POST \/predict takes whole series/,
    );
  }),
);

testLong(
  "a model with an adaptive method returns 501 for /stream and predicts whole series",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true, model: "neural-cde", method: "dopri5" });
    const handler = handlerOf(serviceOf(run, { log: (error) => assert.fail(`${error}`) }));
    const response = await handler(new Request("http://127.0.0.1/stream"));
    assert.equal(response.status, 501);
    assert.match(
      (await response.json()).detail,
      /neural-cde with the method dopri5 reads only whole series/,
    );
    const headers = { "content-type": "text/csv" };
    const request = new Request("http://127.0.0.1/predict", {
      method: "POST",
      body: table(2, false),
      headers,
    });
    assert.equal((await handler(request)).status, 200);
  }),
);

testLong(
  "connections with slow or large headers, and the longest idle connection beyond the limit, are closed",
  withFolder(async (folder) => {
    const limits = { headerSeconds: 1, headerBytes: 2000, connections: 3 };
    const server = await startServer(serviceOf(await trainedRun(folder), { limits }), {
      host: "127.0.0.1",
      port: 0,
    });
    const responseTo = async (text: string) => {
      using connection = await Deno.connect({ port: Number(new URL(server.url).port) });
      await connection.write(new TextEncoder().encode(text));
      return await new Response(connection.readable).text().catch(() => "");
    };
    const incomplete = "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n";
    const first = responseTo(incomplete);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const [half, third, fourth] = await Promise.all([incomplete, "GET", incomplete].map(responseTo));
    assert.equal(await first, "");
    for (const late of [half, third, fourth]) assert.match(late, /^HTTP\/1\.1 408 /);
    const silent = new Promise((resolve) =>
      setTimeout(() => resolve("a silent connection stays open"), 10_000)
    );
    assert.equal(await Promise.race([responseTo(""), silent]), "");
    assert.match(await responseTo(`${incomplete}a: ${"b".repeat(3000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
    for (const more of ["1.0", "1.1\r\nhost: a\r\nconnection: close, upgrade\r\nupgrade: h2c"]) {
      assert.match(await responseTo(`GET /health HTTP/${more}\r\n\r\n`), /"ok"/);
    }
    await server.shutdown();
  }),
);
