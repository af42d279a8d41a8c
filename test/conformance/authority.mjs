// @ts-check
// Serves an authorization server that approves everything, for the conformance suite: node test/conformance/authority.mjs
import { createServer } from "node:http";
import { createAuthority, developmentUser } from "portolan-authority";

const server = createServer();
await new Promise((resolve) => server.listen(Number(process.env["PORT"] ?? 0), "localhost", () => resolve(undefined)));
const address = server.address();
const port = typeof address === "object" ? address?.port : undefined;
const issuer = `http://localhost:${port}`;
const authority = await createAuthority({
  issuer,
  name: "Conformance",
  resources: [{ resource: `${issuer}/mcp`, scopes: { use: "Use it" } }],
  signIn: developmentUser("somebody"),
  clients: [{ clientId: "conformance", redirectUris: ["http://127.0.0.1/callback"] }],
  registration: { dynamic: true },
});
server.on("request", (request, response) => authority.handle(request, response));
console.log(`Serving ${issuer} with Node ${process.version}`);
