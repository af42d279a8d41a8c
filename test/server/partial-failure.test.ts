// One failing part of a server leaves its neighbours alone.
import { createServer } from "portolan/server";
import { expect, test, vi } from "vitest";
import { connect, eras, info, names, stateful } from "./peers.ts";

const broken = () => {
  throw new Error("the disk is gone");
};

test.each(eras)(
  "a template that cannot list its resources does not hide those of the others ($revision)",
  async (era) => {
    const errors: Error[] = [];
    const server = createServer(info, { onError: (error) => errors.push(error as Error) })
      .resource("x:fixed", { read: () => "" })
      .template("x:a/{id}", { list: broken, read: () => "" })
      .template("x:b/{id}", { list: () => [{ uri: "x:b/1", name: "one" }], read: () => "" });
    expect(await names(await connect(server, era), "resources/list", "resources")).toEqual(["x:b/1", "x:fixed"]);
    expect(errors.map(({ message }) => message)).toEqual(["the disk is gone"]);
  },
);

test.each(eras)("a list that fails as a whole is an error and not an empty list ($revision)", async (era) => {
  const errors: Error[] = [];
  const onError = (error: unknown) => errors.push(error as Error);
  const server = createServer(info, { onError }).template("x:a/{id}", { list: broken, read: () => "" });
  const { error } = await (await connect(server, era)).request("resources/list");
  expect(error?.code).toBe(-32603);
  expect(errors).toHaveLength(1);
});

test("a notification handler that throws does not keep those of extensions from running", async () => {
  const received: string[] = [];
  const errors: Error[] = [];
  const method = "notifications/roots/list_changed";
  const id = "com.example/x";
  const server = createServer(info, { onError: (error) => errors.push(error as Error) })
    .notification(method, broken)
    .extend({ id, on: () => ({ notifications: { [method]: () => received.push("extension") } }) });
  const peer = await connect(server, { ...stateful, capabilities: { roots: {}, extensions: { [id]: {} } } });
  peer.notify(method);
  // The part that calls these handlers is loaded with the first notification.
  await vi.waitFor(() => expect(received).toEqual(["extension"]));
  expect(errors.map(({ message }) => message)).toEqual(["the disk is gone"]);
});
