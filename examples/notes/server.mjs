// @ts-check
// Notes that come and go while clients are connected; each is a resource. All schemas are plain JSON Schema.
// Run: node examples/notes/server.mjs
import { fileURLToPath } from "node:url";
import { createServer, live, ToolError } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

/** @type {Map<string, { id: string, title: string, text: string }>} */
const notes = new Map();
let lastNumber = 0;

const id = { type: "string", description: "Such as note-1" };
const title = { type: "string", minLength: 1, maxLength: 100 };
const text = { type: "string", maxLength: 100_000, description: "Markdown" };
const note = { type: "object", properties: { id, title, text }, required: ["id", "title", "text"] };

/** What is always there: the tools, and all notes as one resource. */
const base = createServer({ name: "notes", version: "1.0.0" }, { instructions: "Notes last until the server ends." })
  .tool("find_notes", {
    description: "All notes, or those with a word in them",
    input: { type: "object", properties: { word: { type: "string" } } },
    output: { type: "object", properties: { notes: { type: "array", items: note } }, required: ["notes"] },
    annotations: { readOnlyHint: true },
    run(/** @type {{ word?: string }} */ { word = "" }) {
      return { notes: [...notes.values()].filter(({ title, text }) => `${title}\n${text}`.includes(word)) };
    },
  })
  .tool("add_note", {
    description: "Keeps a new note",
    input: { type: "object", properties: { title, text }, required: ["title", "text"] },
    output: note,
    run(/** @type {{ title: string, text: string }} */ { title, text }) {
      lastNumber += 1;
      const added = { id: `note-${lastNumber}`, title, text };
      notes.set(added.id, added);
      offerNotes();
      return added;
    },
  })
  .tool("edit_note", {
    description: "Replaces the text of a note",
    input: { type: "object", properties: { id, text }, required: ["id", "text"] },
    output: note,
    run(/** @type {{ id: string, text: string }} */ { id, text }) {
      const edited = { ...findNote(id), text };
      notes.set(id, edited);
      // Who follows notes:///all hears this too, since the note lies below it.
      server.publish("resources/updated", { uri: `notes:///all/${id}` });
      return edited;
    },
  })
  .tool("delete_note", {
    description: "Forgets a note",
    input: { type: "object", properties: { id }, required: ["id"] },
    annotations: { destructiveHint: true },
    run(/** @type {{ id: string }} */ { id }) {
      const { title } = findNote(id);
      notes.delete(id);
      offerNotes();
      return `"${title}" is gone`;
    },
  })
  .resource("notes:///all", {
    name: "All notes",
    mimeType: "text/markdown",
    subscribe: true,
    read: () => [...notes.values()].map(({ title, text }) => `# ${title}\n\n${text}\n`).join("\n"),
  });

const server = live(base);

/** Replaces what is served; clients are told that the list of resources changed. */
function offerNotes() {
  let next = base;
  for (const { id, title } of notes.values()) {
    next = next.resource(`notes:///all/${id}`, {
      name: title,
      mimeType: "text/markdown",
      subscribe: true,
      read: () => findNote(id).text,
    });
  }
  server.update(() => next);
  server.publish("resources/updated", { uri: "notes:///all" });
}

function findNote(/** @type {string} */ id) {
  const found = notes.get(id);
  if (!found) throw new ToolError(`There is no ${id}; find_notes lists what there is`);
  return found;
}

export default server;
if (process.argv[1] === fileURLToPath(import.meta.url)) serveStdio(server);
