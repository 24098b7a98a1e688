import assert from "node:assert/strict";
import { tensor } from "../../mod.ts";
import { mfcc } from "../../src/data/mfcc.ts";
import { testOnDevices } from "../devices.ts";
import golden from "../fixtures/mfcc.json" with { type: "json" };
import { bytesOf } from "../golden.ts";

/** One second of sound, or torchaudio's coefficients `(20, 161)` by number of mel filters: float32 in base64. */
const numbersOf = (name: keyof typeof golden) => new Float32Array(bytesOf(golden[name]).buffer);

testOnDevices(
  "all mel-frequency cepstral coefficients of a second of sound agree with torchaudio's",
  async () => {
    const waveform = numbersOf("waveform");
    for (const mels of [128, 64] as const) {
      const features = mfcc(tensor(waveform, { shape: [1, 16000] }), { mels });
      assert.deepEqual(features.shape, [1, 20, 161]);
      const values = await features.data();
      const expected = numbersOf(`${mels}`);
      assert.equal(values.length, expected.length);
      const largest = expected.reduce((max, value, i) => Math.max(max, Math.abs(value - values[i])), 0);
      assert.ok(largest < 2e-4, `${mels} filters: a difference of ${largest}`);
    }
    assert.throws(() => mfcc(tensor(waveform.slice(0, 100))), /100 samples, expected more than 100/);
  },
);
