import { expect, test } from "vitest";
import type { SettledQuestion } from "../open-questions.ts";
import type { UrlQuestion } from "../questions.ts";
import { Visits } from "./visits.ts";

function createVisits() {
  const visited: string[] = [];
  const visits = new Visits((server, question) => visited.push(`${server} ${question}`));
  const open = (id: string, more: { call?: string; elicitationId?: string; server?: string; action?: string } = {}) => {
    const { call, elicitationId, server = "s", action = "accept" } = more;
    const question = { kind: "openUrl", id, server, call, params: { elicitationId } } as unknown as UrlQuestion;
    visits.note({ question, answer: { action } } as SettledQuestion);
  };
  return { visits, visited, open };
}

test("the end of a visit is told once: by the server, or with the end of its call", () => {
  const { visits, visited, open } = createVisits();
  open("q1", { elicitationId: "e1", call: "c1" });
  open("q2", { call: "c2" });
  open("q3", { elicitationId: "e1", server: "other" });
  visits.complete("s", "e1");
  visits.complete("s", "e1");
  visits.complete("s", { not: "a text" });
  visits.callEnded("c1");
  visits.callEnded("c2");
  expect(visited).toEqual(["s q1", "s q2"]);
  expect(visits.open.size).toBe(1);
});

test("only addresses that the user agreed to open, and whose end can be known, are kept", () => {
  const { visits, open } = createVisits();
  open("q1", { call: "c1", action: "decline" });
  open("q2");
  visits.note({ question: { kind: "openUrl", id: "q3", call: "c3", params: {} } as unknown as UrlQuestion });
  expect(visits.open.size).toBe(0);
});

test("a server that never ends its visits occupies little memory", () => {
  const { visits, visited, open } = createVisits();
  for (let at = 0; at < 250; at += 1) open(`q${at}`, { elicitationId: `e${at}` });
  expect(visits.open.size).toBe(200);
  visits.complete("s", "e0");
  visits.complete("s", "e249");
  expect(visited).toEqual(["s q249"]);
});
