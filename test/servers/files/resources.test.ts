import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { TestClient } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { makeFolder, serve } from "./kit.ts";

const uriOf = (...path: string[]) => pathToFileURL(join(...path)).href;

async function makePages(): Promise<string> {
  const folder = await makeFolder();
  await mkdir(join(folder, "a b"));
  await mkdir(join(folder, "node_modules"));
  await writeFile(join(folder, "a b", "grüße #1.txt"), "Grüße");
  await writeFile(join(folder, "bytes.bin"), Uint8Array.of(0xff, 0x00));
  await writeFile(join(folder, ".hidden"), "");
  await symlink("/etc/passwd", join(folder, "hole"));
  return folder;
}

/** Collects the changes that a client is notified about. */
async function watch(client: TestClient, filter: { resources?: boolean; uris?: string[] }) {
  const watching = await client.watch(filter);
  const changes = watching[Symbol.asyncIterator]();
  return async () => {
    const { value } = await changes.next();
    return value?.kind === "resource" ? value.uri : value?.kind;
  };
}

describe.each(revisions)("on %s", (revision) => {
  test("lists, describes and reads files and folders", async () => {
    const folder = await makePages();
    const client = await serve({ folders: [folder] }, { revision });
    const list = await client.listResources();
    expect(list.map(({ uri, name }) => [uri, name])).toEqual([
      [uriOf(folder), basename(folder)],
      [uriOf(folder, "a b"), "a b"],
      [uriOf(folder, "a b", "grüße #1.txt"), "a b/grüße #1.txt"],
      [uriOf(folder, "bytes.bin"), "bytes.bin"],
    ]);
    const read = async (uri: string) => (await client.readResource(uri)).contents[0];
    expect(await read(list[2]!.uri)).toMatchObject({ text: "Grüße", mimeType: "text/plain" });
    expect(await read(list[3]!.uri)).toMatchObject({ blob: "/wA=", mimeType: "application/octet-stream" });
    expect(await read(list[1]!.uri)).toMatchObject({ text: `${list[2]!.uri}\r\n`, mimeType: "text/uri-list" });
    expect(await read(list[0]!.uri)).toMatchObject({ text: expect.stringContaining(`${list[3]!.uri}\r\n`) });
    expect(await client.listTemplates()).toEqual([{ uriTemplate: `${uriOf(folder)}/{+path}`, name: basename(folder) }]);
  });

  test("does not find outside, hidden and missing files", async () => {
    const folder = await makePages();
    const client = await serve({ folders: [folder] }, { revision });
    for (const uri of [
      `${uriOf(folder)}/../${basename(folder)}-evil`,
      `${uriOf(folder)}/%2e%2e/etc/passwd`,
      `${uriOf(folder)}/..%2F..%2Fetc%2Fpasswd`,
      `${uriOf(folder)}/hole`,
      `${uriOf(folder)}/.hidden`,
      `${uriOf(folder)}/none.txt`,
      `${uriOf(folder)}-evil/x`,
      "file:///etc/passwd",
    ]) {
      await expect(client.readResource(uri), uri).rejects.toThrow(/not found|unknown|resource/i);
    }
  });

  test("completes paths one level at a time", async () => {
    const folder = await makePages();
    await writeFile(join(folder, "a b", "100%.txt"), "");
    const client = await serve({ folders: [folder] }, { revision });
    const ref = { type: "ref/resource", uri: `${uriOf(folder)}/{+path}` } as const;
    const complete = async (value: string) => (await client.complete(ref, { name: "path", value })).values;
    expect(await complete("")).toEqual(["a b/", "bytes.bin", "hole", "node_modules/"]);
    expect(await complete("A")).toEqual(["a b/"]);
    expect(await complete("a b/")).toEqual(["a b/100%25.txt", "a b/grüße %231.txt"]);
    expect(await complete("a b/g")).toEqual(["a b/grüße %231.txt"]);
    expect(await complete("../")).toEqual([]);
    expect(await complete("none/")).toEqual([]);
  });

  test("notifies about changes of a subscribed file, also if it is replaced", async () => {
    const folder = await makePages();
    await writeFile(join(folder, "followed.txt"), "one");
    const client = await serve({ folders: [folder] }, { revision });
    const uri = uriOf(folder, "followed.txt");
    const next = await watch(client, { uris: [uri] });
    await writeFile(join(folder, "followed.txt"), "two");
    expect(await next()).toBe(uri);
    await client.callTool("write", { path: "followed.txt", text: "three", overwrite: true });
    expect(await next()).toBe(uri);
    await client.callTool("edit", { path: "followed.txt", edits: [{ old: "three", new: "four" }] });
    expect(await next()).toBe(uri);
  });

  test("a subscription to a folder also covers its children", async () => {
    const folder = await makePages();
    const client = await serve({ folders: [folder] }, { revision });
    const next = await watch(client, { uris: [uriOf(folder)] });
    await writeFile(join(folder, "a b", "grüße #1.txt"), "changed");
    expect(await next()).toBe(uriOf(folder, "a b", "grüße #1.txt"));
  });

  test("notifies about added, moved and removed files", async () => {
    const folder = await makePages();
    const client = await serve({ folders: [folder] }, { revision });
    const next = await watch(client, { resources: true });
    const names = async () => (await client.listResources()).map(({ name }) => name).slice(1);
    expect(await names()).toEqual(["a b", "a b/grüße #1.txt", "bytes.bin"]);
    await writeFile(join(folder, "new.txt"), "");
    expect(await next()).toBe("resources");
    expect(await names()).toContain("new.txt");
    await rename(join(folder, "new.txt"), join(folder, "newer.txt"));
    expect(await next()).toBe("resources");
    await rm(join(folder, "a b"), { recursive: true });
    await expect.poll(names, { timeout: 10_000 }).toEqual(["bytes.bin", "newer.txt"]);
  });
});

test("notifies a client of 2026-07-28 about an added file, although it never listed the files", async () => {
  const folder = await makePages();
  const client = await serve({ folders: [folder] }, { revision: "2026-07-28" });
  const next = await watch(client, { resources: true });
  await writeFile(join(folder, "new.txt"), "");
  expect(await next()).toBe("resources");
});

test("explains how to read a file that is too large for a resource", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "large.txt"), "x".repeat(100));
  const client = await serve({ folders: [folder], limits: { blobBytes: 99 } });
  await expect(client.readResource(uriOf(folder, "large.txt"))).rejects.toThrow(
    /100 bytes, more than 99; the tool read/,
  );
});

test("allows no subscription outside", async () => {
  const folder = await makePages();
  const uri = uriOf(folder, "hole");
  const stateful = await serve({ folders: [folder] }, { revision: "2025-11-25" });
  await expect(stateful.watch({ uris: [uri] })).rejects.toThrow(/not found/i);
  const stateless = await serve({ folders: [folder] }, { revision: "2026-07-28" });
  expect((await stateless.watch({ uris: [uri, uriOf(folder, "bytes.bin")] })).acceptedFilter).toMatchObject({
    uris: [uriOf(folder, "bytes.bin")],
  });
});

test("a long list contains the files closest to the root; the others are available by template", async () => {
  const folder = await makeFolder();
  await mkdir(join(folder, "a", "deep"), { recursive: true });
  for (let number = 0; number < 20; number += 1) await writeFile(join(folder, "a", "deep", `${number}`), "");
  await writeFile(join(folder, "z.txt"), "");
  const client = await serve({ folders: [folder], limits: { listed: 4 } });
  const list = await client.listResources();
  expect(list.map(({ name }) => name).slice(1)).toEqual(["a", "a/deep", "a/deep/0", "z.txt"]);
});
