/** A server that is killed again and again, and keeps the states of its streams. */
import { serviceOf } from "../../../src/serve/mod.ts";
import type { Message } from "../../../src/serve/mod.ts";
import { findRun } from "../../../src/train/run/run_folder.ts";
import { openTrained, readRunConfig } from "../../runs.ts";
import { choicesOf } from "../choices.ts";
import { signal } from "../commands.ts";
import { sleep } from "./client.ts";
import { type AttackedServer, startAttacked, trainServed } from "./process.ts";

/** Result of the kills. */
export interface Restarted {
  readonly kills: number;
  /** Number of answered observations. */
  readonly answers: number;
  /** Description of the first difference to a server that is not killed. */
  readonly fault?: string;
}

/** Number of series. */
const count = 20;

/** Longest time until a kill in milliseconds. */
const longest = 2000;

/** Kills a server a number of times while clients send observations, and compares all answers. */
export async function killServers(folder: string, kills: number, seed: number): Promise<Restarted> {
  const run = await trainServed(folder);
  const runFolder = await findRun(run);
  const trained = await openTrained({ ...await readRunConfig(runFolder), device: "cpu" }, runFolder);
  const uninterrupted = serviceOf(trained);
  const choices = choicesOf(seed, 0);
  /** Time of the next observation of each series, and the answer to the last one that was sent. */
  const series = Array.from({ length: count }, (_, i) => ({ name: `s${i}`, time: 0, expected: "" }));
  let answers = 0;
  for (let kill = 0; kill <= kills; kill++) {
    await using server = await startAttacked(run, { args: ["--state", `${folder}/state`] });
    const end = performance.now() + choices.below(longest);
    const results = await Promise.all(series.map((one) => follow(server, one, end)));
    answers += results.reduce((sum, { answered }) => sum + answered, 0);
    const fault = results.find(({ fault }) => fault)?.fault;
    if (fault) return { kills: kill, answers, fault: `after ${kill} kills: ${fault}` };
  }
  return { kills, answers };

  /** Sends observations of a series until a time, when the process is killed. */
  async function follow(server: AttackedServer, one: typeof series[number], end: number) {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/stream`);
    let answered = 0;
    const closed = new Promise<undefined>((resolve) => socket.onclose = () => resolve(undefined));
    await Promise.race([closed, new Promise((resolve) => socket.onopen = resolve)]);
    const killing = sleep(Math.max(0, end - performance.now())).then(() => signal(server.process, "SIGKILL"));
    for (;;) {
      const message = JSON.stringify({
        series: one.name,
        time: one.time,
        values: { x: Math.sin(one.time), ward: one.time % 2 ? "er" : "icu" },
      });
      // An observation without an answer is sent again. The server may have kept it.
      one.expected ||= await answerOf(uninterrupted, message);
      const next = new Promise<string>((resolve) => socket.onmessage = ({ data }) => resolve(data));
      if (socket.readyState === WebSocket.OPEN) socket.send(message);
      const answer = await Promise.race([closed, next]);
      if (answer === undefined) break;
      if (answer !== one.expected && !(answered === 0 && isRepeated(answer, one.time))) {
        return { answered, fault: `${message}: ${answer}, expected ${one.expected}` };
      }
      answered++;
      one.time++;
      one.expected = "";
      await sleep(5);
    }
    await killing;
    return { answered, fault: undefined };
  }
}

/** Whether an answer says that the observation was already kept before the kill. */
function isRepeated(answer: string, time: number): boolean {
  const { type, detail } = JSON.parse(answer);
  return type === "error" && detail.includes(`time ${time}, expected a time later than ${time}`);
}

async function answerOf({ streams }: ReturnType<typeof serviceOf>, message: string): Promise<string> {
  const received: Message[] = [];
  await streams.take(message, { send: (message) => received.push(message) });
  return JSON.stringify(received[0]);
}
