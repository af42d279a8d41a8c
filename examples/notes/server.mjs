// @ts-check
// A server with notes that are added and removed while clients are connected. Each note is a resource, and all schemas
// are plain JSON Schema.
// Run: node examples/notes/server.mjs
import { fileURLToPath } from "node:url";
import { createServer, live, ToolError } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

/** @type {Map<string, { id: string, title: string, text: string }>} */
const notes = new Map();
let lastNumber = 0;

const id = { type: "string", description: "For example: note-1" };
const title = { type: "string", minLength: 1, maxLength: 100 };
const text = { type: "string", maxLength: 100_000, description: "Markdown" };
const note = { type: "object", properties: { id, title, text }, required: ["id", "title", "text"] };

/** The part that never changes: the tools, and all notes as one resource. */
const base = createServer({ name: "notes", version: "1.0.0" }, { instructions: "Notes last until the server ends." })
  .tool("find_notes", {
    description: "Finds the notes that contain a word, or all notes",
    input: { type: "object", properties: { word: { type: "string" } } },
    output: { type: "object", properties: { notes: { type: "array", items: note } }, required: ["notes"] },
    annotations: { readOnlyHint: true },
    run(/** @type {{ word?: string }} */ { word = "" }) {
      return { notes: [...notes.values()].filter(({ title, text }) => `${title}\n${text}`.includes(word)) };
    },
  })
  .tool("add_note", {
    description: "Adds a note",
    input: { type: "object", properties: { title, text }, required: ["title", "text"] },
    output: note,
    run(/** @type {{ title: string, text: string }} */ { title, text }) {
      if (notes.size === 1000) throw new ToolError("There are 1000 notes already; delete_note makes room");
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
      // A subscription to notes:///all also covers its children, so its subscribers are notified too.
      server.publish("resources/updated", { uri: `notes:///all/${id}` });
      return edited;
    },
  })
  .tool("delete_note", {
    description: "Deletes a note",
    input: { type: "object", properties: { id }, required: ["id"] },
    annotations: { destructiveHint: true },
    run(/** @type {{ id: string }} */ { id }) {
      const { title } = findNote(id);
      notes.delete(id);
      offerNotes();
      return `Deleted "${title}"`;
    },
  })
  .resource("notes:///all", {
    name: "All notes",
    mimeType: "text/markdown",
    subscribe: true,
    read: () => [...notes.values()].map(({ title, text }) => `# ${title}\n\n${text}\n`).join("\n"),
  });

const server = live(base);

/** Replaces the served resources; clients are notified that the list changed. */
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
  if (!found) throw new ToolError(`There is no ${id}; find_notes lists all notes`);
  return found;
}

export default server;
if (process.argv[1] === fileURLToPath(import.meta.url)) serveStdio(server);
