import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { PortolanError } from "portolan";
import { expect, test } from "vitest";
import { editConfig, expandEntry, parseConfig, trustDigest } from "../../../packages/host/src/config/index.ts";

const folder = join(import.meta.dirname, "files");
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

const odd = fc.constantFrom(
  ..."{}[]\"',:#\n\r\t\\-&*!|>%@`?=.$0 ",
  "${",
  "null",
  "__proto__",
  "\uFEFF",
  "\0",
  "\uD800",
  "- ",
  "<<: ",
);
const share = fc.noBias(fc.nat(9_999)).map((part) => part / 10_000);
const changes = fc.array(fc.tuple(share, fc.nat(3), fc.array(odd, { maxLength: 2 })), { minLength: 1, maxLength: 2 });

/** One of the products' files with a few characters replaced. */
const damaged = fc.tuple(fc.constantFrom(...files), changes).map(([file, edits]) => {
  let text = readFileSync(file, "utf8");
  for (const [part, length, added] of edits) {
    const at = Math.floor(part * text.length);
    text = text.slice(0, at) + added.join("") + text.slice(at + length);
  }
  return { file, text };
});

const expectPortolanError = (error: unknown) => {
  if (!(error instanceof PortolanError)) throw error;
  return undefined;
};

test("a damaged file gives entries or one PortolanError, and each entry has a trust digest", async () => {
  let entries = 0;
  await fc.assert(
    fc.asyncProperty(damaged, async ({ file, text }) => {
      const parsed = await parseConfig(text, { file }).catch(expectPortolanError);
      for (const raw of parsed?.servers ?? []) {
        const entry = await expandEntry(raw, { env: {}, workspaceFolder: "/w", userHome: "/h" });
        expect(await trustDigest(entry)).toMatch(/^[\w-]{43}$/);
        entries++;
      }
    }),
    { numRuns: 1_000 },
  );
  expect(entries).toBeGreaterThan(500);
});

test("editing a damaged file changes only the one server, or fails", async () => {
  const added = {
    name: "s",
    target: { command: "x" },
    configured: { command: "x" },
    settings: {},
    source: { kind: "code" },
  } as const;
  let edited = 0;
  await fc.assert(
    fc.asyncProperty(damaged, fc.boolean(), async ({ file, text }, isNew) => {
      const before = await parseConfig(text, { file }).catch(expectPortolanError);
      if (!before) return;
      const name = isNew ? "brand new" : (before.servers[0]?.name ?? "s");
      const after = await editConfig(text, { file }, name, isNew ? added : undefined).catch(expectPortolanError);
      if (after === undefined) return;
      edited++;
      const others = (config: typeof before) =>
        config.servers.filter((server) => server.name !== name && server.level !== "local");
      // A file with an unknown name is recognized by its servers, so it cannot be parsed without its last one.
      const again = await parseConfig(after, { file }).catch(expectPortolanError);
      expect((again ? others(again) : []).map(({ configured, settings }) => ({ configured, settings }))).toEqual(
        others(before).map(({ configured, settings }) => ({ configured, settings })),
      );
    }),
    { numRuns: 1_000 },
  );
  expect(edited).toBeGreaterThan(200);
});

test("no unexpanded placeholder reaches a server", async () => {
  const piece = fc.constantFrom(
    "${",
    "}",
    "${A}",
    "${B}",
    ":-",
    "env:",
    "input:",
    "{{",
    "$",
    "x",
    "A",
    "${A:-",
    "${env:A}",
    "command:",
  );
  const written = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  let started = 0;
  await fc.assert(
    fc.asyncProperty(
      written,
      fc.constantFrom("claude-code", "vscode", "gemini", "kiro", "claude-desktop"),
      async (arg, product) => {
        const servers = { s: { command: "x", args: [arg], env: { K: arg } } };
        const { servers: raw } = await parseConfig(JSON.stringify({ servers, mcpServers: servers }), {
          file: "x.json",
          product,
        });
        const { target: way, problem } = await expandEntry(raw[0]!, { env: { A: "value" } });
        if (problem === undefined) started++;
        expect(JSON.stringify(way)).not.toContain("${");
      },
    ),
    { numRuns: 2_000 },
  );
  expect(started).toBeGreaterThan(200);
});
