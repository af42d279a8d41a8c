import { oauth } from "portolan/auth/client";
import { describe, expect, test } from "vitest";
import { startPeer } from "../../http-client/kit.ts";
import { Browser } from "./kit/browser.ts";
import { Person } from "./kit/person.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { reasonOf } from "./kit/site.ts";
import { connectTo, textOf, type Way } from "./kit/world.ts";

const peers: [name: string, file: string, args: string[], way: Way][] = [
  ["version 1 with an authorization server apart", "sdk-v1-auth.mjs", ["apart"], "stateful"],
  ["version 1 that is its own authorization server", "sdk-v1-auth.mjs", ["own"], "stateful"],
  ["version 2, spoken to without a session", "sdk-v2-auth.mjs", [], "stateless"],
  ["version 2, spoken to with a handshake", "sdk-v2-auth.mjs", [], "stateful"],
];

describe.each(peers)("a server on the official SDK, %s", (_, file, args, way) => {
  test("accepts a login at the SDK's provider, a renewal and a logout", async () => {
    const url = await startPeer(file, ...args);
    const person = new Person();
    const browser = new Browser();
    person.does = (page) => browser.signIn(page, person.redirectUri, {});
    const store = new RecordingStore();
    const events: string[] = [];
    const auth = oauth({ redirect: person, store, onEvent: ({ kind }) => events.push(kind) });
    const client = await connectTo(url, way, { auth });
    const [kept] = store.kept("token");
    const { clientId } = kept!["client"] as { clientId: string };
    expect(textOf(await client.callTool("whoami"))).toBe(`${clientId} mcp:tools`);
    expect(person.visits[0]?.searchParams.get("resource")).toBe(url);

    await fetch(new URL("/end", String(kept?.["issuer"])), { method: "POST" });
    expect(textOf(await client.callTool("whoami"))).toBe(`${clientId} mcp:tools`);
    expect(store.kept("token")[0]?.["refreshToken"]).not.toBe(kept?.["refreshToken"]);
    expect(person.visits).toHaveLength(1);

    await auth.logout(url);
    expect(store.kept("token")).toEqual([]);
    expect(textOf(await client.callTool("whoami"))).toBe(`${clientId} mcp:tools`);
    expect(person.visits).toHaveLength(2);
    const once = ["registered", "visiting", "signed-in"];
    expect(events).toEqual([...once, "renewed", "signed-out", "visiting", "signed-in"]);
  });

  test("refuses a caller without a token, without a loop", async () => {
    const url = await startPeer(file, ...args);
    const reason = await reasonOf(connectTo(url, way, { auth: oauth() }));
    expect(reason.code).toBe("login-required");
  });
});
