/** Memory and time that clients of a server can take. */
import assert from "node:assert/strict";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import { accountOf, memoryUses, shares } from "../../src/serve/account.ts";
import { batchesOf } from "../../src/serve/predictions/compute.ts";
import { predictionsOf } from "../../src/serve/predictions/predictions.ts";
import { RequestError } from "../../src/serve/http/problem.ts";
import { queueOf } from "../../src/serve/predictions/queue.ts";
import {
  connectionsWithin,
  handlerOf,
  type Limits,
  limitsOf,
  type Service,
  serviceOf,
  startServer,
} from "../../src/serve/mod.ts";
import { withFolder } from "../tasks/command_line.ts";
import {
  connect,
  frame,
  get,
  handshake,
  post,
  type RawConnection,
  tableOf,
} from "../torture/serving/client.ts";
import { table, trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

const isBusy = (error: unknown) =>
  error instanceof RequestError && error.status === 503 && error.headers["retry-after"] === "1";

Deno.test("the account rejects bytes above the share of a use, and counts everything that is returned", () => {
  const account = accountOf(1000);
  const reserved = account.used;
  assert.ok(memoryUses.reduce((sum, use) => sum + shares[use], 0) <= 1 + 1e-9, "the shares exceed the total");
  for (const use of memoryUses.filter((use) => use !== "predictions")) {
    const most = shares[use] * 1000;
    const charges = [account.take(use, most - 10), account.take(use, 10)];
    assert.throws(() => account.take(use, 1), isBusy);
    assert.equal(account.usedBy(use), most);
    for (const charge of [...charges, ...charges]) charge[Symbol.dispose]();
    assert.equal(account.used, reserved, use);
  }
  assert.equal(account.refused, memoryUses.length - 1);
  // Unread answers are dropped for new ones, as long as there are any.
  const unread = [account.take("answers", 100), account.take("answers", 100)];
  account.onShort(() => {
    const freed = unread.shift();
    freed?.[Symbol.dispose]();
    return freed !== undefined;
  });
  account.take("answers", 150);
  assert.equal(unread.length, 0);
  assert.throws(() => account.take("answers", 60), isBusy);
});

Deno.test("batches have limited numbers of series and rows, and keep the order", () => {
  const series = (lengths: number[]) =>
    lengths.map((length, i) => ({
      name: `${i}`,
      times: new Float64Array(length),
      values: new Float64Array(),
      label: -1,
    }));
  for (
    const lengths of [[], [1], [10_000], Array(200).fill(3), Array(9).fill(10_000), [1, 10_000, 1, 1, 9000], [
      5000,
      1,
    ]]
  ) {
    const batches = [...batchesOf(series(lengths))];
    assert.deepEqual(batches.flat().map(({ name }) => name), lengths.map((_, i) => `${i}`));
    for (const batch of batches) {
      const rows = batch.length * Math.max(...batch.map(({ times }) => times.length));
      assert.ok(
        batch.length <= 64 && (batch.length === 1 || rows <= 16_384),
        `${batch.length} series, ${rows} rows`,
      );
    }
  }
});

Deno.test("a small request does not wait for large ones, and a small body that becomes large is a large one", async () => {
  const limits = limitsOf({ smallBodyBytes: 100, bodyBytes: 1000, predictions: 2 });
  const large = Promise.withResolvers<void>();
  const answerOf = (text: string) => ({
    body: new TextEncoder().encode(text),
    headers: {},
    count: 1,
    latest: [],
  });
  const predictions = predictionsOf({
    small: ({ bytes, mostBytes }) => {
      if (bytes[0] === 0x1f) throw new RequestError(413, `more than ${mostBytes}`);
      return Promise.resolve(answerOf("small"));
    },
    large: async () => {
      await large.promise;
      return answerOf("large");
    },
  }, limits);
  const ask = async (bytes: Uint8Array) => {
    const job = { bytes, kind: "text", notation: {}, form: "json" } as const;
    return new TextDecoder().decode((await predictions.answer(job, new AbortController().signal)).body);
  };
  const slow = [ask(new Uint8Array(101)), ask(Uint8Array.of(0x1f, 0x8b))];
  await new Promise((resolve) => setTimeout(resolve));
  await assert.rejects(ask(new Uint8Array(101)), isBusy);
  assert.equal(await ask(new Uint8Array(100)), "small");
  large.resolve();
  assert.deepEqual(await Promise.all(slow), ["large", "large"]);
});

Deno.test("a request leaves the queue when its client disconnects, and the others keep their order", async () => {
  const queue = queueOf(4);
  const first = Promise.withResolvers<void>();
  const started: number[] = [];
  const clients = [0, 1, 2, 3].map(() => new AbortController());
  const jobs = clients.map(({ signal }, i) =>
    queue.run(async () => {
      started.push(i);
      if (i === 0) await first.promise;
      return i;
    }, signal)
  );
  const results = Promise.allSettled(jobs);
  await assert.rejects(queue.run(() => Promise.resolve(), clients[0].signal), isBusy);
  clients[1].abort();
  await assert.rejects(jobs[1], /the client disconnected/);
  assert.equal(queue.count, 3);
  const last = queue.run(() => Promise.resolve(4), clients[0].signal);
  // A job that has started is not interrupted here.
  clients[0].abort();
  first.resolve();
  assert.equal(await last.catch(({ message }) => message), "the client disconnected");
  assert.deepEqual((await results).map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "fulfilled",
    "fulfilled",
  ]);
  assert.deepEqual(started, [0, 2, 3]);
  await queue.idle();
  assert.equal(queue.count, 0);
});

/** Runs a test with a server that has few memory. */
function withServer(
  limits: Partial<Limits>,
  body: (service: Service, port: number) => Promise<void>,
  changed: (model: TrainedModel) => TrainedModel = (model) => model,
): () => Promise<void> {
  return withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const service = serviceOf({ ...run, model: changed(run.model) }, {
      limits,
      log: (error) => assert.fail(`${error}`),
    });
    const server = await startServer(service, { host: "127.0.0.1", port: 0 });
    try {
      await body(service, Number(new URL(server.url).port));
    } finally {
      await server.shutdown(0);
    }
  });
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits until a condition holds, at most ten seconds. */
async function untilTrue(condition: () => boolean): Promise<void> {
  for (let waits = 0; !condition() && waits < 200; waits++) await pause(50);
  assert(condition(), `after ten seconds, not yet: ${condition}`);
}

/** The answer to a request on a new connection. */
async function answerTo(port: number, request: string): Promise<string> {
  using connection = await connect(port);
  await connection!.write(request.replace("\r\n", "\r\nconnection: close\r\n"), 5000);
  return await connection!.read(30_000);
}

async function opened(port: number, count: number): Promise<RawConnection[]> {
  return await Promise.all(Array.from({ length: count }, async () => (await connect(port))!));
}

testLong(
  "requests of a connection are answered one after another, and none is read while an answer is unread",
  withServer({ memory: 2 ** 25 }, async (service, port) => {
    using read = await connect(port);
    const writing = read!.write(get("/health").repeat(500) + get("/health", "connection: close\r\n"), 5000);
    const answers = await read!.read(10_000);
    await writing;
    assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 501);
    using unread = new DisposableStack();
    const connections = await opened(port, 8);
    for (const connection of connections) unread.use(connection);
    const requests = get("/openapi.json").repeat(20_000);
    await Promise.all(connections.map((connection) => connection.write(requests, 1000)));
    await pause(1000);
    const used = service.account.usedBy("connections") + service.account.usedBy("answers");
    assert.ok(used < 8 * 2 ** 18, `${used} bytes`);
    // The system has buffers for some of the answers.
    const [, answered] = /route="\/openapi.json",status="200"} (\d+)/.exec(service.metrics.requests.text())!;
    assert.ok(Number(answered) < 8 * 5000, `${answered} requests were answered`);
    assert.match(await answerTo(port, get("/health")), /"ok"/);
  }),
);

testLong(
  "a connection that has sent nothing is replaced before one that had an answer",
  withServer({ connections: 4 }, async (_, port) => {
    using answered = await Deno.connect({ port });
    const ask = async () => {
      await answered.write(new TextEncoder().encode(get("/health")));
      const part = new Uint8Array(2 ** 12);
      return new TextDecoder().decode(part.subarray(0, await answered.read(part) ?? 0));
    };
    assert.match(await ask(), /"ok"/);
    using silent = new DisposableStack();
    for (const connection of await opened(port, 3)) silent.use(connection);
    // Long enough that either could be replaced.
    await pause(600);
    assert.match(await answerTo(port, get("/health")), /"ok"/);
    assert.match(await ask(), /"ok"/);
  }),
);

testLong(
  "unread answers are dropped when memory is short, and other clients are answered",
  withServer({ memory: 2 ** 27 }, async (service, port) => {
    using unread = new DisposableStack();
    const ask = post(table(2, false));
    const answers = Array.from({ length: 10 }, async () => {
      const [connection] = await opened(port, 1);
      await unread.use(connection).write(ask, 5000);
    });
    await Promise.all(answers);
    while (service.predictions.count > 0) await pause(5);
    assert.ok(service.account.usedBy("answers") <= shares.answers * 2 ** 27);
    let answer = "";
    for (let attempt = 0; attempt < 10 && !answer.startsWith("HTTP/1.1 200 "); attempt++) {
      await pause(1100);
      answer = await answerTo(port, ask);
    }
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.ok(answer.length > 1e7);
  }, (model) => ({
    ...model,
    predict: ({ series }) =>
      Promise.resolve(
        series.map(({ name }) => ({
          series: name,
          label: "x".repeat(6e6),
          probability: 1,
          probabilities: {},
        })),
      ),
  })),
);

testLong(
  "WebSockets that do not read their answers are not read, and hold little memory",
  withServer({ memory: 2 ** 26, unreadBytes: 2 ** 14 }, async (service, port) => {
    using sockets = new DisposableStack();
    const connections = await opened(port, 10);
    const save = frame({ type: "save", series: "a" });
    const many = Uint8Array.from({ length: 40_000 * save.length }, (_, i) => save[i % save.length]);
    await Promise.all(connections.map(async (connection) => {
      sockets.use(connection);
      await connection.write(handshake, 1000);
      await connection.write(frame({ series: "a", time: Math.random(), values: { x: 1, ward: "er" } }), 1000);
      await connection.write(many, 2000);
    }));
    await untilTrue(() => service.sockets.count === 10);
    await pause(1000);
    const used = service.account.usedBy("answers");
    assert.ok(used < 10 * 2 ** 21, `${used} bytes`);
    assert.match(await answerTo(port, get("/health")), /"ok"/);
  }),
);

testLong(
  "names of more than 256 characters are rejected, and long answers are not among the latest",
  withFolder(async (folder) => {
    const service = serviceOf(await trainedRun(folder));
    const handler = handlerOf(service);
    const send = (text: string, type = "text/csv") =>
      handler(
        new Request("http://127.0.0.1/predict", {
          method: "POST",
          body: text,
          headers: { "content-type": type },
        }),
      );
    const named = (name: string) => table(1, false).replaceAll("s0", name);
    assert.equal((await send(named("n".repeat(256)))).status, 200);
    for (const length of [257, 2 ** 20]) {
      const response = await send(named("n".repeat(length)));
      assert.equal(response.status, 422);
      const text = await response.text();
      assert.match(text, new RegExp(`a name of ${length} characters, expected up to 256`));
      assert.ok(text.length < 1000);
    }
    const series = [{ name: "n".repeat(300), times: [0], values: { x: 1, ward: "er" } }];
    assert.equal((await send(JSON.stringify({ series }), "application/json")).status, 422);
    for (let i = 0; i < 30; i++) await send(named("n".repeat(256)));
    assert.equal(service.latest.length, 20);
    const latest = await (await handler(new Request("http://127.0.0.1/latest"))).text();
    assert.ok(latest.length < 20 * 2 ** 16, `${latest.length} characters`);
    service.onPredictions([{
      series: "x",
      times: [],
      channels: { a: { mean: Array(1e5).fill(1), quantiles: {} } },
    }], 1);
    assert.equal(service.latest[0].answer.series, "n".repeat(256));
  }),
);

Deno.test(
  "tables of too many series, and answers that are too long, are rejected before they take memory",
  withFolder(async (folder) => {
    const run = await trainedRun(folder);
    const status = async (limits: Partial<Limits>, body: string) => {
      const headers = { "content-type": "text/csv" };
      const request = new Request("http://127.0.0.1/predict", { method: "POST", body, headers });
      const response = await handlerOf(serviceOf(run, { limits }))(request);
      return `${response.status} ${(await response.json()).detail}`;
    };
    assert.match(
      await status({ series: 10 }, tableOf(11, 4)),
      /^422 .*more than 10 series; send the series in parts/,
    );
    assert.match(await status({ series: 10 }, tableOf(10, 4)), /^200/);
    assert.match(await status({ answerBytes: 500 }, tableOf(10, 4)), /^413 an answer of more than 500 bytes/);
    // A small memory lowers the limits of tables.
    const { fields, series, answerBytes } = limitsOf({ memory: 2 ** 20 });
    assert.ok(Math.max(fields, series, answerBytes) < 2 ** 20);
  }),
);

Deno.test("the number of connections is below the number of files that the process can open", async () => {
  const file = await Deno.makeTempFile();
  try {
    assert.equal(connectionsWithin(3, file), 3);
    assert.throws(
      () => connectionsWithin(3, `${file}-missing`),
      /can open only 0 more files, expected at least 65; raise the limit/,
    );
  } finally {
    await Deno.remove(file);
  }
});
