import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ElicitResult, JsonObject } from "portolan";
import type { Answers } from "portolan/client";
import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { isFrom } from "../../results.ts";
import { answerOf, asks } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";
import { refusalOf } from "./asking.ts";

const form = (properties: JsonObject, required: string[] = [], more: JsonObject = {}): JsonObject => ({
  message: "Who?",
  requestedSchema: { type: "object", properties, required },
  ...more,
});
const accept = (content?: JsonObject): Answers => ({
  elicit: () => ({ action: "accept", ...(content && { content }) }) as ElicitResult,
});
const name = { name: { type: "string", minLength: 2 } };
const page = (url: string): JsonObject => ({ mode: "url", message: "Visit", url, elicitationId: "e" });

export const forms: Requirement[] = [
  {
    row: "C-K10",
    says: "omitted fields get their defaults",
    async test({ open, revision }) {
      const fields = {
        name: { type: "string", title: "Name", description: "Yours" },
        colour: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"], default: "g" },
        count: { type: "integer", minimum: 1, default: 3 },
        agree: { type: "boolean", default: false },
        note: { type: "string" },
      };
      let asked: unknown;
      const params = form(fields, ["name"]);
      const { client } = await open({
        on: { "tools/call": asks(revision, "elicitation/create", params) },
        answers: {
          elicit: (given) => {
            asked = given;
            return { action: "accept", content: { name: "Ada" } };
          },
        },
      });
      const content = { name: "Ada", colour: "g", count: 3, agree: false };
      expect(await answerOf(client)).toEqual({ action: "accept", content });
      expect(asked).toEqual(params);
    },
  },
  {
    row: "C-K10",
    says: "choices with titles and multiple choices are validated",
    async test({ open, revision }) {
      const options = [
        { const: "a", title: "A" },
        { const: "b", title: "B" },
      ];
      const fields = {
        one: { type: "string", oneOf: options },
        many: { type: "array", items: { type: "string", enum: ["x", "y"] }, maxItems: 2 },
        titled: { type: "array", items: { anyOf: options } },
        email: { type: "string", format: "email" },
      };
      const good = { one: "a", many: ["x", "y"], titled: ["b"], email: "ada@example.com" };
      const on = { "tools/call": asks(revision, "elicitation/create", form(fields)) };
      const { client } = await open({ on, answers: accept(good) });
      expect(await answerOf(client)).toEqual({ action: "accept", content: good });
      for (const bad of [{ one: "c" }, { many: ["x", "y", "x"] }, { many: "x" }, { titled: ["c"] }, { email: "ada" }]) {
        const wrong = await open({ on, answers: accept({ ...good, ...bad }) });
        expect(Object.keys(await answerOf(wrong.client)), JSON.stringify(bad)).not.toContain("action");
      }
    },
  },
  {
    row: "C-K10",
    says: "an answer that does not match the form is not sent, and the application gets the reason",
    async test({ open, revision }) {
      const on = { "tools/call": asks(revision, "elicitation/create", form(name, ["name"])) };
      for (const content of [{}, { name: "A" }, { name: 5 }, { name: "Ada", more: 1 }, undefined]) {
        const { client, server, errors } = await open({ on, answers: accept(content) });
        const { error, reason } = await answerOf(client);
        const reported = isStateless(revision) ? reason : errors[0];
        expect(reported).toMatchObject({ code: "answer-invalid", message: expect.stringMatching(/name|more/) });
        if (!isStateless(revision)) expect(error.code).toBe(-1);
        expect(JSON.stringify(server.sent)).not.toContain("accept");
      }
    },
  },
  {
    row: "C-K10",
    says: "a malformed form is refused",
    async test({ open, revision }) {
      const bad = [
        {},
        { message: "?" },
        { message: 5, requestedSchema: form({})["requestedSchema"] },
        form([] as never),
        { message: "?", requestedSchema: { type: "array" } },
      ];
      for (const params of bad) {
        const question = ["elicitation/create", params] as const;
        expect(await refusalOf(open, revision, question, { answers: accept({}) }), JSON.stringify(params)).toBe(-32602);
      }
    },
  },
  {
    row: "C-K11",
    says: "the URL reaches the application, nothing is fetched, and URLs outside the web are refused",
    async test({ open, revision }) {
      let hits = 0;
      const web = createServer((_, response) => {
        hits += 1;
        response.end();
      }).listen(0, "127.0.0.1");
      await once(web, "listening");
      const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/a?b=ä#c`;
      const asked: unknown[] = [];
      const openUrl = ((params) => {
        asked.push(params);
        return { action: "accept", content: { leaked: true } };
      }) as NonNullable<Answers["openUrl"]>;
      try {
        const on = { "tools/call": asks(revision, "elicitation/create", page(url)) };
        const { client } = await open({ on, answers: { openUrl } });
        expect(await answerOf(client)).toEqual({ action: "accept" });
        expect(asked).toEqual([page(url)]);
        expect(hits).toBe(0);
      } finally {
        web.close();
      }
      for (const odd of [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "nowhere",
        "",
        "vscode://x",
      ]) {
        const question = ["elicitation/create", page(odd)] as const;
        expect(await refusalOf(open, revision, question, { answers: { openUrl } }), odd).toBe(-32602);
      }
      expect(asked).toHaveLength(1);
    },
  },
  {
    row: "C-K12",
    says: "only accepted answers have content, and an unknown action is not sent",
    async test({ open, revision }) {
      const on = { "tools/call": asks(revision, "elicitation/create", form(name, ["name"])) };
      for (const action of ["accept", "decline", "cancel"] as const) {
        const { client } = await open({ on, answers: { elicit: () => ({ action, content: { name: "Ada" } }) } });
        expect(await answerOf(client)).toEqual(action === "accept" ? { action, content: { name: "Ada" } } : { action });
      }
      const { client, server } = await open({ on, answers: { elicit: () => ({ action: "maybe" as never }) } });
      await answerOf(client);
      expect(JSON.stringify(server.sent)).not.toContain("maybe");
    },
  },
  {
    row: "C-K13",
    says: "an undeclared or unknown mode is refused with -32602 and not answered",
    async test({ open, revision }) {
      let calls = 0;
      const never = () => {
        calls += 1;
        return { action: "accept" as const };
      };
      const url = ["elicitation/create", page("https://example.com")] as const;
      const plain = ["elicitation/create", form({}, [], { mode: "form" })] as const;
      expect(await refusalOf(open, revision, url, { answers: { elicit: never } })).toBe(-32602);
      expect(await refusalOf(open, revision, plain, { answers: { openUrl: never } })).toBe(-32602);
      const odd = ["elicitation/create", form({}, [], { mode: "telepathy" })] as const;
      expect(await refusalOf(open, revision, odd, { answers: { elicit: never, openUrl: never } })).toBe(-32602);
      expect(calls).toBe(0);
    },
  },
  {
    row: "C-XK4",
    says: "forms with and without a mode are answered",
    async test({ open, revision }) {
      const answers = accept({});
      for (const mode of [{}, { mode: "form" }]) {
        const on = { "tools/call": asks(revision, "elicitation/create", form({}, [], mode)) };
        const { client } = await open({ on, answers, capabilities: { elicitation: {} } });
        expect(await answerOf(client)).toEqual({ action: "accept", content: {} });
      }
      if (isFrom(revision, "2025-11-25")) return;
      const both = { ...answers, openUrl: () => ({ action: "accept" as const }) };
      const url = ["elicitation/create", page("https://example.com")] as const;
      expect(await refusalOf(open, revision, url, { answers: both })).toBe(-32602);
    },
  },
];
