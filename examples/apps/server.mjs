// @ts-check
// A cinema with an app: the seats of a film, which a person books by clicking. Run it with `portolan dev --apps`.
import { fileURLToPath } from "node:url";
import { createServer } from "portolan/server";
import { app, apps } from "portolan/server/apps";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";

/** The booked seats of each film. */
const booked = new Map([["Metropolis", new Set(["A2", "B3", "B4"])]]);
const rows = ["A", "B", "C"];
const seatsPerRow = 5;

const seats = app("ui://cinema/seats", {
  title: "Seats",
  html: new URL("./seats.html", import.meta.url),
  border: true,
});

const film = z.string().describe("A film of this week").default("Metropolis");
const Hall = z.object({
  film: z.string(),
  rows: z.array(z.string()),
  seatsPerRow: z.number(),
  booked: z.array(z.string()),
});

/** @param {string} title */
const hallOf = (title) => ({ film: title, rows, seatsPerRow, booked: [...(booked.get(title) ?? [])] });

const server = createServer({ name: "cinema", version: "1.0.0" })
  .extend(apps())
  .tool("show_seats", {
    description: "Shows the free seats of a film, and lets the user book one.",
    input: z.object({ film }),
    output: Hall,
    annotations: { readOnlyHint: true },
    ui: seats,
    run: (args) => hallOf(args.film),
  })
  .tool("book_seat", {
    description: "Books a seat.",
    input: z.object({ film, seat: z.string().regex(/^[A-C][1-5]$/) }),
    output: Hall,
    // Only a click in the app books: models do not see this tool.
    ui: { app: seats, for: ["app"] },
    run({ film: title, seat }) {
      const taken = booked.get(title) ?? new Set();
      if (taken.has(seat)) throw new Error(`Seat ${seat} is taken`);
      booked.set(title, taken.add(seat));
      return hallOf(title);
    },
  });

export default server;
if (process.argv[1] === fileURLToPath(import.meta.url)) serveStdio(server);
