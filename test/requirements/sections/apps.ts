import { expect } from "vitest";
import type { RawPeer } from "../../kit/raw-peer.ts";
import type { RevisionDate } from "../../kit/revisions.ts";
import type { Open, Requirement } from "../requirement.ts";
import { offeredBy } from "../results.ts";
import { namesApps } from "../rows/apps.ts";

const server = new URL("../servers/apps.mjs", import.meta.url);
const id = "io.modelcontextprotocol/ui";
const declared = { extensions: { [id]: { mimeTypes: ["text/html;profile=mcp-app"] } } };
const openDeclared = (open: Open) => open({ server, capabilities: declared });
const canName = (revision: RevisionDate) => namesApps.includes(revision);

async function toolsOf(peer: RawPeer): Promise<{ name: string; _meta?: { [key: string]: unknown } }[]> {
  return (await peer.request("tools/list")).result.tools;
}

/** Requirements on servers with apps. */
export const apps: readonly Requirement[] = [
  {
    row: "X70",
    says: "an app is read as one HTML document with the media type of apps",
    async test(open) {
      const peer = await openDeclared(open);
      for (const uri of ["ui://chess/board", "ui://chess/plain"]) {
        const { contents } = (await peer.request("resources/read", { uri })).result;
        expect(contents).toHaveLength(1);
        expect(contents[0]).toMatchObject({ uri, mimeType: "text/html;profile=mcp-app" });
        expect(contents[0].text).toMatch(/^<!doctype html>/);
      }
    },
  },
  {
    row: "X71",
    says: "every app that a tool names can be read, and is not listed",
    async test(open, { revision }) {
      const peer = await openDeclared(open);
      const uris = (await toolsOf(peer)).flatMap(({ _meta }) => (_meta?.["ui"] as { resourceUri: string }) ?? []);
      if (canName(revision)) expect(uris.length).toBe(4);
      for (const { resourceUri: uri } of [{ resourceUri: "ui://chess/board" }, ...uris]) {
        expect((await peer.request("resources/read", { uri })).result.contents).toHaveLength(1);
      }
      const { resources } = (await peer.request("resources/list")).result;
      expect(resources.map(({ uri }: { uri: string }) => uri)).toEqual(["text:rules"]);
      expect((await peer.request("resources/read", { uri: "ui://chess/other" })).error).toBeDefined();
    },
  },
  {
    row: "X72",
    says: "a result always has a text, and a tool that returns none fails",
    async test(open) {
      const peer = await openDeclared(open);
      const call = async (name: string) => (await peer.request("tools/call", { name })).result;
      expect((await call("move")).content).toEqual([{ type: "text", text: '{"square":"e4"}' }]);
      expect((await call("resign")).content).toEqual([{ type: "text", text: "You resigned" }]);
      const silent = await call("silent");
      expect(silent.isError).toBe(true);
      expect(silent.content[0].text).toMatch(/^The tool failed/);
    },
  },
  {
    row: "X73",
    says: "apps are named to clients that declare them, and the others get plain tools",
    async test(open, { revision }) {
      const [knows, plain] = [await openDeclared(open), await open({ server })];
      expect((await offeredBy(knows)).extensions).toEqual({ [id]: {} });
      const names = async (peer: RawPeer) => (await toolsOf(peer)).map(({ name }) => name);
      const without = ["count", "move", "resign", "silent"];
      expect(await names(plain)).toEqual(without);
      expect(await names(knows)).toEqual(canName(revision) ? ["count", "hint", "move", "resign", "silent"] : without);
      for (const { _meta } of await toolsOf(plain)) expect(_meta?.["ui"]).toBeUndefined();
    },
  },
  {
    row: "X74",
    says: "the tool has the nested member alone, and the content item has csp, permissions and border",
    async test(open) {
      const peer = await openDeclared(open);
      const tools = new Map((await toolsOf(peer)).map((tool) => [tool.name, tool._meta]));
      expect(tools.get("move")).toEqual({ "example.com/note": "kept", ui: { resourceUri: "ui://chess/board" } });
      expect(tools.get("hint")).toEqual({ ui: { resourceUri: "ui://chess/board", visibility: ["app"] } });
      expect(tools.get("count")).toBeUndefined();
      const read = async (uri: string) => (await peer.request("resources/read", { uri })).result.contents[0];
      expect((await read("ui://chess/board"))._meta).toEqual({
        ui: {
          csp: {
            connectDomains: ["https://api.example.com"],
            resourceDomains: ["https://*.example.com"],
            frameDomains: [],
            baseUriDomains: [],
          },
          permissions: { clipboardWrite: {} },
          prefersBorder: true,
        },
      });
      expect((await read("ui://chess/plain"))._meta).toBeUndefined();
    },
  },
];
