// @ts-check
// The identity provider where people have their accounts. It has one client application, "notes", and no MCP server.
// Run: node examples/authorization/upstream.mjs 4000
// It has one account: "ada" with the password "lovelace".
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, hashPassword, usersIn } from "portolan-authority";

const port = Number(process.argv[2] ?? 4000);
const notes = process.argv[3] ?? "http://localhost:4001";
const issuer = `http://localhost:${port}`;

const users = join(mkdtempSync(join(tmpdir(), "acme-")), "users.json");
const ada = { name: "ada", displayName: "Ada Lovelace", password: await hashPassword("lovelace") };
writeFileSync(users, JSON.stringify({ users: [ada] }), { mode: 0o600 });

const accounts = await createAuthority({
  issuer,
  name: "Acme accounts",
  resources: [{ resource: `${issuer}/profile`, name: "Your profile", scopes: { profile: "See your name" } }],
  signIn: usersIn(users),
  clients: [
    {
      clientId: "notes",
      clientSecret: "only-for-this-example-0123456789",
      name: "Notes",
      redirectUris: [`${notes}/callback`],
    },
  ],
});

createServer((req, res) => accounts.handle(req, res)).listen(port, "localhost", () =>
  console.log(`Acme accounts at ${issuer}`),
);
