import assert from "node:assert/strict";
import { makeSlices } from "../../src/serve/http/slices.ts";

/** Works for some milliseconds. */
function work(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
}

Deno.test("sockets are polled between slices of work that never ends", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let [slices, isEnded] = [0, false];
  const working = [1, 2].map(async () => {
    const own = makeSlices();
    while (!isEnded) {
      work(1);
      if (own.isOver) {
        slices++;
        await own.next();
      }
    }
  });
  const trips: number[] = [];
  for (let trip = 0; trip < 10; trip++) {
    const before = slices;
    const accepted = listener.accept();
    using client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
    using server = await accepted;
    await client.write(new Uint8Array(1));
    await server.read(new Uint8Array(1));
    await server.write(new Uint8Array(1));
    await client.read(new Uint8Array(1));
    trips.push(slices - before);
  }
  isEnded = true;
  await Promise.all(working);
  // Without polls, an event takes up to 61 turns.
  assert.ok(trips.toSorted((a, b) => a - b)[5] < 60, `slices in each of ten round trips: ${trips}`);
});
