import { describe, expect, test } from "vitest";
import type { Link, ResponseSink } from "../client/channel-link.ts";
import { channelLink } from "../client/channel-link.ts";
import type { Channel, Incoming } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import { createBytesPair } from "./bytes-pair.ts";
import { type ChannelsUnderTest, channelContract } from "./channel-contract.ts";
import { faulty } from "./faulty-channel.ts";
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
    return { near: faulty(near, { seed: 1 }), far };
  },
  "a faulty channel that only delays": () => {
    const [near, far] = createMemoryPair({ serialize: true });
    return { near: faulty(near, { seed: 1, delay: 0.3, maxDelayMs: 3 }), far };
  },
};
for (let seed = 1; seed <= 20; seed += 1) {
  channels[`bytes in pieces, seed ${seed}`] = () => toSubject(createBytesPair({ seed }));
}

describe.each(Object.entries(channels))("%s keeps the contract of channels", (_, make) => {
  for (const { name, run } of channelContract(make)) test(name, run);
});

/** A link whose channels come from a function, each with its far end. */
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

/** The sentences that a channel breaks. */
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

/** The same channel with another ear. */
const hearing = (change: (incoming: Incoming) => Partial<Incoming>) => (channel: Channel) => ({
  ...channel,
  open: (incoming: Incoming) => channel.open({ ...incoming, ...change(incoming) }),
});

describe("the contract of channels finds", () => {
  test("messages that arrive twice", async () => {
    const change = hearing((incoming) => ({
      message: (message) => {
        incoming.message(message);
        incoming.message(message);
      },
    }));
    expect(await brokenBy(change)).toContain("messages arrive in order, both ways at once");
  });

  test("an end that is told twice", async () => {
    const change = hearing((incoming) => ({
      closed: () => {
        incoming.closed();
        incoming.closed();
      },
    }));
    expect(await brokenBy(change)).toContain("both sides hear the end exactly once, whoever closes and however often");
  });

  test("a batch that is taken apart", async () => {
    const change = hearing((incoming) => ({
      batch: (messages) => {
        for (const message of messages) incoming.message(message);
      },
    }));
    expect(await brokenBy(change)).toEqual(["an array of responses arrives as one batch"]);
  });

  test("what has no JSON form and is sent all the same", async () => {
    const change = (channel: Channel): Channel => ({
      ...channel,
      send: (message) =>
        channel.send(JSON.parse(JSON.stringify(message, (_, value) => (typeof value === "bigint" ? 0 : value)))),
    });
    expect(await brokenBy(change)).toEqual(["what has no JSON form is refused before anything is written"]);
  });

  test("a delivery inside send", async () => {
    const make = () => toSubject(createDirectPair());
    const inside = channelContract(make).find(({ name }) => name === "nothing is delivered inside send");
    await expect(inside?.run()).rejects.toThrow("Expected");
  });
});

/** The sentences that a link breaks. */
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

/** The same link, with some of it done in another way. */
const doing =
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
  test("nothing in a link that is only handed on", async () => {
    expect(await brokenByLink(doing(() => ({})))).toEqual([]);
  });

  test("an answer that is told twice", async () => {
    const change = doing((link) => ({
      exchange: (request, sink) => {
        const response: ResponseSink["response"] = (answer) => {
          sink.response(answer);
          sink.response(answer);
        };
        link.exchange(request, { response, failed: (reason) => sink.failed(reason) });
      },
    }));
    expect(await brokenByLink(change)).toContain("a sink hears one answer, however many come");
  });

  test("a request that goes on after it was cancelled", async () => {
    const broken = await brokenByLink(doing(() => ({ cancel() {} })));
    expect(broken).toEqual(["a request that is cancelled hears nothing more, also not of the end"]);
  });

  test("a loss that is told twice", async () => {
    const change = doing((link) => ({
      open: (events) => {
        const lost = (reason: Error) => {
          events.lost(reason);
          events.lost(reason);
        };
        return link.open({ ...events, lost });
      },
    }));
    expect(await brokenByLink(change)).toContain(
      "a loss fails every request once, with a reason, and is told once after that",
    );
  });

  test("a link that does not open again and does not say why", async () => {
    const opened = new WeakSet<Link>();
    const change = doing((link) => ({
      open: (events) => {
        if (opened.has(link)) return Promise.reject(new Error(""));
        opened.add(link);
        return link.open(events);
      },
    }));
    expect(await brokenByLink(change)).toEqual(["a link that was lost opens again, or says why it does not"]);
  });
});

/** Two channels that call each other at once. */
function createDirectPair(): [Channel, Channel] {
  const ears: Incoming[] = [];
  const side = (mine: number, other: number): Channel => ({
    open: (incoming) => {
      ears[mine] = incoming;
    },
    send: (message) => ears[other]?.message(message as never),
    close: async () => {},
  });
  return [side(0, 1), side(1, 0)];
}
