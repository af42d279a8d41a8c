import { sha256 } from "portolan/storage";
import { expect, test } from "vitest";
import { type ActivitySink, memorySink, openActivity } from "./activity/index.ts";
import { OpenQuestions, type QuestionDraft, type SettledQuestion } from "./open-questions.ts";
import type { HostAnswers, HostQuestion } from "./questions.ts";

function createAsking(answers: HostAnswers, sink: ActivitySink = memorySink()) {
  const onSettled: SettledQuestion[] = [];
  const onAsked: HostQuestion[] = [];
  const activity = openActivity(sink);
  let notify = () => {};
  const questions = new OpenQuestions(answers, {
    activity,
    onAsked(question) {
      onAsked.push(question);
      notify();
    },
    onSettled: (settled) => onSettled.push(settled),
  });
  /** Resolves when so many questions were asked. */
  const asked = async (count: number) => {
    while (onAsked.length < count) {
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
  };
  return { questions, activity, onAsked, onSettled, asked };
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
  const { questions, asked } = createAsking({ approve: "later" });
  const waiting = Array.from({ length: 20 }, () => questions.ask(approval("loud")));
  await expect(questions.ask(approval("loud"))).rejects.toThrow("20 questions about loud are waiting already");
  const other = questions.ask(approval("quiet"));
  await asked(21);
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
  const { questions, onAsked, asked } = createAsking({ approve: () => new Promise(() => {}) });
  const stop = new AbortController();
  const waiting = questions.ask(approval(), { signal: stop.signal });
  await asked(1);
  stop.abort(new Error("too late"));
  await expect(waiting).rejects.toThrow("too late");
  expect(onAsked[0]?.signal.aborted).toBe(true);
  await expect(questions.ask(approval(), { signal: stop.signal })).rejects.toThrow("too late");
});

test("questions of servers are limited, also where a function answers", async () => {
  const never = () => new Promise<never>(() => {});
  const { questions, onAsked, asked } = createAsking({ elicit: never, approve: never });
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
  await asked(500);
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
  const { questions, onAsked, asked } = createAsking({ approve: "later" });
  const gone = questions.ask(approval("gone"));
  const here = questions.ask(approval("here"));
  await asked(2);
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
  const { questions, asked } = createAsking({ elicit: "later" });
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
  await asked(11);
  expect(questions.waiting).toHaveLength(11);
  questions.close();
  expect((await Promise.allSettled(waiting)).every(({ status }) => status === "rejected")).toBe(true);
});

test("a question has an unguessable id, its time, and the digest of everything that is shown", async () => {
  const { questions, onAsked, asked } = createAsking({ approve: "later" });
  const before = Date.now();
  const waiting = [approval(), approval(), { ...approval(), call: "c-1" }, { ...approval(), reason: "why" }].map(
    (draft) => questions.ask(draft),
  );
  await asked(4);
  const [first, second, ...others] = onAsked;
  expect(first?.id).toMatch(/^[\da-f-]{36}$/);
  expect(second?.id).not.toBe(first?.id);
  expect(first?.askedAt).toBeGreaterThanOrEqual(before);
  expect(second?.digest).toBe(first?.digest);
  expect(new Set([first, ...others].map((question) => question?.digest)).size).toBe(3);
  for (const question of onAsked) {
    // The page of a user interface gets this text, so it can check the digest.
    const { id: _, askedAt: __, digest, ...shown } = JSON.parse(JSON.stringify(question)) as HostQuestion;
    expect("signal" in shown).toBe(false);
    expect(question.signal).toBeInstanceOf(AbortSignal);
    expect(await sha256(JSON.stringify(shown))).toBe(digest);
  }
  questions.close();
  await Promise.allSettled(waiting);
});

test("what is shown stays as it was asked, also if the caller changes its objects", async () => {
  const { questions, onAsked, asked } = createAsking({ approve: "later" });
  const draft = approval();
  const action = { kind: "resource" as const, uri: "x:y" };
  const waiting = questions.ask({ ...draft, action });
  action.uri = "x:other";
  await asked(1);
  expect(onAsked[0]).toMatchObject({ action: { uri: "x:y" } });
  questions.close();
  await Promise.allSettled([waiting]);
});

test("an answer to another digest is rejected, and the question keeps waiting", async () => {
  const { questions, onAsked, onSettled, asked } = createAsking({ approve: "later" });
  const waiting = questions.ask(approval());
  await asked(1);
  const { id = "", digest = "" } = onAsked[0] ?? {};
  await expect(questions.answer(id, true, { digest: `${digest}x` })).rejects.toMatchObject({
    code: "question-changed",
    message: expect.stringContaining("is not the one that was shown"),
  });
  expect(questions.waiting).toHaveLength(1);
  expect(onSettled).toEqual([]);
  expect(await questions.answer(id, true, { digest, by: "Ada" })).toEqual({});
  expect(await waiting).toEqual({ allow: true });
  expect(onSettled).toMatchObject([{ question: { id }, answer: { allow: true }, by: "Ada" }]);
});

test("of two answers at once one wins, and the other hears that it came too late", async () => {
  const { questions, onAsked, onSettled, asked } = createAsking({ approve: "later" });
  const recorded: boolean[] = [];
  const waiting = questions.ask(approval(), {
    record({ allow }) {
      recorded.push(allow);
      return { grant: "g" };
    },
  });
  await asked(1);
  const { id = "" } = onAsked[0] ?? {};
  const answers = await Promise.allSettled([questions.answer(id, true), questions.answer(id, false)]);
  expect(answers[0]).toEqual({ status: "fulfilled", value: { grant: "g" } });
  expect(answers[1]).toMatchObject({ status: "rejected", reason: { code: "invalid-argument" } });
  expect(await waiting).toEqual({ allow: true });
  expect(recorded).toEqual([true]);
  expect(onSettled).toHaveLength(1);
  await expect(questions.answer(id, false)).rejects.toThrow("is waiting: it was answered already");
});

test("an answer after the question was withdrawn hears so, and nothing is recorded", async () => {
  const { questions, onAsked, onSettled, asked } = createAsking({ approve: "later" });
  const stop = new AbortController();
  const recorded: unknown[] = [];
  const record = (verdict: unknown) => {
    recorded.push(verdict);
    return {};
  };
  const waiting = questions.ask(approval(), { signal: stop.signal, record });
  await asked(1);
  stop.abort(new Error("never mind"));
  await expect(waiting).rejects.toThrow("never mind");
  await expect(questions.answer(onAsked[0]?.id ?? "", true)).rejects.toThrow("is waiting: it was withdrawn");
  expect(recorded).toEqual([]);
  expect(onSettled.map(({ answer }) => answer)).toEqual([undefined]);
});

/** A sink that holds each append until `finish` is called, and then passes or fails it. */
function createHeldSink(): { sink: ActivitySink; finish: (how: "pass" | "fail") => void } {
  const inner = memorySink();
  let decide: (how: "pass" | "fail") => void = () => {};
  const decided = new Promise<"pass" | "fail">((resolve) => {
    decide = resolve;
  });
  const sink: ActivitySink = {
    isLinear: true,
    async append(build) {
      if ((await decided) === "fail") throw new Error("no space left on device");
      await inner.append(build);
    },
    read: (newestFirst) => inner.read(newestFirst),
    close: () => inner.close(),
  };
  return { sink, finish: (how) => decide(how) };
}

test("an answer counts only after its decision is written", async () => {
  const held = createHeldSink();
  const { questions, activity, onAsked, onSettled, asked } = createAsking({ approve: "later" }, held.sink);
  const order: string[] = [];
  const record = () => {
    activity.record({ kind: "decision", server: "s" });
    order.push("recorded");
    return {};
  };
  const waiting = questions.ask(approval(), { record }).then(() => order.push("goes on"));
  await asked(1);
  const answering = questions.answer(onAsked[0]?.id ?? "", true).then(() => order.push("resolved"));
  // Whatever else waits in the meantime, the answer does not count yet.
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(order).toEqual(["recorded"]);
  expect(onSettled).toEqual([]);
  expect(questions.waiting).toEqual([]);
  held.finish("pass");
  await Promise.all([waiting, answering]);
  expect(order.slice(1).sort()).toEqual(["goes on", "resolved"]);
});

test("an answer whose decision cannot be written does not count, and says why", async () => {
  const held = createHeldSink();
  const { questions, activity, onAsked, onSettled, asked } = createAsking({ approve: "later" }, held.sink);
  const record = () => {
    activity.record({ kind: "decision", server: "s" });
    return {};
  };
  const waiting = questions.ask(approval(), { record });
  await asked(1);
  held.finish("fail");
  const failure = {
    code: "store-failed",
    message:
      "The answer about s does not count, because it was not recorded: The activity log cannot be written: no space left on device",
  };
  const answering = questions.answer(onAsked[0]?.id ?? "", true);
  await Promise.all([expect(answering).rejects.toMatchObject(failure), expect(waiting).rejects.toMatchObject(failure)]);
  expect(onSettled.map(({ answer }) => answer)).toEqual([undefined]);
  expect(questions.waiting).toEqual([]);
});

test("a question that has no JSON form is not asked", async () => {
  const { questions, onAsked } = createAsking({ approve: () => true });
  const draft = { ...approval(), cautions: [1n] as never };
  await expect(questions.ask(draft)).rejects.toMatchObject({ code: "unserializable" });
  expect(onAsked).toEqual([]);
});

test("an answer whose decision the log has dropped does not count, although the rest of the log is written", async () => {
  const { questions, activity, onAsked, asked } = createAsking({ approve: "later" });
  const waiting = questions.ask(approval(), {
    async record() {
      // A log drops what comes after its end, and what comes while too much waits.
      await activity.close();
      activity.record({ kind: "decision", server: "s" });
      return {};
    },
  });
  await asked(1);
  const answering = questions.answer(onAsked[0]?.id ?? "", true);
  const failure = { code: "store-failed", message: expect.stringContaining("has dropped entries") };
  await Promise.all([expect(answering).rejects.toMatchObject(failure), expect(waiting).rejects.toMatchObject(failure)]);
});
