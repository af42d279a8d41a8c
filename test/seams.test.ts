// Parts of the libraries that are loaded with their first use: a list, and what each of them saves.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const source = join(root, "packages/portolan/src");
const leastBytes = 400;

/** For each entry of the library, the files it loads late, by the file that loads them. */
const sizeSeams: { readonly [entry: string]: { readonly [importer: string]: readonly string[] } } = {
  "server/index.ts": {
    "schema/infer.ts": ["schema/json-schema.ts", "schema/zod.ts"],
    "server/call/dispatch.ts": [
      ...[
        "server/call/describe.ts",
        "server/call/prompts.ts",
        "server/call/resources.ts",
        "server/subscribe/listen.ts",
      ],
    ],
    "server/call/exchange.ts": ["server/ask/questions.ts"],
    "server/channel/serve-channel.ts": ["server/channel/session.ts"],
    "server/define/resources.ts": ["protocol/uri-template.ts"],
    "server/extension.ts": ["server/call/extra.ts"],
    "server/runtime.ts": ["server/define/warnings.ts"],
  },
  "server/stdio.ts": { "jsonrpc/framing.ts": ["jsonrpc/envelope.ts"] },
  "server/http/index.ts": {
    "server/http/serve-http.ts": ["server/http/fetch.ts"],
    "server/http/endpoint.ts": [
      ...["server/http/authorize.ts", "server/http/http-sse.ts"],
      ...["server/http/observe.ts", "server/http/read-body.ts", "server/http/processes/relay.ts"],
      "server/http/sessions/post.ts",
    ],
    "server/http/stateless.ts": ["http/param-headers.ts"],
  },
  "server/http/authorize.ts": { "server/http/authorize.ts": ["server/http/card.ts"] },
  "server/http/node/listen.ts": { "server/http/node/listen.ts": ["server/http/node/check-listen.ts"] },
  "server/http/node/check-listen.ts": { "server/http/node/check-listen.ts": ["server/http/card.ts"] },
  "server/main.ts": { "server/main.ts": ["server/http/index.ts"] },
  "client/index.ts": {
    "client/client.ts": [
      ...["client/cached-calls.ts", "client/lists.ts", "client/output-check.ts", "client/verbatim.ts"],
      "client/watch.ts",
    ],
    "client/connect.ts": [
      ...["client/active-extensions.ts", "client/era-cache.ts", "client/http/index.ts", "client/observed-link.ts"],
      "client/tapped-link.ts",
    ],
    "client/connection.ts": ["client/answer.ts"],
    "client/form-answer.ts": ["schema/json-schema.ts"],
    "client/negotiate.ts": ["client/handshake.ts"],
  },
  "internal.ts": { "client/output-schema.ts": ["client/output-check.ts"] },
  "client/stdio.ts": { "client/stdio.ts": ["client/process-errors.ts"] },
  "auth/client/index.ts": { "auth/client/oauth.ts": ["auth/client/steps.ts"] },
  "client/http/index.ts": {
    "client/http/exchange.ts": ["client/http/session.ts"],
    "client/http/link.ts": [
      ...["client/http/fetch.ts", "client/http/http-sse.ts", "client/http/session.ts", "client/http/tool-headers.ts"],
    ],
    "client/http/send.ts": ["client/http/resend.ts"],
  },
};

const seams = Object.entries(sizeSeams).flatMap(([entry, importers]) =>
  Object.entries(importers).flatMap(([importer, targets]) => targets.map((target) => ({ entry, importer, target }))),
);

test("every import() of a file of the library is in the list", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const found = files.flatMap((file) =>
    [...readFileSync(join(source, file), "utf8").matchAll(/(?<!typeof )\bimport\("(\.[^"]+)"\)(?!\.[A-Z])/g)].map(
      ([, target = ""]) => `${file} → ${join(dirname(file), target)}`,
    ),
  );
  expect([...new Set(found)].sort()).toEqual(seams.map(({ importer, target }) => `${importer} → ${target}`).sort());
});

test.each(["portolan", "host"])(
  "every import() of a platform's part in packages/%s has a file for node and one for other runtimes",
  (name) => {
    const folder = join(root, "packages", name);
    const { imports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const used = new Set<string>();
    for (const file of readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
      const text = readFileSync(join(folder, "src", file), "utf8");
      for (const [, part = ""] of text.matchAll(/\bimport\("(#[^"]+)"\)/g)) used.add(part);
      expect(text, file).not.toMatch(/\bimport\("[^"]*\/node\//);
    }
    expect([...used].sort()).toEqual(Object.keys(imports).sort());
    for (const conditions of Object.values<object>(imports)) {
      expect(Object.keys(conditions)).toEqual(["node", "default"]);
    }
  },
);

describe("loading late saves at least 0.4 KB of a bundle", () => {
  test.each(seams)("$importer → $target", async ({ entry, importer, target }) => {
    const without = await bundleBytes(entry, () => false);
    const withTarget = await bundleBytes(entry, (from, to) => from === importer && to === target);
    expect(withTarget - without).toBeGreaterThanOrEqual(leastBytes);
  });
});

/** The size of an entry, minified and compressed, with those late parts in it that `isIncluded` names. */
async function bundleBytes(entry: string, isIncluded: (from: string, to: string) => boolean): Promise<number> {
  const { output } = await build({
    input: join(source, entry),
    platform: "neutral",
    external: [/^node:/, /^#/, "jose", "oauth4webapi"],
    plugins: [
      {
        name: "late-parts",
        async resolveDynamicImport(specifier, importer) {
          if (typeof specifier !== "string" || !specifier.startsWith(".")) return null;
          const from = relative(source, importer ?? source)
            .split(sep)
            .join("/");
          const to = join(dirname(from), specifier);
          return isIncluded(from, to) ? join(source, to) : { id: specifier, external: true };
        },
      },
    ],
    output: { format: "esm", minify: true },
    write: false,
    logLevel: "silent",
  });
  const code = output.map((file) => (file.type === "chunk" ? file.code : "")).join("");
  return gzipSync(code, { level: 9 }).length;
}
