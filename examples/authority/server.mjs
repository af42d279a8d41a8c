// @ts-check
// A server with sign-in, and its own authorization server in the same process.
// Run: node examples/authority/server.mjs 4000
// Sign in as "ada" with the password "lovelace".
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, hashPassword, usersIn } from "portolan-authority";
import { z } from "zod";

/** @type {Map<string, string[]>} the notes of each person, by the subject of their token */
const notes = new Map();
const noteServer = createServer({ name: "notes", version: "1.0.0" })
  .tool("list", { run: (_, { principal }) => (notes.get(principal.subject ?? "") ?? []).join("\n") || "No notes yet" })
  .tool("add", {
    input: z.object({ text: z.string().max(1000) }),
    run({ text }, { principal }) {
      const subject = principal.subject ?? "";
      // At most 100 notes per person: the oldest is dropped.
      notes.set(subject, [...(notes.get(subject) ?? []), text].slice(-100));
      return `Noted for ${subject}`;
    },
  });

const port = Number(process.argv[2] ?? 4000);
const origin = `http://localhost:${port}`;
const resource = `${origin}/mcp`;

const users = join(mkdtempSync(join(tmpdir(), "notes-")), "users.json");
const ada = { name: "ada", displayName: "Ada Lovelace", password: await hashPassword("lovelace") };
writeFileSync(users, JSON.stringify({ users: [ada] }), { mode: 0o600 });

const authority = await createAuthority({
  issuer: origin,
  name: "Acme",
  resources: [{ resource, name: "Notes", scopes: { "notes:read": "Read your notes", "notes:write": "Add notes" } }],
  signIn: usersIn(users),
  registration: { dynamic: true },
  onEvent: (event) => console.log(JSON.stringify(event)),
});

const auth = protect({
  resource,
  issuers: [authority.protection],
  scopes: ["notes:read"],
  scopesFor: ({ name }) => (name === "add" ? ["notes:write"] : []),
});
const mcp = serveHttp(noteServer, { auth });

createHttpServer((req, res) => authority.handle(req, res, () => mcp.node(req, res))).listen(port, "127.0.0.1", () =>
  console.log(`Serving ${resource}`),
);
