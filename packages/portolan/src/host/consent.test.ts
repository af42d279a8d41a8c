import { expect, test } from "vitest";
import { createMemoryStorage } from "../storage/memory.ts";
import { memorySink, openActivity } from "./activity/index.ts";
import { Asking } from "./asking.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { Consent } from "./consent.ts";
import type { HostedServer } from "./hosted-server.ts";
import { compilePolicy, createGrants, type Rule } from "./policy/index.ts";

const definition = { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } } as const;
const tool = { server: "s", name: "read", definition, digest: "d" } as unknown as CatalogTool;

/** Whether a tool may be called without a question. */
async function createPermit(...rules: Rule[]) {
  const asking = new Asking({}, { asked: () => undefined, settled: () => undefined });
  const grants = await createGrants(createMemoryStorage().kv);
  const consent = new Consent(compilePolicy(rules), grants, asking, openActivity(memorySink()));
  return async (server: object, args = {}, options = {}) => {
    const asked = consent.permitTool("c1", { name: "s", ...server } as HostedServer, tool, args, options);
    return asked === undefined || (await asked.then(() => true).catch(() => false));
  };
}

test("what is always allowed is asked about in a conversation with the words of others", async () => {
  const permit = await createPermit({ match: "s.read", then: "allow" });
  for (let times = 0; times < 3; times += 1) expect(await permit({ trustsHints: false })).toBe(true);
  const conversation = { contentFrom: new Set(["other"]), resourcesFrom: new Set<string>() };
  expect(await permit({ trustsHints: false }, {}, { conversation })).toBe(false);
});

test("what is allowed because of hints is not any more when they do not count", async () => {
  const permit = await createPermit({ readOnly: true, then: "allow" });
  expect(await permit({ trustsHints: true })).toBe(true);
  expect(await permit({ trustsHints: false })).toBe(false);
  expect(await permit({ trustsHints: true })).toBe(true);
});

test("what is allowed with some arguments is looked at each time", async () => {
  const permit = await createPermit({ args: { path: { startsWith: "/tmp/" } }, then: "allow" });
  expect(await permit({ trustsHints: true }, { path: "/tmp/a" })).toBe(true);
  expect(await permit({ trustsHints: true }, { path: "/etc/passwd" })).toBe(false);
});
