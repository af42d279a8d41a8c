import { createServer } from "portolan/server";
import { createMemoryStorage } from "portolan/storage";
import type { Host, TrustQuestion } from "portolan-host";
import { expect, test } from "vitest";
import {
  allow,
  countStarts,
  entryFromFile,
  functionsOf,
  greeter,
  inMemory,
  makeHost,
  nextEvent,
  textOf,
} from "./kit.ts";

const stateOf = (host: Host) => host.servers[0]?.state;

test("an untrusted server cannot be started after it was stopped", async () => {
  const way = countStarts();
  const host = await makeHost({ servers: [entryFromFile(way)], policy: allow });
  await host.stop("s");
  await expect(host.callTool("s", "greet")).rejects.toThrow("s is not trusted yet");
  await expect(host.start("s")).rejects.toThrow("s is not trusted yet");
  expect(way.starts).toBe(0);
});

test.each([
  ["a file", entryFromFile(inMemory(greeter()))],
  ["the application", inMemory(greeter())],
])(
  "a server from %s is stopped and hidden when its trust is withdrawn, and usable when it is trusted again",
  async (_, server) => {
    const host = await makeHost({ policy: allow });
    await host.add("s", server);
    await host.trust("s", true);
    expect(textOf(await host.callTool("s", "greet"))).toBe("hello");
    await host.trust("s", false);
    expect(stateOf(host)).toBe("untrusted");
    expect(host.catalog.tools).toEqual([]);
    await expect(host.callTool("s", "greet")).rejects.toThrow("the user said no");
    await host.trust("s", true);
    expect(host.catalog.tools).toHaveLength(1);
    expect(textOf(await host.callTool("s", "greet"))).toBe("hello");
  },
);

test("a running call is rejected when the trust in its server is withdrawn", async () => {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const slow = createServer({ name: "slow", version: "1.0.0" }).tool("wait", {
    run() {
      begin();
      return new Promise(() => {});
    },
  });
  const host = await makeHost({ servers: [entryFromFile(inMemory(slow))], answers: { trust: () => true } });
  const calling = host.callTool("s", "wait", {}, { by: "user" });
  calling.catch(() => {});
  await begun;
  await host.trust("s", false);
  await expect(calling).rejects.toMatchObject({ requestMayHaveRun: true });
});

test("revoking a trust grant stops the server, and the user is asked again", async () => {
  const asked: TrustQuestion[] = [];
  const trust = (question: TrustQuestion) => asked.push(question) > 0;
  const host = await makeHost({ servers: [entryFromFile(inMemory(greeter()))], policy: allow, answers: { trust } });
  await host.callTool("s", "greet");
  const grant = host.grants.list().find(({ kind, subject }) => kind === "trust" && subject === "");
  await host.grants.revoke(grant?.id ?? "");
  expect(stateOf(host)).toBe("untrusted");
  await host.callTool("s", "greet");
  expect(asked).toHaveLength(2);
});

test("trust neither enables a disabled server nor starts a misconfigured one", async () => {
  const way = countStarts();
  const off = { ...entryFromFile(way), name: "off", settings: { disabled: true } };
  const broken = { ...entryFromFile(way), name: "broken", problem: "missing ${TOKEN}" };
  const host = await makeHost({ servers: [off, broken] });
  const states = () => host.servers.map(({ state }) => state);
  for (const { name } of [off, broken]) {
    await host.trust(name, true);
    await host.stop(name);
    await expect(host.start(name)).rejects.toMatchObject({ code: "server-unavailable" });
  }
  expect(states()).toEqual(["disabled", "misconfigured"]);
  await host.enable("broken", false);
  await host.enable("broken", true);
  expect(states()).toEqual(["disabled", "misconfigured"]);
  expect(way.starts).toBe(0);
  await host.enable("off", true);
  await host.start("off");
  expect(states()).toEqual(["ready", "misconfigured"]);
  await host.enable("off", false);
  expect(states()[0]).toBe("disabled");
  expect(host.catalog.tools).toEqual([]);
  await expect(host.callTool("off", "greet", {}, { by: "user" })).rejects.toThrow("off is disabled");
});

test("a trust answer does not apply to another server added later under the same name", async () => {
  const [first, second] = [countStarts(), countStarts()];
  const host = await makeHost({ servers: [entryFromFile(first)], answers: { trust: "later" }, policy: allow });
  const events = host.events({ kinds: ["question"] });
  const calling = host.callTool("s", "greet");
  const asked = (await nextEvent(events, "question")).question;
  await host.remove("s");
  await expect(calling).rejects.toThrow("s was removed");
  expect(asked.signal.aborted).toBe(true);
  await host.add("s", entryFromFile(second, ["another.js"]));
  await expect(host.answer(asked.id, true)).rejects.toThrow("no question");
  const again = host.callTool("s", "greet");
  const { question } = await nextEvent(events, "question");
  expect(JSON.stringify(question)).toContain("another.js");
  await host.answer(question.id, true);
  expect(textOf(await again)).toBe("hello");
  expect([first.starts, second.starts]).toEqual([0, 1]);
});

test("removing a server rejects its calls and removes its questions and tools", async () => {
  const slow = greeter().tool("wait", { run: () => new Promise(() => {}) });
  const host = await makeHost({ servers: { s: inMemory(slow) }, answers: { approve: "later" } });
  const events = host.events({ kinds: ["call", "question"] });
  const running = host.callTool("s", "wait", {}, { by: "user" });
  await nextEvent(events, "call");
  const asking = host.callTool("s", "greet");
  await nextEvent(events, "question");
  const removing = host.remove("s");
  await expect(running).rejects.toThrow();
  await expect(asking).rejects.toThrow("s was removed");
  await removing;
  expect(host.questions).toEqual([]);
  expect(host.servers).toEqual([]);
  expect(host.catalog.tools).toEqual([]);
  expect(host.changedDefinitions()).toEqual([]);
  await expect(host.callTool("s", "greet")).rejects.toThrow('There is no server "s"');
});

test("a denial that is stored late does not affect another server under the same name", async () => {
  const { kv } = createMemoryStorage();
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const set: typeof kv.set = async (key, value, options) => {
    if (key.includes("grant")) await held;
    return kv.set(key, value, options);
  };
  const host = await makeHost({
    servers: { s: inMemory(greeter()) },
    storage: { kv: { ...functionsOf(kv), set } },
    policy: allow,
  });
  await host.ready();
  const deciding = host.trust("s", { allow: false, for: "always" });
  await host.remove("s");
  await host.add("s", entryFromFile(inMemory(greeter()), ["another.js"]));
  await host.trust("s", true);
  await host.ready();
  release();
  await deciding;
  expect(host.catalog.tools).toHaveLength(1);
});
