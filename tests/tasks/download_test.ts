import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { fetchChecked } from "../../tasks/papers/download.ts";
import { dataSets, type SourceFile } from "../../tasks/papers/data_sets.ts";
import { transferLine } from "../../src/commands/progress.ts";
import { experiments } from "../runs.ts";
import { runTask, withFolder } from "./command_line.ts";

const content = Uint8Array.from({ length: 100_000 }, (_, i) => i * i % 251);
const sha256 = createHash("sha256").update(content).digest("hex");

/** Number of bytes after which a server breaks a connection. It supports ranges if set. */
interface Behaviour {
  breakAt?: number;
  ranges?: boolean;
  status?: number;
}

/** A server of one file. It records the requested ranges. */
async function withServer(
  behaviours: Behaviour[],
  body: (url: string, asked: (string | null)[]) => Promise<void>,
) {
  const asked: (string | null)[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { breakAt = Infinity, ranges = true, status = 200 } = behaviours[asked.length] ?? {};
    const range = request.headers.get("range");
    asked.push(range);
    if (status !== 200) return new Response(null, { status });
    const from = ranges && range ? Number(/^bytes=(\d+)-$/.exec(range)![1]) : 0;
    const total = content.length;
    if (from >= total) {
      return new Response(null, { status: 416, headers: { "content-range": `bytes */${total}` } });
    }
    // Sending fewer bytes than announced breaks the connection.
    return new Response(new Blob([content.slice(from, Math.min(breakAt, total))]).stream(), {
      status: ranges && range ? 206 : 200,
      headers: {
        "content-length": `${total - from}`,
        ...(ranges && range ? { "content-range": `bytes ${from}-${total - 1}/${total}` } : {}),
      },
    });
  });
  await body(`http://127.0.0.1:${server.addr.port}/file`, asked);
}

const quick = { pause: 1 };

function fileAt(url: string, digest = sha256): SourceFile {
  return { path: "set/file.bin", url, size: content.length, digest: { algorithm: "sha256", hex: digest } };
}

Deno.test(
  "a file that breaks off is gone on from where it broke, within a call and in the next",
  withFolder((folder) =>
    withServer([{ breakAt: 40_000 }, { breakAt: 70_000 }, { status: 404 }], async (url, asked) => {
      await assert.rejects(fetchChecked(fileAt(url), folder, quick), /404.*call it again to go on/);
      await fetchChecked(fileAt(url), folder, quick);
      assert.deepEqual(asked, [null, "bytes=40000-", "bytes=70000-", "bytes=70000-"]);
      assert.deepEqual(await Deno.readFile(`${folder}/set/file.bin`), content);
      await fetchChecked(fileAt(url), folder, quick);
      assert.equal(asked.length, 4, "what is there is not fetched");
    })
  ),
);

Deno.test(
  "a file is begun anew where the server gives no ranges, and is whole where nothing was left to fetch",
  withFolder((folder) =>
    withServer([{ breakAt: 40_000 }, { ranges: false }], async (url) => {
      await fetchChecked(fileAt(url), folder, quick);
      await Deno.rename(`${folder}/set/file.bin`, `${folder}/set/file.bin.part`);
      await fetchChecked(fileAt(url), folder, quick);
      assert.deepEqual(await Deno.readFile(`${folder}/set/file.bin`), content);
    })
  ),
);

Deno.test(
  "another file than expected is removed, by its size, its digest or its content",
  withFolder((folder) =>
    withServer([], async (url) => {
      const refuses = async (file: SourceFile, message: RegExp) => {
        await assert.rejects(fetchChecked(file, folder, quick), message);
        assert.deepEqual(await Array.fromAsync(Deno.readDir(`${folder}/set`)), []);
      };
      await refuses({ ...fileAt(url), size: 7 }, /100000 bytes, expected 7: it was removed/);
      await refuses(fileAt(url, "00"), /its SHA256 is [0-9a-f]{64}, expected 00/);
      const holding = (find: () => string) => ({ ...fileAt(url), content: { expected: "2 rows", find } });
      await refuses(holding(() => "1 rows"), /1 rows, expected 2 rows/);
    })
  ),
);

Deno.test("a server that fails is asked again, and given up after some breaks in a row", (test) =>
  withFolder((folder) =>
    withServer(Array.from({ length: 9 }, () => ({ status: 503 })), async (url, asked) => {
      await assert.rejects(fetchChecked(fileAt(url), folder, { ...quick, breaks: 2 }), /503/, test.name);
      assert.equal(asked.length, 3);
    })
  )());

Deno.test("every experiment on public data has its files among the data sets", () => {
  const paths = dataSets.flatMap(({ files }) => files.map(({ path }) => `data/${path}`));
  const needed = experiments.flatMap(({ options }) => options.data?.default as string ?? []);
  assert.deepEqual(needed.filter((data) => !paths.some((path) => path.startsWith(data))), []);
});

Deno.test("the command may reach every host", () => {
  const { permissions } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  const hosts: string[] = permissions.download.net;
  const needed = dataSets.flatMap(({ files }) => files.map(({ url }) => new URL(url).host));
  assert.deepEqual(needed.filter((host) => !hosts.includes(host)), []);
});

Deno.test("a data set that cannot be downloaded is refused with those that can, which are listed", async () => {
  const { code, stderr } = await runTask("download", "letters");
  assert.equal(code, 1);
  assert.match(stderr, /'letters' is invalid.*choices are character-trajectories/);
  const { stdout } = await runTask("download");
  assert.match(stdout, /speech-commands +2429 MB +storage\.googleapis\.com/);
});

Deno.test("the bar of a file tells bytes, speed and the time that is left", () => {
  assert.equal(
    transferLine(500e6, 2e9, 10e6),
    `${"█".repeat(6)}${"░".repeat(18)} 500.0 of 2000.0 MB  10.0 MB/s  2 minutes 30 seconds left`,
  );
  assert.equal(transferLine(5e6, undefined, 1e6), "5.0 MB  1.0 MB/s");
});
