import { connectInMemory, type ScriptedAnswer, scriptedAnswers, type TestClient } from "portolan/testing";
import { createTravel } from "portolan-travel";
import { describe, expect, onTestFinished, test } from "vitest";
import { between, revisions } from "../../kit/revisions.ts";
import { failureOf } from "../kit/tools.ts";

const stay = { city: "Barcelona", checkIn: "2024-06-15", checkOut: "2024-06-22", budget: 3000, travelers: 2 };
const trip = { origin: "NYC", destination: "Barcelona", date: "2024-06-15" };

async function open(options: NonNullable<Parameters<typeof connectInMemory>[1]> = {}): Promise<TestClient> {
  const client = await connectInMemory(createTravel({ stepMs: 0 }), options);
  onTestFinished(() => client.close());
  return client as TestClient;
}

// biome-ignore lint/suspicious/noExplicitAny: tests only compare it
type Data = any;

async function call(client: TestClient, tool: string, args: object): Promise<Data> {
  const result: Data = await client.callTool(tool as never, args as never);
  return { ...result, text: result.content[0].text };
}

async function bookings(client: TestClient): Promise<Data[]> {
  const { contents } = await client.readResource("travel://itinerary");
  return JSON.parse((contents[0] as Data).text).bookings;
}

describe.each(revisions)("on %s", (revision) => {
  test("finds flights by city names, city codes and airport codes", async () => {
    const client = await open({ revision });
    const { text } = await call(client, "searchFlights", trip);
    expect(text).toMatch(/^PT41\d+ New York to Barcelona, 2024-06-15 \d\d:\d\d from (JFK|LGA|EWR), /);
    const codes = { origin: "jfk", destination: "BCN", date: "2024-06-15" };
    expect((await call(client, "searchFlights", codes)).text).toBe(text);
  });

  test("a client without forms books in two calls", async () => {
    const client = await open({ revision });
    const { text } = await call(client, "bookHotel", stay);
    expect(text).toMatch(/^Nothing is booked yet\. Ask the user to confirm .*Hotel Barcelona/);
    expect(await bookings(client)).toEqual([]);
    const confirmation = /confirmation (\S+)\.$/.exec(text)?.[1];
    const other = { ...stay, checkOut: "2024-06-23", confirmation };
    expect(await failureOf(client, "bookHotel", other)).toContain("for another offer");
    expect((await call(client, "bookHotel", { ...stay, confirmation })).text).toMatch(/^Booked as BK-0001: /);
    expect(await failureOf(client, "bookHotel", { ...stay, confirmation })).toContain("was used");
    expect(await bookings(client)).toMatchObject([{ code: "BK-0001", start: "2024-06-15", end: "2024-06-22" }]);
  });

  test("without sampling the three cheapest flights are the best", async () => {
    const { text } = await call(await open({ revision }), "findBestFlight", { ...trip, preferences: "morning" });
    expect(text.match(/^\d\. PT41/gm)).toHaveLength(3);
    expect(text).toContain("the client does not support sampling");
  });

  test("completes cities and airports", async () => {
    const client = await open({ revision });
    const ref = { type: "ref/resource", uri: "travel://flights/{origin}/{destination}" } as const;
    const complete = async (name: string, value: string) => (await client.complete(ref, { name, value })).values;
    expect(await complete("destination", "Bar")).toEqual(["Barcelona (BCN)", "Barbados (BGI)"]);
    expect(await complete("origin", "Par")).toEqual([...["Paris (PAR)", "CDG - Charles de Gaulle", "ORY - Orly"]]);
    expect(await complete("origin", "JFK")).toEqual(["JFK - John F. Kennedy International"]);
    expect(await complete("origin", "nyc")).toEqual([
      "New York (NYC)",
      "JFK - John F. Kennedy International",
      "LGA - LaGuardia",
      "EWR - Newark Liberty International",
    ]);
    const uri = `travel://flights/${encodeURIComponent("JFK - John F. Kennedy International")}/BCN`;
    expect(JSON.stringify(await client.readResource(uri))).toContain("PT411");
  });
});

describe.each(between("2025-06-18", "2026-07-28"))("with forms, on %s", (revision) => {
  test("asks for seat, room and insurance, and books once", async () => {
    const content = { confirmBooking: true, seatPreference: "aisle", roomType: "sea view", travelInsurance: true };
    const answers = scriptedAnswers({ action: "accept", content } as ScriptedAnswer);
    const client = await open({ revision, answers });
    const { structuredContent } = await call(client, "bookHotel", { ...stay, flights: ["PT411", "PT141"] });
    const [{ params }] = answers.asked as Data;
    expect(params.message).toMatch(/^Please confirm your Barcelona vacation booking details: /);
    const { confirmBooking, travelInsurance, ...choices } = params.requestedSchema.properties;
    expect(Object.keys(choices)).toEqual(["seatPreference", "roomType"]);
    expect(travelInsurance.description).toBe("Add travel insurance ($150)");
    const offered = Number(/Flights \+ Hotel = \$([\d,]+)/.exec(confirmBooking.description)?.[1]?.replace(",", ""));
    expect(structuredContent).toMatchObject({ status: "booked", price: offered + 150 });
    expect(structuredContent.title).toContain("(seat: aisle, room: sea view, travel insurance)");
    expect(await bookings(client)).toHaveLength(1);
  });

  test.each([{ action: "decline" }, { action: "cancel" }, { action: "accept", content: { confirmBooking: false } }])(
    "books nothing after the answer %j",
    async (answer) => {
      const client = await open({ revision, answers: scriptedAnswers(answer as ScriptedAnswer) });
      expect(await failureOf(client, "bookFlight", { flight: "PT411", date: "2024-06-15" })).toContain(
        "nothing was booked",
      );
      expect(await bookings(client)).toEqual([]);
    },
  );
});

test.each([
  ["searchFlights", { ...trip, origin: "Atlantis" }, "origin: expected one of Barcelona"],
  ["searchFlights", { ...trip, origin: "BCN" }, "the same city"],
  ["bookFlight", { flight: "PT4148", date: "2024-06-15" }, "No flight"],
  ["bookFlight", { flight: "PT441", date: "2024-06-15" }, "No flight"],
  ["bookHotel", { ...stay, checkOut: "2024-06-15" }, "checkOut: expected a day after 2024-06-15"],
  ["bookHotel", { ...stay, budget: 10 }, "Nothing for 10 dollars; the cheapest costs"],
  ["bookHotel", { ...stay, checkIn: "2024-02-30" }, "checkIn"],
])("%s explains what is wrong with %j", async (tool, args, reason) => {
  const client = await open();
  const said = await failureOf(client, tool, args);
  expect(said).toContain(reason);
});

test("a model that names no flight gets the cheapest", async () => {
  const says = { role: "assistant", model: "tiny", content: { type: "text", text: "PT999 is nice" } };
  const client = await open({ answers: scriptedAnswers(says as ScriptedAnswer) });
  const { structuredContent } = await call(client, "findBestFlight", { ...trip, preferences: "morning" });
  expect(structuredContent).toMatchObject({ chosenBy: "price", compared: 47 });
});
