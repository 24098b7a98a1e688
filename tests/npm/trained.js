/** Checks models that `tests/series/trained_models.ts` has trained, from their files: in Deno, Node and Chromium. */

/** Names of the files that a model needs. */
const names = ["config.json", "data.json", "best.safetensors"];

function requireEqual(found, expected, what) {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}: ${a}, expected ${b}`);
}

/**
 * @param openTrained The function of `@weft/weft/series`.
 * @param read Reads a file of the folder with the models: returns its bytes, or undefined if it does not exist.
 * @returns The number of checked predictions and errors.
 */
export async function checkTrained(openTrained, read) {
  const expected = JSON.parse(new TextDecoder().decode(await read("expected.json")));
  const filesOf = async (folder) => {
    const files = names.map(async (name) => [name, await read(`${folder}/${name}`)]);
    return Object.fromEntries((await Promise.all(files)).filter(([, bytes]) => bytes !== undefined));
  };
  for (const { name, task, table, answers, streamed } of expected.models) {
    const files = await filesOf(name);
    const model = await openTrained(files, { task });
    requireEqual(await model.predict({ name: "new", text: table }), answers, `${name}: predictions`);
    const again = await openTrained(Object.entries(files).map(([name, bytes]) => new File([bytes], name)));
    requireEqual(await again.predict(new File([table], "new.csv")), answers, `${name}: predictions of a file`);
    requireEqual(model.stream !== undefined, streamed !== undefined, `${name}: has streams`);
    if (!streamed) continue;
    const stream = model.stream(streamed.series);
    const found = await Promise.all(streamed.observations.map(({ time, values }) => stream.push(time, values)));
    requireEqual(found, streamed.answers, `${name}: streamed predictions`);
    const saved = again.stream(streamed.series, JSON.parse(JSON.stringify(await stream.save())));
    const refused = await saved.push(streamed.observations[0].time, streamed.observations[0].values)
      .catch(({ code }) => code);
    requireEqual(refused, "invalid-observation", `${name}: an observation that is not later`);
  }
  for (const { name, code, message } of expected.faults) {
    const error = await openTrained(await filesOf(`faults/${name}`)).catch((error) => error);
    requireEqual([error.code, error.message.replaceAll(/memory:files-\d+/g, "<run>")], [code, message], name);
  }
  const [{ name, wrong }] = expected.models;
  const model = await openTrained(await filesOf(name));
  const { code, row, column } = await model.predict({ name: "wrong", text: wrong.table }).catch((error) => error);
  requireEqual({ code, row, column }, wrong.error, "a wrong table");
  return `${expected.models.length} models and ${expected.faults.length} damaged runs`;
}
