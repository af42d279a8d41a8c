import { form } from "portolan/server";
import { expect } from "vitest";
import { z } from "zod";
import type { RawPeer } from "../../kit/raw-peer.ts";
import { connectMemory } from "../../kit/raw-peer.ts";
import { isStateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import { accepting, type Entry, isFrom, jsonOf, members, textOf } from "../results.ts";

const server = new URL("../servers/asking.mjs", import.meta.url);
const say = (text: string) => ({ type: "text", text });
const hello = { role: "assistant", content: say("Hello"), model: "m", stopReason: "endTurn" };
const question = (text = "Hi") => ({ messages: [{ role: "user", content: say(text) }], maxTokens: 5 });

/** Expects that a call was refused for a capability that the client did not declare, and that nothing was asked. */
function refusedFor(peer: RawPeer, response: Entry, requiredCapabilities: object): void {
  expect(response.result).toBeUndefined();
  expect(response.error.code).toBe(isStateless(peer.revision) ? -32021 : -32602);
  expect(response.error.data).toEqual({ requiredCapabilities });
  expect(peer.questions).toEqual([]);
}

/** Requirements on the questions a server puts to its client. */
export const asking: readonly Requirement[] = [
  {
    row: "K1",
    says: "asked as the revision asks, refused when undeclared, and checked to be files",
    async test(open, { revision }) {
      const bad = { roots: [{ uri: "https://example.com" }] };
      let roots: object = { roots: [{ uri: "file:///a", name: "A" }, { uri: "file:///b" }] };
      const [peer, unable] = await Promise.all([
        open({ server, capabilities: { roots: {} }, answer: () => ({ ...roots }) }),
        open({ server, answer: accepting() }),
      ]);
      expect(jsonOf(await peer.callTool("roots"))).toEqual([{ uri: "file:///a", name: "A" }, { uri: "file:///b" }]);
      expect(peer.questions[0]).toEqual({
        jsonrpc: "2.0",
        id: isStateless(revision) ? "roots" : expect.anything(),
        method: "roots/list",
      });
      roots = bad;
      const wrong = await peer.callTool("roots");
      expect(wrong.error?.code).toBe(-32602);
      expect(wrong.error?.message).toContain("expected a file:// URI");
      refusedFor(unable, await unable.callTool("roots"), { roots: {} });
    },
  },
  {
    row: "K2",
    says: "its code and message reach the caller",
    async test(open) {
      const answer = () => {
        throw { code: -32601, message: "Roots not supported" };
      };
      const peer = await open({ server, capabilities: { roots: {} }, answer });
      expect((await peer.callTool("roots")).error).toEqual({ code: -32601, message: "Roots not supported" });
      expect(textOf(await peer.callTool("reads"))).toBe("read");
    },
  },
  {
    row: "K3",
    says: "every parameter arrives",
    async test(open) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const params = {
        ...question(),
        systemPrompt: "Be brief",
        temperature: 0.5,
        stopSequences: ["."],
        metadata: { a: 1 },
        includeContext: "none",
      };
      expect(jsonOf(await peer.callTool("sample", { params }))).toEqual(hello);
      expect(peer.questions[0]?.method).toBe("sampling/createMessage");
      expect(peer.questions[0]?.params).toEqual(params);
      const unable = await open({ server, capabilities: { elicitation: {} }, answer: accepting() });
      refusedFor(unable, await unable.callTool("sample", { params }), { sampling: {} });
      const wrong = await open({ server, capabilities: { sampling: {} }, answer: () => ({ content: say("Hello") }) });
      expect((await wrong.callTool("sample", { params })).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "K4",
    says: "text and image everywhere, audio since 2025-03-26",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const image = { type: "image", data: "aW1hZ2U=", mimeType: "image/png" };
      const audio = { type: "audio", data: "c291bmQ=", mimeType: "audio/wav" };
      const messages = [say("Hi"), image, audio].map((content) => ({ role: "user", content }));
      await peer.callTool("sample", { params: { messages, maxTokens: 5 } });
      const sent = peer.questions[0]?.params?.["messages"] as Entry[];
      expect(sent.slice(0, 2)).toEqual(messages.slice(0, 2));
      if (isFrom(revision, "2025-03-26")) expect(sent[2]).toEqual(messages[2]);
      else
        expect(sent[2]).toMatchObject({
          role: "user",
          content: { type: "text", text: expect.stringContaining("audio/wav") },
        });
    },
  },
  {
    row: "K5",
    says: "preferences arrive as given",
    async test(open) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const modelPreferences = {
        hints: [{ name: "b" }, { name: "a" }],
        costPriority: 0.1,
        speedPriority: 0,
        intelligencePriority: 1,
      };
      await peer.callTool("sample", { params: { ...question(), modelPreferences } });
      expect(peer.questions[0]?.params?.["modelPreferences"]).toEqual(modelPreferences);
    },
  },
  {
    row: "K6",
    says: "thisServer and allServers need sampling.context; none does not",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      expect(jsonOf(await peer.callTool("sample", { params: { ...question(), includeContext: "none" } }))).toEqual(
        hello,
      );
      peer.questions.length = 0;
      const asked = await peer.callTool("sample", { params: { ...question(), includeContext: "thisServer" } });
      if (isFrom(revision, "2025-11-25")) {
        refusedFor(peer, asked, { sampling: { context: {} } });
        const able = await open({ server, capabilities: { sampling: { context: {} } }, answer: accepting() });
        expect(
          jsonOf(await able.callTool("sample", { params: { ...question(), includeContext: "allServers" } })),
        ).toEqual(hello);
        expect(able.questions[0]?.params?.["includeContext"]).toBe("allServers");
      } else {
        // Before 2025-11-25 there was no capability for it.
        expect(jsonOf(asked)).toEqual(hello);
        expect(peer.questions[0]?.params?.["includeContext"]).toBe("thisServer");
      }
    },
  },
  {
    row: "K7",
    says: "undeclared tools are refused, and so is a tool use without its result",
    async test(open, { revision }) {
      const answer = () => ({
        role: "assistant",
        content: [{ type: "tool_use", id: "u", name: "t", input: {} }],
        model: "m",
        stopReason: "toolUse",
      });
      const [peer, unable] = await Promise.all([
        open({ server, capabilities: { sampling: { tools: {} } }, answer }),
        open({ server, capabilities: { sampling: {} }, answer }),
      ]);
      const tools = [{ name: "t", inputSchema: { type: "object" } }];
      const params = { ...question(), tools, toolChoice: { mode: "required" } };
      refusedFor(unable, await unable.callTool("sample", { params }), { sampling: { tools: {} } });
      refusedFor(unable, await unable.callTool("sample", { params: { ...question(), toolChoice: { mode: "none" } } }), {
        sampling: { tools: {} },
      });
      const asked = await peer.callTool("sample", { params });
      if (!isFrom(revision, "2025-11-25")) return refusedFor(peer, asked, { sampling: { tools: {} } });
      expect(jsonOf(asked)).toMatchObject({ stopReason: "toolUse", content: [{ type: "tool_use", id: "u" }] });
      expect(peer.questions[0]?.params).toEqual(params);
      const use = { role: "assistant", content: [{ type: "tool_use", id: "u", name: "t", input: {} }] };
      const result = { type: "tool_result", toolUseId: "u", content: [say("done")] };
      const wrong = [
        [use],
        [use, { role: "user", content: say("no result") }],
        [use, { role: "user", content: [result, say("and text")] }],
        [use, { role: "user", content: [{ ...result, toolUseId: "v" }] }],
        [{ role: "user", content: [result] }],
      ];
      peer.questions.length = 0;
      for (const messages of wrong) {
        const { result } = await peer.callTool("sample", { params: { messages, maxTokens: 5, tools } });
        expect(result.isError, JSON.stringify(messages)).toBe(true);
      }
      expect(peer.questions).toEqual([]);
      const errors = jsonOf(await peer.callTool("errors"));
      expect(errors).toHaveLength(wrong.length);
      for (const { code, message } of errors)
        expect([code, message]).toEqual(["invalid-argument", expect.stringMatching(/^ctx.sample: messages/)]);
    },
  },
  {
    row: "K8",
    says: "its code and message reach the caller, and other calls go on",
    async test(open) {
      const answer = () => {
        throw { code: -1, message: "User rejected sampling request" };
      };
      const peer = await open({ server, capabilities: { sampling: {} }, answer });
      expect((await peer.callTool("sample", { params: question() })).error).toEqual({
        code: -1,
        message: "User rejected sampling request",
      });
      expect(textOf(await peer.callTool("reads"))).toBe("read");
    },
  },
  {
    row: "K10",
    says: "what is accepted fits the form, or the call fails with the path",
    async test(open, { revision }) {
      let content: Entry = { name: "Ada", age: 36, email: "ada@example.com" };
      const peer = await open({
        server,
        capabilities: { elicitation: {} },
        answer: () => ({ action: "accept", content }),
      });
      const asked = await peer.callTool("person");
      if (!isFrom(revision, "2025-06-18")) return refusedFor(peer, asked, { elicitation: { form: {} } });
      expect(jsonOf(asked)).toEqual({ action: "accept", content });
      const mode = isFrom(revision, "2025-11-25") ? { mode: "form" } : {};
      expect(peer.questions[0]?.params).toEqual({
        ...mode,
        message: "Who?",
        requestedSchema: {
          type: "object",
          properties: {
            name: { type: "string", minLength: 2 },
            age: { type: "integer", minimum: 0 },
            email: { type: "string", format: "email" },
          },
          required: ["name"],
        },
      });
      for (const [wrong, path] of [
        [{ name: "A" }, "name"],
        [{}, "name"],
        [{ name: "Ada", age: 1.5 }, "age"],
        [{ name: "Ada", email: "no" }, "email"],
      ] as const) {
        content = wrong;
        const { error } = await peer.callTool("person");
        expect(error?.code).toBe(-32602);
        expect(error?.message).toContain(`answer "person": ${path}: `);
      }
      for (const wrong of ["text", 5, ["x"]]) {
        content = wrong;
        expect((await peer.callTool("person")).error?.code).toBe(-32602);
      }
    },
  },
  {
    row: "K11",
    says: "the whole URL is sent, an answer is consent, and completion is told where the revision tells it",
    async test(open, { revision }) {
      const url = "https://example.com/login?state=1#top";
      const peer = await open({
        server,
        capabilities: { elicitation: { url: {} } },
        answer: () => ({ action: "accept" }),
      });
      const asked = peer.callTool("visit", { url, gated: true });
      if (!isFrom(revision, "2025-11-25")) return refusedFor(peer, await asked, { elicitation: { url: {} } });
      const page = await peer.until(({ questions }) => questions[0]);
      const id = isStateless(revision) ? {} : { elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/) };
      expect(page.params).toEqual({ mode: "url", message: "Log in", url, ...id });
      await peer.settled();
      expect(peer.notifications).toEqual([]);
      await peer.callTool("open_gate", { name: "ready" });
      expect(textOf(await asked)).toBe("accept");
      expect(jsonOf(await peer.callTool("events"))).toEqual(["ready", "accept"]);
      const told = peer.notifications.filter(({ method }) => method === "notifications/elicitation/complete");
      expect(told.map(({ params }) => params)).toEqual(
        isStateless(revision) ? [] : [{ elicitationId: page.params?.["elicitationId"] }],
      );
      const { result } = await peer.callTool("visit", { url: "javascript:alert(1)" });
      expect(result.isError).toBe(true);
      expect(peer.questions).toHaveLength(1);
    },
  },
  {
    row: "K12",
    says: "each reaches the handler as its action",
    async test(open) {
      let answer: Entry = {};
      const peer = await open({ server, capabilities: { elicitation: {} }, answer: () => answer });
      for (answer of [
        { action: "decline" },
        { action: "cancel" },
        { action: "decline", content: { name: "ignored" } },
      ]) {
        expect(jsonOf(await peer.callTool("person"))).toEqual({ action: answer.action });
        expect(textOf(await peer.callTool("confirm"))).toBe("false");
        const { result } = await peer.callTool("cancelled");
        expect(result).toMatchObject({ isError: true, content: [say("Cancelled by the user.")] });
      }
      answer = { action: "accept" };
      expect(textOf(await peer.callTool("confirm"))).toBe("true");
      answer = { action: "maybe" };
      expect((await peer.callTool("confirm")).error).toMatchObject({ code: -32602 });
      expect((await peer.callTool("confirm")).error?.message).toContain('answer "sure".action');
    },
  },
  {
    row: "K13",
    says: "forms and pages are gated one by one, and a handler may do without",
    async test(open, { revision }) {
      const url = "https://example.com";
      const cases: [capabilities: object, refused: string, required: object][] = [
        [{}, "confirm", { elicitation: { form: {} } }],
        [{}, "visit", { elicitation: { url: {} } }],
        [{ elicitation: {} }, "visit", { elicitation: { url: {} } }],
        [{ elicitation: { form: {} } }, "visit", { elicitation: { url: {} } }],
      ];
      if (isFrom(revision, "2025-11-25"))
        cases.push([{ elicitation: { url: {} } }, "confirm", { elicitation: { form: {} } }]);
      for (const [capabilities, name, required] of cases) {
        const peer = await connectMemory((await import(server.href)).default(), {
          revision,
          capabilities: { ...capabilities },
          answer: accepting(),
        });
        refusedFor(peer, await peer.callTool(name, { url }), required);
        await peer.close();
      }
      const peer = await open({ server, answer: accepting() });
      refusedFor(peer, await peer.callTool("confirm"), { elicitation: { form: {} } });
      const code = isStateless(revision) ? -32021 : -32021;
      expect(textOf(await peer.callTool("fallback"))).toBe(`without asking: ${code}`);
    },
  },
  {
    row: "K16",
    says: "another caller cannot go on with a state, and hears the same as for any wrong one",
    async test(open, { revision }) {
      const { createMemoryPair } = await import("portolan");
      const { serveChannel } = await import("portolan/server");
      const { RawPeer } = await import("../../kit/raw-peer.ts");
      const served = (await import(server.href)).default();
      const peerOf = (key: string) => {
        const [near, far] = createMemoryPair({ serialize: true });
        serveChannel(served, far, { principal: { key } });
        return new RawPeer(near, { revision, capabilities: { elicitation: {} } }).start();
      };
      const [ada, bob, adaAgain] = await Promise.all([peerOf("ada"), peerOf("bob"), peerOf("ada")]);
      const unknown = await open({ server, capabilities: { elicitation: {} } });
      for (const name of ["confirm", "parked"]) {
        const { inputRequests, requestState } = (await ada.callTool(name)).result;
        const [key = ""] = Object.keys(inputRequests);
        const retry = { inputResponses: { [key]: { action: "accept" } }, requestState };
        const stolen = await bob.callTool(name, undefined, retry);
        expect(stolen.error).toEqual((await unknown.callTool(name, undefined, { requestState: "nonsense" })).error);
        expect((await adaAgain.callTool(name, undefined, retry)).result.resultType).toBeDefined();
      }
      await Promise.all([ada, bob, adaAgain].map((peer) => peer.close()));
    },
  },
  {
    row: "XK1",
    says: "a form is asked, a page is not",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { elicitation: {} }, answer: accepting() });
      expect(textOf(await peer.callTool("confirm"))).toBe("true");
      const params = peer.questions[0]?.params ?? {};
      expect(params["requestedSchema"]).toEqual({ type: "object", properties: {} });
      expect(params["mode"]).toBe(isFrom(revision, "2025-11-25") ? "form" : undefined);
      peer.questions.length = 0;
      refusedFor(peer, await peer.callTool("visit", { url: "https://example.com" }), { elicitation: { url: {} } });
      // The author of an explicit round may leave the mode out.
      expect(textOf(await peer.callTool("explicit_steps"))).toBe("step 3");
    },
  },
  {
    row: "XK2",
    says: "the field and what forms can hold are named",
    async test(open) {
      expect(() => form(z.object({ who: z.object({ name: z.string() }) }))).toThrow(
        'form field "who": expected a string, number, boolean or choice; forms are flat, without nested objects',
      );
      expect(() => form(z.object({ list: z.array(z.string()) }))).toThrow(
        'form field "list": expected an array of choices',
      );
      expect(() => form(z.string() as never)).toThrow("expected the form to be an object");
      const peer = await open({ server, capabilities: { elicitation: {} }, answer: accepting() });
      const schema = { type: "object", properties: { who: { type: "object", properties: {} } } };
      expect((await peer.callTool("elicit", { message: "Who?", schema })).result.isError).toBe(true);
      expect(peer.questions).toEqual([]);
    },
  },
  {
    row: "XK3",
    says: "the client is told, the handler's signal aborts, and no answer is sent",
    async test(open) {
      const peer = await open({ server, capabilities: { elicitation: {} } });
      const id = "call";
      peer.send({ jsonrpc: "2.0", id, method: "tools/call", params: peer.describe({ name: "asks_and_waits" }) });
      const question = await peer.until(({ questions }) => questions[0]);
      peer.notify("notifications/cancelled", { requestId: id, reason: "enough" });
      const taken = await peer.notification("notifications/cancelled");
      expect(taken.params).toEqual({ requestId: question.id, reason: "enough" });
      peer.send({ jsonrpc: "2.0", id: question.id, result: { action: "accept" } });
      await peer.settled();
      expect(peer.strays).toEqual([]);
      expect(jsonOf(await peer.callTool("events"))).toEqual(["aborted", "PortolanError: cancelled"]);
      expect(jsonOf(await peer.callTool("errors"))).toEqual([]);
    },
  },
  {
    row: "XK4",
    says: "the tool does not run, and the error names all of it",
    async test(open, { revision }) {
      const needs = { elicitation: { form: {} }, sampling: { tools: {} } };
      const peer = await open({ server, capabilities: { elicitation: {}, sampling: {} } });
      refusedFor(peer, await peer.callTool("needs"), needs);
      refusedFor(peer, await peer.callTool("needs_url"), { elicitation: { url: {} } });
      refusedFor(peer, await peer.callTool("needs_extension"), { extensions: { "com.example/x": {} } });
      expect(jsonOf(await peer.callTool("events"))).toEqual([]);
      const able = await open({
        server,
        capabilities: { elicitation: {}, sampling: { tools: {} }, extensions: { "com.example/x": {} } },
      });
      // What the revision cannot ask for is missing, whatever the client says.
      if (isFrom(revision, "2025-11-25")) expect(textOf(await able.callTool("needs"))).toBe("ran");
      else refusedFor(able, await able.callTool("needs"), needs);
      expect(textOf(await able.callTool("needs_extension"))).toBe("ran");
      if (isStateless(revision)) {
        // Capabilities are of the request, not of the connection.
        const _meta = { "io.modelcontextprotocol/clientCapabilities": {} };
        refusedFor(able, await able.callTool("needs", undefined, { _meta }), needs);
      }
    },
  },
  {
    row: "XK5",
    says: "one handler, one outcome",
    async test(open, { revision }) {
      const capabilities = { elicitation: {}, sampling: {}, roots: {} };
      const peer = await open({ server, capabilities, answer: accepting({ name: "Ada" }) });
      expect(jsonOf(await peer.callTool("in_turn"))).toEqual({
        first: true,
        once: { at: "1970-01-01T00:00:00.000Z", n: 1 },
        second: { action: "accept", content: { name: "Ada" } },
        nothing: "nothing",
        isDate: false,
      });
      expect(jsonOf(await peer.callTool("events"))).toHaveLength(isStateless(revision) ? 3 : 1);
      expect(jsonOf(await peer.callTool("together"))).toEqual({
        a: true,
        b: "Hello",
        c: [{ uri: "file:///work", name: "work" }],
      });
      expect(jsonOf(await peer.callTool("siblings"))).toEqual([true, true, true]);
      expect(jsonOf(await peer.callTool("made_then_awaited"))).toEqual([true, true]);
      expect(jsonOf(await peer.callTool("explicit"))).toEqual({
        n: 2,
        effects: 2,
        name: "Ada",
        sure: "accept",
        state: { step: 1 },
      });
      expect(textOf(await peer.callTool("explicit_steps"))).toBe("step 3");
      expect(jsonOf(await peer.callTool("explicit_after_linear"))).toEqual({ first: true, name: "Ada" });
      expect(jsonOf(await peer.callTool("parked"))).toMatchObject({
        first: true,
        second: { content: { name: "Ada" } },
      });
      refusedForPage(await peer.callTool("explicit_unable"), peer);
      const { result } = await peer.callTool("twice");
      expect(result.isError).toBe(true);
      const errors = jsonOf(await peer.callTool("errors"));
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatchObject({
        code: "question-repeated",
        message: 'The question key "same" was used twice in one call; keys must differ',
      });
      if (!isStateless(revision)) {
        expect((await peer.callTool("explicit_for_ever")).error?.code ?? "result").not.toBe("result");
        expect(peer.questions.length).toBeLessThan(60);
      }
    },
  },
  {
    row: "XK6",
    says: "an empty list is given to the handler",
    async test(open) {
      const peer = await open({ server, capabilities: { roots: {} }, answer: () => ({ roots: [] }) });
      expect(jsonOf(await peer.callTool("roots"))).toEqual([]);
      expect(members(peer.questions[0] ?? {})).not.toContain("error");
    },
  },
];

function refusedForPage(response: Entry, peer: RawPeer): void {
  expect(response.error.code).toBe(isStateless(peer.revision) ? -32021 : -32602);
  expect(response.error.data).toEqual({ requiredCapabilities: { elicitation: { url: {} } } });
  expect(peer.questions.filter(({ params }) => params?.["mode"] === "url")).toEqual([]);
}
