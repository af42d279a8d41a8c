import type { Channel } from "../jsonrpc/channel.ts";
import type { Message, RpcResponse } from "../jsonrpc/message.ts";
import { type ChecksOf, type ContractCheck, codeOf, Heard, quiet, same, toChecks } from "./contract.ts";

/** Two channels that are linked, neither of them open yet, as the contract needs them. */
export interface ChannelsUnderTest {
  readonly near: Channel;
  readonly far: Channel;
  /** Set where messages are handed on as objects: then what has no JSON form passes too. */
  readonly isByReference?: boolean;
  release?(): Promise<void>;
}

/** Every promise of the Channel interface, for whichever test runner; each check makes its own channels. */
export function channelContract(make: () => ChannelsUnderTest | Promise<ChannelsUnderTest>): ContractCheck[] {
  return toChecks(checks, make);
}

type Event = Message | { readonly batch: Message[] } | { readonly unreadable: string } | "closed";

/** Opens a channel and keeps what it tells. */
function listen(channel: Channel, hear: (event: Event) => void = () => {}): Heard<Event> {
  const heard = new Heard<Event>();
  const add = (event: Event) => {
    heard.add(event);
    hear(event);
  };
  channel.open({
    message: add,
    batch: (batch) => add({ batch }),
    unreadable: ({ why }) => add({ unreadable: why }),
    closed: () => add("closed"),
  });
  return heard;
}

const note = (step: number | string): Message => ({ jsonrpc: "2.0", method: "note", params: { step } });
const request = (id: number | string): Message => ({ jsonrpc: "2.0", id, method: "ask" });
const response = (id: number): RpcResponse => ({ jsonrpc: "2.0", id, result: { id } });
const steps = (first: number): Message[] => Array.from({ length: 50 }, (_, step) => note(first + step));

const checks: ChecksOf<ChannelsUnderTest> = {
  "messages arrive in order, both ways at once": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    for (const [step, message] of steps(0).entries()) {
      near.send(message);
      far.send(note(100 + step));
    }
    same(await atFar.count(50), steps(0));
    same(await atNear.count(50), steps(100));
  },
  "every kind of message arrives as what it is": async ({ near, far }) => {
    const heard = listen(far);
    listen(near);
    const failure: Message = { jsonrpc: "2.0", id: 2, error: { code: 1, message: "no", data: [null, 0, ""] } };
    const messages = [request(0), request(""), request("1"), note("x"), response(1), failure];
    for (const message of messages) near.send(message);
    same(await heard.count(messages.length), messages);
  },
  "nothing is delivered inside open": async ({ near, far }) => {
    listen(near);
    near.send(note(1));
    await quiet();
    let isOpen = false;
    const heard = listen(far, () => {
      if (!isOpen) throw new Error("a message arrived before open returned");
    });
    same(heard.all.length, 0);
    isOpen = true;
    same(await heard.count(1), [note(1)]);
  },
  "nothing is delivered inside send": async ({ near, far }) => {
    const heard = listen(far);
    listen(near);
    near.send(note(1));
    same(heard.all.length, 0);
    await heard.count(1);
  },
  "a listener that sends is not entered again before it returns": async ({ near, far }) => {
    let isInside = false;
    let wasReentered = false;
    listen(near, () => near.send(note("answer")));
    const heard = listen(far, () => {
      wasReentered ||= isInside;
      isInside = true;
      if (heard.all.length === 1) {
        far.send(note("question"));
        near.send(note("more"));
      }
      isInside = false;
    });
    near.send(note("first"));
    await heard.count(3);
    same(wasReentered, false);
  },
  "text of every alphabet arrives unharmed": async ({ near, far }) => {
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
    const heard = listen(far);
    listen(near);
    const messages = texts.flatMap((text) => [note(text), request(text)]);
    for (const message of messages) near.send(message);
    same(await heard.count(messages.length), messages);
  },
  "a large message arrives whole, and what is behind it after it": async ({ near, far }) => {
    const heard = listen(far);
    listen(near);
    const large = note("é".repeat(1_000_000));
    near.send(large);
    near.send(note(1));
    const [first, second] = await heard.count(2);
    if (JSON.stringify(first) !== JSON.stringify(large)) throw new Error("the large message changed on its way");
    same(second, note(1));
  },
  "a result that is text already arrives as a response": async ({ near, far }) => {
    const heard = listen(far);
    listen(near);
    near.send({ id: "a", resultText: '{"tools":[]}' });
    near.send({ id: 0, resultText: "{}" });
    const expected = [
      { jsonrpc: "2.0", id: "a", result: { tools: [] } },
      { jsonrpc: "2.0", id: 0, result: {} },
    ];
    same(await heard.count(2), expected);
  },
  "an array of responses arrives as one batch": async ({ near, far }) => {
    const heard = listen(far);
    listen(near);
    near.send([response(1), { id: 2, resultText: '{"id":2}' }]);
    near.send(note(1));
    same(await heard.count(2), [{ batch: [response(1), response(2)] }, note(1)]);
  },
  "what has no JSON form is refused before anything is written": async ({ near, far, isByReference }) => {
    if (isByReference) return;
    const heard = listen(far);
    listen(near);
    const bad = { jsonrpc: "2.0", method: "note", params: { big: 1n } } as const;
    same(await codeOf(() => near.send(bad)), "unserializable");
    same(
      await codeOf(() => near.send([response(1), { jsonrpc: "2.0", id: 2, result: { big: 1n } }])),
      "unserializable",
    );
    near.send(note(1));
    same(await heard.count(1), [note(1)]);
  },
  "what was sent before close arrives before the end": async ({ near, far }) => {
    const heard = listen(far);
    listen(near);
    for (const message of steps(0)) near.send(message);
    await near.close();
    same(await heard.count(51), [...steps(0), "closed"]);
  },
  "both sides hear the end exactly once, whoever closes and however often": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    await Promise.all([near.close(), near.close()]);
    await Promise.all([atNear.count(1), atFar.count(1)]);
    await Promise.all([far.close(), near.close()]);
    await quiet();
    same([atNear.all, atFar.all], [["closed"], ["closed"]]);
  },
  "the far side can close too": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    far.send(note(1));
    await far.close();
    same(await atNear.count(2), [note(1), "closed"]);
    same(await atFar.count(1), ["closed"]);
    await near.close();
  },
  "what is sent after close is ignored": async ({ near, far }) => {
    const [atNear, atFar] = [listen(near), listen(far)];
    await near.close();
    await near.send(note(1));
    await Promise.all([atNear.count(1), atFar.count(1)]);
    await far.send(note(2));
    await quiet();
    same([atNear.all, atFar.all], [["closed"], ["closed"]]);
  },
};
