import { firstStateless, type Scenario } from "../scenario.ts";
import { expectStatus, plain } from "./knock.ts";

const statelessHttp = { transports: ["http"], since: firstStateless } as const;

export const headers: readonly Scenario[] = [
  {
    id: "headers/version-missing",
    title: "a request that does not name its version in the header is refused with -32020",
    requirements: ["F4", "F11"],
    strength: "should",
    ...statelessHttp,
    async run(stage) {
      const reply = await plain(stage, await stage.shared(), { "mcp-protocol-version": undefined });
      reply.error(-32020);
      return expectStatus(reply, 400);
    },
  },
  {
    id: "headers/name-encoded",
    title: "a name in the header may be encoded",
    requirements: ["F3"],
    strength: "must",
    ...statelessHttp,
    needs: ["tools"],
    async run(stage) {
      const { name, arguments: given = {} } = stage.tool("echo");
      const encoded = `=?base64?${Buffer.from(name).toString("base64")}?=`;
      const peer = await stage.shared();
      const reply = await peer.request("tools/call", { name, arguments: given }, { headers: { "mcp-name": encoded } });
      reply.result();
      return `sent Mcp-Name: ${encoded}; ${reply.proof}`;
    },
  },
  {
    id: "headers/uri-mismatch",
    title: "a read whose header names another resource is refused with -32020",
    requirements: ["F2", "F4"],
    strength: "must",
    ...statelessHttp,
    needs: ["resources"],
    async run(stage) {
      const peer = await stage.shared();
      const headers = { "mcp-name": "portolan://another" };
      const reply = await peer.request("resources/read", { uri: "portolan://one" }, { headers });
      reply.error(-32020);
      return expectStatus(reply, 400);
    },
  },
  {
    id: "headers/prompt-mismatch",
    title: "a prompt whose header names another is refused with -32020",
    requirements: ["F2", "F4"],
    strength: "must",
    ...statelessHttp,
    needs: ["prompts"],
    async run(stage) {
      const peer = await stage.shared();
      const reply = await peer.request("prompts/get", { name: "one" }, { headers: { "mcp-name": "another" } });
      reply.error(-32020);
      return expectStatus(reply, 400);
    },
  },
];
