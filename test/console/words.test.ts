import { oauth } from "portolan/auth/client";
import { expect, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { openConsole, Tab } from "./kit.ts";

test("says in the words of a person that a sign-in is required, and that nothing listens at an address", async () => {
  const { server, authority } = await startWorld();
  const running = await openConsole({
    servers: { far: { url: server.url }, gone: { url: "http://127.0.0.1:9/mcp" } },
    auth: () => oauth(),
  });
  const tab = await Tab.open(running);
  const events = await tab.events();
  await events.state();
  for (const name of ["far", "gone"]) await tab.do("server.start", { server: name }).catch(() => {});
  const far = await events.ever("server", ({ server }) => server.name === "far" && server.state === "login");
  expect(far.server.reason).toBe(`Sign-in required at ${authority.issuer}`);
  const gone = await events.ever("server", ({ server }) => server.name === "gone" && server.state === "down");
  expect(gone.server.reason).toContain("nothing listens at 127.0.0.1:9");
  expect(gone.server.reason).not.toMatch(/POST|GET|failed: /);
});
