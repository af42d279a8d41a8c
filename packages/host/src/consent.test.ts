import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "./activity/index.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { Consent, type QuestionDraft, Questions } from "./consent.ts";
import type { HostedServer } from "./hosted-server.ts";
import { compilePolicy, createGrants, type Rule } from "./policy/index.ts";
import type { HostAnswers, HostQuestion } from "./questions.ts";

const definition = { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } } as const;
const tool = { server: "s", name: "read", definition, digest: "d" } as unknown as CatalogTool;

/** Returns a function that tells if a tool may be called without a question. */
async function createPermit(...rules: Rule[]) {
  const questions = new Questions({}, { onAsked: () => undefined, onSettled: () => undefined });
  const grants = await createGrants(createMemoryStorage().kv);
  const consent = new Consent(compilePolicy(rules), grants, questions, openActivity(memorySink()));
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

function createAsking(answers: HostAnswers) {
  const onSettled: string[] = [];
  const onAsked: HostQuestion[] = [];
  const questions = new Questions(answers, {
    onAsked: (question) => onAsked.push(question),
    onSettled: ({ id }) => onSettled.push(id),
  });
  return { questions, onAsked, onSettled };
}

function approval(server = "s"): QuestionDraft<"approve"> {
  return {
    kind: "approve",
    server,
    action: { kind: "resource", uri: "x:y" },
    reason: "",
    cautions: [],
    findings: [],
  };
}

test("one server cannot take all places for questions", async () => {
  const { questions } = createAsking({ approve: "later" });
  const waiting = Array.from({ length: 20 }, () => questions.ask(approval("loud")));
  await expect(questions.ask(approval("loud"))).rejects.toThrow("20 questions about loud are waiting already");
  const other = questions.ask(approval("quiet"));
  expect(questions.waiting).toHaveLength(21);
  await questions.answer(questions.waiting.at(-1)?.id ?? "", true);
  expect(await other).toEqual({ allow: true });
  questions.close();
  for (const question of waiting) await expect(question).rejects.toThrow("The host is closed");
  expect(questions.waiting).toEqual([]);
});

test("a question without an answerer is not asked", async () => {
  const { questions, onAsked } = createAsking({});
  expect(questions.canAsk("approve")).toBe(false);
  await expect(questions.ask(approval())).rejects.toMatchObject({ code: "unanswered" });
  expect(onAsked).toEqual([]);
});

test("answers of the call come before those of the host", async () => {
  const { questions } = createAsking({ approve: () => false });
  expect(await questions.ask(approval(), { own: { approve: () => true } })).toEqual({ allow: true });
});

test.each([[undefined], ["yes"], [1], [{}], [{ allow: "yes" }], [null]])(
  "the answer %j is rejected",
  async (answer) => {
    const { questions, onSettled } = createAsking({ approve: () => answer as never });
    await expect(questions.ask(approval())).rejects.toThrow("answers.approve: expected true, false or { allow }");
    expect(onSettled).toHaveLength(1);
  },
);

test("ask rejects with the error of the answerer", async () => {
  const { questions } = createAsking({
    approve: () => {
      throw new Error("the dialog broke");
    },
  });
  await expect(questions.ask(approval())).rejects.toThrow("the dialog broke");
});

test("ask rejects when the question is withdrawn, even if the answerer never answers", async () => {
  const { questions, onAsked } = createAsking({ approve: () => new Promise(() => {}) });
  const stop = new AbortController();
  const waiting = questions.ask(approval(), { signal: stop.signal });
  stop.abort(new Error("too late"));
  await expect(waiting).rejects.toThrow("too late");
  expect(onAsked[0]?.signal.aborted).toBe(true);
  await expect(questions.ask(approval(), { signal: stop.signal })).rejects.toThrow("too late");
});

test("questions of servers are limited, also where a function answers", async () => {
  const never = () => new Promise<never>(() => {});
  const { questions, onAsked } = createAsking({ elicit: never, approve: never });
  const form = (server: string): QuestionDraft<"elicit"> => ({
    kind: "elicit",
    server,
    params: { message: "", requestedSchema: { type: "object", properties: {} } },
    secretFields: [],
  });
  const waiting: Promise<unknown>[] = Array.from({ length: 20 }, () => questions.ask(form("loud")));
  await expect(questions.ask(form("loud"))).rejects.toMatchObject({ code: "unanswered" });
  // Questions that the application causes itself are not counted.
  waiting.push(...Array.from({ length: 300 }, () => questions.ask(approval("loud"))));
  for (let at = 0; at < 9; at += 1) waiting.push(...Array.from({ length: 20 }, () => questions.ask(form(`s${at}`))));
  await expect(questions.ask(form("last"))).rejects.toThrow("200 questions are waiting already");
  expect(onAsked).toHaveLength(500);
  questions.close();
  for (const question of waiting) await expect(question).rejects.toThrow("The host is closed");
});

test("nothing is asked after close", async () => {
  const { questions, onAsked } = createAsking({ approve: () => true });
  questions.close();
  await expect(questions.ask(approval())).rejects.toThrow("The host is closed");
  expect(onAsked).toEqual([]);
});

test("withdraw ends the questions about one server only", async () => {
  const { questions, onAsked } = createAsking({ approve: "later" });
  const gone = questions.ask(approval("gone"));
  const here = questions.ask(approval("here"));
  questions.withdraw("gone");
  await expect(gone).rejects.toThrow("gone was removed");
  expect(onAsked[0]?.signal.aborted).toBe(true);
  await questions.answer(questions.waiting[0]?.id ?? "", false);
  expect(await here).toEqual({ allow: false });
});

test("an answerer that aborts its own question is not waited for", async () => {
  const stop = new AbortController();
  const { questions } = createAsking({
    approve: () => {
      stop.abort(new Error("gone"));
      return new Promise(() => {});
    },
  });
  await expect(questions.ask(approval(), { signal: stop.signal })).rejects.toThrow("gone");
});

test("long questions of one server leave room for those of the others", async () => {
  const { questions } = createAsking({ elicit: "later" });
  const form = (server: string, chars: number): QuestionDraft<"elicit"> => ({
    kind: "elicit",
    server,
    params: { message: "x".repeat(chars), requestedSchema: { type: "object", properties: {} } },
    secretFields: [],
  });
  const million = 1024 * 1024;
  const waiting = [questions.ask(form("loud", 3 * million))];
  await expect(questions.ask(form("loud", 2 * million))).rejects.toThrow(
    /questions about loud have more than \d+ char/,
  );
  for (let at = 0; at < 9; at += 1) waiting.push(questions.ask(form(`s${at}`, 3 * million)));
  await expect(questions.ask(form("last", 3 * million))).rejects.toMatchObject({ code: "unanswered" });
  waiting.push(questions.ask(form("short", 100)));
  expect(questions.waiting).toHaveLength(11);
  questions.close();
  expect((await Promise.allSettled(waiting)).every(({ status }) => status === "rejected")).toBe(true);
});
