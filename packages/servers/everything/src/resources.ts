import type { Server } from "portolan/server";
import { icons, png } from "./samples.ts";
import type { SharedState } from "./state.ts";

const readme = "# Everything\n\nA resource with a fixed URI.";
const capitals: { readonly [country: string]: readonly string[] } = {
  Iceland: ["Reykjavik"],
  Norway: ["Oslo", "Bergen"],
  Portugal: ["Lisbon", "Porto"],
};
const squares = 60;

/** Adds resources: text, bytes, several contents, questions, templates, and subscriptions. */
export function withResources(server: Server, state: SharedState): Server {
  return server
    .resource("everything://readme", {
      name: "readme",
      title: "Read me",
      description: "Text with all metadata of a resource",
      mimeType: "text/markdown",
      size: readme.length,
      icons,
      annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-07-28T00:00:00Z" },
      // Clients of 2026-07-28 may cache it for a minute and share it.
      cache: { ttlMs: 60_000, cacheScope: "public" },
      read: () => readme,
    })
    .resource("everything://pixel", {
      name: "pixel",
      title: "Bytes",
      description: "A picture of one pixel",
      mimeType: "image/png",
      // Bytes are sent as base64.
      read: () => Buffer.from(png, "base64"),
    })
    .resource("everything://folder", {
      name: "folder",
      title: "Several contents",
      description: "One read that returns two texts, each with its own URI",
      mimeType: "text/plain",
      read: () => [
        { uri: "everything://folder/a", mimeType: "text/plain", text: "a" },
        { uri: "everything://folder/b", mimeType: "text/plain", text: "b" },
      ],
    })
    .resource("everything://gone", {
      name: "gone",
      title: "Not found",
      description: "Is listed but cannot be read: error -32002 before 2026-07-28, -32602 since",
      read: () => undefined,
    })
    .resource("everything://private", {
      name: "private",
      title: "A resource that asks",
      description: "Can be read after the user agrees; resources and prompts can ask like tools",
      mimeType: "text/plain",
      async read(ctx) {
        return (await ctx.confirm("show", "Show the private resource?")) ? "The secret is 7" : "Not shown";
      },
    })
    .resource("everything://note", {
      name: "note",
      title: "A resource that changes",
      description: "Changed by the tool write-note",
      mimeType: "text/plain",
      // Supports subscriptions; the server announces changes with `publish`.
      subscribe: true,
      read: () => state.note,
    })
    .resource("everything://waits", {
      name: "waits",
      title: "A resource that is watched",
      description: "Number of running and cancelled calls of wait, and of changes of roots",
      mimeType: "application/json",
      read: () =>
        JSON.stringify({ waiting: state.waiting, cancelled: state.cancelled, rootChanges: state.rootChanges }),
      // Called for the first subscriber; the returned function is called after the last one has left.
      watch(_uri, changed) {
        const hear = () => changed();
        state.watchers.add(hear);
        return () => state.watchers.delete(hear);
      },
    })
    .template("everything://squares/{number}", {
      name: "square",
      title: "Template",
      description: `The square of a number from 1 to ${squares}`,
      mimeType: "text/plain",
      icons,
      // Resources of the template in the list; so many that the list has several pages.
      list: () =>
        Array.from({ length: squares }, (_, index) => ({
          uri: `everything://squares/${index + 1}`,
          name: `square-${String(index + 1).padStart(2, "0")}`,
        })),
      // An array is filtered by the typed text.
      complete: { number: Array.from({ length: squares }, (_, index) => String(index + 1)) },
      read({ number }) {
        // Values come from the client: check them.
        const root = /^\d{1,2}$/.test(String(number)) ? Number(number) : 0;
        return root >= 1 && root <= squares ? String(root ** 2) : undefined;
      },
    })
    .template("everything://cities/{country}/{city}", {
      name: "city",
      title: "Template with two variables",
      description: "A city of a country; completion of the city depends on the country",
      mimeType: "text/plain",
      complete: {
        country: Object.keys(capitals),
        // The other values are known since 2025-06-18.
        city: (typed, { country }) => citiesOf(country).filter((city) => city.startsWith(typed)),
      },
      read: ({ country, city }) =>
        citiesOf(String(country)).includes(String(city)) ? `${city} is in ${country}` : undefined,
    });
}

function citiesOf(country: string | undefined): readonly string[] {
  if (country === undefined) return Object.values(capitals).flat();
  return Object.hasOwn(capitals, country) ? (capitals[country] ?? []) : [];
}
