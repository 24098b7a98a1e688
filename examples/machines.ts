/**
 * Prints a table of machines that are well, worn or loose. Series are irregular: sensors are read at uneven times, one
 * reading in five is missing, and lengths differ. Vibrations of a worn machine fade, and vibrations of a
 * loose machine speed up.
 *
 *     deno run examples/machines.ts > machines.csv                # 500 machines
 *     deno run examples/machines.ts --count 3 --seed 1 > new.csv  # three other machines
 */
import { parseArgs } from "node:util";
import { foldIn, key, uniform } from "../mod.ts";

const { values } = parseArgs({
  options: { count: { type: "string", default: "500" }, seed: { type: "string", default: "0" } },
});
const states = ["well", "worn", "loose"];
/** Largest number of observations of a machine. */
const longest = 40;

console.log("series,time,vibration,heat,label");
for (let machine = 0; machine < Number(values.count); machine++) {
  const random = (await uniform(foldIn(key(Number(values.seed)), machine), [5 + 5 * longest]).data())
    .values();
  const draw = (low: number, high: number) => low + (high - low) * random.next().value!;
  const state = states[machine % states.length];
  const [length, pace, phase, size] = [draw(15, longest), draw(0.8, 1.2), draw(0, 6.3), draw(0.7, 1.4)];
  for (let row = 0, time = draw(0, 1); row < length; row++, time += draw(0.1, 0.9)) {
    const angle = phase + pace * time * (state === "loose" ? 1 + 0.08 * time : 1);
    const vibration = size * Math.sin(angle) * (state === "worn" ? Math.exp(-0.12 * time) : 1);
    const heat = 40 + 0.3 * time + 5 * size * Math.cos(angle / 2);
    const read = (value: number, noise: number) =>
      draw(0, 1) < 0.2 ? "" : (value + draw(-noise, noise)).toFixed(3);
    console.log(`machine ${machine},${time.toFixed(2)},${read(vibration, 0.1)},${read(heat, 0.5)},${state}`);
  }
}
