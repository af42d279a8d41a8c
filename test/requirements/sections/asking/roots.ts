import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { accepting, jsonOf, members, textOf } from "../../results.ts";
import { refusedFor, server } from "./kit.ts";

/** Requests for roots. */
export const roots: readonly Requirement[] = [
  {
    row: "K1",
    says: "roots are requested in the form of the revision, refused if undeclared, and checked to be file URIs",
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
    says: "the code and message of a refusal reach the caller",
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
    row: "XK6",
    says: "the handler receives an empty list of roots",
    async test(open) {
      const peer = await open({ server, capabilities: { roots: {} }, answer: () => ({ roots: [] }) });
      expect(jsonOf(await peer.callTool("roots"))).toEqual([]);
      expect(members(peer.questions[0] ?? {})).not.toContain("error");
    },
  },
];
