import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Block, ConversationHead, QuestionRecord } from "portolan-console/api";
import type { Model } from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";
import { describe, expect, onTestFinished, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { makeHome } from "../cli/kit.ts";
import { fileOf, put, type Running, startPortolan, stateOf } from "../cli/manage-kit.ts";
import { type EventReader, refusalOf, Tab } from "./kit.ts";

/** A console process with a page. */
interface Session {
  readonly running: Running;
  readonly tab: Tab;
  readonly events: EventReader;
}

/** Calls a tool once, and then has finished. The first turn waits after its first words if it is held. */
function createWriter(tool: string, hold: Promise<void> | undefined): Model & { readonly asked: string[] } {
  let isHeld = hold !== undefined;
  const asked: string[] = [];
  return {
    id: "writer",
    capabilities: { tools: true, images: false },
    asked,
    async *stream({ messages, tools = [] }) {
      if (tools.length === 0) {
        // A server asks: a run has tools.
        yield { type: "text", delta: "blue" };
        yield { type: "end", stopReason: "endTurn", model: "writer" };
        return;
      }
      asked.push(JSON.stringify(messages));
      const isFirst = !messages.some(({ role }) => role === "assistant");
      yield { type: "text", delta: isFirst ? "Let me write. " : "That is all." };
      if (isHeld) {
        isHeld = false;
        await hold;
      }
      if (isFirst) yield { type: "tool", id: "c1", name: `counting__${tool}`, input: { id: "w1" } };
      yield { type: "end", stopReason: isFirst ? "toolUse" : "endTurn", model: "writer" };
    },
  };
}

/** A home with a server that counts its calls, and a console that is killed and started again in it. */
class Place {
  readonly cwd = makeHome();
  readonly model: ReturnType<typeof createWriter>;
  readonly #env: { [name: string]: string };
  readonly #era: string;
  conversation = "";

  static async create({ tool = "write", deadly = "", isHeld = false, era = "auto" } = {}): Promise<Place> {
    let release = () => {};
    const hold = isHeld ? new Promise<void>((resolve) => (release = resolve)) : undefined;
    const model = createWriter(tool, hold);
    const provider = await startFakeProvider({ dialect: "openai", model });
    onTestFinished(async () => {
      release();
      await provider.close();
    });
    return new Place(model, { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "writer" }, deadly, era);
  }

  private constructor(model: Place["model"], env: { [name: string]: string }, deadly: string, era: string) {
    this.model = model;
    this.#env = env;
    this.#era = era;
    // A server notes its end a moment after its console was killed, and its folder is removed after the test.
    onTestFinished(() => this.#serversEnded());
    const args = [fileOf("test/host/fixtures/counting.mjs"), this.#calls, deadly];
    put(this.cwd, ".mcp.json", { mcpServers: { counting: { command: process.execPath, args, protocolEra: era } } });
  }

  get #calls(): string {
    return join(this.cwd, "calls");
  }

  countNotes(note: string): number {
    if (!existsSync(this.#calls)) return 0;
    return readFileSync(this.#calls, "utf8")
      .split("\n")
      .filter((line) => line === note).length;
  }

  /** How often the server was called. */
  get count(): number {
    return this.countNotes("w1");
  }

  /** Resolves when a console has ended, and its servers too: they may work on for a moment. */
  async ended({ running }: Session): Promise<void> {
    await running.ended;
    await this.#serversEnded();
  }

  async #serversEnded(): Promise<void> {
    await expect
      .poll(() => this.countNotes("begin") - this.countNotes("end"), { interval: 10, timeout: 20_000 })
      .toBe(0);
  }

  async kill(session: Session): Promise<void> {
    session.running.child.kill("SIGKILL");
    await this.ended(session);
  }

  /** All that the console has stored of the conversation. */
  get journal(): string {
    return readFileSync(join(stateOf(this.cwd), "console", "conversations", `${this.conversation}.jsonl`), "utf8");
  }

  async start(): Promise<Session> {
    const running = startPortolan(["console", "--no-open"], { cwd: this.cwd, env: this.#env });
    const { url } = JSON.parse(await running.until(/"event":"ready"/));
    const tab = await Tab.open({ openAddress: () => url });
    return { running, tab, events: await tab.events() };
  }

  async trust({ tab }: Session, server = "counting"): Promise<void> {
    const { digest } = await tab.do("server.subject", { server });
    await tab.do("server.trust", { server, allow: true, digest });
  }

  /** Trusts the server, and sends a message. */
  async begin(session: Session): Promise<void> {
    const { tab } = session;
    await this.trust(session);
    await tab.do("server.start", { server: "counting" });
    const { server } = await session.events.ever("server", (event) => event.server.state === "ready");
    if (this.#era !== "auto") expect(server.revision).toBe(this.#era);
    this.conversation = (await tab.do("conversation.create", {})).id;
    await tab.do("conversation.send", { id: this.conversation, text: "Write it" });
  }

  /** Starts the console again. Nothing may ask or run by itself. */
  async restart(): Promise<Session & { readonly state: string | undefined; readonly blocks: readonly Block[] }> {
    const before = this.count;
    const session = await this.start();
    const { questions, calls, conversations } = await session.events.state();
    expect({ questions, calls }).toEqual({ questions: [], calls: [] });
    expect(conversations.map(({ id }) => id)).toEqual([this.conversation]);
    const state = conversations[0]?.state;
    const { blocks } = await session.tab.do("conversation.blocks", { id: this.conversation });
    expect(blocks[0]).toMatchObject({ kind: "user", text: "Write it" });
    expect(this.count).toBe(before);
    return { ...session, state, blocks };
  }
}

async function answer(
  { tab }: Session,
  { id, digest }: Pick<QuestionRecord, "id" | "digest">,
  allow: boolean,
): Promise<void> {
  await tab.do("answer", { id, digest, answer: { allow } });
}

async function untilIdle({ events }: Session): Promise<ConversationHead> {
  const { conversation } = await events.next("conversation", ({ conversation: { state } }) => state === "idle");
  return conversation;
}

/** Returns who decided about calls, in order. */
async function decisionsOf({ tab }: Session): Promise<unknown[]> {
  const { rows } = await tab.do("activity", { limit: 500, kind: "decision" });
  return rows.map(({ detail: { name, effect, by } }) => [name, effect, by]);
}

const allowed = ["write", "allow", "user"];

/** Ends a conversation that was interrupted, and checks what is left of it. */
async function checkEnd(place: Place, session: Session): Promise<readonly Block[]> {
  await untilIdle(session);
  expect(place.count).toBeLessThanOrEqual(1);
  const { isIntact } = await session.tab.do("activity.verify", {});
  expect(isIntact).toBe(true);
  const { blocks } = await session.tab.do("conversation.blocks", { id: place.conversation });
  expect(blocks.at(-1)).toMatchObject({ kind: "text", text: "That is all." });
  expect(blocks.filter((block) => block.kind === "call" && !block.record.end)).toEqual([]);
  expect(blocks.filter((block) => block.kind === "uncertain" && !block.isSettled)).toEqual([]);
  // The process that was killed leaves its file behind, and nothing else.
  const files = readdirSync(join(stateOf(place.cwd), "console"));
  expect(files.filter((name) => name.endsWith(".new"))).toEqual([]);
  return blocks;
}

/** The first and the last revision that has what is asked. */
const revisions = ["2024-11-05", "2026-07-28"];
const withForms = ["2025-06-18", "2026-07-28"];
const withAddresses = ["2025-11-25", "2026-07-28"];

describe("a console that is killed", () => {
  test("while text streams: the words so far are kept and marked as cut, and the model is asked again", async () => {
    const place = await Place.create({ isHeld: true });
    const first = await place.start();
    await place.begin(first);
    await first.events.next("block", ({ block }) => block.kind === "text");
    await expect.poll(() => place.journal, { timeout: 20_000 }).toContain("Let me write.");
    await place.kill(first);
    const second = await place.restart();
    expect(second.state).toBe("interrupted");
    expect(second.blocks.at(-1)).toMatchObject({ kind: "text", text: "Let me write. ", isCut: true });
    expect(place.model.asked).toHaveLength(1);
    await second.tab.do("conversation.continue", { id: place.conversation });
    const { question } = await second.events.next("question");
    await answer(second, question, true);
    await checkEnd(place, second);
    expect([place.count, await decisionsOf(second)]).toEqual([1, [allowed]]);
    expect(place.model.asked[1]).toBe(place.model.asked[0]);
  }, 60_000);

  test.each(revisions)(
    "while a question is open: it is asked again under another id, and the old answer counts for nothing, on %s",
    async (era) => {
      const place = await Place.create({ era });
      const first = await place.start();
      await place.begin(first);
      // A question is shown when its call is on the disk, so the test need not wait for anything else.
      const { question } = await first.events.next("question");
      await place.kill(first);
      const second = await place.restart();
      expect(second.state).toBe("interrupted");
      expect(second.blocks.filter(({ kind }) => kind === "uncertain")).toEqual([]);
      expect(second.blocks.find(({ kind }) => kind === "call")).toMatchObject({
        record: { end: { how: "unsent", message: "Not sent: you had not answered." } },
      });
      expect((await refusalOf(answer(second, question, true))).status).toBe(410);
      await second.tab.do("conversation.continue", { id: place.conversation });
      const again = (await second.events.next("question")).question;
      expect(again.id).not.toBe(question.id);
      expect((await refusalOf(answer(second, question, true))).status).toBe(410);
      expect([place.count, await decisionsOf(second)]).toEqual([0, []]);
      await answer(second, again, true);
      await checkEnd(place, second);
      expect([place.count, await decisionsOf(second)]).toEqual([1, [allowed]]);
    },
    60_000,
  );

  test.each(revisions)(
    "while a call runs: the call may have run, and the model is told so, on %s",
    async (era) => {
      const place = await Place.create({ era, deadly: "w1" });
      const first = await place.start();
      await place.begin(first);
      const { question } = await first.events.next("question");
      // The server kills the console when it gets the call, so there may be no reply.
      await answer(first, question, true).catch(() => {});
      await place.ended(first);
      expect(place.count).toBe(1);
      const second = await place.restart();
      expect(second.state).toBe("interrupted");
      expect(second.blocks.filter(({ kind }) => kind === "uncertain")).toMatchObject([
        { server: "counting", tool: "write", argumentsText: '{"id":"w1"}', isSettled: false },
      ]);
      expect(second.blocks.find(({ kind }) => kind === "call")).toMatchObject({ record: { end: { how: "unknown" } } });
      await second.tab.do("conversation.continue", { id: place.conversation, uncertain: "tell-model" });
      await checkEnd(place, second);
      expect([place.count, await decisionsOf(second)]).toEqual([1, [allowed]]);
      expect(place.model.asked.at(-1)).toContain("It may have taken effect: check before you repeat it.");
    },
    60_000,
  );

  test.each(revisions)(
    "while a call runs: the person is asked before the call is sent again, and may say no, on %s",
    async (era) => {
      const place = await Place.create({ era, deadly: "w1" });
      const first = await place.start();
      await place.begin(first);
      const { question } = await first.events.next("question");
      await answer(first, question, true).catch(() => {});
      await place.ended(first);
      const second = await place.restart();
      await second.tab.do("conversation.continue", { id: place.conversation, uncertain: "ask-again" });
      const again = (await second.events.next("question")).question;
      expect(again).toMatchObject({ kind: "approve", mayHaveRun: true, isOnce: true });
      // The doubt is not forgotten if the console is killed while it asks.
      await place.kill(second);
      const third = await place.restart();
      expect(third.state).toBe("interrupted");
      expect(third.blocks.filter((block) => block.kind === "uncertain" && !block.isSettled)).toHaveLength(1);
      expect((await refusalOf(answer(third, again, true))).status).toBe(410);
      await third.tab.do("conversation.continue", { id: place.conversation, uncertain: "ask-again" });
      const last = (await third.events.next("question")).question;
      expect([last, place.count]).toMatchObject([{ kind: "approve", mayHaveRun: true }, 1]);
      await answer(third, last, false);
      await checkEnd(place, third);
      expect([place.count, await decisionsOf(third)]).toEqual([1, [allowed, ["write", "deny", "user"]]]);
      expect(place.model.asked.at(-1)).toContain("may have taken effect then");
    },
    60_000,
  );

  test.each([
    ...withForms.map((era) => ["a form", era, "form", "elicit"] as const),
    ...withAddresses.map((era) => ["an address", era, "visit", "openUrl"] as const),
  ])(
    "while %s is open: it is gone, and its call may have run, on %s",
    async (_, era, tool, kind) => {
      const place = await Place.create({ era, tool });
      const first = await place.start();
      await place.begin(first);
      const { question } = await first.events.next("question");
      await answer(first, question, true);
      const asked = (await first.events.next("question")).question;
      expect(asked).toMatchObject({ kind, conversation: place.conversation });
      await place.kill(first);
      const second = await place.restart();
      expect(second.blocks.filter(({ kind }) => kind === "uncertain")).toMatchObject([{ tool, isSettled: false }]);
      const content = { name: "Ada" };
      const accepted = { action: "accept", ...(kind === "elicit" && { content }) };
      const late = second.tab.do("answer", { id: asked.id, digest: asked.digest, answer: accepted });
      expect((await refusalOf(late)).status).toBe(410);
      await second.tab.do("conversation.continue", { id: place.conversation, uncertain: "tell-model" });
      await checkEnd(place, second);
      expect([place.count, await decisionsOf(second)]).toEqual([1, [[tool, "allow", "user"]]]);
    },
    60_000,
  );

  test.each(revisions)(
    "between the reviews of sampling: nothing was sent to the server, and it is not asked again by itself, on %s",
    async (era) => {
      const place = await Place.create({ era, tool: "sample" });
      const first = await place.start();
      await place.begin(first);
      await answer(first, (await first.events.next("question")).question, true);
      const request = (await first.events.next("question")).question;
      expect(request).toMatchObject({ kind: "sample", stage: "request" });
      await answer(first, request, true);
      const response = (await first.events.next("question")).question;
      expect(response).toMatchObject({ kind: "sample", stage: "response" });
      await place.kill(first);
      const second = await place.restart();
      for (const old of [request, response]) {
        expect((await refusalOf(answer(second, old, true))).status).toBe(410);
      }
      expect(second.blocks.filter(({ kind }) => kind === "uncertain")).toMatchObject([{ tool: "sample" }]);
      await second.tab.do("conversation.continue", { id: place.conversation, uncertain: "tell-model" });
      await checkEnd(place, second);
      expect([place.count, place.countNotes("has the answer")]).toEqual([1, 0]);
    },
    60_000,
  );

  test("while it connects: its server ends with it, and the next start begins anew", async () => {
    const place = await Place.create({ deadly: "silent" });
    const first = await place.start();
    await place.trust(first);
    await first.tab.do("server.start", { server: "counting" });
    await expect.poll(() => place.countNotes("begin"), { interval: 10 }).toBe(1);
    await place.kill(first);
    expect(place.countNotes("end")).toBe(1);
    const second = await place.start();
    const { servers } = await second.events.state();
    expect(servers).toMatchObject([{ name: "counting", isTrusted: true }]);
    await second.tab.do("server.start", { server: "counting" });
    await expect.poll(() => place.countNotes("begin"), { interval: 10 }).toBe(2);
  }, 60_000);

  test.each(revisions)(
    "while it records: what was recorded is there, and says that its end is missing, on %s",
    async (era) => {
      const place = await Place.create({ era });
      const first = await place.start();
      await place.trust(first);
      await first.tab.do("server.start", { server: "counting" });
      await first.events.ever("server", ({ server }) => server.state === "ready");
      const { id } = await first.tab.do("recording.start", { server: "counting" });
      const file = join(stateOf(place.cwd), "console", "recordings", `${id}.jsonl`);
      const secret = "hunter2-secret-value";
      // The last call shows that an earlier word was a secret.
      for (const given of [{ id: "first" }, { id: `so ${secret}` }, { id: "last", password: secret }]) {
        const argumentsText = JSON.stringify(given);
        const { id: call } = await first.tab.do("call", { server: "counting", tool: "read", argumentsText });
        await first.events.next("call", (event) => event.call.id === call && event.call.end !== undefined);
      }
      await expect.poll(() => readFileSync(file, "utf8")).not.toContain(secret);
      await place.kill(first);
      const second = await place.start();
      const { recordings } = await second.events.state();
      const known = recordings.find((one) => one.id === id);
      const recording =
        known ?? (await second.events.ever("recording", (event) => event.recording.id === id)).recording;
      expect(recording).toMatchObject({ server: "counting", isRunning: false, isCut: true, isRedacted: true });
      const { text } = await second.tab.do("recording.export", { id });
      expect(text).toContain("did last");
      expect(text).not.toContain(secret);
      const { connection } = await second.tab.do("recording.open", { id });
      const opened = await second.events.ever(
        "connection",
        (event) => event.connection.id === connection && event.connection.state === "closed",
      );
      expect(opened.connection.reason).toBe("The end of the recording is missing.");
      // It is the old one that was cut: a new one runs beside it.
      await second.tab.do("recording.start", { server: "counting" });
      await second.events.ever("recording", (event) => event.recording.isRunning);
      const folder = join(stateOf(place.cwd), "console", "recordings");
      expect(readdirSync(folder).filter((name) => name.startsWith(id))).toEqual([`${id}.jsonl`]);
    },
    60_000,
  );

  test("while a person signs in: the old page of the authority leads nowhere, and the sign-in starts over", async () => {
    const { server, authority } = await startWorld();
    const place = await Place.create();
    put(place.cwd, ".mcp.json", { mcpServers: { far: { url: server.url } } });
    const first = await place.start();
    await place.trust(first, "far");
    await first.tab.do("login.begin", { server: "far" });
    const waiting = await first.events.next("login", ({ login }) => login.state === "waiting");
    await place.kill(first);
    const second = await place.start();
    const { logins, servers } = await second.events.state();
    expect([logins, servers.map(({ name, isTrusted }) => [name, isTrusted])]).toEqual([[], [["far", true]]]);
    // The person agrees on the page that is still open. Nothing listens where it leads.
    await expect(fetch(waiting.login.address ?? "")).rejects.toThrow();
    await second.tab.do("server.start", { server: "far" });
    await second.events.ever("server", (event) => event.server.state === "login");
    expect(authority.accessTokens).toEqual([]);
    await second.tab.do("login.begin", { server: "far" });
    const again = await second.events.next("login", ({ login }) => login.state === "waiting");
    expect((await fetch(again.login.address ?? "")).status).toBe(200);
    await second.events.ever("login", ({ login }) => login.state === "done");
    await second.events.next("server", (event) => event.server.state === "ready");
    expect(authority.accessTokens).toHaveLength(1);
  }, 60_000);

  test.each([
    ["at once", () => true],
    ["when the decision is in the log", (place: Place) => logOf(place).includes('"effect":"allow"')],
    ["when the call is about to be sent", (place: Place) => place.journal.includes('"begun":true')],
    ["when the server has the call", (place: Place) => place.count === 1],
  ])(
    "after an answer was sent, %s: there is no call without a decision, and no second call",
    async (_, isTime) => {
      const place = await Place.create();
      const first = await place.start();
      await place.begin(first);
      const { question } = await first.events.next("question");
      const answered = answer(first, question, true).catch(() => {});
      await expect.poll(() => isTime(place), { interval: 1, timeout: 20_000 }).toBe(true);
      await place.kill(first);
      await answered;
      const second = await place.restart();
      if (place.count === 1) expect(await decisionsOf(second)).toEqual([allowed]);
      // The run may have been quicker than the kill.
      if (second.state === "idle") expect(place.count).toBe(1);
      if (second.state === "idle") return;
      await second.tab.do("conversation.continue", { id: place.conversation, uncertain: "tell-model" });
      const isUncertain = second.blocks.some(({ kind }) => kind === "uncertain");
      if (place.count === 1 && !isUncertain) expect(place.journal).toContain("did w1");
      if (place.count === 0 && !isUncertain) {
        // The call had not begun, so the person is asked again, also after a yes of which nothing came.
        const again = (await second.events.next("question")).question;
        expect([again.id === question.id, place.count]).toEqual([false, 0]);
        await answer(second, again, false);
      }
      await checkEnd(place, second);
      expect((await decisionsOf(second)).filter((one) => JSON.stringify(one) !== JSON.stringify(allowed))).toHaveLength(
        place.count === 0 && !isUncertain ? 1 : 0,
      );
    },
    60_000,
  );
});

function logOf({ cwd }: Place): string {
  const state = stateOf(cwd);
  const files = readdirSync(state, { recursive: true, encoding: "utf8" }).filter((name) => /activity.*json/.test(name));
  return files.map((name) => readFileSync(join(state, name), "utf8")).join("");
}
