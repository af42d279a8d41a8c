import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { activityEntries, entryFromFile, greeter, inMemory, makeHost, nextEvent, textOf } from "./kit.ts";

test("a grant counts its uses, also across hosts, and events tell of each change", async () => {
  const storage = createMemoryStorage();
  const options = { servers: { g: inMemory(greeter()) }, storage };
  const host = await makeHost({ ...options, answers: { approve: () => ({ allow: true, for: "always" }) } });
  const events = host.events({ kinds: ["grant"] });
  for (let times = 0; times < 3; times += 1) await host.callTool("g", "greet");
  const [grant] = host.grants.list();
  expect(grant).toMatchObject({ uses: 2, lastUsedAt: expect.any(Number) });
  expect(await nextEvent(events, "grant")).toMatchObject({ server: "g", how: "added", grant: { id: grant?.id } });
  // Unread events of one grant's use replace each other.
  expect(await nextEvent(events, "grant")).toMatchObject({ how: "used", grant: { uses: 2 } });
  await host.close();
  const next = await makeHost(options);
  expect(next.grants.list()).toMatchObject([{ id: grant?.id, uses: 2 }]);
  expect(textOf(await next.callTool("g", "greet"))).toBe("hello");
  expect(next.grants.list()).toMatchObject([{ uses: 3 }]);
});

test("a revoked grant can be restored, which is in the log before it counts", async () => {
  const asked: string[] = [];
  const host = await makeHost({
    servers: { g: inMemory(greeter()) },
    answers: {
      approve({ id }) {
        asked.push(id);
        return { allow: asked.length === 1, for: asked.length === 1 ? "always" : "once" };
      },
    },
  });
  await host.callTool("g", "greet");
  const [{ id = "" } = {}] = host.grants.list();
  const events = host.events({ kinds: ["grant"] });
  expect(await host.grants.revoke(id)).toBe(true);
  await expect(host.callTool("g", "greet")).rejects.toMatchObject({ code: "denied" });
  expect(await host.grants.restore(id)).toBe(true);
  expect(textOf(await host.callTool("g", "greet"))).toBe("hello");
  expect(asked).toHaveLength(2);
  const changes = [await nextEvent(events, "grant"), await nextEvent(events, "grant")];
  expect(changes.map(({ how }) => how)).toEqual(["revoked", "added"]);
  expect((await activityEntries(host, "grant")).slice(1)).toMatchObject([
    { grant: id, revoked: true },
    { grant: id, restored: true, name: "greet", allow: true },
  ]);
  expect(await host.grants.restore(id)).toBe(false);
});

test("a restored trust starts the server again", async () => {
  const host = await makeHost({ servers: [entryFromFile(inMemory(greeter()))] });
  await host.trust("s", { allow: true, for: "always" });
  const trust = host.grants.list().find(({ subject, kind }) => kind === "trust" && subject === "");
  await host.grants.revoke(trust?.id ?? "");
  expect(host.servers[0]?.state).toBe("untrusted");
  expect(await host.grants.restore(trust?.id ?? "")).toBe(true);
  expect(host.servers[0]?.state).toBe("idle");
  expect(textOf(await host.callTool("s", "greet", {}, { by: "user" }))).toBe("hello");
});
