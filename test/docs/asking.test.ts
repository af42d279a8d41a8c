import type { JsonObject, RpcRequest } from "portolan";
import { describe, expect, test } from "vitest";
import { accept, askingRevisions, decline, oldestAndNewest, questionTexts } from "../examples/example.ts";
import type { RawPeerOptions } from "../kit/raw-peer.ts";
import { between, isStateless } from "../kit/revisions.ts";
import { connect, importGuide } from "./guide.ts";

const guide = await importGuide("asking");
const elicitation = { elicitation: {} };
const home = { street: "Elm Street 1", express: true };
const secret = (letter: string) => letter.repeat(32);

/** Returns an answerer that picks the answer whose words occur in the question; declines if there is none. */
const answers =
  (...known: [words: string, answer: JsonObject][]) =>
  ({ params }: RpcRequest): JsonObject =>
    known.find(([words]) => JSON.stringify(params ?? {}).includes(words))?.[1] ?? decline();

const yes = accept({})();
const buyer = answers(["Where", accept(home)()], ["Pay", yes]);

/** Returns a function that counts the side effects since now. */
function countEffects() {
  const { reserved, charged } = guide.effects;
  return () => ({ reserved: guide.effects.reserved - reserved, charged: guide.effects.charged - charged });
}

describe.each(askingRevisions)("docs/asking.md on %s", (revision) => {
  const options: RawPeerOptions = { revision, capabilities: elicitation, answer: buyer };

  test("reserves and charges an order once, although the handler asks two questions", async () => {
    const done = countEffects();
    const peer = await connect(guide.createShop(), options);
    const { result } = await peer.callTool("order", { article: "tea" });
    expect(result.structuredContent).toEqual({ order: expect.stringContaining("tea for 40"), street: home.street });
    expect(questionTexts(peer.questions)).toEqual(["Where do we send tea?", "Pay 40 euros?"]);
    expect(done()).toEqual({ reserved: 1, charged: 1 });
  });

  test.each(["decline", "cancel"])("charges nothing when the user answers with %s", async (action) => {
    const done = countEffects();
    const peer = await connect(guide.createShop(), { ...options, answer: () => ({ action }) });
    const { result } = await peer.callTool("order", { article: "tea" });
    expect(result).toMatchObject({ isError: true, content: [{ text: "Nothing was ordered." }] });
    expect(done().charged).toBe(0);
  });

  test("rejects an answer that does not fit its form, and names the field", async () => {
    const peer = await connect(guide.createShop(), { ...options, answer: accept({ street: "", express: true }) });
    const { error } = await peer.callTool("order", { article: "tea" });
    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain('answer "address": street: ');
  });

  test("refuses a client without elicitation before the tool runs", async () => {
    const done = countEffects();
    const peer = await connect(guide.createShop(), { revision });
    const { error } = await peer.callTool("order", { article: "tea" });
    expect(error?.code).toBe(isStateless(revision) ? -32021 : -32602);
    expect(error?.message).toContain('Tool "order" needs');
    expect(error?.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } });
    expect(done()).toEqual({ reserved: 0, charged: 0 });
  });

  test("sends questions of one Promise.all in one round", async () => {
    const peer = await connect(guide.kitchen, { ...options, answer: answers(["vegan", yes]) });
    const { result } = await peer.callTool("set_table");
    expect(JSON.parse(result.content[0].text)).toEqual({ isVegan: true, hasGuests: false });
    const calls = peer.transcript.filter((line) => line.startsWith("> ") && line.includes('"tools/call"'));
    expect(calls).toHaveLength(isStateless(revision) ? 2 : 1);
  });

  test("continues a parked handler where it stopped, and runs its finally block", async () => {
    const replies = [yes, yes, decline()];
    const peer = await connect(guide.library, { ...options, answer: () => replies.shift() ?? {} });
    expect((await peer.callTool("read_aloud")).result.content[0].text).toBe("Page 1. Page 2. Page 3.");
    expect(guide.borrowed.size).toBe(0);
  });

  test("gives an explicit handler its answer and its state in each round", async () => {
    const replies = [accept({ name: "" })(), accept({ name: "Ada" })()];
    const peer = await connect(guide.namer, { ...options, answer: () => replies.shift() ?? {} });
    expect((await peer.callTool("rename")).result.content[0].text).toBe("Now named Ada");
    const declining = await connect(guide.namer, { ...options, answer: decline });
    expect((await declining.callTool("rename")).result.content[0].text).toBe("No name was given.");
    expect(declining.questions).toHaveLength(2);
  });
});

describe.each(oldestAndNewest)("docs/asking.md on %s", (revision) => {
  const capabilities = { sampling: {}, roots: {} };
  const roots = { roots: [{ uri: "file:///projects/atlas" }] };
  const model = { role: "assistant", content: { type: "text", text: "Atlas" }, model: "scripted" };
  const answer = ({ method }: RpcRequest) => (method === "roots/list" ? roots : model);

  test("asks the client for its roots, then the model about them", async () => {
    const peer = await connect(guide.reader, { revision, capabilities, answer });
    expect((await peer.callTool("name_project")).result.content[0].text).toBe("Atlas");
    expect(peer.questions.map(({ method }) => method)).toEqual(["roots/list", "sampling/createMessage"]);
    expect(JSON.stringify(peer.questions[1]?.params)).toContain("file:///projects/atlas");
  });
});

test.each(between("2024-11-05", "2025-03-26"))(
  "refuses to ask a user on %s, even if the client declares elicitation",
  async (revision) => {
    const peer = await connect(guide.kitchen, { revision, capabilities: elicitation, answer: () => yes });
    const { error } = await peer.callTool("set_table");
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("its protocol version lacks") });
  },
);

describe.each(between("2025-11-25", "2026-07-28"))("docs/asking.md on %s", (revision) => {
  test("sends the user to one page, and waits until the page is finished", async () => {
    const links: string[] = [];
    const answer = ({ params }: RpcRequest) => {
      links.push(String(params?.["url"]));
      guide.finish(links[0]);
      return { action: "accept" };
    };
    const peer = await connect(guide.accounts, { revision, capabilities: { elicitation: { url: {} } }, answer });
    expect((await peer.callTool("connect")).result.content[0].text).toBe("connected");
    expect(links).toEqual([expect.stringMatching(/^https:\/\/example\.com\/connect\/[\w-]{36}$/)]);
  });
});

test("returns instructions to a client that cannot open pages", async () => {
  const peer = await connect(guide.accounts, { revision: "2024-11-05" });
  expect((await peer.callTool("connect")).result.content[0].text).toBe(
    "Open the settings page to connect your account.",
  );
});

describe("the request state of a stateless client", () => {
  const options: RawPeerOptions = { revision: "2026-07-28", capabilities: elicitation };
  const call = { name: "order", arguments: { article: "tea" } };
  const inputResponses = { address: accept(home)() };

  async function begin(secrets: string[]) {
    const peer = await connect(guide.createShop({ secrets }), options);
    return (await peer.request("tools/call", call)).result.requestState;
  }

  test("is accepted by another process with the same secrets, also after a rotation", async () => {
    const requestState = await begin([secret("a")]);
    for (const secrets of [[secret("a")], [secret("b"), secret("a")]]) {
      const other = await connect(guide.createShop({ secrets }), options);
      const { result } = await other.request("tools/call", { ...call, inputResponses, requestState });
      expect(Object.keys(result.inputRequests)).toEqual(["pay"]);
    }
  });

  test("is refused by a process with other secrets, and for other arguments", async () => {
    const requestState = await begin([secret("a")]);
    const other = await connect(guide.createShop({ secrets: [secret("c")] }), options);
    const refused = await other.request("tools/call", { ...call, inputResponses, requestState });
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining("requestState") });
    const same = await connect(guide.createShop({ secrets: [secret("a")] }), options);
    const changed = { name: "order", arguments: { article: "gold" }, inputResponses, requestState };
    expect((await same.request("tools/call", changed)).error?.code).toBe(-32602);
  });

  test("can be sent again after an answer that did not fit its form", async () => {
    const peer = await connect(guide.createShop(), options);
    const { requestState } = (await peer.request("tools/call", call)).result;
    const retry = (street: string) =>
      peer.request("tools/call", { ...call, requestState, inputResponses: { address: accept({ ...home, street })() } });
    expect((await retry("")).error?.code).toBe(-32602);
    expect(Object.keys((await retry("Elm Street 1")).result.inputRequests)).toEqual(["pay"]);
  });

  test("charges once with the key of an earlier round when the last retry is repeated", async () => {
    const done = countEffects();
    const peer = await connect(guide.createShop(), options);
    const first = (await peer.request("tools/call", call)).result;
    const second = (await peer.request("tools/call", { ...call, inputResponses, requestState: first.requestState }))
      .result;
    const last = { ...call, inputResponses: { pay: yes }, requestState: second.requestState };
    await peer.request("tools/call", last);
    await peer.request("tools/call", last);
    expect(done()).toEqual({ reserved: 1, charged: 1 });
  });
});
