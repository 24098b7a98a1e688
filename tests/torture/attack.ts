import { init } from "../../src/compile/init.ts";
import type { CaseResult } from "./cases.ts";
import { makeWorld } from "./world.ts";

/** Extent of the attack. */
interface AttackOptions {
  readonly seed: number;
  /** The number of the first case. */
  readonly from: number;
  readonly cases: number;
  /** Seconds after which no more cases start. */
  readonly seconds: number;
  /** Processes that run cases. */
  readonly processes: number;
  /** Called after each case. */
  readonly onResult?: (result: CaseResult & { readonly number: number }) => void;
}

/** Time limit of a case in milliseconds. */
const timeLimit = 60_000;

/** Runs cases, and returns their number. */
export async function attack(options: AttackOptions): Promise<number> {
  const { seed, from, cases, seconds, processes, onResult } = options;
  const folder = await Deno.makeTempDir({ prefix: "torture" });
  try {
    await init({ device: "cpu" });
    const file = `${folder}/world.json`;
    await Deno.writeTextFile(file, JSON.stringify(await makeWorld(folder)));
    const end = performance.now() + 1000 * seconds;
    let next = from;
    const serve = async () => {
      let server: Server | undefined;
      while (next < from + cases && performance.now() < end) {
        const number = next++;
        server ??= new Server([file, `${seed}`, `${folder}/scratch`]);
        const result = await server.run(number);
        onResult?.({ number, ...result });
        if (server.hasEnded) server = undefined;
      }
      await server?.end();
    };
    await Promise.all(Array.from({ length: processes }, serve));
    return next - from;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A process that runs cases one after another. */
class Server {
  hasEnded = false;
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #output: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;

  constructor(args: readonly string[]) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", new URL("server.ts", import.meta.url).pathname, ...args],
      cwd: new URL("../..", import.meta.url),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#output = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#process.stderr).text();
  }

  async run(number: number): Promise<CaseResult> {
    await this.#input.write(new TextEncoder().encode(`${number}\n`));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => timer = setTimeout(() => resolve("late"), timeLimit));
    let text = "";
    while (!text.endsWith("\n")) {
      const turn = await Promise.race([this.#output.read(), late]);
      if (turn === "late" || turn.done) {
        this.hasEnded = true;
        if (turn === "late") this.#process.kill("SIGKILL");
        const { code } = await this.#process.status;
        clearTimeout(timer);
        const fault = turn === "late"
          ? `no result after ${timeLimit / 1000} s`
          : `the process ended with status ${code}: ${await this.#errors}`;
        return { family: "any", what: "", fault };
      }
      text += turn.value;
    }
    clearTimeout(timer);
    return JSON.parse(text);
  }

  async end(): Promise<void> {
    await this.#input.close();
    await this.#process.status;
  }
}
