// @ts-check
// GitHub for many people: each of them signs in at GitHub once, and the server acts with the account of the caller.
// Run: GITHUB_CLIENT_ID=... GITHUB_CLIENT_SECRET=... node examples/github/server.mjs 4000
import { createServer as createHttpServer } from "node:http";
import { protect } from "portolan/auth/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, upstream } from "portolan-authority";
import { createGithub, githubSignIn } from "portolan-github";

const port = Number(process.argv[2] ?? 4000);
const { GITHUB_CLIENT_ID: clientId = "", GITHUB_CLIENT_SECRET: clientSecret = "" } = process.env;
// For GitHub Enterprise: the address where people sign in, and that of the API.
const { GITHUB_SITE: site = "https://github.com", GITHUB_API_URL: api = "https://api.github.com" } = process.env;
const origin = `http://localhost:${port}`;
const resource = `${origin}/mcp`;

const authority = await createAuthority({
  issuer: origin,
  name: "GitHub tools",
  resources: [{ resource, name: "GitHub tools", scopes: { github: "Use your account at GitHub" } }],
  signIn: upstream(githubSignIn({ clientId, clientSecret, site, api })),
  registration: { dynamic: true },
});

const github = createGithub({
  account: {
    tokenOf: (person) => authority.upstreamToken(person),
    // GitHub no longer accepts the token: the sign-in here ends too, so that the person signs in again.
    ended: (person) => authority.revoke(person),
  },
  api,
});

const mcp = serveHttp(github, { auth: protect({ resource, issuers: [authority.protection], scopes: ["github"] }) });

createHttpServer((req, res) => authority.handle(req, res, () => mcp.node(req, res))).listen(port, "localhost", () =>
  console.log(`GitHub tools at ${resource}`),
);
