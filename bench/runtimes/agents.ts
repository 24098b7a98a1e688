/** Agents in several JavaScript runtimes, which a server on this machine commands. */
import type { Command, Times } from "./agent.ts";

/** A runtime, and switches of its V8. */
export interface Runtime {
  readonly name: string;
  readonly flags: readonly string[];
}

/** A running agent. */
export interface Agent {
  ask(command: NonNullable<Command>): Promise<Times>;
  stop(): Promise<void>;
}

/** Node's versions are those of the npm package `node`. */
const starts: Readonly<
  Record<string, (script: string, address: string, flags: readonly string[], folder: string) => Deno.Command>
> = {
  "Deno": (script, address, flags) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "--no-config", "--no-lock", script, address],
      // V8 rejects an empty string.
      env: { DENO_V8_FLAGS: ["--expose-gc", ...flags].join(",") },
    }),
  "Node 22": (script, address, flags) => node("22", script, address, flags),
  "Node 26": (script, address, flags) => node("26", script, address, flags),
  "Chromium": (_script, address, flags, folder) =>
    new Deno.Command("chromium", {
      args: [
        ...["--headless=new", "--no-sandbox", "--disable-gpu", `--user-data-dir=${folder}`],
        ...flags.length > 0 ? [`--js-flags=${flags.join(" ")}`] : [],
        address,
      ],
      stdout: "null",
      stderr: "null",
    }),
};

function node(version: string, script: string, address: string, flags: readonly string[]): Deno.Command {
  return new Deno.Command("npx", { args: ["-y", `node@${version}`, ...flags, script, address] });
}

/** Names of the runtimes. */
export const runtimeNames: readonly string[] = Object.keys(starts);

/** Headers that isolate a page from other origins, so that it has shared memory. */
const isolation = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** Starts an agent from a folder with `agent.js` and the programs. */
export async function startAgent({ name, flags }: Runtime, folder: string): Promise<Agent> {
  /** Requests of the agent and answers to them, in turns. */
  let [received, respond] = [Promise.withResolvers<Times>(), Promise.withResolvers<Command>()];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (request.method === "POST") {
      const body = await request.text();
      received.resolve(body === "" ? { seconds: [] } : JSON.parse(body));
      return Response.json(await respond.promise);
    }
    const isPage = pathname === "/";
    const content = isPage
      ? '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/agent.js"></script>'
      : await Deno.readTextFile(`${folder}${pathname}`).catch(() => "");
    const type = isPage ? "text/html" : "text/javascript";
    return new Response(content, { headers: { ...isolation, "content-type": type } });
  });
  const profile = await Deno.makeTempDir();
  const address = `http://127.0.0.1:${server.addr.port}/`;
  const child = starts[name](`${folder}/agent.js`, address, flags, profile).spawn();
  const exited = child.status.then(({ code }) => {
    throw new Error(`${name} ${flags.join(" ")} ended with code ${code}`);
  });
  exited.catch(() => {});
  const answered = () => Promise.race([received.promise, exited]);
  await answered();
  return {
    async ask(command) {
      const send = respond.resolve;
      [received, respond] = [Promise.withResolvers(), Promise.withResolvers()];
      send(
        "program" in command && name !== "Chromium"
          ? { program: `file://${folder}${command.program}` }
          : command,
      );
      const times: Times & { error?: string } = await answered();
      if (times.error !== undefined) throw new Error(`${name}: ${times.error}`);
      return times;
    },
    async stop() {
      respond.resolve(null);
      if (name === "Chromium") child.kill();
      await child.status;
      await server.shutdown();
      await Deno.remove(profile, { recursive: true }).catch(() => {});
    },
  };
}
