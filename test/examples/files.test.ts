import { mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { RawPeer, RawPeerOptions } from "../kit/raw-peer.ts";
import {
  accept,
  askingRevisions,
  decline,
  makeFolder,
  oldestAndNewest,
  questionTexts,
  start,
  subscribe,
} from "./example.ts";

const uriOf = (...path: string[]) => pathToFileURL(join(...path)).href;

async function startIn(folder: string, options: RawPeerOptions): Promise<RawPeer> {
  return start("examples/files/server.mjs", options, [folder]);
}

/** Creates a folder to serve and one that must stay unreachable, with links from the first into the second. */
async function makeInsideAndOutside() {
  const base = await makeFolder();
  const inside = join(base, "inside");
  const outside = join(base, "outside");
  await mkdir(join(inside, "sub"), { recursive: true });
  await mkdir(outside);
  await writeFile(join(inside, ".secret"), "hidden");
  await writeFile(join(outside, "secret.txt"), "outside");
  await symlink(outside, join(inside, "door"));
  await symlink(join(outside, "secret.txt"), join(inside, "peephole.txt"));
  await symlink(join(outside, "not-there.txt"), join(inside, "dangling.txt"));
  return { base, inside, outside };
}

const refusedPaths = [
  "../outside/secret.txt",
  "../outside/new.txt",
  "sub/../../outside/new.txt",
  "door/secret.txt",
  "door/new.txt",
  "door/sub/new.txt",
  "peephole.txt",
  ".secret",
  ".new",
  "sub/.git/hooks/run",
  "..",
  ".",
  "",
  "sub",
];

describe.each(oldestAndNewest)("the files server on %s", (revision) => {
  test("lists visible files, reads them as text or bytes, and lists their template", async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, "a b"));
    await writeFile(join(folder, "a b", "grüße.txt"), "Grüße");
    await writeFile(join(folder, "bytes.bin"), Uint8Array.of(0xff, 0x00, 0xfe));
    await writeFile(join(folder, ".hidden"), "");
    const peer = await startIn(folder, { revision });

    const { result: list } = await peer.request("resources/list");
    expect(list.resources).toEqual([
      { uri: uriOf(folder, "a b", "grüße.txt"), name: join("a b", "grüße.txt") },
      { uri: uriOf(folder, "bytes.bin"), name: "bytes.bin" },
    ]);
    const { result: text } = await peer.request("resources/read", { uri: list.resources[0].uri });
    expect(text.contents).toEqual([{ uri: list.resources[0].uri, text: "Grüße" }]);
    const { result: bytes } = await peer.request("resources/read", { uri: list.resources[1].uri });
    expect(bytes.contents).toEqual([{ uri: list.resources[1].uri, blob: "/wD+" }]);
    const { result: templates } = await peer.request("resources/templates/list");
    expect(templates.resourceTemplates).toEqual([{ uriTemplate: `${pathToFileURL(folder)}/{+path}`, name: "file" }]);
  });

  test("notifies of an edit of a subscribed file, and not of another file", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "watched.txt"), "one");
    await writeFile(join(folder, "other.txt"), "one");
    const peer = await startIn(folder, { revision });
    const uri = uriOf(folder, "watched.txt");
    await subscribe(peer, [uri]);

    await writeFile(join(folder, "other.txt"), "two");
    await writeFile(join(folder, "watched.txt"), "two");
    await peer.notification("notifications/resources/updated");
    const updates = peer.notifications.filter(({ method }) => method === "notifications/resources/updated");
    expect(new Set(updates.map(({ params }) => params?.["uri"]))).toEqual(new Set([uri]));
    const { result } = await peer.request("resources/read", { uri });
    expect(result.contents[0].text).toBe("two");
  });

  test("notifies when another file is renamed over a subscribed one, and of the next edit", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "watched.txt"), "one");
    await writeFile(join(folder, "draft.txt"), "two");
    const peer = await startIn(folder, { revision });
    await subscribe(peer, [uriOf(folder, "watched.txt")]);

    await rename(join(folder, "draft.txt"), join(folder, "watched.txt"));
    await peer.notification("notifications/resources/updated");
    await peer.settled();
    const before = peer.notifications.length;
    await writeFile(join(folder, "watched.txt"), "three");
    await peer.until(({ notifications }) => notifications.length > before);
    expect(peer.notifications.at(-1)).toMatchObject({ params: { uri: uriOf(folder, "watched.txt") } });
  });

  test("notifies of a list change when a file is added to a listed folder", async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, "sub"));
    const peer = await startIn(folder, { revision });
    await subscribe(peer, []);
    await peer.request("resources/list");

    await writeFile(join(folder, "sub", "new.txt"), "new");
    await peer.notification("notifications/resources/list_changed");
    const { result } = await peer.request("resources/list");
    expect(result.resources).toMatchObject([{ name: join("sub", "new.txt") }]);
  });

  test("writes a new file and its folders without asking, and leaves no other file", async () => {
    const folder = await makeFolder();
    const peer = await startIn(folder, { revision });
    const { result } = await peer.callTool("write_file", { path: "deep/er/note.txt", text: "héllo" });
    const written = { uri: uriOf(folder, "deep/er/note.txt"), bytes: 6, replaced: false };
    expect(JSON.parse(result.content[0].text)).toEqual(written);
    expect(await readFile(join(folder, "deep/er/note.txt"), "utf8")).toBe("héllo");
    expect(await readdir(join(folder, "deep/er"))).toEqual(["note.txt"]);
  });

  test("refuses to replace a file for a client that cannot ask the user", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "note.txt"), "old");
    const peer = await startIn(folder, { revision });
    const { result } = await peer.callTool("write_file", { path: "note.txt", text: "new" });
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0].text).toContain("cannot ask the user");
    expect(await readFile(join(folder, "note.txt"), "utf8")).toBe("old");
  });

  test("refuses to write outside, to a hidden name or onto a folder, in every spelling of the path", async () => {
    const { base, inside, outside } = await makeInsideAndOutside();
    const peer = await startIn(inside, { revision, capabilities: { elicitation: {} }, answer: accept({}) });
    for (const path of refusedPaths) {
      for (const spelling of [path, join(inside, path), path.replaceAll("/", "//")]) {
        const { result } = await peer.callTool("write_file", { path: spelling, text: "escaped" });
        expect({ spelling, text: result.content[0].text, isError: result.isError }).toEqual({
          spelling,
          text: expect.stringMatching(/expected a (path inside|file)/),
          isError: true,
        });
      }
    }
    expect(peer.questions).toEqual([]);
    expect(await readdir(base)).toEqual(["inside", "outside"]);
    expect(await readdir(outside)).toEqual(["secret.txt"]);
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("outside");
    expect(await readFile(join(inside, ".secret"), "utf8")).toBe("hidden");
  });

  test("replaces a dangling link instead of writing through it", async () => {
    const { inside, outside } = await makeInsideAndOutside();
    const peer = await startIn(inside, { revision });
    const { result } = await peer.callTool("write_file", { path: "dangling.txt", text: "inside" });
    expect(result.isError).toBeUndefined();
    expect(await readdir(outside)).toEqual(["secret.txt"]);
    expect(await readFile(join(inside, "dangling.txt"), "utf8")).toBe("inside");
  });

  test("refuses to write to an absolute path outside", async () => {
    const { inside, outside } = await makeInsideAndOutside();
    const peer = await startIn(inside, { revision });
    const { result } = await peer.callTool("write_file", { path: join(outside, "new.txt"), text: "escaped" });
    expect(result).toMatchObject({ isError: true });
    expect(await readdir(outside)).toEqual(["secret.txt"]);
  });

  test("neither lists nor reads files that are hidden or outside", async () => {
    const { inside, outside } = await makeInsideAndOutside();
    const peer = await startIn(inside, { revision });
    const { result } = await peer.request("resources/list");
    expect(result.resources).toEqual([]);
    const code = revision === "2024-11-05" ? -32002 : -32602;
    const base = pathToFileURL(inside).href;
    for (const uri of [
      `${base}/../outside/secret.txt`,
      `${base}/%2e%2e/outside/secret.txt`,
      `${base}/..%2Foutside%2Fsecret.txt`,
      `${base}/door/secret.txt`,
      `${base}/peephole.txt`,
      `${base}/.secret`,
      `${base}/sub`,
      `${base}/${outside}/secret.txt`,
      uriOf(outside, "secret.txt"),
      "file:///etc/passwd",
    ]) {
      const { error } = await peer.request("resources/read", { uri });
      expect({ uri, code: error?.code }).toEqual({ uri, code });
    }
  });
});

describe.each(askingRevisions)("the files server on %s", (revision) => {
  const capabilities = { elicitation: {} };

  test("replaces a file when the user accepts", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "note.txt"), "old", { mode: 0o600 });
    const peer = await startIn(folder, { revision, capabilities, answer: accept({}) });
    const { result } = await peer.callTool("write_file", { path: "note.txt", text: "newer" });
    expect(result.structuredContent).toMatchObject({ bytes: 5, replaced: true });
    expect(questionTexts(peer.questions)).toEqual(["Replace note.txt (3 bytes) by 5 bytes?"]);
    expect(await readFile(join(folder, "note.txt"), "utf8")).toBe("newer");
    expect(await readdir(folder)).toEqual(["note.txt"]);
  });

  test("keeps a file unchanged when the user declines", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "note.txt"), "old");
    const peer = await startIn(folder, { revision, capabilities, answer: decline });
    const { result } = await peer.callTool("write_file", { path: "note.txt", text: "newer" });
    expect(result).toMatchObject({ isError: true, content: [{ text: "note.txt stays as it is." }] });
    expect(await readFile(join(folder, "note.txt"), "utf8")).toBe("old");
  });
});

test("asks again when the file changed after the question", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "note.txt"), "old");
  let rounds = 0;
  const answer = async () => {
    rounds += 1;
    if (rounds === 1) await writeFile(join(folder, "note.txt"), "changed meanwhile");
    return { action: "accept", content: {} };
  };
  const peer = await startIn(folder, { revision: "2026-07-28", capabilities: { elicitation: {} }, answer });
  await peer.callTool("write_file", { path: "note.txt", text: "newer" });
  expect(questionTexts(peer.questions)).toEqual([
    "Replace note.txt (3 bytes) by 5 bytes?",
    "Replace note.txt (17 bytes) by 5 bytes?",
  ]);
});
