/** Serves the runs of a folder as pages, on this machine only. */
import { printableLines } from "../device/printable.ts";
import { OptionError } from "../device/errors.ts";
import { readTextIfPresent } from "../files/disk.ts";
import { loopbackNames, requireAccess } from "../serve/http/access.ts";
import { internalFailure, problem, refusalOf, RequestError } from "../serve/http/problem.ts";
import { comparePart, selectionOf } from "./compare_part.ts";
import { livePage, partResponse, reloadResponse, reportResponse, selectionForm } from "./page.ts";
import { noRuns, runPart } from "./run_part.ts";
import { findRuns, runReader, type ViewedRun } from "./runs.ts";

/** A running view. Disposing stops the server. */
export interface View extends AsyncDisposable {
  /** Address of the page, such as `"http://127.0.0.1:8100/"`. */
  readonly url: string;
}

/** Port of the view, unless another process uses it. */
const defaultPort = 8100;

/** The view listens on this address, which other machines cannot reach. */
const host = "127.0.0.1";

/** Milliseconds within which an open page asks for an update. */
const patience = 2500;

/**
 * Starts the view of a folder: of a run, or of a folder of runs.
 *
 * @param port Port; 0 for any free port. By default 8100, or a free port if another process uses 8100.
 * @throws {OptionError} If another process uses the given port.
 */
export function startView(folder: string, port?: number): View {
  const controller = new AbortController();
  let last = -Infinity;
  const handler = viewOf(folder);
  const handle = async (request: Request) => {
    last = performance.now();
    return await handler(request);
  };
  const listen = (port: number) =>
    Deno.serve({ hostname: host, port, signal: controller.signal, onListen: () => {} }, handle);
  const server = listenOn(listen, port);
  return {
    url: `http://${host}:${server.addr.port}/`,
    async [Symbol.asyncDispose]() {
      // An open page asks once more, and gets the report.
      const isOpen = performance.now() - last < patience;
      if (isOpen) await new Promise((resolve) => setTimeout(resolve, patience));
      controller.abort();
      await server.finished;
    },
  };
}

function listenOn(
  listen: (port: number) => Deno.HttpServer<Deno.NetAddr>,
  port?: number,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return listen(port ?? defaultPort);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    if (port === undefined) return listen(0);
    throw new OptionError("invalid-option", `${host}:${port}: another process uses the port`, {
      option: "port",
      fixes: ["choose another port; 0 selects a free port"],
    });
  }
}

/**
 * Handles the requests for a folder: `/` is its run or its runs, and `/run?name=...` one of the runs. The
 * parameter `part` selects the part of the page that changes. A name of a request is only compared with the
 * names of the runs that the folder contains. Never throws: every error becomes a response.
 */
export function viewOf(folder: string): (request: Request) => Promise<Response> {
  const readRun = runReader();
  return async (request) => {
    try {
      if (request.method !== "GET" && request.method !== "HEAD") {
        throw new RequestError(405, "expected GET", { allow: "GET, HEAD" });
      }
      const url = URL.parse(request.url);
      if (!url) throw new RequestError(400, "invalid request address");
      requireAccess(url, request.headers.get("origin"), { hosts: loopbackNames, origins: [] });
      return await respond(folder, url, readRun);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) {
        console.error(printableLines(error instanceof Error ? error.stack ?? error.message : `${error}`));
      }
      return problem(refusal ?? internalFailure);
    }
  };
}

async function respond(
  folder: string,
  { pathname, searchParams: query }: URL,
  readRun: ReturnType<typeof runReader>,
): Promise<Response> {
  const runs = await findRuns(folder);
  if (pathname === "/" && !runs.has("")) {
    const read = await Promise.all([...runs].map(([name, run]) => readRun(name, run)));
    return runsPage(folder, read.filter((run) => run !== undefined), query);
  }
  const name = pathname === "/" ? "" : query.get("name") ?? "";
  const folderOfRun = pathname === "/" || pathname === "/run" ? runs.get(name) : undefined;
  const run = folderOfRun && await readRun(name, folderOfRun);
  if (!run) throw new RequestError(404, "no such page; expected / or /run?name=<run>");
  return await runPage(run, query);
}

/** The report of a run that has ended, or the page of a run in training. */
async function runPage(run: ViewedRun, query: URLSearchParams): Promise<Response> {
  const { state, folder } = run;
  const isReported = state === "complete" || state === "stopped";
  const report = isReported ? await readTextIfPresent(folder.report) : undefined;
  if (query.has("part")) return report === undefined ? partResponse(runPart(run).body) : reloadResponse();
  if (report !== undefined) return reportResponse(report);
  const { title, body } = runPart(run);
  const above = run.name === "" ? "" : '<p><a href="/">All runs</a></p>';
  return livePage({ title, above, part: body });
}

function runsPage(folder: string, runs: readonly ViewedRun[], query: URLSearchParams): Response {
  const selection = selectionOf(query);
  const part = runs.length === 0 ? noRuns(folder) : comparePart(runs, selection);
  if (query.has("part")) return partResponse(part);
  const experiments = [...new Set(runs.map(({ config }) => config.experiment))].sort();
  return livePage({ title: "Runs", above: selectionForm(selection, experiments), part });
}
