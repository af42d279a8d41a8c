// @ts-check
// A host in a web page: it calls a tool and shows its app. A bundler makes one file of it.
import { createHost } from "portolan-host";
import { apps, openApp } from "portolan-host/apps";
import { mountApp } from "portolan-host/apps/web";

/** @param {string} url @param {import("portolan-host").HostAnswers} answers */
export function startHost(url, answers) {
  return createHost({ servers: { cinema: { url } }, extensions: [apps()], answers });
}

/** @param {import("portolan-host").Host} host @param {(text: string) => void} onMessage */
export async function openSeats(host, onMessage) {
  const args = { film: "Metropolis" };
  const result = host.callTool("cinema", "show_seats", args, { by: "user" });
  return openApp(host, {
    server: "cinema",
    tool: "show_seats",
    args,
    result,
    surroundings: { theme: "light", locale: "en" },
    // The app may offer tools to the model, such as one that points at a seat.
    appTools: true,
    onMessage: (content) => onMessage(content.map((block) => ("text" in block ? block.text : "")).join("\n")),
  });
}

/** @param {import("portolan-host/apps").AppSession} session @param {Element} element */
export async function show(session, element) {
  const { sources, permissions } = session.resource;
  // This page's server gives the app's page a path in the sandbox, with the app's policy.
  const made = await fetch("/sandbox", { method: "POST", body: JSON.stringify({ sources, permissions }) });
  return mountApp(session, element, { sandbox: await made.text(), title: "Seats" });
}

/** @param {import("portolan-host").Host} host @param {import("portolan-host/apps").AppSession} session @param {string} text */
export function ask(host, session, text) {
  const words = session.takeContext();
  return host.run(text, { apps: [session], ...(words && { attach: [words] }) });
}
