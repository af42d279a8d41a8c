// Handlers that wait in memory for answers: what becomes of their outcome, and how much of them is kept.
import type { JsonObject } from "portolan";
import { createServer, live, type Server } from "portolan/server";
import { describe, expect, test } from "vitest";
import type { RawResponse } from "../kit/raw-peer.ts";
import { connect, countNotifications, info, listen, stateless } from "./peers.ts";

const capabilities = { elicitation: {} };
const yes = { action: "accept", content: {} };

/** A gate that a test opens. */
function makeGate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

async function start(server: Server) {
  const peer = await connect(server, { ...stateless, capabilities });
  const ask = (args: JsonObject = {}) => peer.callTool("t", args);
  const retry = (requestState: string, args: JsonObject = {}) =>
    peer.callTool("t", args, { inputResponses: { sure: yes }, requestState });
  return { peer, ask, retry };
}

describe("a parked handler that ends between two rounds", () => {
  test("answers the retry with its result", async () => {
    const { open, opened } = makeGate();
    const server = createServer(info).tool("t", {
      asks: "park",
      run: (_, ctx) => Promise.race([ctx.confirm("sure", "Sure?").then(String), opened.then(() => "too late")]),
    });
    const { ask, retry, peer } = await start(server);
    const { result } = await ask();
    expect(result.resultType).toBe("input_required");
    open();
    await peer.settled();
    expect((await retry(result.requestState)).result.content).toEqual([{ type: "text", text: "too late" }]);
    expect((await retry(result.requestState)).error?.message).toContain("it was not run again");
  });

  test("answers the retry with its failure", async () => {
    const { open, opened } = makeGate();
    const errors: Error[] = [];
    const server = createServer(info, { onError: (error) => errors.push(error as Error) }).tool("t", {
      asks: "park",
      async run(_, ctx) {
        const broken = opened.then(() => Promise.reject(new Error("the database is gone")));
        await Promise.all([ctx.confirm("sure", "Sure?"), broken]);
        return "";
      },
    });
    const { ask, retry, peer } = await start(server);
    const { result } = await ask();
    open();
    await peer.settled();
    const { result: failed } = await retry(result.requestState);
    expect(failed).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("The tool failed") }] });
    expect(errors.map(({ message }) => message)).toEqual(["the database is gone"]);
  });

  test("with a result that is too large to keep says so to the retry", async () => {
    const { open, opened } = makeGate();
    const server = createServer(info).tool("t", {
      asks: "park",
      run: (_, ctx) =>
        Promise.race([ctx.confirm("sure", "Sure?").then(String), opened.then(() => "x".repeat(65 * 1024 * 1024))]),
    });
    const { ask, retry, peer } = await start(server);
    const { result } = await ask();
    open();
    await peer.settled();
    const { error } = await retry(result.requestState);
    expect(error).toMatchObject({ code: -31429, message: expect.stringContaining("the result of this call") });
  });
});

describe("parked calls", () => {
  const size = 4 * 1000 * 1000;
  const args = { text: "x".repeat(size) };
  const asking = () => {
    const ended: unknown[] = [];
    const server = createServer(info).tool("t", {
      asks: "park",
      async run(_, ctx) {
        try {
          return String(await ctx.confirm("sure", "Sure?"));
        } catch (reason) {
          ended.push(reason);
          throw reason;
        }
      },
    });
    return { server, ended };
  };

  test("of one caller are bounded in bytes; another caller may still park, and an answer makes room", async () => {
    const { server, ended } = asking();
    const hostile = await start(server);
    const innocent = await start(server);
    const states: string[] = [];
    let refused: RawResponse["error"];
    for (let count = 0; count < 30 && !refused; count += 1) {
      const { result, error } = await hostile.ask(args);
      if (result) states.push(result.requestState);
      refused = error;
    }
    expect(states).toHaveLength(16);
    expect(refused).toMatchObject({ code: -31429, message: expect.stringContaining("this caller") });
    // The handler of the refused call does not wait for ever.
    expect(ended).toHaveLength(1);
    const { result } = await innocent.ask(args);
    expect((await innocent.retry(result.requestState, args)).result.content[0].text).toBe("true");
    expect((await hostile.retry(states[0] ?? "", args)).result.content[0].text).toBe("true");
    expect((await hostile.ask(args)).result.resultType).toBe("input_required");
  });
});

test("states that stay in the storage are bounded in bytes for one caller", async () => {
  const large = "x".repeat(700_000);
  const server = createServer(info).tool("t", {
    async run(_, ctx) {
      await ctx.once("large", () => large);
      return String(await ctx.confirm("sure", "Sure?"));
    },
  });
  const hostile = await start(server);
  const innocent = await start(server);
  let refused: RawResponse["error"];
  let kept = 0;
  for (let count = 0; count < 200 && !refused; count += 1) {
    const { result, error } = await hostile.ask({ count });
    if (result) kept += 1;
    refused = error;
  }
  expect(refused).toMatchObject({ code: -31429, message: expect.stringContaining("the state of this call") });
  expect(kept * large.length).toBeLessThanOrEqual(64 * 1024 * 1024);
  expect((await innocent.ask()).result.resultType).toBe("input_required");
});

test("open subscriptions count the bytes of their requests against their caller", async () => {
  const server = live(createServer(info).tool("t", { run: () => "" }));
  const hostile = await connect(server);
  const innocent = await connect(server);
  const notifications = { toolsListChanged: true };
  const junk = "x".repeat(8 * 1024 * 1024);
  const open = (id: number) => {
    const params = hostile.describe({ notifications, junk });
    return hostile.requestExactly({ jsonrpc: "2.0", id, method: "subscriptions/listen", params });
  };
  for (let id = 100; id < 107; id += 1) open(id);
  expect((await open(107)).error).toMatchObject({ code: -31429, message: expect.stringContaining("this caller") });
  expect(await listen(innocent, notifications)).toEqual(notifications);
  // The end of one subscription makes room for another.
  hostile.notify("notifications/cancelled", { requestId: 100 });
  open(108);
  await hostile.settled();
  expect(countNotifications(hostile, "subscriptions/acknowledged")).toBe(8);
});
