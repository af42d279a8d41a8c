// @ts-check
// A server with private notes for each person. People sign in at Acme (upstream.mjs); this server's own authority
// issues the tokens.
// Run: node examples/authorization/server.mjs 4001
import { createServer as createHttpServer } from "node:http";
import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, upstream } from "portolan-authority";
import { z } from "zod";

const port = Number(process.argv[2] ?? 4001);
const acme = process.argv[3] ?? "http://localhost:4000";
const issuer = `http://localhost:${port}`;
const resource = `${issuer}/mcp`;

/** @type {Map<string, string[]>} the notes of each person, by the subject of their token */
const notesOf = new Map();

const notes = createServer({ name: "notes", version: "0.1.0" })
  .tool("add", {
    description: "Adds a note",
    input: z.object({ text: z.string().min(1).max(1000) }),
    run({ text }, { principal }) {
      const { subject = "" } = principal;
      // At most 100 notes per person: the oldest is dropped.
      const mine = [...(notesOf.get(subject) ?? []), text].slice(-100);
      notesOf.set(subject, mine);
      return `You have ${mine.length} note${mine.length === 1 ? "" : "s"}`;
    },
  })
  .tool("list", {
    description: "Lists all your notes",
    annotations: { readOnlyHint: true },
    run: (_, { principal }) => (notesOf.get(principal.subject ?? "") ?? []).join("\n") || "You have no notes",
  });

const authority = await createAuthority({
  issuer,
  name: "Notes",
  resources: [
    { resource, name: "Notes", scopes: { "notes:read": "Read your notes", "notes:write": "Write notes for you" } },
  ],
  signIn: upstream({
    issuer: acme,
    clientId: "notes",
    clientSecret: "only-for-this-example-0123456789",
    scopes: ["openid", "profile"],
    name: "Acme accounts",
  }),
  registration: { dynamic: true },
});

const mcp = serveHttp(notes, {
  auth: protect({
    resource,
    issuers: [authority.protection],
    scopes: ["notes:read"],
    scopesFor: ({ method, name }) => (method === "tools/call" && name === "add" ? ["notes:write"] : []),
  }),
});

createHttpServer((req, res) => authority.handle(req, res, () => mcp.node(req, res))).listen(port, "localhost", () =>
  console.log(`Notes at ${resource}`),
);
