import { createMemoryPair } from "portolan";
import { serveChannel } from "portolan/server";
import { expect } from "vitest";
import { RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { accepting, type Entry, isFrom, jsonOf, textOf } from "../../results.ts";
import { refusedFor, server } from "./kit.ts";

function refusedForPage(response: Entry, peer: RawPeer): void {
  expect(response.error.code).toBe(isStateless(peer.revision) ? -32021 : -32602);
  expect(response.error.data).toEqual({ requiredCapabilities: { elicitation: { url: {} } } });
  expect(peer.questions.filter(({ params }) => params?.["mode"] === "url")).toEqual([]);
}

/** The effects of a request to the client on the call that sends it. */
export const calls: readonly Requirement[] = [
  {
    row: "K16",
    says: "another caller cannot use a state, and gets the same error as for any wrong one",
    async test(open, { revision }) {
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
    row: "XK3",
    says: "the request to the client is cancelled, the handler's signal aborts, and no answer is sent",
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
    says: "a tool with undeclared needs does not run, and the error names all of them",
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
      // A capability that the revision lacks is missing, whatever the client declares.
      if (isFrom(revision, "2025-11-25")) expect(textOf(await able.callTool("needs"))).toBe("ran");
      else refusedFor(able, await able.callTool("needs"), needs);
      expect(textOf(await able.callTool("needs_extension"))).toBe("ran");
      if (isStateless(revision)) {
        // Capabilities belong to the request, not to the connection.
        const _meta = { "io.modelcontextprotocol/clientCapabilities": {} };
        refusedFor(able, await able.callTool("needs", undefined, { _meta }), needs);
      }
    },
  },
  {
    row: "XK5",
    says: "a handler has the same outcome on every revision",
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
];
