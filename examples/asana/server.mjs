// @ts-check
// Asana for many people: each of them signs in at Asana once, and the server acts with the account of the caller.
// Run: ASANA_CLIENT_ID=... ASANA_CLIENT_SECRET=... node examples/asana/server.mjs 4000
import { createServer as createHttpServer } from "node:http";
import { protect } from "portolan/auth/server";
import { serveHttp } from "portolan/server/http";
import { asanaSignIn, createAsana } from "portolan-asana";
import { createAuthority, upstream } from "portolan-authority";

const port = Number(process.argv[2] ?? 4000);
const { ASANA_CLIENT_ID: clientId = "", ASANA_CLIENT_SECRET: clientSecret = "" } = process.env;
const { ASANA_SITE: site = "https://app.asana.com", ASANA_API_URL: api = "https://app.asana.com/api/1.0" } =
  process.env;
const origin = `http://localhost:${port}`;
const resource = `${origin}/mcp`;

const authority = await createAuthority({
  issuer: origin,
  name: "Asana tools",
  resources: [{ resource, name: "Asana tools", scopes: { asana: "Use your account at Asana" } }],
  signIn: upstream(asanaSignIn({ clientId, clientSecret, site, api })),
  registration: { dynamic: true },
});

const asana = createAsana({
  account: {
    tokenOf: (person) => authority.upstreamToken(person),
    // Asana no longer accepts the token: the sign-in here ends too, so that the person signs in again.
    ended: (person) => authority.revoke(person),
  },
  api,
});

const mcp = serveHttp(asana, { auth: protect({ resource, issuers: [authority.protection], scopes: ["asana"] }) });

createHttpServer((req, res) => authority.handle(req, res, () => mcp.node(req, res))).listen(port, "localhost", () =>
  console.log(`Asana tools at ${resource}`),
);
