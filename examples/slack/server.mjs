// @ts-check
// Slack for many people: each of them signs in at Slack once, and the server acts with the account of the caller.
// Run: SLACK_CLIENT_ID=... SLACK_CLIENT_SECRET=... node examples/slack/server.mjs 4000
import { createServer as createHttpServer } from "node:http";
import { protect } from "portolan/auth/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, upstream } from "portolan-authority";
import { createSlack, slackSignIn } from "portolan-slack";

const port = Number(process.argv[2] ?? 4000);
const { SLACK_CLIENT_ID: clientId = "", SLACK_CLIENT_SECRET: clientSecret = "" } = process.env;
const { SLACK_SITE: site = "https://slack.com", SLACK_API_URL: api = "https://slack.com/api" } = process.env;
const origin = `http://localhost:${port}`;
const resource = `${origin}/mcp`;

const authority = await createAuthority({
  issuer: origin,
  name: "Slack tools",
  resources: [{ resource, name: "Slack tools", scopes: { slack: "Use your account at Slack" } }],
  signIn: upstream(slackSignIn({ clientId, clientSecret, site, api })),
  registration: { dynamic: true },
});

const slack = createSlack({
  account: {
    tokenOf: (person) => authority.upstreamToken(person),
    // Slack no longer accepts the token: the sign-in here ends too, so that the person signs in again.
    ended: (person) => authority.revoke(person),
  },
  api,
});

const mcp = serveHttp(slack, { auth: protect({ resource, issuers: [authority.protection], scopes: ["slack"] }) });

createHttpServer((req, res) => authority.handle(req, res, () => mcp.node(req, res))).listen(port, "localhost", () =>
  console.log(`Slack tools at ${resource}`),
);
