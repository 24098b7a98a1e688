import assert from "node:assert/strict";
import { tensor } from "../../../mod.ts";
import { mfcc } from "../../../src/data/mfcc.ts";
import { readSpeechCommands } from "../../../tasks/papers/data/speech_commands.ts";
import { tarEntries } from "../../../tasks/papers/data/tar.ts";
import { readSafetensors, writeSafetensors } from "../../../src/files/safetensors.ts";
import { parseWav } from "../../../src/data/wav.ts";
import { withFolder } from "../../tasks/command_line.ts";
import { tarGz, wavFile } from "./speech_files.ts";

/** One second of sound, deterministic for a pitch. */
const sound = (pitch: number, length = 16000) =>
  Int16Array.from({ length }, (_, i) => Math.round(9000 * Math.sin(i * pitch) + i % 7));

Deno.test("a 16-bit WAV file is read as samples in [-1, 1]", () => {
  const bytes = wavFile(Int16Array.of(0, 16384, -32768, 1));
  const { sampleRate, samples } = parseWav(bytes, "a.wav");
  assert.equal(sampleRate, 16000);
  assert.deepEqual([...samples], [0, 0.5, -1, 2 ** -15]);
  assert.throws(() => parseWav(bytes.subarray(0, -1), "a.wav"), /a\.wav: cut short: 61 bytes, expected 62/);
  assert.throws(() => parseWav(bytes.subarray(1), "a.wav"), /a\.wav: not a WAV file/);
  assert.throws(() => parseWav(wavFile(Int16Array.of(1), { channels: 2 }), "a.wav"), /2 channels of 16 bits/);
});

Deno.test("a damaged or truncated tar archive is rejected", async () => {
  const read = (bytes: Uint8Array<ArrayBuffer>) =>
    Array.fromAsync(tarEntries(new Blob([bytes]).stream(), "a.tar", () => true));
  const packed = new Blob([await tarGz({ "a/b": Uint8Array.of(1, 2) })]);
  const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).bytes();
  assert.deepEqual(await read(bytes), [{ name: "a/b", bytes: Uint8Array.of(1, 2) }]);
  await assert.rejects(read(bytes.slice(0, 600)), /a\.tar: cut short/);
  await assert.rejects(read(bytes.with(1, 7) as typeof bytes), /a header does not match its checksum/);
});

Deno.test(
  "ten words of Speech Commands become features, which are cached per archive",
  withFolder(async (folder) => {
    const path = `${folder}/speech.tar.gz`;
    await Deno.writeFile(
      path,
      await tarGz({
        "./": new Uint8Array(),
        "./LICENSE": new Uint8Array(700),
        "./bed/a.wav": wavFile(sound(0.1)),
        "./no/a.wav": wavFile(sound(0.2)),
        "./no/short.wav": wavFile(sound(0.2, 12000)),
        "./go/b.wav": wavFile(sound(0.3)),
      }),
    );
    const set = await readSpeechCommands(path);
    assert.deepEqual(set.series.map(({ name, label }) => [name, set.classes[label]]), [
      ["no/a", "no"],
      ["go/b", "go"],
    ]);
    assert.deepEqual([set.channels.length, set.series[1].times.length], [20, 161]);
    const coefficients = await mfcc(tensor(Float32Array.from(sound(0.3), (sample) => sample / 2 ** 15)))
      .data();
    for (const [coefficient, window] of [[0, 0], [3, 80], [19, 160]]) {
      const found = set.series[1].values[window * 20 + coefficient];
      assert(Math.abs(found - coefficients[coefficient * 161 + window]) < 1e-3);
    }

    await Deno.writeFile(path, await tarGz({ "up/c.wav": wavFile(sound(0.4)) }));
    assert.deepEqual((await readSpeechCommands(path)).series.map(({ name }) => name), ["up/c"]);
    await Deno.remove(path);
    assert.deepEqual((await readSpeechCommands(path)).series.map(({ name }) => name), ["up/c"]);
    // Features of other settings are not used.
    const kept = `${folder}/speech.mfcc.safetensors`;
    const { tensors, metadata } = await readSafetensors(kept);
    await writeSafetensors(kept, { tensors, metadata: { ...metadata, settings: '{"mels":64}' } });
    await assert.rejects(readSpeechCommands(path), /no such file; run deno task/);
    await assert.rejects(
      readSpeechCommands(`${folder}/none.tar.gz`),
      /none.tar.gz: no such file; run deno task/,
    );
  }),
);
