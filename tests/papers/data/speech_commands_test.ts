import assert from "node:assert/strict";
import { tensor } from "../../../mod.ts";
import { mfcc } from "../../../src/data/mfcc.ts";
import { readSpeechCommands } from "../../../tasks/papers/data/speech_commands.ts";
import { tarEntries } from "../../../tasks/papers/data/tar.ts";
import { parseWav } from "../../../src/data/wav.ts";
import { testOnDevices } from "../../devices.ts";
import { withFolder } from "../../tasks/command_line.ts";
import { tarGz, wavFile } from "./speech_files.ts";

/** One second of sound, deterministic for a pitch. */
const sound = (pitch: number, length = 16000) =>
  Int16Array.from({ length }, (_, i) => Math.round(9000 * Math.sin(i * pitch) + i % 7));

/** The first 200 samples of a sound as float32. */
const bytes =
  "u6g6uwJFlTwu8J49WZr9Pbp5LD42ulA+WMODPkoyij50sJw+cA22Pk/bwD7/S9c+QhfgPve86D6KBOc+75zzPt1M/T5L6/s+jwcB" +
  "P/XSAD/4d/k+IsLzPoBP+D5etes+ZR3iPlF42z45kNI+CvmsPhgbsz7c0p8+liKHPpFJdz7ylUI+PKcqPmyE9z1EupI9dCObPJlx" +
  "hrypy4u9spXdvfuMD77MSju+MOVnvuJ0db5Ampe+V1elvvRTtL4YPc2+ntDAvka82743492+P8zzvs/y7r4y7Pm+nq/1vr9C7L4T" +
  "fuy+wS7pvozM477Hiee+e9Davonrxr4U4bW+Xh6svq+5m74Kvoq+n1pvvufwSr4SvjK+lAjnvQEjt70CZlW9zUTzO2jMFT3biak9" +
  "qzQNPu1RLz4iJ1k+7QqIPjsjnz6Z9q8+m3nCPp+yxj6xsuA+zN/qPo9M8z7Yzf8+JAYEP33BBT8b+QU/UYENPwvdDT/zURA/KZoO" +
  "P+v/CT/pogg/ynEGP6fX9z7Y0O4+Z8LkPjwzzj6LDMA+Eji4Pl7HoD4Hg5I+SAV4PjNXXT4BCCo+S9r8PQ9unz30Kew8t66QvC1p" +
  "hLxOqqK9IO7ivdT4Kr5XLUG+2gtkvqsziL6x8Ie+SraXvp29q77KKK++3Ba3vtGswL6ArMW+75vKvhJbzL4e8tK+dBvLvlMIwr5W" +
  "XL++Z1iwvryyq774D6W+pjSavpIeir7xkmu+tGRLvsnXQL5ck/K9JHWNvZbwU7148os6qvj6PF3vvz3Y0+s9pnYnPgWxYj6UqIM+" +
  "PouRPq4IrT40orw+IWzQPnlJ4z708PI+v8fzPrsmAD+o9Ag/GE8LP1ucBz+a3BQ/teMQP44xFD8SExM/+NkSP2hTEz+WJAo/qRsK" +
  "Px08Aj/kbf8+R671PqPy6j6P99Q+69HRPgOYtz45zaU+l/qOPhqhaT4jATw++TILPt7Vzz2aMdk88P0APO3eAL3A8bS99XgCvgxk" +
  "Hb7uy0O+nm5tvuMylr54GZK+po2svspEqr6ju8a+cfjOvtqR3b7A1N++DFHgvsfS6r4=";
const waveform = new Float32Array(Uint8Array.fromBase64(bytes).buffer);
/** Some of torchaudio's coefficients for the first two windows of the sound, by number of mel filters. */
const chosen = [0, 4, 8, 12, 16, 19];
const golden: Record<number, number[][]> = {
  128: [[-57.8223, 0.4285, -1.9383, 0.0562, -5.487, -3.7938], [
    -69.8754,
    2.7492,
    -6.357,
    -1.3771,
    0.214,
    -3.0126,
  ]],
  64: [[-17.1149, -3.3766, -3.2555, -0.7574, -1.8809, -1.3567], [
    -29.411,
    1.5934,
    -8.862,
    -2.7845,
    2.4646,
    0.4058,
  ]],
};

testOnDevices("mel-frequency cepstral coefficients agree with torchaudio", async () => {
  for (const [mels, expected] of Object.entries(golden)) {
    const features = mfcc(tensor(waveform, { shape: [1, 200] }), { mels: Number(mels) });
    assert.deepEqual(features.shape, [1, 20, 3]);
    const values = await features.data();
    expected.forEach((coefficients, window) =>
      coefficients.forEach((value, i) => {
        const found = values[3 * chosen[i] + window];
        assert(Math.abs(found - value) < 1e-3, `coefficient ${chosen[i]} of window ${window}: ${found}`);
      })
    );
  }
  assert.throws(() => mfcc(tensor(waveform.slice(100))), /100 samples, expected more than 100/);
});

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
    await assert.rejects(
      readSpeechCommands(`${folder}/none.tar.gz`),
      /none.tar.gz: no such file; run deno task/,
    );
  }),
);
