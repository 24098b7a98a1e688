import assert from "node:assert/strict";
import { checkoutCommit } from "../../src/files/commit.ts";
import { withFolder } from "../tasks/command_line.ts";

Deno.test(
  "the commit of a checkout is read from a loose ref, a packed ref or a detached HEAD",
  withFolder(async (folder) => {
    assert.equal(await checkoutCommit(folder), undefined);
    const git = `${folder}/.git`;
    await Deno.mkdir(`${git}/refs/heads`, { recursive: true });
    await Deno.writeTextFile(`${git}/HEAD`, "ref: refs/heads/main\n");
    assert.equal(await checkoutCommit(folder), undefined);
    await Deno.writeTextFile(
      `${git}/packed-refs`,
      "# pack-refs\nabc0 refs/heads/other\nabc1 refs/heads/main\n",
    );
    assert.equal(await checkoutCommit(folder), "abc1");
    await Deno.writeTextFile(`${git}/refs/heads/main`, "abc2\n");
    assert.equal(await checkoutCommit(folder), "abc2");
    // A linked worktree.
    const [linked, gitFolder] = [`${folder}/linked`, `${git}/worktrees/linked`];
    for (const path of [linked, gitFolder]) await Deno.mkdir(path, { recursive: true });
    await Deno.writeTextFile(`${linked}/.git`, `gitdir: ${gitFolder}\n`);
    await Deno.writeTextFile(`${gitFolder}/HEAD`, "ref: refs/heads/main\n");
    await Deno.writeTextFile(`${gitFolder}/commondir`, "../..\n");
    assert.equal(await checkoutCommit(linked), "abc2");
    await Deno.writeTextFile(`${git}/HEAD`, "abc3\n");
    assert.equal(await checkoutCommit(folder), "abc3");
  }),
);
