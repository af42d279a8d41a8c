import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { grade } from "../../../packages/check/src/index.ts";
import { forOfficialClientsOverBoth } from "../kit/official.ts";
import { connectTo, entryOf, scriptOf, serveHttp } from "../kit/programs.ts";

const script = scriptOf("travel");
const nine = Array.from({ length: 9 }, () => ({}));
const date = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
const passenger = { name: "Ada Lovelace", email: "ada@example.com", born: "1990-12-10", seat: "aisle" };

test("the host configuration in the README works", async () => {
  const client = await connectTo(entryOf("examples/servers/travel.json"));
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...["book", "bookFlight", "bookHotel", "choose-flight"],
    ...["findBestFlight", "forecast", "search-flights", "searchFlights"],
  ]);
  for (const { name, title, description, outputSchema, annotations, inputSchema } of tools) {
    expect([typeof title, typeof description, outputSchema?.["type"]], name).toEqual(["string", "string", "object"]);
    expect(Object.keys(annotations ?? {}), name).toHaveLength(4);
    for (const property of Object.values(inputSchema.properties ?? {})) expect(property).toHaveProperty("description");
  }
});

test("refuses a step duration above the limit", () => {
  const { status, stderr } = spawnSync(process.execPath, [script, "--step-ms", "600001"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("expected at most 600000") });
});

test("books over HTTP, stateless and stateful", async () => {
  const url = await serveHttp(script, ["--step-ms", "0"]);
  for (const era of ["stateful", "stateless"]) {
    const client = await connectTo(url, { era, answers: { elicit: () => ({ action: "accept", content: passenger }) } });
    const result = await client.callTool("book", { flight: "PT521", date });
    expect(result.structuredContent).toMatchObject({ status: "booked", passenger: "Ada Lovelace" });
  }
});

test("conforms to the protocol on every revision", async () => {
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args: [script] });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(isPassed).toBe(true);
});

forOfficialClientsOverBoth(script, "makes the calls of the introduction to the protocol", async (client) => {
  const trip = { origin: "NYC", destination: "Barcelona", date: "2024-06-15" };
  const found = await client.callTool("searchFlights", trip);
  expect(found.structuredContent).toMatchObject({
    total: 47,
    flights: [{ from: "New York", to: "Barcelona" }, ...nine],
  });
  client.answers.sample = () => ({
    role: "assistant",
    model: "tiny",
    content: { type: "text", text: "PT417: morning, direct\nPT411: early" },
  });
  const best = await client.callTool("findBestFlight", { ...trip, preferences: "morning departure, max 1 layover" });
  expect(best.structuredContent).toMatchObject({
    ...{ chosenBy: "model", compared: 47 },
    recommendations: [
      { flight: { id: "PT417" }, why: "morning, direct" },
      { flight: { id: "PT411" }, why: "early" },
    ],
  });
  client.answers.elicit = () => ({ action: "accept", content: { confirmBooking: true, roomType: "sea view" } });
  const stay = { city: "Barcelona", checkIn: "2024-06-15", checkOut: "2024-06-22", budget: 3000, travelers: 2 };
  const booked = await client.callTool("bookHotel", { ...stay, flights: ["PT411", "PT141"] });
  expect(booked.structuredContent).toMatchObject({ status: "booked", title: expect.stringContaining("sea view") });
  for (const uri of [
    "travel://preferences/europe",
    "travel://past-trips/Spain-2023",
    "trips://history/barcelona-2023",
    "travel://activities/barcelona/museums",
    "travel://flights/NYC/Barcelona%20(BCN)",
  ]) {
    const { contents } = await client.readResource(uri);
    expect(JSON.parse(contents[0].text), uri).toBeTypeOf("object");
  }
});

forOfficialClientsOverBoth(script, "plans and books a trip", async (client) => {
  client.answers.elicit = () => ({ action: "accept", content: passenger });
  client.answers.sample = () => ({ role: "assistant", model: "tiny", content: { type: "text", text: "PT523" } });
  const journey = { from: "Oslo", to: "Lisbon", date };
  const chosen = await client.callTool("choose-flight", { ...journey, wish: "late" });
  expect(chosen.structuredContent).toMatchObject({ chosenBy: "model", flight: { id: "PT523" } });
  const seen: number[] = [];
  const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
  const booked = await client.callTool("book", { flight: "PT523", date }, { onProgress });
  expect(booked.structuredContent).toMatchObject({ status: "booked", booking: "BK-0001" });
  expect(seen.slice(-3)).toEqual([1, 2, 3]);
  const { contents } = await client.readResource("travel://calendar");
  expect(contents[0].text).toContain("BK-0001");
  const ref = { type: "ref/prompt", name: "plan-vacation" };
  const { completion } = await client.complete({ ref, argument: { name: "destination", value: "lis" } });
  expect(completion.values).toEqual(["Lisbon"]);
  const { messages } = await client.getPrompt("plan-vacation", { destination: "Lisbon" });
  expect(messages[0].content.text).toContain("Plan a vacation in Lisbon");
});
