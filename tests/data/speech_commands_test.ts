import assert from "node:assert/strict";
import { tensor } from "../../mod.ts";
import { mfcc } from "../../src/data/mfcc.ts";
import { readSpeechCommands } from "../../src/data/speech_commands.ts";
import { tarEntries } from "../../src/data/tar.ts";
import { parseWav } from "../../src/data/wav.ts";
import { testOnDevices } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tarGz, wavFile } from "./speech_files.ts";

/** A second of sound, the same for the same pitch. */
const sound = (pitch: number, length = 16000) =>
  Int16Array.from({ length }, (_, i) => Math.round(9000 * Math.sin(i * pitch) + i % 7));

/** The first 101 samples of a sound, and every fourth of the coefficients, and the last, that torchaudio 2 finds at its start. */
const waveform = [
  -0.002848192,
  0.018221382,
  0.077606544,
  0.123829551,
  0.1684331,
  0.203835338,
  0.25734973,
  0.269914925,
  0.306033731,
  0.35557127,
  0.376673192,
  0.420501679,
  0.437677443,
  0.454566687,
  0.451206505,
  0.475806683,
  0.494727045,
  0.492029518,
  0.504021585,
  0.503218949,
  0.487243414,
  0.476090491,
  0.484981537,
  0.460368097,
  0.441630512,
  0.428652316,
  0.411256582,
  0.337837517,
  0.349816084,
  0.312155604,
  0.263935745,
  0.241491571,
  0.190025121,
  0.166653574,
  0.120858043,
  0.071644336,
  0.018937804,
  -0.016411589,
  -0.068259545,
  -0.108195677,
  -0.140186235,
  -0.182902515,
  -0.226460218,
  -0.239703685,
  -0.296098709,
  -0.322931975,
  -0.352203012,
  -0.400856733,
  -0.376591623,
  -0.429170787,
  -0.433374137,
  -0.476167649,
  -0.466696233,
  -0.488130152,
  -0.479855478,
  -0.461446732,
  -0.46189937,
  -0.455434829,
  -0.444919944,
  -0.452223033,
  -0.42737183,
  -0.388515741,
  -0.355232835,
  -0.336169183,
  -0.304151028,
  -0.270981133,
  -0.23374413,
  -0.198184595,
  -0.174553186,
  -0.11280933,
  -0.089422233,
  -0.052099235,
  0.007423973,
  0.03657189,
  0.08278247,
  0.137896225,
  0.17121096,
  0.212063342,
  0.265708357,
  0.310815662,
  0.343678266,
  0.379834026,
  0.388081521,
  0.438863307,
  0.458738685,
  0.475193471,
  0.499617338,
  0.515718699,
  0.522483647,
  0.523332298,
  0.552754462,
  0.554154098,
  0.563750446,
  0.557039797,
  0.539061248,
  0.533735812,
  0.525173783,
  0.484067172,
  0.466437101,
  0.446795672,
  0.402734637,
];
const golden: Record<number, number[]> = {
  128: [-57.8223, 0.4285, -1.9383, 0.0562, -5.487, -3.7938],
  64: [-17.1149, -3.3766, -3.2555, -0.7574, -1.8809, -1.3567],
};

testOnDevices("mel-frequency cepstral coefficients are torchaudio's", async () => {
  for (const [mels, expected] of Object.entries(golden)) {
    const features = await mfcc(tensor([waveform]), { mels: Number(mels) }).data();
    [0, 4, 8, 12, 16, 19].forEach((coefficient, i) =>
      assert(
        Math.abs(features[2 * coefficient] - expected[i]) < 1e-3,
        `${coefficient}: ${features[2 * coefficient]}`,
      )
    );
  }
  assert.deepEqual(mfcc(tensor([waveform])).shape, [1, 20, 2]);
  assert.throws(() => mfcc(tensor(waveform.slice(1))), /100 samples, expected more than 100/);
});

Deno.test("a WAV file of 16 bits becomes samples from -1 to 1", () => {
  const bytes = wavFile(Int16Array.of(0, 16384, -32768, 1));
  const { sampleRate, samples } = parseWav(bytes, "a.wav");
  assert.equal(sampleRate, 16000);
  assert.deepEqual([...samples], [0, 0.5, -1, 2 ** -15]);
  assert.throws(() => parseWav(bytes.subarray(0, -1), "a.wav"), /a\.wav: cut short: 61 bytes, expected 62/);
  assert.throws(() => parseWav(bytes.subarray(1), "a.wav"), /a\.wav: not a WAV file/);
  assert.throws(() => parseWav(wavFile(Int16Array.of(1), { channels: 2 }), "a.wav"), /2 channels of 16 bits/);
});

Deno.test("a tar archive that is damaged or cut short is refused", async () => {
  const read = (bytes: Uint8Array<ArrayBuffer>) =>
    Array.fromAsync(tarEntries(new Blob([bytes]).stream(), "a.tar", () => true));
  const packed = new Blob([await tarGz({ "a/b": Uint8Array.of(1, 2) })]);
  const bytes = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).bytes();
  assert.deepEqual(await read(bytes), [{ name: "a/b", bytes: Uint8Array.of(1, 2) }]);
  await assert.rejects(read(bytes.slice(0, 600)), /a\.tar: cut short/);
  await assert.rejects(read(bytes.with(1, 7) as typeof bytes), /a header does not fit its checksum/);
});

Deno.test(
  "ten words of Speech Commands become features, which are computed once for an archive",
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
    const alone = await mfcc(tensor(Float32Array.from(sound(0.3), (sample) => sample / 2 ** 15))).data();
    for (const [coefficient, window] of [[0, 0], [3, 80], [19, 160]]) {
      const own = set.series[1].values[window * 20 + coefficient];
      assert(Math.abs(own - alone[coefficient * 161 + window]) < 1e-3);
    }

    await Deno.writeFile(path, await tarGz({ "up/c.wav": wavFile(sound(0.4)) }));
    assert.deepEqual((await readSpeechCommands(path)).series.map(({ name }) => name), ["up/c"]);
    await Deno.remove(path);
    assert.deepEqual((await readSpeechCommands(path)).series.map(({ name }) => name), ["up/c"]);
    await assert.rejects(readSpeechCommands(`${folder}/none.tar.gz`), /none.tar.gz: no such file: deno task/);
  }),
);
