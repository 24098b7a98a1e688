/** Internal errors of a server are distinguished from faults in the caller's data. */
import type { TrainedModel } from "../../src/series/trained_model.ts";
import assert from "node:assert/strict";
import { handlerOf, type Message, type Service, serviceOf, startServer } from "../../src/serve/mod.ts";
import { DataError } from "../../src/data/mod.ts";
import type { TrainedRun } from "../../src/train/mod.ts";
import { cpu } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";
import { table, trainedRun } from "./served.ts";

const address = "http://127.0.0.1:8000";
const csv = table(3, false);

/** Internal failures of a server. Each message contains a secret. */
const failures: Record<string, unknown> = {
  "an error": new Error("the GPU was lost: secret"),
  "a worker that failed": new Error("worker secret failed"),
  "memory that is used up": new RangeError("WebAssembly.Memory.grow(): secret"),
  "shapes that do not fit": Object.assign(new Error("secret (2, 3)"), { name: "ShapeError" }),
  "an error of a type": new TypeError("secret is undefined"),
  "a trap": new WebAssembly.RuntimeError("secret: unreachable"),
  "a file that is not there": new Deno.errors.NotFound("/home/secret"),
  "an error that only calls itself one about data": Object.assign(new Error("secret"), { name: "DataError" }),
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
  const told: Message[] = [];
  await service.streams.take(JSON.stringify(message), { send: (message) => told.push(message) });
  return told[0];
};

const observation = (time: number) => ({ series: "a", time, values: { x: 1, ward: "er" } });

async function healthOf(service: Service): Promise<[number, string]> {
  const response = await handlerOf(service)(new Request(`${address}/health`));
  return [response.status, (await response.json()).status];
}

Deno.test(
  "an internal error is answered with 500 and no detail, logged, and told by /health until the next prediction",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    let asked = 0;
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
          asked++;
        }
        if (place !== "predicting") {
          if (place === "saving a stream") await ask(service, observation(0));
          const told = await ask(
            service,
            place === "saving a stream" ? { type: "save", series: "a" } : observation(1),
          );
          assert.equal(told.type, "error", where);
          assert.doesNotMatch(JSON.stringify(told), /secret/, where);
          assert.deepEqual(logged.splice(0), [reason], where);
          asked++;
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
    assert.equal(asked, 6 * Object.keys(failures).length);
  }),
);

Deno.test(
  "a device without memory fails the server and not its clients, and changes no series",
  withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    const logged: unknown[] = [];
    const service = serviceOf(run, { log: (error) => logged.push(error) });
    const clean = run.model.stream!("a");
    const next = async (time: number) => await clean.push(time, [1, 1, 0]);
    const answered = async (time: number) => {
      const told = await ask(service, observation(time));
      assert.equal(told.type, "answer", JSON.stringify(told));
      return (told as Extract<Message, { type: "answer" }>).answer;
    };
    for (const time of [0, 1]) assert.deepEqual(await answered(time), await next(time));
    const { allocate } = cpu;
    cpu.allocate = () => {
      throw new RangeError("out of memory");
    };
    try {
      assert.equal((await handlerOf(service)(post(csv))).status, 500);
      const told = await ask(service, observation(2));
      assert.equal(
        (told as { detail: string }).detail,
        "the server failed; the reason is in the log of the server",
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

Deno.test(
  "a solve that fails on the numbers of a request is a fault of the request",
  withFolder(async (folder) => {
    for (const [model, method] of [["warp"], ["neural-cde", "dopri5"]]) {
      const own = `${folder}/${model}-${method}`;
      await Deno.mkdir(own);
      const run = await trainedRun(own, { model, ...(method ? { method } : {}) });
      const handler = handlerOf(serviceOf(run, { log: (error) => assert.fail(`${error}`) }));
      const response = await handler(post("series,time,x,ward\na,0,1,er\na,1,3e38,er\na,2,-3e38,er\n"));
      const text = await response.text();
      assert.equal(response.status, 422, text);
      assert.match(text, /series \\"a\\": the model's prediction is not a number/);
      assert.equal((await handler(post(csv))).status, 200);
    }
  }),
);

Deno.test(
  "a server whose device fails before the first request says so from its start",
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
