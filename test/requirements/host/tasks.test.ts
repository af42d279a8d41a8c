import { createMemoryStorage } from "portolan/storage";
import type { FormQuestion, Host, HostOptions } from "portolan-host";
import { expect, test, vi } from "vitest";
import { activityEntries, allow, makeHost, nextEvent, textOf } from "../../host/kit.ts";
import { TaskServer } from "../../host/task-server.ts";
import type { RevisionDate } from "../../kit/revisions.ts";
import { manifest } from "./manifest.ts";

interface HostRequirement {
  readonly row: string;
  readonly says: string;
  test(revision: RevisionDate): Promise<void>;
}

async function open(revision: RevisionDate, options: HostOptions = {}, server = new TaskServer(revision)) {
  const host = await makeHost({ tasks: true, servers: { films: server.target }, policy: allow, ...options });
  return { server, host };
}

/** Starts a task that asks a question, and returns the question as the user sees it. */
async function ask(host: Host, server: TaskServer, message: string) {
  const questions = host.events({ kinds: ["question"] });
  const { task } = await host.tasks.start("films", "render");
  server.ask(message);
  const { question } = await nextEvent(questions, "question");
  return { id: task?.id ?? "", question: question as FormQuestion };
}

const requirements: readonly HostRequirement[] = [
  {
    row: "X6",
    says: "a host without the option never names tasks",
    async test(revision) {
      const { host, server } = await open(revision, { tasks: false });
      // A server that makes a task of the call nonetheless breaks the protocol.
      await host.callTool("films", "render").catch(() => {});
      expect(JSON.stringify(server.server.sent)).not.toMatch(/"task"|extensions\/tasks|modelcontextprotocol\/tasks/);
    },
  },
  {
    row: "X54",
    says: "another process with the same storage waits for the task",
    async test(revision) {
      const storage = createMemoryStorage();
      const { host, server } = await open(revision, { storage });
      const { task } = await host.tasks.start("films", "render");
      await host.close();
      const { host: next } = await open(revision, { storage }, server);
      server.finish("a film");
      expect(textOf(await next.tasks.wait(task?.id ?? ""))).toBe("a film");
    },
  },
  {
    row: "X55",
    says: "a question is presented once, however often the task is polled",
    async test(revision) {
      const { host, server } = await open(revision, { answers: { elicit: "later" } });
      const { id, question } = await ask(host, server, "Which name?");
      const polls = server.server.of("tasks/get").length;
      await vi.waitFor(() => expect(server.server.of("tasks/get").length).toBeGreaterThan(polls + 1), 10_000);
      expect(host.questions.map(({ id: waiting }) => waiting)).toEqual([question.id]);
      await host.answer(question.id, { action: "decline" });
      await vi.waitFor(() => expect(JSON.stringify(server.answers)).toContain("decline"));
      server.finish("without a name");
      expect(textOf(await host.tasks.wait(id))).toBe("without a name");
    },
  },
  {
    row: "X55",
    says: "a question counts towards the limit of questions, and is logged",
    async test(revision) {
      const { host, server } = await open(revision, { answers: { elicit: "later" } });
      const { question } = await ask(host, server, "Which name?");
      await host.answer(question.id, { action: "cancel" });
      const entries = await activityEntries(host, "question", "answer");
      expect(entries).toMatchObject([
        { of: "form", message: "Which name?" },
        { of: "form", action: "cancel" },
      ]);
    },
  },
  {
    row: "X61",
    says: "values of fields that look secret are not sent, as in a direct question",
    async test(revision) {
      const elicit = () => ({ action: "accept" as const, content: { password: "hunter2" } });
      const { host, server } = await open(revision, { answers: { elicit } });
      await host.tasks.start("films", "render");
      server.ask("Your password?", { properties: { password: { type: "string", title: "Password" } } });
      await vi.waitFor(() => expect(server.answers).toHaveLength(1), 10_000);
      expect(JSON.stringify(server.answers)).toContain("decline");
      expect(JSON.stringify(server.answers)).not.toContain("hunter2");
    },
  },
  {
    row: "X61",
    says: "a host that cannot ask answers no question of a task",
    async test(revision) {
      const { host, server } = await open(revision);
      const { task } = await host.tasks.start("films", "render");
      server.ask("Which name?");
      expect(task?.state).toBe("working");
      // An error on 2025-11-25; on 2026-07-28 the task is cancelled, because nobody will answer.
      const isOver = () => server.answers.length > 0 || server.job().status === "cancelled";
      await vi.waitFor(() => expect(isOver()).toBe(true), 10_000);
      expect(JSON.stringify(server.answers)).not.toContain("accept");
    },
  },
];

for (const { row, says, test: run } of requirements) {
  const entry = manifest[row];
  if (!entry || !("on" in entry)) throw new Error(`the host's manifest has no testable row ${row}`);
  for (const revision of entry.on) test(`${row}: ${says} (${revision})`, () => run(revision));
}

test("every row of the host's manifest has a test", () => {
  const rows = Object.entries(manifest).flatMap(([row, entry]) => ("on" in entry ? [row] : []));
  expect([...new Set(requirements.map(({ row }) => row))].toSorted()).toEqual(rows.toSorted());
});
