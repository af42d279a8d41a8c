import type { JsonObject, RpcRequest } from "portolan";
import { describe, expect, test } from "vitest";
import { connectMemory, type RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";
import { revisions } from "../kit/revisions.ts";
import { accept, asked, askingRevisions, decline, ends, pathTo, say, start } from "./example.ts";

const startTravel = (options: RawPeerOptions): Promise<RawPeer> => start("examples/travel/server.mjs", options);

/** What a tool said, from the text that every revision has. */
const toValue = (result: { content: { text: string }[] }): unknown => JSON.parse(result.content[0]!.text);

describe.each(ends)("travel on %s", (revision) => {
  test("tools, cities and prompts are listed", async () => {
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

  test("the forecast and the calculator answer, and say what is wrong with an argument", async () => {
    const peer = await startTravel({ revision });
    const forecast = await peer.callTool("forecast", { city: "Oslo" });
    expect(toValue(forecast.result)).toEqual({ sky: "snow", celsius: -3 });
    const product = await peer.callTool("calculate", { left: 6, operator: "*", right: 7 });
    expect(toValue(product.result)).toEqual({ result: 42 });
    const division = await peer.callTool("calculate", { left: 6, operator: "/", right: 0 });
    expect(division.result).toMatchObject({ isError: true, content: [{ text: "Nothing can be divided by 0" }] });
    const unknown = await peer.callTool("forecast", { city: "Atlantis" });
    expect(unknown.result.isError).toBe(true);
    expect(unknown.result.content[0].text).toContain("city");
  });

  test("a city is read, completed in the template, and completed in the prompt", async () => {
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

  test("a client that cannot ask the user is refused a booking", async () => {
    const peer = await startTravel({ revision });
    const { error } = await peer.callTool("book_flight", { id: "PT-101" });
    expect(error?.code).toBe(revision === "2024-11-05" ? -32602 : -32021);
  });
});

test("the newest revision gets typed values beside the text, the oldest gets the text alone", async () => {
  const [oldest, newest] = await Promise.all(ends.map((revision) => startTravel({ revision })));
  const before = await oldest!.callTool("forecast", { city: "Lisbon" });
  const after = await newest!.callTool("forecast", { city: "Lisbon" });
  expect(before.result).not.toHaveProperty("structuredContent");
  expect(after.result.structuredContent).toEqual({ sky: "sunny", celsius: 24 });
});

describe.each(revisions)("travel on %s", (revision) => {
  const capabilities = { sampling: {} };

  test("the model chooses a flight, and progress is told on the way", async () => {
    const peer = await startTravel({ revision, capabilities, answer: say("I would take PT-103.") });
    const args = { from: "Oslo", to: "Lisbon", wish: "late" };
    const { result } = await peer.callTool("choose_flight", args, { _meta: { progressToken: "t" } });
    expect(toValue(result)).toEqual({ id: "PT-103", from: "Oslo", to: "Lisbon", departs: "19:30", price: 119 });
    expect(JSON.stringify(asked(peer.questions))).toContain("late");
    const told = peer.notifications.filter(({ method }) => method === "notifications/progress");
    expect(told[0]?.params).toMatchObject({ progressToken: "t", progress: 1, total: 3 });
  });

  test("a model that names no flight is an error the caller can read", async () => {
    const peer = await startTravel({ revision, capabilities, answer: say("Take the train.") });
    const { result } = await peer.callTool("choose_flight", { from: "Oslo", to: "Lisbon", wish: "late" });
    expect(result).toMatchObject({ isError: true, content: [{ text: "The model named none of the flights" }] });
  });
});

describe.each(askingRevisions)("travel on %s", (revision) => {
  const capabilities = { elicitation: {} };
  const passenger = { name: "Ada", seat: "aisle" };

  test("a booking asks for the passenger and the reminder, and charges once", async () => {
    const peer = await startTravel({ revision, capabilities, answer: accept(passenger) });
    for (const booking of ["booking-1", "booking-2"]) {
      const { result } = await peer.callTool("book_flight", { id: "PT-101" });
      expect(result.structuredContent).toEqual({ booking, ...passenger, reminder: true });
    }
    expect(asked(peer.questions).slice(0, 2)).toEqual([
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

  test("no reminder is a booking too", async () => {
    const isAboutReminder = (question: RpcRequest) => String(question.params?.["message"]).startsWith("Paid");
    const answer = (question: RpcRequest): JsonObject => (isAboutReminder(question) ? decline() : accept(passenger)());
    const peer = await startTravel({ revision, capabilities, answer });
    const { result } = await peer.callTool("book_flight", { id: "PT-201" });
    expect(result.structuredContent).toEqual({ booking: "booking-1", ...passenger, reminder: false });
  });

  test("a user who declines is charged nothing", async () => {
    const answers = [decline(), accept(passenger)(), accept({})()];
    const peer = await startTravel({ revision, capabilities, answer: () => answers.shift() ?? {} });
    const declined = await peer.callTool("book_flight", { id: "PT-101" });
    expect(declined.result).toMatchObject({ isError: true, content: [{ text: "Nothing was booked." }] });
    const booked = await peer.callTool("book_flight", { id: "PT-101" });
    expect(booked.result.structuredContent.booking).toBe("booking-1");
  });

  test("an answer that does not fit the form books nothing", async () => {
    const answers = [accept({ name: "", seat: "roof" })(), accept(passenger)(), accept({})()];
    const peer = await startTravel({ revision, capabilities, answer: () => answers.shift() ?? {} });
    const refused = await peer.callTool("book_flight", { id: "PT-101" });
    expect(refused.error?.code).toBe(-32602);
    const booked = await peer.callTool("book_flight", { id: "PT-101" });
    expect(booked.result.structuredContent.booking).toBe("booking-1");
  });
});

test("the server is a value: it is served in memory as well", async () => {
  const { default: travel } = await import(pathTo("examples/travel/server.mjs"));
  const peer = await connectMemory(travel, { revision: "2026-07-28" });
  const { result } = await peer.callTool("forecast", { city: "London" });
  expect(result.structuredContent).toEqual({ sky: "rain", celsius: 14 });
  await peer.close();
});
