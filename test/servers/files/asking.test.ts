import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scriptedAnswers } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { between } from "../../kit/revisions.ts";
import { ask, makeFolder, refused, serve } from "./kit.ts";

const yes = { action: "accept", content: {} } as const;
const no = { action: "decline" } as const;

async function makeNotes(): Promise<string> {
  const folder = await makeFolder();
  await mkdir(join(folder, "old", "inner"), { recursive: true });
  await writeFile(join(folder, "note.txt"), "old");
  await writeFile(join(folder, "other.txt"), "other");
  await writeFile(join(folder, "old", "inner", "a.txt"), "a");
  return folder;
}

const questions = ({ asked }: ReturnType<typeof scriptedAnswers>) =>
  asked.map((question) => (question as { params: { message: string } }).params.message);

describe.each(between("2025-06-18", "2026-07-28"))("on %s", (revision) => {
  test("replaces and removes after the user agrees", async () => {
    const folder = await makeNotes();
    const answers = scriptedAnswers(yes, yes, yes, yes, yes);
    const client = await serve({ folders: [folder], clientRoots: "ignore" }, { revision, answers });
    await ask(client, "write", { path: "note.txt", text: "newer", overwrite: true });
    await ask(client, "move", { from: "other.txt", to: "note.txt", overwrite: true });
    await ask(client, "copy", { from: "old/inner/a.txt", to: "note.txt", overwrite: true });
    await ask(client, "remove", { path: "note.txt" });
    await ask(client, "remove", { path: "old", recursive: true });
    expect(questions(answers)).toEqual([
      "Replace note.txt (3 bytes) with 5 bytes?",
      "Replace note.txt (5 bytes) with other.txt (5 bytes)?",
      "Replace note.txt with a copy of old/inner/a.txt?",
      "Remove note.txt (1 bytes)?",
      "Remove old and all 2 files and folders in it?",
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  test("changes nothing if the user declines", async () => {
    const folder = await makeNotes();
    const client = await serve({ folders: [folder], clientRoots: "ignore" }, { revision, answers: [no, no, no, no] });
    expect(await refused(client, "write", { path: "note.txt", text: "x", overwrite: true })).toBe(
      "note.txt was not changed.",
    );
    expect(await refused(client, "move", { from: "other.txt", to: "note.txt", overwrite: true })).toBe(
      "Nothing was moved.",
    );
    expect(await refused(client, "remove", { path: "note.txt" })).toBe("note.txt was not removed.");
    expect(await refused(client, "remove", { path: "old", recursive: true })).toBe("old was not removed.");
    expect(await readdir(folder)).toEqual(["note.txt", "old", "other.txt"]);
    expect(await readFile(join(folder, "note.txt"), "utf8")).toBe("old");
  });

  test("does not ask if nothing is replaced, or if questions are off", async () => {
    const folder = await makeNotes();
    const none = scriptedAnswers();
    const client = await serve({ folders: [folder], clientRoots: "ignore" }, { revision, answers: none });
    await ask(client, "write", { path: "new.txt", text: "x" });
    await ask(client, "edit", { path: "new.txt", edits: [{ old: "x", new: "y" }] });
    await ask(client, "move", { from: "new.txt", to: "moved.txt" });
    const bold = await serve({ folders: [folder], ask: false, clientRoots: "ignore" }, { revision, answers: none });
    await ask(bold, "write", { path: "note.txt", text: "x", overwrite: true });
    await ask(bold, "remove", { path: "old", recursive: true });
    expect(none.asked).toEqual([]);
  });

  test("does not replace a file that changed while the user was asked", async () => {
    const folder = await makeNotes();
    let rounds = 0;
    const elicit = async () => {
      rounds += 1;
      if (rounds === 1) await writeFile(join(folder, "note.txt"), "changed meanwhile");
      return rounds === 1 ? yes : no;
    };
    const client = await serve({ folders: [folder], clientRoots: "ignore" }, { revision, answers: { elicit } });
    await refused(client, "write", { path: "note.txt", text: "newer", overwrite: true });
    expect(await readFile(join(folder, "note.txt"), "utf8")).toBe("changed meanwhile");
  });
});

test.each(["2024-11-05", "2025-11-25", "2026-07-28"])(
  "a client that cannot ask can replace files but not remove full folders, on %s",
  async (revision) => {
    const folder = await makeNotes();
    const client = await serve({ folders: [folder] }, { revision });
    await ask(client, "write", { path: "note.txt", text: "newer", overwrite: true });
    await ask(client, "remove", { path: "note.txt" });
    expect(await refused(client, "remove", { path: "old", recursive: true })).toContain("cannot ask the user");
    expect(await readdir(folder)).toEqual(["old", "other.txt"]);
  },
);
