import { RpcError } from "portolan";
import { type Server, ToolError } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { blocks, icons } from "./samples.ts";
import { text } from "./schemas.ts";

const kinds = [...Object.keys(blocks), "all"];
const failures = ["tool", "result", "protocol", "hidden", "output", "url"] as const;

/** Tools that show what a result can be. */
export function withResults(server: Server): Server {
  return (
    server
      // The least a good tool has: names for people and models, two schemas, hints, and an icon.
      .tool("echo", {
        title: "Echo",
        description: "Gives a text back",
        icons,
        // `_meta` of the definition; keys of your own have a prefix that is yours.
        meta: { "com.example/since": "0.1.0" },
        input: object({ text: text("What to give back") }),
        output: object({ text: text("What was given") }),
        annotations: annotations.reads,
        // A value beside an output schema becomes structured content, and its JSON the text for older clients.
        run: ({ text }: { text: string }) => ({ text }),
      })
      .tool("content", {
        title: "Content",
        description: "Gives a block of content of a kind, or one of each",
        input: object({ kind: { enum: kinds, description: "Which block" } }),
        output: object({ blocks: integer("How many blocks were meant to come") }),
        annotations: annotations.reads,
        run({ kind }: { kind: string }) {
          const content = Object.keys(blocks)
            .filter((name) => kind === "all" || kind === name)
            .flatMap((name) => blocks[name] ?? []);
          // A whole result: its own content, structured content, and `_meta` for programs.
          return { content, structuredContent: { blocks: content.length }, _meta: { "com.example/kind": kind } };
        },
      })
      .tool("measure", {
        title: "Structured output",
        description: "Gives an object with an object and a list in it",
        input: object({}),
        output: object({
          place: object({ name: text("Its name"), height: { type: "number", description: "In metres" } }, ["height"]),
          celsius: { type: "array", items: { type: "number" }, description: "Measured each hour" },
        }),
        annotations: annotations.reads,
        run: () => ({ place: { name: "Oslo", height: 23.5 }, celsius: [4, 6, 5] }),
      })
      .tool("list", {
        title: "Structured list",
        description: "Gives a list: 2026-07-28 allows any JSON, older clients get it in an object as `result`",
        input: object({ count: integer("How many numbers", { minimum: 0, maximum: 100 }) }),
        output: { type: "array", items: { type: "integer" }, description: "The numbers from 1" },
        annotations: annotations.reads,
        run: ({ count }: { count: number }) => Array.from({ length: count }, (_, index) => index + 1),
      })
      .tool("fail", {
        title: "Fail",
        description: "Fails in one of the ways a tool can",
        input: object({ kind: { enum: failures, description: "Which way" } }),
        output: object({ never: { type: "boolean", description: "Never given" } }),
        annotations: annotations.reads,
        run({ kind }: { kind: (typeof failures)[number] }) {
          switch (kind) {
            case "tool":
              // The model reads this and can do better.
              throw new ToolError("This always fails; call fail with another kind");
            case "result":
              // The same by hand, where content matters.
              return { content: [{ type: "text", text: "A result that says it is an error" }], isError: true };
            case "protocol":
              // The client gets a JSON-RPC error; codes of your own lie outside -32768 to -32000.
              throw new RpcError(1_001, "A protocol error of this server", { data: { kind } });
            case "output":
              // A value that the output schema forbids is a bug of the server, and hidden like one.
              return { never: "a text" } as unknown as { never: boolean };
            case "url":
              // 2025-11-25 alone: the user must visit a page first. Later clients get an internal error instead.
              throw new RpcError(-32042, "A page must be visited first", {
                data: {
                  elicitations: [{ mode: "url", message: "Sign in", url: "https://example.com/", elicitationId: "1" }],
                },
              });
            default:
              // Anything else is masked: the client gets a reference, and `onError` the error with the same.
              throw new Error("the password is swordfish");
          }
        },
      })
      .tool("route", {
        title: "Parameters as headers",
        description: "Arguments that HTTP clients of 2026-07-28 repeat in headers, so that a proxy can route by them",
        input: object(
          {
            // Strings, whole numbers and booleans may be repeated: `Mcp-Param-Region: eu`. Nothing secret should be.
            region: text("Where to", { "x-mcp-header": "Region" }),
            shard: integer("Which part", { "x-mcp-header": "Shard" }),
            urgent: { type: "boolean", description: "Whether it is", "x-mcp-header": "Urgent" },
            note: text("This one is not repeated"),
          },
          ["shard", "urgent", "note"],
        ),
        output: object({ route: text("Where it went") }),
        annotations: annotations.reads,
        // A header that differs from the body is refused before the tool runs.
        run: ({ region, shard = 0, urgent = false }: { region: string; shard?: number; urgent?: boolean }) => ({
          route: `${region}/${shard}${urgent ? "!" : ""}`,
        }),
      })
      .tool("request", {
        title: "Request metadata",
        description: "Tells what the server knows of the request: who asks, in which revision, with which `_meta`",
        input: object({}),
        output: object(
          {
            protocolVersion: text("The revision that is spoken"),
            client: { type: "object", description: "What the client says of itself" },
            capabilities: { type: "object", description: "What the client declared" },
            principal: text("Whom the transport says it is"),
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
