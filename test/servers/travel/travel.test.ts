import { connectInMemory, type ScriptedAnswer, scriptedAnswers, type TestClient } from "portolan/testing";
import { createTravel } from "portolan-travel";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../http/kit.ts";
import { StatelessPeer } from "../../http/peer.ts";
import { between, isStateless, revisions } from "../../kit/revisions.ts";

const now = Date.parse("2026-11-15T10:00:00Z");
const ada = { name: "Ada Lovelace", email: "ada@example.com", born: "1990-12-10", seat: "aisle", bags: 1 };
const journey = { from: "Oslo", to: "Lisbon", date: "2026-12-01" };
const flight = { flight: "PT521", date: "2026-12-01" };
const accept = (content: object = ada) => ({ action: "accept", content }) as ScriptedAnswer;
const says = (text: string) =>
  ({ role: "assistant", model: "tiny", content: { type: "text", text } }) as ScriptedAnswer;

type Options = NonNullable<Parameters<typeof connectInMemory>[1]>;

async function open(options: Options = {}, server = createTravel({ now: () => now, stepMs: 0 })): Promise<TestClient> {
  const client = await connectInMemory(server, options);
  onTestFinished(() => client.close());
  return client as TestClient;
}

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
type Data = any;

/** Returns the structured content, or the text on revisions without it. */
async function call(client: TestClient, tool: string, args: object, options = {}): Promise<Data> {
  return client.callTool(tool as never, args as never, options);
}

const textOf = ({ content }: Data): string => content[0].text;

async function eventsOf(client: TestClient): Promise<Data[]> {
  const { contents } = await client.readResource("travel://calendar");
  return JSON.parse((contents[0] as Data).text).events;
}

const bookedIn = async (client: TestClient) => (await eventsOf(client)).filter(({ kind }) => kind === "booking");

describe.each(revisions)("on %s", (revision) => {
  test("finds flights, cheapest first, within a budget", async () => {
    const client = await open({ revision });
    const found = await call(client, "search-flights", journey);
    const lines = textOf(found).split("\n");
    expect(lines).toHaveLength(11);
    expect(lines.pop()).toBe("and 37 more");
    const prices = lines.map((line) => Number(/: (\d+) dollars/.exec(line)?.[1]));
    expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    const limited = await call(client, "search-flights", { ...journey, maxPrice: prices[0] });
    expect(textOf(limited).split("\n")[0]).toBe(lines[0]);
    const none = await call(client, "search-flights", { ...journey, maxPrice: 1 });
    expect(none.isError).toBe(true);
    expect(textOf(none)).toContain(`the cheapest costs ${prices[0]}`);
  });

  test("offers weather, flights and the calendar as resources", async () => {
    const client = await open({ revision });
    const weather = (await client.readResource("travel://weather/New%20York/2026-12-24")).contents[0] as Data;
    expect(JSON.parse(weather.text)).toMatchObject({ city: "New York", date: "2026-12-24" });
    const flights = (await client.readResource("travel://flights/Oslo/Lisbon/2026-12-01")).contents[0] as Data;
    expect(JSON.parse(flights.text).flights).toHaveLength(47);
    expect((await eventsOf(client)).map(({ title }) => title)).toContain("Christmas");
    await expect(client.readResource("travel://weather/Atlantis/2026-12-24")).rejects.toThrow();
    await expect(client.readResource("travel://weather/Oslo/..%2F..%2Fetc")).rejects.toThrow();
  });

  test("completes cities and dates", async () => {
    const client = await open({ revision });
    const ref = { type: "ref/resource", uri: "travel://flights/{from}/{to}/{date}" } as const;
    expect((await client.complete(ref, { name: "from", value: "l" })).values).toEqual(["Lisbon", "London"]);
    expect((await client.complete(ref, { name: "date", value: "2026-12-3" })).values).toEqual([
      "2026-12-30",
      "2026-12-31",
    ]);
    const prompt = { type: "ref/prompt", name: "plan-vacation" } as const;
    expect((await client.complete(prompt, { name: "destination", value: "Re" })).values).toEqual(["Reykjavik"]);
  });

  test("the prompt contains all arguments", async () => {
    const client = await open({ revision });
    const dates = { departure_date: "2024-06-15", return_date: "2024-06-22" };
    const args = { destination: "barcelona", ...dates, budget: "3000", travelers: "2" };
    const { messages } = await client.getPrompt("plan-vacation", args);
    expect((messages[0] as Data).content.text).toMatch(
      /^Plan a vacation in Barcelona for 2 travelers from NYC\. I leave on 2024-06-15 and return on 2024-06-22\. The budget is 3000 dollars\./,
    );
    const short = { destination: "Lisbon", duration: "7", interests: "beaches, food" };
    const text = ((await client.getPrompt("plan-vacation", short)).messages[0] as Data).content.text;
    expect(text).toMatch(
      /free in my calendar; if they are, I leave on 2026-12-15 and return on 2026-12-22\. Compare prices\. I like beaches, food\./,
    );
    const home = (
      (await client.getPrompt("plan-vacation", { destination: "NYC", departure_date: "2027-03-01", duration: "3" }))
        .messages[0] as Data
    ).content.text;
    expect(home).toMatch(/in New York for 1 traveler from LON\. I leave on 2027-03-01 and return on 2027-03-04\./);
    await expect(client.getPrompt("plan-vacation", { destination: "Atlantis" })).rejects.toMatchObject({
      code: -32602,
    });
  });

  test("the model chooses a flight, or the result explains why the cheapest was taken", async () => {
    const answers = scriptedAnswers(says("PT523."), says("whatever you like"), says("PT521 or PT522"));
    const client = await open({ revision, answers });
    const wish = { ...journey, wish: "late in the day" };
    expect(textOf(await call(client, "choose-flight", wish))).toMatch(/^PT523 .*\nThe model chose it/);
    expect(textOf(await call(client, "choose-flight", wish))).toContain("the model did not choose one");
    expect(textOf(await call(client, "choose-flight", wish))).toContain("the model did not choose one");
    answers.done();
    const mute = await open({ revision });
    expect(textOf(await call(mute, "choose-flight", wish))).toContain("does not support sampling");
  });

  test("the cheapest flight is taken if the user declines sampling, or the client ends the call", async () => {
    const refuse = () => {
      throw new Error("the user said no");
    };
    const client = await open({ revision, answers: { sample: refuse }, onError: () => {} });
    const chosen = call(client, "choose-flight", { ...journey, wish: "late in the day" });
    if (isStateless(revision)) await expect(chosen).rejects.toThrow("the user said no");
    else expect(textOf(await chosen)).toContain("The cheapest was taken: the client refused to ask the model");
  });

  test("a client without forms books in two calls, with a code for one booking of one flight", async () => {
    const client = await open({ revision });
    const offered = textOf(await call(client, "book", flight));
    expect(offered).toContain("Nothing is booked yet");
    const confirmation = /confirmation (\S+)\.$/.exec(offered)?.[1];
    expect(await bookedIn(client)).toEqual([]);
    const other = await call(client, "book", { ...flight, flight: "PT522", confirmation, passenger: ada });
    expect(textOf(other)).toContain("for another flight");
    const young = await call(client, "book", { ...flight, confirmation, passenger: { ...ada, born: "2020-01-01" } });
    expect(textOf(young)).toContain("at least 16 years old");
    expect(textOf(await call(client, "book", { ...flight, confirmation }))).toContain("expected the passenger");
    const booked = await call(client, "book", { ...flight, confirmation, passenger: ada });
    expect(textOf(booked)).toMatch(/^Booked as BK-0001 for Ada Lovelace/);
    expect((await call(client, "book", { ...flight, confirmation, passenger: ada })).isError).toBe(true);
    expect(await bookedIn(client)).toHaveLength(1);
  });
});

describe.each(between("2025-06-18", "2026-07-28"))("with forms, on %s", (revision) => {
  test("books after a form, charges once, and reports progress", async () => {
    const answers = scriptedAnswers(accept());
    const client = await open({ revision, answers });
    const steps: string[] = [];
    const result = await call(client, "book", flight, { onProgress: ({ message }: Data) => steps.push(message) });
    expect(result.structuredContent).toMatchObject({ status: "booked", booking: "BK-0001", passenger: "Ada Lovelace" });
    expect(steps).toEqual(["Holding a seat", "Charging", "Issuing the ticket"]);
    expect(answers.asked).toMatchObject([{ params: { message: expect.stringContaining("PT521 Oslo to Lisbon") } }]);
    expect(await bookedIn(client)).toMatchObject([{ date: "2026-12-01" }]);
  });

  test("books nothing if the user declines or closes the form", async () => {
    const client = await open({ revision, answers: scriptedAnswers({ action: "decline" }, { action: "cancel" }) });
    expect(await call(client, "book", flight)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("declined") }],
    });
    expect(textOf(await call(client, "book", flight))).toContain("closed the form");
    expect(await bookedIn(client)).toEqual([]);
  });

  test("asks again for wrong data, with the reason, at most three times", async () => {
    const child = accept({ ...ada, born: "2015-01-01" });
    const answers = scriptedAnswers(child, accept(), child, child, child);
    const client = await open({ revision, answers });
    expect((await call(client, "book", flight)).structuredContent).toMatchObject({ status: "booked" });
    expect(answers.asked[1]).toMatchObject({
      params: { message: expect.stringMatching(/^The passenger must be at least 16/) },
    });
    expect(textOf(await call(client, "book", flight))).toContain("wrong three times");
    expect(await bookedIn(client)).toHaveLength(1);
    answers.done();
  });

  test("a model cannot confirm for a user who can be asked", async () => {
    const server = createTravel({ now: () => now, stepMs: 0 });
    const offered = textOf(await call(await open({ revision }, server), "book", flight));
    const confirmation = /confirmation (\S+)\.$/.exec(offered)?.[1];
    const answers = scriptedAnswers({ action: "decline" });
    const client = await open({ revision, answers }, server);
    expect((await call(client, "book", { ...flight, confirmation, passenger: ada })).isError).toBe(true);
    answers.done();
  });
});

const steps = ["Holding a seat", "Charging", "Issuing the ticket"];

describe.each(revisions)("a slow booking on %s", (revision) => {
  test.each(steps)("can be cancelled during %s, and is not charged", async (step) => {
    let taken = 0;
    const pause = (signal: AbortSignal) => {
      taken += 1;
      if (taken !== steps.indexOf(step) + 1) return Promise.resolve();
      return new Promise<void>((_, reject) => signal.addEventListener("abort", reject));
    };
    const server = createTravel({ now: () => now, pause, maxBookings: 1 });
    const hasForms = revision >= "2025-06-18";
    const client = await open({ revision, ...(hasForms && { answers: { elicit: () => accept() as never } }) }, server);
    const abort = new AbortController();
    const onProgress = ({ progress }: Data) => {
      if (progress === steps.indexOf(step) + 1) abort.abort();
    };
    const input = hasForms ? flight : await confirmedInput(client);
    await expect(call(client, "book", input, { signal: abort.signal, onProgress })).rejects.toThrow();
    expect(await bookedIn(client)).toEqual([]);
    const again = await call(client, "book", hasForms ? flight : await confirmedInput(client));
    expect(textOf(again)).toMatch(/^Booked/);
  });
});

async function confirmedInput(client: TestClient): Promise<object> {
  const confirmation = /confirmation (\S+)\.$/.exec(textOf(await call(client, "book", flight)))?.[1];
  return { ...flight, confirmation, passenger: ada };
}

test("rejects an answer that does not match the form, with its position", async () => {
  const client = await open({ revision: "2026-07-28", capabilities: { elicitation: { form: {} } } });
  const inputResponses = { "passenger-1": { action: "accept", content: { ...ada, seat: "roof" } } };
  await expect(call(client, "book", flight, { autoAnswer: false, inputResponses })).rejects.toThrow(/seat/);
});

test("charges once if the client repeats the last round", async () => {
  const client = await open({ revision: "2026-07-28", capabilities: { elicitation: { form: {} } } });
  const first = await call(client, "book", flight, { autoAnswer: false });
  expect(first.resultType).toBe("input_required");
  const round = {
    autoAnswer: false,
    requestState: first.requestState,
    inputResponses: { "passenger-1": { action: "accept", content: ada } },
  };
  const codes = [await call(client, "book", flight, round), await call(client, "book", flight, round)];
  expect(codes.map(({ structuredContent }) => structuredContent.booking)).toEqual(["BK-0001", "BK-0001"]);
  expect(await bookedIn(client)).toHaveLength(1);
});

test("callers neither see nor get notified about bookings of others", async () => {
  const server = createTravel({ now: () => now, stepMs: 0 });
  const mine = await open({ answers: scriptedAnswers(accept()), serve: { principal: { key: "ada" } } }, server);
  const theirs = await open({ serve: { principal: { key: "bob" } } }, server);
  const watch = await mine.watch({ uris: ["travel://calendar"] });
  const wrong = await theirs.watch({ uris: ["travel://calendar"] });
  await call(mine, "book", flight);
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resource", uri: "travel://calendar" });
    break;
  }
  expect(await bookedIn(mine)).toHaveLength(1);
  expect(await bookedIn(theirs)).toEqual([]);
  expect(theirs.transcript.received("notifications/resources/updated")).toEqual([]);
  await wrong.close();
  const offered = textOf(await call(theirs, "book", flight));
  const confirmation = /confirmation (\S+)\.$/.exec(offered)?.[1];
  const stolen = await open({ serve: { principal: { key: "eve" } } }, server);
  expect((await call(stolen, "book", { ...flight, confirmation, passenger: ada })).isError).toBe(true);
});

test("limits bookings and quotes", async () => {
  let time = now;
  const server = createTravel({ now: () => time, stepMs: 0, maxBookings: 1, maxQuotes: 1, quoteMs: 1_000 });
  const client = await open({ answers: scriptedAnswers(accept()) }, server);
  await call(client, "book", flight);
  expect(textOf(await call(client, "book", flight))).toContain("No more bookings");
  const other = await open({ serve: { principal: { key: "bob" } } }, server);
  const old = await confirmedInput(other);
  const late = await confirmedInput(other);
  expect((await call(other, "book", old)).isError).toBe(true);
  time += 1_001;
  expect(textOf(await call(other, "book", late))).toContain("has expired");
});

test("the quotes and bookings of one caller do not push out those of another", async () => {
  const server = createTravel({ now: () => now, stepMs: 0, maxQuotes: 2, maxCallers: 2 });
  const of = (key: string) => open({ serve: { principal: { key } } }, server);
  const [victim, mallory] = [await of("victim"), await of("mallory")];
  const input = await confirmedInput(victim);
  for (let quote = 0; quote < 10; quote += 1) await call(mallory, "book", await confirmedInput(mallory));
  expect((await call(victim, "book", input)).isError).toBeUndefined();
  const third = await of("third");
  expect(textOf(await call(third, "book", await confirmedInput(third)))).toContain("Too many users");
  expect(await bookedIn(victim)).toHaveLength(1);
});

test("a cancelled attempt takes nothing away from its repetition, which books", async () => {
  const waiting: (() => void)[] = [];
  const pause = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const { url } = await start(createTravel({ now: () => now, pause }));
  const peer = new StatelessPeer(url, { capabilities: { elicitation: { form: {} } } });
  const asked = (await (await peer.call("book", flight)).response()).result as Data;
  const { requestState, inputRequests } = asked;
  const inputResponses = { [Object.keys(inputRequests)[0] ?? ""]: { action: "accept", content: ada } };
  const last = { name: "book", arguments: flight, requestState, inputResponses };
  const abort = new AbortController();
  const first = peer.request("tools/call", last, 1, {}, abort.signal).catch(() => undefined);
  const second = peer.request("tools/call", last, 2);
  // Both hold a seat, are charged, and wait for their ticket.
  for (const steps of [2, 4]) {
    await expect.poll(() => waiting.length).toBe(steps);
    for (const go of waiting.slice(steps - 2)) go();
  }
  await expect.poll(() => waiting.length).toBe(6);
  abort.abort();
  await first;
  await peer.request("ping", {}, 3);
  for (const go of waiting) go();
  const booked = (await (await second).response()).result as Data;
  expect(booked.structuredContent.status).toBe("booked");
  const read = await (await peer.request("resources/read", { uri: "travel://itinerary" }, 4)).response();
  expect(JSON.parse((read.result as Data).contents[0].text).bookings).toHaveLength(1);
});

test("concurrent bookings do not exceed the limit", async () => {
  const server = createTravel({ now: () => now, stepMs: 0, maxBookings: 2 });
  const client = await open({ answers: { elicit: () => accept() as never } }, server);
  const results = await Promise.all([1, 2, 3, 4].map(() => call(client, "book", flight)));
  expect(results.filter(({ isError }) => isError)).toHaveLength(2);
  expect(await bookedIn(client)).toHaveLength(2);
});

test("tools that read do not change the calendar", async () => {
  const client = await open({ answers: scriptedAnswers(says("PT521"), says("PT521")) });
  const before = await eventsOf(client);
  const inputs: { [tool: string]: object } = {
    forecast: { city: "Oslo", date: "2026-12-01" },
    "search-flights": journey,
    "choose-flight": { ...journey, wish: "early" },
    searchFlights: { origin: "Oslo", destination: "Lisbon", date: "2026-12-01" },
    findBestFlight: { origin: "Oslo", destination: "Lisbon", date: "2026-12-01", preferences: "early" },
  };
  const looking = (await client.listTools()).filter(({ annotations }) => annotations?.readOnlyHint);
  expect(looking.map(({ name }) => name).sort()).toEqual(Object.keys(inputs).sort());
  for (const { name } of looking) expect((await call(client, name, inputs[name]!)).isError, name).toBeUndefined();
  expect(await eventsOf(client)).toEqual(before);
});

test("rejects days that are past, too far ahead or invalid, with the allowed range", async () => {
  const client = await open();
  for (const date of ["2026-11-14", "2027-11-16", "2026-02-30"]) {
    expect(textOf(await call(client, "forecast", { city: "Oslo", date }))).toContain(
      "expected a day from 2026-11-15 to 2027-11-15",
    );
  }
  expect(textOf(await call(client, "forecast", { city: "Atlantis", date: "2026-12-01" }))).toContain(
    "expected one of Barcelona",
  );
  expect(textOf(await call(client, "search-flights", { ...journey, to: "oslo" }))).toContain("the same city");
});

test("does not suggest the destination as the start", async () => {
  const client = await open();
  const ref = { type: "ref/resource", uri: "travel://flights/{from}/{to}/{date}" } as const;
  const { values } = await client.complete(ref, { name: "to", value: "l" }, { known: { from: "London" } });
  expect(values).toEqual(["Lisbon"]);
});
