// The script of the preview page. It runs in a browser: the command reads it as a text.
import { type MountedApp, type MountedChannel, mountApp } from "portolan-host/apps/web";
import type { PreviewEvent, PreviewQuestion, PreviewRequest, PreviewTool } from "./messages.ts";

const maxLogLines = 200;

interface ShownApp {
  readonly mounted: MountedApp;
  readonly card: HTMLElement;
  readonly state: HTMLElement;
  receive: (message: unknown) => void;
  remove: () => void;
  /** False as soon as the page is done with the app. */
  isOpen: boolean;
}

const shown = new Map<string, ShownApp>();
const find = (id: string): HTMLElement => document.querySelector<HTMLElement>(`#${id}`) ?? document.body;
let chosen: PreviewTool | undefined;
let page = "";

/** Makes an element. Texts of servers become text, never markup. */
function make(tag: string, className: string, ...content: readonly (string | Node)[]): HTMLElement {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...content);
  return element;
}

function button(label: string, className: string, onClick: () => void): HTMLButtonElement {
  const element = make("button", className, label) as HTMLButtonElement;
  element.type = "button";
  element.addEventListener("click", onClick);
  return element;
}

let sending: Promise<unknown> = Promise.resolve();

/** Sends one request after the other, so that messages of an app keep their order. */
function send(request: PreviewRequest): void {
  sending = sending.then(async () => {
    // Messages left from a flood must not hold up later ones.
    if (request.kind === "message" && !shown.get(request.app)?.isOpen) return;
    try {
      const answer = await fetch("do", { method: "POST", body: JSON.stringify(request) });
      if (!answer.ok) fail(await answer.text());
    } catch {
      fail("The preview has ended. Start it again and reload this page.");
    }
  });
}

function fail(reason: string): void {
  find("problem").textContent = reason;
}

function listTools(tools: readonly PreviewTool[]): void {
  const list = find("tools");
  list.replaceChildren();
  for (const tool of tools) {
    const label = make("span", "name", tool.title ?? tool.name);
    const item = button("", "tool", () => choose(tool, item));
    item.append(label, make("span", "dim", tool.app));
    list.append(item);
    const isSame = chosen?.server === tool.server && chosen.name === tool.name;
    if (isSame || (chosen === undefined && tool === tools[0])) choose(tool, item);
  }
  if (tools.length === 0) list.append(make("p", "dim", "No tool of this server has an app."));
}

function choose(tool: PreviewTool, item: HTMLElement): void {
  const isOther = chosen?.name !== tool.name || chosen.server !== tool.server;
  chosen = tool;
  for (const other of find("tools").children) other.classList.toggle("chosen", other === item);
  find("description").textContent = tool.description ?? "";
  if (isOther) (find("args") as HTMLTextAreaElement).value = tool.args;
  (find("show") as HTMLButtonElement).disabled = false;
}

function ask(question: PreviewQuestion): void {
  const answer = (allow: boolean, always: boolean) => {
    if (allow && question.opens !== undefined) window.open(question.opens, "_blank", "noopener,noreferrer");
    send({ kind: "answer", id: question.id, allow, always });
  };
  const card = make(
    "section",
    "card question",
    make("h2", "", question.title),
    make("pre", "", question.subject),
    make("ul", "", ...question.warnings.map((warning) => make("li", "", warning))),
    make(
      "div",
      "row",
      button(question.yes, "main", () => answer(true, false)),
      ...(question.opens === undefined ? [button("For this session", "", () => answer(true, true))] : []),
      button("No", "", () => answer(false, false)),
    ),
  );
  card.dataset["question"] = question.id;
  // Before the app, and after the questions that came earlier.
  const stage = find("stage");
  stage.insertBefore(card, stage.querySelector(".app"));
}

function open({ app, title, sandbox, resource }: Extract<PreviewEvent, { kind: "opened" }>): void {
  for (const id of shown.keys()) send({ kind: "close", app: id, reason: "another app was opened" });
  const state = make("span", "badge", "loading");
  const place = make("div", "place");
  const close = button("Close", "quiet", () => send({ kind: "close", app, reason: "closed by the user" }));
  const card = make("section", "card app", make("header", "row", make("h2", "", title), state, close), place);
  find("stage").append(card);
  let connected: MountedChannel | undefined;
  const mounted = mountApp(
    {
      // The card has a border already.
      resource: { html: resource.html, permissions: resource.permissions },
      connect(channel) {
        connected = channel;
        channel.open((message) => send({ kind: "message", app, message }));
      },
      async close(reason) {
        const one = shown.get(app);
        if (one) one.isOpen = false;
        send({ kind: "close", app, ...(reason !== undefined && { reason }) });
      },
    },
    place,
    { sandbox, title },
  );
  shown.set(app, {
    ...{ mounted, card, state },
    receive: (message) => connected?.post(message as { [name: string]: unknown }),
    remove: () => connected?.close(),
    isOpen: true,
  });
}

function close(app: string, end: string): void {
  const one = shown.get(app);
  shown.delete(app);
  one?.remove();
  one?.card.remove();
  if (end !== "closed") fail(`The app was removed: ${ends[end] ?? end}.`);
}

const ends: { readonly [end: string]: string } = {
  "no-start": "it did not start in time",
  flood: "it sent too many messages",
  "too-large": "it sent a message that is too large",
  failed: "its channel failed",
};

function log({ from, text, isProblem }: Extract<PreviewEvent, { kind: "log" }>): void {
  const list = find("log");
  const line = make("li", isProblem ? "bad" : "", make("span", `from ${from}`, from), make("code", "", text));
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  list.append(line);
  while (list.childElementCount > maxLogLines) list.firstElementChild?.remove();
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

type Handlers = { readonly [K in PreviewEvent["kind"]]: (event: Extract<PreviewEvent, { kind: K }>) => void };

const handlers: Handlers = {
  hello: (event) => {
    page = event.page;
  },
  tools: ({ tools }) => listTools(tools),
  question: ({ question }) => ask(question),
  answered: ({ id }) =>
    find("stage")
      .querySelector(`[data-question="${CSS.escape(id)}"]`)
      ?.remove(),
  opened: open,
  message: ({ app, message }) => shown.get(app)?.receive(message),
  state: ({ app, state }) => {
    const badge = shown.get(app)?.state;
    if (badge) badge.textContent = state;
  },
  closed: ({ app, end }) => close(app, end),
  log,
  failed: ({ reason }) => fail(reason),
};

function handle<K extends PreviewEvent["kind"]>(event: Extract<PreviewEvent, { kind: K }>): void {
  (handlers[event.kind as K] as (one: typeof event) => void)(event);
}

find("show").addEventListener("click", () => {
  if (!chosen) return;
  fail("");
  const { value: args } = find("args") as HTMLTextAreaElement;
  const theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  send({ kind: "show", page, server: chosen.server, tool: chosen.name, args, theme });
});

const events = new EventSource("events");
events.addEventListener("message", ({ data }) => handle(JSON.parse(data) as PreviewEvent));
events.addEventListener("error", () => {
  // The command keeps nothing for a page that was away.
  events.close();
  for (const app of [...shown.keys()]) close(app, "closed");
  fail("The preview has ended. Start it again and reload this page.");
});
