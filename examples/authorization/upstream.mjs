// @ts-check
// The company where people have their accounts. It knows one application, "notes", and nothing of MCP.
//   node examples/authorization/upstream.mjs 4000
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { createAuthority, usersIn } from "portolan-authority";

const port = Number(process.argv[2] ?? 4000);
const notes = process.argv[3] ?? "http://localhost:4001";
const issuer = `http://localhost:${port}`;

const accounts = await createAuthority({
  issuer,
  name: "Acme accounts",
  resources: [{ resource: `${issuer}/profile`, name: "Your profile", scopes: { profile: "See your name" } }],
  signIn: usersIn(fileURLToPath(new URL("users.json", import.meta.url))),
  clients: [
    {
      clientId: "notes",
      clientSecret: "only-for-this-example-0123456789",
      name: "Notes",
      redirectUris: [`${notes}/callback`],
    },
  ],
});

createServer(accounts.handle).listen(port, "localhost", () => console.log(`Acme accounts at ${issuer}`));
