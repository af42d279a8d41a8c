import { expect, test } from "vitest";
import type { Channel, ChannelEvents } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import type { Message } from "../jsonrpc/message.ts";
import { recordChannel, type Transcript } from "./transcript.ts";

const deaf: ChannelEvents = { message() {}, batch() {}, unreadable() {}, closed() {} };

function createRecordedPair(): { near: Channel; far: Channel; transcript: Transcript } {
  const [channel, far] = createMemoryPair({ serialize: true });
  const [near, transcript] = recordChannel(channel);
  near.open(deaf);
  far.open(deaf);
  return { near, far, transcript };
}

test("records sent and received messages in order, as text", async () => {
  const { near, far, transcript } = createRecordedPair();
  near.send({ jsonrpc: "2.0", id: 1, method: "ask", params: { secret: "s3" } });
  far.send({ jsonrpc: "2.0", method: "note" });
  far.send({ id: 1, resultText: '{"tools":[]}' });
  far.send([{ jsonrpc: "2.0", id: 2, result: {} }]);
  far.send({ jsonrpc: "1.0", id: 3, result: {} } as unknown as Message);
  await far.close();
  expect(transcript.toString()).toBe(
    [
      '→ {"jsonrpc":"2.0","id":1,"method":"ask","params":{"secret":"s3"}}',
      '← {"jsonrpc":"2.0","method":"note"}',
      '← {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}',
      '← [{"jsonrpc":"2.0","id":2,"result":{}}]',
      '← unreadable: jsonrpc: expected "2.0", got "1.0"',
    ].join("\n"),
  );
  expect(transcript.lines).toHaveLength(5);
});

test("finds messages by method and direction", async () => {
  const { near, far, transcript } = createRecordedPair();
  const ask = (id: number): Message => ({ jsonrpc: "2.0", id, method: "ask" });
  near.send(ask(1));
  far.send(ask(2));
  near.send(ask(3));
  await near.close();
  expect(transcript.find("ask")).toEqual(ask(1));
  expect(transcript.find("none")).toBeUndefined();
  expect(transcript.sent("ask")).toEqual([ask(1), ask(3)]);
  expect(transcript.received("ask")).toEqual([ask(2)]);
});

test("does not record messages that are not sent", async () => {
  const { near, transcript } = createRecordedPair();
  expect(() => near.send({ jsonrpc: "2.0", method: "note", params: { big: 1n } })).toThrow("BigInt");
  await near.close();
  near.send({ jsonrpc: "2.0", method: "late" });
  expect(transcript.lines).toEqual([]);
});

test("omits self-descriptions in brief, and nothing else", async () => {
  const { near, far, transcript } = createRecordedPair();
  const clientInfo = { name: "c", version: "1" };
  const introduction = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  near.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", clientInfo } });
  const params = { _meta: { ...introduction, progressToken: 7 }, name: "t", arguments: { clientInfo: "stays" } };
  near.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
  near.send({ jsonrpc: "2.0", id: 3, method: "tools/list", params: { _meta: introduction } });
  await near.close();
  expect(transcript.brief().split("\n")).toEqual([
    '→ {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
    '→ {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"t","arguments":{"clientInfo":"stays"}}}',
    '→ {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}',
  ]);
  await far.close();
});

test("keeps a message as it was sent, even if the object changes later", async () => {
  const { near, transcript } = createRecordedPair();
  const message = { jsonrpc: "2.0" as const, method: "note", params: { step: 1 } };
  near.send(message);
  message.params.step = 2;
  expect(transcript.find("note")?.params).toEqual({ step: 1 });
});
