// @ts-check
// A model that always plays the same plan, where a program would use a language model.

const trip = { origin: "NYC", destination: "Barcelona", date: "2024-06-15" };
const stay = { city: "Barcelona", checkIn: "2024-06-15", checkOut: "2024-06-22", budget: 3000, travelers: 2 };
const booking = { ...stay, flights: ["PT411", "PT141"] };
const event = { title: "Barcelona Trip", startDate: "2024-06-15", endDate: "2024-06-22" };
const mail = { to: "team@work.com", subject: "Out of Office", body: "I am in Barcelona from June 15 to June 22." };

/** @typedef {{ say?: string, call?: [name: string, input: { [name: string]: unknown }] }} Turn */

/**
 * The plan: each turn follows from words in the last message.
 * @type {[words: RegExp, turn: Turn | ((last: string) => Turn)][]}
 */
const plan = [
  [/Analyze these flight options/, { say: "PT411: leaves in the morning, direct\nPT413: direct, in the evening" }],
  [/Added to the calendar/, { call: ["calendar__sendEmail", mail] }],
  [
    /Written to the outbox/,
    { say: "Your trip to Barcelona is booked and in your calendar. The mail to your team is in the outbox." },
  ],
  [/Booked as/, { call: ["calendar__createCalendarEvent", event] }],
  [
    // A client without forms gets a code first; the user approves the second call.
    /Nothing is booked yet/,
    (last) => ({
      call: ["travel__bookHotel", { ...booking, confirmation: /and confirmation ([\w-]+)/.exec(last)?.[1] }],
    }),
  ],
  [/1\. PT\d+/, { call: ["travel__bookHotel", booking] }],
  [
    /Barcelona, 2024-06-15: /,
    { call: ["travel__findBestFlight", { ...trip, preferences: "morning departure, max 1 layover" }] },
  ],
  [/and 37 more/, { call: ["weather__checkWeather", { city: "Barcelona", dates: "2024-06-15/2024-06-22" }] }],
  [/Plan a vacation/, { call: ["travel__searchFlights", trip] }],
];

/** Creates the model. @returns {import("portolan-host/models").Model} */
export function createPlanner() {
  let calls = 0;
  return {
    id: "script",
    capabilities: { tools: true, images: false, contextTokens: 100_000 },
    async *stream({ messages }) {
      // The attached resources follow the prompt, so the first turn looks at all messages.
      const last = textOf(messages.length <= 2 ? messages : messages.slice(-1));
      const [, turn] = plan.find(([words]) => words.test(last)) ?? [];
      const { say, call } = typeof turn === "function" ? turn(last) : (turn ?? { say: "The script has no answer." });
      if (say !== undefined) yield { type: "text", delta: say };
      if (call) {
        calls += 1;
        yield { type: "tool", id: `call-${calls}`, name: call[0], input: call[1] };
      }
      const usage = { inputTokens: Math.ceil(last.length / 4), outputTokens: 20 };
      yield { type: "end", stopReason: call ? "toolUse" : "endTurn", usage, model: "script" };
    },
  };
}

/** Returns all texts of messages. @param {unknown} value @returns {string} */
function textOf(value) {
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  if (typeof value !== "object" || value === null) return "";
  const { text, content } = /** @type {{ text?: unknown, content?: unknown }} */ (value);
  return `${typeof text === "string" ? text : ""}${textOf(content)}`;
}
