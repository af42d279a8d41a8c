import { expect, test } from "vitest";
import { Flight } from "./flight.ts";

const waiter = () => new AbortController();

test("all who wait hear of one result", async () => {
  let runs = 0;
  const flight = new Flight(async () => {
    runs += 1;
    return "result";
  });
  expect(await Promise.all([flight.join(waiter().signal), flight.join(waiter().signal)])).toEqual(["result", "result"]);
  expect(runs).toBe(1);
});

test("one who leaves takes nothing from the others", async () => {
  let resolve: (value: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  let given: AbortSignal | undefined;
  const flight = new Flight((signal) => {
    given = signal;
    return promise;
  });
  const leaving = waiter();
  const left = flight.join(leaving.signal);
  const stayed = flight.join(waiter().signal);
  leaving.abort(new Error("no time"));
  await expect(left).rejects.toThrow("no time");
  expect(given?.aborted).toBe(false);
  resolve("result");
  expect(await stayed).toBe("result");
});

test("work that nobody waits for any more is given up", async () => {
  let given: AbortSignal | undefined;
  const flight = new Flight((signal) => {
    given = signal;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const both = [waiter(), waiter()];
  const joined = both.map(({ signal }) => flight.join(signal));
  for (const one of both) one.abort(new Error("gone"));
  for (const one of joined) await expect(one).rejects.toThrow("gone");
  expect(given?.aborted).toBe(true);
  await flight.ended;
});

test("who has left before does not wait", async () => {
  const flight = new Flight(async () => "result");
  await expect(flight.join(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});
