import { describe, expect, test } from "vitest";
import { maxCapabilitiesCharacters, maxClientInfoCharacters, maxSubscriptions } from "../limits.ts";
import { Hub } from "../subscribe/hub.ts";
import { peerFromHandshake, problemOfHandshake, Session } from "./session.ts";

const sessionOf = () => {
  const sent: [string, unknown][] = [];
  const hub = new Hub((error) => {
    throw error;
  });
  const session = new Session(peerFromHandshake({ capabilities: {} }), "a", hub, (...message) => sent.push(message));
  /** Returns whether the session is told of a change of a resource. */
  const hears = (uri: string) => {
    sent.length = 0;
    hub.publish("resources/updated", { uri });
    return sent.length === 1;
  };
  return { hub, session, sent, hears };
};

describe("a session", () => {
  test("is told of changes of subscribed resources and of their children only", async () => {
    const { session, hears } = sessionOf();
    await session.subscribe("x:a", () => undefined);
    expect([hears("x:a"), hears("x:a/b"), hears("x:b")]).toEqual([true, true, false]);
    session.unsubscribe("x:a");
    expect(hears("x:a")).toBe(false);
  });

  test("is told of nothing after its end, also by a subscription that begins while it ends", async () => {
    const { hub, session, sent, hears } = sessionOf();
    await session.subscribe("x:a", () => undefined);
    const late = session.subscribe("x:b", () => undefined);
    session.end();
    await late;
    expect([hears("x:a"), hears("x:b")]).toEqual([false, false]);
    hub.publish("tools/list_changed", {});
    expect(sent).toEqual([]);
  });

  test("wants log messages from its level on", () => {
    const { session } = sessionOf();
    session.setLogLevel("warning");
    expect(session.wants("message", { level: "info" })).toBe(false);
    expect(session.wants("message", { level: "error" })).toBe(true);
  });

  test("releases its watches when it ends", async () => {
    const { session } = sessionOf();
    let released = 0;
    const hold = async () => () => {
      released += 1;
    };
    await session.subscribe("x:a", hold);
    await session.subscribe("x:b", hold);
    session.end();
    await Promise.resolve();
    expect(released).toBe(2);
  });

  test("has no subscription whose watch failed to begin", async () => {
    const { session, hears } = sessionOf();
    await expect(session.subscribe("x:a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(hears("x:a")).toBe(false);
  });

  test("refuses more subscriptions than the limit", async () => {
    const { session } = sessionOf();
    for (let count = 0; count < maxSubscriptions; count += 1) await session.subscribe(`x:${count}`, () => undefined);
    await expect(session.subscribe("x:more", () => undefined)).rejects.toThrow(/unsubscribe first/);
    await expect(session.subscribe("x:1", () => undefined)).resolves.toBeUndefined();
  });

  test("does not send what its revision does not know", () => {
    const { session, sent } = sessionOf();
    session.deliver("tools/list_changed", {});
    session.deliver("unknown", {});
    expect(sent).toEqual([["notifications/tools/list_changed", {}]]);
  });
});

describe("the peer of a handshake", () => {
  const info = { name: "n", title: "t", version: "1" };

  test("has the name, the title and the version of the client only", () => {
    const clientInfo = { ...info, description: "d", websiteUrl: "https://example.com", icons: [] };
    expect(peerFromHandshake({ capabilities: {}, clientInfo }).info).toEqual(info);
  });

  test("has at most 2 KB of text", () => {
    const long = "x".repeat(100_000);
    const clientInfo = { name: long, title: long, version: long };
    const cut = "x".repeat(maxClientInfoCharacters);
    expect(peerFromHandshake({ capabilities: {}, clientInfo }).info).toEqual({ name: cut, title: cut, version: cut });
  });

  test("has no title that is not a text", () => {
    const clientInfo = { ...info, title: { x: "y".repeat(100_000) } };
    expect(peerFromHandshake({ capabilities: {}, clientInfo }).info).toEqual({ name: "n", version: "1" });
  });

  test("begins no session with large capabilities", () => {
    const problemOf = (characters: number) => {
      const capabilities = { experimental: { x: "x".repeat(characters) } };
      const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: info };
      return problemOfHandshake(peerFromHandshake(params), params);
    };
    expect(problemOf(100)).toBeUndefined();
    expect(problemOf(maxCapabilitiesCharacters)).toMatch(/^params.capabilities: expected at most 16384 characters/);
  });
});
