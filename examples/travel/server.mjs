// @ts-check
// A server for weather, arithmetic and flights, with typed results and questions to the user and the model.
// Run: node examples/travel/server.mjs
import { fileURLToPath } from "node:url";
import { createServer, form, ToolError } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";

const cities = new Map([
  ["Lisbon", { sky: "sunny", celsius: 24, advice: "Take tram 28 early in the morning." }],
  ["London", { sky: "rain", celsius: 14, advice: "Most museums cost nothing." }],
  ["Oslo", { sky: "snow", celsius: -3, advice: "Ferries to the islands leave from pier 4." }],
]);
const flights = [
  { id: "PT-101", from: "Oslo", to: "Lisbon", departs: "06:10", price: 89 },
  { id: "PT-102", from: "Oslo", to: "Lisbon", departs: "11:45", price: 149 },
  { id: "PT-103", from: "Oslo", to: "Lisbon", departs: "19:30", price: 119 },
  { id: "PT-201", from: "Lisbon", to: "London", departs: "08:20", price: 74 },
];
const cityNames = [...cities.keys()];
const city = z.enum(cityNames);
const flight = z.object({ id: z.string(), from: city, to: city, departs: z.string(), price: z.number() });
const passenger = form(
  z.object({ name: z.string().min(1).describe("As in the passport"), seat: z.enum(["window", "aisle"]) }),
);
let bookings = 0;

const server = createServer({ name: "travel", version: "1.0.0" }, { instructions: "All prices are in euros." })
  .tool("forecast", {
    description: "Returns the weather in a city",
    input: z.object({ city }),
    output: z.object({ sky: z.string(), celsius: z.number() }),
    annotations: { readOnlyHint: true },
    run: ({ city }) => cities.get(city),
  })
  .tool("calculate", {
    description: "Adds, subtracts, multiplies or divides two numbers",
    input: z.object({ left: z.number(), operator: z.enum(["+", "-", "*", "/"]), right: z.number() }),
    output: z.object({ result: z.number() }),
    annotations: { readOnlyHint: true },
    run({ left, operator, right }) {
      if (operator === "/" && right === 0) throw new ToolError("Cannot divide by 0");
      return { result: { "+": left + right, "-": left - right, "*": left * right, "/": left / right }[operator] };
    },
  })
  .tool("choose_flight", {
    description: "Finds flights and lets the model choose the one that fits the traveller's wish",
    input: z.object({ from: city, to: city, wish: z.string() }),
    output: flight,
    annotations: { readOnlyHint: true },
    async run({ from, to, wish }, ctx) {
      const found = flights.filter((flight) => flight.from === from && flight.to === to);
      for (const [index, { id }] of found.entries()) ctx.progress(index + 1, found.length, `Found ${id}`);
      const text = `Which flight fits the wish "${wish}"? Answer with its id.\n${JSON.stringify(found)}`;
      const answer = await ctx.sample("choice", {
        messages: [{ role: "user", content: { type: "text", text } }],
        maxTokens: 20,
      });
      const [reply] = [answer.content].flat();
      const chosen = found.find(({ id }) => reply?.type === "text" && reply.text.includes(id));
      if (!chosen) throw new ToolError("The model named none of the flights");
      return chosen;
    },
  })
  .tool("book_flight", {
    description: "Books a flight for the passenger that the user names, and charges for it once",
    input: z.object({ id: z.string() }),
    output: z.object({ booking: z.string(), name: z.string(), seat: z.string(), reminder: z.boolean() }),
    needs: { elicitation: { form: {} } },
    async run({ id }, ctx) {
      const flight = flights.find((flight) => flight.id === id);
      if (!flight) throw new ToolError(`There is no flight ${id}; choose_flight finds one`);
      const message = `Book ${id} to ${flight.to} for ${flight.price} euros?`;
      const answer = await ctx.elicit("passenger", { message, form: passenger });
      if (answer.action !== "accept") return ctx.cancelled("Nothing was booked.");
      // Each answer may run this function again from the top, so `once` makes sure the charge happens once.
      const booking = await ctx.once("charge", () => `booking-${++bookings}`);
      const reminder = await ctx.confirm("reminder", `Paid as ${booking}. Remind you the day before?`);
      return { booking, ...answer.content, reminder };
    },
  })
  .template("travel://cities/{city}", {
    name: "city",
    mimeType: "text/markdown",
    list: () => cityNames.map((name) => ({ uri: `travel://cities/${name}`, name })),
    complete: { city: cityNames },
    read: ({ city }) => cities.get(String(city))?.advice,
  })
  .prompt("plan_trip", {
    description: "Plans a few days in a city",
    arguments: { city: { required: true, complete: cityNames }, days: { complete: ["1", "3", "7"] } },
    get: ({ city, days = "3" }) => `Plan ${days} days in ${city}. Read travel://cities/${city} and get the forecast.`,
  });

export default server;
if (process.argv[1] === fileURLToPath(import.meta.url)) serveStdio(server);
