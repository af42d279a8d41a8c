import { type OAuthStep, oauth } from "portolan/auth/client";
import { expect, test } from "vitest";
import { hour, reasonOf } from "./kit/site.ts";
import { connectTo, startWorld } from "./kit/world.ts";

/** The last word about each step, in order. */
function settled(steps: readonly OAuthStep[]): OAuthStep[] {
  const last = new Map(steps.map((step) => [step.id, step]));
  return [...last.values()];
}

test("tells each exchange of a sign-in, a renewal and a sign-out, when it begins and when it ends", async () => {
  const steps: OAuthStep[] = [];
  const world = await startWorld({ oauth: { onStep: (step) => steps.push(step) } });
  const client = await world.connect();
  const signIn = settled(steps);
  expect(signIn.map(({ id, standard, state }) => [id, standard, state])).toEqual([
    [1, "RFC 6750", "done"],
    [2, "RFC 9728", "done"],
    [3, "RFC 8414", "done"],
    [4, "RFC 7591", "done"],
    [5, "RFC 6749 section 4.1, RFC 7636, RFC 8707", "done"],
    [6, "RFC 6749 section 4.1.3, RFC 7636", "done"],
  ]);
  expect(steps.map(({ id, state }) => `${id} ${state}`)).toEqual(
    [1, 2, 3, 4, 5, 6].flatMap((id) => [`${id} running`, `${id} done`]),
  );
  const [refused, resource, , registered, visit, token] = signIn;
  expect(refused?.response).toMatch(/^401\nwww-authenticate: Bearer /);
  expect(resource?.request).toContain(`GET ${world.server.origin}${world.server.metadataPath}`);
  expect(resource?.response).toContain(`"${world.authority.issuer}"`);
  expect(registered?.request).toContain('"redirect_uris"');
  expect(visit?.request).toContain("code_challenge_method=S256");
  expect(token?.request).toMatch(/\n\n[\s\S]*grant_type=authorization_code/);
  const [issued = ""] = world.authority.accessTokens;
  expect(token?.response).toContain(`"access_token": "${issued.slice(0, 4)}…"`);

  steps.length = 0;
  world.clock.pass(2 * hour);
  await client.callTool("whoami");
  await world.auth.logout(world.server.url);
  expect(settled(steps).map(({ standard, state }) => [standard, state])).toEqual([
    ["RFC 8414", "done"],
    ["RFC 6749 section 6", "done"],
    ["RFC 8414", "done"],
    ["RFC 7009", "done"],
  ]);
});

test("tells why a step failed", async () => {
  const steps: OAuthStep[] = [];
  const world = await startWorld({ oauth: { onStep: (step) => steps.push(step) } });
  const body = { error: "invalid_client", error_description: "who is this?" };
  world.authority.answer("token", { status: 401, body });
  await reasonOf(world.connect());
  expect(settled(steps).at(-1)).toMatchObject({
    state: "failed",
    reason: "it answered with status 401",
    response: expect.stringContaining("who is this?"),
  });
});

test("masks a secret that an answer repeats, also under another name", async () => {
  const steps: OAuthStep[] = [];
  const world = await startWorld({ oauth: { onStep: (step) => steps.push(step) } });
  const client = await world.connect();
  const [refreshToken = ""] = world.authority.refreshTokens.keys();
  const body = { error: "invalid_request", error_description: `what is ${refreshToken}?`, debug: refreshToken };
  world.authority.answer("token", { status: 400, body });
  world.clock.pass(2 * hour);
  await client.callTool("whoami").catch(() => {});
  const shown = JSON.stringify(steps);
  expect(shown).toContain(`what is ${refreshToken.slice(0, 4)}…?`);
  expect(shown).not.toContain(refreshToken);
});

test("does a step that changes nothing once more, also after the sign-in, and tells it again", async () => {
  const steps: OAuthStep[] = [];
  const world = await startWorld({ oauth: { onStep: (step) => steps.push(step) } });
  await world.connect();
  expect(settled(steps).map(({ again }) => again !== undefined)).toEqual([false, true, true, false, false, false]);
  const metadata = settled(steps)[2];
  steps.length = 0;
  await metadata?.again?.();
  expect(steps.map(({ id, state }) => [id, state])).toEqual([
    [3, "running"],
    [3, "done"],
  ]);
  expect(steps.at(-1)).toMatchObject({ request: metadata?.request, response: metadata?.response });
  await world.authority.site.stop();
  await steps.at(-1)?.again?.();
  expect(steps.at(-1)).toMatchObject({ id: 3, state: "failed" });
});

test("shows what a token says that can be read, and not the token", async () => {
  const steps: OAuthStep[] = [];
  const world = await startWorld({ oauth: { onStep: (step) => steps.push(step) } });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = `${part({ alg: "ES256" })}.${part({ aud: "notes", scope: "read" })}.c2lnbmF0dXJl`;
  world.authority.answer("token", { status: 200, body: { access_token: token, token_type: "Bearer" } });
  await reasonOf(world.connect());
  const shown = settled(steps).find(({ standard }) => standard.includes("4.1.3"))?.response ?? "";
  expect(shown).toContain('"scope": "read"');
  expect(shown).toContain('"alg": "ES256"');
  expect(shown).not.toContain("c2lnbmF0dXJl");
});

test("a listener that throws disturbs nothing", async () => {
  const { server, person } = await startWorld();
  const throwing = () => {
    throw new Error("no");
  };
  const client = await connectTo(server.url, "stateless", { auth: oauth({ redirect: person, onStep: throwing }) }, {});
  expect(await client.callTool("whoami")).toMatchObject({ content: [{ type: "text" }] });
});
