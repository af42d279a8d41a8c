import { expect, test } from "vitest";
import { comeBack } from "./kit/person.ts";
import { hour, until } from "./kit/site.ts";
import { startWorld, textOf } from "./kit/world.ts";

test("during a login for more scopes, other calls continue with the present token", async () => {
  const scopesFor = ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []);
  const world = await startWorld({ protect: { scopesFor } });
  const client = await world.connect();
  let isReady = false;
  world.person.does = async (page) => {
    await until(() => isReady);
    return comeBack(page);
  };
  const written = client.callTool("write");
  await until(() => world.person.visits.length === 2);
  // The token is due for renewal, but still valid.
  world.clock.pass(hour - 20_000);
  expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
  expect(world.authority.grants("refresh_token")).toEqual([]);
  isReady = true;
  expect(textOf(await written)).toBe("written");
  expect(world.person.visits).toHaveLength(2);
});
