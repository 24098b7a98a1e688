import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { fetchChecked } from "../../tasks/download.ts";
import { dataSets, type SourceFile } from "../../tasks/papers/data_sets.ts";
import { transferLine } from "../../src/commands/progress.ts";
import { experiments } from "../runs.ts";
import { runTask, withFolder } from "../tasks/command_line.ts";

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
  body: (url: string, requested: (string | null)[]) => Promise<void>,
) {
  const requested: (string | null)[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { breakAt = Infinity, ranges = true, status = 200 } = behaviours[requested.length] ?? {};
    const range = request.headers.get("range");
    requested.push(range);
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
  await body(`http://127.0.0.1:${server.addr.port}/file`, requested);
}

const quick = { pause: 1 };

function fileAt(url: string, digest = sha256): SourceFile {
  return { path: "set/file.bin", url, size: content.length, digest: { algorithm: "sha256", hex: digest } };
}

Deno.test(
  "an interrupted download resumes at the same byte, within a call and in the next call",
  withFolder((folder) =>
    withServer([{ breakAt: 40_000 }, { breakAt: 70_000 }, { status: 404 }], async (url, requested) => {
      await assert.rejects(
        fetchChecked(fileAt(url), folder, quick),
        /404.*run the command again to resume the download/,
      );
      await fetchChecked(fileAt(url), folder, quick);
      assert.deepEqual(requested, [null, "bytes=40000-", "bytes=70000-", "bytes=70000-"]);
      assert.deepEqual(await Deno.readFile(`${folder}/set/file.bin`), content);
      await fetchChecked(fileAt(url), folder, quick);
      assert.equal(requested.length, 4, "a complete file is not downloaded again");
    })
  ),
);

Deno.test(
  "without range support a download restarts, and a complete partial file is not downloaded again",
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
  "a file with an unexpected size, digest or content is removed",
  withFolder((folder) =>
    withServer([], async (url) => {
      const assertRemoved = async (file: SourceFile, message: RegExp) => {
        await assert.rejects(fetchChecked(file, folder, quick), message);
        assert.deepEqual(await Array.fromAsync(Deno.readDir(`${folder}/set`)), []);
      };
      await assertRemoved({ ...fileAt(url), size: 7 }, /100000 bytes, expected 7: the file was removed/);
      await assertRemoved(fileAt(url, "00"), /its SHA256 is [0-9a-f]{64}, expected 00/);
      const holding = (find: () => string) => ({ ...fileAt(url), content: { expected: "2 rows", find } });
      await assertRemoved(holding(() => "1 rows"), /1 rows, expected 2 rows/);
    })
  ),
);

Deno.test("a failing server is retried a limited number of times in a row", (test) =>
  withFolder((folder) =>
    withServer(Array.from({ length: 9 }, () => ({ status: 503 })), async (url, requested) => {
      await assert.rejects(fetchChecked(fileAt(url), folder, { ...quick, breaks: 2 }), /503/, test.name);
      assert.equal(requested.length, 3);
    })
  )());

// The authors of CelebA publish it on pages that a command cannot read; docs/guides/data.md says where.
const byHand = ["data/celeba"];

Deno.test("the list of data sets contains the files of every experiment on public data", () => {
  const paths = dataSets.flatMap(({ files }) => files.map(({ path }) => `data/${path}`));
  const needed = experiments.flatMap(({ options }) => options.data?.default as string ?? []);
  assert.deepEqual(needed.filter((data) => !paths.some((path) => path.startsWith(data))), byHand);
});

Deno.test("the permissions of the download command include every host", () => {
  const { permissions } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  const hosts: string[] = permissions.download.net;
  const needed = dataSets.flatMap(({ files }) => files.map(({ url }) => new URL(url).host));
  assert.deepEqual(needed.filter((host) => !hosts.includes(host)), []);
});

Deno.test("the error of an unknown data set suggests the nearest data set, or lists the data sets", async () => {
  const { code, stderr } = await runTask("download", "letters");
  assert.equal(code, 1);
  assert.match(stderr, /'letters' is invalid.*Expected character-trajectories/);
  assert.match((await runTask("download", "sepsiss")).stderr, /'sepsiss' is invalid.*Did you mean sepsis\?/);
  const { stdout } = await runTask("download");
  assert.match(stdout, /speech-commands +2429 MB +storage\.googleapis\.com/);
});

Deno.test("the progress bar of a download shows bytes, speed and remaining time", () => {
  assert.equal(
    transferLine(500e6, 2e9, 10e6),
    `${"█".repeat(6)}${"░".repeat(18)} 500.0 of 2000.0 MB  10.0 MB/s  2 minutes 30 seconds left`,
  );
  assert.equal(transferLine(5e6, undefined, 1e6), "5.0 MB  1.0 MB/s");
});
