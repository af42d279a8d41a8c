// @ts-check
// A model that always plays the same plan, where a program would use a language model.

const trip = { origin: "NYC", destination: "Barcelona", date: "2024-06-15" };
const stay = { city: "Barcelona", checkIn: "2024-06-15", checkOut: "2024-06-22", budget: 3000, travelers: 2 };
const booking = { ...stay, flights: ["PT411", "PT141"] };
const event = { title: "Barcelona Trip", startDate: "2024-06-15", endDate: "2024-06-22" };
const mail = { to: "team@work.com", subject: "Out of Office", body: "I am in Barcelona from June 15 to June 22." };

/** The resources of the story. Where the user has not attached them, the model reads them. */
export const resources = [
  { server: "calendar", uri: "calendar://my-calendar/June-2024" },
  { server: "travel", uri: "travel://preferences/europe" },
  { server: "travel", uri: "travel://past-trips/Spain-2023" },
];

/** @typedef {[name: string, input: { [name: string]: unknown }]} Call */
/** @typedef {{ say?: string, calls?: Call[] }} Turn */

/**
 * The plan: each turn follows from words in the last message.
 * @type {[words: RegExp, turn: Turn | ((last: string, all: string) => Turn)][]}
 */
const plan = [
  [/Analyze these flight options/, { say: "PT411: leaves in the morning, direct\nPT413: direct, in the evening" }],
  [
    /Added to the calendar/,
    { say: "The trip is in your calendar. Now a mail to your team.", calls: [["calendar__sendEmail", mail]] },
  ],
  [
    /Written to the outbox/,
    { say: "Your trip to Barcelona is booked and in your calendar. The mail to your team is in the outbox." },
  ],
  [/Booked as/, { say: "Booked. I add the trip to your calendar.", calls: [["calendar__createCalendarEvent", event]] }],
  [
    // A client without forms gets a code first; the user approves the second call.
    /Nothing is booked yet/,
    (last) => ({
      calls: [["travel__bookHotel", { ...booking, confirmation: /and confirmation ([\w-]+)/.exec(last)?.[1] }]],
    }),
  ],
  [
    /1\. PT\d+/,
    {
      say: "PT411 leaves in the morning and is direct. I book it with a hotel within your budget.",
      calls: [["travel__bookHotel", booking]],
    },
  ],
  [
    /Barcelona, 2024-06-15: /,
    {
      say: "The weather is fine. Which of the 47 flights is the best for you?",
      calls: [["travel__findBestFlight", { ...trip, preferences: "morning departure, max 1 layover" }]],
    },
  ],
  [
    /and 37 more/,
    {
      say: "There are 47 flights. How will the weather be?",
      calls: [["weather__checkWeather", { city: "Barcelona", dates: "2024-06-15/2024-06-22" }]],
    },
  ],
  [
    /calendar:\/\/my-calendar/,
    { say: "You are free on these days. I look for flights.", calls: [["travel__searchFlights", trip]] },
  ],
  [
    /Plan a vacation/,
    { say: "First I look at your calendar and at what you like.", calls: resources.map((it) => ["read_resource", it]) },
  ],
];

/**
 * What comes before the plan in a host with skills: the model first loads the instructions of the server.
 * @type {[words: RegExp, turn: Turn | ((last: string, all: string) => Turn)][]}
 */
const preparation = [
  [
    /Plan a vacation/,
    {
      say: "First I read how the travel server wants a vacation to be planned.",
      calls: [["load_skill", { server: "travel", skill: "vacation-planning" }]],
    },
  ],
  [
    /Skill "vacation-planning"/,
    (_, all) =>
      /calendar:\/\/my-calendar/.test(all)
        ? { say: "You are free on these days. I look for flights.", calls: [["travel__searchFlights", trip]] }
        : { calls: resources.map((it) => ["read_resource", it]) },
  ],
];

/**
 * Creates the model.
 * @param {string} [id] its name
 * @param {{ skills?: boolean }} [options] `skills`: it loads the skill of the travel server first
 * @returns {import("portolan-host/models").Model}
 */
export function createPlanner(id = "script", { skills = false } = {}) {
  const turns = [...(skills ? preparation : []), ...plan];
  let count = 0;
  return {
    id,
    capabilities: { tools: true, images: false, contextTokens: 100_000 },
    async *stream({ messages }) {
      const last = textOf(messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1));
      const [, turn] = turns.find(([words]) => words.test(last)) ?? [];
      const { say, calls = [] } =
        typeof turn === "function"
          ? turn(last, textOf(messages))
          : (turn ?? { say: `The story ends here: ${whyEnded(messages)}` });
      if (say !== undefined) yield { type: "text", delta: say };
      for (const [name, input] of calls) {
        count += 1;
        yield { type: "tool", id: `call-${count}`, name, input };
      }
      const usage = { inputTokens: Math.ceil(last.length / 4), outputTokens: 20 };
      yield { type: "end", stopReason: calls.length > 0 ? "toolUse" : "endTurn", usage, model: id };
    },
  };
}

/**
 * Says which step has another result than the story needs, and why.
 * @param {readonly import("portolan").SamplingMessage[]} messages
 */
function whyEnded(messages) {
  const blocks = messages.flatMap(({ content }) => [content].flat());
  const result = blocks.findLast((block) => block.type === "tool_result");
  const call = blocks.findLast((block) => block.type === "tool_use" && block.id === result?.toolUseId);
  // The host adds notes for language models: a line above data, and advice after a refusal.
  const text = textOf(result?.content)
    .replace(/^Data from [^\n]*:\n/, "")
    .replace(/ Do not try it again unless the user asks for it\.$/, "");
  const why = text.split("\n")[0] || "it returned nothing";
  const name = call?.type === "tool_use" ? call.name : "a step";
  const said = why.startsWith(name) ? why : `${name}: ${why}`;
  return `${said.replaceAll("__", ".")}${/[.!?]$/.test(said) ? "" : "."}`;
}

/** Returns all texts of messages. @param {unknown} value @returns {string} */
function textOf(value) {
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  if (typeof value !== "object" || value === null) return "";
  const { text, content } = /** @type {{ text?: unknown, content?: unknown }} */ (value);
  return `${typeof text === "string" ? text : ""}${textOf(content)}`;
}
