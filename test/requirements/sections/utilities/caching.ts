import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { mentions, viewsServer, wireServer } from "../../wire.ts";
import { lists, pagesOf } from "./kit.ts";

/** Cache hints. */
export const caching: readonly Requirement[] = [
  {
    row: "J11",
    says: "six results have cache hints; all others and older revisions do not",
    async test(open, { revision }) {
      const peer = await open();
      const cacheable: [string, JsonObject][] = [
        ...Object.keys(lists).map((method): [string, JsonObject] => [method, {}]),
        ["resources/read", { uri: "note://a" }],
        ["resources/read", { uri: "note://b" }],
        ...(isStateless(revision) ? [["server/discover", {}] as [string, JsonObject]] : []),
      ];
      for (const [method, params] of cacheable) {
        const { result } = await peer.request(method, params);
        if (!isStateless(revision)) {
          expect(mentions(result, "ttlMs") || mentions(result, "cacheScope"), method).toBe(false);
          continue;
        }
        expect(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, method).toBe(true);
        expect(["public", "private"], method).toContain(result.cacheScope);
      }
      if (isStateless(revision)) {
        expect((await peer.request("resources/read", { uri: "note://a" })).result).toMatchObject({
          ttlMs: 5_000,
          cacheScope: "public",
        });
        expect((await peer.request("resources/read", { uri: "note://b" })).result).toMatchObject({
          ttlMs: 0,
          cacheScope: "private",
        });
      }
      for (const [method, params] of [
        ["tools/call", { name: "echo", arguments: { message: "x" } }],
        ["prompts/get", { name: "greet", arguments: { who: "Ada" } }],
        ["completion/complete", { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "who", value: "" } }],
      ] as const) {
        const { result } = await peer.request(method, params);
        expect(result).toBeDefined();
        expect(mentions(result, "ttlMs"), method).toBe(false);
      }
    },
  },
  {
    row: "J12",
    says: "a result that used an answer is not cacheable, whatever the resource allows",
    async test(open) {
      const peer = await open({ server: wireServer, capabilities: { elicitation: {} } });
      const first = await peer.request("resources/read", { uri: "asks://a" });
      expect(first.result.resultType).toBe("input_required");
      expect(first.result).not.toHaveProperty("ttlMs");
      const { requestState } = first.result;
      const second = await peer.request("resources/read", {
        uri: "asks://a",
        inputResponses: { read: { action: "accept" } },
        requestState,
      });
      expect(second.result).toMatchObject({
        resultType: "complete",
        contents: [{ text: "true" }],
        ttlMs: 0,
        cacheScope: "private",
      });
    },
  },
  {
    row: "J13",
    says: "a list that depends on the caller is private, even if the server's cache scope is public",
    async test(open) {
      const peer = await open({ server: viewsServer });
      const { result } = await peer.request("tools/list");
      expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(["mine"]);
      expect(result).toMatchObject({ ttlMs: 60_000, cacheScope: "private" });
    },
  },
  {
    row: "J15",
    says: "every page has the scope of the first",
    async test(open) {
      const peer = await open({ server: wireServer });
      const pages = await pagesOf(peer, "tools/list");
      expect(pages.length).toBeGreaterThan(3);
      for (const page of pages) expect(page).toMatchObject({ ttlMs: 1_000, cacheScope: "public" });
    },
  },
];
