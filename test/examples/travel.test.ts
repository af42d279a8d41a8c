import type { JsonObject, RpcRequest } from "portolan";
import { describe, expect, test } from "vitest";
import { connectMemory, type RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";
import { revisions } from "../kit/revisions.ts";
import {
  accept,
  askingRevisions,
  decline,
  modelSays,
  oldestAndNewest,
  pathTo,
  questionTexts,
  start,
} from "./example.ts";

const startTravel = (options: RawPeerOptions): Promise<RawPeer> => start("examples/travel/server.mjs", options);

/** Parses the result of a tool from its text, which every revision has. */
const toValue = (result: { content: { text: string }[] }): unknown => JSON.parse(result.content[0]!.text);

describe.each(oldestAndNewest)("the travel server on %s", (revision) => {
  test("lists tools, cities and prompts", async () => {
    const peer = await startTravel({ revision });
    const { result: tools } = await peer.request("tools/list");
    expect(tools.tools.map(({ name }: { name: string }) => name)).toEqual([
      "book_flight",
      "calculate",
      "choose_flight",
      "forecast",
    ]);
    const { result: resources } = await peer.request("resources/list");
    expect(resources.resources[0]).toEqual({
      uri: "travel://cities/Lisbon",
      name: "Lisbon",
      mimeType: "text/markdown",
    });
    const { result: prompts } = await peer.request("prompts/list");
    expect(prompts.prompts).toEqual([
      {
        name: "plan_trip",
        description: "Plans a few days in a city",
        arguments: [{ name: "city", required: true }, { name: "days" }],
      },
    ]);
  });

  test("forecasts and calculates, and explains a wrong argument", async () => {
    const peer = await startTravel({ revision });
    const forecast = await peer.callTool("forecast", { city: "Oslo" });
    expect(toValue(forecast.result)).toEqual({ sky: "snow", celsius: -3 });
    const product = await peer.callTool("calculate", { left: 6, operator: "*", right: 7 });
    expect(toValue(product.result)).toEqual({ result: 42 });
    const division = await peer.callTool("calculate", { left: 6, operator: "/", right: 0 });
    expect(division.result).toMatchObject({ isError: true, content: [{ text: "Cannot divide by 0" }] });
    const unknown = await peer.callTool("forecast", { city: "Atlantis" });
    expect(unknown.result.isError).toBe(true);
    expect(unknown.result.content[0].text).toContain("city");
  });

  test("reads a city, and completes it in the template and the prompt", async () => {
    const peer = await startTravel({ revision });
    const { result: read } = await peer.request("resources/read", { uri: "travel://cities/London" });
    expect(read.contents).toMatchObject([{ mimeType: "text/markdown", text: "Most museums cost nothing." }]);
    const template = { type: "ref/resource", uri: "travel://cities/{city}" };
    const inTemplate = await peer.request("completion/complete", {
      ref: template,
      argument: { name: "city", value: "l" },
    });
    expect(inTemplate.result.completion.values).toEqual(["Lisbon", "London"]);
    const prompt = { type: "ref/prompt", name: "plan_trip" };
    const inPrompt = await peer.request("completion/complete", { ref: prompt, argument: { name: "days", value: "" } });
    expect(inPrompt.result.completion.values).toEqual(["1", "3", "7"]);
    const { result: got } = await peer.request("prompts/get", { name: "plan_trip", arguments: { city: "Oslo" } });
    expect(got.messages[0].content.text).toContain("Plan 3 days in Oslo");
  });

  test("refuses a booking for a client that cannot ask the user", async () => {
    const peer = await startTravel({ revision });
    const { error } = await peer.callTool("book_flight", { id: "PT-101" });
    expect(error?.code).toBe(revision === "2024-11-05" ? -32602 : -32021);
  });
});

test("returns structured content on the newest revision and only text on the oldest", async () => {
  const [oldest, newest] = await Promise.all(oldestAndNewest.map((revision) => startTravel({ revision })));
  const textOnly = await oldest!.callTool("forecast", { city: "Lisbon" });
  const structured = await newest!.callTool("forecast", { city: "Lisbon" });
  expect(textOnly.result).not.toHaveProperty("structuredContent");
  expect(structured.result.structuredContent).toEqual({ sky: "sunny", celsius: 24 });
});

describe.each(revisions)("the travel server on %s", (revision) => {
  const capabilities = { sampling: {} };

  test("lets the model choose a flight, and reports progress", async () => {
    const peer = await startTravel({ revision, capabilities, answer: modelSays("I would take PT-103.") });
    const args = { from: "Oslo", to: "Lisbon", wish: "late" };
    const { result } = await peer.callTool("choose_flight", args, { _meta: { progressToken: "t" } });
    expect(toValue(result)).toEqual({ id: "PT-103", from: "Oslo", to: "Lisbon", departs: "19:30", price: 119 });
    expect(JSON.stringify(questionTexts(peer.questions))).toContain("late");
    const progress = peer.notifications.filter(({ method }) => method === "notifications/progress");
    expect(progress[0]?.params).toMatchObject({ progressToken: "t", progress: 1, total: 3 });
  });

  test("returns a tool error when the model names no flight", async () => {
    const peer = await startTravel({ revision, capabilities, answer: modelSays("Take the train.") });
    const { result } = await peer.callTool("choose_flight", { from: "Oslo", to: "Lisbon", wish: "late" });
    expect(result).toMatchObject({ isError: true, content: [{ text: "The model named none of the flights" }] });
  });
});

describe.each(askingRevisions)("the travel server on %s", (revision) => {
  const capabilities = { elicitation: {} };
  const passenger = { name: "Ada", seat: "aisle" };

  test("asks for the passenger and the reminder, and charges once", async () => {
    const peer = await startTravel({ revision, capabilities, answer: accept(passenger) });
    for (const booking of ["booking-1", "booking-2"]) {
      const { result } = await peer.callTool("book_flight", { id: "PT-101" });
      expect(result.structuredContent).toEqual({ booking, ...passenger, reminder: true });
    }
    expect(questionTexts(peer.questions).slice(0, 2)).toEqual([
      "Book PT-101 to Lisbon for 89 euros?",
      "Paid as booking-1. Remind you the day before?",
    ]);
    expect(peer.questions[0]?.params?.["requestedSchema"]).toEqual({
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, description: "As in the passport" },
        seat: { type: "string", enum: ["window", "aisle"] },
      },
      required: ["name", "seat"],
    });
  });

  test("books without a reminder when the user declines it", async () => {
    const isAboutReminder = (question: RpcRequest) => String(question.params?.["message"]).startsWith("Paid");
    const answer = (question: RpcRequest): JsonObject => (isAboutReminder(question) ? decline() : accept(passenger)());
    const peer = await startTravel({ revision, capabilities, answer });
    const { result } = await peer.callTool("book_flight", { id: "PT-201" });
    expect(result.structuredContent).toEqual({ booking: "booking-1", ...passenger, reminder: false });
  });

  test("charges nothing when the user declines", async () => {
    const answers = [decline(), accept(passenger)(), accept({})()];
    const peer = await startTravel({ revision, capabilities, answer: () => answers.shift() ?? {} });
    const declined = await peer.callTool("book_flight", { id: "PT-101" });
    expect(declined.result).toMatchObject({ isError: true, content: [{ text: "Nothing was booked." }] });
    const booked = await peer.callTool("book_flight", { id: "PT-101" });
    expect(booked.result.structuredContent.booking).toBe("booking-1");
  });

  test("books nothing when the answer does not fit the form", async () => {
    const answers = [accept({ name: "", seat: "roof" })(), accept(passenger)(), accept({})()];
    const peer = await startTravel({ revision, capabilities, answer: () => answers.shift() ?? {} });
    const refused = await peer.callTool("book_flight", { id: "PT-101" });
    expect(refused.error?.code).toBe(-32602);
    const booked = await peer.callTool("book_flight", { id: "PT-101" });
    expect(booked.result.structuredContent.booking).toBe("booking-1");
  });
});

test("the travel server can be imported and served in memory", async () => {
  const { default: travel } = await import(pathTo("examples/travel/server.mjs"));
  const peer = await connectMemory(travel, { revision: "2026-07-28" });
  const { result } = await peer.callTool("forecast", { city: "London" });
  expect(result.structuredContent).toEqual({ sky: "rain", celsius: 14 });
  await peer.close();
});
