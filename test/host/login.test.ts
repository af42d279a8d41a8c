import { expect, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { makeHost, textOf } from "./kit.ts";

test("a server that needs sign-in has the state login, and becomes ready after the user signs in", async () => {
  const { auth, server, person } = await startWorld();
  // While false, no browser can be opened, so the host cannot sign in.
  let mayOpen = false;
  const host = await makeHost({
    servers: { site: { url: server.url } },
    auth: () => ({
      authorize: (request) => (mayOpen ? auth.authorize(request) : {}),
      async challenged(challenge) {
        return mayOpen && auth.challenged ? auth.challenged(challenge) : "fail";
      },
    }),
    policy: [{ then: "allow" }],
  });
  const [status] = await host.ready();
  expect(status).toMatchObject({ state: "login" });
  await expect(host.callTool("site", "whoami")).rejects.toThrow();
  mayOpen = true;
  expect(textOf(await host.callTool("site", "whoami"))).toContain("ada");
  expect(person.visits).toHaveLength(1);
  expect(host.servers[0]?.state).toBe("ready");
});
