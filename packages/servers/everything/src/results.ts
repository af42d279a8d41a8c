import { RpcError } from "portolan";
import { type Server, ToolError } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { chart } from "./app.ts";
import { blocks, icons } from "./samples.ts";
import { text } from "./schemas.ts";

const kinds = [...Object.keys(blocks), "all"];
const failures = ["tool", "result", "protocol", "hidden", "output", "url"] as const;

/** Adds tools that show the kinds of results. */
export function withResults(server: Server): Server {
  return (
    server
      // A complete minimal tool: names for people and models, two schemas, annotations, and an icon.
      .tool("echo", {
        title: "Echo",
        description: "Returns a text",
        icons,
        // `_meta` of the definition; use your own prefix for your own keys.
        meta: { "com.example/since": "0.1.0" },
        input: object({ text: text("Text to return") }),
        output: object({ text: text("The same text") }),
        annotations: annotations.reads,
        // With an output schema, a value becomes structured content, and its JSON the text for older clients.
        run: ({ text }: { text: string }) => ({ text }),
      })
      .tool("content", {
        title: "Content",
        description: "Returns a content block of one type, or one of each",
        input: object({ kind: { enum: kinds, description: "Type of block" } }),
        output: object({ blocks: integer("Number of blocks") }),
        annotations: annotations.reads,
        run({ kind }: { kind: string }) {
          const content = Object.keys(blocks)
            .filter((name) => kind === "all" || kind === name)
            .flatMap((name) => blocks[name] ?? []);
          // A full result: content, structured content, and `_meta` for programs.
          return { content, structuredContent: { blocks: content.length }, _meta: { "com.example/kind": kind } };
        },
      })
      .tool("measure", {
        title: "Structured output",
        description: "Returns an object that contains an object and an array",
        input: object({}),
        output: object({
          place: object({ name: text("Its name"), height: { type: "number", description: "In metres" } }, ["height"]),
          celsius: { type: "array", items: { type: "number" }, description: "Hourly measurements" },
        }),
        annotations: annotations.reads,
        ui: chart,
        run: () => ({ place: { name: "Oslo", height: 23.5 }, celsius: [4, 6, 5] }),
      })
      .tool("list", {
        title: "Structured list",
        description: "Returns an array: 2026-07-28 allows any JSON, older clients get it as `result` of an object",
        input: object({ count: integer("Number of items", { minimum: 0, maximum: 100 }) }),
        output: { type: "array", items: { type: "integer" }, description: "The numbers from 1" },
        annotations: annotations.reads,
        run: ({ count }: { count: number }) => Array.from({ length: count }, (_, index) => index + 1),
      })
      .tool("fail", {
        title: "Fail",
        description: "Fails in one of the possible ways",
        input: object({ kind: { enum: failures, description: "Kind of failure" } }),
        output: object({ never: { type: "boolean", description: "Never returned" } }),
        annotations: annotations.reads,
        run({ kind }: { kind: (typeof failures)[number] }) {
          switch (kind) {
            case "tool":
              // The model reads this message and can react.
              throw new ToolError("This always fails; call fail with another kind");
            case "result":
              // The same as an explicit result, for other content than text.
              return { content: [{ type: "text", text: "A result that says it is an error" }], isError: true };
            case "protocol":
              // The client gets a JSON-RPC error; choose your own codes outside -32768 to -32000.
              throw new RpcError(1_001, "A protocol error of this server", { data: { kind } });
            case "output":
              // A value that violates the output schema is a bug of the server, and masked like other bugs.
              return { never: "a text" } as unknown as { never: boolean };
            case "url":
              // Only for 2025-11-25: the user must visit a page first. Later clients get an internal error instead.
              throw new RpcError(-32042, "A page must be visited first", {
                data: {
                  elicitations: [{ mode: "url", message: "Sign in", url: "https://example.com/", elicitationId: "1" }],
                },
              });
            default:
              // Any other error is masked: the client gets a reference, `onError` the error with the same reference.
              throw new Error("the password is swordfish");
          }
        },
      })
      .tool("route", {
        title: "Parameters as headers",
        description: "Arguments that HTTP clients of 2026-07-28 repeat in headers, so that a proxy can route by them",
        input: object(
          {
            // Strings, integers and booleans can be repeated: `Mcp-Param-Region: eu`. Never do this with secrets.
            region: text("Region to route to", { "x-mcp-header": "Region" }),
            shard: integer("Number of the shard", { "x-mcp-header": "Shard" }),
            urgent: { type: "boolean", description: "True for urgent requests", "x-mcp-header": "Urgent" },
            note: text("Not repeated in a header"),
          },
          ["shard", "urgent", "note"],
        ),
        output: object({ route: text("The chosen route") }),
        annotations: annotations.reads,
        // A request whose header differs from the body is rejected before the tool runs.
        run: ({ region, shard = 0, urgent = false }: { region: string; shard?: number; urgent?: boolean }) => ({
          route: `${region}/${shard}${urgent ? "!" : ""}`,
        }),
      })
      .tool("request", {
        title: "Request metadata",
        description: "Returns what the server knows about the request: client, revision and `_meta`",
        input: object({}),
        output: object(
          {
            protocolVersion: text("Revision of the protocol"),
            client: { type: "object", description: "Name and version of the client" },
            capabilities: { type: "object", description: "Capabilities of the client" },
            principal: text("Principal that the transport has identified"),
            meta: { type: "object", description: "The `_meta` of the request" },
          },
          ["client", "meta"],
        ),
        annotations: annotations.reads,
        run(_, { protocolVersion, client, capabilities, principal, meta }) {
          const known = { protocolVersion, capabilities, principal: principal.key };
          return { ...known, ...(client && { client }), ...(meta && { meta }) };
        },
      })
  );
}
