/**
 * Memory of loops without `tidy`: `deno run --allow-all tests/tensor/loop_memory.ts CALLS` prints the memory of the process, in bytes,
 * after ten calls and at its peak, for inference and training, eagerly and under `jit`.
 */
import { Adam, init, jit, key, meanSquaredError, MLP, normal, valueAndGrad, zeros } from "../../mod.ts";

await init({ device: "cpu" });
const calls = Number(Deno.args[0]);
for (const batch of [64, 512]) {
  const model = MLP({ inputs: 16, outputs: 8, width: 256, depth: 2, key: key(0) });
  const [x, y] = [normal(key(1), [batch, 16]), zeros([batch, 8])];
  const optimizer = Adam(model.parameters, { learningRate: 1e-3 });
  const train = () => {
    const [loss, gradients] = valueAndGrad(() => meanSquaredError(model(x), y))(model.parameters);
    optimizer.step(gradients);
    return loss;
  };
  const steps = {
    inference: () => model(x),
    training: train,
    "inference under jit": jit(() => model(x)),
    "training under jit": jit(train),
  };
  for (const [name, step] of Object.entries(steps)) {
    let [first, peak] = [0, 0];
    for (let call = 1; call <= calls; call++) {
      await step().data();
      peak = Math.max(peak, Deno.memoryUsage().rss);
      if (call === 10) first = peak;
    }
    console.log(JSON.stringify({ name, batch, first, peak }));
  }
}
Deno.exit();
