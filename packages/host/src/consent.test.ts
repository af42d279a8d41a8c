import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "./activity/index.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { Asking, Consent, type Draft } from "./consent.ts";
import type { HostedServer } from "./hosted-server.ts";
import { compilePolicy, createGrants, type Rule } from "./policy/index.ts";
import type { HostAnswers, HostQuestion } from "./questions.ts";

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

function createAsking(answers: HostAnswers) {
  const settled: string[] = [];
  const asked: HostQuestion[] = [];
  const asking = new Asking(answers, {
    asked: (question) => asked.push(question),
    settled: ({ id }) => settled.push(id),
  });
  return { asking, asked, settled };
}

function approval(server = "s"): Draft<"approve"> {
  return {
    kind: "approve",
    server,
    action: { kind: "resource", uri: "x:y" },
    reason: "",
    cautions: [],
    findings: [],
  };
}

test("one server cannot fill the list of questions for the others", async () => {
  const { asking } = createAsking({ approve: "later" });
  const waiting = Array.from({ length: 20 }, () => asking.ask(approval("loud")));
  await expect(asking.ask(approval("loud"))).rejects.toThrow("20 questions about loud wait already");
  const other = asking.ask(approval("quiet"));
  expect(asking.waiting).toHaveLength(21);
  await asking.answer(asking.waiting.at(-1)?.id ?? "", true);
  expect(await other).toEqual({ allow: true });
  asking.close();
  for (const question of waiting) await expect(question).rejects.toThrow("The host is closed");
  expect(asking.waiting).toEqual([]);
});

test("a question that nobody answers is not put", async () => {
  const { asking, asked } = createAsking({});
  expect(asking.answers("approve")).toBe(false);
  await expect(asking.ask(approval())).rejects.toMatchObject({ code: "unanswered" });
  expect(asked).toEqual([]);
});

test("answers of the one who asks come first", async () => {
  const { asking } = createAsking({ approve: () => false });
  expect(await asking.ask(approval(), { own: { approve: () => true } })).toEqual({ allow: true });
});

test.each([[undefined], ["yes"], [1], [{}], [{ allow: "yes" }], [null]])("%j is no answer", async (answer) => {
  const { asking, settled } = createAsking({ approve: () => answer as never });
  await expect(asking.ask(approval())).rejects.toThrow("answers.approve: expected true, false or { allow }");
  expect(settled).toHaveLength(1);
});

test("what an answerer throws is why there is no answer", async () => {
  const { asking } = createAsking({
    approve: () => {
      throw new Error("the dialog broke");
    },
  });
  await expect(asking.ask(approval())).rejects.toThrow("the dialog broke");
});

test("an answerer that never answers is not waited for once the question is taken back", async () => {
  const { asking, asked } = createAsking({ approve: () => new Promise(() => {}) });
  const stop = new AbortController();
  const waiting = asking.ask(approval(), { signal: stop.signal });
  stop.abort(new Error("too late"));
  await expect(waiting).rejects.toThrow("too late");
  expect(asked[0]?.signal.aborted).toBe(true);
  await expect(asking.ask(approval(), { signal: stop.signal })).rejects.toThrow("too late");
});

test("servers cannot make an application ask without end, also where a function answers", async () => {
  const never = () => new Promise<never>(() => {});
  const { asking, asked } = createAsking({ elicit: never, approve: never });
  const form = (server: string): Draft<"elicit"> => ({
    kind: "elicit",
    server,
    params: { message: "", requestedSchema: { type: "object", properties: {} } },
    secretFields: [],
  });
  const waiting: Promise<unknown>[] = Array.from({ length: 20 }, () => asking.ask(form("loud")));
  await expect(asking.ask(form("loud"))).rejects.toMatchObject({ code: "unanswered" });
  // What the application itself set off is not counted.
  waiting.push(...Array.from({ length: 300 }, () => asking.ask(approval("loud"))));
  for (let at = 0; at < 9; at += 1) waiting.push(...Array.from({ length: 20 }, () => asking.ask(form(`s${at}`))));
  await expect(asking.ask(form("last"))).rejects.toThrow("200 questions wait already");
  expect(asked).toHaveLength(500);
  asking.close();
  for (const question of waiting) await expect(question).rejects.toThrow("The host is closed");
});

test("nothing is asked once it is closed", async () => {
  const { asking, asked } = createAsking({ approve: () => true });
  asking.close();
  await expect(asking.ask(approval())).rejects.toThrow("The host is closed");
  expect(asked).toEqual([]);
});

test("questions about a server that is gone are taken back, and no others", async () => {
  const { asking, asked } = createAsking({ approve: "later" });
  const gone = asking.ask(approval("gone"));
  const here = asking.ask(approval("here"));
  asking.withdraw("gone");
  await expect(gone).rejects.toThrow("gone was removed");
  expect(asked[0]?.signal.aborted).toBe(true);
  await asking.answer(asking.waiting[0]?.id ?? "", false);
  expect(await here).toEqual({ allow: false });
});

test("an answerer that gives up its own question and never answers is not waited for", async () => {
  const stop = new AbortController();
  const { asking } = createAsking({
    approve: () => {
      stop.abort(new Error("gone"));
      return new Promise(() => {});
    },
  });
  await expect(asking.ask(approval(), { signal: stop.signal })).rejects.toThrow("gone");
});
