import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "./activity/index.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { Consent } from "./consent.ts";
import type { HostedServer } from "./hosted-server.ts";
import { OpenQuestions } from "./open-questions.ts";
import { compilePolicy, createGrants, type Rule } from "./policy/index.ts";

const definition = { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } } as const;
const tool = { server: "s", name: "read", definition, digest: "d" } as unknown as CatalogTool;

/** Returns a function that tells if a tool may be called without a question. */
async function createPermit(...rules: Rule[]) {
  const activity = openActivity(memorySink());
  const questions = new OpenQuestions({}, { activity, onAsked: () => undefined, onSettled: () => undefined });
  const grants = await createGrants(createMemoryStorage().kv);
  const consent = new Consent(compilePolicy(rules), grants, questions, activity);
  return async (server: object, args = {}, options = {}) => {
    const onAsked = consent.permitTool("c1", { name: "s", ...server } as HostedServer, tool, args, options);
    return onAsked === undefined || (await onAsked.then(() => true).catch(() => false));
  };
}

test("a cached permission does not apply in a conversation with untrusted content", async () => {
  const permit = await createPermit({ match: "s.read", then: "allow" });
  for (let times = 0; times < 3; times += 1) expect(await permit({ trustsHints: false })).toBe(true);
  const conversation = { contentFrom: new Set(["other"]), resourcesFrom: new Set<string>() };
  expect(await permit({ trustsHints: false }, {}, { conversation })).toBe(false);
});

test("a permission by hints ends when the hints are not trusted any more", async () => {
  const permit = await createPermit({ readOnly: true, then: "allow" });
  expect(await permit({ trustsHints: true })).toBe(true);
  expect(await permit({ trustsHints: false })).toBe(false);
  expect(await permit({ trustsHints: true })).toBe(true);
});

test("a permission that depends on arguments is checked each time", async () => {
  const permit = await createPermit({ args: { path: { startsWith: "/tmp/" } }, then: "allow" });
  expect(await permit({ trustsHints: true }, { path: "/tmp/a" })).toBe(true);
  expect(await permit({ trustsHints: true }, { path: "/etc/passwd" })).toBe(false);
});
