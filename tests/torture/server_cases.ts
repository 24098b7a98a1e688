/** Servers under attack for about a second: other clients must be answered afterwards, and a signal must end the process. */
import type { Choices } from "./choices.ts";
import { signal } from "./commands.ts";
import { attacks } from "./serving/attacks.ts";
import { exchange, get, post, sleep, smallTable } from "./serving/client.ts";
import { startAttacked } from "./serving/process.ts";
import type { World } from "./world.ts";

/** Milliseconds of an attack, until another client is answered, and until a signal ends the process. */
const [attackTime, recoveryTime, endTime] = [1000, 15_000, 15_000];

/** Attacks a server by some of the attacks at once. */
export async function serverCase(
  { served }: World,
  choices: Choices,
): Promise<[what: string, fault?: string]> {
  const all = Object.keys(attacks);
  const names = [...new Set(Array.from({ length: 1 + choices.below(3) }, () => choices.of(all)))];
  const memory = choices.of([32, 128]);
  const descriptors = choices.of([256, 1024]);
  const signals = choices.of([["SIGTERM"], ["SIGINT"], ["SIGTERM", "SIGINT"]] as const);
  const what = `${names.join(", ")}; ${memory} MiB, ${descriptors} descriptors, ${signals.join(", ")}`;
  const args = ["--memory", `${memory}`, "--grace", "1"];
  await using server = await startAttacked(served, { args, descriptors });
  const answerTo = async (request: string): Promise<string> => {
    const late = performance.now() + recoveryTime;
    for (;;) {
      const answer = await exchange(server.port, request);
      if (bodyOf(answer) !== undefined || !server.isRunning || performance.now() > late) return answer;
      await sleep(100);
    }
  };
  const prediction = post(smallTable, "connection: close\r\n");
  const expected = bodyOf(await answerTo(prediction));
  if (expected === undefined) return [what, `no prediction before the attack: ${server.log}`];

  const end = performance.now() + attackTime;
  await Promise.all(names.map((name) => attacks[name](server.port, end)));
  for (const request of [get("/health", "connection: close\r\n"), prediction]) {
    const answer = await answerTo(request);
    if (!server.isRunning) return [what, `the server ended: ${server.log}`];
    const found = bodyOf(answer);
    if (found === undefined) return [what, `no answer after the attack: ${answer.slice(0, 300)}`];
    if (request === prediction && found !== expected) return [what, `${found}, expected ${expected}`];
  }

  for (const name of signals) signal(server.process, name);
  const status = await Promise.race([server.process.status, sleep(endTime)]);
  if (!status) return [what, `the process runs ${endTime / 1000} s after ${signals}`];
  // The process may end before it handles the second signal.
  const isExpected = status.code === 0 || signals.length > 1 && [130, 143].includes(status.code);
  return [what, isExpected ? undefined : `status ${status.code} after ${signals}: ${server.log}`];
}

/** Body of a successful answer. Undefined for another answer. */
function bodyOf(answer: string): string | undefined {
  return answer.startsWith("HTTP/1.1 200") ? answer.split("\r\n\r\n")[1] : undefined;
}
