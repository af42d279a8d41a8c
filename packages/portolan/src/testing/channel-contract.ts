import type { Channel } from "../jsonrpc/channel.ts";
import type { Message, RpcResponse } from "../jsonrpc/message.ts";
import { type ChecksOf, type ContractCheck, codeOf, quiet, Received, same, toChecks } from "./contract.ts";

/** Two connected channels for the contract. Neither is open yet. */
export interface ChannelsUnderTest {
  readonly near: Channel;
  readonly far: Channel;
  /** True if messages are passed as objects: then values without a JSON form pass too. */
  readonly isByReference?: boolean;
  release?(): Promise<void>;
}

/** Returns test cases for every requirement of the Channel interface. Each makes its own channels. */
export function channelContract(make: () => ChannelsUnderTest | Promise<ChannelsUnderTest>): ContractCheck[] {
  return toChecks(checks, make);
}

type Event = Message | { readonly batch: Message[] } | { readonly unreadable: string } | "closed";

/** Opens a channel and collects its events. */
function listen(channel: Channel, onEvent: (event: Event) => void = () => {}): Received<Event> {
  const received = new Received<Event>();
  const add = (event: Event) => {
    received.add(event);
    onEvent(event);
  };
  channel.open({
    message: add,
    batch: (batch) => add({ batch }),
    unreadable: ({ why }) => add({ unreadable: why }),
    closed: () => add("closed"),
  });
  return received;
}

const note = (step: number | string): Message => ({ jsonrpc: "2.0", method: "note", params: { step } });
const request = (id: number | string): Message => ({ jsonrpc: "2.0", id, method: "ask" });
const response = (id: number): RpcResponse => ({ jsonrpc: "2.0", id, result: { id } });
const steps = (first: number): Message[] => Array.from({ length: 50 }, (_, step) => note(first + step));

const checks: ChecksOf<ChannelsUnderTest> = {
  "delivers messages in order, in both directions at once": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    for (const [step, message] of steps(0).entries()) {
      near.send(message);
      far.send(note(100 + step));
    }
    same(await atFar.count(50), steps(0));
    same(await atNear.count(50), steps(100));
  },
  "delivers every kind of message unchanged": async ({ near, far }) => {
    const received = listen(far);
    listen(near);
    const failure: Message = { jsonrpc: "2.0", id: 2, error: { code: 1, message: "no", data: [null, 0, ""] } };
    const messages = [request(0), request(""), request("1"), note("x"), response(1), failure];
    for (const message of messages) near.send(message);
    same(await received.count(messages.length), messages);
  },
  "delivers nothing before open returns": async ({ near, far }) => {
    listen(near);
    near.send(note(1));
    await quiet();
    let isOpen = false;
    const received = listen(far, () => {
      if (!isOpen) throw new Error("a message arrived before open returned");
    });
    same(received.all.length, 0);
    isOpen = true;
    same(await received.count(1), [note(1)]);
  },
  "delivers nothing before send returns": async ({ near, far }) => {
    const received = listen(far);
    listen(near);
    near.send(note(1));
    same(received.all.length, 0);
    await received.count(1);
  },
  "does not call a listener again before it returns": async ({ near, far }) => {
    let isInside = false;
    let wasReentered = false;
    listen(near, () => near.send(note("answer")));
    const received = listen(far, () => {
      wasReentered ||= isInside;
      isInside = true;
      if (received.all.length === 1) {
        far.send(note("question"));
        near.send(note("more"));
      }
      isInside = false;
    });
    near.send(note("first"));
    await received.count(3);
    same(wasReentered, false);
  },
  "delivers text of every script unchanged": async ({ near, far }) => {
    const texts = [
      "naïve",
      "Ω≈ç√",
      "日本語",
      "🗺️👩‍🚀",
      "line\nbreak\r\n",
      '\u2028\u2029\0\b"\\',
      "\ud83d",
      "\ufeffmark",
    ];
    const received = listen(far);
    listen(near);
    const messages = texts.flatMap((text) => [note(text), request(text)]);
    for (const message of messages) near.send(message);
    same(await received.count(messages.length), messages);
  },
  "delivers a large message whole, and the next one after it": async ({ near, far }) => {
    const received = listen(far);
    listen(near);
    const large = note("é".repeat(1_000_000));
    near.send(large);
    near.send(note(1));
    const [first, second] = await received.count(2);
    if (JSON.stringify(first) !== JSON.stringify(large)) throw new Error("the large message changed on its way");
    same(second, note(1));
  },
  "delivers a serialized result as a response": async ({ near, far }) => {
    const received = listen(far);
    listen(near);
    near.send({ id: "a", resultText: '{"tools":[]}' });
    near.send({ id: 0, resultText: "{}" });
    const expected = [
      { jsonrpc: "2.0", id: "a", result: { tools: [] } },
      { jsonrpc: "2.0", id: 0, result: {} },
    ];
    same(await received.count(2), expected);
  },
  "delivers an array of responses as one batch": async ({ near, far }) => {
    const received = listen(far);
    listen(near);
    near.send([response(1), { id: 2, resultText: '{"id":2}' }]);
    near.send(note(1));
    same(await received.count(2), [{ batch: [response(1), response(2)] }, note(1)]);
  },
  "refuses a value without a JSON form before it writes anything": async ({ near, far, isByReference }) => {
    if (isByReference) return;
    const received = listen(far);
    listen(near);
    const bad = { jsonrpc: "2.0", method: "note", params: { big: 1n } } as const;
    same(await codeOf(() => near.send(bad)), "unserializable");
    same(
      await codeOf(() => near.send([response(1), { jsonrpc: "2.0", id: 2, result: { big: 1n } }])),
      "unserializable",
    );
    near.send(note(1));
    same(await received.count(1), [note(1)]);
  },
  "delivers messages sent before close, then the end": async ({ near, far }) => {
    const received = listen(far);
    listen(near);
    for (const message of steps(0)) near.send(message);
    await near.close();
    same(await received.count(51), [...steps(0), "closed"]);
  },
  "reports the end to both sides exactly once, also if both close": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    await Promise.all([near.close(), near.close()]);
    await Promise.all([atNear.count(1), atFar.count(1)]);
    await Promise.all([far.close(), near.close()]);
    await quiet();
    same([atNear.all, atFar.all], [["closed"], ["closed"]]);
  },
  "lets the far side close": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    far.send(note(1));
    await far.close();
    same(await atNear.count(2), [note(1), "closed"]);
    same(await atFar.count(1), ["closed"]);
    await near.close();
  },
  "ignores messages sent after close": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    await near.close();
    await near.send(note(1));
    await Promise.all([atNear.count(1), atFar.count(1)]);
    await far.send(note(2));
    await quiet();
    same([atNear.all, atFar.all], [["closed"], ["closed"]]);
  },
};
