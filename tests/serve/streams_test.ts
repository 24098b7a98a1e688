/** Streamed series, without a network. */
import assert from "node:assert/strict";
import { type Limits, type Message, type Service, serviceOf } from "../../src/serve/mod.ts";
import { DataError } from "../../src/device/errors.ts";
import { streamsOf } from "../../src/serve/streams/streams.ts";
import type {
  ClassPrediction,
  FollowedState,
  PredictionStreamState,
} from "../../src/series/record/predictions.ts";
import { withFolder } from "../tasks/command_line.ts";
import { trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

/** A client that sends messages, and the answers of each kind. */
function clientOf({ streams }: Pick<Service, "streams">) {
  const received: Message[] = [];
  const send = async (message: unknown) => {
    const before = received.length;
    await streams.take(typeof message === "string" ? message : JSON.stringify(message), {
      send: (message) => received.push(message),
    });
    return received.slice(before).find(({ type }) => type !== "dropped")!;
  };
  return { received, send };
}

const observation = (series: string, t: number, more: object = {}) => ({
  ...{ series, time: t, values: { x: Math.sin(t), ward: t % 2 ? "icu" : "er" } },
  ...more,
});

const ofClass = (message: Message): ClassPrediction => {
  assert.equal(message.type, "answer", JSON.stringify(message));
  return (message as Extract<Message, { type: "answer" }>).answer as ClassPrediction;
};

function withService(
  limits: Partial<Limits>,
  body: (service: Service) => Promise<void>,
): () => Promise<void> {
  return withFolder(async (folder) => {
    const run = await trainedRun(folder, { online: true });
    await body(serviceOf(run, { limits, log: (error) => assert.fail(`${error}`) }));
  });
}

testLong(
  "each observation is answered like the model's stream, from all earlier observations of its series",
  withService({}, async (service) => {
    const { send } = clientOf(service);
    const streams = { a: service.model.stream!("a"), b: service.model.stream!("b") };
    for (let t = 0; t < 4; t++) {
      for (const [name, stream] of Object.entries(streams)) {
        const row = [Math.sin(t), t % 2 ? 0 : 1, t % 2];
        assert.deepEqual(ofClass(await send(observation(name, t))), await stream.push(t, row));
      }
    }
    const [x, held] = await Promise.all([
      send({ series: "a", time: 9, values: { x: 0.5 } }),
      streams.a.push(9, [0.5, NaN, NaN]),
    ]);
    assert.deepEqual(ofClass(x), held, "an absent column counts as missing");
    assert.equal(service.streams.count, 2);
    assert.deepEqual(service.latest[0].answer, held);
  }),
);

testLong(
  "an answer does not depend on the number of series that are observed at the same time",
  withService({}, async (service) => {
    const alone = await clientOf(service).send(observation("alone", 0));
    for (const count of [2, 5, 17, 40]) {
      const { send } = clientOf(service);
      const answers = await Promise.all(
        Array.from({ length: count }, (_, i) => send(observation(`${count} ${i}`, 0))),
      );
      for (const answer of answers) {
        assert.deepEqual({ ...ofClass(answer), series: "alone" }, ofClass(alone), `${count} series`);
      }
    }
  }),
);

testLong(
  "the least recently observed series is evicted with a notice, and continues from the state in the notice",
  withService({ streams: 2 }, async (service) => {
    const [one, other] = [clientOf(service), clientOf(service)];
    const uninterrupted = service.model.stream!("a");
    for (const t of [0, 1]) {
      await one.send(observation("a", t));
      await uninterrupted.push(t, [Math.sin(t), t % 2 ? 0 : 1, t % 2]);
    }
    await other.send(observation("b", 0));
    await one.send(observation("c", 0));
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(service.streams.count, 2);
    const notice = one.received.find(({ type }) => type === "dropped") as {
      series: string;
      state: PredictionStreamState;
    };
    assert.equal(notice.series, "a");
    assert.ok(!other.received.some(({ type }) => type === "dropped"));
    assert.match(service.metrics.dropped.text(), /^weft_streams_dropped_total 1$/m);
    const state = JSON.parse(JSON.stringify(notice.state));
    assert.deepEqual(await one.send({ type: "restore", series: "a", state }), {
      type: "restored",
      series: "a",
    });
    const answer = ofClass(await one.send(observation("a", 2)));
    assert.deepEqual(answer, await uninterrupted.push(2, [Math.sin(2), 1, 0]));
  }),
);

testLong(
  "concurrent messages about a series take effect in their order",
  withService({}, async (service) => {
    const { received, send } = clientOf(service);
    const [save, drop] = ["save", "drop"].map((type) => ({ type, series: "a" }));
    await Promise.all([observation("a", 0), save, drop, observation("a", 0)].map(send));
    assert.deepEqual(received.map(({ type }) => type).sort(), ["answer", "answer", "dropped", "state"]);
  }),
);

testLong(
  "a rejected first observation creates no series and evicts none",
  withService({ streams: 1 }, async (service) => {
    const nothing = () => Promise.reject(new DataError("empty-series", "nothing is known"));
    const streams = streamsOf({
      ...service,
      model: {
        ...service.model,
        stream: (series, state) =>
          series === "b" ? { series, push: nothing, save: nothing } : service.model.stream!(series, state),
      },
    });
    const { send } = clientOf({ streams });
    await send(observation("a", 0));
    assert.equal((await send(observation("b", 0))).type, "error");
    assert.equal(streams.count, 1);
    assert.equal((await send({ type: "save", series: "a" })).type, "state");
  }),
);

Deno.test(
  "a time without values requests a forecast",
  withService({}, async (service) => {
    const emptyRow = { name: "a", times: [3], values: [NaN, NaN, NaN], label: -1 };
    const pushed: number[][] = [];
    const streams = streamsOf({
      ...service,
      record: { ...service.record, windows: {} as never },
      model: {
        ...service.model,
        series: () => Promise.resolve({ series: [emptyRow] } as never),
        stream: (series) => ({
          series,
          push: (time, values) => {
            pushed.push([time, ...Array.from(values)]);
            return Promise.resolve({ series, times: [], channels: {} });
          },
          save: () => Promise.reject(new Error("unused")),
        }),
      },
    });
    const { send } = clientOf({ streams });
    assert.equal((await send({ series: "a", time: 3, values: {} })).type, "answer");
    assert.deepEqual(pushed, [[3, NaN, NaN, NaN]]);
  }),
);

Deno.test(
  "an invalid message returns an error and does not change the series",
  withService({}, async (service) => {
    const { send } = clientOf(service);
    await send(observation("a", 0));
    await send(observation("a", 1));
    const before = await send({ type: "save", series: "a" });
    const { state } = before as { state: FollowedState };
    const model = state.model as { state: number[] }[];
    const cases: [message: unknown, detail: RegExp][] = [
      ["", /invalid JSON/],
      ["[".repeat(1000), /more than 16 levels/],
      ["3", /expected an object/],
      [{}, /expected series/],
      [{ series: "x".repeat(300) }, /1 to 256 characters/],
      [observation("a", 1), /time 1, expected a time later than 1/],
      [{ ...observation("a", 2), time: null }, /expected time/],
      [{ ...observation("a", 2), time: "2024-05-31" }, /time/],
      [{ ...observation("a", 2), values: {} }, /a value of at least one column/],
      [{ ...observation("a", 2), values: { x: "=1+1" } }, /column "x"/],
      [{ ...observation("a", 2), values: { y: 1 } }, /unknown column "y"/],
      [{ ...observation("a", 2), values: { x: [1] } }, /flatten/],
      [{ ...observation("a", 2), values: { x: 1e39 } }, /up to 3\.4e\+?38/],
      ['{"series":"a","time":2,"values":{"x":1e309}}', /got "1e309"/],
      ['{"series":"a","time":-1E+400,"values":{"x":1}}', /got "-1E\+400"/],
      [{ type: "save", series: "b" }, /no stream of this series/],
      [{ type: "open", series: "a" }, /unknown type/],
      ...[null, {}, { ...state, held: [1] }, { ...state, count: -1 }, { ...state, model: {} }, {
        ...state,
        model: [{ ...model[0], state: model[0].state.with(0, NaN) }, model[1]],
      }, { ...state, model: [{ ...model[0], state: model[0].state.slice(1) }, model[1]] }].map(
        (
          state,
        ): [unknown, RegExp] => [{ type: "restore", series: "a", state }, /expected state|not from a stream/],
      ),
    ];
    for (const [message, detail] of cases) {
      const answer = await send(message);
      assert.equal(answer.type, "error", JSON.stringify(message));
      assert.match((answer as { detail: string }).detail, detail);
    }
    assert.deepEqual(await send({ type: "save", series: "a" }), before);
    await send({ type: "drop", series: "a" });
    assert.equal(service.streams.count, 0);
  }),
);
