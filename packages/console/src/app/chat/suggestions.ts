import type { CatalogRecord, ServerRecord } from "../../api.ts";

/** Something that the person could begin with: words to send, or a prompt to fill in. */
export interface Suggestion {
  readonly title: string;
  readonly text?: string;
  /** The name of a prompt, which the palette opens with. */
  readonly prompt?: string;
  readonly from: readonly string[];
}

const mostPrompts = 2;
const most = 5;
const dayMs = 86_400_000;

/** Suggestions for the sandbox, whose model follows a plan. */
function sandboxSuggestions(day: string): readonly Suggestion[] {
  return [
    {
      title: "Plan and book a trip to Barcelona",
      text: [
        "Plan a vacation in Barcelona for 2 travelers from NYC. I leave on 2024-06-15 and return on 2024-06-22.",
        "The budget is 3000 dollars. Look at my calendar, my preferences and my past trips, search flights, check the",
        "weather, find the best flight, and book it with a hotel. Add the trip to my calendar, and write to",
        "team@work.com that I am out of office.",
      ].join(" "),
      from: ["travel", "calendar", "weather"],
    },
    {
      title: "What's the weather in Lisbon tomorrow?",
      text: "What's the weather in Lisbon tomorrow?",
      from: ["weather"],
    },
    {
      title: "Find the best flight to Lisbon",
      text: `Find the best flight from Oslo to Lisbon on ${day}, cheap`,
      from: ["travel"],
    },
    { title: "Book a flight, with a form", text: `Book flight PT521 on ${day}`, from: ["travel"] },
  ];
}

/** Returns what can be asked for with these servers and this model. */
export function suggestionsFor(given: {
  readonly servers: readonly ServerRecord[];
  readonly catalogs: readonly CatalogRecord[];
  readonly isSandbox: boolean;
  readonly isDemo: boolean;
  readonly today: Date;
}): readonly Suggestion[] {
  const { servers, catalogs, isSandbox, isDemo, today } = given;
  const names = new Set(servers.map(({ name }) => name));
  const day = new Date(today.getTime() + 30 * dayMs).toISOString().slice(0, 10);
  const stories = isSandbox ? sandboxSuggestions(day).filter(({ from }) => from.every((name) => names.has(name))) : [];
  const prompts = catalogs
    .flatMap(({ server, prompts: all }) => all.map(({ name, title }) => ({ server, name, title })))
    .slice(0, isSandbox ? 1 : mostPrompts)
    .map(({ server, name, title }) => ({ title: title ?? name, prompt: name, from: [server] }));
  const help: Suggestion = {
    title: "What can you do here?",
    text: isDemo ? "help" : "What can you do here? Name the servers, and one useful example for each.",
    from: ["all servers"],
  };
  return [...stories, ...prompts, ...(isSandbox ? [] : [help])].slice(0, most);
}
