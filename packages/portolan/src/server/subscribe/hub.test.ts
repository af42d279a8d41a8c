import { describe, expect, test, vi } from "vitest";
import { resourceNotFound } from "../../protocol/errors.ts";
import { Hub } from "./hub.ts";
import { subscribersOf } from "./subscribers.ts";
import { holdWatch } from "./watches.ts";

function listener(principal: string, wanted = true) {
  const received: string[] = [];
  return {
    principal,
    received,
    wants: () => wanted,
    deliver: (topic: string) => {
      received.push(topic);
    },
  };
}

describe("publish", () => {
  test("delivers to the listeners that want the topic", () => {
    const hub = new Hub(() => {});
    const [a, b] = [listener("a"), listener("b", false)];
    hub.addListener(a);
    hub.addListener(b);
    hub.publish("tools/list_changed", {});
    expect([a.received, b.received]).toEqual([["tools/list_changed"], []]);
  });

  test("delivers only to the principal of the audience", () => {
    const hub = new Hub(() => {});
    const [a, b] = [listener("a"), listener("b")];
    hub.addListener(a);
    hub.addListener(b);
    hub.publish("message", {}, { principal: "b" });
    expect([a.received, b.received]).toEqual([[], ["message"]]);
  });

  test("reports a listener that throws and delivers to the others", () => {
    const reported: unknown[] = [];
    const hub = new Hub((error) => reported.push(error));
    const failure = new Error("no");
    hub.addListener({
      ...listener("a"),
      deliver: () => {
        throw failure;
      },
    });
    const second = listener("b");
    hub.addListener(second);
    hub.publish("message", {});
    expect(reported).toEqual([failure]);
    expect(second.received).toEqual(["message"]);
  });

  test("does not deliver to a listener that was removed", () => {
    const hub = new Hub(() => {});
    const removed = listener("a");
    hub.addListener(removed);
    hub.removeListener(removed);
    hub.publish("message", {});
    expect(removed.received).toEqual([]);
  });
});

describe("holdWatch", () => {
  test("begins one watch for all holders and stops it after the last", async () => {
    const hub = new Hub(() => {});
    const steps: string[] = [];
    const begin = () => {
      steps.push("begin");
      return () => {
        steps.push("stop");
      };
    };
    const [first, second] = await Promise.all([holdWatch(hub, "x:a", begin), holdWatch(hub, "x:a", begin)]);
    first();
    await Promise.resolve();
    expect(steps).toEqual(["begin"]);
    second();
    await Promise.resolve();
    expect(steps).toEqual(["begin", "stop"]);
  });

  test("publishes the changes of the watch, of its URI by default", async () => {
    const hub = new Hub(() => {});
    const uris: unknown[] = [];
    subscribersOf(hub).add("x:a", { ...listener("a"), deliver: (_, { uri }) => void uris.push(uri) });
    await holdWatch(hub, "x:a", (changed) => {
      changed();
      changed("x:a/b");
      return () => {};
    });
    expect(uris).toEqual(["x:a", "x:a/b"]);
  });

  test("rejects with the error for the client, and begins again for the next holder", async () => {
    const hub = new Hub(() => {});
    const missing = resourceNotFound("x:a");
    await expect(holdWatch(hub, "x:a", () => Promise.reject(missing))).rejects.toBe(missing);
    await expect(holdWatch(hub, "x:a", () => () => {})).resolves.toBeTypeOf("function");
  });

  test("hides other errors behind one that names the URI", async () => {
    const hub = new Hub(() => {});
    const failed = holdWatch(hub, "x:a", () => Promise.reject(new Error("inside")));
    await expect(failed).rejects.toMatchObject({ code: "invalid-definition", message: "Watching x:a failed" });
  });
});

test.each([
  ["x:a", "x:a", true],
  ["x:a", "x:a/b", true],
  ["x:a/", "x:a/b", true],
  ["x:a", "x:ab", false],
  ["x:a/b", "x:a", false],
  ["x:a/", "x:a", false],
  ["x:", "x:a/b", false],
  ["x:/", "x:/a", true],
  ["x:", "x:/a", true],
  ["x://a/b", "x://a/b/c/d", true],
  ["x://a/b", "x://a/bc/d", false],
])("a subscription to %s covers %s: %s", (subscribed, uri, expected) => {
  const hub = new Hub(() => {});
  const subscriber = listener("a");
  subscribersOf(hub).add(subscribed, subscriber);
  hub.publish("resources/updated", { uri });
  expect(subscriber.received.length).toBe(expected ? 1 : 0);
});

describe("subscribers", () => {
  test("are told once of a change that several of their subscriptions cover", () => {
    const hub = new Hub(() => {});
    const subscriber = listener("a");
    for (const uri of ["x:/", "x:/a", "x:/a/", "x:/a/b"]) subscribersOf(hub).add(uri, subscriber);
    hub.publish("resources/updated", { uri: "x:/a/b" });
    expect(subscriber.received).toEqual(["resources/updated"]);
  });

  test("are not told after they are removed; others of the same URI are", () => {
    const hub = new Hub(() => {});
    const [removed, other] = [listener("a"), listener("b")];
    for (const each of [removed, other, removed]) subscribersOf(hub).add("x:a", each);
    subscribersOf(hub).delete("x:a", removed);
    subscribersOf(hub).delete("x:a", removed);
    hub.publish("resources/updated", { uri: "x:a" });
    expect([removed.received, other.received]).toEqual([[], ["resources/updated"]]);
  });

  test("of other resources cost a change nothing, whatever their number", () => {
    const hub = new Hub(() => {});
    let touched = 0;
    const bystander = {
      ...listener("a"),
      get principal() {
        touched += 1;
        return "a";
      },
      wants: () => {
        touched += 1;
        return true;
      },
    };
    for (let count = 0; count < 10_000; count++) subscribersOf(hub).add(`x:/a/${count}`, bystander);
    hub.addListener(bystander);
    const subscriber = listener("b");
    subscribersOf(hub).add("x:/a/b", subscriber);
    const compared = vi.spyOn(String.prototype, "startsWith");
    hub.publish("resources/updated", { uri: "x:/a/b" }, { principal: "b" });
    const comparisons = compared.mock.calls.length;
    compared.mockRestore();
    expect([subscriber.received.length, touched]).toEqual([1, 0]);
    // One for the subscription itself; an accidental hash collision may add another.
    expect(comparisons).toBeLessThan(5);
  });
});
