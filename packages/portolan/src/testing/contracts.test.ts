import { describe, expect, test } from "vitest";
import type { Link, ResponseSink } from "../client/channel-link.ts";
import { channelLink } from "../client/channel-link.ts";
import type { Channel, ChannelEvents } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { createBytesPair } from "./bytes-pair.ts";
import { type ChannelsUnderTest, channelContract } from "./channel-contract.ts";
import { faultyChannel } from "./faulty-channel.ts";
import { farEndOf, type LinkUnderTest, linkContract } from "./link-contract.ts";
import { recordChannel } from "./transcript.ts";

const toSubject = ([near, far]: [Channel, Channel]): ChannelsUnderTest => ({ near, far });

const channels: { [name: string]: () => ChannelsUnderTest } = {
  "memory by reference": () => ({ ...toSubject(createMemoryPair()), isByReference: true }),
  "memory through JSON": () => toSubject(createMemoryPair({ serialize: true })),
  "a recorded channel": () => {
    const [near, far] = createMemoryPair({ serialize: true });
    return { near: recordChannel(near)[0], far: recordChannel(far)[0] };
  },
  "a faulty channel without faults": () => {
    const [near, far] = createMemoryPair({ serialize: true });
    return { near: faultyChannel(near, { seed: 1 }), far };
  },
  "a faulty channel that only delays": () => {
    const [near, far] = createMemoryPair({ serialize: true });
    return { near: faultyChannel(near, { seed: 1, delay: 0.3, maxDelayMs: 3 }), far };
  },
};
for (let seed = 1; seed <= 20; seed += 1) {
  channels[`bytes in pieces, seed ${seed}`] = () => toSubject(createBytesPair({ seed }));
}

describe.each(Object.entries(channels))("%s keeps the contract of channels", (_, make) => {
  for (const { name, run } of channelContract(make)) test(name, run);
});

/** Returns a link over channels that a function creates. */
function overChannels(makePair: () => [Channel, Channel], reopens: boolean): LinkUnderTest {
  const fars: Channel[] = [];
  const makeNear = () => {
    const [near, far] = makePair();
    fars.push(far);
    return near;
  };
  return { link: channelLink(reopens ? makeNear : makeNear()), accept: () => farEndOf(fars.at(-1)!) };
}

const links: { [name: string]: () => LinkUnderTest } = {
  "a link over one channel": () => overChannels(() => createMemoryPair({ serialize: true }), false),
  "a link over channels by reference": () => ({ ...overChannels(createMemoryPair, true), isByReference: true }),
  "a link over bytes in pieces": () => overChannels(() => createBytesPair({ seed: 3 }), true),
};

describe.each(Object.entries(links))("%s keeps the contract of links", (_, make) => {
  for (const { name, run } of linkContract(make)) test(name, run);
});

/** Returns the requirements that a channel does not meet. */
async function brokenBy(change: (channel: Channel) => Channel): Promise<string[]> {
  const make = () => {
    const [near, far] = createMemoryPair({ serialize: true });
    return { near: change(near), far: change(far) };
  };
  const broken: string[] = [];
  for (const { name, run } of channelContract(make)) {
    await run().catch(() => broken.push(name));
  }
  return broken;
}

/** Returns a channel with some handlers of incoming messages replaced. */
const withIncoming = (change: (incoming: ChannelEvents) => Partial<ChannelEvents>) => (channel: Channel) => ({
  ...channel,
  open: (incoming: ChannelEvents) => channel.open({ ...incoming, ...change(incoming) }),
});

describe("the contract of channels finds", () => {
  test("messages that arrive twice", async () => {
    const change = withIncoming((incoming) => ({
      message: (message) => {
        incoming.message(message);
        incoming.message(message);
      },
    }));
    expect(await brokenBy(change)).toContain("delivers messages in order, in both directions at once");
  });

  test("an end that is reported twice", async () => {
    const change = withIncoming((incoming) => ({
      closed: () => {
        incoming.closed();
        incoming.closed();
      },
    }));
    expect(await brokenBy(change)).toContain("reports the end to both sides exactly once, also if both close");
  });

  test("a batch that is delivered as single messages", async () => {
    const change = withIncoming((incoming) => ({
      batch: (messages) => {
        for (const message of messages) incoming.message(message);
      },
    }));
    expect(await brokenBy(change)).toEqual(["delivers an array of responses as one batch"]);
  });

  test("a value without a JSON form that is sent", async () => {
    const change = (channel: Channel): Channel => ({
      ...channel,
      send: (message) =>
        channel.send(JSON.parse(JSON.stringify(message, (_, value) => (typeof value === "bigint" ? 0 : value)))),
    });
    expect(await brokenBy(change)).toEqual(["refuses a value without a JSON form before it writes anything"]);
  });

  test("a delivery before send returns", async () => {
    const make = () => toSubject(createDirectPair());
    const inside = channelContract(make).find(({ name }) => name === "delivers nothing before send returns");
    await expect(inside?.run()).rejects.toThrow("Expected");
  });
});

/** Returns the requirements that a link does not meet. */
async function brokenByLink(change: (link: Link) => Link): Promise<string[]> {
  const make = () => {
    const subject = overChannels(() => createMemoryPair({ serialize: true }), true);
    return { ...subject, link: change(subject.link) };
  };
  const broken: string[] = [];
  for (const { name, run } of linkContract(make)) {
    await run().catch(() => broken.push(name));
  }
  return broken;
}

/** Returns a link with some methods replaced. */
const withMethods =
  (change: (link: Link) => Partial<Link>) =>
  (link: Link): Link => ({
    open: (events) => link.open(events),
    exchange: (request, sink) => link.exchange(request, sink),
    cancel: (id, reason) => link.cancel(id, reason),
    notify: (notification) => link.notify(notification),
    close: () => link.close(),
    ...change(link),
  });

describe("the contract of links finds", () => {
  test("nothing in a link that only delegates", async () => {
    expect(await brokenByLink(withMethods(() => ({})))).toEqual([]);
  });

  test("a response that is delivered twice", async () => {
    const change = withMethods((link) => ({
      exchange: (request, sink) => {
        const response: ResponseSink["response"] = (answer) => {
          sink.response(answer);
          sink.response(answer);
        };
        link.exchange(request, { response, failed: (reason) => sink.failed(reason) });
      },
    }));
    expect(await brokenByLink(change)).toContain("delivers one response to a sink, also if several arrive");
  });

  test("a cancelled request that still gets a response", async () => {
    const broken = await brokenByLink(withMethods(() => ({ cancel() {} })));
    expect(broken).toEqual(["delivers nothing to a cancelled request, also not the end"]);
  });

  test("a loss that is reported twice", async () => {
    const change = withMethods((link) => ({
      open: (events) => {
        const lost = (reason: Error) => {
          events.lost(reason);
          events.lost(reason);
        };
        return link.open({ ...events, lost });
      },
    }));
    expect(await brokenByLink(change)).toContain("fails every request once with a reason, then reports the loss once");
  });

  test("a link that does not reopen and gives no reason", async () => {
    const opened = new WeakSet<Link>();
    const change = withMethods((link) => ({
      open: (events) => {
        if (opened.has(link)) return Promise.reject(new Error(""));
        opened.add(link);
        return link.open(events);
      },
    }));
    expect(await brokenByLink(change)).toEqual(["reopens after a loss, or rejects with the reason"]);
  });
});

/** Creates two channels that deliver synchronously. */
function createDirectPair(): [Channel, Channel] {
  const receivers: ChannelEvents[] = [];
  const side = (mine: number, other: number): Channel => ({
    open: (incoming) => {
      receivers[mine] = incoming;
    },
    send: (message) => receivers[other]?.message(message as never),
    close: async () => {},
  });
  return [side(0, 1), side(1, 0)];
}
