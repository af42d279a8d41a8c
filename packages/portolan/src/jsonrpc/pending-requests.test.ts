import { describe, expect, test } from "vitest";
import type { Message } from "./message.ts";
import { RpcError } from "./message.ts";
import { PendingRequests } from "./pending-requests.ts";

function record(options?: { idPrefix?: string }): { connection: PendingRequests; sent: Message[] } {
  const sent: Message[] = [];
  const send = (message: Message): void => {
    sent.push(message);
  };
  return { connection: new PendingRequests(send, options), sent };
}

describe("a request", () => {
  test("is sent with ids from 0 upwards, and with params only when given", () => {
    const { connection, sent } = record();
    expect(connection.request("a").id).toBe(0);
    expect(connection.request("b", { x: 1 }).id).toBe(1);
    expect(sent).toEqual([
      { jsonrpc: "2.0", id: 0, method: "a" },
      { jsonrpc: "2.0", id: 1, method: "b", params: { x: 1 } },
    ]);
    expect(sent[0]).not.toHaveProperty("params");
    expect(connection.size).toBe(2);
  });

  test("has string ids when a prefix is given", () => {
    const { connection } = record({ idPrefix: "s-" });
    expect([connection.request("a").id, connection.request("a").id]).toEqual(["s-0", "s-1"]);
  });

  test("resolves with its own result, whatever the order of answers", async () => {
    const { connection } = record();
    const first = connection.request("a");
    const second = connection.request("b");
    expect(connection.settle({ jsonrpc: "2.0", id: second.id, result: { n: 2 } })).toBe(true);
    expect(connection.settle({ jsonrpc: "2.0", id: first.id, result: { n: 1 } })).toBe(true);
    expect(await Promise.all([first.response, second.response])).toEqual([{ n: 1 }, { n: 2 }]);
    expect(connection.size).toBe(0);
  });

  test("may be answered before send returns", async () => {
    const connection: PendingRequests = new PendingRequests((message) => {
      if ("method" in message && "id" in message)
        connection.settle({ jsonrpc: "2.0", id: message.id, result: { now: true } });
    });
    expect(await connection.request("a").response).toEqual({ now: true });
  });

  test("rejects with the peer's error", async () => {
    const { connection } = record();
    const { id, response } = connection.request("a");
    connection.settle({ jsonrpc: "2.0", id, error: { code: -32602, message: "no such tool", data: { name: "x" } } });
    const error = await response.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: -32602, message: "no such tool", data: { name: "x" } });
  });

  test("rejects and is removed if sending throws or fails later", async () => {
    const failure = new Error("broken pipe");
    const throws = new PendingRequests(() => {
      throw failure;
    });
    const rejects = new PendingRequests(async () => {
      throw failure;
    });
    for (const connection of [throws, rejects]) {
      const { id, response } = connection.request("a");
      await expect(response).rejects.toBe(failure);
      expect(connection.size).toBe(0);
      expect(connection.settle({ jsonrpc: "2.0", id, result: {} })).toBe(false);
    }
  });

  test("keeps its answer if sending fails afterwards", async () => {
    const connection: PendingRequests = new PendingRequests(async (message) => {
      if ("id" in message) connection.settle({ jsonrpc: "2.0", id: 0, result: { ok: true } });
      throw new Error("late");
    });
    expect(await connection.request("a").response).toEqual({ ok: true });
  });
});

describe("settle returns false for a response", () => {
  test("whose id was never used, or has the other type", () => {
    const { connection } = record();
    connection.request("a");
    for (const id of [1, "0", "", -1]) expect(connection.settle({ jsonrpc: "2.0", id, result: {} })).toBe(false);
    expect(connection.settle({ jsonrpc: "2.0", id: null, error: { code: 1, message: "" } })).toBe(false);
    expect(connection.settle({ jsonrpc: "2.0", error: { code: 1, message: "" } })).toBe(false);
    expect(connection.size).toBe(1);
  });

  test("that comes twice", async () => {
    const { connection } = record();
    const { id, response } = connection.request("a");
    expect(connection.settle({ jsonrpc: "2.0", id, result: { first: true } })).toBe(true);
    expect(connection.settle({ jsonrpc: "2.0", id, result: { first: false } })).toBe(false);
    expect(await response).toEqual({ first: true });
  });

  test("to an abandoned request", async () => {
    const { connection } = record();
    const { id, response } = connection.request("a");
    const reason = new Error("too slow");
    expect(connection.abandon(id, reason)).toBe(true);
    await expect(response).rejects.toBe(reason);
    expect(connection.settle({ jsonrpc: "2.0", id, result: {} })).toBe(false);
    expect(connection.abandon(id, reason)).toBe(false);
    expect(connection.request("b").id).toBe(1);
  });
});

test("closeAll rejects pending and later requests without sending them", async () => {
  const { connection, sent } = record();
  const reason = new Error("gone");
  const waiting = [connection.request("a").response, connection.request("b").response];
  connection.closeAll(reason);
  for (const response of waiting) await expect(response).rejects.toBe(reason);
  expect(connection.size).toBe(0);
  await expect(connection.request("c").response).rejects.toBe(reason);
  expect(sent).toHaveLength(2);
  connection.closeAll(new Error("again"));
  await expect(connection.request("d").response).rejects.toBe(reason);
});
