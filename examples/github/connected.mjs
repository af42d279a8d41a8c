// @ts-check
// GitHub for people who sign in here with a password. The first call of each of them leads to the sign-in at GitHub.
// Run: GITHUB_CLIENT_ID=... GITHUB_CLIENT_SECRET=... node examples/github/connected.mjs users.json 4000
import { createServer as createHttpServer } from "node:http";
import { protect } from "portolan/auth/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, usersIn } from "portolan-authority";
import { createGithub, githubSignIn } from "portolan-github";

const [users = "users.json", port = "4000"] = process.argv.slice(2);
const { GITHUB_CLIENT_ID: clientId = "", GITHUB_CLIENT_SECRET: clientSecret = "" } = process.env;
const { GITHUB_SITE: site = "https://github.com", GITHUB_API_URL: api = "https://api.github.com" } = process.env;
const origin = `http://localhost:${port}`;
const resource = `${origin}/mcp`;

// region services
const authority = await createAuthority({
  issuer: origin,
  name: "Acme",
  resources: [{ resource, name: "GitHub tools", scopes: { github: "Use the account at GitHub that you connect" } }],
  signIn: usersIn(users),
  services: { github: githubSignIn({ clientId, clientSecret, site, api }) },
  registration: { dynamic: true },
});

const github = createGithub({ account: authority.accountsAt("github"), api });
// endregion
const mcp = serveHttp(github, { auth: protect({ resource, issuers: [authority.protection], scopes: ["github"] }) });

createHttpServer((req, res) => authority.handle(req, res, () => mcp.node(req, res))).listen(
  Number(port),
  "localhost",
  () => console.log(`GitHub tools at ${resource}`),
);
