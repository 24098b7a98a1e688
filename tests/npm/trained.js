/** Checks models that `tests/series/trained_models.ts` has trained, from their files: in Deno, Node and Chromium. */

/** Names of the files that a model needs. */
const needed = ["config.json", "data.json", "best.safetensors"];

/** Whether two values of JSON are equal. Numbers may differ by a tolerance. */
function isClose(a, b, tolerance) {
  if (typeof a === "number") return Math.abs(a - b) <= tolerance;
  if (a === null || typeof a !== "object") return a === b;
  const names = Object.keys(a);
  return names.join() === Object.keys(b ?? {}).join() && names.every((name) => isClose(a[name], b[name], tolerance));
}

/**
 * @param openTrained The function of `@weft/weft/series`.
 * @param read Reads the bytes of a file in the folder with the models.
 * @param tolerance Largest difference of a number from the number in Deno.
 * @returns The number of checked models and errors.
 */
export async function checkTrained(openTrained, read, tolerance = 0) {
  const requireEqual = (found, expected, what) => {
    const [a, b] = [found, expected].map((value) => JSON.stringify(value));
    if (a !== b && !(b && isClose(JSON.parse(a), JSON.parse(b), tolerance))) {
      throw new Error(`${what}: ${a}, expected ${b}`);
    }
  };
  const { models, faults, wrong } = JSON.parse(new TextDecoder().decode(await read("expected.json")));
  const filesOf = async (folder, names = needed) =>
    Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(`${folder}/${name}`)])));
  for (const { name, task, table, answers, streamed } of models) {
    const files = await filesOf(name);
    const model = await openTrained(files, { task });
    requireEqual(await model.predict({ name: "new", text: table }), answers, `${name}: predictions`);
    const again = await openTrained(Object.entries(files).map(([name, bytes]) => new File([bytes], name)));
    requireEqual(
      await again.predict(new File([table], "new.csv")),
      answers,
      `${name}: predictions of a file`,
    );
    requireEqual(model.stream !== undefined, streamed !== undefined, `${name}: has streams`);
    if (!streamed) continue;
    const stream = model.stream(streamed.series);
    const found = await Promise.all(
      streamed.observations.map(({ time, values }) => stream.push(time, values)),
    );
    requireEqual(found, streamed.answers, `${name}: streamed predictions`);
    const resumed = again.stream(streamed.series, JSON.parse(JSON.stringify(await stream.save())));
    const [{ time, values }] = streamed.observations;
    const refused = await resumed.push(time, values).catch(({ code }) => code);
    requireEqual(refused, "invalid-observation", `${name}: an observation that is not later`);
  }
  for (const { name, files, code, message } of faults) {
    const error = await openTrained(await filesOf(`faults/${name}`, files)).catch((error) => error);
    requireEqual(
      [error.code, error.message?.replaceAll(/memory:files-\d+/g, "<run>")],
      [code, message],
      name,
    );
  }
  const model = await openTrained(await filesOf(models[0].name));
  const { code, row, column } = await model.predict({ name: "wrong", text: wrong.table }).catch((error) =>
    error
  );
  requireEqual({ code, row, column }, wrong.error, "a wrong table");
  return `${models.length} models and ${faults.length} damaged runs`;
}
