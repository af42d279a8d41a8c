import { expect, test } from "vitest";
import type { AsanaFault } from "../../services/asana/fake.ts";
import { call, failureOf } from "../kit/tools.ts";
import { open, startSeeded } from "./kit.ts";

const says = (message: string) => ({ errors: [{ message, help: "For more information, see the documentation" }] });

/** A fault that lasts, what the model is told, and how often the request is sent. */
const lasting: readonly [string, AsanaFault, string, number][] = [
  [
    "a refused token",
    { status: 401, body: says("Not Authorized") },
    "Asana does not accept the sign-in: Not Authorized. Make a new token at https://app.asana.com/0/my-apps and set ASANA_TOKEN to it",
    1,
  ],
  [
    "a missing scope",
    { status: 403, body: says("The app needs the scope tasks:read or projects:read") },
    "The sign-in at Asana lacks the permission tasks:read or projects:read",
    1,
  ],
  ["a forbidden record", { status: 403, body: says("Forbidden") }, "Asana does not allow this to this account", 1],
  ["a plan that lacks it", { status: 402, body: says("Payment Required") }, "Asana does not allow this", 1],
  ["nothing there", { status: 404, body: says("task: Not a recognized ID") }, "Asana has nothing there", 1],
  ["a conflict", { status: 409, body: says("Already there") }, "Asana reports a conflict: Already there", 1],
  ["a mistake", { status: 400, body: says("due_on: Not a valid date") }, "Asana refused the request: due_on: Not", 1],
  [
    "a limit that is long",
    { status: 429, headers: { "retry-after": "30" }, body: says("You have made too many requests recently.") },
    "Asana limits requests: You have made too many requests recently. Try again in 30 s",
    1,
  ],
  ["a limit without a time", { status: 429 }, "Asana limits requests: Fault 429. Try again later", 4],
  ["an outage", { status: 503, body: "<html>" }, "Asana did not answer properly. Try again later", 4],
  ["an error with a phrase", { status: 500, body: says("Server Error") }, "did not answer properly: Server Error", 4],
  ["a cut connection", "cut", "Asana did not answer properly", 4],
  ["a huge answer", "huge", "The response of Asana is larger than 8388608 bytes. Ask for less", 1],
  ["an answer that is not JSON", { status: 200, body: "<html>" }, "Asana's response is not JSON of its API", 1],
  [
    "a redirect to another host",
    { status: 301, headers: { location: "https://elsewhere.example/" } },
    "Asana refused the request",
    1,
  ],
];

test.each(lasting)("%s is explained to the model, without the token", async (_, fault, message, times) => {
  const seeded = await startSeeded();
  seeded.fake.fail(fault, 100);
  const client = await open(seeded);
  expect(await failureOf(client, "list_workspaces")).toContain(message);
  expect(seeded.fake.requests).toHaveLength(times);
  expect(client.transcript.toString()).not.toContain(seeded.token);
});

test.each<AsanaFault>([{ status: 502 }, { status: 429, headers: { "retry-after": "0" } }, "cut"])(
  "a reading request is repeated after %j",
  async (fault) => {
    const seeded = await startSeeded();
    seeded.fake.fail(fault, 3);
    expect(await call(await open(seeded), "list_workspaces")).toMatchObject({ items: [{ name: "Acme" }] });
    expect(seeded.fake.counts).toEqual({ GET: 4 });
  },
);

test.each<AsanaFault>([{ status: 502 }, "cut"])(
  "a change is not repeated after %j, and the model is told to look",
  async (fault) => {
    const seeded = await startSeeded();
    seeded.fake.fail(fault, 3, ({ method }) => method === "POST");
    const client = await open(seeded, { ask: false });
    const failure = await failureOf(client, "add_comment", { task: seeded.task.gid, text: "Once" });
    expect(failure).toContain("The change may have been made: look before you try again");
    expect(seeded.fake.counts["POST"]).toBe(1);
  },
);

test("a silent service ends the call after the timeout", async () => {
  const seeded = await startSeeded();
  seeded.fake.fail("silence", 100);
  const client = await open(seeded, { limits: { timeoutMs: 50, maxRetries: 1 } });
  expect(await failureOf(client, "list_workspaces")).toContain("expected the whole response within 50 ms");
  expect(seeded.fake.requests).toHaveLength(2);
});

test("without a token every call says how to get one, and nothing is sent", async () => {
  const seeded = await startSeeded();
  const client = await open(seeded, { account: undefined } as never);
  expect(await failureOf(client, "list_workspaces")).toContain("set ASANA_TOKEN to it, and start the server again");
  await expect(client.readResource("asana://workspaces")).rejects.toThrow(/Not signed in at Asana/);
  expect(seeded.fake.requests).toEqual([]);
});
