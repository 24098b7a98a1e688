/** Predicts with a run of examples/own_experiment.ts, which Deno has trained. */
import { openTrained } from "@weft/weft/series";
import { leakyTones } from "./own_experiment.ts";

const model = await openTrained("tones", { device: "cpu", experiments: [leakyTones] });
for (const answer of await model.predict("tones.csv")) console.log(JSON.stringify(answer));
