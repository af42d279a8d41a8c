import { expect, test } from "vitest";
import type { Channel, ChannelEvents } from "../jsonrpc/channel.ts";
import { channelLink } from "./channel-link.ts";

/** A channel whose end the test decides. */
function endableChannel() {
  let events: ChannelEvents | undefined;
  const channel: Channel = {
    open: (given) => {
      events = given;
    },
    send: () => {},
    close: async () => {},
  };
  return { channel, end: (reason?: Error) => events?.closed(reason) };
}

const nothing = { notification: () => {}, request: () => {}, invalid: () => {}, lost: () => {} };

test("a request after a loss fails with the reason of the loss", async () => {
  const { channel, end } = endableChannel();
  const link = channelLink(channel);
  await link.open(nothing as never);
  const reason = new Error("there is no program of this name");
  end(reason);
  const failed = new Promise((resolve) => {
    link.exchange({ jsonrpc: "2.0", id: 1, method: "ping" }, { response: () => {}, failed: resolve } as never);
  });
  expect(await failed).toBe(reason);
});
