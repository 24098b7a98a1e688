/** Internal errors of a server are distinguished from faults in the caller's data. */
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import assert from "node:assert/strict";
import { handlerOf, type Message, type Service, serviceOf, startServer } from "../../src/serve/mod.ts";
import { DataError } from "../../src/data/mod.ts";
import type { TrainedRun } from "../../src/train/mod.ts";
import { cpu, testLong } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";
import { table, trainedRun } from "./served.ts";

const address = "http://127.0.0.1:8000";
const csv = table(3, false);

/** Internal failures of a server. Each message contains a secret. */
const failures: Record<string, unknown> = {
  "an error": new Error("the GPU was lost: secret"),
  "a failed worker": new Error("worker secret failed"),
  "exhausted memory": new RangeError("WebAssembly.Memory.grow(): secret"),
  "incompatible shapes": Object.assign(new Error("secret (2, 3)"), { name: "ShapeError" }),
  "a TypeError": new TypeError("secret is undefined"),
  "a trap": new WebAssembly.RuntimeError("secret: unreachable"),
  "a missing file": new Deno.errors.NotFound("/home/secret"),
  "an unrelated error with the name DataError": Object.assign(new Error("secret"), { name: "DataError" }),
  "a text": "secret",
  "nothing": undefined,
};

type Model = TrainedRun<TrainedModel>["model"];

/** Places in a model where an error is thrown. */
const places: Record<string, (model: Model, fail: () => Promise<never>) => Partial<Model>> = {
  "reading series": (_, fail) => ({ series: fail }),
  "predicting": (_, fail) => ({ predict: fail }),
  "opening a stream": (_, fail) => ({
    stream: () => {
      throw reasonOf(fail);
    },
  }),
  "an observation": (model, fail) => ({
    stream: (...args) => ({ ...model.stream!(...args), push: fail }),
  }),
  "saving a stream": (model, fail) => ({
    stream: (...args) => ({ ...model.stream!(...args), save: fail }),
  }),
};

const reasons = new WeakMap<() => Promise<never>, unknown>();
const reasonOf = (fail: () => Promise<never>) => reasons.get(fail);

const post = (body: string) =>
  new Request(`${address}/predict`, { method: "POST", body, headers: { "content-type": "text/csv" } });

const ask = async (service: Service, message: object): Promise<Message> => {
  const answer: Message[] = [];
  await service.streams.take(JSON.stringify(message), { send: (message) => answer.push(message) });
  return answer[0];
};

const observation = (time: number) => ({ series: "a", time, values: { x: 1, ward: "er" } });

async function healthOf(service: Service): Promise<[number, string]> {
  const response = await handlerOf(service)(new Request(`${address}/health`));
  return [response.status, (await response.json()).status];
}

testLong(
  "an internal error returns 500 without details, is logged, and fails /health until the next successful prediction",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    let failedRequests = 0;
    for (const [what, reason] of Object.entries(failures)) {
      for (const [place, failing] of Object.entries(places)) {
        const fail = () => Promise.reject(reason);
        reasons.set(fail, reason);
        let isBroken = true;
        const broken = failing(run.model, fail);
        // The methods are looked up at each call, so that the device can fail and recover.
        const choose = (name: "series" | "predict" | "stream") => (...args: unknown[]) => {
          const method = isBroken && broken[name] || run.model[name];
          return (method as (...args: unknown[]) => unknown)(...args);
        };
        const model = {
          ...run.model,
          series: choose("series"),
          predict: choose("predict"),
          stream: choose("stream"),
        };
        const logged: unknown[] = [];
        const service = serviceOf({ ...run, model: model as Model }, { log: (error) => logged.push(error) });
        const where = `${what}, ${place}`;
        assert.deepEqual(await healthOf(service), [200, "ok"]);
        if (place === "reading series" || place === "predicting") {
          const response = await handlerOf(service)(post(csv));
          const text = await response.text();
          assert.equal(response.status, 500, `${where}: ${text}`);
          assert.doesNotMatch(text, /secret/, where);
          assert.deepEqual(logged.splice(0), [reason], where);
          assert.deepEqual(await healthOf(service), [503, "failing"], where);
          assert.match(service.metrics.requests.text(), /status="500"/);
          failedRequests++;
        }
        if (place !== "predicting") {
          if (place === "saving a stream") await ask(service, observation(0));
          const answer = await ask(
            service,
            place === "saving a stream" ? { type: "save", series: "a" } : observation(1),
          );
          assert.equal(answer.type, "error", where);
          assert.doesNotMatch(JSON.stringify(answer), /secret/, where);
          assert.deepEqual(logged.splice(0), [reason], where);
          failedRequests++;
        }
        if (place === "opening a stream") {
          const state = { type: "restore", series: "a", state: { count: 1 } };
          assert.doesNotMatch(JSON.stringify(await ask(service, state)), /secret/, where);
          assert.deepEqual(logged.splice(0), [reason], where);
        }
        assert.deepEqual(await healthOf(service), [503, "failing"], where);
        // Neither a rejected request nor a page shows that predictions work.
        assert.equal(
          (await handlerOf(service)(post(csv.replace("time", "when")))).status,
          place === "reading series" ? 500 : 422,
        );
        logged.length = 0;
        for (const path of ["/", "/latest", "/metrics", "/openapi.json"]) {
          await (await handlerOf(service)(new Request(address + path))).body?.cancel();
        }
        assert.deepEqual(await healthOf(service), [503, "failing"], where);
        isBroken = false;
        if (place === "an observation") {
          assert.equal((await ask(service, observation(2))).type, "answer", where);
        } else assert.equal((await handlerOf(service)(post(csv))).status, 200, where);
        assert.deepEqual(await healthOf(service), [200, "ok"], where);
        assert.deepEqual(logged, [], where);
      }
    }
    assert.equal(failedRequests, 6 * Object.keys(failures).length);
  }),
);

testLong(
  "out-of-memory errors are reported as server errors and do not change any series",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const logged: unknown[] = [];
    const service = serviceOf(run, { log: (error) => logged.push(error) });
    const clean = run.model.stream!("a");
    const next = async (time: number) => await clean.push(time, [1, 1, 0]);
    const answered = async (time: number) => {
      const answer = await ask(service, observation(time));
      assert.equal(answer.type, "answer", JSON.stringify(answer));
      return (answer as Extract<Message, { type: "answer" }>).answer;
    };
    for (const time of [0, 1]) assert.deepEqual(await answered(time), await next(time));
    const { allocate } = cpu;
    cpu.allocate = () => {
      throw new RangeError("out of memory");
    };
    try {
      assert.equal((await handlerOf(service)(post(csv))).status, 500);
      const answer = await ask(service, observation(2));
      assert.equal(
        (answer as { detail: string }).detail,
        "the server failed; the server's log has the reason",
      );
    } finally {
      cpu.allocate = allocate;
    }
    assert.deepEqual(logged.map((error) => (error as Error).message), ["out of memory", "out of memory"]);
    assert.deepEqual(await healthOf(service), [503, "failing"]);
    for (const time of [2, 3]) assert.deepEqual(await answered(time), await next(time));
    assert.deepEqual(await healthOf(service), [200, "ok"]);
  }),
);

testLong(
  "a solve that diverges on the values of a request returns 422",
  withFolder(async (folder) => {
    for (const [model, method] of [["warp"], ["neural-cde", "dopri5"]]) {
      const modelFolder = `${folder}/${model}-${method}`;
      await Deno.mkdir(modelFolder);
      const run = await trainedRun(modelFolder, { model, ...(method ? { method } : {}) });
      const handler = handlerOf(serviceOf(run, { log: (error) => assert.fail(`${error}`) }));
      const response = await handler(post("series,time,x,ward\na,0,1,er\na,1,3e38,er\na,2,-3e38,er\n"));
      const text = await response.text();
      assert.equal(response.status, 422, text);
      assert.match(text, /series \\"a\\": the model's prediction is not a number/);
      assert.equal((await handler(post(csv))).status, 200);
    }
  }),
);

testLong(
  "/health fails from the start if the device fails before the first request",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const start = async (reason: Error) => {
      const logged: unknown[] = [];
      const stream: Model["stream"] = (series) => ({
        series,
        push: () => Promise.reject(reason),
        save: () => Promise.reject(reason),
      });
      const service = serviceOf({ ...run, model: { ...run.model, stream } }, {
        log: (error) => logged.push(error),
      });
      const server = await startServer(service, { host: "127.0.0.1", port: 0 });
      const response = await fetch(`${server.url}/health`);
      await server.shutdown();
      return [response.status, (await response.json()).status, logged];
    };
    const lost = new Error("the GPU was lost");
    assert.deepEqual(await start(lost), [503, "failing", [lost]]);
    assert.deepEqual(await start(new DataError("no-prediction", "no prediction for means")), [200, "ok", []]);
  }),
);
